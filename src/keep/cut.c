#include "keep/cut.h"

#include "keep/rewrite.h"
#include "keep/write.h"
#include "summary/summary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SEED 0x7374656d6d61u /* of the tombstones' hashes: "stemma" */


/* A run or the files, as a tombstone will tell of it. */
struct tombstone {
	struct str run; /* empty: the files */
	XXH3_state_t *hash;
	uint64_t count;
	bool already;
};
struct whole {
	uint64_t session;
	size_t tombstone;
};

struct cut {
	struct keep_logs *l;
	const struct keep_cut_options *o;
	struct err *err;
	struct keep_cut_stats stats;
	VEC(struct tombstone) tombstones; /* runs as in o, then the files', then that of builds by themselves */
	struct map builds;                /* session -> its tombstone */
	VEC(struct whole) wholes;
	struct edits edits; /* of all sessions */

	/* of the session at hand */
	uint64_t session;
	unsigned pass;      /* 0: what stays, and what it refers to; 1: what goes */
	uint32_t own;       /* tombstone of the session's run, VEC_NONE none */
	struct map procs;   /* number -> tombstone of its run + 1; 0: it stays */
	struct map gone;    /* seq of an access that went -> 1 */
	struct map apps;    /* seq of an app event that went -> its tombstone */
	struct map files;   /* number -> 1: forgotten */
	struct map used;    /* number -> 1: what stays refers to it */
	struct map domains; /* number -> index in words */
	struct map hidden;  /* number of a process that went altogether -> 1 */
	struct map needed;  /* number of a process that something which stays is about -> 1 */
	VEC(struct str) words;
	struct arena arena;
	bool mixed; /* some of it goes and some stays */
	uint64_t stay, go;
	size_t last; /* tombstone of what went last */
	struct buf scratch;
	VEC(struct str) list;
};

static int cut_oom(struct cut *c)
{
	return err_set(c->err, ENOMEM, "cannot forget");
}

static uint32_t tombstone_of(const struct cut *c, struct str run)
{
	for (uint32_t i = 0; run.n && i < c->o->n_runs; i++)
		if (str_eq(c->o->runs[i], run))
			return i;
	return VEC_NONE;
}

static bool map_has_key(const struct map *m, uint64_t key)
{
	return m->n && map_get(m, key) != VEC_NONE;
}

/* ---- what an event belongs to ---- */

static int keep_domain_name(struct cut *c, const struct event *ev)
{
	char *p = arena_take(&c->arena, ev->domain.name.n + 1);
	struct str *slot = p ? vec_add(&c->words) : NULL;
	if (!slot)
		return cut_oom(c);
	if (ev->domain.name.n)
		memcpy(p, ev->domain.name.p, ev->domain.name.n);
	*slot = str_n(p, ev->domain.name.n);
	return map_set(&c->domains, ev->domain.num, (uint32_t)(c->words.n - 1)) ? 0 : cut_oom(c);
}

static bool is_forgotten(struct cut *c, const struct event *ev)
{
	bool absent = ev->file.kind == TERM_kind_absent;
	uint32_t d = absent ? VEC_NONE : map_get(&c->domains, ev->file.domain);
	struct str domain = d == VEC_NONE ? str_of("") : c->words.v[d];
	for (size_t i = 0; i < c->o->n_files; i++) {
		const struct keep_file *f = &c->o->files[i];
		if (absent ? f->absent && str_eq(f->path, ev->file.path)
		           : !f->absent && f->ino == ev->file.ino && f->gen == ev->file.gen && str_eq(f->domain, domain))
			return true;
	}
	return false;
}

static uint32_t tombstone_of_proc(const struct cut *c, uint64_t proc)
{
	uint32_t v = proc ? map_get(&c->procs, proc) : VEC_NONE;
	return v == VEC_NONE ? c->own : v ? v - 1 : VEC_NONE;
}

/* Where no run is named it is the session's. */
static uint32_t tombstone_of_reported(const struct cut *c, struct str run)
{
	return run.n ? tombstone_of(c, run) : c->own;
}

static uint32_t tombstone_of_app(const struct cut *c, uint64_t app)
{
	return c->apps.n ? map_get(&c->apps, app) : VEC_NONE;
}

static int set_proc(struct cut *c, uint64_t proc, uint32_t tombstone)
{
	return map_set(&c->procs, proc, tombstone == VEC_NONE ? 0 : tombstone + 1) ? 0 : cut_oom(c);
}

/* In which tombstone the event goes, VEC_NONE: it stays. *ret_neutral: it tells of a thing that several runs may use.
 */
static int find_event_tombstone(struct cut *c, const struct event *ev, uint32_t *ret, bool *ret_neutral)
{
	uint32_t file_tombstone = (uint32_t)c->o->n_runs, g = VEC_NONE;
	int rc = 0;
	*ret_neutral = false;
	switch (ev->kind) {
	case EVENT_session:
		c->own = tombstone_of(c, ev->session.run);
		*ret_neutral = true;
		break;
	case EVENT_session_end:
		*ret_neutral = true;
		break;
	case EVENT_domain:
		rc = keep_domain_name(c, ev);
		*ret_neutral = true;
		break;
	case EVENT_run:
		g = tombstone_of(c, ev->run.id);
		break;
	case EVENT_run_end:
		g = tombstone_of(c, ev->run_end.id);
		break;
	case EVENT_file:
		/* What lies in a file goes with it. */
		if (is_forgotten(c, ev) || (ev->file.within && map_has_key(&c->files, ev->file.within))) {
			g = file_tombstone;
			rc = map_set(&c->files, ev->file.num, 1) ? 0 : cut_oom(c);
		}
		*ret_neutral = g == VEC_NONE;
		break;
	case EVENT_state:
		g = map_has_key(&c->files, ev->state.file) ? file_tombstone : VEC_NONE;
		*ret_neutral = g == VEC_NONE;
		break;
	case EVENT_process:
		g = ev->process.parent ? tombstone_of_proc(c, ev->process.parent) : c->own;
		rc = set_proc(c, ev->proc, g);
		if (c->pass == 1 && map_has_key(&c->needed, ev->proc))
			g = VEC_NONE; /* it became another run's later */
		if (rc == 0 && g != VEC_NONE && !map_set(&c->hidden, ev->proc, 1))
			rc = cut_oom(c);
		break;
	case EVENT_exec:
		if (ev->exec.run.n)
			rc = set_proc(c, ev->proc, tombstone_of(c, ev->exec.run));
		g = tombstone_of_proc(c, ev->proc);
		break;
	case EVENT_exit: /* with what its process began with, which may be of an outer run */
		g = tombstone_of_proc(c, ev->proc);
		if (g != VEC_NONE && !map_has_key(&c->hidden, ev->proc))
			g = VEC_NONE;
		break;
	case EVENT_access:
		g = map_has_key(&c->files, ev->access.file) ? file_tombstone : tombstone_of_proc(c, ev->proc);
		if (g != VEC_NONE && !map_set(&c->gone, ev->seq, 1))
			rc = cut_oom(c);
		break;
	case EVENT_access_end:
	case EVENT_io: {
		bool gone = map_has_key(&c->gone, ev->kind == EVENT_io ? ev->io.access : ev->access_end.access);
		g = gone ? tombstone_of_proc(c, ev->proc) : VEC_NONE;
		if (gone && g == VEC_NONE)
			g = file_tombstone;
		break;
	}
	case EVENT_name:
		g = map_has_key(&c->files, ev->name.file) ? file_tombstone
		    : ev->proc                            ? tombstone_of_proc(c, ev->proc)
		                                          : VEC_NONE;
		*ret_neutral = g == VEC_NONE && !ev->proc;
		break;
	case EVENT_link:
		g = tombstone_of_proc(c, ev->proc);
		if (g == VEC_NONE && map_has_key(&c->hidden, ev->link.other))
			g = tombstone_of_proc(c, ev->link.other);
		break;
	case EVENT_gap:
		g = ev->proc ? tombstone_of_proc(c, ev->proc) : VEC_NONE;
		*ret_neutral = !ev->proc;
		break;
	case EVENT_note:
		g = ev->note.run.n                          ? tombstone_of(c, ev->note.run)
		    : map_has_key(&c->files, ev->note.file) ? file_tombstone
		                                            : VEC_NONE;
		break;
	case EVENT_summary:
		g = ev->summary.run.n ? tombstone_of(c, ev->summary.run) : VEC_NONE;
		break;
	case EVENT_app:
		g = tombstone_of(c, ev->app.run);
		if (g != VEC_NONE && !map_set(&c->apps, ev->seq, g))
			rc = cut_oom(c);
		break;
	case EVENT_app_word:
		g = tombstone_of_app(c, ev->app_word.app);
		break;
	case EVENT_app_metric:
		g = tombstone_of_app(c, ev->app_metric.app);
		break;
	case EVENT_app_activity:
		g = tombstone_of_app(c, ev->app_activity.app);
		break;
	case EVENT_mpi_rank:
		g = tombstone_of_app(c, ev->mpi_rank.app);
		break;
	case EVENT_mpi_io:
		g = tombstone_of_app(c, ev->mpi_io.app);
		break;
	case EVENT_h5_object:
		g = map_has_key(&c->files, ev->h5_object.file) ? file_tombstone : tombstone_of_reported(c, ev->h5_object.run);
		break;
	case EVENT_h5_part:
		g = map_has_key(&c->files, ev->h5_part.file) ? file_tombstone : tombstone_of_reported(c, ev->h5_part.run);
		break;
	case EVENT_machine:
		g = tombstone_of(c, ev->machine.run);
		break;
	case EVENT_result:
		g = tombstone_of(c, ev->result.run);
		break;
	case EVENT_build:
	case EVENT_build_file:
		g = c->o->n_builds ? map_get(&c->builds, c->session) : VEC_NONE;
		break;
	case EVENT_digest:
		g = tombstone_of(c, ev->digest.run);
		for (size_t i = 0; g == VEC_NONE && i < c->o->n_files; i++)
			if (!c->o->files[i].absent && c->o->files[i].ino == ev->digest.ino &&
			    c->o->files[i].gen == ev->digest.gen && str_eq(c->o->files[i].domain, ev->digest.domain))
				g = file_tombstone;
		break;
	default: /* tombstones; kinds of a newer stemma, which say nothing but their process */
		g = ev->proc ? tombstone_of_proc(c, ev->proc) : VEC_NONE;
	}
	*ret = g;
	return rc;
}

static int note_file_used(struct cut *c, uint64_t file)
{
	return !file || map_set(&c->used, file, 1) ? 0 : cut_oom(c);
}

/* Which files what stays refers to. */
static int note_uses(struct cut *c, const struct event *ev)
{
	int rc = 0;
	if (ev->proc && ev->kind != EVENT_process && !map_set(&c->needed, ev->proc, 1))
		return cut_oom(c);
	switch (ev->kind) {
	case EVENT_file:
		rc = note_file_used(c, ev->file.group);
		return rc < 0 ? rc : note_file_used(c, ev->file.within);
	case EVENT_h5_object:
		return note_file_used(c, ev->h5_object.file);
	case EVENT_h5_part:
		return note_file_used(c, ev->h5_part.file);
	case EVENT_exec:
		rc = note_file_used(c, ev->exec.exe);
		return rc == 0 ? note_file_used(c, ev->exec.script) : rc;
	case EVENT_access:
		return note_file_used(c, ev->access.file);
	case EVENT_name:
		return ev->proc ? note_file_used(c, ev->name.file) : 0;
	case EVENT_note:
		return note_file_used(c, ev->note.file);
	default:
		return 0;
	}
}

/* ---- what happens to it ---- */

static int drop_event(struct cut *c, const struct event *ev, uint32_t tombstone)
{
	struct tombstone *g = &c->tombstones.v[tombstone];
	buf_reset(&c->scratch);
	event_encode(&c->scratch, ev, ev->time);
	XXH3_128bits_update(g->hash, &ev->time, sizeof(ev->time));
	XXH3_128bits_update(g->hash, c->scratch.p, c->scratch.n);
	g->count++;
	c->stats.events++;
	c->last = tombstone;
	return edits_add(&c->edits, c->session, ev->seq, NULL) < 0 ? cut_oom(c) : 0;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c & 0x80;
}

/* A path counts wherever it stands; a name alone only as a whole, or behind the letter of an option (-oNAME). */
static bool mentions_word(struct str s, struct str word)
{
	bool path = memchr(word.p, '/', word.n) != NULL;
	for (size_t at = 0; s.n - at >= word.n;) {
		const char *p = memmem(s.p + at, s.n - at, word.p, word.n);
		if (!p || path)
			return p != NULL;
		size_t from = (size_t)(p - s.p), to = from + word.n;
		bool begins = !from || !(is_name_char(s.p[from - 1]) || s.p[from - 1] == '.') || (from == 2 && s.p[0] == '-');
		bool ends = to == s.n || !(is_name_char(s.p[to]) || s.p[to] == '/' ||
		                           (s.p[to] == '.' && to + 1 < s.n && is_name_char(s.p[to + 1])));
		if (begins && ends)
			return true;
		at = from + 1;
	}
	return false;
}

static bool mentions_any_word(const struct cut *c, struct str s)
{
	for (size_t i = 0; i < c->o->n_words; i++)
		if (c->o->words[i].n && s.n >= c->o->words[i].n && mentions_word(s, c->o->words[i]))
			return true;
	return false;
}

/* The list with *** for each item that tells of the words; variables keep their names. It begins at *ret_first of
 * c->list, which may still move. 1 if there was one. */
static int cut_list(struct cut *c, struct strlist *l, size_t *ret_first)
{
	struct str s;
	bool any = false;
	for (size_t pos = 0; c->o->n_words && !any && strlist_next(l, &pos, &s);)
		any = mentions_any_word(c, s);
	if (!any)
		return 0;
	*ret_first = c->list.n;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		struct str *slot = vec_add(&c->list);
		if (!slot)
			return cut_oom(c);
		*slot = s;
		if (!mentions_any_word(c, s))
			continue;
		const char *eq = memchr(s.p, '=', s.n);
		size_t name = eq ? (size_t)(eq - s.p) + 1 : 0;
		if (mentions_any_word(c, str_n(s.p, name)))
			name = 0;
		char *p = arena_take(&c->arena, name + 3);
		if (!p)
			return cut_oom(c);
		for (size_t k = 0; k < name + 3; k++)
			p[k] = k < name ? s.p[k] : '*';
		*slot = str_n(p, name + 3);
	}
	return 1;
}

/* Puts *** in place of a text that tells of the words; what stands before a `=` in it stays. */
static int clean_text(const struct cut *c, char **text)
{
	if (!*text || !mentions_any_word(c, str_of(*text)))
		return 0;
	const char *eq = strchr(*text, '=');
	size_t name = eq ? (size_t)(eq - *text) + 1 : 0;
	char *p = malloc(name + 4);
	if (!p)
		return -ENOMEM;
	memcpy(p, *text, name);
	memcpy(p + name, "***", 4);
	if (mentions_any_word(c, str_n(p, name)))
		memcpy(p, "***", 4);
	free(*text);
	*text = p;
	return 1;
}

/* A summary without what tells of the words. 1 where something was taken out; one that is no summary goes whole. */
static int cut_summary(struct cut *c, struct event_summary *e)
{
	struct summary m;
	struct buf out = {0};
	int rc = 0;
	if (!c->o->n_words || !(mentions_any_word(c, e->text) || mentions_any_word(c, e->set)))
		return 0;
	if (mentions_any_word(c, e->set))
		e->set = str_of("***");
	if (summary_read(e->text.p, e->text.n, NULL, &m) < 0) {
		e->text = str_of("");
		return 1;
	}
	for (size_t i = 0; rc >= 0 && m.argv && m.argv[i]; i++)
		rc = clean_text(c, &m.argv[i]);
	for (size_t i = 0; rc >= 0 && i < m.nlabel; i++)
		rc = clean_text(c, &m.label[i].value);
	for (size_t i = 0; rc >= 0 && i < m.nescaped; i++)
		rc = clean_text(c, &m.escaped[i]);
	if (rc >= 0)
		rc = clean_text(c, &m.cwd);
	if (rc >= 0)
		rc = summary_json(&m, false, false, &out);
	char *p = rc >= 0 && !out.failed ? arena_take(&c->arena, out.n + 1) : NULL;
	if (p) {
		memcpy(p, out.p, out.n);
		e->text = str_n(p, out.n);
	}
	summary_release(&m);
	buf_release(&out);
	return p ? 1 : cut_oom(c);
}

static int clean_event(struct cut *c, const struct event *ev)
{
	struct event e = *ev;
	struct strlist *lists[2] = {NULL, NULL};
	size_t first[2] = {0};
	bool changed = false;
	c->list.n = 0;
	switch (e.kind) {
	case EVENT_session:
		/* Else the run would be known by it. */
		if (c->own != VEC_NONE) {
			e.session.run = str_of("");
			changed = true;
		}
		break;
	case EVENT_run:
		lists[0] = &e.run.argv;
		break;
	case EVENT_process:
		if (e.process.parent && map_has_key(&c->hidden, e.process.parent)) {
			e.process.parent = 0;
			changed = true;
		}
		break;
	case EVENT_file:
		if (e.file.group && map_has_key(&c->files, e.file.group)) {
			e.file.group = 0;
			changed = true;
		}
		break;
	case EVENT_exec:
		changed = map_has_key(&c->files, e.exec.exe) || map_has_key(&c->files, e.exec.script);
		e.exec.exe = map_has_key(&c->files, e.exec.exe) ? 0 : e.exec.exe;
		e.exec.script = map_has_key(&c->files, e.exec.script) ? 0 : e.exec.script;
		lists[0] = &e.exec.argv;
		lists[1] = &e.exec.env;
		break;
	case EVENT_build:
		lists[0] = &e.build.argv;
		lists[1] = &e.build.args;
		break;
	case EVENT_app_word:
		changed = mentions_any_word(c, e.app_word.name) || mentions_any_word(c, e.app_word.value);
		if (mentions_any_word(c, e.app_word.name))
			e.app_word.name = str_of("***");
		if (mentions_any_word(c, e.app_word.value))
			e.app_word.value = str_of("***");
		break;
	case EVENT_mpi_io:
		changed = mentions_any_word(c, e.mpi_io.path);
		if (changed)
			e.mpi_io.path = str_of("***");
		break;
	case EVENT_build_file:
		changed = mentions_any_word(c, e.build_file.path);
		if (changed)
			e.build_file.path = str_of("***");
		break;
	case EVENT_summary: {
		int rc = cut_summary(c, &e.summary);
		if (rc < 0)
			return rc;
		changed = rc > 0;
		break;
	}
	default:
		return 0;
	}
	for (unsigned i = 0; i < 2; i++) {
		int rc = lists[i] ? cut_list(c, lists[i], &first[i]) : 0;
		if (rc < 0)
			return rc;
		changed |= rc > 0;
		if (rc == 0)
			lists[i] = NULL;
	}
	for (unsigned i = 0; i < 2; i++)
		if (lists[i])
			*lists[i] = (struct strlist){.items = c->list.v + first[i], .count = lists[i]->count};
	if (!changed)
		return 0;
	c->stats.changed++;
	return edits_add(&c->edits, c->session, e.seq, &e) < 0 ? cut_oom(c) : 0;
}

static int cut_event(void *arg, const struct event *ev)
{
	struct cut *c = arg;
	uint32_t tombstone;
	bool neutral;
	int rc = find_event_tombstone(c, ev, &tombstone, &neutral);
	if (rc < 0)
		return rc;
	if (ev->kind == EVENT_tombstone && c->pass == 0) {
		uint32_t of = tombstone_of(c, ev->tombstone.run);
		if (of != VEC_NONE)
			c->tombstones.v[of].already = true;
	}
	if (c->pass == 0) {
		c->stay += tombstone == VEC_NONE && !neutral;
		c->go += tombstone != VEC_NONE;
		c->mixed |= tombstone < c->o->n_runs;
		if (tombstone != VEC_NONE)
			c->last = tombstone;
		return tombstone == VEC_NONE ? note_uses(c, ev) : 0;
	}
	if (tombstone != VEC_NONE)
		return drop_event(c, ev, tombstone);
	/* Of a run that goes, what it alone used goes too. */
	uint64_t of = !neutral || !c->mixed     ? 0
	              : ev->kind == EVENT_file  ? ev->file.num
	              : ev->kind == EVENT_state ? ev->state.file
	              : ev->kind == EVENT_name  ? ev->name.file
	                                        : 0;
	if (of && !map_has_key(&c->used, of))
		return drop_event(c, ev, (uint32_t)c->last);
	return clean_event(c, ev);
}

static void clear_session(struct cut *c)
{
	c->own = VEC_NONE;
	map_clear(&c->procs);
	map_clear(&c->gone);
	map_clear(&c->apps);
	map_clear(&c->files);
	map_clear(&c->domains);
	map_clear(&c->hidden);
	c->words.n = 0;
}

/* Which run's session is it whole? The one that its first event names, else what went last. */
static size_t tombstone_of_session(const struct cut *c)
{
	return c->own != VEC_NONE ? c->own : c->last;
}

static int cut_session(struct cut *c, const struct keep_session *s)
{
	c->session = s->number;
	c->stay = c->go = 0;
	c->last = 0;
	c->mixed = false;
	map_clear(&c->used);
	map_clear(&c->needed);
	arena_release(&c->arena);
	clear_session(c);
	c->pass = 0;
	int rc = keep_logs_events(c->l, s, c->err, cut_event, c);
	if (rc < 0 || (!c->go && !c->o->n_words))
		return rc;
	c->mixed &= c->stay > 0;
	size_t first = c->edits.n;
	uint64_t changed = c->stats.changed;
	clear_session(c);
	c->pass = 1;
	rc = keep_logs_events(c->l, s, c->err, cut_event, c);
	if (rc < 0 || c->stay || !c->go)
		return rc;
	/* Nothing is left but its beginning and end. */
	struct whole *w = vec_add(&c->wholes);
	if (!w)
		return cut_oom(c);
	*w = (struct whole){s->number, tombstone_of_session(c)};
	c->stats.sessions++;
	c->stats.changed = changed;
	edits_whole(&c->edits, first, s->number);
	return 0;
}

/* ---- tombstones ---- */

static int put_tombstones(void *arg, int fd, struct err *err)
{
	struct cut *c = arg;
	struct log_writer *w;
	int rc = keep_begin_at(fd, err, &w);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < c->tombstones.n; i++) {
		const struct tombstone *g = &c->tombstones.v[i];
		if (!g->count)
			continue;
		XXH128_hash_t h = XXH3_128bits_digest(g->hash);
		struct event ev = {.kind = EVENT_tombstone,
		                   .time = keep_now(),
		                   .tombstone = {.what = g->run.n            ? 1
		                                         : i == c->o->n_runs ? 2
		                                                             : 3,
		                                 .run = g->run,
		                                 .count = g->count,
		                                 .hi = h.high64,
		                                 .lo = h.low64,
		                                 .user = str_of(keep_user())}};
		bool any = false;
		for (size_t k = 0; k < c->wholes.n; k++) {
			if (c->wholes.v[k].tombstone != i)
				continue;
			ev.tombstone.dead = c->wholes.v[k].session;
			log_writer_add(w, &ev);
			any = true;
		}
		if (!any)
			log_writer_add(w, &ev);
	}
	return keep_end(w, err);
}

/* ---- all ---- */

static int prepare_cut(struct cut *c)
{
	for (size_t i = 0; i < c->o->n_builds; i++) {
		const struct keep_whole *b = &c->o->builds[i];
		if (!map_set(&c->builds, b->session, (uint32_t)(b->run < c->o->n_runs ? b->run : c->o->n_runs + 1)))
			return cut_oom(c);
	}
	for (size_t i = 0; i <= c->o->n_runs + 1; i++) {
		struct tombstone *g = vec_add(&c->tombstones);
		if (!g)
			return cut_oom(c);
		*g = (struct tombstone){.run = i < c->o->n_runs ? c->o->runs[i] : str_of("")};
		g->hash = XXH3_createState();
		if (!g->hash || XXH3_128bits_reset_withSeed(g->hash, SEED) != XXH_OK)
			return cut_oom(c);
	}
	return 0;
}

static void cut_release(struct cut *c)
{
	for (size_t i = 0; i < c->tombstones.n; i++)
		XXH3_freeState(c->tombstones.v[i].hash);
	vec_release(&c->tombstones);
	vec_release(&c->wholes);
	edits_release(&c->edits);
	map_release(&c->builds);
	map_release(&c->procs);
	map_release(&c->gone);
	map_release(&c->apps);
	map_release(&c->files);
	map_release(&c->used);
	map_release(&c->domains);
	map_release(&c->hidden);
	map_release(&c->needed);
	vec_release(&c->words);
	vec_release(&c->list);
	arena_release(&c->arena);
	buf_release(&c->scratch);
}

static int rewrite_cut_segments(struct cut *c)
{
	struct keep_logs *l = c->l;
	bool *touched = calloc(l->segments.n + 1, sizeof(*touched)), written = false;
	int rc = touched ? 0 : cut_oom(c);
	for (size_t i = 0; rc == 0 && i < l->w.frames.n; i++)
		if (edits_touch(&c->edits, &l->w.frames.v[i]))
			touched[l->w.frames.v[i].segment] = true;
	/* All are held before the first is changed. */
	for (size_t i = 0; rc == 0 && !c->o->dry_run && i < l->segments.n; i++)
		if (touched[i])
			rc = keep_logs_hold(l, &l->segments.v[i], c->err);
	for (size_t i = 0; rc == 0 && i < l->segments.n; i++) {
		struct rewritten r = {0};
		if (!touched[i])
			continue;
		c->stats.segments++;
		c->stats.before += l->segments.v[i].size;
		if (c->o->dry_run)
			continue;
		/* The tombstones go with the first: they are there before the rest is gone. */
		rc = rewrite_segment(&l->segments.v[i], &c->edits, written ? NULL : put_tombstones, c, c->err, &r);
		written = true;
		c->stats.after += r.size;
		c->stats.damaged += r.damaged;
		c->stats.newer += r.newer;
	}
	free(touched);
	return rc;
}

/* What lies beside the logs of a run: its function traces, in trace/RUN. */
static int cut_traces(struct cut *c, struct str run)
{
	struct buf path = {0};
	int rc = 0;
	if (run.n != 26 || memchr(run.p, '/', run.n))
		return 0;
	buf_printf(&path, "%s/trace/%.*s", c->l->home, (int)run.n, run.p);
	DIR *d = opendir(buf_cstr(&path));
	for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(dirfd(d), e->d_name, 0) < 0)
			rc = -errno;
	if (d)
		closedir(d);
	if (d && rc == 0 && rmdir(buf_cstr(&path)) < 0)
		rc = -errno;
	if (rc < 0)
		err_set(c->err, -rc, "cannot remove '%s'", buf_cstr(&path));
	buf_release(&path);
	return rc;
}

int keep_cut(struct keep_logs *l, const struct keep_cut_options *o, struct err *err, struct keep_cut_stats *ret)
{
	struct cut c = {.l = l, .o = o, .err = err};
	int rc = prepare_cut(&c);
	for (size_t i = 0; rc == 0 && i < l->sessions.n; i++)
		rc = cut_session(&c, &l->sessions.v[i]);
	if (rc == 0)
		rc = edits_ready(&c.edits) < 0 ? cut_oom(&c) : rewrite_cut_segments(&c);
	for (size_t i = 0; rc == 0 && !o->dry_run && i < o->n_runs; i++)
		rc = cut_traces(&c, o->runs[i]);
	for (size_t i = 0; i < o->n_runs && i < c.tombstones.n; i++)
		c.stats.already += c.tombstones.v[i].already && !c.tombstones.v[i].count;
	*ret = c.stats;
	cut_release(&c);
	return rc;
}

/* ---- what was forgotten ---- */

struct search {
	struct str text;
	char *ulid;
	int64_t *when;
	int found;
};

static bool same_case(const char *a, const char *b, size_t n)
{
	return !strncasecmp(a, b, n);
}

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
