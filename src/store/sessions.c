/* sessions.c - how much of each session the index has: for who compares two indexes of one record. */
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>

/* Whether the rest of a session's row tells of gaps or notes. c: behind its flags. */
static bool has_more(struct cur *c)
{
	cur_z(c); /* began */
	for (uint64_t n = cur_u(c); n && !c->bad; n--)
		for (int i = 0; i < 3; i++) /* segment from size */
			cur_u(c);
	return cur_u(c) || cur_u(c); /* gaps, else notes */
}

int store_each_session(struct store *s, int (*each)(void *arg, const struct store_session_state *state), void *arg,
                       struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_session_all, err);
	if (!st)
		return -EIO;
	int rc = 0, r = 0;
	while (r == 0 && (rc = store_step(s, st, err)) == 1) {
		struct cur c = cur_of(column_str(st, 2));
		struct store_session_state state = {.number = (uint64_t)sqlite3_column_int64(st, 1)};
		state.host = store_interned(s, cur_u(&c));
		for (int i = 0; i < 4; i++) /* boot pidns run tool */
			cur_u(&c);
		const bool keeping = str_eq(store_interned(s, cur_u(&c)), str_of("keeping"));
		state.events = cur_u(&c);
		const uint64_t flags = cur_u(&c);
		state.ended = flags & 1;
		state.lacks = flags & 2;
		state.only_forgets = keeping && !has_more(&c);
		if (c.bad)
			r = (err_set(err, 0, "the index is damaged: a session cannot be read"), -ENOTRECOVERABLE);
		else
			r = each(arg, &state);
	}
	sqlite3_reset(st);
	return r != 0 ? r : rc;
}

int store_each_forgotten(struct store *s, int (*each)(void *arg, uint64_t half), void *arg, struct err *err)
{
	struct ids all = {0};
	int rc = tombstones_get(s, &all);
	if (rc < 0)
		err_set(err, -rc, "cannot read which sessions were forgotten");
	for (size_t i = 0; rc == 0 && i < all.n; i++)
		rc = each(arg, all.v[i]);
	free(all.v);
	return rc;
}
