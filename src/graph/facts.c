#include "graph/facts_int.h"

/* Executions of one process that the store's row numbers can hold; a later one is dropped and counted. */
#define EXEC_MAX ((1u << 20) - 1)

/* What numbers of the log mean is forgotten: they are the session's own. */
void facts_begin(struct facts *f, struct graph *g, uint64_t session)
{
	f->g = g;
	f->session = graph_session(g, session);
	f->seq = 0;
	f->earlier = NULL;
	f->in_build = false;
	dense_clear(&f->domains);
	dense_clear(&f->files);
	dense_clear(&f->procs);
	dense_clear(&f->accesses);
	map_clear(&f->execs);
	dense_clear(&f->apps);
	f->pnums.n = 0;
}

void facts_go_on(struct facts *f, uint64_t seq, const struct facts_earlier *earlier)
{
	f->seq = seq;
	f->earlier = earlier;
}

/* What the number was given to, now or by earlier events; VEC_NONE. */
static uint32_t find_numbered(struct facts *f, struct dense *m, enum facts_kind kind, uint64_t number)
{
	uint32_t i = dense_get(m, number);
	if (i != VEC_NONE || !f->earlier)
		return i;
	i = f->earlier->find(f->earlier->arg, f, kind, number);
	if (i != VEC_NONE)
		facts_set(f, m, number, i);
	return i;
}

uint32_t facts_find_file(struct facts *f, uint64_t number)
{
	return find_numbered(f, &f->files, FACTS_FILE, number);
}

/* The process with that number in its session. VEC_NONE: not known. */
static uint32_t find_process(struct facts *f, uint64_t number)
{
	return find_numbered(f, &f->procs, FACTS_PROCESS, number);
}

void facts_lack(struct facts *f)
{
	if (f->earlier)
		f->earlier->lacks(f->earlier->arg, f);
}

/* The session's numbers mean nothing from now on. */
void facts_end(struct facts *f)
{
	f->session = VEC_NONE;
}

/* f is empty then; the graph stays. */
void facts_release(struct facts *f)
{
	dense_release(&f->domains);
	dense_release(&f->files);
	dense_release(&f->procs);
	dense_release(&f->accesses);
	map_release(&f->execs);
	dense_release(&f->apps);
	vec_release(&f->pnums);
	buf_release(&f->scratch);
	*f = (struct facts){0};
}

uint32_t facts_word(struct facts *f, struct str s)
{
	uint32_t id = intern_add(&f->g->words, s);
	if (id == VEC_NONE) {
		f->g->failed = true;
		return 0;
	}
	return id;
}

/* A list as a word: count and strings, as the event had them. */
static uint32_t facts_list(struct facts *f, const struct strlist *l)
{
	if (!l->count)
		return 0;
	buf_reset(&f->scratch);
	buf_varint(&f->scratch, l->count);
	buf_str(&f->scratch, l->raw);
	if (f->scratch.failed) {
		f->g->failed = true;
		return 0;
	}
	return facts_word(f, buf_view(&f->scratch));
}

struct gkey facts_key(const struct facts *f, const struct event *ev)
{
	return (struct gkey){ev->time, f->g->sessions.v[f->session].number, ev->seq};
}

void facts_set(struct facts *f, struct dense *m, uint64_t key, uint32_t val)
{
	if (val == VEC_NONE || !dense_set(m, key, val))
		f->g->failed = true;
}

/* Finds a file by the session's number; VEC_NONE, counted as unknown, where it was not given. */
static uint32_t facts_file(struct facts *f, uint64_t number)
{
	uint32_t i = facts_find_file(f, number);
	if (i == VEC_NONE)
		f->g->unknown_refs++;
	return i;
}

struct facts_proc *facts_proc_numbered(struct facts *f, uint64_t number)
{
	uint32_t i = find_process(f, number);
	if (i == VEC_NONE) {
		f->g->unknown_refs++;
		return NULL;
	}
	return &f->pnums.v[i];
}

/* For fields where 0 is none. */
uint32_t facts_file_or_none(struct facts *f, uint64_t number)
{
	return number ? facts_file(f, number) : VEC_NONE;
}

/* The first one of a session holds. */
static void apply_session(struct facts *f, const struct event *ev)
{
	struct gsession *s = &f->g->sessions.v[f->session];
	if (s->described) /* the first one holds */
		return;
	uint32_t host = graph_host(f->g, facts_word(f, ev->session.host), facts_word(f, ev->session.boot));
	if (host == VEC_NONE)
		return;
	s->host = host;
	s->run = facts_word(f, ev->session.run);
	s->tool = facts_word(f, ev->session.tool);
	s->mode = facts_word(f, ev->session.mode);
	s->pidns = ev->session.pidns;
	s->described = true;
}

/* Takes over an event of a run. No memory: g->failed, as in all that follows. */
static void apply_run(struct facts *f, const struct event *ev)
{
	struct grun *r = vec_add(&f->g->runs);
	if (!r) {
		f->g->failed = true;
		return;
	}
	*r = (struct grun){.session = f->session,
	                   .key = facts_key(f, ev),
	                   .id = facts_word(f, ev->run.id),
	                   .outer = facts_word(f, ev->run.outer),
	                   .argv = facts_list(f, &ev->run.argv),
	                   .cwd = facts_word(f, ev->run.cwd),
	                   .user = facts_word(f, ev->run.user),
	                   .group = facts_word(f, ev->run.group),
	                   .hostinfo = facts_list(f, &ev->run.host),
	                   .labels = facts_list(f, &ev->run.label),
	                   .uid = ev->run.uid,
	                   .gid = ev->run.gid};
}

/* Notes how a run ended; its execution is VEC_NONE where the process is not known. */
static void apply_run_end(struct facts *f, const struct event *ev)
{
	uint32_t i = ev->proc ? find_process(f, ev->proc) : VEC_NONE;
	struct grun_end *r = vec_add(&f->g->run_ends);
	if (!r) {
		f->g->failed = true;
		return;
	}
	*r = (struct grun_end){.session = f->session,
	                       .key = facts_key(f, ev),
	                       .id = facts_word(f, ev->run_end.id),
	                       .exec = i == VEC_NONE ? VEC_NONE : f->pnums.v[i].exec,
	                       .ending = ev->run_end.ending,
	                       .code = ev->run_end.code,
	                       .cpu = ev->run_end.cpu,
	                       .traps = ev->run_end.traps};
}

/* A domain is on a network if any session says so; the first type that is told holds. */
static void apply_domain(struct facts *f, const struct event *ev)
{
	uint32_t d = graph_domain(f->g, facts_word(f, ev->domain.name));
	facts_set(f, &f->domains, ev->domain.num, d);
	if (d == VEC_NONE)
		return;
	f->g->domains.v[d].network |= ev->domain.network != 0;
	if (!f->g->domains.v[d].type)
		f->g->domains.v[d].type = facts_word(f, ev->domain.type);
}

/* A change of a name, for names.c to replay. Without memory g->failed. */
static void append_name_event(struct facts *f, const struct event *ev, unsigned op, uint32_t file, struct str path,
                              struct str old)
{
	struct graph *g = f->g;
	uint32_t to = paths_add(&g->paths, &g->words, path);
	uint32_t from = old.n ? paths_add(&g->paths, &g->words, old) : VEC_NONE;
	struct gname_event *e = vec_add(&g->name_events);
	if (!e || to == VEC_NONE || (old.n && from == VEC_NONE)) {
		g->failed = true;
		if (e)
			g->name_events.n--;
		return;
	}
	*e = (struct gname_event){
	    .key = facts_key(f, ev), .session = f->session, .file = file, .path = to, .old = from, .op = (uint8_t)op};
}

/* The domain of a file event's file; an event without one is of the domain 0. VEC_NONE: it refers to nothing, or there
 * is no memory. */
static uint32_t domain_of_file(struct facts *f, const struct event *ev)
{
	uint32_t domain = find_numbered(f, &f->domains, FACTS_DOMAIN, ev->file.domain);
	if (domain == VEC_NONE && ev->file.domain == 0)
		domain = graph_domain(f->g, 0);
	if (domain == VEC_NONE)
		f->g->unknown_refs++;
	return domain;
}

/* What an event tells of a file beside which one it is: of several events the one with the least key holds for its kind
 * and its group, the last one for its path. path, group: VEC_NONE where the event has none. */
static void tell_file(struct facts *f, const struct event *ev, uint32_t id, uint32_t path, uint32_t group)
{
	struct gkey key = facts_key(f, ev);
	unsigned kind = ev->file.kind <= TERM_kind_xattr ? (unsigned)ev->file.kind : 0;
	/* Every event that tells of an object tells of the same file: its identity is made from that file's. */
	bool lies_within = gkind_is_object(kind) && ev->file.within && f->g->files.v[id].within == VEC_NONE;
	uint32_t within = lies_within ? facts_file(f, ev->file.within) : VEC_NONE;
	struct gfile *file = &f->g->files.v[id];
	if (file->kind_key.time != INT64_MAX && file->kind != kind)
		file->flags |= GFILE_MIXED;
	if (gkey_cmp(&key, &file->kind_key) < 0) {
		file->kind_key = key;
		file->kind = (uint8_t)kind;
	}
	if (ev->file.kind != TERM_kind_absent && path != VEC_NONE && gkey_cmp(&key, &file->path_key) >= 0) {
		file->path_key = key;
		file->path = path;
	}
	if (lies_within)
		file->within = within;
	if (group != VEC_NONE && group != id && gkey_cmp(&key, &file->group_key) < 0) {
		file->group_key = key;
		file->group = group;
	}
}

/* The file of that identity, made if need be, has this number from here on. */
static void apply_file(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	uint32_t domain = VEC_NONE, path = VEC_NONE;
	bool absent = ev->file.kind == TERM_kind_absent;
	if (!absent && (domain = domain_of_file(f, ev)) == VEC_NONE)
		return;
	uint32_t group = facts_file_or_none(f, ev->file.group);
	if ((absent || ev->file.path.n) && (path = paths_add(&g->paths, &g->words, ev->file.path)) == VEC_NONE) {
		g->failed = true;
		return;
	}
	uint32_t id = graph_file(g, domain, ev->file.ino, ev->file.gen, absent ? path : VEC_NONE, NULL);
	if (id == VEC_NONE)
		return;
	tell_file(f, ev, id, path, group);
	facts_set(f, &f->files, ev->file.num, id);
	if (ev->file.path.n && !absent) /* whether its names count is known at the end */
		append_name_event(f, ev, TERM_nameop_seen, id, ev->file.path, (struct str){0});
}

/* The file's fingerprint, until this session gives it another. */
static void apply_state(struct facts *f, const struct event *ev)
{
	uint32_t file = facts_file(f, ev->state.file);
	if (file == VEC_NONE)
		return;
	struct gfp *fp = vec_add(&f->g->fps);
	if (!fp) {
		f->g->failed = true;
		return;
	}
	*fp = (struct gfp){ev->state.size, ev->state.mtime};
	f->g->files.v[file].state_session = f->session;
	f->g->files.v[file].state_fp = (uint32_t)(f->g->fps.n - 1);
}

/* The file's last state in this session. */
static uint32_t session_state_of(struct facts *f, uint32_t file)
{
	struct gfile *at = &f->g->files.v[file];
	if (at->state_session == f->session)
		return at->state_fp;
	if (!f->earlier)
		return VEC_NONE;
	uint32_t fp = f->earlier->state(f->earlier->arg, f, file);
	at = &f->g->files.v[file];
	at->state_session = f->session;
	at->state_fp = fp;
	return fp;
}

/* The process has this number from here on, and is of its parent's run unless an exec tells another. */
static void apply_process(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	const struct gsession *s = &g->sessions.v[f->session];
	const struct facts_proc *parent = ev->process.parent ? facts_proc_numbered(f, ev->process.parent) : NULL;
	uint32_t up = parent ? parent->proc : VEC_NONE, run = parent ? parent->run : s->run;
	uint32_t id = graph_proc(g, g->hosts.v[s->host].boot, s->pidns, ev->process.pid, ev->process.started, NULL);
	struct gpfact *p = id == VEC_NONE ? NULL : vec_add(&g->pfacts);
	struct facts_proc *num = p ? vec_add(&f->pnums) : NULL;
	if (!num) {
		g->failed = true;
		return;
	}
	*p = (struct gpfact){.proc = id,
	                     .session = f->session,
	                     .key = facts_key(f, ev),
	                     .parent = up,
	                     .forked = ev->process.forked,
	                     .run = run};
	*num = (struct facts_proc){id, g->procs.v[id].first_exec, run};
	facts_set(f, &f->procs, ev->proc, (uint32_t)(f->pnums.n - 1));
}

/* An execution number past EXEC_MAX is no reference to anything. */
static void apply_exec(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	struct facts_proc *p = facts_proc_numbered(f, ev->proc);
	if (!p)
		return;
	if (ev->exec.n == 0 || ev->exec.n > EXEC_MAX) {
		g->unknown_refs++;
		return;
	}
	uint32_t id = graph_exec(g, p->proc, (uint32_t)ev->exec.n);
	struct gxfact *x = id == VEC_NONE ? NULL : vec_add(&g->xfacts);
	if (!x) {
		g->failed = true;
		return;
	}
	if (!map_set(&f->execs, (uint64_t)p->proc << 20 | ev->exec.n, id))
		g->failed = true;
	p->exec = id;
	p->run = ev->exec.run.n ? facts_word(f, ev->exec.run) : g->sessions.v[f->session].run;
	*x = (struct gxfact){.exec = id,
	                     .session = f->session,
	                     .key = facts_key(f, ev),
	                     .exe = facts_file_or_none(f, ev->exec.exe),
	                     .script = facts_file_or_none(f, ev->exec.script),
	                     .argv = facts_list(f, &ev->exec.argv),
	                     .cwd = facts_word(f, ev->exec.cwd),
	                     .env = facts_list(f, &ev->exec.env),
	                     .run = p->run,
	                     .uid = ev->exec.uid,
	                     .gid = ev->exec.gid};
}

/* A library's words come when its process may be over: which of its programs they are of is said. */
static void apply_image(struct facts *f, const struct event *ev)
{
	struct facts_proc *p = facts_proc_numbered(f, ev->proc);
	if (!p)
		return;
	if (ev->image.n > EXEC_MAX) {
		f->g->unknown_refs++;
		return;
	}
	/* Only what this session told of: an execution that nothing else tells of cannot be. */
	uint32_t id =
	    ev->image.n ? map_get(&f->execs, (uint64_t)p->proc << 20 | ev->image.n) : f->g->procs.v[p->proc].first_exec;
	if (id == VEC_NONE && f->earlier)
		id = f->earlier->exec(f->earlier->arg, f, p->proc, (uint32_t)ev->image.n);
	if (id == VEC_NONE)
		f->g->unknown_refs++;
	else
		p->exec = id;
}

/* Takes over an event of an exit. Of a process that is not known nothing is kept. */
static void apply_exit(struct facts *f, const struct event *ev)
{
	const struct facts_proc *p = facts_proc_numbered(f, ev->proc);
	if (!p)
		return;
	struct gexit *e = vec_add(&f->g->exits);
	if (!e) {
		f->g->failed = true;
		return;
	}
	*e = (struct gexit){.proc = p->proc,
	                    .session = f->session,
	                    .key = facts_key(f, ev),
	                    .ending = ev->exit.ending,
	                    .code = ev->exit.code,
	                    .known = ev->exit.known,
	                    .figure = {ev->exit.cpu, ev->exit.user, ev->exit.system, ev->exit.rss, ev->exit.rchar,
	                               ev->exit.wchar, ev->exit.read_bytes, ev->exit.write_bytes}};
}

/* What few accesses have, made at its first use. NULL: no memory, and g->failed. */
static struct gmore *access_more(struct graph *g, struct gaccess *a)
{
	if (a->more == VEC_NONE) {
		struct gmore *m = vec_add(&g->more);
		if (!m) {
			g->failed = true;
			return NULL;
		}
		*m = (struct gmore){.first = TIME_NONE, .last = TIME_NONE};
		a->more = (uint32_t)(g->more.n - 1);
	}
	return &g->more.v[a->more];
}

/* The access, which accesses that end and io events refer to by its seq. */
static void apply_access(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	uint32_t file = facts_file(f, ev->access.file);
	const struct facts_proc *p = facts_proc_numbered(f, ev->proc);
	if (file == VEC_NONE || !p)
		return;
	struct gaccess *a = vec_add(&g->accesses);
	if (!a) {
		g->failed = true;
		return;
	}
	*a = (struct gaccess){.seq = ev->seq,
	                      .start = ev->time,
	                      .session = f->session,
	                      .exec = p->exec,
	                      .self = file,
	                      .file = file,
	                      .fps = VEC_NONE,
	                      .fpe = VEC_NONE,
	                      .count = 1,
	                      .more = VEC_NONE,
	                      .part = ev->access.part < UINT32_MAX ? (uint32_t)ev->access.part : UINT32_MAX,
	                      .mode = (uint16_t)ev->access.mode & 0xff,
	                      .via = ev->access.via <= TERM_via_sync ? (uint8_t)ev->access.via : TERM_via_data,
	                      .api = ev->access.api <= TERM_api_mpi ? (uint8_t)ev->access.api : TERM_api_other,
	                      .sure = ev->access.sure != 0};
	if (ev->access.as_session) {
		struct gmore *m = access_more(g, a);
		if (!m)
			return;
		m->session = ev->access.as_session;
		m->seq = ev->access.as_seq;
		a->flags |= GACCESS_TOLD;
		g->files.v[file].flags |= GFILE_TOLD;
	}
	if (a->mode & ACCESS_STATE)
		a->fps = session_state_of(f, file);
	facts_set(f, &f->accesses, ev->seq, (uint32_t)(g->accesses.n - 1));
}

/* What the event says holds instead of what was said before; an evidence that is not known is `may`. */
static void apply_access_end(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	uint32_t i = find_numbered(f, &f->accesses, FACTS_ACCESS, ev->access_end.access);
	if (i == VEC_NONE) {
		g->unknown_refs++;
		return;
	}
	struct gaccess *a = &g->accesses.v[i];
	if (ev->access_end.until != TIME_NONE) {
		a->end = ev->access_end.until;
		a->flags |= GACCESS_UNTIL;
	}
	a->evidence = ev->access_end.evidence <= TERM_evidence_must ? (uint8_t)ev->access_end.evidence : TERM_evidence_may;
	a->flags |= GACCESS_ENDED;
	if (ev->access_end.state) {
		uint32_t fp = session_state_of(f, a->self);
		if (fp != VEC_NONE)
			a->fpe = fp;
	}
	if (ev->access_end.count)
		a->count = ev->access_end.count < UINT32_MAX ? (uint32_t)ev->access_end.count : UINT32_MAX;
	if (ev->access_end.known & 1) {
		a->bytes_read = ev->access_end.bytes_read;
		a->flags |= GACCESS_READ_BYTES;
	}
	if (ev->access_end.known & 2) {
		a->bytes_written = ev->access_end.bytes_written;
		a->flags |= GACCESS_WRITTEN_BYTES;
	}
	if ((ev->access_end.known & 4) && a->via == TERM_via_descriptor &&
	    (a->mode & (ACCESS_READ | ACCESS_WRITE)) == ACCESS_READ)
		a->sure = 1;
	if ((ev->access_end.known & 8) && a->via == TERM_via_data)
		a->sure = 0; /* a name changed while it was opened */
	a->flags &= ~(uint32_t)(GACCESS_EXACT | GACCESS_EARLY);
	if (ev->access_end.exact && ev->access_end.until != TIME_NONE) {
		bool early = ev->access_end.exact == 2;
		struct gmore *m = access_more(g, a);
		if (!m)
			return;
		m->first = early ? TIME_NONE : ev->access_end.first;
		m->last = ev->access_end.last;
		a->flags |= early ? GACCESS_EARLY : GACCESS_EXACT;
	}
}

/* Takes over the bytes that were moved. Of an access that is not known: it counts in g->unknown_refs. */
static void apply_io(struct facts *f, const struct event *ev)
{
	struct graph *g = f->g;
	const struct event_io *e = &ev->io;
	uint32_t i = find_numbered(f, &f->accesses, FACTS_ACCESS, e->access);
	if (i == VEC_NONE) {
		g->unknown_refs++;
		return;
	}
	struct gio *io = vec_add(&g->ios);
	if (!io) {
		g->failed = true;
		return;
	}
	*io = (struct gio){.session = f->session,
	                   .at = i,
	                   .access = e->access,
	                   .api = e->api <= TERM_ioapi_delete ? (uint32_t)e->api : TERM_ioapi_other,
	                   .write = e->write != 0,
	                   .figure = {e->calls, e->failed, e->bytes, e->largest, e->spent, e->size0, e->size1, e->size2,
	                              e->size3, e->size4, e->size5, e->size6, e->size7, e->size8, e->size9},
	                   .first = e->first,
	                   .last = e->last};
	g->accesses.v[i].flags |= GACCESS_IO;
}

/* A file got a name, or lost one. Of an unknown file or operation nothing is noted. */
static void apply_name(struct facts *f, const struct event *ev)
{
	uint32_t file = facts_file(f, ev->name.file);
	if (file == VEC_NONE || ev->name.op < TERM_nameop_create || ev->name.op > TERM_nameop_seen)
		return;
	bool rename = ev->name.op == TERM_nameop_rename;
	if (ev->name.path.n || (rename && ev->name.old.n))
		append_name_event(f, ev, (unsigned)ev->name.op, file, ev->name.path, rename ? ev->name.old : (struct str){0});
}

/* A process that shares something with itself is nothing. */
static void apply_link(struct facts *f, const struct event *ev)
{
	const struct facts_proc *p = facts_proc_numbered(f, ev->proc);
	uint32_t from = p ? p->exec : VEC_NONE;
	const struct facts_proc *o = facts_proc_numbered(f, ev->link.other); /* p may have moved */
	if (!p || !o || from == o->exec)
		return;
	struct glink *l = vec_add(&f->g->links);
	if (!l) {
		f->g->failed = true;
		return;
	}
	*l = (struct glink){.from = from,
	                    .to = o->exec,
	                    .session = f->session,
	                    .key = facts_key(f, ev),
	                    .via = ev->link.via <= TERM_via_sync ? (uint8_t)ev->link.via : TERM_via_data,
	                    .sure = ev->link.sure != 0};
}

/* Notes that the session's log is whole. */
static void apply_session_end(struct facts *f, const struct event *ev)
{
	(void)ev;
	f->g->sessions.v[f->session].ended = true;
}

/* Takes over a machine of the run that the event names. */
static void apply_machine(struct facts *f, const struct event *ev)
{
	facts_apply_reported(f, ev, ev->machine.run, 0);
}

/* Takes over a result of the run that the event names. */
static void apply_result(struct facts *f, const struct event *ev)
{
	facts_apply_reported(f, ev, ev->result.run, 0);
}

/* A plan or a seal: of no run. */
static void apply_plan(struct facts *f, const struct event *ev)
{
	facts_apply_reported(f, ev, str_of(""), 0);
}

/* Takes over a digest of the run that the event names. */
static void apply_digest(struct facts *f, const struct event *ev)
{
	facts_apply_reported(f, ev, ev->digest.run, graph_digest_key(&ev->digest));
}

/* Takes over a parameter or tag of the run that the program's app event names. */
static void apply_app_word(struct facts *f, const struct event *ev)
{
	facts_apply_of_app(f, ev, ev->app_word.app);
}

/* Takes over a metric of the run that the program's app event names. */
static void apply_app_metric(struct facts *f, const struct event *ev)
{
	facts_apply_of_app(f, ev, ev->app_metric.app);
}

/* Takes over an activity of the run that the program's app event names. */
static void apply_app_activity(struct facts *f, const struct event *ev)
{
	facts_apply_of_app(f, ev, ev->app_activity.app);
}

/* Takes over an MPI rank of the run that the program's app event names. */
static void apply_mpi_rank(struct facts *f, const struct event *ev)
{
	facts_apply_of_app(f, ev, ev->mpi_rank.app);
}

/* Takes over MPI's input and output of the run that the program's app event names. */
static void apply_mpi_io(struct facts *f, const struct event *ev)
{
	facts_apply_of_app(f, ev, ev->mpi_io.app);
}

/* What each kind of event adds; NULL: nothing. */
typedef void event_apply(struct facts *f, const struct event *ev);
static event_apply *const apply_kind[] = {
    [EVENT_session] = apply_session,
    [EVENT_run] = apply_run,
    [EVENT_run_end] = apply_run_end,
    [EVENT_session_end] = apply_session_end,
    [EVENT_domain] = apply_domain,
    [EVENT_file] = apply_file,
    [EVENT_state] = apply_state,
    [EVENT_process] = apply_process,
    [EVENT_exec] = apply_exec,
    [EVENT_image] = apply_image,
    [EVENT_exit] = apply_exit,
    [EVENT_access] = apply_access,
    [EVENT_access_end] = apply_access_end,
    [EVENT_io] = apply_io,
    [EVENT_name] = apply_name,
    [EVENT_link] = apply_link,
    [EVENT_gap] = facts_apply_gap,
    [EVENT_note] = facts_apply_note,
    [EVENT_summary] = facts_apply_summary,
    [EVENT_machine] = apply_machine,
    [EVENT_result] = apply_result,
    [EVENT_plan] = apply_plan,
    [EVENT_seal] = apply_plan,
    [EVENT_digest] = apply_digest,
    [EVENT_h5_object] = facts_apply_h5,
    [EVENT_h5_part] = facts_apply_h5,
    [EVENT_h5_copy] = facts_apply_h5_copy,
    [EVENT_app] = facts_apply_app,
    [EVENT_app_word] = apply_app_word,
    [EVENT_app_metric] = apply_app_metric,
    [EVENT_app_activity] = apply_app_activity,
    [EVENT_mpi_rank] = apply_mpi_rank,
    [EVENT_mpi_io] = apply_mpi_io,
    [EVENT_build] = facts_apply_build,
    [EVENT_build_file] = facts_apply_build,
    [EVENT_tombstone] = facts_apply_tombstone,
};

void facts_event(struct facts *f, const struct event *ev)
{
	if (f->session == VEC_NONE || f->g->failed || ev->seq <= f->seq)
		return;
	struct gsession *s = &f->g->sessions.v[f->session];
	if (ev->seq != f->seq + 1)
		s->holes = true;
	if (s->began == TIME_NONE)
		s->began = ev->time;
	s->last = f->seq = ev->seq;
	f->g->events++;
	const size_t kinds = sizeof(apply_kind) / sizeof(apply_kind[0]);
	if (ev->kind < kinds && apply_kind[ev->kind]) /* else it is from a newer writer */
		apply_kind[ev->kind](f, ev);
}
