/* imported_processes.c - the events of processes that a document tells of: their programs, their accesses, their ends.
 */
#include "import/imported_sessions.h"

#include "base/hash.h"
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>

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

/* The state is that of the version; t: when it was seen, ns. */
static void emit_file_state(struct imported_writer *w, struct imported_session *s, uint64_t file,
                            const struct imported_version *v, int64_t t)
{
	imported_emit(
	    w, s,
	    &(struct event){.kind = EVENT_state, .time = t, .state = {.file = file, .size = v->size, .mtime = v->mtime}});
}

/* The figures of PROV-IO's calls, in whatever order. */
static void emit_imported_calls(struct imported_writer *w, struct imported_session *s, uint64_t proc, uint64_t access,
                                uint32_t i, uint32_t end)
{
	for (; i != end; i = w->t->io.calls.v[i].next) {
		const struct imported_call *c = &w->t->io.calls.v[i];
		imported_emit(w, s,
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
static void emit_bare_calls(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                            const struct imported_activity *x)
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
		uint64_t file = imported_file_number(w, s, c->file);
		int64_t at = c->first != TIME_NONE ? c->first : x->start != TIME_NONE ? x->start : s->began;
		uint64_t seq =
		    imported_emit(w, s,
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
		imported_emit(w, s,
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

/* What was done, as bits. absent: the file was looked for and is not there. */
static uint64_t access_mode(const struct imported_access *a, bool absent)
{
	uint64_t mode = (a->mode & ~(unsigned)ACCESS_STATE) | (a->state != VEC_NONE ? ACCESS_STATE : 0u);
	if (a->write)
		return mode | ACCESS_WRITE;
	mode &= ~(uint64_t)(ACCESS_WRITE | ACCESS_CREATE | ACCESS_TRUNC | ACCESS_APPEND);
	return absent ? mode : mode | ACCESS_READ;
}

/* Its states, itself, its end and the calls of it. What goes wrong stays in w->error. */
static void emit_imported_access(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                                 const struct imported_access *a)
{
	struct imported *t = w->t;
	const struct imported_version *v = &t->versions.v[a->version];
	const struct imported_file *f = &t->files.v[v->file];
	uint64_t file = imported_file_number(w, s, v->file);
	uint64_t mode = access_mode(a, f->kind == TERM_kind_absent);
	int64_t end = a->hi == TIME_NONE ? a->lo : a->hi;
	if (a->state != VEC_NONE)
		emit_file_state(w, s, file, &t->versions.v[a->state], a->lo);
	struct event ev = {.kind = EVENT_access,
	                   .time = a->lo,
	                   .proc = proc,
	                   .access = {.file = file, .mode = mode, .via = a->via, .sure = a->must, .api = a->api}};
	ev.access.as_session = a->first ? v->session : TOLD_WITHOUT_KEY;
	ev.access.as_seq = a->first ? v->seq : made_key(t, a);
	uint64_t seq = imported_emit(w, s, &ev);
	if (a->closes)
		emit_file_state(w, s, file, v, end);
	imported_emit(w, s,
	              &(struct event){.kind = EVENT_access_end,
	                              .time = end,
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

/* When the process began. 0: not known. */
static int64_t begin_of(const struct imported *t, const struct imported_process *p)
{
	const struct imported_activity *a = &t->activities.v[p->first];
	return a->start != TIME_NONE ? a->start : 0;
}

int64_t imported_process_time(const struct imported *t, const struct imported_process *p)
{
	int64_t born = begin_of(t, p);
	return p->parent != VEC_NONE && p->until != TIME_NONE && p->until > born ? p->until : born;
}

/* The file of a program: known as an entity, else by the path of the agent that stands for it. */
static uint64_t program_file_number(struct imported_writer *w, struct imported_session *s,
                                    const struct doc_statement *st, enum prov_attr attr)
{
	struct imported *t = w->t;
	struct str name = imported_text(t, st, attr);
	uint32_t word = name.n ? intern_find(&t->d->words, name) : VEC_NONE;
	uint32_t file = word == VEC_NONE ? VEC_NONE : map_get(&t->file_of, word);
	return file == VEC_NONE ? 0 : imported_file_number(w, s, file);
}

int imported_emit_exec(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                       const struct imported_activity *a)
{
	struct imported *t = w->t;
	const struct doc_statement *st = imported_activity_statement(t, a);
	struct event ev = {
	    .kind = EVENT_exec, .time = a->start != TIME_NONE ? a->start : 0, .proc = proc, .exec = {.n = a->n}};
	int rc = 0;
	if (st && a->own) {
		ev.exec.exe = program_file_number(w, s, st, ATTR_program);
		ev.exec.script = program_file_number(w, s, st, ATTR_script);
		ev.exec.cwd = imported_text(t, st, ATTR_cwd);
		imported_count(t, st, ATTR_uid, &ev.exec.uid);
		imported_count(t, st, ATTR_gid, &ev.exec.gid);
		ev.exec.run = imported_statement_run(t, st, str_of(""));
		if (str_eq(ev.exec.run, s->run))
			ev.exec.run = str_of("");
	}
	ev.exec.argv = imported_statement_list(t, st, ATTR_argv, &w->list, &rc);
	ev.exec.env = imported_statement_list(t, st, ATTR_environment, &w->list2, &rc);
	if (!ev.exec.argv.count && a->name.n) {
		buf_reset(&w->list);
		buf_varint(&w->list, a->name.n);
		buf_str(&w->list, a->name);
		ev.exec.argv = (struct strlist){.count = 1, .raw = buf_view(&w->list)};
	}
	if (rc == 0)
		imported_emit(w, s, &ev);
	return rc;
}

/* A gap event for each reason that the statement names as its completeness. -ENOMEM, -EBADMSG. */
static int emit_imported_gaps(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                              const struct imported_activity *a)
{
	const struct doc_statement *st = imported_activity_statement(w->t, a);
	int rc = 0;
	struct strlist l = imported_statement_list(w->t, a->own ? st : NULL, ATTR_completeness, &w->list, &rc);
	struct str word;
	for (size_t pos = 0; rc == 0 && strlist_next(&l, &pos, &word);)
		for (unsigned i = 0; i < 64; i++)
			if (str_is(word, term_name(SET_gap, i)))
				imported_emit(w, s,
				              &(struct event){.kind = EVENT_gap,
				                              .time = a->start != TIME_NONE ? a->start : 0,
				                              .proc = proc,
				                              .gap = {.reason = i, .from = TIME_NONE}});
	return rc;
}

/* The exit stands at the last execution. Of one whose exit is not told the end is not known: it may have gone on. */
static void emit_imported_exit(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                               const struct imported_activity *a)
{
	struct imported *t = w->t;
	const struct doc_statement *st = imported_activity_statement(t, a);
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
	imported_emit(w, s, &ev);
}

/* The number of a process in a session, declared there; a parent of another session once more, without anything else.
 */
static uint64_t process_number_in(struct imported_writer *w, struct imported_session *s, uint32_t process)
{
	const struct imported_process *p = &w->t->processes.v[process];
	if (&w->sessions.v[p->session] == s)
		return p->number;
	const struct imported_session *home = &w->sessions.v[p->session];
	if (home->pidns != s->pidns || !str_eq(home->boot, s->boot))
		return 0;
	uint32_t n = map_get(&s->shadows, process);
	if (n != VEC_NONE)
		return n;
	n = ++s->procs;
	if (!map_set(&s->shadows, process, n))
		w->error = -ENOMEM;
	int64_t at = imported_process_time(w->t, p); /* later than its own: that one holds */
	imported_emit(w, s,
	              &(struct event){.kind = EVENT_process,
	                              .time = at < INT64_MAX ? at + 1 : at,
	                              .proc = n,
	                              .process = {.pid = p->pid, .started = p->started, .forked = TIME_NONE}});
	return n;
}

/* The events of its birth, of each of its executions and of its exit. An error of the writer comes back, too. 0,
 * -errno. */
static int emit_imported_process(struct imported_writer *w, uint32_t i)
{
	struct imported *t = w->t;
	struct imported_process *p = &t->processes.v[i];
	struct imported_session *s = &w->sessions.v[p->session];
	const struct imported_activity *a = &t->activities.v[p->first];
	uint64_t parent = p->parent == VEC_NONE ? 0 : process_number_in(w, s, p->parent);
	int64_t born = begin_of(t, p);
	struct event ev = {.kind = EVENT_process,
	                   .time = parent && p->until != TIME_NONE ? p->until : born,
	                   .process = {.pid = p->pid, .started = p->started, .parent = parent, .forked = TIME_NONE}};
	ev.process.forked = parent && p->forked != TIME_NONE ? p->forked : a->n == 0 ? born : TIME_NONE;
	ev.proc = p->number = ++s->procs;
	imported_emit(w, s, &ev);
	int rc = 0;
	for (uint32_t x = p->first; rc == 0 && x != VEC_NONE; x = a->next) {
		a = &t->activities.v[x];
		if (a->n)
			rc = imported_emit_exec(w, s, p->number, a);
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

int imported_emit_processes(struct imported_writer *w)
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
