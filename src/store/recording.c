/* recording.c - where a recording without an end was written, so that somebody can look whether it goes on. */
#include "store/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A segment's path, and how far it is indexed. 1, 0, -errno. */
static int read_segment(struct store *s, uint64_t id, char **ret_path, uint64_t *ret_done)
{
	sqlite3_stmt *st = store_stmt(s, SQL_segment_get, NULL);
	if (!st)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		struct str path = column_str(st, 0);
		*ret_done = (uint64_t)sqlite3_column_int64(st, 1);
		*ret_path = strndup(path.p, path.n);
		rc = *ret_path ? 1 : -ENOMEM;
	}
	sqlite3_reset(st);
	return rc;
}

/* The places of a session's frames, for each: the row of the segment, and from where to where in it. 1; 0: there is no
 * such session; what each returned where that is below 0; -errno. */
static int each_place(struct store *s, uint64_t session, int (*each)(void *arg, uint64_t, uint64_t, uint64_t),
                      void *arg)
{
	struct buf info = {0};
	sqlite3_stmt *st = store_stmt(s, SQL_session_get, NULL);
	if (!st)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		buf_str(&info, column_str(st, 1));
	sqlite3_reset(st);
	if (rc != 1 || info.failed) {
		buf_release(&info);
		return rc != 1 ? rc : -ENOMEM;
	}
	struct cur c = cur_of(buf_view(&info));
	for (int i = 0; i < 9; i++) /* host boot pidns run tool mode last flags began */
		cur_u(&c);
	for (uint64_t n = cur_u(&c); n && !c.bad && rc == 1; n--) {
		uint64_t segment = cur_u(&c), from = cur_u(&c), to = from + cur_u(&c);
		int r = c.bad ? 0 : each(arg, segment, from, to);
		rc = r < 0 ? r : 1;
	}
	buf_release(&info);
	return c.bad ? -ENOTRECOVERABLE : rc;
}

struct latest {
	uint64_t segment, to;
	bool found;
};

/* Called for each part of a session's frames: keeps the latest. arg: struct latest. Rows of segments stand in the
 * order in which they were met. */
static int take_latest(void *arg, uint64_t segment, uint64_t from, uint64_t to)
{
	struct latest *l = arg;
	(void)from;
	if (!l->found || segment > l->segment) {
		l->segment = segment;
		l->to = to;
	}
	l->found = true;
	return 0;
}

/* Where the last frames of the session lie: the segment that was begun last. 1; 0: nowhere; -errno. */
static int last_place(struct store *s, uint64_t session, uint64_t *ret_segment, uint64_t *ret_to)
{
	struct latest l = {0};
	int rc = each_place(s, session, take_latest, &l);
	if (rc != 1)
		return rc;
	if (l.found) {
		*ret_segment = l.segment;
		*ret_to = l.to;
	}
	return l.found;
}

struct telling {
	struct store *s;
	uint64_t session;
	int (*each)(void *arg, const struct run_part *part);
	void *arg;
};

/* Called for each part of a session's frames: tells of it. arg: struct telling. */
static int tell_part(void *arg, uint64_t segment, uint64_t from, uint64_t to)
{
	struct telling *t = arg;
	char *name = NULL, *path = NULL;
	uint64_t done;
	int rc = read_segment(t->s, segment, &name, &done);
	if (rc == 1 && asprintf(&path, "%s/logs/%s", store_home(t->s), name) < 0)
		rc = -ENOMEM;
	if (rc == 1)
		rc = t->each(t->arg, &(struct run_part){.segment = path, .session = t->session, .from = from, .to = to});
	free(name);
	free(path);
	return rc < 0 ? rc : 0;
}

int store_run_parts(struct store *s, store_id run, int (*each)(void *arg, const struct run_part *part), void *arg)
{
	struct ids sessions = {0};
	int rc = read_run_sessions(s, run, &sessions);
	for (size_t i = 0; rc == 1 && i < sessions.n; i++) {
		const struct ssession *one = store_session(s, sessions.v[i]);
		struct telling t = {.s = s, .session = one ? one->number : 0, .each = each, .arg = arg};
		int r = one ? each_place(s, sessions.v[i], tell_part, &t) : -ENOMEM;
		rc = r < 0 ? r : 1;
	}
	free(sessions.v);
	return rc;
}

int store_run_recording(struct store *s, store_id run, struct run_recording *ret)
{
	struct ids sessions = {0};
	uint64_t segment = 0, to = 0, done = 0;
	int rc = read_run_sessions(s, run, &sessions);
	*ret = (struct run_recording){0};
	const struct ssession *open = NULL;
	for (size_t i = 0; rc == 1 && i < sessions.n; i++) {
		const struct ssession *one = store_session(s, sessions.v[i]);
		if (!one || !one->unended)
			continue;
		open = one;
		rc = last_place(s, sessions.v[i], &segment, &to);
	}
	if (rc == 1)
		rc = open ? read_segment(s, segment, &ret->segment, &done) : 0;
	if (rc == 1) {
		ret->boot = store_interned(s, open->boot);
		ret->pidns = open->pidns;
		ret->last = to >= done;
	}
	free(sessions.v);
	return rc;
}
