/* pack_links.c - symbolic links by which the run's programs and libraries were found, and that no list of files tells
 * of: /usr/bin/awk, which leads to mawk by way of /etc/alternatives; the names of libraries beside these. As they are
 * now, and only those that lead to a file of the record. */
#include "base/path.h"
#include "export/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHAIN_MOST 8
#define ENTRIES_MOST 20000 /* of a folder of libraries */
#define LINE_MOST 256      /* bytes of a script's first line */

/* A copy; NULL without memory. */
static const char *copy_link_text(struct pack *p, const char *s)
{
	size_t n = strlen(s) + 1;
	char *text = arena_take(&p->texts, n);
	return text ? memcpy(text, s, n) : NULL;
}

/* Can both stand in a list? */
static bool is_listable(const char *s)
{
	return *s && !strpbrk(s, "\n\t");
}

/* Adds a symbolic link that the run's paths go through. 0, -ENOMEM. */
static int add_link(struct pack *p, const char *path, const char *target)
{
	for (size_t i = 0; i < p->links.n; i++)
		if (strcmp(p->links.v[i].path, path) == 0)
			return 0;
	if (!is_listable(path) || !is_listable(target))
		return 0;
	const char *a = copy_link_text(p, path), *b = copy_link_text(p, target);
	struct pack_link *to = a && b ? vec_add(&p->links) : NULL;
	if (!to)
		return -ENOMEM;
	*to = (struct pack_link){a, b};
	return 0;
}

/* The links from `path` to `real`, one after the other. 0, also where it leads elsewhere; -ENOMEM. */
static int add_chain(struct pack *p, const char *path, const char *real)
{
	char target[PATH_MAX];
	struct buf at = {0};
	char *end = realpath(path, NULL);
	bool leads = end && strcmp(end, real) == 0;
	int r = 0;
	free(end);
	buf_str(&at, str_of(path));
	for (int i = 0; leads && i < CHAIN_MOST && r == 0; i++) {
		ssize_t n = readlink(buf_cstr(&at), target, sizeof(target) - 1);
		if (n <= 0)
			break;
		target[n] = '\0';
		r = add_link(p, buf_cstr(&at), target);
		struct buf next = {0};
		struct str here = buf_view(&at);
		if (target[0] != '/')
			path_append(&next, 0, str_n(here.p, here.n - str_base_name(here).n));
		path_append(&next, 0, str_of(target));
		buf_release(&at);
		at = next;
	}
	r = at.failed ? -ENOMEM : r;
	buf_release(&at);
	return r;
}

/* How a program was called: a path, or a name that is looked up in path_list. 0, -ENOMEM. */
static int add_called(struct pack *p, struct str name, struct str cwd, struct str path_list, const char *real)
{
	struct buf path = {0};
	int r = 0;
	if (name.n && memchr(name.p, '/', name.n)) {
		if (*name.p != '/')
			path_append(&path, 0, cwd);
		path_append(&path, 0, name);
		r = path.failed ? -ENOMEM : add_chain(p, buf_cstr(&path), real);
	}
	while (name.n && !memchr(name.p, '/', name.n) && path_list.n && r == 0) {
		const char *colon = memchr(path_list.p, ':', path_list.n);
		size_t n = colon ? (size_t)(colon - path_list.p) : path_list.n;
		buf_reset(&path);
		buf_str(&path, str_n(path_list.p, n));
		buf_char(&path, '/');
		buf_str(&path, name);
		r = path.failed ? -ENOMEM : n && path_list.p[0] == '/' ? add_chain(p, buf_cstr(&path), real) : 0;
		path_list = str_n(path_list.p + n + (colon != NULL), path_list.n - n - (colon != NULL));
	}
	buf_release(&path);
	return r;
}

/* The interpreter that a script's first line names, and what /usr/bin/env is to look up: a word each, in line. */
static void read_first_line(const char *script, char line[LINE_MOST], struct str *ret_program, struct str *ret_name)
{
	int fd = open(script, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_MOST - 1);
	if (fd >= 0)
		close(fd);
	*ret_program = *ret_name = str_n(NULL, 0);
	line[n < 0 ? 0 : n] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return;
	line[strcspn(line, "\n")] = '\0';
	char *word = line + 2 + strspn(line + 2, " \t");
	*ret_program = str_n(word, strcspn(word, " \t"));
	word += ret_program->n;
	word += strspn(word, " \t");
	*ret_name = str_n(word, strcspn(word, " \t"));
}

/* A file's path with a NUL behind it; "" it is not known. 0, -errno. */
static int link_path_of(struct store *s, store_id file, struct buf *ret)
{
	struct file_info f;
	int r = file ? store_file(s, file, &f) : 0;
	buf_reset(ret);
	if (r > 0)
		buf_str(ret, f.path);
	return r < 0 ? r : ret->failed ? -ENOMEM : 0;
}

/* The names by which the execution's program was found. 0, -errno. */
static int add_exec(struct pack *p, store_id exec)
{
	struct exec_info x;
	struct buf exe = {0}, script = {0};
	struct str name = str_n(NULL, 0), list = str_n(NULL, 0), s, program, word;
	char line[LINE_MOST];
	int r = store_exec(p->s, exec, &x);
	if (r <= 0 || !x.n)
		return r < 0 ? r : 0;
	store_id exe_file = x.exe, script_file = x.script;
	size_t pos = 0;
	(void)strlist_next(&x.argv, &pos, &name);
	for (pos = 0; strlist_next(&x.env, &pos, &s);)
		if (str_starts(s, str_of("PATH=")))
			list = str_n(s.p + 5, s.n - 5);
	r = link_path_of(p->s, exe_file, &exe);
	r = r < 0 ? r : link_path_of(p->s, script_file, &script);
	if (r == 0 && exe.n && !script_file)
		r = add_called(p, name, x.cwd, list, buf_cstr(&exe));
	if (r == 0 && exe.n && script.n) {
		read_first_line(buf_cstr(&script), line, &program, &word);
		r = add_called(p, program, x.cwd, list, buf_cstr(&exe));
		r = r < 0 ? r : add_called(p, word, x.cwd, list, buf_cstr(&exe));
	}
	buf_release(&exe);
	buf_release(&script);
	return r;
}

/* The links beside a library that lead to it, by one step. 0, -ENOMEM. */
static int add_library(struct pack *p, const char *path)
{
	struct str base = str_base_name(str_of(path));
	char *folder = strndup(path, strlen(path) - base.n), target[NAME_MAX + 1];
	DIR *d = folder ? opendir(folder) : NULL;
	int r = folder ? 0 : -ENOMEM;
	size_t n = 0;
	for (struct dirent *e; d && r == 0 && n < ENTRIES_MOST && (e = readdir(d)); n++) {
		ssize_t length =
		    e->d_type == DT_LNK || e->d_type == DT_UNKNOWN ? readlinkat(dirfd(d), e->d_name, target, NAME_MAX) : -1;
		if (length <= 0 || !str_eq(str_n(target, (size_t)length), base))
			continue;
		struct buf link = {0};
		buf_printf(&link, "%s%s", folder, e->d_name);
		target[length] = '\0';
		r = link.failed ? -ENOMEM : add_link(p, buf_cstr(&link), target);
		buf_release(&link);
	}
	if (d)
		closedir(d);
	free(folder);
	return r;
}

int pack_find_links(struct pack *p, const store_id *execs, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = add_exec(p, execs[i]);
	for (size_t i = 0; i < p->software.files.n && r >= 0; i++) {
		const struct software_file *f = &p->software.files.v[i];
		bool brought = f->package != VEC_NONE && pack_is_installed(&p->software.packages.v.v[f->package]);
		if (f->kind == SOFTWARE_LIBRARY && !brought)
			r = add_library(p, f->path);
	}
	return r < 0 ? r : 0;
}
