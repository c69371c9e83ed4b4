#include "cc/git.h"

#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFS_MAX (8u << 20) /* of packed-refs */

/* The first bytes of a file, without blanks at their end. False: there are none. */
static bool read_first_text(const char *path, char *ret, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd < 0 ? -1 : io_pread(fd, ret, n - 1, 0);
	if (fd >= 0)
		close(fd);
	while (got > 0 && strchr(" \n\r\t", ret[got - 1]))
		got--;
	ret[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* An object's name in full, SHA-1 or SHA-256. */
static bool is_commit(const char *s, size_t n)
{
	return (n == 40 || n == 64) && strspn(s, "0123456789abcdef") >= n;
}

/* Looks for a name in git's packed-refs. The line of packed-refs that ends in the name. False: it has none, or
 * cannot be read. */
static bool packed(const char *path, const char *name, char ret[72])
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool found = false;
	char *text = NULL;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < REFS_MAX &&
	    (text = malloc((size_t)st.st_size + 1))) {
		ssize_t n = io_pread(fd, text, (size_t)st.st_size, 0);
		text[n > 0 ? n : 0] = '\0';
		size_t len = strlen(name);
		for (char *p = text; !found && (p = strstr(p, name)); p++) {
			char *line = p;
			while (line > text && line[-1] != '\n')
				line--;
			size_t hex = strcspn(line, " ");
			if ((p[len] == '\n' || p[len] == '\0') && line + hex + 1 == p && is_commit(line, hex)) {
				memcpy(ret, line, hex);
				ret[hex] = '\0';
				found = true;
			}
		}
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return found;
}

/* What the name says in one git directory. */
static bool ref_in(const char *git, const char *name, char ret[72])
{
	char path[4608];
	if (snprintf(path, sizeof(path), "%s/%s", git, name) < (int)sizeof(path) && read_first_text(path, ret, 72) &&
	    is_commit(ret, strlen(ret)))
		return true;
	return snprintf(path, sizeof(path), "%s/packed-refs", git) < (int)sizeof(path) && packed(path, name, ret);
}

/* a/b, where b may be absolute. */
static bool join_git_path(const char *a, const char *b, char *ret, size_t n)
{
	return snprintf(ret, n, "%s%s%s", b[0] == '/' ? "" : a, b[0] == '/' ? "" : "/", b) < (int)n;
}

/* The git directory of the work tree with its top at dir. False: there is none. */
static bool git_of(const char *dir, char *ret, size_t n)
{
	char path[4200], text[4096];
	struct stat st;
	if (snprintf(path, sizeof(path), "%s/.git", strcmp(dir, "/") ? dir : "") >= (int)sizeof(path) ||
	    stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return snprintf(ret, n, "%s", path) < (int)n;
	/* Of a worktree or submodule it is a file that says where. */
	return S_ISREG(st.st_mode) && read_first_text(path, text, sizeof(text)) && strncmp(text, "gitdir: ", 8) == 0 &&
	       join_git_path(dir, text + 8, ret, n);
}

int git_commit(const char *dir, struct git_place *ret)
{
	char at[4096], git[4200 + 4096], head[300], common[300], both[9000];
	if (snprintf(at, sizeof(at), "%s", dir) >= (int)sizeof(at))
		return 0;
	while (!git_of(at[0] ? at : "/", git, sizeof(git))) {
		char *slash = strrchr(at, '/');
		if (!slash || !at[0])
			return 0;
		*slash = '\0';
	}
	if (snprintf(ret->top, sizeof(ret->top), "%s", at[0] ? at : "/") >= (int)sizeof(ret->top) ||
	    snprintf(ret->index, sizeof(ret->index), "%s/index", git) >= (int)sizeof(ret->index) ||
	    snprintf(both, sizeof(both), "%s/HEAD", git) >= (int)sizeof(both) || !read_first_text(both, head, sizeof(head)))
		return 0;
	if (is_commit(head, strlen(head))) {
		memcpy(ret->commit, head, strlen(head) + 1);
		return 1;
	}
	if (strncmp(head, "ref: ", 5) != 0 || !head[5] || strstr(head, ".."))
		return 0;
	if (ref_in(git, head + 5, ret->commit))
		return 1;
	snprintf(both, sizeof(both), "%s/commondir", git);
	return read_first_text(both, common, sizeof(common)) && join_git_path(git, common, both, sizeof(both)) &&
	       ref_in(both, head + 5, ret->commit);
}
