#include "trust/chain/chain_witness.h"

#include "base/hex.h"
#include "base/io.h"
#include "keep/write.h"
#include "trust/chain/chain_parts.h"
#include "trust/chain/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HEAD_BEGIN "stemma head 1\n"
#define STATEMENT_BEGIN "stemma witness 1\n"
#define SIGNATURE_BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define SIGNATURE_END "-----END SSH SIGNATURE-----\n"

/* ---- texts ---- */

/* Appends begin, and then chain, number and hash of w, a line each. */
static void put_seen(struct buf *b, const char *begin, const struct witnessed *w)
{
	buf_printf(b, "%schain %s\nnumber %llu\nhash ", begin, w->chain, (unsigned long long)w->number);
	buf_hex(b, w->hash.b, DIGEST_BYTES);
	buf_char(b, '\n');
}

void witness_put_head(const char *chain, uint64_t number, const struct digest *hash, struct buf *ret)
{
	struct witnessed w = {.number = number, .hash = *hash};
	snprintf(w.chain, sizeof(w.chain), "%s", chain);
	put_seen(ret, HEAD_BEGIN, &w);
}

int witness_head(const struct chain *c, struct buf *ret)
{
	struct witnessed w = {.number = 0};
	char host[256];
	keep_host(host, sizeof(host));
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct chain_link *s = &c->seals.v[i];
		if (strcmp(s->chain, host) != 0)
			continue;
		w.number = s->number;
		w.hash = s->hash;
	}
	if (!w.number)
		return 0;
	witness_put_head(host, w.number, &w.hash, ret);
	return ret->failed ? -ENOMEM : 1;
}

/* Takes the line `key VALUE`, as far as the line feed. */
static bool take_line(struct str *s, const char *key, struct str *ret)
{
	size_t n = strlen(key);
	if (s->n <= n || memcmp(s->p, key, n) != 0 || s->p[n] != ' ')
		return false;
	const char *end = memchr(s->p, '\n', s->n);
	if (!end)
		return false;
	*ret = str_n(s->p + n + 1, (size_t)(end - s->p) - n - 1);
	*s = str_n(end + 1, s->n - (size_t)(end + 1 - s->p));
	return true;
}

/* Digits alone, of at most 64 bits. */
static bool read_number(struct str s, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s.n; i++) {
		uint64_t digit = (uint64_t)(unsigned char)s.p[i] - '0';
		if (digit > 9 || *ret > (UINT64_MAX - digit) / 10)
			return false;
		*ret = *ret * 10 + digit;
	}
	return s.n > 0;
}

/* The lines of a head, behind `begin`. Moves *s behind them. false: it is none. */
static bool take_seen(struct str *s, const char *begin, struct witnessed *ret)
{
	struct str chain, number, hash;
	*ret = (struct witnessed){0};
	if (!str_starts(*s, str_of(begin)))
		return false;
	*s = str_n(s->p + strlen(begin), s->n - strlen(begin));
	if (!take_line(s, "chain", &chain) || !take_line(s, "number", &number) || !take_line(s, "hash", &hash))
		return false;
	if (!chain.n || chain.n >= sizeof(ret->chain) || memchr(chain.p, '\0', chain.n))
		return false;
	memcpy(ret->chain, chain.p, chain.n);
	return read_number(number, &ret->number) && ret->number && hex_parse(hash, ret->hash.b, DIGEST_BYTES);
}

/* A statement and its signature; ret points into s, which moves behind it. false: it is none. */
static bool take_statement(struct str *s, struct witnessed *ret)
{
	struct str time;
	uint64_t ns;
	const char *from = s->p;
	if (!take_seen(s, STATEMENT_BEGIN, ret) || !take_line(s, "time", &time) || !read_number(time, &ns) ||
	    ns > INT64_MAX)
		return false;
	ret->time = (int64_t)ns;
	ret->text = str_n(from, (size_t)(s->p - from));
	if (!str_starts(*s, str_of(SIGNATURE_BEGIN)))
		return false;
	const char *end = memmem(s->p, s->n, SIGNATURE_END, strlen(SIGNATURE_END));
	if (!end)
		return false;
	end += strlen(SIGNATURE_END);
	ret->signature = str_n(s->p, (size_t)(end - s->p));
	*s = str_n(end, s->n - ret->signature.n);
	return true;
}

int witness_next(struct str text, size_t *at, struct err *err, struct witnessed *ret)
{
	while (*at < text.n && text.p[*at] == '\n')
		++*at;
	struct str s = str_n(text.p + *at, text.n - *at);
	if (!s.n)
		return 0;
	if (!take_statement(&s, ret))
		return (err_set(err, 0, "at byte %zu there is no statement of a witness (stemma trust --witness)", *at),
		        -EBADMSG);
	*at = text.n - s.n;
	return 1;
}

/* ---- the witness ---- */

/* Does the ledger allow the head? 1, 0, -EBADMSG. */
static int check_ledger(struct str ledger, const struct witnessed *head, struct err *err)
{
	struct witnessed w;
	uint64_t last = 0;
	int rc;
	for (size_t at = 0; (rc = witness_next(ledger, &at, err, &w)) == 1;) {
		if (strcmp(w.chain, head->chain) != 0)
			continue;
		if (w.number == head->number && !digest_eq(&w.hash, &head->hash)) {
			err_set(err, 0, "seal %llu of %s was a different one when it was signed: the chain was forked or rewritten",
			        (unsigned long long)w.number, w.chain);
			return 0;
		}
		last = w.number > last ? w.number : last;
	}
	if (rc == 0 && head->number < last) {
		err_set(err, 0, "%s has already shown seal %llu: seal %llu is no longer a head", head->chain,
		        (unsigned long long)last, (unsigned long long)head->number);
		return 0;
	}
	return rc < 0 ? rc : 1;
}

/* Appends the statement on this head, with the time now, and its signature with `key` (a file). 0, or -errno with a
 * sentence. */
static int append_signed_statement(const struct witnessed *head, const char *key, struct err *err, struct buf *ret)
{
	char *signature = NULL;
	size_t from = ret->n;
	put_seen(ret, STATEMENT_BEGIN, head);
	buf_printf(ret, "time %lld\n", (long long)keep_now());
	if (ret->failed)
		return err_set(err, ENOMEM, "cannot sign");
	int rc = sign_text(WITNESS_SPACE, key, buf_cstr(ret) + from, err, &signature);
	if (rc < 0)
		return rc;
	buf_str(ret, str_of(signature));
	if (!str_ends(buf_view(ret), str_of("\n")))
		buf_char(ret, '\n');
	free(signature);
	return ret->failed ? err_set(err, ENOMEM, "cannot sign") : 0;
}

/* The ledger, which nobody else signs by meanwhile, and what is in it. Its descriptor, or -errno with a sentence. */
static int open_ledger(const char *path, struct err *err, struct buf *ret)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
	int rc = fd < 0 ? -errno : 0;
	while (rc == 0 && flock(fd, LOCK_EX) < 0)
		rc = errno == EINTR ? 0 : -errno;
	if (rc == 0)
		rc = io_read_rest(fd, WITNESS_BYTES * 64, ret);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(err, -rc, "cannot read the ledger '%s'", path);
}

/* Appends a statement to a ledger. 0 once it is on disk; -errno with a sentence. */
static int append_to_ledger(int fd, const char *path, const struct buf *statement, struct err *err)
{
	int rc = io_write(fd, statement->p, statement->n, NULL);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, -rc, "cannot write to the ledger '%s'", path) : 0;
}

int witness_sign(struct str head, const char *ledger, const char *key, struct err *err, struct buf *ret)
{
	struct witnessed w;
	struct buf had = {0}, statement = {0};
	if (!take_seen(&head, HEAD_BEGIN, &w))
		return (err_set(err, 0, "the input is not the head of a chain (stemma trust --head prints one)"), -EBADMSG);
	int fd = open_ledger(ledger, err, &had);
	int allowed = fd < 0 ? fd : check_ledger(buf_view(&had), &w, err);
	int rc = allowed == 1 ? append_signed_statement(&w, key, err, &statement) : allowed;
	if (rc == 0 && allowed == 1)
		rc = append_to_ledger(fd, ledger, &statement, err);
	if (rc == 0)
		buf_str(ret, buf_view(&statement));
	if (rc == 0 && ret->failed)
		rc = err_set(err, ENOMEM, "cannot sign");
	if (fd >= 0)
		close(fd);
	buf_release(&had);
	buf_release(&statement);
	return rc < 0 ? rc : allowed;
}

/* ---- what is there of it ---- */

int witness_compare(const struct chain *c, const struct witnessed *w, void (*say)(void *arg, const char *line),
                    void *arg, struct chain_report *r)
{
	char line[400], hex[65];
	bool met = false;
	hex_text(w->hash.b, DIGEST_BYTES, hex);
	uint64_t last = 0;
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct chain_link *s = &c->seals.v[i];
		if (strcmp(s->chain, w->chain) != 0)
			continue;
		met = true;
		last = s->number;
		if (s->number == w->number && digest_eq(&s->hash, &w->hash))
			return 1;
	}
	if (!met)
		return -1;
	if (last < w->number)
		snprintf(line, sizeof(line),
		         "a witness signed seal %llu of %s, but the last one present is %llu: the record is cut",
		         (unsigned long long)w->number, w->chain, (unsigned long long)last);
	else
		snprintf(line, sizeof(line),
		         "a witness signed seal %llu of %s as %.16s..., but here it is different: it was forked or rewritten",
		         (unsigned long long)w->number, w->chain, hex);
	r->cut |= last < w->number;
	r->problems++;
	say(arg, line);
	return 0;
}

uint64_t witness_behind(const struct chain *c, const char *chain, uint64_t number)
{
	uint64_t n = 0;
	for (size_t i = 0; i < c->seals.n; i++)
		n += !strcmp(c->seals.v[i].chain, chain) && c->seals.v[i].number > number;
	return n;
}
