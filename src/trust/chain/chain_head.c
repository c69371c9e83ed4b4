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
	buf_room(ret, HEAD_MAX); /* a key is not to be left in what a buffer had before it grew */
	buf_printf(ret, "stemma seals 1\nnumber %llu\ntime %lld\nhash ", (unsigned long long)h->number, (long long)h->time);
	buf_hex(ret, h->hash.b, DIGEST_BYTES);
	buf_char(ret, '\n');
	if (!h->keyed)
		return;
	buf_str(ret, str_of("start "));
	buf_hex(ret, h->start.b, DIGEST_BYTES);
	buf_str(ret, str_of("\nkey "));
	buf_hex(ret, h->key.b, DIGEST_BYTES);
	buf_char(ret, '\n');
}

/* Releases a text that may hold a key. */
static void erase_text(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	buf_release(b);
}

/* Appends a line with the digest of all that stands before it. */
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
	char hash[65], start[65], key[65];
	unsigned long long number;
	long long time;
	int fields = sscanf(
	    text, "stemma seals 1\nnumber %20llu\ntime %20lld\nhash %64[0-9a-f]\nstart %64[0-9a-f]\nkey %64[0-9a-f]\n",
	    &number, &time, hash, start, key);
	if (fields != 3 && fields != 5)
		return false;
	ret->number = number;
	ret->time = time;
	ret->keyed = fields == 5;
	bool is = hex_parse(str_of(hash), ret->hash.b, DIGEST_BYTES);
	is &= !ret->keyed ||
	      (hex_parse(str_of(start), ret->start.b, DIGEST_BYTES) && hex_parse(str_of(key), ret->key.b, DIGEST_BYTES));
	struct buf again = {0};
	write_head_text(ret, &again);
	append_sum(&again);
	is &= !again.failed && again.n == n && !memcmp(again.p, text, n);
	erase_text(&again);
	explicit_bzero(key, sizeof(key));
	return is;
}

/* The caller frees it; NULL without memory. */
static char *head_path(const char *home, const char *host, const char *suffix)
{
	char *path;
	return asprintf(&path, "%s/seals/%s%s", home, host, suffix) < 0 ? NULL : path;
}

int chain_head_read(const char *home, const char *host, struct chain_head *ret)
{
	char text[HEAD_MAX], *path = head_path(home, host, "");
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
	bool is = parse_head_text(text, (size_t)n, ret);
	explicit_bzero(text, sizeof(text));
	return is ? 1 : -EBADMSG;
}

/* Overwrites what was in the file that another took the place of. What a disk or file system keeps of it beside that,
 * it keeps. */
static void overwrite_old(int fd)
{
	char zeros[HEAD_MAX] = {0};
	off_t size = lseek(fd, 0, SEEK_END);
	size_t n = size > 0 && size < HEAD_MAX ? (size_t)size : 0;
	if (n && pwrite(fd, zeros, n, 0) == (ssize_t)n)
		fdatasync(fd);
}

/* Beside it first, and then in its place: it is there whole, as it was or as it is now. keyed: the old file held a key,
 * which is overwritten. 0, -errno. */
static int replace_file(const char *path, const struct buf *text, bool keyed)
{
	char *beside;
	if (asprintf(&beside, "%s.new", path) < 0)
		return -ENOMEM;
	int old = !keyed ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
	int rc = fd < 0 ? -errno : io_write(fd, text->p, text->n, NULL);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(beside, path) < 0)
		rc = -errno;
	if (rc == 0 && old >= 0)
		overwrite_old(old);
	if (old >= 0)
		close(old);
	free(beside);
	return rc;
}

int chain_head_open(const char *home, const char *host)
{
	char *path = head_path(home, host, ".open");
	if (!path)
		return -ENOMEM;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
	int rc = fd >= 0 || errno == ENOENT ? 0 : errno == EEXIST ? 1 : -errno;
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* Removes the mark. Errors are passed over. */
void chain_head_done(const char *home, const char *host)
{
	char *path = head_path(home, host, ".open");
	if (path)
		unlink(path);
	free(path);
}

int chain_head_write(const char *home, const char *host, const struct chain_head *h, struct err *err)
{
	struct buf text = {0};
	char *dir, *path = head_path(home, host, "");
	if (!path || asprintf(&dir, "%s/seals", home) < 0) {
		free(path);
		return err_set(err, ENOMEM, "cannot keep the head of the seals");
	}
	write_head_text(h, &text);
	append_sum(&text);
	int rc = text.failed ? -ENOMEM : io_mkdirs(dir, 0700);
	if (rc == 0)
		rc = replace_file(path, &text, h->keyed);
	if (rc < 0)
		err_set(err, -rc, "cannot keep the head of the seals in '%s'", path);
	erase_text(&text);
	free(dir);
	free(path);
	return rc;
}
