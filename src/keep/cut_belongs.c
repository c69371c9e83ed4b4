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
	return run.n ? cut_tombstone_of(c, run) : c->own;
}

static uint32_t tombstone_of_app(const struct cut *c, uint64_t app)
{
	return c->apps.n ? map_get(&c->apps, app) : VEC_NONE;
}

static int set_proc(struct cut *c, uint64_t proc, uint32_t tombstone)
{
	return map_set(&c->procs, proc, tombstone == VEC_NONE ? 0 : tombstone + 1) ? 0 : cut_no_memory(c);
}

int cut_event_tombstone(struct cut *c, const struct event *ev, uint32_t *ret, bool *ret_neutral)
{
	uint32_t file_tombstone = (uint32_t)c->o->n_runs, g = VEC_NONE;
	int rc = 0;
	*ret_neutral = false;
	switch (ev->kind) {
	case EVENT_session:
		c->own = cut_tombstone_of(c, ev->session.run);
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
		g = cut_tombstone_of(c, ev->run.id);
		break;
	case EVENT_run_end:
		g = cut_tombstone_of(c, ev->run_end.id);
		break;
	case EVENT_file:
		/* What lies in a file goes with it. */
		if (is_forgotten(c, ev) || (ev->file.within && cut_map_has(&c->files, ev->file.within))) {
			g = file_tombstone;
			rc = map_set(&c->files, ev->file.num, 1) ? 0 : cut_no_memory(c);
		}
		*ret_neutral = g == VEC_NONE;
		break;
	case EVENT_state:
		g = cut_map_has(&c->files, ev->state.file) ? file_tombstone : VEC_NONE;
		*ret_neutral = g == VEC_NONE;
		break;
	case EVENT_process:
		g = ev->process.parent ? tombstone_of_proc(c, ev->process.parent) : c->own;
		rc = set_proc(c, ev->proc, g);
		if (c->pass == 1 && cut_map_has(&c->needed, ev->proc))
			g = VEC_NONE; /* it became another run's later */
		if (rc == 0 && g != VEC_NONE && !map_set(&c->hidden, ev->proc, 1))
			rc = cut_no_memory(c);
		break;
	case EVENT_exec:
		if (ev->exec.run.n)
			rc = set_proc(c, ev->proc, cut_tombstone_of(c, ev->exec.run));
		g = tombstone_of_proc(c, ev->proc);
		break;
	case EVENT_exit: /* with what its process began with, which may be of an outer run */
		g = tombstone_of_proc(c, ev->proc);
		if (g != VEC_NONE && !cut_map_has(&c->hidden, ev->proc))
			g = VEC_NONE;
		break;
	case EVENT_access:
		g = cut_map_has(&c->files, ev->access.file) ? file_tombstone : tombstone_of_proc(c, ev->proc);
		if (g != VEC_NONE && !map_set(&c->gone, ev->seq, 1))
			rc = cut_no_memory(c);
		break;
	case EVENT_access_end:
	case EVENT_io: {
		bool gone = cut_map_has(&c->gone, ev->kind == EVENT_io ? ev->io.access : ev->access_end.access);
		g = gone ? tombstone_of_proc(c, ev->proc) : VEC_NONE;
		if (gone && g == VEC_NONE)
			g = file_tombstone;
		break;
	}
	case EVENT_name:
		g = cut_map_has(&c->files, ev->name.file) ? file_tombstone
		    : ev->proc                            ? tombstone_of_proc(c, ev->proc)
		                                          : VEC_NONE;
		*ret_neutral = g == VEC_NONE && !ev->proc;
		break;
	case EVENT_link:
		g = tombstone_of_proc(c, ev->proc);
		if (g == VEC_NONE && cut_map_has(&c->hidden, ev->link.other))
			g = tombstone_of_proc(c, ev->link.other);
		break;
	case EVENT_gap:
		g = ev->proc ? tombstone_of_proc(c, ev->proc) : VEC_NONE;
		*ret_neutral = !ev->proc;
		break;
	case EVENT_note:
		g = ev->note.run.n                          ? cut_tombstone_of(c, ev->note.run)
		    : cut_map_has(&c->files, ev->note.file) ? file_tombstone
		                                            : VEC_NONE;
		break;
	case EVENT_summary:
		g = ev->summary.run.n ? cut_tombstone_of(c, ev->summary.run) : VEC_NONE;
		break;
	case EVENT_app:
		g = cut_tombstone_of(c, ev->app.run);
		if (g != VEC_NONE && !map_set(&c->apps, ev->seq, g))
			rc = cut_no_memory(c);
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
		g = cut_map_has(&c->files, ev->h5_object.file) ? file_tombstone : tombstone_of_reported(c, ev->h5_object.run);
		break;
	case EVENT_h5_part:
		g = cut_map_has(&c->files, ev->h5_part.file) ? file_tombstone : tombstone_of_reported(c, ev->h5_part.run);
		break;
	case EVENT_machine:
		g = cut_tombstone_of(c, ev->machine.run);
		break;
	case EVENT_result:
		g = cut_tombstone_of(c, ev->result.run);
		break;
	case EVENT_build:
	case EVENT_build_file:
		g = c->o->n_builds ? map_get(&c->builds, c->session) : VEC_NONE;
		break;
	case EVENT_digest:
		g = cut_tombstone_of(c, ev->digest.run);
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
