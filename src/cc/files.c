#include "cc/files.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"
#include "cc/cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* One more gap: word, and what it is of ("" nothing). */
void files_gap(struct files *f, const char *word, const char *of)
{
	buf_printf(&f->gaps, "%s%s%s", word, *of ? " " : "", of);
	buf_char(&f->gaps, '\0');
	f->ngaps++;
}

/* f is empty then. */
void files_free_all(struct files *f)
{
	for (size_t i = 0; i < f->list.n; i++) {
		free(f->list.v[i].path);
		free(f->list.v[i].detail);
	}
	free(f->list.v);
	free(f->first_source);
	buf_release(&f->gaps);
	*f = (struct files){0};
}

/* ---- what kind of file it is ---- */

/* Does s end with tail? */
static bool ends(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);
	return n >= k && strcmp(s + n - k, tail) == 0;
}

/* Does s end with one of the tails? */
static bool ends_in(const char *s, const char *const *tails, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ends(s, tails[i]))
			return true;
	return false;
}

/* Does s begin with head? */
static bool begins(const char *s, const char *head)
{
	return strncmp(s, head, strlen(head)) == 0;
}

/* Programs that put objects together. clang and nvcc call them, gcc calls them through collect2. */
static bool is_linker(const char *program)
{
	static const char *const exact[] = {"collect2", "lto1",    "lto-wrapper", "mold",      "nvlink",
	                                    "lld",      "wasm-ld", "gold",        "fatbinary", "ld64"};
	const char *ld = strstr(program, "ld");
	for (size_t i = 0; i < N(exact); i++)
		if (strcmp(program, exact[i]) == 0)
			return true;
	/* ld, ld.bfd, ld.lld, x86_64-linux-gnu-ld.gold */
	return ld && (ld == program || ld[-1] == '-') && (!ld[2] || ld[2] == '.');
}

/* The role of a file by its first bytes, where its name does not tell. */
static unsigned role_by_bytes(int fd, unsigned otherwise)
{
	Elf64_Ehdr e;
	ssize_t n = io_pread(fd, &e, sizeof(e), 0);
	if (n >= 8 && (!memcmp(&e, "!<arch>\n", 8) || !memcmp(&e, "!<thin>\n", 8)))
		return TERM_role_archive;
	if (n >= 4 && !memcmp(&e, "BC\xc0\xde", 4))
		return TERM_role_object;
	if (n < (ssize_t)offsetof(Elf64_Ehdr, e_machine) || memcmp(&e, ELFMAG, SELFMAG) != 0)
		return otherwise;
	return e.e_type == ET_REL ? TERM_role_object : TERM_role_library;
}

/* Does the command line name this file? cwd may be NULL: relative words are not compared then. */
static bool in_args(const struct record *r, const char *path, const char *cwd)
{
	const char *in = cwd && begins(path, cwd) && path[strlen(cwd)] == '/' ? path + strlen(cwd) + 1 : NULL;
	for (size_t i = 1; i < r->args->n; i++) {
		const char *s = r->args->v[i];
		while (s[0] == '.' && s[1] == '/' && in)
			s += 2;
		if (r->args->input[i] && (strcmp(s, path) == 0 || (in && strcmp(s, in) == 0)))
			return true;
	}
	return false;
}

/* One of the files of options that the command names as @FILE. */
static bool is_response(const struct record *r, const char *path, const char *cwd)
{
	for (size_t i = 0; i < r->args->nfiles; i++) {
		const char *s = r->args->files[i];
		size_t n = s[0] == '/' ? 0 : strlen(cwd);
		if (n ? begins(path, cwd) && path[n] == '/' && strcmp(path + n + 1, s) == 0 : strcmp(path, s) == 0)
			return true;
	}
	return false;
}

/* Does the program read source text? */
static bool is_front_end(const char *program)
{
	static const char *const beginnings[] = {"cc1", "clang", "f951", "cicc", "cudafe", "flang"};
	for (size_t i = 0; i < N(beginnings); i++)
		if (begins(program, beginnings[i]))
			return true;
	return cache_is(program);
}

/* The role of a file that a linker read; input: an argument names it. */
static unsigned role_for_linker(const char *path, int fd, bool input)
{
	static const char *const scripts[] = {".ld", ".lds", ".map", ".ver", ".sym", ".x", ".dynlist", ".exports"};
	if (ends_in(path, scripts, N(scripts)))
		return TERM_role_script;
	if (strstr(path, "lto_plugin") || strstr(path, "LLVMgold"))
		return TERM_role_plugin;
	return role_by_bytes(fd, input ? TERM_role_source : TERM_role_script);
}

/* The role of a file that was read by the program of that name. given: the path as it was opened; path: what it is
 * called. */
static unsigned role_of_input(const struct record *r, const char *given, const char *path, const char *cwd, int fd,
                              const char *program)
{
	static const char *const modules[] = {".mod", ".smod", ".gch", ".pch", ".pcm", ".gcm", ".mod.gz"};
	static const char *const profiles[] = {".gcda", ".profdata", ".profraw", ".afdo", ".fdo"};
	bool input = in_args(r, given, cwd) || in_args(r, path, cwd);
	if (ends_in(path, modules, N(modules)))
		return TERM_role_module;
	if (ends_in(path, profiles, N(profiles)))
		return TERM_role_profile;
	if (is_response(r, given, cwd) || is_response(r, path, cwd))
		return TERM_role_response;
	if (input && args_is_source(path))
		return TERM_role_source;
	if (is_linker(program) || (input && r->args->links && !begins(program, "cc1") && !begins(program, "f951")))
		return role_for_linker(path, fd, input);
	if (input)
		return TERM_role_source;
	if (is_front_end(program) || args_is_source(path))
		return role_by_bytes(fd, TERM_role_header) == TERM_role_library ? TERM_role_plugin : TERM_role_header;
	return role_by_bytes(fd, TERM_role_other) == TERM_role_library ? TERM_role_plugin : TERM_role_other;
}

/* ---- paths ---- */

/* The path without "..", "." and doubled slashes, as the kernel knows the file behind fd; where there are none it stays
 * as it was opened, symbolic links and all. */
static char *clean_path(const char *path, int fd)
{
	char link[64], real[PATH_MAX];
	if (!strstr(path, "/../") && !strstr(path, "/./") && !strstr(path, "//"))
		return strdup(path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = '\0';
	return strdup(n > 0 && real[0] == '/' && !ends(real, " (deleted)") ? real : path);
}

/* Not /dev/shm, which has files like any other. */
static bool is_of_kernel(const char *path)
{
	return begins(path, "/proc/") || begins(path, "/sys/") || (begins(path, "/dev/") && !begins(path, "/dev/shm/"));
}

/* ---- the list ---- */

/* Adds an input of the build. NULL: no memory. */
static struct build_file *append_build_input(struct files *f)
{
	struct build_files *l = &f->list;
	if (!vec_has_room(l->v, l->n, l->room))
		return NULL;
	l->v[l->n] = (struct build_file){.mtime = TIME_NONE};
	return &l->v[l->n++];
}

struct collecting {
	const struct record *r;
	const struct observed *s;
	struct digest_cache *cache;
	struct files *f;
	char *cwd;
	struct table by_path; /* of the list: what is called alike in the end is one */
	struct cache_dirs cache_dirs;
};

/* Is the path listed? role tool: as a tool; each other: in whatever role but that. */
static bool listed(const struct collecting *g, const char *path, unsigned role)
{
	uint32_t at;
	for (size_t pos = TABLE_START; (at = table_next(&g->by_path, hash_fold(hash_str(str_of(path))), &pos)) != VEC_NONE;)
		if (strcmp(g->f->list.v[at].path, path) == 0 && (g->f->list.v[at].role == role || role != TERM_role_tool))
			return true;
	return false;
}

/* Which roles' files have an id of the build in them. */
static bool has_id(unsigned role)
{
	return role == TERM_role_output || role == TERM_role_library || role == TERM_role_plugin;
}

/* A new row of the list; path is taken over. */
static struct build_file *note_file(struct collecting *g, char *path, unsigned role)
{
	struct build_file *b = path ? append_build_input(g->f) : NULL;
	if (!b || !table_add(&g->by_path, hash_fold(hash_str(str_of(path))), (uint32_t)(g->f->list.n - 1))) {
		g->f->list.n -= b != NULL;
		free(path);
		return NULL;
	}
	b->role = role;
	b->path = path;
	return b;
}

/* Sets size, time and digest of a file. rc: what came of its digest. */
static void set_build_file_state(struct collecting *g, struct build_file *b, const struct digest *d, int rc,
                                 const struct stat *st)
{
	b->size = (uint64_t)st->st_size;
	b->mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	b->digested = rc == 0;
	if (rc < 0)
		b->detail = strdup(strerror(-rc));
	else
		b->digest = *d;
	if (rc == 0 && b->role != TERM_role_output && b->role != TERM_role_cache && b->mtime >= g->r->began)
		files_gap(g->f, "changed", b->path);
	if (b->role == TERM_role_source && !g->f->first_source)
		g->f->first_source = strdup(b->path);
}

/* Appends the file behind fd; path is taken over. Once for each path and role. 0; -ENOMEM. What cannot be digested is
 * listed without. */
static int append_open_file(struct collecting *g, char *path, int fd, unsigned role, const struct stat *st)
{
	struct stat now = *st;
	struct digest d;
	if (path && listed(g, path, role)) {
		free(path);
		return 0;
	}
	struct build_file *b = note_file(g, path, role);
	if (!b)
		return -ENOMEM;
	int rc = digest_fd(g->cache, fd, &d, &now);
	set_build_file_state(g, b, &d, rc, &now);
	if (rc == 0 && has_id(role)) {
		int n = elfid_build_id(fd, b->id);
		b->nid = n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Lists a file that cannot be read. Nothing can be read of it any more, or never could. 0, -ENOMEM. */
static int append_unread(struct collecting *g, const char *given, unsigned role, const char *why)
{
	if (listed(g, given, role))
		return 0;
	struct build_file *b = note_file(g, strdup(given), role);
	if (!b)
		return -ENOMEM;
	b->detail = strdup(why);
	return 0;
}

/* The file at the path as it is now. 1: it was opened, *ret_fd is it; 0: it is no regular file; -errno. A FIFO is not
 * opened: that would let go whoever waits for its reader. */
static int open_regular(const char *path, int *ret_fd, struct stat *st)
{
	if (stat(path, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		close(fd);
		return 0;
	}
	*ret_fd = fd;
	return 1;
}

/* Adds a program that the compiler has run. 0, also where it is no regular file; what cannot be opened is listed as
 * unread. -ENOMEM. */
static int take_tool(struct collecting *g, const char *path)
{
	struct stat st;
	int fd, rc = listed(g, path, TERM_role_tool) ? 0 : open_regular(path, &fd, &st);
	if (rc == 1) {
		rc = append_open_file(g, strdup(path), fd, TERM_role_tool, &st);
		close(fd);
		return rc;
	}
	return rc < 0 ? append_unread(g, path, TERM_role_tool, strerror(-rc)) : 0;
}

/* Files that a cache keeps its own books in are nobody's output. */
static bool is_caches_own(const struct collecting *g, const char *program, const char *path)
{
	return cache_is(program) && cache_dirs_have(&g->cache_dirs, path);
}

/* Most of what is read are headers, which are known by their names; what is kept of them needs no open. 1: done. 0: it
 * is to be opened; -ENOMEM. */
static int take_header(struct collecting *g, const struct observed_file *x, const char *program)
{
	static const char *const endings[] = {".h", ".hpp", ".hh", ".hxx", ".inc", ".tcc", ".def"};
	struct digest d;
	struct stat st;
	if ((!begins(program, "cc1") && !begins(program, "clang")) || !ends_in(x->path, endings, N(endings)) ||
	    strstr(x->path, "/../") || strstr(x->path, "/./") || strstr(x->path, "//") || in_args(g->r, x->path, g->cwd))
		return 0;
	if (listed(g, x->path, TERM_role_header))
		return 1;
	if (digest_file(g->cache, AT_FDCWD, x->path, &d, &st) < 0)
		return 0;
	struct build_file *b = note_file(g, strdup(x->path), TERM_role_header);
	if (!b)
		return -ENOMEM;
	set_build_file_state(g, b, &d, 0, &st);
	return 1;
}

/* Does the path go through a descriptor that is ours alone, or ask who we are? Then it was another's. */
static bool is_our_own(const char *path)
{
	static const char *const ways[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
	for (size_t i = 0; i < N(ways); i++)
		if (begins(path, ways[i])) {
			int flags = fcntl(atoi(path + strlen(ways[i])), F_GETFD);
			return flags < 0 || flags & FD_CLOEXEC;
		}
	return begins(path, "/proc/self/exe");
}

/* Are these the tokens of the jobs of make or cargo, by which a compiler asks how many threads it may have? They are no
 * input. `--jobserver-auth=3,4` names descriptors (--jobserver-fds of old), `fifo:PATH` a FIFO (GNU make 4.4). */
static bool is_jobserver(const char *path)
{
	static const char *const variables[] = {"MAKEFLAGS", "CARGO_MAKEFLAGS", "MFLAGS"};
	static const char *const words[] = {"--jobserver-auth=", "--jobserver-fds="};
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < N(variables) * N(words); i++) {
		const char *at = getenv(variables[i / N(words)]);
		int from, to, end = 0;
		at = at ? strstr(at, words[i % N(words)]) : NULL;
		if (!at)
			continue;
		at += strlen(words[i % N(words)]);
		if (begins(at, "fifo:")) {
			at += strlen("fifo:");
			if (strcspn(at, " ") == strlen(path) && begins(at, path))
				return true;
		} else if (slash && strstr(path, "/fd/") && sscanf(at, "%d,%d", &from, &to) == 2 && from >= 0) {
			int fd = -1;
			if (sscanf(slash, "/%d%n", &fd, &end) == 1 && !slash[end] && (fd == from || fd == to))
				return true;
		}
	}
	return false;
}

/* A file by another way: /dev/fd/3, /proc/self/cwd/x.c. Our descriptors and folder are those that the compiler was
 * started with. What the kernel itself tells (/proc/cpuinfo) is no file of anybody's. 0, -ENOMEM. What cannot be told
 * is a gap. */
static int take_by_link(struct collecting *g, const struct observed_file *x)
{
	char link[64], real[PATH_MAX];
	struct stat st;
	struct statfs fs;
	int fd, rc = is_our_own(x->path) ? -ENOENT : open_regular(x->path, &fd, &st);
	if (rc == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		files_gap(g->f, "stream", x->path);
	else if (rc < 0 && (strstr(x->path, "/fd/") || strstr(x->path, "/cwd/") || strstr(x->path, "/root/")))
		files_gap(g->f, "unread", x->path);
	if (rc != 1)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = '\0';
	bool kernels = fstatfs(fd, &fs) == 0 && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC);
	rc = 0;
	if (!kernels && real[0] != '/')
		files_gap(g->f, "unread", x->path);
	else if (!kernels)
		rc = append_open_file(g, strdup(real), fd,
		                      role_of_input(g->r, x->path, real, g->cwd, fd, observed_program(g->s, x->image)), &st);
	close(fd);
	return rc;
}

/* Adds what was read, by its role; the recorder's own files, and what is no file of anybody's, not. 0, -ENOMEM. */
static int take_input(struct collecting *g, const struct observed_file *x)
{
	const char *program = observed_program(g->s, x->image);
	struct stat st;
	int fd, rc;
	if ((g->r->note_path && strcmp(x->path, g->r->note_path) == 0) || is_jobserver(x->path))
		return 0;
	if (g->r->brought && begins(x->path, g->r->brought))
		return 0;
	if (is_of_kernel(x->path))
		return take_by_link(g, x);
	if (x->path[0] != '/') {
		files_gap(g->f, "unread", x->path);
		return 0;
	}
	rc = take_header(g, x, program);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = open_regular(x->path, &fd, &st);
	if (rc < 0) {
		files_gap(g->f, "unread", x->path);
		return append_unread(g, x->path, TERM_role_other, strerror(-rc));
	}
	if (rc == 0) { /* a folder, a device; but what came through a FIFO cannot be told any more */
		if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
			files_gap(g->f, "stream", x->path);
		return 0;
	}
	char *path = clean_path(x->path, fd);
	unsigned role = is_caches_own(g, program, x->path) ? TERM_role_cache
	                : path                             ? role_of_input(g->r, x->path, path, g->cwd, fd, program)
	                                                   : TERM_role_other;
	rc = append_open_file(g, path, fd, role, &st);
	close(fd);
	return rc;
}

/* Are a file's bytes those of a program or shared library, as linking makes them? */
static bool is_linked_file(int fd)
{
	return role_by_bytes(fd, TERM_role_other) == TERM_role_library;
}

/* Adds what was written, if it is still there. *ret_cached: a compiler's cache wrote it. 0, -ENOMEM. */
static int take_output(struct collecting *g, const struct observed_file *x, bool *ret_cached)
{
	const char *program = observed_program(g->s, x->image);
	struct stat st;
	int fd;
	if (is_of_kernel(x->path) || x->path[0] != '/' || is_caches_own(g, program, x->path))
		return 0;
	int rc = open_regular(x->path, &fd, &st);
	if (rc != 1) /* what is not there any more was a step on the way */
		return rc == -EACCES ? append_unread(g, x->path, TERM_role_output, strerror(EACCES)) : 0;
	*ret_cached |= cache_is(program);
	g->f->linked |= is_linked_file(fd);
	rc = append_open_file(g, clean_path(x->path, fd), fd, TERM_role_output, &st);
	close(fd);
	return rc;
}

/* ---- from the arguments, where nothing was seen ---- */

/* The absolute path of a file. To be freed; NULL: no memory. */
static char *absolute_path(const struct collecting *g, const char *path)
{
	char *p = NULL;
	if (path[0] == '/')
		return strdup(path);
	return asprintf(&p, "%s/%s", g->cwd, path) < 0 ? NULL : p;
}

/* A file that the arguments name. An output that is older than the command is not taken. 0, -ENOMEM. */
static int take_named(struct collecting *g, const char *name, bool output)
{
	struct stat st;
	char *path = absolute_path(g, name);
	int fd, rc = path ? open_regular(path, &fd, &st) : -ENOMEM;
	if (rc == 1) {
		unsigned role = output                 ? TERM_role_output
		                : args_is_source(path) ? TERM_role_source
		                                       : role_by_bytes(fd, TERM_role_other);
		/* What was there before, it did not make. */
		int64_t mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		bool old = output && mtime < g->r->began - 2000000000;
		g->f->linked |= output && is_linked_file(fd);
		rc = old ? 0 : append_open_file(g, clean_path(path, fd), fd, role, &st);
		close(fd);
	}
	free(path);
	return rc == -ENOMEM ? rc : 0;
}

/* Adds the files that arguments name; outputs: what it is said to make, too. 0, -ENOMEM. */
static int take_arguments(struct collecting *g, bool outputs)
{
	struct buf outs = {0};
	int rc = 0;
	for (size_t i = 1; rc == 0 && i < g->r->args->n; i++)
		if (g->r->args->input[i])
			rc = take_named(g, g->r->args->v[i], false);
	size_t n = outputs ? args_outputs(g->r->args, &outs) : 0;
	const char *p = buf_cstr(&outs);
	for (; rc == 0 && n && !outs.failed; n--, p += strlen(p) + 1)
		rc = take_named(g, p, true);
	buf_release(&outs);
	return rc;
}

/* What the command names: the compiler, and the files in its arguments. 0, -errno. */
static int collect_named(struct collecting *g)
{
	int rc = take_tool(g, g->r->compiler);
	return rc == 0 ? take_arguments(g, true) : rc;
}

/* What the other compiler read in place of the one that was asked for. 0, -ENOMEM. */
static int take_beside(struct collecting *g)
{
	struct stat st;
	int fd, rc = g->r->beside ? take_tool(g, g->r->beside) : 0;
	for (char *const *p = g->r->beside ? g->r->beside_read : NULL; rc == 0 && p && *p; p++) {
		rc = open_regular(*p, &fd, &st);
		if (rc != 1) {
			files_gap(g->f, "unread", *p);
			rc = 0;
			continue;
		}
		char *path = clean_path(*p, fd);
		rc = append_open_file(g, path, fd, role_of_input(g->r, *p, path ? path : *p, g->cwd, fd, "clang"), &st);
		close(fd);
	}
	return rc;
}

/* ---- all of it ---- */

/* What a program read from standard input: a file can be told, what came through a pipe cannot. 0, -ENOMEM. */
static int take_stdin(struct collecting *g)
{
	char path[PATH_MAX];
	struct stat st;
	ssize_t n = readlink("/proc/self/fd/0", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && path[0] == '/')
		return append_open_file(g, strdup(path), STDIN_FILENO, TERM_role_source, &st);
	files_gap(g->f, "stdin", "");
	return 0;
}

/* Whether a program that was spawned has said so: in a process of its own, and under its real name, which a script does
 * not have. Each image answers for one. */
static bool began_elsewhere(const struct observed *s, const char *path, bool *answered)
{
	char real[PATH_MAX], head[2] = "";
	int fd = realpath(path, real) ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	bool script = fd >= 0 && io_pread(fd, head, 2, 0) == 2 && head[0] == '#' && head[1] == '!';
	if (fd < 0)
		return false;
	close(fd);
	for (size_t i = 1; i < s->images.n; i++)
		if (!s->images.v[i].meant && !answered[i] && (script || strcmp(s->images.v[i].path, real) == 0))
			return answered[i] = true;
	return false;
}

/* Programs that should have been seen and were not, and what was lost. 0, -ENOMEM. */
static int append_unobserved_gaps(struct collecting *g)
{
	const struct observed *s = g->s;
	struct stat st;
	char number[32];
	bool *answered = calloc(s->images.n + 1, sizeof(*answered));
	if (!answered)
		return -ENOMEM;
	for (size_t i = 0; i < s->execs.n; i++) {
		const struct observed_exec *x = &s->execs.v[i];
		if (x->alone)
			files_gap(g->f, "alone", x->path);
		else if (!x->began && x->path[0] == '/' && stat(x->path, &st) == 0 && S_ISREG(st.st_mode) &&
		         (st.st_mode & 0111) && !began_elsewhere(s, x->path, answered))
			files_gap(g->f, "unseen", x->path);
	}
	if (s->lost || g->r->lost) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)(s->lost + g->r->lost));
		files_gap(g->f, "lost", number);
	}
	free(answered);
	return 0;
}

/* Tools, inputs, outputs, gaps, in that order. 0, -ENOMEM. */
static int collect_observed(struct collecting *g)
{
	const struct observed *s = g->s;
	bool cached = false;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < s->images.n; i++)
		rc = take_tool(g, s->images.v[i].path);
	for (size_t i = 0; rc == 0 && i < s->execs.n; i++)
		if (s->execs.v[i].alone)
			rc = take_tool(g, s->execs.v[i].path);
	if (rc == 0)
		rc = take_beside(g);
	for (size_t i = 0; rc == 0 && i < s->files.n; i++)
		if (s->files.v[i].read && !s->files.v[i].written)
			rc = take_input(g, &s->files.v[i]);
	if (rc == 0 && g->r->args->from_stdin)
		rc = take_stdin(g);
	for (size_t i = 0; rc == 0 && i < s->files.n; i++)
		if (s->files.v[i].written)
			rc = take_output(g, &s->files.v[i], &cached);
	if (cached)
		files_gap(g->f, "cached", "");
	size_t gaps = g->f->ngaps;
	if (rc == 0)
		rc = append_unobserved_gaps(g);
	/* Where a program of it was not seen, what the arguments name is known at least. */
	if (rc == 0 && g->f->ngaps > gaps)
		rc = take_arguments(g, WIFEXITED(g->r->status) && WEXITSTATUS(g->r->status) == 0);
	return rc;
}

int files_collect(const struct record *r, const struct observed *s, struct digest_cache *cache, struct files *ret)
{
	struct collecting g = {.r = r, .s = s, .cache = cache, .f = ret, .cwd = getcwd(NULL, 0)};
	int rc;
	*ret = (struct files){0};
	if (!g.cwd)
		g.cwd = strdup("");
	if (!g.cwd)
		return -ENOMEM;
	if (s->images.n) {
		cache_dirs_find(s, &g.cache_dirs);
		rc = collect_observed(&g);
	} else {
		/* It did not run, or could not take the library along. */
		if (!(WIFEXITED(r->status) && WEXITSTATUS(r->status) == 127))
			files_gap(ret, "alone", r->compiler);
		rc = collect_named(&g);
	}
	table_release(&g.by_path);
	cache_dirs_release(&g.cache_dirs);
	free(g.cwd);
	return rc < 0 || ret->gaps.failed ? -ENOMEM : 0;
}
