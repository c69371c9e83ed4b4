/* collector_check.c - what the events of a frame say, and whether its sender may say it. */
#include "site/collector_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A session's first event names its host. */
static void check_session(const struct collector_sender *s, const struct event *ev, struct offered *o)
{
	char name[LOG_PLACE_HOST];
	const struct str h = ev->session.host;
	if (h.n >= sizeof(name) || (h.n && memchr(h.p, '\0', h.n))) {
		o->bad = "the name of its host is not valid";
		return;
	}
	if (h.n)
		memcpy(name, h.p, h.n);
	name[h.n] = '\0';
	if (s->host && strcmp(s->host, name) != 0)
		o->bad = "it was recorded on another host than the token allows";
	log_place_host(name, o->host);
	o->begins = true;
}

/* Checks one event that a sender offers, and notes in o the session's end and the dead of tombstones. o->bad: why the
 * frame must be refused. 0, -ENOMEM. */
static int check_event(const struct collector *c, const struct collector_sender *s, const struct event *ev, bool first,
                       struct offered *o)
{
	switch (ev->kind) {
	case EVENT_session:
		if (first)
			check_session(s, ev, o);
		else
			o->bad = "its session begins twice";
		return 0;
	case EVENT_run:
		if (!s->any_user && ev->run.uid != s->uid)
			o->bad = "it contains a run of another user than the sender";
		return 0;
	case EVENT_session_end:
		o->ends = true;
		return 0;
	case EVENT_tombstone:
		if (ev->tombstone.dead) {
			uint64_t *d = vec_add(&o->dead);
			if (!d)
				return -ENOMEM;
			*d = ev->tombstone.dead;
		}
		return 0;
	default:
		(void)c;
		return 0;
	}
}

/* Whose sessions it begins or forgets. 0, -errno. */
static int check_owner(struct collector *c, const struct collector_sender *s, struct offered *o)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->dead.n; i++) {
		const uint32_t at = map_get(&c->numbers, o->dead.v[i]);
		if (at != VEC_NONE && strcmp(c->senders.v[c->sessions.v[at].sender].name, s->name) != 0)
			o->bad = "it forgets what another sender recorded";
		else if (at == VEC_NONE && (rc = collector_elsewhere(c, o->dead.v[i])) > 0)
			o->bad = "it forgets what was recorded or imported here";
		rc = rc < 0 ? rc : 0;
	}
	if (rc == 0 && o->begins && map_get(&c->numbers, o->f.session) == VEC_NONE &&
	    (rc = collector_elsewhere(c, o->f.session)) > 0)
		o->bad = "its session was recorded or imported here";
	return rc < 0 ? rc : 0;
}

int offered_check(struct collector *c, const struct collector_sender *s, struct log_reader *r, struct offered *o)
{
	struct event ev;
	uint32_t n = 0;
	int rc = 0;
	while (rc == 0 && log_reader_event(r, &ev) == 1) {
		rc = check_event(c, s, &ev, o->f.number == 0 && o->f.seq == 1 && n == 0, o);
		n++;
	}
	if (o->f.number == UINT32_MAX || o->f.seq + o->f.count < o->f.seq)
		o->bad = "its sequence numbers are not valid";
	if (rc == 0 && n != o->f.count)
		o->bad = "its events cannot be read";
	if (rc == 0 && !o->bad && o->f.number == 0 && o->f.seq == 1 && o->f.count && !o->begins)
		o->bad = "its session has no beginning";
	return rc == 0 && !o->bad ? check_owner(c, s, o) : rc;
}
