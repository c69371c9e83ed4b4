/* target_path.c - what people write for a file or an object in one, as a path of the record. */
#include "query/target_int.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes the last component off b, but never the root. */
static void drop_last(struct buf *b)
{
	while (b->n > 1 && b->p[b->n - 1] != '/')
		b->n--;
	if (b->n > 1)
		b->n--;
}

/* Without . and .. and double slashes. */
static void append_normalized(struct buf *b, struct str rest)
{
	while (rest.n) {
		const char *slash = memchr(rest.p, '/', rest.n);
		struct str part = str_n(rest.p, slash ? (size_t)(slash - rest.p) : rest.n);
		rest = str_n(rest.p + part.n + !!slash, rest.n - part.n - !!slash);
		if (!part.n || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			drop_last(b);
			continue;
		}
		if (b->n != 1)
			buf_char(b, '/');
		buf_str(b, part);
	}
}

size_t target_object(const char *text)
{
	const char *at = *text ? strstr(text + 1, "//") : NULL;
	char head[PATH_MAX];
	struct stat st;
	size_t n = at ? (size_t)(at - text) : 0;
	if (!n || n >= sizeof(head))
		return 0;
	memcpy(head, text, n);
	head[n] = '\0';
	return stat(head, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : n;
}

void target_inner_path(const char *text, struct buf *ret)
{
	const char *attribute = strchr(text, '@');
	bool any = false;
	buf_printf(ret, "/");
	for (const char *p = text + strspn(text, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		if (n != 1 || *p != '.' || (attribute && p > attribute)) {
			buf_char(ret, '/');
			buf_add(ret, p, n);
			any = true;
		}
		p += n;
	}
	if (!any)
		buf_char(ret, '/');
}

void target_path(const char *text, struct buf *ret)
{
	size_t file = target_object(text);
	if (!file) {
		target_plain_path(text, ret);
		return;
	}
	char *head = strndup(text, file);
	buf_reset(ret);
	if (head)
		target_plain_path(head, ret);
	ret->failed |= !head;
	free(head);
	target_inner_path(text + file, ret);
}

void target_plain_path(const char *text, struct buf *ret)
{
	buf_reset(ret);
	size_t n = strlen(text);
	/* The longest beginning that exists, resolved; the rest as it is written. */
	char head[PATH_MAX];
	for (size_t cut = n; n < PATH_MAX; cut--) {
		while (cut && cut < n && text[cut] != '/')
			cut--;
		if (!cut && *text == '/')
			cut = 1;
		memcpy(head, text, cut);
		head[cut] = '\0';
		char *real = realpath(cut ? head : ".", NULL);
		if (real) {
			buf_printf(ret, "%s", real);
			append_normalized(ret, str_n(text + cut, n - cut));
			free(real);
			return;
		}
		if (cut <= 1)
			break;
	}
	char *cwd = *text == '/' ? NULL : getcwd(NULL, 0);
	buf_printf(ret, "%s", cwd && *cwd == '/' ? cwd : "/");
	free(cwd);
	append_normalized(ret, str_n(text, n));
}

size_t target_split(const char *text, uint64_t *ret_n)
{
	size_t n = strlen(text);
	*ret_n = 0;
	const char *at = n > 4 && text[n - 1] == '}' ? strrchr(text, '@') : NULL;
	if (!at || at == text || at[1] != '{' || !isdigit((unsigned char)at[2]))
		return n;
	char *end;
	errno = 0;
	unsigned long long v = strtoull(at + 2, &end, 10);
	if (errno || !v || end != text + n - 1)
		return n;
	*ret_n = v;
	return (size_t)(at - text);
}

size_t target_split_loosely(const char *text, uint64_t *ret_n)
{
	size_t n = strlen(text), k = n;
	*ret_n = 0;
	while (k && isdigit((unsigned char)text[k - 1]))
		k--;
	if (k < 2 || k == n || text[k - 1] != '@' || n - k > 18)
		return n;
	*ret_n = strtoull(text + k, NULL, 10);
	return *ret_n ? k - 1 : n;
}
