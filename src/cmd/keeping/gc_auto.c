/* gc_auto.c - gc by itself. */
#include "base/io.h"
#include "cmd/keeping/keeping.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400
#define AGAIN 3600 /* where something is being recorded */

/* Is one of the processes above this one a stemma, which records us? */
static bool inside_run(void)
{
	char path[64], text[512];
	long pid = getppid();
	for (int depth = 0; pid > 1 && depth < 1000; depth++) {
		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		if (!io_text(path, text, sizeof(text)))
			return false;
		const char *name = strchr(text, '('), *end = strrchr(text, ')');
		if (!name || !end || sscanf(end, ") %*c %ld", &pid) != 1)
			return false;
		if (strncmp(name, "(stemma", strlen("(stemma")) == 0)
			return true;
	}
	return false;
}

/* Was the day's cleaning up done already? fd: of the file whose time says so. True, too, where it cannot be told:
 * then nothing is done today. */
static bool was_today(int fd)
{
	struct timespec now;
	struct stat st;
	clock_gettime(CLOCK_REALTIME, &now);
	if (fstat(fd, &st) < 0)
		return true;
	/* A time that is yet to come was that of a clock that was put right since. */
	return st.st_mtime <= now.tv_sec && now.tv_sec - st.st_mtime < DAY;
}

/* The time of the file `gc` in the record is that of the last time; it is locked while one is at work. A descriptor,
 * or -1: not now. */
static int take_turn(const char *home)
{
	struct buf path = {0};
	buf_printf(&path, "%s/gc", home);
	int fd = open(buf_cstr(&path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool first = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(buf_cstr(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	buf_release(&path);
	if (fd >= 0 && ((!first && was_today(fd)) || flock(fd, LOCK_EX | LOCK_NB) < 0 || (!first && was_today(fd)) ||
	                futimens(fd, NULL) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sets the file's time so that the next try comes after AGAIN, not only in a day. */
static void put_off(int fd)
{
	struct timespec at[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
	clock_gettime(CLOCK_REALTIME, &at[1]);
	at[1].tv_sec -= DAY - AGAIN;
	futimens(fd, at); /* else it is tomorrow */
}

/* Reports what the cut has removed, on the error output: how many runs and builds were forgotten, and how much less
 * space it takes. */
static void report_removed(const struct gc_choice *choice, const struct keep_cut_stats *stats)
{
	struct buf size = {0};
	fmt_size(&size, stats->before > stats->after ? stats->before - stats->after : 0, false);
	struct buf what = {0};
	if (choice->n || !choice->n_builds)
		buf_printf(&what, "%zu run%s", choice->n, choice->n == 1 ? "" : "s");
	if (choice->n_builds)
		buf_printf(&what, "%s%zu build%s", what.n ? " and " : "", choice->n_builds, choice->n_builds == 1 ? "" : "s");
	report("gc: %s %s forgotten, %s less (gc_auto)", buf_cstr(&what),
	       choice->n + choice->n_builds == 1 ? "was" : "were", buf_cstr(&size));
	buf_release(&what);
	buf_release(&size);
}

void gc_auto(struct cmd *c)
{
	const char *age = config_get(&c->config, CONFIG_gc_older_than), *size = config_get(&c->config, CONFIG_gc_max_size);
	const char *name = c->command->name;
	struct gc_options o = {
	    .before = TIME_NONE, .max_bytes = UINT64_MAX, .skew = config_duration(&c->config, CONFIG_skew)};
	if (strcmp(config_get(&c->config, CONFIG_gc_auto), "daily") != 0 || (!*age && !*size) || !c->store ||
	    strcmp(name, "gc") == 0 || strcmp(name, "forget") == 0 || inside_run())
		return;
	fflush(stdout); /* whoever reads the answer need not wait */
	int turn = take_turn(store_home(c->store));
	if (turn < 0)
		return;
	struct err err = {0};
	struct gc_choice choice = {0};
	struct keep_logs *logs = NULL;
	struct keep_cut_stats stats = {0};
	struct buf text = {0};
	struct str *runs = NULL;
	int r = gc_budget(age, size, &o, &err);
	if (r == 0)
		r = keep_logs_open(store_home(c->store), &err, &logs);
	if (r == 0) {
		keep_logs_patience(logs, 0);
		r = gc_choose(c->store, logs, &o, &err, &choice);
	}
	size_t all = choice.n + choice.n_builds;
	if (r == 0 && choice.n)
		r = keeping_names(c->store, &choice, &text, &runs, &err);
	if (r == 0 && all) {
		struct keep_cut_options cut = {
		    .runs = runs, .n_runs = choice.n, .builds = choice.builds, .n_builds = choice.n_builds};
		r = keep_cut(logs, &cut, &err, &stats);
	}
	keep_logs_close(logs);
	if (r == -EBUSY || r == -EAGAIN)
		put_off(turn);
	else if (r < 0)
		report("gc_auto: %s", err.text);
	if (r == 0 && all && keeping_index(c) == STATUS_OK)
		report_removed(&choice, &stats);
	gc_release(&choice);
	buf_release(&text);
	free(runs);
	close(turn);
}
