/* recording.c - where a recording without an end was written, so that somebody can look whether it goes on. */
#include "store/read.h"

#include <errno.h>
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

/* Where the last frames of the session lie: the segment that was begun last. 1; 0: nowhere; -errno. */
static int last_place(struct store *s, uint64_t session, uint64_t *ret_segment, uint64_t *ret_to)
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
	rc = 0;
	for (uint64_t n = cur_u(&c); n && !c.bad; n--) {
		uint64_t segment = cur_u(&c), from = cur_u(&c), to = from + cur_u(&c);
		if (rc == 0 || segment > *ret_segment) { /* rows of segments stand in the order in which they were met */
			*ret_segment = segment;
			*ret_to = to;
		}
		rc = 1;
	}
	buf_release(&info);
	return c.bad ? -ENOTRECOVERABLE : rc;
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
