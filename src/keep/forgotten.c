/* forgotten.c - which run was forgotten with an id that people remember a part of. */
#include "keep/cut.h"

#include "event/event.h"
#include "keep/logs.h"

#include <errno.h>
#include <string.h>

struct search {
	struct str text;
	char *ulid;
	int64_t *when;
	int found;
};

/* Are the n bytes equal, whatever the case of letters? */
static bool same_case(const char *a, const char *b, size_t n)
{
	return !strncasecmp(a, b, n);
}

/* A callback over events: 1 ends the session, -ENOTUNIQ: two runs match. Else s->found is set. */
static int match_tombstone(void *arg, const struct event *ev)
{
	struct search *s = arg;
	if (ev->kind != EVENT_tombstone || ev->tombstone.run.n != 26)
		return ev->kind == EVENT_run; /* a session that records: there is none in it */
	const char *id = ev->tombstone.run.p;
	if (!same_case(id, s->text.p, s->text.n) && !same_case(id + 26 - s->text.n, s->text.p, s->text.n))
		return 0;
	if (s->found && memcmp(s->ulid, id, 26) != 0)
		return -ENOTUNIQ;
	memcpy(s->ulid, id, 26);
	s->ulid[26] = '\0';
	*s->when = ev->time;
	s->found = 1;
	return 0;
}

int keep_forgotten(struct keep_logs *l, struct str text, char ret_ulid[27], int64_t *ret_when, struct err *err)
{
	struct search s = {.text = text, .ulid = ret_ulid, .when = ret_when};
	if (text.n < 4 || text.n > 26)
		return 0;
	for (size_t i = 0; i < l->sessions.n; i++) {
		int rc = keep_logs_events(l, &l->sessions.v[i], err, match_tombstone, &s);
		if (rc < 0)
			return rc;
	}
	return s.found;
}
