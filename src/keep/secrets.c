#include "keep/secrets.h"

#include "event/clean.h"
#include "keep/rewrite.h"
#include "summary/summary_redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct search {
	struct keep_logs *l;
	const struct keep_secrets_options *o;
	struct err *err;
	struct keep_secrets_stats stats;
	struct edits edits;
	struct event_clean room;
	struct redact_watch watch;
	struct buf text;
	/* of the session at hand */
	uint64_t session;
	char run[27];
	bool wanted;
	const struct event *event;
	struct found_list {
		const char *family[64];
		size_t at[64], n;
		struct buf bytes;
	} found; /* of the event at hand: it is told when it has been cleaned */
};

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int secrets_oom(struct search *s)
{
	return err_set(s->err, ENOMEM, "cannot search for secrets");
}

/* Notes a secret that was found in an event, and copies it. Of too many only the number is kept. */
static void note_found(void *arg, const char *family, struct str secret)
{
	struct search *s = arg;
	struct found_list *f = &s->found;
	s->stats.secrets++;
	if (f->n == sizeof(f->at) / sizeof(*f->at))
		return; /* told with the others of its event */
	f->family[f->n] = family;
	f->at[f->n++] = f->bytes.n;
	buf_str(&f->bytes, secret);
}

/* A word for the event: it has been cleaned. */
static struct str what_of(const struct event *ev)
{
	size_t pos = 0;
	struct str s = {0};
	switch (ev->kind) {
	case EVENT_run:
		strlist_next(&ev->run.argv, &pos, &s);
		return s;
	case EVENT_exec:
		strlist_next(&ev->exec.argv, &pos, &s);
		return s;
	case EVENT_build:
		strlist_next(&ev->build.argv, &pos, &s);
		return s;
	case EVENT_file:
		return ev->file.path;
	case EVENT_name:
		return ev->name.path;
	case EVENT_build_file:
		return ev->build_file.path;
	case EVENT_digest:
		return ev->digest.path;
	case EVENT_app_word:
		return ev->app_word.name;
	default:
		return s;
	}
}

/* The summary in ev without secrets, its text in s->text. 1: it changed. What is no summary is left alone. 0: it is as
 * it was; -ENOMEM. The bytes last until s->text is used again. */
static int redact_event_summary(struct search *s, struct event *ev)
{
	struct summary m;
	if (summary_read(ev->summary.text.p, ev->summary.text.n, NULL, &m) < 0)
		return 0;
	int rc = summary_redact(&m, &s->watch);
	buf_reset(&s->text);
	if (rc > 0 && summary_json(&m, false, false, &s->text) < 0)
		rc = -ENOMEM;
	ev->summary.text = rc > 0 ? buf_view(&s->text) : ev->summary.text;
	summary_release(&m);
	return s->text.failed ? -ENOMEM : rc;
}

/* Is the event of the run that is asked for? */
static bool names_run(const struct event *ev, struct str run)
{
	switch (ev->kind) {
	case EVENT_session:
		return str_eq(ev->session.run, run);
	case EVENT_run:
		return str_eq(ev->run.id, run);
	case EVENT_note:
		return str_eq(ev->note.run, run);
	case EVENT_summary:
		return str_eq(ev->summary.run, run);
	case EVENT_machine:
		return str_eq(ev->machine.run, run);
	case EVENT_result:
		return str_eq(ev->result.run, run);
	case EVENT_digest:
		return str_eq(ev->digest.run, run);
	case EVENT_app:
		return str_eq(ev->app.run, run);
	default:
		return false;
	}
}

/* Ends the search, by true, at an event that names the run. */
static int look_for_run(void *arg, const struct event *ev)
{
	struct search *s = arg;
	s->wanted |= names_run(ev, s->o->run);
	return s->wanted;
}

/* A keep_logs_events callback: tells o->found of each secret, and notes the clean event for the rewriting, if that is
 * asked for. -ENOMEM, reported. */
static int search_event(void *arg, const struct event *ev)
{
	struct search *s = arg;
	struct event cleaned;
	if (ev->kind == EVENT_session && ev->session.run.n < sizeof(s->run)) {
		memcpy(s->run, ev->session.run.p ? ev->session.run.p : "", ev->session.run.n);
		s->run[ev->session.run.n] = '\0';
	}
	s->found.n = 0;
	buf_reset(&s->found.bytes);
	int rc = event_clean(ev, true, &s->watch, &s->room, &cleaned);
	if (rc < 0)
		return secrets_oom(s);
	if (rc == 0)
		cleaned = *ev;
	if (ev->kind == EVENT_summary) {
		int more = redact_event_summary(s, &cleaned);
		if (more < 0)
			return secrets_oom(s);
		rc |= more;
	}
	if (!rc)
		return 0;
	s->stats.events++;
	for (size_t i = 0; s->o->found && i < s->found.n; i++) {
		size_t end = i + 1 < s->found.n ? s->found.at[i + 1] : s->found.bytes.n;
		s->o->found(s->o->arg,
		            &(struct keep_secret){.family = s->found.family[i],
		                                  .secret = str_n(s->found.bytes.p + s->found.at[i], end - s->found.at[i]),
		                                  .event = event_kind_name(ev->kind),
		                                  .run = str_of(s->run),
		                                  .what = what_of(&cleaned),
		                                  .session = s->session,
		                                  .seq = ev->seq,
		                                  .time = ev->time});
	}
	return s->o->redact && edits_add(&s->edits, s->session, ev->seq, &cleaned) < 0 ? secrets_oom(s) : 0;
}

/* Fills s->stats. -errno, reported. */
static int rewrite_redacted_segments(struct search *s)
{
	struct rewritten r = {0};
	int rc = rewrite_touched(s->l, &s->edits, false, NULL, NULL, s->err, &r);
	s->stats.segments = r.segments;
	s->stats.damaged = r.damaged;
	s->stats.newer = r.newer;
	return rc;
}

int keep_secrets(struct keep_logs *l, const struct keep_secrets_options *o, struct err *err,
                 struct keep_secrets_stats *ret)
{
	struct search s = {.l = l, .o = o, .err = err};
	int rc = 0;
	s.watch = (struct redact_watch){note_found, &s};
	for (size_t i = 0; rc >= 0 && i < l->sessions.n; i++) {
		s.session = l->sessions.v[i].number;
		s.run[0] = '\0';
		s.wanted = !o->run.n;
		rc = s.wanted ? 0 : keep_logs_events(l, &l->sessions.v[i], err, look_for_run, &s);
		if (rc >= 0 && s.wanted)
			rc = keep_logs_events(l, &l->sessions.v[i], err, search_event, &s);
	}
	rc = rc > 0 ? 0 : rc;
	if (rc == 0 && o->redact && s.edits.n)
		rc = edits_ready(&s.edits) < 0 ? secrets_oom(&s) : rewrite_redacted_segments(&s);
	*ret = s.stats;
	edits_release(&s.edits);
	event_clean_release(&s.room);
	buf_release(&s.text);
	buf_release(&s.found.bytes);
	return rc;
}
