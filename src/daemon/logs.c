#include "daemon/logs.h"

#include "base/fileid.h"
#include "base/io.h"
#include "daemon/accounts.h"
#include "daemon/disk.h"
#include "event/log_place.h"
#include "event/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL

enum {
	BURST_S = 10,   /* so many seconds' worth may be written at once */
	HOLD_S = 10,    /* who has written more is held for so long */
	SHARE_S = 60,   /* a share is not filled in less */
	PARTS = 8,      /* folders of a share */
	PART_MIN = 4096 /* bytes; a session's beginning takes some hundred */
};

/* Why events are not kept. */
enum miss { MISS_WRITE, MISS_RATE, MISS_FLOOR };

/* What holds for all users of an account together. */
struct account {
	struct account *next;
	uint32_t id;
	int64_t tokens;   /* bytes that may be written at once */
	int64_t held;     /* until when nothing is; 0: it is */
	uint64_t written; /* since the shares were looked at */
};

struct log {
	struct log *next;
	struct account *account;
	uint32_t uid;
	struct log_writer *w;
	char day[16];   /* the folder: a day, or one of its parts */
	unsigned part;  /* of that day; 0: the first */
	uint64_t size;  /* of the segment, when last looked */
	uint64_t begun; /* bytes written since the folder was begun */
	int64_t used;
	bool stale;  /* something is missing in the session that is open, so nothing more goes there */
	bool told;   /* ... or lost something, and that was said */
	bool failed; /* it could not be opened; tried again when the logs are tended */
	/* What could not be kept, and since when: a gap of the next session, in which all is told anew, for what is missing
	 * may have said what a number stands for. */
	uint64_t missed;
	int64_t missed_from, missed_said;
	enum miss why;
};

struct logs {
	struct logs_options o;
	struct logs_hooks hooks;
	char host[256];
	char *base;
	uint64_t pidns;
	struct log *list, *last; /* last: the one that was used last */
	struct account *accounts;
	struct shares shares;
	unsigned n_open;
	uint64_t lost, written;
	int64_t now;
	bool full; /* the disk is at its floor */
	bool look; /* somebody may be above the share */
};

/* CLOCK_REALTIME, ns. */
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

/* The first event of each log: who records, where. */
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
static void report_trouble(const struct logs *l, struct log *g, const char *text)
{
	if (!g->told && l->hooks.trouble)
		l->hooks.trouble(l->hooks.arg, g->uid, text);
	g->told = true;
}

/* An event that was not written is to be told of by a gap. */
static void count_missed(struct logs *l, struct log *g, int64_t time, enum miss why)
{
	if (!g->missed++) {
		g->missed_from = time < l->now ? time : l->now;
		g->why = why;
	} else if (time < g->missed_from) {
		g->missed_from = time;
	}
	l->lost++;
}

/* Bytes a second that one account may write. */
static uint64_t rate_of(const struct logs *l)
{
	uint64_t share = shares_share(&l->shares, &l->o.limits), rate = l->o.rate;
	if (share && (!rate || rate > share / SHARE_S))
		rate = share / SHARE_S;
	return rate;
}

/* What is missing up to now, as a gap of the session that is open. */
static void emit_missed_gap(struct logs *l, struct log *g)
{
	char text[200];
	if (!g->missed || !g->w)
		return;
	if (g->why == MISS_RATE)
		snprintf(text, sizeof(text), "%" PRIu64 " event%s not recorded: above `user_rate` (%" PRIu64 " KiB a second)",
		         g->missed, str_were(g->missed), rate_of(l) >> 10);
	else if (g->why == MISS_FLOOR)
		snprintf(text, sizeof(text), "%" PRIu64 " event%s not recorded: the disk of the node's record was full",
		         g->missed, str_were(g->missed));
	else
		snprintf(text, sizeof(text), "the log could not be written");
	struct event gap = {.kind = EVENT_gap,
	                    .time = l->now,
	                    .gap = {.reason = g->why == MISS_RATE ? TERM_gap_limit : TERM_gap_lost,
	                            .count = g->missed,
	                            .from = g->missed_from,
	                            .text = str_of(text)}};
	if (!log_writer_add(g->w, &gap))
		return;
	g->missed = 0;
	g->missed_said = l->now;
}

/* The user's log begins a session; g->failed and no g->w: it could not, which is told once. */
static void begin_session(struct logs *l, struct log *g)
{
	char home[4096 + 64], day[16], host[LOG_PLACE_HOST];
	struct err err = {0};
	log_place_host(l->host, host);
	snprintf(home, sizeof(home), "%s/users/%u", l->base, g->uid);
	shares_day(l->now, day);
	if (strncmp(g->day, day, 10) != 0)
		g->part = 0;
	if (g->part)
		snprintf(g->day, sizeof(g->day), "%.10s.%03u", day, g->part % 1000);
	else
		snprintf(g->day, sizeof(g->day), "%.10s", day);
	int r = l->full ? err_set(&err, ENOSPC, "less than `min_free` is free on the disk of '%s'", l->base)
	                : log_writer_open(home, host, g->day, &err, &g->w);
	g->failed = r < 0;
	if (r < 0) {
		g->w = NULL;
		report_trouble(l, g, err.text);
		return;
	}
	g->stale = false;
	g->size = log_writer_size(g->w);
	g->begun = 0;
	l->n_open++;
	link_to_all(l, g->uid);
	session_event(l, g);
	emit_missed_gap(l, g);
}

/* Ends the session of a user's log. Nothing where none is open. */
static void end_log_session(struct logs *l, struct log *g)
{
	struct event ev = {.kind = EVENT_session_end, .time = l->now};
	if (!g->w)
		return;
	g->told = false;
	emit_missed_gap(l, g); /* the next session may never be */
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
	end_log_session(l, old);
	l->hooks.begun(l->hooks.arg, old->uid);
}

/* Finds or adds the account that bounds what a user's processes may have recorded. NULL without memory; so
 * find_or_add_log. */
static struct account *find_or_add_account(struct logs *l, uint32_t uid)
{
	uint32_t id = accounts_of(uid);
	struct account *a = l->accounts;
	while (a && a->id != id)
		a = a->next;
	if (a || !(a = calloc(1, sizeof(*a))))
		return a;
	a->id = id;
	a->tokens = (int64_t)(rate_of(l) * BURST_S);
	a->next = l->accounts;
	l->accounts = a;
	return a;
}

/* Finds or adds the log of a user. NULL: no memory. */
static struct log *find_or_add_log(struct logs *l, uint32_t uid)
{
	struct log *g = l->last && l->last->uid == uid ? l->last : l->list;
	while (g && g->uid != uid)
		g = g->next;
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g || !(g->account = find_or_add_account(l, uid))) {
		free(g);
		return NULL;
	}
	g->uid = uid;
	g->next = l->list;
	return l->list = g;
}

/* What was written goes to the account: a frame at a time, so that this is seldom. */
static void charge_bytes(struct logs *l, struct log *g)
{
	uint64_t size = log_writer_size(g->w), more = size >= g->size ? size - g->size : size;
	struct account *a = g->account;
	char text[128];
	g->size = size;
	g->begun += more;
	a->written += more;
	a->tokens -= (int64_t)more;
	uint64_t share = shares_share(&l->shares, &l->o.limits), rate = rate_of(l);
	l->look |= share && shares_of(&l->shares, a->id) + a->written > share;
	if (!rate || a->tokens >= 0 || a->held)
		return;
	a->held = l->now + HOLD_S * NS;
	snprintf(text, sizeof(text), "recording pauses for %d s: above `user_rate` (%" PRIu64 " KiB a second)", HOLD_S,
	         rate >> 10);
	report_trouble(l, g, text);
}

uint64_t logs_add(struct logs *l, uint32_t uid, const struct event *ev)
{
	struct log *g = find_or_add_log(l, uid);
	if (!g) {
		l->lost++;
		return 0;
	}
	l->last = g;
	g->used = l->now;
	bool held = l->full || g->account->held;
	if (!g->w && !g->failed && !g->missed && !held) {
		if (l->n_open >= LOGS_OPEN)
			make_room(l);
		begin_session(l, g);
	}
	l->written++;
	if (g->w && !held && !g->stale && !log_writer_lost(g->w)) {
		uint64_t seq = log_writer_add(g->w, ev);
		if (log_writer_size(g->w) != g->size)
			charge_bytes(l, g);
		return seq;
	}
	g->stale = true;
	/* Of an access that has gone on for long it is the time that lacks it; a process of yesterday is told again. A gap
	 * is part of what is missing. */
	count_missed(l, g,
	             ev->kind == EVENT_access ? ev->time
	             : ev->kind == EVENT_gap  ? ev->gap.from
	                                      : l->now,
	             l->full            ? MISS_FLOOR
	             : g->account->held ? MISS_RATE
	                                : MISS_WRITE);
	return 0;
}

/* Ends the user's session and begins another: what it refers to is told anew. */
static void renew_session(struct logs *l, struct log *g)
{
	if (g->w)
		l->hooks.part(l->hooks.arg, g->uid);
	end_log_session(l, g);
	if (l->n_open >= LOGS_OPEN)
		make_room(l);
	begin_session(l, g);
	if (g->w)
		l->hooks.begun(l->hooks.arg, g->uid);
}

/* Is there less room on the disk than is kept free? An eighth more ends it. */
static void look_at_disk(struct logs *l)
{
	struct statvfs fs;
	if (!l->o.floor || statvfs(l->base, &fs) < 0)
		return;
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize, floor = disk_floor(&fs, l->o.floor);
	l->full = left < (l->full ? floor + floor / 8 : floor);
}

/* Gives all accounts what they may use in the time that has passed. passed: ns since the last time. */
static void refill_accounts(struct logs *l, int64_t passed)
{
	uint64_t rate = rate_of(l);
	int64_t most = (int64_t)(rate * BURST_S), more = passed > 0 ? (int64_t)((double)rate * (double)passed / 1e9) : 0;
	for (struct account *a = l->accounts; a; a = a->next) {
		a->tokens = a->tokens + more < most ? a->tokens + more : most;
		if (!a->held || a->held > l->now)
			continue;
		a->held = 0;
		a->tokens = most;
	}
}

static void hold_budget(struct logs *l);

/* Writes what one log has, and begins another session where that is due. part: bytes after which it is, 0 never. Is all
 * of it on disk? */
static bool flush_log(struct logs *l, struct log *g, uint64_t part, int64_t now)
{
	bool held = l->full || g->account->held;
	bool written = !log_writer_pending(g->w) || log_writer_flush(g->w) == 0;
	if (held && g->missed && now >= g->missed_said + HOLD_S * NS)
		emit_missed_gap(l, g);
	if (!log_writer_lost(g->w) && !g->stale) {
		if (part && !held && g->begun > (part > PART_MIN ? part : PART_MIN)) {
			g->part++;
			renew_session(l, g);
		}
		return written;
	}
	if (log_writer_lost(g->w))
		report_trouble(l, g, "the disk is full");
	else if (l->full)
		report_trouble(l, g, "less than `min_free` is free on its disk; recording stops until space is free");
	if (!held && !log_writer_pending(g->w)) /* there is room again */
		renew_session(l, g);
	return false; /* what is told anew is not written yet */
}

bool logs_flush(struct logs *l, int64_t now)
{
	bool all = true;
	refill_accounts(l, now - l->now);
	l->now = now;
	look_at_disk(l);
	if (l->look)
		hold_budget(l);
	uint64_t part = shares_share(&l->shares, &l->o.limits) / PARTS;
	for (struct log *g = l->list; g; g = g->next)
		all &= g->w ? flush_log(l, g, part, now) : !g->missed;
	return all;
}

void logs_gap(struct logs *l, uint32_t uid, unsigned reason, uint64_t count, int64_t from, int64_t until,
              const char *text)
{
	struct event gap = {.kind = EVENT_gap,
	                    .time = until,
	                    .gap = {.reason = reason, .count = count, .from = from, .text = str_of(text)}};
	logs_add(l, uid, &gap);
}

void logs_emit_gaps(struct logs *l, int64_t now)
{
	l->now = now;
	for (struct log *g = l->list; g; g = g->next)
		if (g->missed && g->w && !log_writer_lost(g->w)) {
			emit_missed_gap(l, g);
			log_writer_flush(g->w);
		}
}

/* Somebody took the files away: what is written goes nowhere. */
static bool has_log_file(const struct log *g)
{
	struct stat st;
	return stat(log_writer_path(g->w), &st) == 0;
}

/* ---- the budget ---- */

/* Is a log of that user being written in the folder? */
static bool in_use(void *arg, uint32_t uid, const char *folder)
{
	const struct logs *l = arg;
	for (const struct log *g = l->list; g; g = g->next)
		if (g->uid == uid)
			return g->w && !strcmp(g->day, folder);
	return false;
}

/* Logs a gap for shares that were removed. That something was taken away is a part of the record; that it was too
 * old is a rule, and told to those who record. */
static void emit_removed_gap(void *arg, const struct shares_removed *r)
{
	static const char *const why[] = {"older than `max_age`", "this user's share of the disk was full",
	                                  "all users together reached `max_size`, and this user had most of it"};
	struct logs *l = arg;
	struct log *g = find_or_add_log(l, r->uid);
	char text[300];
	if (!g || (r->why == SHARES_AGE && !g->w))
		return;
	snprintf(text, sizeof(text), "the oldest %.1f MiB (%s) were removed: %s", (double)r->bytes / (1 << 20), r->folder,
	         why[r->why]);
	report_trouble(l, g, text);
	struct event gap = {.kind = EVENT_gap,
	                    .time = r->until < l->now ? r->until : l->now,
	                    .gap = {.reason = TERM_gap_limit, .from = r->from, .text = str_of(text)}};
	logs_add(l, r->uid, &gap);
}

/* Looks at all folders, and removes the oldest where they are too large. */
static void hold_budget(struct logs *l)
{
	const struct shares_hooks h = {l, in_use, emit_removed_gap};
	l->look = false;
	shares_hold(&l->shares, l->base, &l->o.limits, l->now, &h);
	for (struct account *a = l->accounts; a; a = a->next)
		a->written = 0;
}

void logs_tend(struct logs *l, int64_t now)
{
	const int64_t quiet = 600000000000;
	char today[16];
	l->now = now;
	shares_day(now, today);
	for (struct log *g = l->list; g; g = g->next) {
		g->failed = false;
		if (!g->w && g->missed && !l->full && !g->account->held)
			renew_session(l, g);
		if (!g->w)
			continue;
		bool there = has_log_file(g);
		g->part += !there; /* in another folder: an index may know a file of the old name, and how far it has read it */
		if (strncmp(g->day, today, 10) != 0 || !there)
			renew_session(l, g);
		else if (g->used + quiet < now) {
			l->hooks.part(l->hooks.arg, g->uid);
			end_log_session(l, g);
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
			renew_session(l, g);
}

void logs_close(struct logs *l)
{
	if (!l)
		return;
	while (l->list) {
		struct log *next = l->list->next;
		end_log_session(l, l->list);
		free(l->list);
		l->list = next;
	}
	while (l->accounts) {
		struct account *next = l->accounts->next;
		free(l->accounts);
		l->accounts = next;
	}
	shares_release(&l->shares);
	free(l->base);
	free(l);
}

void logs_limits(struct logs *l, uint64_t rate, uint64_t floor)
{
	l->o.rate = rate;
	l->o.floor = floor;
}

int64_t logs_missed(const struct logs *l)
{
	int64_t from = INT64_MAX;
	for (const struct log *g = l->list; g; g = g->next)
		if (g->missed && g->missed_from < from)
			from = g->missed_from;
	return from;
}

/* Bytes that were taken away since logs_open. */
uint64_t logs_removed(const struct logs *l)
{
	return l->shares.removed;
}

uint64_t logs_lost(const struct logs *l)
{
	uint64_t lost = l->lost;
	for (const struct log *g = l->list; g; g = g->next)
		lost += g->w ? log_writer_lost(g->w) : 0;
	return lost;
}

/* Bytes on disk when last looked. */
uint64_t logs_bytes(const struct logs *l)
{
	return l->shares.bytes;
}

/* Bytes written since logs_open. */
uint64_t logs_written(const struct logs *l)
{
	return l->written;
}
