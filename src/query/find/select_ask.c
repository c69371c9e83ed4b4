/* select_ask.c - what a condition about executions or runs asks: its value, read once, and whether it is true of one.
 */
#include "query/find/select_int.h"

#include "query/find/when.h"
#include "query/target.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The glob as it is matched: against the whole path if it has a slash (relative ones from here), else the last
 * component. */
bool select_path_matches(const char *glob, struct str path, struct buf *tmp)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	buf_reset(tmp);
	if (strchr(glob, '/') || !slash)
		buf_str(tmp, path);
	else
		buf_str(tmp, str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p)));
	return fnmatch(glob, buf_cstr(tmp), 0) == 0;
}

/* "SIGTERM" or "TERM"; 0: no signal is called so. */
static int signal_number(const char *name)
{
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < 65; i++) {
		const char *known = sigabbrev_np(i);
		if (known && strcmp(known, name) == 0)
			return i;
	}
	return 0;
}

/* Reads the value of a condition once. 0, or -EINVAL with a sentence. */
int select_ask_prepare(const struct select *w, const struct expr *e, struct ask *ret)
{
	struct ask a = {.op = e->op, .text = e->value};
	if (e->op == EXPR_since || e->op == EXPR_before) {
		if (when_parse(e->value, w->o->now, &a.time) < 0) {
			err_set(w->err, 0, "'%.100s' is not a time", e->value);
			err_hint(w->err, "times are like 2026-11-21, 2026-11-21T12:13, today, yesterday, 2h, 3d");
			return -EINVAL;
		}
	} else if (e->op == EXPR_in) {
		struct buf b = {0};
		target_path(e->value, &b);
		while (b.n > 1 && b.p[b.n - 1] == '/')
			b.n--;
		snprintf(a.folder, sizeof(a.folder), "%s", b.failed || b.n >= sizeof(a.folder) ? "" : buf_cstr(&b));
		buf_release(&b);
		if (!*a.folder) {
			err_set(w->err, 0, "'%.100s' is not a folder", e->value);
			return -EINVAL;
		}
	} else if (e->op == EXPR_exit) {
		char *end;
		errno = 0;
		unsigned long n = strtoul(e->value, &end, 10);
		a.ending = TERM_ending_exited;
		a.code = n;
		if (strcmp(e->value, "failed") == 0) {
			a.failed = true;
		} else if (strcmp(e->value, "ok") == 0) {
			a.code = 0;
		} else if (!isdigit((unsigned char)*e->value) || *end || errno) {
			a.ending = TERM_ending_signaled;
			a.code = (uint64_t)signal_number(e->value);
			if (!a.code) {
				err_set(w->err, 0, "'%.100s' is not an exit status", e->value);
				err_hint(w->err, "exit takes a number, failed, ok or a signal such as SIGKILL");
				return -EINVAL;
			}
		}
	}
	*ret = a;
	return 0;
}

/* One that was not seen to end has not. */
static bool has_ended_so(const struct ask *a, uint64_t ending, uint64_t code)
{
	if (a->failed)
		return ending == TERM_ending_signaled || (ending == TERM_ending_exited && code);
	return ending == a->ending && code == a->code;
}

/* The folder itself counts. */
static bool is_in_folder(const struct ask *a, struct str cwd)
{
	size_t n = strlen(a->folder);
	return n == 1 ? cwd.n > 0 : str_starts(cwd, str_n(a->folder, n)) && (cwd.n == n || cwd.p[n] == '/');
}

/* Before it, or at it and later; what goes on still is later. */
bool select_ask_time(const struct ask *a, int64_t start, int64_t end)
{
	if (a->op == EXPR_before)
		return start != TIME_NONE && start < a->time;
	return end == TIME_NONE ? start != TIME_NONE && start >= a->time : end >= a->time;
}

/* tmp: memory that is used again. */
bool select_glob_is(const char *glob, struct str s, struct buf *tmp)
{
	buf_reset(tmp);
	buf_str(tmp, s);
	return fnmatch(glob, buf_cstr(tmp), 0) == 0;
}

/* A path named whole, by its last components, or by a pattern. */
static bool path_has_name(const char *name, struct str path, struct buf *tmp)
{
	struct str n = str_of(name);
	if (str_ends(path, n) && (path.n == n.n || *name == '/' || path.p[path.n - n.n - 1] == '/'))
		return n.n > 0;
	return select_path_matches(name, path, tmp);
}

/* By its file, its script or its first argument. 1, 0, -errno. */
static int is_program_named(const struct select *w, const char *name, const struct exec_info *x, struct buf *tmp)
{
	struct file_info f;
	struct str first;
	size_t pos = 0;
	store_id files[] = {x->exe, x->script};
	for (int i = 0; i < 2; i++) {
		int r = files[i] ? store_file(w->s, files[i], &f) : 0;
		if (r < 0 || (r > 0 && path_has_name(name, f.path, tmp)))
			return r;
	}
	return strlist_next(&x->argv, &pos, &first) && path_has_name(name, first, tmp);
}

/* 1, 0 or -errno */
int select_ask_exec(const struct select *w, const struct ask *a, const struct exec_info *x, struct buf *tmp)
{
	struct str arg;
	switch (a->op) {
	case EXPR_exe:
		return is_program_named(w, a->text, x, tmp);
	case EXPR_arg:
		for (size_t pos = 0; strlist_next(&x->argv, &pos, &arg);)
			if (memmem(arg.p, arg.n, a->text, strlen(a->text)))
				return 1;
		return 0;
	case EXPR_in:
		return is_in_folder(a, x->cwd);
	case EXPR_job:
		return x->job.n && select_glob_is(a->text, x->job, tmp);
	case EXPR_user:
		return str_is(x->user, a->text);
	case EXPR_host:
		return select_glob_is(a->text, x->host, tmp);
	case EXPR_exit:
		return has_ended_so(a, x->ending, x->code);
	default:
		return select_ask_time(a, x->start, x->end);
	}
}

/* Conditions that are of runs as a whole; all others are false. */
int select_ask_run(const struct ask *a, const struct run_info *r, struct buf *tmp)
{
	switch (a->op) {
	case EXPR_in:
		return is_in_folder(a, r->cwd);
	case EXPR_user:
		return str_is(r->user, a->text);
	case EXPR_host:
		return select_glob_is(a->text, r->host, tmp);
	case EXPR_exit:
		return has_ended_so(a, r->ending, r->code);
	default:
		return select_ask_time(a, r->start, r->end);
	}
}
