/* imported_events.c - the events that give, by the rules of doc/graph.md, what a document tells of.
 *
 * A session for each (host, boot, pid namespace, run). A process's events stand together in the order of its
 * executions, each followed by its accesses: an access belongs to the execution before it. A parent's session declares
 * it before its child. */
#include "import/imported_sessions.h"

#include "base/hash.h"
#include "base/ulid.h"

#include <errno.h>
#include <stdlib.h>

/* Sessions of imports come last where events tell of the same at the same time: what was recorded itself holds. */
#define IMPORT_SESSION 0xffff000000000000u

/* ---- links ---- */

/* What is the same link, next to each other. */
static int link_cmp(const void *pa, const void *pb)
{
	const struct imported_link *a = pa, *b = pb;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return (a->via > b->via) - (a->via < b->via);
}

/* A number for an execution that is current there: the process once more, with its exec as it was told. */
static uint64_t emit_current_execution(struct imported_writer *w, struct imported_session *s, uint32_t activity,
                                       int *rc)
{
	struct imported *t = w->t;
	const struct imported_activity *a = &t->activities.v[activity];
	const struct imported_process *p = &t->processes.v[a->process];
	if (&w->sessions.v[p->session] != s)
		return 0;
	uint64_t n = ++s->procs;
	int64_t at = imported_process_time(t, p);
	imported_emit(w, s,
	              &(struct event){.kind = EVENT_process,
	                              .time = at < INT64_MAX ? at + 1 : at,
	                              .proc = n,
	                              .process = {.pid = p->pid, .started = p->started, .forked = TIME_NONE}});
	if (a->n && *rc == 0)
		*rc = imported_emit_exec(w, s, n, a);
	return n;
}

/* Logs the links. Each once; those without a place in time are passed over. 0, or below 0 with what went wrong in t.
 */
static int emit_imported_links(struct imported_writer *w)
{
	struct imported *t = w->t;
	int rc = 0;
	if (t->links.n)
		qsort(t->links.v, t->links.n, sizeof(*t->links.v), link_cmp);
	for (size_t i = 0; rc == 0 && i < t->links.n; i++) {
		const struct imported_link *l = &t->links.v[i];
		if (i && link_cmp(l - 1, l) == 0)
			continue;
		struct imported_session *s = &w->sessions.v[t->processes.v[t->activities.v[l->a].process].session];
		uint64_t a = emit_current_execution(w, s, l->a, &rc), b = emit_current_execution(w, s, l->b, &rc);
		if (!a || !b || l->at == TIME_NONE) {
			t->passed++;
			continue;
		}
		imported_emit(
		    w, s,
		    &(struct event){
		        .kind = EVENT_link, .time = l->at, .proc = a, .link = {.other = b, .via = l->via, .sure = l->must}});
	}
	return rc;
}

/* ---- runs ---- */

/* The run's user is told by name; by number, with its executions. */
static void take_owner(struct imported *t, struct event_run *r)
{
	for (size_t i = 0; i < t->activities.n; i++) {
		const struct doc_statement *st = imported_activity_statement(t, &t->activities.v[i]);
		if (!t->activities.v[i].own || !st || !str_eq(imported_statement_run(t, st, str_of("")), r->id) ||
		    !str_eq(imported_text(t, st, ATTR_user), r->user) || !str_eq(imported_text(t, st, ATTR_group), r->group))
			continue;
		if (imported_count(t, st, ATTR_uid, &r->uid) && imported_count(t, st, ATTR_gid, &r->gid))
			return;
	}
}

/* Its beginning, and its end if that is told. 0, or below 0. */
static int emit_imported_run(struct imported_writer *w, struct imported_session *s, const struct imported_run *r)
{
	struct imported *t = w->t;
	const struct doc_statement *st = &t->d->st.v[r->st];
	struct event ev = {
	    .kind = EVENT_run, .time = st->start != TIME_NONE ? st->start : s->began, .run = {.id = r->ulid}};
	struct buf labels = {0};
	int rc = 0;
	ev.run.outer = imported_ulid(imported_text(t, st, ATTR_outerRun));
	ev.run.argv = imported_statement_list(t, st, ATTR_argv, &w->list, &rc);
	ev.run.host = imported_statement_list(t, st, ATTR_hostInfo, &w->list2, &rc);
	ev.run.label = imported_statement_list(t, st, ATTR_label, &labels, &rc);
	ev.run.cwd = imported_text(t, st, ATTR_cwd);
	ev.run.user = imported_text(t, st, ATTR_user);
	ev.run.group = imported_text(t, st, ATTR_group);
	take_owner(t, &ev.run);
	if (rc == 0)
		imported_emit(w, s, &ev);
	buf_release(&labels);
	if (rc == 0 && st->end != TIME_NONE) {
		struct event end = {.kind = EVENT_run_end, .time = st->end, .run_end = {.id = r->ulid}};
		if (imported_count(t, st, ATTR_exitStatus, &end.run_end.code))
			end.run_end.ending = TERM_ending_exited;
		else if (imported_count(t, st, ATTR_exitSignal, &end.run_end.code))
			end.run_end.ending = TERM_ending_signaled;
		imported_emit(w, s, &end);
	}
	return rc;
}

/* Gives each run a session. Each run by one session: that of its executions on its own host, else one of its own. 0,
 * -ENOMEM. */
static int index_runs(struct imported_writer *w)
{
	struct imported *t = w->t;
	w->next_run = malloc((t->runs.n + 1) * sizeof(*w->next_run));
	if (!w->next_run)
		return imported_oom(t);
	for (uint32_t i = (uint32_t)t->runs.n; i-- > 0;) { /* so that a chain has them in their order */
		uint64_t h = hash_str(t->runs.v[i].ulid);
		w->next_run[i] = map_get(&w->first_run, h);
		if (!map_set(&w->first_run, h, i))
			return imported_oom(t);
	}
	return 0;
}

/* Logs runs. Those of the session's run and host that were not emitted yet. 0, or below 0. */
static int emit_session_runs(struct imported_writer *w, size_t session)
{
	struct imported *t = w->t;
	int rc = 0;
	for (uint32_t i = map_get(&w->first_run, hash_str(w->sessions.v[session].run)); rc == 0 && i != VEC_NONE;
	     i = w->next_run[i]) {
		struct imported_run *r = &t->runs.v[i];
		struct imported_session *s = &w->sessions.v[session];
		if (r->emitted || !str_eq(s->run, r->ulid) || !str_eq(s->host, imported_text(t, &t->d->st.v[r->st], ATTR_host)))
			continue;
		r->emitted = true;
		rc = emit_imported_run(w, s, r);
	}
	return rc;
}

/* Logs a run that stands for the document, where no run of stemma's made its things, so that it is seen in the log. */
static void emit_document_mark(struct imported_writer *w, struct imported_session *s, struct str id)
{
	struct imported *t = w->t;
	const int64_t end = w->end;
	const struct str argv[] = {str_of("stemma"), str_of("import"), str_of(t->name)};
	imported_emit(w, s,
	              &(struct event){.kind = EVENT_run,
	                              .time = s->began,
	                              .run = {.id = id,
	                                      .argv = {.items = argv, .count = 3},
	                                      .user = t->user ? doc_str(t->d, t->user) : str_of("unknown")}});
	imported_emit(
	    w, s, &(struct event){.kind = EVENT_run_end, .time = end == TIME_NONE ? s->began : end, .run_end = {.id = id}});
}

/* ---- what programs said ---- */

/* The app event of a process in a session: all that it said stands behind one. */
static uint64_t emit_app_event(struct imported_writer *w, struct imported_session *s, uint32_t process, struct str ulid,
                               struct map *apps)
{
	const struct imported_process *p = process == VEC_NONE ? NULL : &w->t->processes.v[process];
	const uint64_t key[] = {(uint64_t)(s - w->sessions.v), process, hash_str(ulid)};
	uint64_t h = hash_bytes(key, sizeof(key));
	uint32_t seq = map_get(apps, h);
	if (seq != VEC_NONE)
		return seq;
	seq = (uint32_t)imported_emit(w, s,
	                              &(struct event){.kind = EVENT_app,
	                                              .time = s->began,
	                                              .app = {.run = ulid,
	                                                      .pid = p ? p->pid : 0,
	                                                      .started = p ? p->started : TIME_NONE,
	                                                      .image = h,
	                                                      .tool = str_of("stemma import")}});
	if (!map_set(apps, h, seq))
		w->error = -ENOMEM;
	return seq;
}

/* The first session of a run. NULL: there is none. */
static struct imported_session *first_session_of_run(struct imported_writer *w, struct str ulid)
{
	for (uint32_t k = map_get(&w->by_run, hash_str(ulid)); k != VEC_NONE; k = w->sessions.v[k].next_run)
		if (str_eq(w->sessions.v[k].run, ulid))
			return &w->sessions.v[k];
	return NULL;
}

/* What programs said of themselves. Errors are in w->error. */
static void emit_app_events(struct imported_writer *w, struct str document)
{
	struct imported *t = w->t;
	struct buf lists[3] = {{0}};
	struct map apps = {0};
	for (size_t i = 0; i < t->app_events.n && !w->error; i++) {
		const struct imported_app_event *y = &t->app_events.v[i];
		struct event ev = {.kind = EVENT_gap};
		uint32_t process = y->activity == VEC_NONE ? VEC_NONE : t->activities.v[y->activity].process;
		struct str ulid = y->ulid.n ? y->ulid : document;
		struct imported_session *s =
		    process == VEC_NONE ? first_session_of_run(w, ulid) : &w->sessions.v[t->processes.v[process].session];
		if (!s || !imported_fill_app_event(t, y, lists, &ev)) {
			t->passed++;
			continue;
		}
		ev.time = y->at != TIME_NONE ? y->at : s->began;
		uint64_t seq =
		    ev.kind == EVENT_app_word || ev.kind == EVENT_app_metric ? emit_app_event(w, s, process, ulid, &apps) : 0;
		if (ev.kind == EVENT_app_word)
			ev.app_word.app = seq;
		if (ev.kind == EVENT_app_metric)
			ev.app_metric.app = seq;
		imported_emit(w, s, &ev);
	}
	for (unsigned k = 0; k < 3; k++)
		buf_release(&lists[k]);
	map_release(&apps);
}

/* ---- notes ---- */

/* Notes are in sessions of no run, of the host where they were written. */
static struct imported_session *note_session(struct imported_writer *w, const struct imported_note *n)
{
	struct imported_session *s = imported_session_of(w, n->host, str_of(""), 0, str_of(""));
	if (s)
		s->mode = str_of("keeping");
	return s;
}

/* Emits the notes. One of a file of which nothing else is told is passed over and counted. */
static void emit_imported_notes(struct imported_writer *w)
{
	struct imported *t = w->t;
	for (size_t i = 0; i < t->notes.n; i++) {
		const struct imported_note *n = &t->notes.v[i];
		if (n->file != VEC_NONE && w->named[n->file] == VEC_NONE) {
			t->passed++; /* on what nothing else is told of */
			continue;
		}
		struct imported_session *s = note_session(w, n);
		imported_emit(w, s,
		              &(struct event){.kind = EVENT_note,
		                              .time = n->time,
		                              .note = {.run = n->run,
		                                       .file = n->file == VEC_NONE ? 0 : imported_file_number(w, s, n->file),
		                                       .text = n->text,
		                                       .version = n->version,
		                                       .user = n->user}});
	}
}

/* Does the document tell settings or figures of no run that it names? They are of its own run then. */
static bool has_own_words(const struct imported *t)
{
	for (size_t i = 0; i < t->app_events.n; i++)
		if (!t->app_events.v[i].ulid.n && t->app_events.v[i].activity == VEC_NONE)
			return true;
	return false;
}

/* Returns the first moment of activities that are not stemma's. When what no run of stemma's made began; TIME_NEVER:
 * that is not told. */
static int64_t foreign_begin(const struct imported *t)
{
	int64_t began = t->activities.n || !has_own_words(t) ? TIME_NEVER : t->now;
	for (size_t i = 0; i < t->activities.n; i++)
		if (!t->activities.v[i].own && t->activities.v[i].start != TIME_NONE && t->activities.v[i].start < began)
			began = t->activities.v[i].start;
	return began;
}

/* Returns the last moment. Of activities that are not stemma's; TIME_NONE: none is told. */
static int64_t foreign_end(const struct imported *t)
{
	int64_t end = TIME_NONE;
	for (size_t i = 0; i < t->activities.n; i++)
		if (!t->activities.v[i].own && t->activities.v[i].end > end)
			end = t->activities.v[i].end;
	return end;
}

/* Is there a session of the run on that host? */
static bool has_session(const struct imported_writer *w, struct str run, struct str host)
{
	for (uint32_t k = map_get(&w->by_run, hash_str(run)); k != VEC_NONE; k = w->sessions.v[k].next_run)
		if (str_eq(w->sessions.v[k].run, run) && str_eq(w->sessions.v[k].host, host))
			return true;
	return false;
}

/* A session for each run that no process has put into one, and what the runs say of theirs. 0, -ENOMEM. */
static int place_runs(struct imported_writer *w)
{
	struct imported *t = w->t;
	for (size_t i = 0; i < t->runs.n; i++) {
		struct str run = t->runs.v[i].ulid, host = imported_text(t, &t->d->st.v[t->runs.v[i].st], ATTR_host);
		if (!has_session(w, run, host) && !imported_session_of(w, host, str_of(""), 0, run))
			return imported_oom(t);
	}
	for (size_t i = 0; i < t->runs.n; i++)
		for (uint32_t k = map_get(&w->by_run, hash_str(t->runs.v[i].ulid)); k != VEC_NONE;
		     k = w->sessions.v[k].next_run)
			if (str_eq(w->sessions.v[k].run, t->runs.v[i].ulid)) {
				const struct doc_statement *st = &t->d->st.v[t->runs.v[i].st];
				w->sessions.v[k].mode = imported_text(t, st, ATTR_mode);
				imported_session_begins(&w->sessions.v[k], st->start);
			}
	return 0;
}

/* Words of the document's own run need a session of it where nothing ran. 0, -ENOMEM. */
static int place_words(struct imported_writer *w, struct str document)
{
	if (!has_own_words(w->t) || first_session_of_run(w, document))
		return 0;
	struct imported_session *s = imported_session_of(w, str_of("unknown"), str_of(""), 0, document);
	if (!s)
		return imported_oom(w->t);
	imported_session_begins(s, w->t->now);
	return 0;
}

/* Gives each note of the document its session. 0, -ENOMEM. */
static int place_notes(struct imported_writer *w)
{
	for (size_t i = 0; i < w->t->notes.n; i++) {
		struct imported_session *s = note_session(w, &w->t->notes.v[i]);
		if (!s)
			return imported_oom(w->t);
		imported_session_begins(s, w->t->notes.v[i].time);
	}
	return 0;
}

/* The first events of all sessions, and their runs. hash: of the document, whose run is `document`. 0, or below 0. */
static int begin_sessions(struct imported_writer *w, uint64_t hash, struct str document)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->sessions.n; i++) {
		struct imported_session *s = &w->sessions.v[i];
		const uint64_t key[] = {hash, s->pidns, hash_str(s->host), hash_str(s->boot), hash_str(s->run)};
		s->frames.session = IMPORT_SESSION | (hash_bytes(key, sizeof(key)) >> 16);
		s->began = s->began == TIME_NEVER ? 0 : s->began;
		imported_emit(w, s,
		              &(struct event){.kind = EVENT_session,
		                              .time = s->began,
		                              .session = {.run = s->run,
		                                          .host = s->host,
		                                          .boot = s->boot,
		                                          .pidns = s->pidns,
		                                          .tool = str_of("stemma import " STEMMA_VERSION),
		                                          .mode = str_eq(s->run, document) ? str_of("import") : s->mode}});
		rc = emit_session_runs(w, i);
		if (rc == 0 && str_eq(s->run, document))
			emit_document_mark(w, s, document);
	}
	return rc;
}

/* Ends each session at the time of its last event, and writes it out. The last error stays in w->error. */
static void end_sessions(struct imported_writer *w)
{
	for (size_t i = 0; i < w->sessions.n; i++) {
		struct imported_session *s = &w->sessions.v[i];
		imported_emit(w, s, &(struct event){.kind = EVENT_session_end, .time = s->frames.before});
		log_frames_flush(&s->frames);
		w->error = s->frames.error ? s->frames.error : w->error;
	}
}

/* Where the document comes from. */
static struct str first_host(const struct imported_writer *w)
{
	bool known = w->sessions.n && w->sessions.v[0].host.n && !str_is(w->sessions.v[0].host, "unknown");
	return known ? w->sessions.v[0].host : str_of("prov");
}

static void writer_release(struct imported_writer *w)
{
	for (size_t i = 0; i < w->sessions.n; i++) {
		struct imported_session *s = &w->sessions.v[i];
		log_frames_release(&s->frames);
		map_release(&s->file_number);
		map_release(&s->domain_number);
		map_release(&s->shadows);
	}
	vec_release(&w->sessions);
	map_release(&w->by_key);
	map_release(&w->by_run);
	map_release(&w->by_run_last);
	map_release(&w->first_run);
	free(w->next_run);
	buf_release(&w->list);
	buf_release(&w->list2);
	buf_release(&w->text);
	free(w->named);
}

int imported_events(struct imported *t, uint64_t hash, struct buf *ret, struct str *ret_host)
{
	struct imported_writer w = {.t = t, .out = ret, .named = malloc((t->files.n + 1) * sizeof(uint32_t))};
	char *id = arena_take(&t->text, 27);
	if (!w.named || !id) {
		free(w.named);
		return imported_oom(t);
	}
	memset(w.named, 0xff, (t->files.n + 1) * sizeof(uint32_t));
	w.end = foreign_end(t);
	ulid_of_hash(foreign_begin(t), hash, id); /* its time, and what it holds */
	struct str document = str_of(id);
	imported_files_observed(t);
	int rc = index_runs(&w);
	if (rc == 0)
		rc = imported_place_processes(&w, document);
	if (rc == 0)
		rc = place_runs(&w);
	if (rc == 0)
		rc = place_words(&w, document);
	if (rc == 0)
		rc = place_notes(&w);
	if (rc == 0)
		rc = begin_sessions(&w, hash, document);
	if (rc == 0)
		rc = imported_emit_processes(&w);
	if (rc == 0)
		rc = emit_imported_links(&w);
	if (rc == 0) {
		emit_app_events(&w, document);
		emit_imported_notes(&w);
		end_sessions(&w);
	}
	*ret_host = first_host(&w);
	writer_release(&w);
	if (rc == 0 && w.error == -E2BIG)
		return err_set(t->err, 0, "%s: a statement is larger than what a log takes", t->name), -E2BIG;
	return rc == 0 && w.error ? imported_oom(t) : rc;
}
