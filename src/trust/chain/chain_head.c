#include "trust/chain/chain_head.h"

#include "base/hex.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_MAX 4096

/* The text without its last line, which is the SHA-256 of it. */
static void write_head_text(const struct chain_head *h, struct buf *ret)
{
	buf_printf(ret, "stemma seals 1\nnumber %020llu\nhash ", (unsigned long long)h->number);
	buf_hex(ret, h->hash.b, DIGEST_BYTES);
	buf_char(ret, '\n');
}

static void append_sum(struct buf *b)
{
	struct digest d;
	digest_bytes(b->p ? b->p : "", b->n, &d);
	buf_str(b, str_of("sum "));
	buf_hex(b, d.b, DIGEST_BYTES);
	buf_char(b, '\n');
}

/* Does the text say h, with the right sum? */
static bool parse_head_text(const char *text, size_t n, struct chain_head *ret)
{
	char hash[65];
	unsigned long long number;
	if (sscanf(text, "stemma seals 1\nnumber %20llu\nhash %64[0-9a-f]\n", &number, hash) != 2)
		return false;
	ret->number = number;
	if (!hex_parse(str_of(hash), ret->hash.b, DIGEST_BYTES))
		return false;
	struct buf again = {0};
	write_head_text(ret, &again);
	append_sum(&again);
	bool same = !again.failed && again.n == n && !memcmp(again.p, text, n);
	buf_release(&again);
	return same;
}

static char *head_path(const char *home, const char *host)
{
	char *path;
	return asprintf(&path, "%s/seals/%s", home, host) < 0 ? NULL : path;
}

int chain_head_read(const char *home, const char *host, struct chain_head *ret)
{
	char text[HEAD_MAX], *path = head_path(home, host);
	*ret = (struct chain_head){0};
	if (!path)
		return -ENOMEM;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	int rc = fd < 0 ? -errno : 0;
	free(path);
	if (rc < 0)
		return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
	ssize_t n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return parse_head_text(text, (size_t)n, ret) ? 1 : -EBADMSG;
}

/* Beside it first, and then in its place: it is there whole, as it was or as it is now. */
static int replace_file(const char *path, const struct buf *text)
{
	char *beside;
	if (asprintf(&beside, "%s.new", path) < 0)
		return -ENOMEM;
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
	int rc = fd < 0 ? -errno : io_write(fd, text->p, text->n, NULL);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(beside, path) < 0)
		rc = -errno;
	free(beside);
	return rc;
}

int chain_head_write(const char *home, const char *host, const struct chain_head *h, struct err *err)
{
	struct buf text = {0};
	char *dir, *path = head_path(home, host);
	if (!path || asprintf(&dir, "%s/seals", home) < 0) {
		free(path);
		return err_set(err, ENOMEM, "cannot keep the head of the seals");
	}
	write_head_text(h, &text);
	append_sum(&text);
	int rc = text.failed ? -ENOMEM : io_mkdirs(dir, 0700);
	if (rc == 0)
		rc = replace_file(path, &text);
	if (rc < 0)
		err_set(err, -rc, "cannot keep the head of the seals in '%s'", path);
	buf_release(&text);
	free(dir);
	free(path);
	return rc;
}
