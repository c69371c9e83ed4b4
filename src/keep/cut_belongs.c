/* cut_belongs.c - whether an event goes, and in which tombstone it is counted. */
#include "keep/cut_int.h"

#include <string.h>

uint32_t cut_tombstone_of(const struct cut *c, struct str run)
{
	for (uint32_t i = 0; run.n && i < c->o->n_runs; i++)
		if (str_eq(c->o->runs[i], run))
			return i;
	return VEC_NONE;
}

/* Copies the name. -ENOMEM, reported. */
static int keep_domain_name(struct cut *c, const struct event *ev)
{
	char *p = arena_take(&c->arena, ev->domain.name.n + 1);
	struct str *slot = p ? vec_add(&c->words) : NULL;
	if (!slot)
		return cut_no_memory(c);
	if (ev->domain.name.n)
		memcpy(p, ev->domain.name.p, ev->domain.name.n);
	*slot = str_n(p, ev->domain.name.n);
	return map_set(&c->domains, ev->domain.num, (uint32_t)(c->words.n - 1)) ? 0 : cut_no_memory(c);
}

/* A file event of one of the files that are to be forgotten; a missing file is known by its path. */
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

/* The tombstone of the run of a process, of the session's own run where it is not known; VEC_NONE: it is kept. */
static uint32_t tombstone_of_proc(const struct cut *c, uint64_t proc)
{
	uint32_t v = proc ? map_get(&c->procs, proc) : VEC_NONE;
	return v == VEC_NONE ? c->own : v ? v - 1 : VEC_NONE;
}

/* Where no run is named it is the session's. */
static uint32_t tombstone_of_reported(const struct cut *c, struct str run)
{
	return run.n ? cut_tombstone_of(c, run) : c->own;
}

/* The tombstone under which a program's reports go. VEC_NONE: it stays. */
static uint32_t tombstone_of_app(const struct cut *c, uint64_t app)
{
	return c->apps.n ? map_get(&c->apps, app) : VEC_NONE;
}

/* Notes under which tombstone a process goes. VEC_NONE: it stays. 0, -ENOMEM with a sentence. */
static int set_proc(struct cut *c, uint64_t proc, uint32_t tombstone)
{
	return map_set(&c->procs, proc, tombstone == VEC_NONE ? 0 : tombstone + 1) ? 0 : cut_no_memory(c);
}

/* ---- by kind of event ---- */

/* Where an event goes. rc: 0, or -errno of what it made to be remembered. */
struct place {
	uint32_t tombstone; /* VEC_NONE: it stays */
	bool neutral;       /* it tells of a thing that several runs may use */
	int rc;
};

/* The tombstone for what goes by files, after those of the runs. */
static uint32_t tombstone_of_files(const struct cut *c)
{
	return (uint32_t)c->o->n_runs;
}

/* Sessions stay; c->own becomes the tombstone of the run that it belongs to. */
static struct place find_for_session(struct cut *c, const struct event *ev)
{
	if (ev->kind == EVENT_session)
		c->own = cut_tombstone_of(c, ev->session.run);
	return (struct place){VEC_NONE, true, 0};
}

/* Domains stay; the name is kept in mind, for the files in them. */
static struct place find_for_domain(struct cut *c, const struct event *ev)
{
	return (struct place){VEC_NONE, true, keep_domain_name(c, ev)};
}

/* What tells of a run and names it. */
static struct place find_for_run(struct cut *c, const struct event *ev)
{
	struct str run = ev->kind == EVENT_run       ? ev->run.id
	                 : ev->kind == EVENT_run_end ? ev->run_end.id
	                 : ev->kind == EVENT_machine ? ev->machine.run
	                                             : ev->result.run;
	return (struct place){.tombstone = cut_tombstone_of(c, run)};
}

/* What lies in a file goes with it. */
static struct place find_for_file(struct cut *c, const struct event *ev)
{
	if (!is_forgotten(c, ev) && !(ev->file.within && cut_map_has(&c->files, ev->file.within)))
		return (struct place){VEC_NONE, true, 0};
	return (struct place){tombstone_of_files(c), false, map_set(&c->files, ev->file.num, 1) ? 0 : cut_no_memory(c)};
}

/* States of files stay, but of those that are forgotten. */
static struct place find_for_state(struct cut *c, const struct event *ev)
{
	bool gone = cut_map_has(&c->files, ev->state.file);
	return (struct place){gone ? tombstone_of_files(c) : VEC_NONE, !gone, 0};
}

/* A process begins with its parent's run, or the session's own. On the first pass one that another run needs later is
 * not hidden. */
static struct place find_for_process(struct cut *c, const struct event *ev)
{
	uint32_t g = ev->process.parent ? tombstone_of_proc(c, ev->process.parent) : c->own;
	int rc = set_proc(c, ev->proc, g);
	if (c->pass == 1 && cut_map_has(&c->needed, ev->proc))
		g = VEC_NONE; /* it became another run's later */
	if (rc == 0 && g != VEC_NONE && !map_set(&c->hidden, ev->proc, 1))
		rc = cut_no_memory(c);
	return (struct place){g, false, rc};
}

/* Finds where the event of an execution belongs. From here on the process belongs to the run that is named, if one
 * is. */
static struct place find_for_exec(struct cut *c, const struct event *ev)
{
	int rc = ev->exec.run.n ? set_proc(c, ev->proc, cut_tombstone_of(c, ev->exec.run)) : 0;
	return (struct place){tombstone_of_proc(c, ev->proc), false, rc};
}

/* Finds where the event of an exit belongs. With what its process began with, which may be of an outer run. */
static struct place find_for_exit(struct cut *c, const struct event *ev)
{
	bool hidden = cut_map_has(&c->hidden, ev->proc);
	return (struct place){.tombstone = hidden ? tombstone_of_proc(c, ev->proc) : VEC_NONE};
}

/* A file that is forgotten takes its accesses along; else they go with their process. What goes is kept in mind. */
static struct place find_for_access(struct cut *c, const struct event *ev)
{
	uint32_t g = cut_map_has(&c->files, ev->access.file) ? tombstone_of_files(c) : tombstone_of_proc(c, ev->proc);
	bool kept = g == VEC_NONE || map_set(&c->gone, ev->seq, 1);
	return (struct place){g, false, kept ? 0 : cut_no_memory(c)};
}

/* What tells more of an access goes with it. */
static struct place find_for_access_part(struct cut *c, const struct event *ev)
{
	if (!cut_map_has(&c->gone, ev->kind == EVENT_io ? ev->io.access : ev->access_end.access))
		return (struct place){.tombstone = VEC_NONE};
	uint32_t g = tombstone_of_proc(c, ev->proc);
	return (struct place){.tombstone = g == VEC_NONE ? tombstone_of_files(c) : g};
}

/* A name goes with a file that is forgotten, else with its process. */
static struct place find_for_name(struct cut *c, const struct event *ev)
{
	uint32_t g = VEC_NONE;
	if (cut_map_has(&c->files, ev->name.file))
		g = tombstone_of_files(c);
	else if (ev->proc)
		g = tombstone_of_proc(c, ev->proc);
	return (struct place){g, g == VEC_NONE && !ev->proc, 0};
}

/* Goes with either of its processes, the second only if that is hidden. */
static struct place find_for_link(struct cut *c, const struct event *ev)
{
	uint32_t g = tombstone_of_proc(c, ev->proc);
	if (g == VEC_NONE && cut_map_has(&c->hidden, ev->link.other))
		g = tombstone_of_proc(c, ev->link.other);
	return (struct place){.tombstone = g};
}

/* Finds where a gap belongs. It goes with its process; without one it stays, as what several runs may share. */
static struct place find_for_gap(struct cut *c, const struct event *ev)
{
	return (struct place){ev->proc ? tombstone_of_proc(c, ev->proc) : VEC_NONE, !ev->proc, 0};
}

/* Goes with its run, or, where none is named, with its file. */
static struct place find_for_note(struct cut *c, const struct event *ev)
{
	uint32_t g = cut_tombstone_of(c, ev->note.run);
	if (!ev->note.run.n && cut_map_has(&c->files, ev->note.file))
		g = tombstone_of_files(c);
	return (struct place){.tombstone = g};
}

/* Finds where a summary belongs. It goes with its run. */
static struct place find_for_summary(struct cut *c, const struct event *ev)
{
	return (struct place){.tombstone = cut_tombstone_of(c, ev->summary.run)};
}

/* Goes with its run, and is kept in mind for what the program told. */
static struct place find_for_app(struct cut *c, const struct event *ev)
{
	uint32_t g = cut_tombstone_of(c, ev->app.run);
	bool kept = g == VEC_NONE || map_set(&c->apps, ev->seq, g);
	return (struct place){g, false, kept ? 0 : cut_no_memory(c)};
}

/* What a program told goes with its app event. */
static struct place find_for_app_part(struct cut *c, const struct event *ev)
{
	uint64_t app = ev->kind == EVENT_app_word       ? ev->app_word.app
	               : ev->kind == EVENT_app_metric   ? ev->app_metric.app
	               : ev->kind == EVENT_app_activity ? ev->app_activity.app
	               : ev->kind == EVENT_mpi_rank     ? ev->mpi_rank.app
	                                                : ev->mpi_io.app;
	return (struct place){.tombstone = tombstone_of_app(c, app)};
}

/* Goes with the file that it lies in, else with its run. */
static struct place find_for_object(struct cut *c, const struct event *ev)
{
	bool part = ev->kind == EVENT_h5_part;
	if (cut_map_has(&c->files, part ? ev->h5_part.file : ev->h5_object.file))
		return (struct place){.tombstone = tombstone_of_files(c)};
	return (struct place){.tombstone = tombstone_of_reported(c, part ? ev->h5_part.run : ev->h5_object.run)};
}

/* Goes with either file, else with its run. */
static struct place find_for_copy(struct cut *c, const struct event *ev)
{
	if (cut_map_has(&c->files, ev->h5_copy.file) || cut_map_has(&c->files, ev->h5_copy.original))
		return (struct place){.tombstone = tombstone_of_files(c)};
	return (struct place){.tombstone = tombstone_of_reported(c, ev->h5_copy.run)};
}

/* Goes where its session's build is forgotten. */
static struct place find_for_build(struct cut *c, const struct event *ev)
{
	(void)ev;
	return (struct place){.tombstone = c->o->n_builds ? map_get(&c->builds, c->session) : VEC_NONE};
}

/* Goes with its run, or with a file of the same inode and generation. */
static struct place find_for_digest(struct cut *c, const struct event *ev)
{
	uint32_t g = cut_tombstone_of(c, ev->digest.run);
	for (size_t i = 0; g == VEC_NONE && i < c->o->n_files; i++) {
		const struct keep_file *f = &c->o->files[i];
		if (!f->absent && f->ino == ev->digest.ino && f->gen == ev->digest.gen && str_eq(f->domain, ev->digest.domain))
			g = tombstone_of_files(c);
	}
	return (struct place){.tombstone = g};
}

/* Tombstones, seals and plans, which stay; what has nothing but its process to go by, as kinds of a newer stemma. */
static struct place find_for_other(struct cut *c, const struct event *ev)
{
	return (struct place){.tombstone = ev->proc ? tombstone_of_proc(c, ev->proc) : VEC_NONE};
}

/* A kind of event that is not here, and has no function of its own, does not compile: who adds one to events.def says
 * what becomes of it when a run, a file or a build is forgotten. */
#define find_for_session_end find_for_session
#define find_for_run_end find_for_run
#define find_for_machine find_for_run
#define find_for_result find_for_run
#define find_for_access_end find_for_access_part
#define find_for_io find_for_access_part
#define find_for_app_word find_for_app_part
#define find_for_app_metric find_for_app_part
#define find_for_app_activity find_for_app_part
#define find_for_mpi_rank find_for_app_part
#define find_for_mpi_io find_for_app_part
#define find_for_h5_object find_for_object
#define find_for_h5_part find_for_object
#define find_for_h5_copy find_for_copy
#define find_for_build_file find_for_build
#define find_for_tombstone find_for_other
#define find_for_seal find_for_other
#define find_for_image find_for_other
#define find_for_plan find_for_other

int cut_event_tombstone(struct cut *c, const struct event *ev, uint32_t *ret, bool *ret_neutral)
{
	static struct place (*const finder[])(struct cut *, const struct event *) = {
#define EVENT(number, name, meaning) [number] = find_for_##name,
#define FIELD(event, type, name, meaning)
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	};
	bool known = ev->kind < sizeof(finder) / sizeof(*finder) && finder[ev->kind];
	struct place p = (known ? finder[ev->kind] : find_for_other)(c, ev);
	*ret = p.tombstone;
	*ret_neutral = p.neutral;
	return p.rc;
}
