/* gittree.c - is a tree of sources what its commit says? Only git can tell, and a compile cannot wait for it each time:
 * what it said is kept, and holds as long as nothing has changed that it was said of. */
#include "base/child.h"
#include "base/clock.h"
#include "cc/git.h"

#include "base/hash.h"
#include "base/io.h"
#include "sandbox/childless.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 2000
/* What was changed so long before git was asked, it saw: times of files are those of the last tick, 10 ms at most. */
#define SETTLED_NS 100000000
/* A compile asks again when a hundred times as long has passed as git took: that is one part in a hundred at most. */
#define RARELY 100

extern char **environ;

/* Environment for it: no language, and nothing of ours or the compiler's in its way. */
static char **env_for_git(void)
{
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	char **v = malloc((n + 3) * sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		if (strncmp(environ[i], "GIT_", 4) != 0 && strncmp(environ[i], "LC_ALL=", 7) != 0)
			v[k++] = environ[i];
	if (v) {
		static char optional[] = "GIT_OPTIONAL_LOCKS=0", lang[] = "LC_ALL=C";
		v[k++] = optional; /* it is to write nothing */
		v[k++] = lang;
		v[k] = NULL;
	}
	return v;
}

/* The repository's configuration can name programs: git may start none. 0, -errno. */
static int start_no_other(void *arg)
{
	(void)arg;
	childless_bound(0);
	return childless_enter();
}

/* What git says of the first file that is not as committed: "XY path", in ret; "" where all are. */
static unsigned ask_git_status(const char *top, char *ret, size_t room)
{
	char *argv[] = {
	    (char *)"git",    (char *)"-C",          (char *)top,    (char *)"-c", (char *)"core.fsmonitor=false",
	    (char *)"status", (char *)"--porcelain", (char *)"-uno", (char *)"-z", NULL};
	char **env = env_for_git();
	struct buf printed = {0};
	struct child c = {
	    .argv = argv, .env = env, .before = start_no_other, .most = room - 1, .cut = true, .limit_ms = WAIT_MS};
	int rc = env ? child_read(&c, &printed) : -ENOMEM;
	free(env);
	snprintf(ret, room, "%s", buf_cstr(&printed)); /* the first ends with a zero byte */
	buf_release(&printed);
	return *ret ? TERM_tree_dirty : rc == 0 ? TERM_tree_clean : TERM_tree_unknown;
}

/* ---- what it said, and of what ---- */

/* How a file looks: enough to see that it was written or replaced. "-": it is not there. */
struct look {
	char text[128];
};

/* "-": there is no file. *ret_changed: its ctime (ns), 0 then. */
static struct look read_file_state(const char *path, int64_t *ret_changed)
{
	struct look l = {"-"};
	struct stat st;
	*ret_changed = 0;
	if (lstat(path, &st) == 0) {
		*ret_changed = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
		snprintf(l.text, sizeof(l.text), "%llu.%llu.%llu.%lld", (unsigned long long)st.st_dev,
		         (unsigned long long)st.st_ino, (unsigned long long)st.st_size, (long long)*ret_changed);
	}
	return l;
}

struct cached_status {
	char commit[72], top[PATH_MAX];
	struct look index;
	int64_t asked, took; /* ns */
	unsigned tree;
	char witness[PATH_MAX]; /* of a dirty tree: a file that is not as committed, below top; "": the index is not */
	struct look as;
};

/* Writes where the state of a working tree is cached. ret_dir: the folder, ret: the file; both have room for n.
 * False: too long. */
static bool format_answer_path(const char *cache, const char *top, char *ret_dir, char *ret, size_t n)
{
	return snprintf(ret_dir, n, "%s/trees", cache) < (int)n &&
	       snprintf(ret, n, "%s/trees/%016llx", cache, (unsigned long long)hash_str(str_of(top))) < (int)n;
}

/* One string of those that lie one behind the other, each with its NUL. False: there is none, or it is too long. */
static bool next_cstr(const char **at, const char *end, char *ret, size_t room)
{
	const char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
	if (!nul || (size_t)(nul - *at) >= room)
		return false;
	memcpy(ret, *at, (size_t)(nul - *at) + 1);
	*at = nul + 1;
	return true;
}

/* Reads the cached state of a working tree. False: there is none, or it is damaged. */
static bool read_cached_status(const char *path, struct cached_status *ret)
{
	char text[3 * PATH_MAX], number[3][24], end[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : io_pread(fd, text, sizeof(text), 0);
	if (fd >= 0)
		close(fd);
	const char *at = text, *over = text + (n > 0 ? n : 0);
	if (!next_cstr(&at, over, ret->commit, sizeof(ret->commit)) || !next_cstr(&at, over, ret->top, sizeof(ret->top)) ||
	    !next_cstr(&at, over, ret->index.text, sizeof(ret->index.text)) ||
	    !next_cstr(&at, over, number[0], sizeof(number[0])) || !next_cstr(&at, over, number[1], sizeof(number[1])) ||
	    !next_cstr(&at, over, number[2], sizeof(number[2])) ||
	    !next_cstr(&at, over, ret->witness, sizeof(ret->witness)) ||
	    !next_cstr(&at, over, ret->as.text, sizeof(ret->as.text)) || !next_cstr(&at, over, end, sizeof(end)) ||
	    strcmp(end, "end") != 0)
		return false;
	ret->asked = strtoll(number[0], NULL, 10);
	ret->took = strtoll(number[1], NULL, 10);
	ret->tree = (unsigned)strtoul(number[2], NULL, 10);
	return ret->tree <= TERM_tree_dirty;
}

/* Written beside and renamed. What cannot be written is not kept. */
static void write_cached_status(const char *dir, const char *path, const struct cached_status *x)
{
	char text[3 * PATH_MAX], temporary[PATH_MAX + 32];
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int n = snprintf(text, sizeof(text), "%s%c%s%c%s%c%lld%c%lld%c%u%c%s%c%s%cend%c", x->commit, 0, x->top, 0,
	                 x->index.text, 0, (long long)x->asked, 0, (long long)x->took, 0, x->tree, 0, x->witness, 0,
	                 x->as.text, 0, 0);
	snprintf(temporary, sizeof(temporary), "%s.%ld", path, (long)getpid());
	if (n < 0 || n >= (int)sizeof(text))
		return;
	int fd = open(temporary, flags, 0600);
	if (fd < 0 && errno == ENOENT && io_mkdirs(dir, 0700) == 0)
		fd = open(temporary, flags, 0600);
	if (fd < 0)
		return;
	bool ok = io_write(fd, text, (size_t)n, NULL) >= 0;
	close(fd);
	if (!ok || rename(temporary, path) < 0)
		unlink(temporary);
}

/* Does what was said still hold for these files, or for the tree? */
static bool still_holds(const struct cached_status *x, char *const *files, size_t n)
{
	char path[2 * PATH_MAX];
	int64_t changed;
	if (x->tree == TERM_tree_dirty) { /* it is as long as the one that was changed is not changed again */
		snprintf(path, sizeof(path), "%s/%s", x->top, x->witness);
		return !x->witness[0] || strcmp(read_file_state(path, &changed).text, x->as.text) == 0;
	}
	size_t top = strlen(x->top);
	for (size_t i = 0; i < n; i++) {
		if (strncmp(files[i], x->top, top) != 0 || (files[i][top] != '/' && top > 1))
			continue;
		read_file_state(files[i], &changed);
		if (!changed || changed > x->asked - SETTLED_NS)
			return false;
	}
	return x->tree == TERM_tree_clean;
}

/* Is the folder on a file system that no other machine writes? False also if it cannot be opened. */
static bool is_on_local_disk(const char *top)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool local = fd >= 0 && io_is_local(fd); /* else its times are another clock's */
	if (fd >= 0)
		close(fd);
	return local;
}

/* The first file that git said is changed, and how it looks: as long as it looks so the tree is dirty. settled: the
 * index did not change just now. Does what was found hold from now on? */
static bool take_witness(const struct git_place *g, const char *first, int64_t began, bool settled,
                         struct cached_status *is)
{
	size_t len = strlen(first) > 3 ? strlen(first + 3) : sizeof(is->witness);
	char path[2 * PATH_MAX];
	struct stat st;
	int64_t changed;
	settled &= len < sizeof(is->witness);
	memcpy(is->witness, settled ? first + 3 : "", settled ? len + 1 : 1);
	snprintf(path, sizeof(path), "%s/%s", g->top, is->witness);
	is->as = read_file_state(path, &changed);
	/* A folder is a repository within, and does not look otherwise when that is changed. */
	return settled && changed < began - SETTLED_NS && !(lstat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

unsigned git_tree(const struct git_place *g, const char *cache, bool always, char *const *files, size_t n)
{
	char dir[PATH_MAX], name[PATH_MAX];
	struct cached_status *was = calloc(2, sizeof(*was)), *is = was ? was + 1 : NULL;
	int64_t changed;
	unsigned tree = TERM_tree_unknown;
	if (!was)
		return tree;
	bool keeps = cache && format_answer_path(cache, g->top, dir, name, sizeof(name)) && is_on_local_disk(g->top);
	struct look index = read_file_state(g->index, &changed);
	bool known = keeps && !always && read_cached_status(name, was) && strcmp(was->top, g->top) == 0 &&
	             strcmp(was->commit, g->commit) == 0 && strcmp(was->index.text, index.text) == 0;
	int64_t began = clock_now_ns(CLOCK_REALTIME);
	if (known && still_holds(was, files, n)) {
		tree = was->tree;
	} else if (always || (keeps && (!known || began - was->asked > RARELY * was->took || began < was->asked))) {
		char first[PATH_MAX + 8] = "";
		tree = ask_git_status(g->top, first, sizeof(first));
		*is = (struct cached_status){
		    .asked = began, .took = clock_now_ns(CLOCK_REALTIME) - began, .tree = tree, .index = index, .as = {"-"}};
		snprintf(is->commit, sizeof(is->commit), "%s", g->commit);
		snprintf(is->top, sizeof(is->top), "%s", g->top);
		bool settled = changed < began - SETTLED_NS; /* the index */
		if (tree == TERM_tree_dirty && first[0] == ' ')
			settled = take_witness(g, first, began, settled, is);
		if (!settled) /* it holds for nobody; that it was asked, and how long it took, does */
			is->tree = TERM_tree_unknown;
		if (keeps)
			write_cached_status(dir, name, is);
	}
	free(was);
	return tree;
}
