#include "daemon/logs.h"

#include "base/fileid.h"
#include "base/io.h"
#include "event/log_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct log {
	struct log *next;
	uint32_t uid;
	struct log_writer *w;
	char day[16];
	int64_t used;
	bool told;   /* ... or lost something, and that was said */
	bool failed; /* it could not be opened; tried again when the logs are tended */
	/* What could not be kept, and since when: a gap of the next session, in which all is told anew, for what is missing
	 * may have said what a number stands for. */
	uint64_t missed;
	int64_t missed_from;
};

struct logs {
	struct logs_options o;
	struct logs_hooks hooks;
	char host[256];
	char *base;
	uint64_t pidns;
	struct log *list, *last; /* last: the one that was used last */
	unsigned n_open;
	uint64_t lost, bytes, written;
	int64_t now;
};

static void day_of(int64_t t, char ret[16])
{
	time_t s = (time_t)(t / 1000000000);
	struct tm tm;
	gmtime_r(&s, &tm);
	strftime(ret, 16, "%Y-%m-%d", &tm);
}

static int64_t realtime_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int logs_open(const struct logs_options *o, const struct logs_hooks *h, struct err *err, struct logs **ret)
{
	struct logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->o = *o;
	l->hooks = *h;
	l->now = realtime_now();
	if (o->host)
		snprintf(l->host, sizeof(l->host), "%s", o->host);
	else
		gethostname(l->host, sizeof(l->host) - 1);
	struct stat st;
	if (stat("/proc/self/ns/pid", &st) == 0)
		l->pidns = st.st_ino;
	int r = io_mkdirs(o->base, 0700);
	l->base = r == 0 ? realpath(o->base, NULL) : NULL;
	if (!l->base) {
		r = r ? r : -errno;
		err_set(err, -r, "cannot make '%s'", o->base);
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static void session_event(struct logs *l, struct log *g)
{
	struct event ev = {.kind = EVENT_session,
	                   .time = l->now,
	                   .session = {.host = str_of(l->host),
	                               .boot = str_of(host_boot_id()),
	                               .pidns = l->pidns,
	                               .tool = str_of("stemmad " STEMMA_VERSION),
	                               .mode = str_of(l->o.mode)}};
	log_writer_add(g->w, &ev);
}

/* The store of all users has links to the logs of each. */
static void link_to_all(const struct logs *l, uint32_t uid)
{
	char dir[4096 + 64], name[4096 + 128], to[64];
	snprintf(dir, sizeof(dir), "%s/all/logs", l->base);
	snprintf(name, sizeof(name), "%s/u%u", dir, uid);
	snprintf(to, sizeof(to), "../../users/%u/logs", uid);
	if (io_mkdirs(dir, 0700) == 0 && symlink(to, name) < 0 && errno != EEXIST)
		return; /* an administrator's question lacks this user then; fsck of that store says so */
}

/* Said once for each time. */
static void trouble(const struct logs *l, struct log *g, const char *text)
{
	if (!g->told && l->hooks.trouble)
		l->hooks.trouble(l->hooks.arg, g->uid, text);
	g->told = true;
}

static void miss(struct logs *l, struct log *g, int64_t time)
{
	if (!g->missed++)
		g->missed_from = time < l->now ? time : l->now;
	else if (time < g->missed_from)
		g->missed_from = time;
	l->lost++;
}

static void begin(struct logs *l, struct log *g)
{
	char home[4096 + 64];
	struct err err = {0};
	snprintf(home, sizeof(home), "%s/users/%u", l->base, g->uid);
	day_of(l->now, g->day);
	int r = log_writer_open(home, l->host, g->day, &err, &g->w);
	g->failed = r < 0;
	if (r < 0) {
		g->w = NULL;
		trouble(l, g, err.text);
		return;
	}
	l->n_open++;
	link_to_all(l, g->uid);
	session_event(l, g);
	if (!g->missed)
		return;
	struct event gap = {.kind = EVENT_gap,
	                    .time = l->now,
	                    .gap = {.reason = TERM_gap_lost,
	                            .count = g->missed,
	                            .from = g->missed_from,
	                            .text = str_of("the log could not be written")}};
	log_writer_add(g->w, &gap);
	g->missed = 0;
}

static void end(struct logs *l, struct log *g)
{
	struct event ev = {.kind = EVENT_session_end, .time = l->now};
	if (!g->w)
		return;
	g->told = false;
	log_writer_add(g->w, &ev);
	l->lost += log_writer_lost(g->w);
	log_writer_close(g->w);
	g->w = NULL;
	l->n_open--;
}

/* Too many are open: that which was used longest ago is closed. */
static void make_room(struct logs *l)
{
	struct log *old = NULL;
	for (struct log *g = l->list; g; g = g->next)
		if (g->w && (!old || g->used < old->used))
			old = g;
	if (!old)
		return;
	l->hooks.part(l->hooks.arg, old->uid);
	end(l, old);
	l->hooks.begun(l->hooks.arg, old->uid);
}

uint64_t logs_add(struct logs *l, uint32_t uid, const struct event *ev)
{
	struct log *g = l->last && l->last->uid == uid ? l->last : l->list;
	while (g && g->uid != uid)
		g = g->next;
	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g) {
			l->lost++;
			return 0;
		}
		g->uid = uid;
		g->next = l->list;
		l->list = g;
	}
	l->last = g;
	g->used = l->now;
	if (!g->w && !g->failed && !g->missed) {
		if (l->n_open >= LOGS_OPEN)
			make_room(l);
		begin(l, g);
	}
	l->written++;
	if (g->w && !log_writer_lost(g->w))
		return log_writer_add(g->w, ev);
	/* Of an access that has gone on for long it is the time that lacks it; a process of yesterday is told again. */
	miss(l, g, ev->kind == EVENT_access ? ev->time : l->now);
	return 0;
}

static void renew(struct logs *l, struct log *g)
{
	if (g->w)
		l->hooks.part(l->hooks.arg, g->uid);
	end(l, g);
	if (l->n_open >= LOGS_OPEN)
		make_room(l);
	begin(l, g);
	if (g->w)
		l->hooks.begun(l->hooks.arg, g->uid);
}

bool logs_flush(struct logs *l, int64_t now)
{
	bool all = true;
	l->now = now;
	for (struct log *g = l->list; g; g = g->next) {
		if (!g->w)
			all &= !g->missed;
		else if (log_writer_pending(g->w) && log_writer_flush(g->w) < 0)
			all = false;
		if (!g->w || !log_writer_lost(g->w))
			continue;
		trouble(l, g, "no room on the disk");
		if (!log_writer_pending(g->w)) /* there is room again */
			renew(l, g);
		all = false; /* what is told anew is not written yet */
	}
	return all;
}

/* Somebody took the files away: what is written goes nowhere. */
static bool is_there(const struct log *g)
{
	struct stat st;
	return stat(log_writer_path(g->w), &st) == 0;
}

/* ---- the budget ---- */

struct day {
	char path[512];
	char name[16];
	uint64_t bytes;
};

static uint64_t bytes_in(const char *path, bool remove)
{
	uint64_t sum = 0;
	DIR *d = opendir(path);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		struct stat st;
		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		if (remove)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	if (remove)
		rmdir(path);
	return sum;
}

struct days {
	struct day *v;
	size_t n, cap;
	uint64_t bytes;
};

/* Walks users/UID/logs/HOST/DAY; depth counts the folders below users: uid, logs, host, day. */
static void collect(struct days *days, const char *path, unsigned depth)
{
	if (depth == 4) {
		if (days->n == days->cap) {
			size_t cap = days->cap ? 2 * days->cap : 64;
			struct day *v = realloc(days->v, cap * sizeof(*v));
			if (!v)
				return;
			days->v = v;
			days->cap = cap;
		}
		struct day *d = &days->v[days->n];
		const char *slash = strrchr(path, '/');
		if (snprintf(d->path, sizeof(d->path), "%s", path) >= (int)sizeof(d->path) || strlen(slash + 1) != 10)
			return;
		snprintf(d->name, sizeof(d->name), "%.10s", slash + 1);
		d->bytes = bytes_in(path, false);
		days->bytes += d->bytes;
		days->n++;
		return;
	}
	DIR *dir = opendir(path);
	struct dirent *e;
	while (dir && (e = readdir(dir))) {
		char below[512];
		if (e->d_name[0] == '.' || (depth == 1 && strcmp(e->d_name, "logs") != 0) ||
		    snprintf(below, sizeof(below), "%s/%s", path, e->d_name) >= (int)sizeof(below))
			continue;
		collect(days, below, depth + 1);
	}
	if (dir)
		closedir(dir);
}

static int day_cmp(const void *pa, const void *pb)
{
	const struct day *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->path, b->path);
}

/* An index that was made of logs that are there no more is made again when it is asked for. */
static void drop_index(const struct logs *l, const char *day)
{
	char name[4096 + 64];
	size_t base = strlen(l->base);
	unsigned uid;
	if (sscanf(day + base, "/users/%u/", &uid) != 1)
		return;
	static const char *const tails[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s/users/%u/index/index.db%s", l->base, uid, tails[i]);
		unlink(name);
		snprintf(name, sizeof(name), "%s/all/index.db%s", l->base, tails[i]);
		unlink(name);
	}
}

static void hold_budget(struct logs *l)
{
	struct days days = {0};
	char path[4096 + 64], today[16], oldest[16] = "";
	snprintf(path, sizeof(path), "%s/users", l->base);
	collect(&days, path, 0);
	day_of(l->now, today);
	if (l->o.max_age)
		day_of(l->now - l->o.max_age, oldest);
	if (days.n)
		qsort(days.v, days.n, sizeof(*days.v), day_cmp);
	l->bytes = days.bytes;
	for (size_t i = 0; i < days.n; i++) {
		const struct day *d = &days.v[i];
		bool old = oldest[0] && strcmp(d->name, oldest) < 0, large = l->o.max_bytes && l->bytes > l->o.max_bytes;
		if ((!old && !large) || strcmp(d->name, today) >= 0)
			break;
		l->bytes -= bytes_in(d->path, true);
		drop_index(l, d->path);
	}
	free(days.v);
}

void logs_users(const struct logs *l, int64_t since, void (*each)(void *arg, uint32_t uid), void *arg)
{
	struct days days = {0};
	char path[4096 + 64], first[16];
	snprintf(path, sizeof(path), "%s/users", l->base);
	collect(&days, path, 0);
	day_of(since, first);
	for (size_t i = 0; i < days.n; i++) {
		unsigned uid;
		if (strcmp(days.v[i].name, first) >= 0 && sscanf(days.v[i].path + strlen(l->base), "/users/%u/", &uid) == 1)
			each(arg, uid);
	}
	free(days.v);
}

void logs_tend(struct logs *l, int64_t now)
{
	const int64_t quiet = 600000000000;
	char today[16];
	l->now = now;
	day_of(now, today);
	for (struct log *g = l->list; g; g = g->next) {
		g->failed = false;
		if (!g->w && g->missed)
			renew(l, g);
		if (!g->w)
			continue;
		if (strcmp(g->day, today) != 0 || !is_there(g))
			renew(l, g);
		else if (g->used + quiet < now) {
			l->hooks.part(l->hooks.arg, g->uid);
			end(l, g);
			l->hooks.begun(l->hooks.arg, g->uid);
		}
	}
	hold_budget(l);
}

void logs_again(struct logs *l, int64_t now)
{
	l->now = now;
	for (struct log *g = l->list; g; g = g->next)
		if (g->w || g->missed)
			renew(l, g);
}

void logs_close(struct logs *l)
{
	if (!l)
		return;
	while (l->list) {
		struct log *next = l->list->next;
		end(l, l->list);
		free(l->list);
		l->list = next;
	}
	free(l->base);
	free(l);
}

uint64_t logs_lost(const struct logs *l)
{
	uint64_t lost = l->lost;
	for (const struct log *g = l->list; g; g = g->next)
		lost += g->w ? log_writer_lost(g->w) : 0;
	return lost;
}

uint64_t logs_bytes(const struct logs *l)
{
	return l->bytes;
}

uint64_t logs_written(const struct logs *l)
{
	return l->written;
}
