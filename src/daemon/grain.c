#include "daemon/grain.h"

#include "daemon/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
	enum { OF_JOB, OF_USER, OF_NODE } what;
	char job[128];
	uint32_t user, owner;
	bool any_user; /* an administrator's: processes of whoever */
	bool by_file;  /* it ends with the file, too */
	unsigned idle; /* seconds without a process */
};

struct grain {
	struct node *node;
	struct tracer *tracer;
	struct request v[GRAIN_MAX];
	unsigned n;
	int inotify, dir;
	bool suspended;
};

int grain_open(const char *run, struct node *node, struct tracer *tracer, struct err *err, struct grain **ret)
{
	char path[4096];
	struct grain *g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->node = node;
	g->tracer = tracer;
	g->dir = -1;
	snprintf(path, sizeof(path), "%s/touch", run);
	g->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if ((mkdir(path, 0755) < 0 && errno != EEXIST) ||
	    (g->dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 || chmod(path, 01777) < 0 ||
	    g->inotify < 0 ||
	    inotify_add_watch(g->inotify, path,
	                      IN_CREATE | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
		int r = err_set(err, errno, "cannot watch '%s'", path);
		grain_close(g);
		return r;
	}
	*ret = g;
	return 0;
}

/* NULL is no error. */
void grain_close(struct grain *g)
{
	if (!g)
		return;
	if (g->inotify >= 0)
		close(g->inotify);
	if (g->dir >= 0)
		close(g->dir);
	free(g);
}

/* To be polled; it stays g's. */
int grain_fd(const struct grain *g)
{
	return g->inotify;
}

/* How many requests are in force. */
unsigned grain_count(const struct grain *g)
{
	return g->n;
}

/* ---- in force ---- */

struct setting {
	struct grain *g;
	bool on;
	unsigned seen;
	struct err *err; /* the first that failed for another reason than that it has ended */
	int failed;
};

/* Sets how exactly a process is recorded. For node_of_job; arg is a struct setting. Nothing where it is so already,
 * or the process has ended. */
static void set_pid(void *arg, pid_t pid, bool counting)
{
	struct setting *s = arg;
	struct err err = {0};
	s->seen++;
	if (counting == s->on)
		return;
	int r = s->g->tracer ? tracer_set(s->g->tracer, TRACER_PID, (uint64_t)pid, s->on, &err) : 0;
	if (r < 0) { /* it has ended, or the kernel cannot: then its opens and closes are what there is */
		if (r != -ESRCH && s->err && !s->failed) {
			*s->err = err;
			s->failed = r;
		}
		return;
	}
	node_counting(s->g->node, pid, s->on);
}

/* Processes of a job are set one by one, those that it gains at the next tick, and what they start by themselves.
 * *ret_seen: how many there are of a job. 0; -errno with a sentence. */
static int apply_request(struct grain *g, const struct request *r, bool on, struct err *err, unsigned *ret_seen)
{
	struct setting s = {.g = g, .on = on, .err = err};
	int e = 0;
	*ret_seen = 0;
	if (!g->tracer)
		return 0;
	if (r->what == OF_NODE)
		e = tracer_set(g->tracer, TRACER_NODE, 0, on, err);
	else if (r->what == OF_USER)
		e = tracer_set(g->tracer, TRACER_UID, r->user, on, err);
	else
		node_of_job(g->node, str_of(r->job), r->owner, r->any_user, set_pid, &s);
	if (r->what != OF_JOB && e >= 0)
		node_counting_all(g->node, r->what == OF_NODE, r->user, on);
	*ret_seen = s.seen;
	return r->what == OF_JOB ? s.failed : e;
}

/* Applies the requests of all users. Nothing while suspended. What fails is passed over. */
static void apply_all_requests(struct grain *g)
{
	struct err err = {0};
	unsigned seen;
	for (unsigned i = 0; i < g->n && !g->suspended; i++)
		apply_request(g, &g->v[i], true, &err, &seen);
}

void grain_suspend(struct grain *g, bool yes)
{
	struct err err = {0};
	if (g->suspended == yes)
		return;
	g->suspended = yes;
	if (yes && g->tracer) {
		tracer_set_none(g->tracer, &err);
		node_counting_all(g->node, true, 0, false);
	}
	apply_all_requests(g);
}

void grain_tick(struct grain *g)
{
	enum { IDLE_MAX = 60 };
	for (unsigned i = 0; i < g->n;) {
		struct request *r = &g->v[i];
		if (r->what == OF_JOB) {
			struct err err = {0};
			unsigned seen;
			apply_request(g, r, !g->suspended, &err, &seen);
			r->idle = seen ? 0 : r->idle + 1;
			if (r->idle > IDLE_MAX) {
				*r = g->v[--g->n];
				continue;
			}
		}
		i++;
	}
}

/* ---- asking ---- */

/* Are both requests of one owner? Of the same job, user or node; of jobs the owner counts only where there is one. */
static bool is_same_request(const struct request *a, const struct request *b)
{
	return a->what == b->what && a->any_user == b->any_user &&
	       (a->what == OF_JOB    ? !strcmp(a->job, b->job) && (a->any_user || a->owner == b->owner)
	        : a->what == OF_USER ? a->user == b->user
	                             : true);
}

/* Adds a request, or takes it back. One that cannot be fulfilled is not added. 0, or -errno with a sentence. */
static int change_request(struct grain *g, const struct request *r, bool on, struct err *err)
{
	unsigned i = 0, own = 0;
	for (unsigned k = 0; k < g->n; k++)
		own += g->v[k].owner == r->owner;
	while (i < g->n && !is_same_request(&g->v[i], r))
		i++;
	if (!on) {
		if (i == g->n)
			return err_set(err, 0, "no request for access by you is active there"), -ENOENT;
		struct request old = g->v[i];
		g->v[i] = g->v[--g->n];
		unsigned seen;
		if (!g->suspended)
			apply_request(g, &old, false, err, &seen);
		apply_all_requests(g); /* what another request has asked for, too */
		return 0;
	}
	if (i < g->n)
		return 0;
	if (g->n == GRAIN_MAX || (own >= GRAIN_USER && r->owner))
		return err_set(err, 0, "too many requests for access are active (%u at most, %u of one user)", GRAIN_MAX,
		               GRAIN_USER),
		       -ENOSPC;
	unsigned seen;
	int e = g->suspended ? 0 : apply_request(g, r, true, err, &seen);
	if (e < 0) {
		struct err other = {0};
		apply_request(g, r, false, &other, &seen); /* those for whom it could be done */
		return e;
	}
	g->v[g->n++] = *r;
	return 0;
}

int grain_ask(struct grain *g, const char *words, uint32_t uid, bool admin, struct err *err)
{
	char level[16] = "", what[16] = "", id[128] = "", more[2] = "";
	int n = sscanf(words, " %15s %15s %127s %1s", level, what, id, more);
	bool on = !strcmp(level, "access");
	struct request r = {.owner = uid, .any_user = admin};
	if ((!on && strcmp(level, "open") != 0) || n < 2 || n > 3)
		return err_set(err, 0, "use: open or access, then job ID, user NAME or node"), -EINVAL;
	if (!strcmp(what, "job") && n == 3) {
		r.what = OF_JOB;
		snprintf(r.job, sizeof(r.job), "%s", id);
	} else if (!strcmp(what, "user") && n == 3) {
		r.what = OF_USER;
		if (!world_uid(id, &r.user))
			return err_set(err, 0, "there is no user '%s'", id), -ENOENT;
		if (!admin && r.user != uid)
			return err_set(err, 0, "only administrators can change this for another user"), -EACCES;
	} else if (!strcmp(what, "node") && n == 2) {
		r.what = OF_NODE;
		if (!admin)
			return err_set(err, 0, "only administrators can change this for the node"), -EACCES;
	} else {
		return err_set(err, 0, "use job ID, user NAME or node"), -EINVAL;
	}
	return change_request(g, &r, on, err);
}

/* A file `access.JOB` or `open.JOB` counts for its owner's processes; that it is removed is as if `open` was asked for.
 * It is looked at, never opened. */
static void handle_touch_file(struct grain *g, const char *name, bool gone)
{
	struct stat st;
	struct err err = {0};
	bool on = !strncmp(name, "access.", 7) && !gone;
	const char *job = !strncmp(name, "access.", 7) ? name + 7 : !strncmp(name, "open.", 5) ? name + 5 : NULL;
	if (!job || !*job || strlen(job) >= sizeof(g->v[0].job))
		return;
	struct request r = {.what = OF_JOB, .by_file = true};
	snprintf(r.job, sizeof(r.job), "%s", job);
	if (gone) { /* whose it was is not known any more: of those that came by a file it can have been one's only */
		for (unsigned i = 0; i < g->n; i++)
			if (g->v[i].by_file && !strcmp(g->v[i].job, job)) {
				r.owner = g->v[i].owner;
				change_request(g, &r, false, &err);
				return;
			}
		return;
	}
	if (fstatat(g->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	r.owner = st.st_uid;
	change_request(g, &r, on, &err);
}

void grain_touched(struct grain *g)
{
	union {
		struct inotify_event e;
		char room[4096];
	} u;
	/* So many at a time: who hammers the folder is served when the others were. */
	for (unsigned rounds = 0; rounds < 4; rounds++) {
		ssize_t n = read(g->inotify, &u, sizeof(u));
		if (n <= 0)
			return;
		for (char *at = u.room; at < u.room + n;) {
			struct inotify_event e;
			memcpy(&e, at, sizeof(e));
			if (e.len)
				handle_touch_file(g, at + sizeof(e), e.mask & IN_DELETE);
			at += sizeof(e) + e.len;
		}
	}
}
