/* imported_events.c - the events that give, by the rules of doc/graph.md, what a document tells of.
 *
 * A session for each (host, boot, pid namespace, run). A process's events stand together in the order of its
 * executions, each followed by its accesses: an access belongs to the execution before it. A parent's session declares
 * it before its child. */
#include "import/imported.h"

#include "base/hash.h"
#include "event/clean.h"
#include "event/log_frame.h"
#include "export/export.h"
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>

#define FRAME_BYTES (64 * 1024)
/* Sessions of imports come last where events tell of the same at the same time: what was recorded itself holds. */
#define IMPORT_SESSION 0xffff000000000000u

struct session {
	struct str host, boot, run, mode;
	uint64_t pidns;
	uint64_t number, seq;
	uint32_t frames;
	int64_t began;
	struct buf events; /* of the frame at hand */
	struct log_frame head;
	int64_t before;
	uint32_t procs, files, domains;
	struct map file_number;   /* file -> number */
	struct map domain_number; /* word hash -> number */
	struct map shadows;       /* process of another session -> number */
	uint32_t next_key;        /* session with the same hash of its key, VEC_NONE */
	uint32_t next_run;        /* the next session of the same hash of its run, VEC_NONE */
};

struct writer {
	struct imported *t;
	struct buf *out;
	VEC(struct session) sessions;
	struct map by_key;              /* hash of host, boot, namespace and run -> the latest session */
	struct map by_run, by_run_last; /* hash of the run -> its first and latest session */
	struct map first_run;           /* hash of a run's id -> the first of the document's runs */
	uint32_t *next_run;             /* by run: the next one with the same hash */
	struct buf list, list2, text;
	struct event_clean clean; /* others may not have redacted what they tell */
	int64_t end;              /* of the latest activity that no run of stemma's made */
	uint32_t *named;          /* by file: the session that says its name */
	int error;
};

/* ---- frames ---- */

static void flush_frame(struct writer *w, struct session *s)
{
	if (!s->events.n)
		return;
	s->head.size = (uint32_t)s->events.n;
	s->head.session = s->number;
	s->head.number = s->frames++;
	if (s->events.failed || log_frame_add(w->out, &s->head, s->events.p) < 0) {
		w->error = -ENOMEM;
		return;
	}
	buf_reset(&s->events);
}

static uint64_t emit_cleaned(struct writer *w, struct session *s, const struct event *ev)
{
	size_t had = s->events.n;
	if (!had) {
		s->head = (struct log_frame){.seq = s->seq + 1, .time = ev->time};
		s->before = ev->time;
	}
	int rc = event_encode(&s->events, ev, s->before);
	if (rc == 0 && s->events.n > LOG_PAYLOAD_MAX && had) {
		s->events.n = had; /* into a frame of its own */
		flush_frame(w, s);
		return emit_cleaned(w, s, ev);
	}
	if (rc < 0 || s->events.n > LOG_PAYLOAD_MAX) {
		s->events.n = had;
		w->error = rc < 0 ? rc : -E2BIG;
		return 0;
	}
	s->before = ev->time;
	s->head.count++;
	s->seq++;
	if (s->events.n >= FRAME_BYTES)
		flush_frame(w, s);
	return s->seq;
}

/* Appends an event; its seq, 0 where it is too large for any log. */
static uint64_t emit_imported_event(struct writer *w, struct session *s, const struct event *ev)
{
	struct event cleaned;
	int rc = event_clean(ev, true, NULL, &w->clean, &cleaned);
	if (rc < 0) {
		w->error = rc;
		return 0;
	}
	return emit_cleaned(w, s, rc > 0 ? &cleaned : ev);
}

/* ---- sessions ---- */

static struct session *find_or_add_log_session(struct writer *w, struct str host, struct str boot, uint64_t pidns,
                                               struct str run)
{
	const uint64_t of_run = hash_str(run), key[] = {pidns, hash_str(host), hash_str(boot), of_run};
	const uint64_t h = hash_bytes(key, sizeof(key));
	const uint32_t latest = map_get(&w->by_key, h);
	for (uint32_t i = latest; i != VEC_NONE; i = w->sessions.v[i].next_key) {
		struct session *s = &w->sessions.v[i];
		if (s->pidns == pidns && str_eq(s->host, host) && str_eq(s->boot, boot) && str_eq(s->run, run))
			return s;
	}
	struct session *s = vec_add(&w->sessions);
	if (!s)
		return NULL;
	*s = (struct session){.host = host,
	                      .boot = boot,
	                      .run = run,
	                      .pidns = pidns,
	                      .began = TIME_NEVER,
	                      .next_key = latest,
	                      .next_run = VEC_NONE};
	const uint32_t at = (uint32_t)(w->sessions.n - 1), before = map_get(&w->by_run_last, of_run);
	if (before != VEC_NONE)
		w->sessions.v[before].next_run = at;
	else if (!map_set(&w->by_run, of_run, at))
		return NULL;
	return map_set(&w->by_key, h, at) && map_set(&w->by_run_last, of_run, at) ? s : NULL;
}

static const struct doc_statement *activity_statement(const struct imported *t, const struct imported_activity *a)
{
	return a->st == VEC_NONE ? NULL : &t->d->st.v[a->st];
}

static struct str statement_run(struct imported *t, const struct doc_statement *st, struct str document)
{
	struct str ulid = imported_ulid(imported_text(t, st, ATTR_run));
	return ulid.n ? ulid : document;
}

static void note_session_begin(struct session *s, int64_t t)
{
	if (t != TIME_NONE && t < s->began)
		s->began = t;
}

/* Puts each process into the session of its first execution that says where it was. */
static int place_processes(struct writer *w, struct str document)
{
	struct imported *t = w->t;
	for (size_t i = 0; i < t->processes.n; i++) {
		struct imported_process *p = &t->processes.v[i];
		struct str host = str_of("unknown"), run = document;
		for (uint32_t x = p->first; x != VEC_NONE; x = t->activities.v[x].next) {
			const struct doc_statement *st = activity_statement(t, &t->activities.v[x]);
			if (!st || !t->activities.v[x].own)
				continue;
			host = imported_text(t, st, ATTR_host);
			run = statement_run(t, st, str_of(""));
			break;
		}
		struct session *s = find_or_add_log_session(w, host, p->boot, p->pidns, run);
		if (!s)
			return imported_oom(t);
		p->session = (uint32_t)(s - w->sessions.v);
		for (uint32_t x = p->first; x != VEC_NONE; x = t->activities.v[x].next) {
			note_session_begin(s, t->activities.v[x].start);
			for (uint32_t k = t->activities.v[x].first; k != VEC_NONE; k = t->accesses.v[k].next)
				note_session_begin(s, t->accesses.v[k].lo);
		}
	}
	return 0;
}

/* ---- files ---- */

static uint64_t domain_number(struct writer *w, struct session *s, const struct imported_file *f)
{
	uint64_t h = hash_str(f->domain);
	uint32_t n = map_get(&s->domain_number, h);
	if (n != VEC_NONE)
		return n;
	n = ++s->domains;
	if (!map_set(&s->domain_number, h, n))
		w->error = -ENOMEM;
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_domain,
	                                    .time = s->began,
	                                    .domain = {.num = n, .name = f->domain, .network = f->network}});
	return n;
}

static uint64_t file_number(struct writer *w, struct session *s, uint32_t file)
{
	const struct imported_file *f = &w->t->files.v[file];
	uint32_t n = map_get(&s->file_number, file), at = (uint32_t)(s - w->sessions.v);
	if (n != VEC_NONE)
		return n;
	bool absent = f->kind == TERM_kind_absent;
	uint64_t domain = absent ? 0 : domain_number(w, s, f);
	uint64_t within = f->within == VEC_NONE ? 0 : file_number(w, s, f->within); /* a file, which lies in none */
	n = ++s->files;
	if (!map_set(&s->file_number, file, n))
		w->error = -ENOMEM;
	/* One session says its name: on which host a file had that name is not told. */
	if (w->named[file] == VEC_NONE)
		w->named[file] = at;
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_file,
	                                    .time = f->seen == TIME_NONE ? s->began : f->seen,
	                                    .file = {.num = n,
	                                             .kind = f->kind,
	                                             .domain = domain,
	                                             .ino = f->ino,
	                                             .gen = f->gen,
	                                             .path = absent || w->named[file] == at ? f->path : str_of(""),
	                                             .within = within}});
	return n;
}

static void set_files_observed(struct imported *t)
{
	for (size_t i = 0; i < t->accesses.n; i++) {
		const struct imported_access *a = &t->accesses.v[i];
		struct imported_file *f = &t->files.v[t->versions.v[a->version].file];
		if (a->lo > f->seen)
			f->seen = a->lo;
	}
}

/* ---- accesses ---- */

/* A key for what has none that is known: the same whichever document tells of it. */
static uint64_t made_key(const struct imported *t, const struct imported_access *a)
{
	const struct imported_activity *x = &t->activities.v[a->activity];
	const struct imported_process *p = &t->processes.v[x->process];
	const struct imported_version *v = &t->versions.v[a->version];
	const struct imported_file *f = &t->files.v[v->file];
	uint64_t h = hash_more(hash_str(p->boot), f->domain.p, f->domain.n);
	h = hash_more(h, f->path.p, f->kind == TERM_kind_absent ? f->path.n : 0);
	const uint64_t rest[] = {p->pidns,
	                         p->pid,
	                         (uint64_t)p->started,
	                         x->n,
	                         f->ino,
	                         f->gen,
	                         f->kind == TERM_kind_absent,
	                         v->session,
	                         v->seq,
	                         v->unobserved_size ? v->size : 0,
	                         (uint64_t)v->mtime,
	                         a->write,
	                         v->own ? (uint64_t)v->start : 0};
	return hash_more(h, rest, sizeof(rest));
}

static void emit_file_state(struct writer *w, struct session *s, uint64_t file, const struct imported_version *v,
                            int64_t t)
{
	emit_imported_event(
	    w, s,
	    &(struct event){.kind = EVENT_state, .time = t, .state = {.file = file, .size = v->size, .mtime = v->mtime}});
}

/* The figures of PROV-IO's calls, in whatever order. */
static void emit_imported_calls(struct writer *w, struct session *s, uint64_t proc, uint64_t access, uint32_t i,
                                uint32_t end)
{
	for (; i != end; i = w->t->io.calls.v[i].next) {
		const struct imported_call *c = &w->t->io.calls.v[i];
		emit_imported_event(w, s,
		                    &(struct event){.kind = EVENT_io,
		                                    .time = c->last != TIME_NONE ? c->last : s->began,
		                                    .proc = proc,
		                                    .io = {.access = access,
		                                           .api = c->api,
		                                           .write = c->write,
		                                           .calls = c->calls,
		                                           .failed = c->failed,
		                                           .bytes = c->bytes,
		                                           .largest = c->largest,
		                                           .spent = c->spent,
		                                           .first = c->first,
		                                           .last = c->last,
		                                           .size0 = c->size[0],
		                                           .size1 = c->size[1],
		                                           .size2 = c->size[2],
		                                           .size3 = c->size[3],
		                                           .size4 = c->size[4],
		                                           .size5 = c->size[5],
		                                           .size6 = c->size[6],
		                                           .size7 = c->size[7],
		                                           .size8 = c->size[8],
		                                           .size9 = c->size[9]}});
	}
}

/* Calls that moved nothing: an access that was, and did not read. */
static void emit_bare_calls(struct writer *w, struct session *s, uint64_t proc, const struct imported_activity *x)
{
	const struct imported *t = w->t;
	for (uint32_t i = x->calls, next; i != VEC_NONE; i = next) {
		const struct imported_call *c = &t->io.calls.v[i];
		for (next = i; next != VEC_NONE && t->io.calls.v[next].file == c->file;)
			next = t->io.calls.v[next].next;
		const struct imported_file *f = &t->files.v[c->file];
		const struct imported_process *p = &t->processes.v[x->process];
		const uint64_t key[] = {hash_str(p->boot),  p->pidns, p->pid, (uint64_t)p->started, x->n, f->ino, f->gen,
		                        hash_str(f->domain)};
		uint64_t file = file_number(w, s, c->file);
		int64_t at = c->first != TIME_NONE ? c->first : x->start != TIME_NONE ? x->start : s->began;
		uint64_t seq = emit_imported_event(
		    w, s,
		    &(struct event){.kind = EVENT_access,
		                    .time = at,
		                    .proc = proc,
		                    .access = {.file = file,
		                               .mode = ACCESS_READ,
		                               .via = TERM_via_data,
		                               .sure = 1,
		                               .api = gkind_is_object(f->kind) ? TERM_api_hdf5 : TERM_api_other,
		                               .as_session = TOLD_WITHOUT_KEY,
		                               .as_seq = hash_bytes(key, sizeof(key))}});
		emit_imported_event(w, s,
		                    &(struct event){.kind = EVENT_access_end,
		                                    .time = at,
		                                    .proc = proc,
		                                    .access_end = {.access = seq,
		                                                   .until = at,
		                                                   .evidence = TERM_evidence_none,
		                                                   .exact = 1,
		                                                   .first = TIME_NONE,
		                                                   .last = TIME_NONE}});
		emit_imported_calls(w, s, proc, seq, i, next);
	}
}

static void emit_imported_access(struct writer *w, struct session *s, uint64_t proc, const struct imported_access *a)
{
	struct imported *t = w->t;
	const struct imported_version *v = &t->versions.v[a->version];
	const struct imported_file *f = &t->files.v[v->file];
	uint64_t file = file_number(w, s, v->file);
	uint64_t mode = (a->mode & ~(unsigned)ACCESS_STATE) | (a->state != VEC_NONE ? ACCESS_STATE : 0u);
	bool reads = f->kind == TERM_kind_absent;
	mode |= a->write ? ACCESS_WRITE : 0u;
	if (!a->write)
		mode = (mode & ~(uint64_t)(ACCESS_WRITE | ACCESS_CREATE | ACCESS_TRUNC | ACCESS_APPEND)) |
		       (reads ? 0 : ACCESS_READ);
	if (a->state != VEC_NONE)
		emit_file_state(w, s, file, &t->versions.v[a->state], a->lo);
	struct event ev = {.kind = EVENT_access,
	                   .time = a->lo,
	                   .proc = proc,
	                   .access = {.file = file, .mode = mode, .via = a->via, .sure = a->must, .api = a->api}};
	ev.access.as_session = a->first ? v->session : TOLD_WITHOUT_KEY;
	ev.access.as_seq = a->first ? v->seq : made_key(t, a);
	uint64_t seq = emit_imported_event(w, s, &ev);
	if (a->closes)
		emit_file_state(w, s, file, v, a->hi == TIME_NONE ? a->lo : a->hi);
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_access_end,
	                                    .time = a->hi == TIME_NONE ? a->lo : a->hi,
	                                    .proc = proc,
	                                    .access_end = {.access = seq,
	                                                   .until = a->hi,
	                                                   .evidence = !a->write ? TERM_evidence_none
	                                                               : a->must ? TERM_evidence_must
	                                                                         : TERM_evidence_may,
	                                                   .state = a->closes,
	                                                   .count = a->count > 1 ? a->count : 0,
	                                                   .bytes_read = a->write ? 0 : a->bytes,
	                                                   .bytes_written = a->write ? a->bytes : 0,
	                                                   .known = !a->has_bytes ? 0
	                                                            : a->write    ? 2
	                                                                          : 1}});
	emit_imported_calls(w, s, proc, seq, a->calls, VEC_NONE);
}

/* ---- processes ---- */

static int64_t begin_of(const struct imported *t, const struct imported_process *p)
{
	const struct imported_activity *a = &t->activities.v[p->first];
	return a->start != TIME_NONE ? a->start : 0;
}

/* The time of the event that tells of it. */
static int64_t process_event_time(const struct imported *t, const struct imported_process *p)
{
	int64_t born = begin_of(t, p);
	return p->parent != VEC_NONE && p->until != TIME_NONE && p->until > born ? p->until : born;
}

static struct strlist statement_list(struct imported *t, const struct doc_statement *st, enum prov_attr attr,
                                     struct buf *b, int *rc)
{
	buf_reset(b);
	long n = st && *rc == 0 ? imported_list(t, st, attr, b) : 0;
	if (n < 0)
		*rc = (int)n;
	return (struct strlist){.count = n > 0 ? (size_t)n : 0, .raw = buf_view(b)};
}

/* The file of a program: known as an entity, else by the path of the agent that stands for it. */
static uint64_t program_file_number(struct writer *w, struct session *s, const struct doc_statement *st,
                                    enum prov_attr attr)
{
	struct imported *t = w->t;
	struct str name = imported_text(t, st, attr);
	uint32_t word = name.n ? intern_find(&t->d->words, name) : VEC_NONE;
	uint32_t file = word == VEC_NONE ? VEC_NONE : map_get(&t->file_of, word);
	return file == VEC_NONE ? 0 : file_number(w, s, file);
}

static int emit_imported_exec(struct writer *w, struct session *s, uint64_t proc, const struct imported_activity *a)
{
	struct imported *t = w->t;
	const struct doc_statement *st = activity_statement(t, a);
	struct event ev = {
	    .kind = EVENT_exec, .time = a->start != TIME_NONE ? a->start : 0, .proc = proc, .exec = {.n = a->n}};
	int rc = 0;
	if (st && a->own) {
		ev.exec.exe = program_file_number(w, s, st, ATTR_program);
		ev.exec.script = program_file_number(w, s, st, ATTR_script);
		ev.exec.cwd = imported_text(t, st, ATTR_cwd);
		imported_count(t, st, ATTR_uid, &ev.exec.uid);
		imported_count(t, st, ATTR_gid, &ev.exec.gid);
		ev.exec.run = statement_run(t, st, str_of(""));
		if (str_eq(ev.exec.run, s->run))
			ev.exec.run = str_of("");
	}
	ev.exec.argv = statement_list(t, st, ATTR_argv, &w->list, &rc);
	ev.exec.env = statement_list(t, st, ATTR_environment, &w->list2, &rc);
	if (!ev.exec.argv.count && a->name.n) {
		buf_reset(&w->list);
		buf_varint(&w->list, a->name.n);
		buf_str(&w->list, a->name);
		ev.exec.argv = (struct strlist){.count = 1, .raw = buf_view(&w->list)};
	}
	if (rc == 0)
		emit_imported_event(w, s, &ev);
	return rc;
}

static int emit_imported_gaps(struct writer *w, struct session *s, uint64_t proc, const struct imported_activity *a)
{
	const struct doc_statement *st = activity_statement(w->t, a);
	int rc = 0;
	struct strlist l = statement_list(w->t, a->own ? st : NULL, ATTR_completeness, &w->list, &rc);
	struct str word;
	for (size_t pos = 0; rc == 0 && strlist_next(&l, &pos, &word);)
		for (unsigned i = 0; i < 64; i++)
			if (str_is(word, term_name(SET_gap, i)))
				emit_imported_event(w, s,
				                    &(struct event){.kind = EVENT_gap,
				                                    .time = a->start != TIME_NONE ? a->start : 0,
				                                    .proc = proc,
				                                    .gap = {.reason = i, .from = TIME_NONE}});
	return rc;
}

/* The exit stands at the last execution. Of one whose exit is not told the end is not known: it may have gone on. */
static void emit_imported_exit(struct writer *w, struct session *s, uint64_t proc, const struct imported_activity *a)
{
	struct imported *t = w->t;
	const struct doc_statement *st = activity_statement(t, a);
	struct event ev = {.kind = EVENT_exit, .time = a->end, .proc = proc};
	uint64_t *const figures[] = {&ev.exit.cpu,   &ev.exit.user,  &ev.exit.system,     &ev.exit.rss,
	                             &ev.exit.rchar, &ev.exit.wchar, &ev.exit.read_bytes, &ev.exit.write_bytes};
	static const enum prov_attr attrs[] = {ATTR_cpuTime,   ATTR_userTime,     ATTR_systemTime,  ATTR_memoryResidentPeak,
	                                       ATTR_bytesRead, ATTR_bytesWritten, ATTR_storageRead, ATTR_storageWritten};
	if (a->end == TIME_NONE)
		return;
	for (unsigned i = 0; st && a->own && i < 8; i++)
		if (imported_count(t, st, attrs[i], figures[i]))
			ev.exit.known |= (uint64_t)1 << (i + 1);
	if (st && a->own && imported_count(t, st, ATTR_exitStatus, &ev.exit.code))
		ev.exit.ending = TERM_ending_exited;
	else if (st && a->own && imported_count(t, st, ATTR_exitSignal, &ev.exit.code))
		ev.exit.ending = TERM_ending_signaled;
	else if (a->own && !ev.exit.known)
		return;
	emit_imported_event(w, s, &ev);
}

/* The number of a process in a session, declared there; a parent of another session once more, without anything else.
 */
static uint64_t process_number_in(struct writer *w, struct session *s, uint32_t process)
{
	const struct imported_process *p = &w->t->processes.v[process];
	if (&w->sessions.v[p->session] == s)
		return p->number;
	const struct session *home = &w->sessions.v[p->session];
	if (home->pidns != s->pidns || !str_eq(home->boot, s->boot))
		return 0;
	uint32_t n = map_get(&s->shadows, process);
	if (n != VEC_NONE)
		return n;
	n = ++s->procs;
	if (!map_set(&s->shadows, process, n))
		w->error = -ENOMEM;
	int64_t at = process_event_time(w->t, p); /* later than its own: that one holds */
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_process,
	                                    .time = at < INT64_MAX ? at + 1 : at,
	                                    .proc = n,
	                                    .process = {.pid = p->pid, .started = p->started, .forked = TIME_NONE}});
	return n;
}

static int emit_imported_process(struct writer *w, uint32_t i)
{
	struct imported *t = w->t;
	struct imported_process *p = &t->processes.v[i];
	struct session *s = &w->sessions.v[p->session];
	const struct imported_activity *a = &t->activities.v[p->first];
	uint64_t parent = p->parent == VEC_NONE ? 0 : process_number_in(w, s, p->parent);
	int64_t born = begin_of(t, p);
	struct event ev = {.kind = EVENT_process,
	                   .time = parent && p->until != TIME_NONE ? p->until : born,
	                   .process = {.pid = p->pid, .started = p->started, .parent = parent, .forked = TIME_NONE}};
	ev.process.forked = parent && p->forked != TIME_NONE ? p->forked : a->n == 0 ? born : TIME_NONE;
	ev.proc = p->number = ++s->procs;
	emit_imported_event(w, s, &ev);
	int rc = 0;
	for (uint32_t x = p->first; rc == 0 && x != VEC_NONE; x = a->next) {
		a = &t->activities.v[x];
		if (a->n)
			rc = emit_imported_exec(w, s, p->number, a);
		for (uint32_t k = a->first; k != VEC_NONE; k = t->accesses.v[k].next)
			emit_imported_access(w, s, p->number, &t->accesses.v[k]);
		emit_bare_calls(w, s, p->number, a);
		if (rc == 0)
			rc = emit_imported_gaps(w, s, p->number, a);
		/* What it shared with others is told while it is the current one of its process. */
		if (a->next == VEC_NONE)
			emit_imported_exit(w, s, p->number, a);
	}
	return rc ? rc : w->error;
}

/* Parents before children: those that are not there yet are put first, without calling itself. */
static int emit_imported_processes(struct writer *w)
{
	struct imported *t = w->t;
	VEC(uint32_t) stack = {0};
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < t->processes.n; i++) {
		for (uint32_t p = i; p != VEC_NONE && t->processes.v[p].state == 0; p = t->processes.v[p].parent) {
			uint32_t *slot = vec_add(&stack);
			if (!slot) {
				rc = imported_oom(t);
				break;
			}
			*slot = p;
			t->processes.v[p].state = 1; /* a circle of parents ends here */
		}
		while (rc == 0 && stack.n) {
			uint32_t p = stack.v[--stack.n];
			if (t->processes.v[p].parent != VEC_NONE && t->processes.v[t->processes.v[p].parent].state != 2)
				t->processes.v[p].parent = VEC_NONE;
			rc = emit_imported_process(w, p);
			t->processes.v[p].state = 2;
		}
	}
	vec_release(&stack);
	return rc;
}

/* ---- links ---- */

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
static uint64_t emit_current_execution(struct writer *w, struct session *s, uint32_t activity, int *rc)
{
	struct imported *t = w->t;
	const struct imported_activity *a = &t->activities.v[activity];
	const struct imported_process *p = &t->processes.v[a->process];
	if (&w->sessions.v[p->session] != s)
		return 0;
	uint64_t n = ++s->procs;
	int64_t at = process_event_time(t, p);
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_process,
	                                    .time = at < INT64_MAX ? at + 1 : at,
	                                    .proc = n,
	                                    .process = {.pid = p->pid, .started = p->started, .forked = TIME_NONE}});
	if (a->n && *rc == 0)
		*rc = emit_imported_exec(w, s, n, a);
	return n;
}

static int emit_imported_links(struct writer *w)
{
	struct imported *t = w->t;
	int rc = 0;
	if (t->links.n)
		qsort(t->links.v, t->links.n, sizeof(*t->links.v), link_cmp);
	for (size_t i = 0; rc == 0 && i < t->links.n; i++) {
		const struct imported_link *l = &t->links.v[i];
		if (i && link_cmp(l - 1, l) == 0)
			continue;
		struct session *s = &w->sessions.v[t->processes.v[t->activities.v[l->a].process].session];
		uint64_t a = emit_current_execution(w, s, l->a, &rc), b = emit_current_execution(w, s, l->b, &rc);
		if (!a || !b || l->at == TIME_NONE) {
			t->passed++;
			continue;
		}
		emit_imported_event(
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
		const struct doc_statement *st = activity_statement(t, &t->activities.v[i]);
		if (!t->activities.v[i].own || !st || !str_eq(statement_run(t, st, str_of("")), r->id) ||
		    !str_eq(imported_text(t, st, ATTR_user), r->user) || !str_eq(imported_text(t, st, ATTR_group), r->group))
			continue;
		if (imported_count(t, st, ATTR_uid, &r->uid) && imported_count(t, st, ATTR_gid, &r->gid))
			return;
	}
}

static int emit_imported_run(struct writer *w, struct session *s, const struct imported_run *r)
{
	struct imported *t = w->t;
	const struct doc_statement *st = &t->d->st.v[r->st];
	struct event ev = {
	    .kind = EVENT_run, .time = st->start != TIME_NONE ? st->start : s->began, .run = {.id = r->ulid}};
	struct buf labels = {0};
	int rc = 0;
	ev.run.outer = imported_ulid(imported_text(t, st, ATTR_outerRun));
	ev.run.argv = statement_list(t, st, ATTR_argv, &w->list, &rc);
	ev.run.host = statement_list(t, st, ATTR_hostInfo, &w->list2, &rc);
	ev.run.label = statement_list(t, st, ATTR_label, &labels, &rc);
	ev.run.cwd = imported_text(t, st, ATTR_cwd);
	ev.run.user = imported_text(t, st, ATTR_user);
	ev.run.group = imported_text(t, st, ATTR_group);
	take_owner(t, &ev.run);
	if (rc == 0)
		emit_imported_event(w, s, &ev);
	buf_release(&labels);
	if (rc == 0 && st->end != TIME_NONE) {
		struct event end = {.kind = EVENT_run_end, .time = st->end, .run_end = {.id = r->ulid}};
		if (imported_count(t, st, ATTR_exitStatus, &end.run_end.code))
			end.run_end.ending = TERM_ending_exited;
		else if (imported_count(t, st, ATTR_exitSignal, &end.run_end.code))
			end.run_end.ending = TERM_ending_signaled;
		emit_imported_event(w, s, &end);
	}
	return rc;
}

/* Each run by one session: that of its executions on its own host, else one of its own. */
static int index_runs(struct writer *w)
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

static int emit_session_runs(struct writer *w, size_t session)
{
	struct imported *t = w->t;
	int rc = 0;
	for (uint32_t i = map_get(&w->first_run, hash_str(w->sessions.v[session].run)); rc == 0 && i != VEC_NONE;
	     i = w->next_run[i]) {
		struct imported_run *r = &t->runs.v[i];
		struct session *s = &w->sessions.v[session];
		if (r->emitted || !str_eq(s->run, r->ulid) || !str_eq(s->host, imported_text(t, &t->d->st.v[r->st], ATTR_host)))
			continue;
		r->emitted = true;
		rc = emit_imported_run(w, s, r);
	}
	return rc;
}

/* What no run of stemma's made: a run of the document, so that it is seen in the log. */
static void emit_document_mark(struct writer *w, struct session *s, struct str id)
{
	struct imported *t = w->t;
	const int64_t end = w->end;
	const struct str argv[] = {str_of("stemma"), str_of("import"), str_of(t->name)};
	emit_imported_event(w, s,
	                    &(struct event){.kind = EVENT_run,
	                                    .time = s->began,
	                                    .run = {.id = id,
	                                            .argv = {.items = argv, .count = 3},
	                                            .user = t->user ? doc_str(t->d, t->user) : str_of("unknown")}});
	emit_imported_event(
	    w, s, &(struct event){.kind = EVENT_run_end, .time = end == TIME_NONE ? s->began : end, .run_end = {.id = id}});
}

/* ---- what programs said ---- */

/* The app event of a process in a session: all that it said stands behind one. */
static uint64_t emit_app_event(struct writer *w, struct session *s, uint32_t process, struct str ulid, struct map *apps)
{
	const struct imported_process *p = process == VEC_NONE ? NULL : &w->t->processes.v[process];
	const uint64_t key[] = {(uint64_t)(s - w->sessions.v), process, hash_str(ulid)};
	uint64_t h = hash_bytes(key, sizeof(key));
	uint32_t seq = map_get(apps, h);
	if (seq != VEC_NONE)
		return seq;
	seq = (uint32_t)emit_imported_event(w, s,
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

static void emit_app_events(struct writer *w, struct str document)
{
	struct imported *t = w->t;
	struct buf lists[3] = {{0}};
	struct map apps = {0};
	for (size_t i = 0; i < t->app_events.n && !w->error; i++) {
		const struct imported_app_event *y = &t->app_events.v[i];
		struct session *s = NULL;
		struct event ev = {.kind = EVENT_gap};
		uint32_t process = y->activity == VEC_NONE ? VEC_NONE : t->activities.v[y->activity].process;
		struct str ulid = y->ulid.n ? y->ulid : document;
		if (process != VEC_NONE)
			s = &w->sessions.v[t->processes.v[process].session];
		for (uint32_t k = map_get(&w->by_run, hash_str(ulid)); !s && k != VEC_NONE; k = w->sessions.v[k].next_run)
			s = str_eq(w->sessions.v[k].run, ulid) ? &w->sessions.v[k] : NULL;
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
		emit_imported_event(w, s, &ev);
	}
	for (unsigned k = 0; k < 3; k++)
		buf_release(&lists[k]);
	map_release(&apps);
}

/* ---- notes ---- */

/* Notes are in sessions of no run, of the host where they were written. */
static struct session *note_session(struct writer *w, const struct imported_note *n)
{
	struct session *s = find_or_add_log_session(w, n->host, str_of(""), 0, str_of(""));
	if (s)
		s->mode = str_of("keeping");
	return s;
}

static void emit_imported_notes(struct writer *w)
{
	struct imported *t = w->t;
	for (size_t i = 0; i < t->notes.n; i++) {
		const struct imported_note *n = &t->notes.v[i];
		if (n->file != VEC_NONE && w->named[n->file] == VEC_NONE) {
			t->passed++; /* on what nothing else is told of */
			continue;
		}
		struct session *s = note_session(w, n);
		emit_imported_event(w, s,
		                    &(struct event){.kind = EVENT_note,
		                                    .time = n->time,
		                                    .note = {.run = n->run,
		                                             .file = n->file == VEC_NONE ? 0 : file_number(w, s, n->file),
		                                             .text = n->text,
		                                             .version = n->version,
		                                             .user = n->user}});
	}
}

/* A ULID of the document's own: its time, and what it holds. */
static void document_id(uint64_t hash, int64_t began, char ret[27])
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t ms = began > 0 && began != TIME_NEVER ? (uint64_t)began / 1000000 : 0,
	         rest[2] = {hash, hash_more(1, &hash, sizeof(hash))};
	for (unsigned i = 10; i-- > 0; ms >>= 5)
		ret[i] = digits[ms & 31];
	for (unsigned i = 0; i < 16; i++)
		ret[10 + i] = digits[rest[i / 8] >> (5 * (i % 8)) & 31];
	ret[26] = '\0';
}

int imported_events(struct imported *t, uint64_t hash, struct buf *ret, struct str *ret_host)
{
	struct writer w = {.t = t, .out = ret, .named = malloc((t->files.n + 1) * sizeof(uint32_t))};
	char *id = arena_take(&t->text, 27);
	int64_t began = TIME_NEVER;
	if (!w.named || !id) {
		free(w.named);
		return imported_oom(t);
	}
	memset(w.named, 0xff, (t->files.n + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < t->activities.n; i++)
		if (!t->activities.v[i].own && t->activities.v[i].start != TIME_NONE && t->activities.v[i].start < began)
			began = t->activities.v[i].start;
	w.end = TIME_NONE;
	for (size_t i = 0; i < t->activities.n; i++)
		if (!t->activities.v[i].own && t->activities.v[i].end > w.end)
			w.end = t->activities.v[i].end;
	document_id(hash, began, id);
	struct str document = str_of(id);
	set_files_observed(t);
	int rc = index_runs(&w);
	rc = rc < 0 ? rc : place_processes(&w, document);
	for (size_t i = 0; rc == 0 && i < t->runs.n; i++) {
		const struct doc_statement *st = &t->d->st.v[t->runs.v[i].st];
		bool there = false;
		for (uint32_t k = map_get(&w.by_run, hash_str(t->runs.v[i].ulid)); k != VEC_NONE; k = w.sessions.v[k].next_run)
			there |= str_eq(w.sessions.v[k].run, t->runs.v[i].ulid) &&
			         str_eq(w.sessions.v[k].host, imported_text(t, st, ATTR_host));
		struct session *s =
		    there ? NULL
		          : find_or_add_log_session(&w, imported_text(t, st, ATTR_host), str_of(""), 0, t->runs.v[i].ulid);
		if (!there && !s)
			rc = imported_oom(t);
	}
	for (size_t i = 0; rc == 0 && i < t->runs.n; i++)
		for (uint32_t k = map_get(&w.by_run, hash_str(t->runs.v[i].ulid)); k != VEC_NONE; k = w.sessions.v[k].next_run)
			if (str_eq(w.sessions.v[k].run, t->runs.v[i].ulid)) {
				const struct doc_statement *st = &t->d->st.v[t->runs.v[i].st];
				w.sessions.v[k].mode = imported_text(t, st, ATTR_mode);
				note_session_begin(&w.sessions.v[k], st->start);
			}
	for (size_t i = 0; rc == 0 && i < t->notes.n; i++) {
		struct session *s = note_session(&w, &t->notes.v[i]);
		if (s)
			note_session_begin(s, t->notes.v[i].time);
		else
			rc = imported_oom(t);
	}
	for (size_t i = 0; rc == 0 && i < w.sessions.n; i++) {
		struct session *s = &w.sessions.v[i];
		const uint64_t key[] = {hash, s->pidns, hash_str(s->host), hash_str(s->boot), hash_str(s->run)};
		s->number = IMPORT_SESSION | (hash_bytes(key, sizeof(key)) >> 16);
		s->began = s->began == TIME_NEVER ? 0 : s->began;
		emit_imported_event(
		    &w, s,
		    &(struct event){.kind = EVENT_session,
		                    .time = s->began,
		                    .session = {.run = s->run,
		                                .host = s->host,
		                                .boot = s->boot,
		                                .pidns = s->pidns,
		                                .tool = str_of("stemma import " STEMMA_VERSION),
		                                .mode = str_eq(s->run, document) ? str_of("import") : s->mode}});
		rc = emit_session_runs(&w, i);
		if (rc == 0 && str_eq(s->run, document))
			emit_document_mark(&w, s, document);
	}
	if (rc == 0)
		rc = emit_imported_processes(&w);
	if (rc == 0)
		rc = emit_imported_links(&w);
	if (rc == 0)
		emit_app_events(&w, document);
	if (rc == 0)
		emit_imported_notes(&w);
	for (size_t i = 0; i < w.sessions.n; i++) {
		struct session *s = &w.sessions.v[i];
		if (rc == 0) {
			emit_imported_event(&w, s, &(struct event){.kind = EVENT_session_end, .time = s->before});
			flush_frame(&w, s);
		}
		buf_release(&s->events);
		map_release(&s->file_number);
		map_release(&s->domain_number);
		map_release(&s->shadows);
	}
	*ret_host = w.sessions.n && w.sessions.v[0].host.n && !str_is(w.sessions.v[0].host, "unknown")
	                ? w.sessions.v[0].host
	                : str_of("prov");
	vec_release(&w.sessions);
	map_release(&w.by_key);
	map_release(&w.by_run);
	map_release(&w.by_run_last);
	map_release(&w.first_run);
	free(w.next_run);
	buf_release(&w.list);
	buf_release(&w.list2);
	buf_release(&w.text);
	event_clean_release(&w.clean);
	free(w.named);
	if (rc == 0 && w.error == -E2BIG)
		return err_set(t->err, 0, "%s: a statement is larger than what a log takes", t->name), -E2BIG;
	return rc == 0 && w.error ? imported_oom(t) : rc;
}
