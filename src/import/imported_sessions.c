#include "import/imported_sessions.h"

#include "base/hash.h"

#include <errno.h>

/* ---- events ---- */

uint64_t imported_emit(struct imported_writer *w, struct imported_session *s, const struct event *ev)
{
	uint64_t seq = log_frames_add(&s->frames, ev);
	w->error = s->frames.error ? s->frames.error : w->error;
	return seq;
}

/* ---- sessions ---- */

struct imported_session *imported_session_of(struct imported_writer *w, struct str host, struct str boot,
                                             uint64_t pidns, struct str run)
{
	const uint64_t of_run = hash_str(run), key[] = {pidns, hash_str(host), hash_str(boot), of_run};
	const uint64_t h = hash_bytes(key, sizeof(key));
	const uint32_t latest = map_get(&w->by_key, h);
	for (uint32_t i = latest; i != VEC_NONE; i = w->sessions.v[i].next_key) {
		struct imported_session *s = &w->sessions.v[i];
		if (s->pidns == pidns && str_eq(s->host, host) && str_eq(s->boot, boot) && str_eq(s->run, run))
			return s;
	}
	struct imported_session *s = vec_add(&w->sessions);
	if (!s)
		return NULL;
	*s = (struct imported_session){.host = host,
	                               .boot = boot,
	                               .run = run,
	                               .pidns = pidns,
	                               .began = TIME_NEVER,
	                               .frames = {.out = w->out},
	                               .next_key = latest,
	                               .next_run = VEC_NONE};
	const uint32_t at = (uint32_t)(w->sessions.n - 1), before = map_get(&w->by_run_last, of_run);
	if (before != VEC_NONE)
		w->sessions.v[before].next_run = at;
	else if (!map_set(&w->by_run, of_run, at))
		return NULL;
	return map_set(&w->by_key, h, at) && map_set(&w->by_run_last, of_run, at) ? s : NULL;
}

const struct doc_statement *imported_activity_statement(const struct imported *t, const struct imported_activity *a)
{
	return a->st == VEC_NONE ? NULL : &t->d->st.v[a->st];
}

struct str imported_statement_run(struct imported *t, const struct doc_statement *st, struct str document)
{
	struct str ulid = imported_ulid(imported_text(t, st, ATTR_run));
	return ulid.n ? ulid : document;
}

void imported_session_begins(struct imported_session *s, int64_t t)
{
	if (t != TIME_NONE && t < s->began)
		s->began = t;
}

int imported_place_processes(struct imported_writer *w, struct str document)
{
	struct imported *t = w->t;
	for (size_t i = 0; i < t->processes.n; i++) {
		struct imported_process *p = &t->processes.v[i];
		struct str host = str_of("unknown"), run = document;
		for (uint32_t x = p->first; x != VEC_NONE; x = t->activities.v[x].next) {
			const struct doc_statement *st = imported_activity_statement(t, &t->activities.v[x]);
			if (!st || !t->activities.v[x].own)
				continue;
			host = imported_text(t, st, ATTR_host);
			run = imported_statement_run(t, st, str_of(""));
			break;
		}
		struct imported_session *s = imported_session_of(w, host, p->boot, p->pidns, run);
		if (!s)
			return imported_oom(t);
		p->session = (uint32_t)(s - w->sessions.v);
		for (uint32_t x = p->first; x != VEC_NONE; x = t->activities.v[x].next) {
			imported_session_begins(s, t->activities.v[x].start);
			for (uint32_t k = t->activities.v[x].first; k != VEC_NONE; k = t->accesses.v[k].next)
				imported_session_begins(s, t->accesses.v[k].lo);
		}
	}
	return 0;
}

/* ---- files ---- */

/* The domain's number in the session; a new one is written as an event. w->error: no memory. */
static uint64_t domain_number(struct imported_writer *w, struct imported_session *s, const struct imported_file *f)
{
	uint64_t h = hash_str(f->domain);
	uint32_t n = map_get(&s->domain_number, h);
	if (n != VEC_NONE)
		return n;
	n = ++s->domains;
	if (!map_set(&s->domain_number, h, n))
		w->error = -ENOMEM;
	imported_emit(w, s,
	              &(struct event){.kind = EVENT_domain,
	                              .time = s->began,
	                              .domain = {.num = n, .name = f->domain, .network = f->network}});
	return n;
}

uint64_t imported_file_number(struct imported_writer *w, struct imported_session *s, uint32_t file)
{
	const struct imported_file *f = &w->t->files.v[file];
	uint32_t n = map_get(&s->file_number, file), at = (uint32_t)(s - w->sessions.v);
	if (n != VEC_NONE)
		return n;
	bool absent = f->kind == TERM_kind_absent;
	uint64_t domain = absent ? 0 : domain_number(w, s, f);
	uint64_t within =
	    f->within == VEC_NONE ? 0 : imported_file_number(w, s, f->within); /* a file, which lies in none */
	n = ++s->files;
	if (!map_set(&s->file_number, file, n))
		w->error = -ENOMEM;
	/* One session says its name: on which host a file had that name is not told. */
	if (w->named[file] == VEC_NONE)
		w->named[file] = at;
	imported_emit(w, s,
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

void imported_files_observed(struct imported *t)
{
	for (size_t i = 0; i < t->accesses.n; i++) {
		const struct imported_access *a = &t->accesses.v[i];
		struct imported_file *f = &t->files.v[t->versions.v[a->version].file];
		if (a->lo > f->seen)
			f->seen = a->lo;
	}
}

/* ---- what statements say ---- */

struct strlist imported_statement_list(struct imported *t, const struct doc_statement *st, enum prov_attr attr,
                                       struct buf *b, int *rc)
{
	buf_reset(b);
	long n = st && *rc == 0 ? imported_list(t, st, attr, b) : 0;
	if (n < 0)
		*rc = (int)n;
	return (struct strlist){.count = n > 0 ? (size_t)n : 0, .raw = buf_view(b)};
}
