#include "trust/chain/chain_key.h"

#include "base/hex.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FILE_MAX 4096

/* So that no copy of it stays in memory. */
void chain_key_erase(struct chain_key *k)
{
	explicit_bzero(k->b, sizeof(k->b));
}

/* SHA-256 of the words and the key. ret gets it. */
static void hash_key(const struct chain_key *k, const char *words, unsigned char ret[DIGEST_BYTES])
{
	struct digest_sum sum;
	struct digest d;
	digest_begin(&sum);
	digest_add(&sum, words, strlen(words));
	digest_add(&sum, k->b, sizeof(k->b));
	digest_end(&sum, &d);
	memcpy(ret, d.b, DIGEST_BYTES);
	explicit_bzero(&d, sizeof(d));
	explicit_bzero(&sum, sizeof(sum));
}

bool chain_key_forward(struct chain_key *k, uint64_t steps)
{
	if (steps > CHAIN_KEY_STEPS)
		return false;
	while (steps-- > 0)
		hash_key(k, "stemma next key\n", k->b);
	return true;
}

void chain_key_mac(const struct chain_key *k, const struct digest *hash, struct digest *ret)
{
	digest_hmac(k->b, sizeof(k->b), hash->b, sizeof(hash->b), ret);
}

void chain_key_name(const struct chain_key *k, struct digest *ret)
{
	hash_key(k, "stemma start key\n", ret->b);
}

int chain_start_new(const char *chain, uint64_t number, struct err *err, struct chain_start *ret)
{
	*ret = (struct chain_start){.number = number};
	snprintf(ret->chain, sizeof(ret->chain), "%s", chain);
	if (getrandom(ret->key.b, sizeof(ret->key.b), 0) != sizeof(ret->key.b))
		return err_set(err, errno ? errno : EIO, "cannot make a key");
	return 0;
}

int chain_start_write(const char *path, const struct chain_start *s, struct err *err)
{
	struct buf text = {0};
	buf_printf(&text, "stemma start key 1\nchain %s\nnumber %llu\nkey ", s->chain, (unsigned long long)s->number);
	buf_hex(&text, s->key.b, sizeof(s->key.b));
	buf_char(&text, '\n');
	int fd = text.failed ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
	int rc = text.failed ? -ENOMEM : fd < 0 ? -errno : io_write(fd, text.p, text.n, NULL);
	if (rc == 0 && fsync(fd) < 0 && errno != EINVAL) /* of what is no file */
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (text.p)
		explicit_bzero(text.p, text.cap);
	buf_release(&text);
	return rc < 0 ? err_set(err, -rc, "cannot write the start key to '%s'", path) : 0;
}

int chain_start_read(const char *path, struct err *err, struct chain_start *ret)
{
	char text[FILE_MAX], key[65] = "";
	unsigned long long number;
	int n = 0;
	*ret = (struct chain_start){0};
	errno = 0;
	ssize_t got = io_read_text(path, text, sizeof(text));
	if (got < 0)
		return err_set(err, (int)-got, "cannot read the start key '%s'", path);
	/* A chain is called as a folder is: any bytes but a line feed are taken. */
	int fields = sscanf(text, "stemma start key 1\nchain %255[^\n]\nnumber %20llu\nkey %64[0-9a-fA-F]%n", ret->chain,
	                    &number, key, &n);
	bool is = fields == 3 && n && hex_parse(str_of(key), ret->key.b, sizeof(ret->key.b));
	ret->number = is ? number : 0;
	explicit_bzero(text, sizeof(text));
	explicit_bzero(key, sizeof(key));
	if (is && ret->number)
		return 0;
	chain_key_erase(&ret->key);
	return (err_set(err, 0, "'%s' is not a start key (stemma trust --seal --start-key)", path), -EBADMSG);
}
