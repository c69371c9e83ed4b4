#include "cmd/cmd.h"

#include "answer/entities.h"
#include "base/memory.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "cmd/ui/mend.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool said;

/* That there is no memory must be said, too: cut, and what is not ASCII replaced. */
static __attribute__((format(printf, 2, 0))) void talk_without_memory(const char *before, const char *fmt, va_list ap)
{
	char text[1024];
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		snprintf(text, sizeof(text), "out of memory");
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	dprintf(STDERR_FILENO, "%s: %s\n", before, text);
}

/* Names in a message may hold anything, escape sequences of a terminal too. */
static __attribute__((format(printf, 2, 0))) void talk(const char *before, const char *fmt, va_list ap)
{
	struct buf b = {0};
	char *text = NULL;
	va_list again;
	said = true;
	va_copy(again, ap);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	else
		fmt_name(&b, str_of(text));
	if (text && !b.failed)
		fprintf(stderr, "%s: %s\n", before, buf_cstr(&b));
	else
		talk_without_memory(before, fmt, again);
	va_end(again);
	buf_release(&b);
	free(text);
}

void report(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	talk("stemma", fmt, ap);
	va_end(ap);
}

void report_hint(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	talk("hint", fmt, ap);
	va_end(ap);
}

int report_err(const struct err *err, int status)
{
	report("%s", err->text[0] ? err->text : "out of memory");
	if (err->hint[0])
		report_hint("%s", err->hint);
	return status;
}

int report_lack(int status)
{
	if (status == STATUS_SELF && memory_lacked() && !said)
		report("out of memory");
	return status;
}

int report_usage(const struct cmd *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	talk("stemma", fmt, ap);
	va_end(ap);
	report_hint("stemma %s --help", c->command->name);
	return STATUS_USAGE;
}

void report_line(const char *line)
{
	report("%s", line);
}

int cmd_end_as(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	struct rlimit none = {0, 0};
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t nothing;
	setrlimit(RLIMIT_CORE, &none);
	sigaction(WTERMSIG(status), &act, NULL);
	sigemptyset(&nothing);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

/* ---- the record ---- */

const char *cmd_home(const struct cmd *c)
{
	const char *home = config_get(&c->config, CONFIG_store);
	return *home ? home : NULL;
}

int cmd_store_exists(const struct cmd *c)
{
	struct err err = {0};
	char *home = NULL;
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	struct buf logs = {0};
	buf_printf(&logs, "%s/logs", home);
	int status = STATUS_OK;
	if (access(buf_cstr(&logs), F_OK) < 0 && errno != EACCES) {
		report("no runs have been recorded in '%s' yet", home);
		report_hint("record a command with: stemma run -- COMMAND");
		status = STATUS_NOTHING;
	} else if (access(buf_cstr(&logs), R_OK | X_OK) < 0) {
		report("cannot open '%s': %s", buf_cstr(&logs), strerror(errno));
		status = STATUS_SELF;
	}
	buf_release(&logs);
	free(home);
	return status;
}

/* What is missing in the logs is said with every answer, not only by the command that met it first. */
void cmd_report_damage(const struct cmd *c, uint64_t newer_frames)
{
	struct store_damage d;
	if (store_damage(c->store, &d) < 0)
		return; /* the question itself will fail */
	if (d.places)
		report("the logs are damaged: %llu byte%s in %llu place%s cannot be read; the rest is used",
		       (unsigned long long)d.bytes, str_plural(d.bytes), (unsigned long long)d.places,
		       d.places == 1 ? "" : "s");
	if (d.sessions)
		report("%llu recording%s lack%s a part of the log; this answer may be incomplete",
		       (unsigned long long)d.sessions, d.sessions == 1 ? "" : "s", d.sessions == 1 ? "s" : "");
	if (newer_frames)
		report("%llu frame%s of the logs from a newer version of stemma %s skipped", (unsigned long long)newer_frames,
		       str_plural(newer_frames), newer_frames == 1 ? "was" : "were");
	if (newer_frames)
		report_hint("install the newer version of stemma to read them");
	if (d.places || d.sessions)
		report_hint("stemma fsck lists the damage");
	js_damaged(d.places || d.sessions);
}

int cmd_report_unread(const struct store *s, const char *what)
{
	if (memory_lacked()) {
		report("cannot %s: out of memory", what);
	} else {
		report("cannot %s: the index of the record '%s' cannot be read", what, store_home(s));
		report_hint("stemma fsck checks it; stemma index --rebuild makes it again");
	}
	return STATUS_SELF;
}

/* Is it that nothing can be written there, rather than that something is wrong? */
static bool is_write_refused(int r)
{
	return r == -EACCES || r == -EPERM || r == -EROFS || r == -ENOSPC || r == -EDQUOT;
}

/* Opens the store and brings its index up to date. 0; -errno with a sentence, then no store is open. */
static int open_once(struct cmd *c, unsigned flags, struct err *err, struct store_index_stats *stats)
{
	struct store_index_options o = {.skew = config_duration(&c->config, CONFIG_skew),
	                                .system_extra = config_get(&c->config, CONFIG_system)};
	mend_watch_opening();
	int r = store_open(cmd_home(c), flags, err, &c->store);
	if (r == 0)
		r = store_index(c->store, &o, err, stats);
	if (r == 0)
		r = mend_watch(c, err);
	if (r < 0) {
		store_close(c->store);
		c->store = NULL;
	}
	return r;
}

/* A damaged index is made again; or, where ret_damaged is asked for, left alone, and one is made in memory. 0; -errno
 * with a sentence. */
static int open_and_index(struct cmd *c, unsigned flags, struct err *err, bool *ret_damaged)
{
	struct store_index_stats stats = {0};
	int r = open_once(c, flags, err, &stats);
	bool again = r < 0 && store_met_damage();
	if (again) {
		err_clear(err);
		r = open_once(c, flags | (ret_damaged ? STORE_MEMORY : STORE_REBUILD), err, &stats);
	}
	if (ret_damaged)
		*ret_damaged = again;
	if (r < 0)
		return r;
	if (again && !ret_damaged)
		report("the index was damaged and has been rebuilt from the logs");
	else if (store_was_older(c->store))
		report("the index of an older version of stemma has been rebuilt from the logs");
	cmd_report_damage(c, stats.newer_frames);
	return 0;
}

/* Opens the store for a question. no_index: as it is. Where an index cannot be written one is made in memory. A
 * status, reported. */
static int open_store(struct cmd *c, bool no_index, bool *ret_damaged)
{
	struct err err = {0}, again = {0};
	int status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	if (no_index) {
		int r = store_open(cmd_home(c), STORE_READ, &err, &c->store);
		if (r == 0)
			r = store_check_pages(c->store, &err);
		if (r == 0)
			cmd_report_damage(c, 0);
		return r == 0 ? STATUS_OK : report_err(&err, r == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
	}
	int r = open_and_index(c, STORE_WRITE, &err, ret_damaged);
	c->indexed = r == 0;
	if (r < 0 && is_write_refused(r)) {
		r = open_and_index(c, STORE_WRITE | STORE_MEMORY, &again, ret_damaged);
		if (r == 0) {
			report("the index cannot be written, so each query makes it again in memory: %s", err.text);
			report_hint("make its folder writable, or free some space there; stemma doctor prints it");
		}
	}
	return r == 0 ? STATUS_OK : report_err(&err, STATUS_SELF);
}

/* All that is answered is of one state of the index, whoever writes meanwhile. */
static int begin_answer(struct cmd *c, int status)
{
	if (status == STATUS_OK && store_view_begin(c->store, VIEW_WALK) < 0) {
		report("cannot read the index '%s': another process holds it, or it is damaged", store_index_path(c->store));
		report_hint("ask again; stemma fsck checks it, stemma index --rebuild makes it again");
		return STATUS_SELF;
	}
	return status;
}

int cmd_store(struct cmd *c, bool no_index)
{
	return begin_answer(c, c->node           ? cmd_node_store(c)
	                       : cmd_database(c) ? cmd_database_store(c)
	                                         : open_store(c, no_index, NULL));
}

int cmd_store_as_it_is(struct cmd *c, bool *ret_damaged)
{
	return open_store(c, false, ret_damaged);
}

const struct answer_source *cmd_source(struct cmd *c)
{
	c->source = (struct answer_source){
	    .store = c->store,
	    .skew = config_duration(&c->config, CONFIG_skew),
	    .system_extra = config_get(&c->config, CONFIG_system),
	    .live = &c->live,
	};
	return &c->source;
}

int cmd_target_status(int r)
{
	return r == 0 || r == -ENOENT || r == -EISDIR || r == -ENOTUNIQ ? STATUS_NOTHING : STATUS_SELF;
}

void cmd_report_namesakes(struct cmd *c, const char *text, int r)
{
	uint64_t n = 0;
	store_id *others = NULL;
	size_t count = 0;
	struct version_info v;
	target_split(text, &n);
	if (!n || (r <= 0 && r != -ENOENT) || target_namesakes(c->store, text, &others, &count) < 0)
		return;
	if (count && r > 0)
		report("%s is a version of the latest file with this name", text);
	for (size_t i = 0; i < count; i++)
		if (store_version(c->store, others[i], &v) > 0) {
			struct buf b = {0};
			if (v.has_size)
				fmt_size(&b, v.size, false);
			buf_printf(&b, v.has_size ? ", " : "");
			fmt_time(&b, v.origin == ORIGIN_OBSERVED ? v.end : v.mtime != TIME_NONE ? v.mtime : v.start, false);
			report_hint("an earlier file with this name also has this version: name that one by its id, %.16s (%s)",
			            v.pub.text, buf_cstr(&b));
			buf_release(&b);
		}
	free(others);
}

void cmd_report_rerun(struct cmd *c, const char *text, store_id run)
{
	struct run_info r;
	if (*text != '@' || store_run_told(c->store, run, &r) != 1 || !run_rerun_of(&r).n)
		return;
	struct str of = fmt_run(run_rerun_of(&r));
	report("%s is a run that stemma rerun made; it repeats %.*s", text, (int)of.n, of.p);
}

int cmd_target(struct cmd *c, const char *text, bool only_file, struct target *ret)
{
	struct err err = {0};
	int r = target_any(c->store, text, only_file, &err, ret);
	if (r <= 0)
		report_err(&err, STATUS_SELF);
	if (r <= 0 || ret->kind == TARGET_FILE)
		cmd_report_namesakes(c, text, r);
	else if (ret->kind == TARGET_RUN)
		cmd_report_rerun(c, text, ret->id);
	return r > 0 ? STATUS_OK : cmd_target_status(r);
}

int cmd_file(struct cmd *c, const char *text, struct file_target *ret)
{
	struct err err = {0};
	int r = target_file(c->store, text, &err, ret);
	if (r <= 0)
		report_err(&err, STATUS_SELF);
	cmd_report_namesakes(c, text, r);
	return r > 0 ? STATUS_OK : cmd_target_status(r);
}
