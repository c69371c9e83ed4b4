/* stemma watch: a line for each thing that an expression describes, as the record gains it. */
#include "answer/entities.h"
#include "answer/watch/watch.h"
#include "answer/why/why.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "cmd/watch/watch_logs.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define ARGV_MAX 160  /* bytes of a command line */
#define REST 4        /* looking takes at most one part in so many of the time, and one more */
#define SHORTEST 100  /* ms from a look to the next one */
#define LONGEST 60000 /* ms */
#define TRIES 8       /* looks that fail one after the other until it gives up: some ten seconds */

struct watching {
	struct cmd *c;
	const struct opts_watch *o;
	struct watch *watch;
	uint64_t told;
	bool unwritable; /* the output is */
	int status;
};

/* ---- words ---- */

/* Appends a version. *ret_time: when it was written to its end; NULL: not wanted. 0; -ENOENT: the record does not
 * have it; -errno. */
static int put_version(struct cmd *c, store_id id, bool sure, struct buf *b, int64_t *ret_time)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(c->store, id, &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	version_name(b, &v, &f);
	if (!sure)
		buf_char(b, '?');
	if (ret_time)
		*ret_time = v.end != TIME_NONE && v.end != TIME_NEVER ? v.end : v.start;
	return 0;
}

/* The first of those that `stemma why` names. Nothing where nobody was seen. 0, -errno. */
static int put_maker(struct cmd *c, store_id version, struct buf *b)
{
	struct why n;
	int r = why_find(cmd_source(c), version, 0, &n);
	if (r < 0)
		return r;
	if (n.n_makers) {
		buf_printf(b, "  by ");
		r = exec_name(c->store, n.reps[0], true, ARGV_MAX, b);
	}
	why_release(&n);
	return r < 0 ? r : 0;
}

/* Appends a run. 0; -ENOENT; -errno. */
static int put_run(struct cmd *c, store_id id, bool sure, struct buf *b, int64_t *ret_time)
{
	struct run_info run;
	int r = store_run_told(c->store, id, &run);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	fmt_name(b, fmt_run(run.ulid));
	buf_printf(b, "%s  ", sure ? "" : "?");
	fmt_ending(b, run.ending, run.code);
	buf_printf(b, "  ");
	fmt_argv(b, &run.argv, true, ARGV_MAX);
	*ret_time = run.end;
	return 0;
}

/* Appends an execution. 0; -ENOENT; -errno. */
static int put_exec(struct cmd *c, store_id id, bool sure, struct buf *b, int64_t *ret_time)
{
	struct exec_info x;
	int r = store_exec(c->store, id, &x);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret_time = x.end;
	buf_printf(b, "%.10s%s  ", x.pub.text, sure ? "" : "?");
	fmt_ending(b, x.ending, x.code);
	buf_printf(b, "  ");
	r = exec_name(c->store, id, true, ARGV_MAX, b);
	return r < 0 ? r : 0;
}

/* Appends what has happened. 0; -ENOENT; -errno. */
static int put_event(struct cmd *c, const struct watch_event *e, struct buf *b, int64_t *ret_time)
{
	int r;
	switch (e->what) {
	case WATCH_MADE:
		r = put_version(c, e->id, e->sure, b, ret_time);
		return r < 0 ? r : put_maker(c, e->id, b);
	case WATCH_RUN:
		return put_run(c, e->id, e->sure, b, ret_time);
	case WATCH_EXECUTION:
		return put_exec(c, e->id, e->sure, b, ret_time);
	case WATCH_STALE:
		break;
	}
	r = put_version(c, e->id, e->sure, b, NULL);
	buf_printf(b, ": came from ");
	r = r < 0 ? r : put_version(c, e->was, true, b, NULL);
	buf_printf(b, ", and there is ");
	return r < 0 ? r : put_version(c, e->now, true, b, ret_time);
}

/* Prints what has happened as a line. 0; -ENOENT; -errno, then nothing was printed. */
static int print_text(struct cmd *c, const struct watch_event *e)
{
	static const char *const words[] = {"made", "run", "ended", "stale"};
	struct buf line = {0}, what = {0};
	int64_t t = TIME_NONE;
	int r = put_event(c, e, &what, &t);
	if (r == 0) {
		fmt_time(&line, t, true);
		buf_printf(&line, "  %-5s  %s", words[e->what], buf_cstr(&what));
		if (c->out.tty)
			fmt_fit(&line, 0, (size_t)c->out.width, c->out.utf8);
		puts(buf_cstr(&line));
	}
	buf_release(&line);
	buf_release(&what);
	return r;
}

/* A watch_each; arg is a struct watching. 1: enough, or w->status says what went wrong; 0; -errno. */
static int print_event(void *arg, const struct watch_event *e)
{
	struct watching *w = arg;
	json_t *o = NULL;
	int r = w->o->json ? watch_json(cmd_source(w->c), e, &o) : print_text(w->c, e);
	if (r < 0)
		return r;
	if (w->o->json)
		w->status = js_print(o, true);
	w->told++;
	if (fflush(stdout) == EOF) {
		w->unwritable = true;
		return -errno;
	}
	return w->status != STATUS_OK || (w->o->count && w->told >= w->o->count);
}

/* ---- looking ---- */

/* CLOCK_MONOTONIC, ms. */
static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Brings the index up to date, and tells what is new. 1: it is to end; 0, -errno. */
static int look(struct watching *w, struct err *err)
{
	const struct store_index_options o = {.skew = config_duration(&w->c->config, CONFIG_skew),
	                                      .system_extra = config_get(&w->c->config, CONFIG_system)};
	struct store_index_stats stats;
	store_view_end(w->c->store);
	int r = store_index(w->c->store, &o, err, &stats);
	return r < 0 ? r : watch_look(w->watch, err, print_event, w);
}

/* A look, and where that fails, because the index is held too long or is being made anew, another one: what was not
 * told of comes again with it. 1: it is to end; 0, -errno. */
static int look_again(struct watching *w, struct watch_logs *logs, struct err *err)
{
	int r = look(w, err);
	for (int i = 0; i < TRIES && r < 0 && r != -ENOMEM && !w->unwritable; i++) {
		*err = (struct err){0};
		if (!watch_logs_pause(logs, SHORTEST << (i < 5 ? i : 5)))
			return 1;
		r = look(w, err);
	}
	return r;
}

/* Looks again whenever the logs change, with pauses in proportion. 0: it was ended; -errno. */
static int watch_on(struct watching *w, struct watch_logs *logs, struct err *err)
{
	int64_t rest = 0;
	int r;
	while ((r = watch_logs_wait(logs)) > 0) {
		if (rest && !watch_logs_pause(logs, rest))
			return 0;
		int64_t from = now_ms();
		r = look_again(w, logs, err);
		if (r != 0)
			return r < 0 ? r : 0;
		rest = (now_ms() - from) * REST;
		rest = rest < SHORTEST ? SHORTEST : rest > LONGEST ? LONGEST : rest;
	}
	return r;
}

/* The logs are watched before they are read: what comes in between is met by the first look. A status, reported; close
 * ret in any case. */
static int watch_logs_of(struct cmd *c, struct watch_logs *ret)
{
	struct err err = {0};
	char *home = NULL;
	struct buf folder = {0};
	*ret = (struct watch_logs){.fd = -1, .signals = -1};
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	buf_printf(&folder, "%s/logs", home);
	int r = watch_logs_open(buf_cstr(&folder), ret);
	buf_release(&folder);
	free(home);
	if (r < 0) {
		report("cannot watch the logs: %s", strerror(-r));
		return STATUS_SELF;
	}
	if (ret->blind)
		report("changes of the logs may be missed; checking every %d s, too", LOGS_BLIND / 1000);
	return STATUS_OK;
}

/* A status, reported. */
static int begin_and_watch(struct watching *w, const struct expr *e, enum expr_kind kind)
{
	struct err err = {0};
	struct watch_logs logs;
	int status = watch_logs_of(w->c, &logs);
	if (status == STATUS_OK)
		status = cmd_store(w->c, false);
	if (status == STATUS_OK) {
		int r = watch_new(cmd_source(w->c), e, kind, &err, &w->watch);
		if (r < 0)
			status = report_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
	}
	if (status == STATUS_OK) {
		if (!w->o->json)
			report("watching; Ctrl-C ends it");
		int r = watch_on(w, &logs, &err);
		if (r < 0 && !*err.text)
			report("cannot continue watching: %s", strerror(-r));
		status = r >= 0 ? w->status : *err.text ? report_err(&err, STATUS_SELF) : STATUS_SELF;
	}
	watch_free(w->watch);
	watch_logs_close(&logs);
	return status;
}

/* Gives the exit status. Watches until it is told to end. */
int cmd_watch(struct cmd *c, const struct opts_watch *o)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind;
	struct watching w = {.c = c, .o = o};
	if (!c->n_operands)
		return report_usage(c, "watch needs an expression");
	if (expr_parse(c->operands, (size_t)c->n_operands, &err, &e, &kind) < 0)
		return report_err(&err, STATUS_USAGE);
	int status = cmd_store_exists(c);
	if (status == STATUS_OK)
		status = begin_and_watch(&w, e, kind == EXPR_ANY ? EXPR_FILES : kind);
	expr_free(e);
	return status;
}
