/* views_reported.c - the tables of what programs told of themselves: annotations, ranks, MPI-IO. */
#include "store/views/views_line.h"

/* The execution that said it, where a run recorded it. */
static void line_set_reporter(struct cursor *c, struct line *l, unsigned column, const struct reported_event *t,
                              uint64_t app)
{
	struct reported_list who;
	store_id exec = 0;
	if (!(c->wanted >> column & 1))
		return;
	c->failed |= read_reported_by_seq(c->s, t->session, app, &who) < 0;
	if (who.n && who.v[0].ev.kind == EVENT_app)
		c->failed |=
		    store_exec_at(c->s, t->session, who.v[0].ev.app.pid, who.v[0].ev.app.started, t->ev.time, &exec) < 0;
	line_set_id(l, column, exec);
	reported_list_release(&who);
}

/* Only if the column is asked for and there is a run. */
static void put_ulid(struct cursor *c, struct line *l, unsigned column, store_id run)
{
	struct run_info info;
	if ((c->wanted >> column & 1) && run && store_run_told(c->s, run, &info) == 1)
		line_set_text(c, l, column, info.ulid);
}

/* The line of what a program said, if the row is of that. */
void views_annotations(struct cursor *c)
{
	struct reported_list told;
	c->failed |= read_reported(c->s, c->unit, &told) < 0;
	const struct reported_event *t = told.n ? told.v : NULL;
	bool is_one =
	    t && (t->ev.kind == EVENT_app_word || t->ev.kind == EVENT_app_metric || t->ev.kind == EVENT_app_activity);
	struct line *l = is_one ? lines_append(c) : NULL;
	if (l) {
		line_set_id(l, C_annotation_run, t->run);
		put_ulid(c, l, C_annotation_ulid, t->run);
		line_set_time(l, C_annotation_time, t->ev.time);
	}
	if (l && t->ev.kind == EVENT_app_word) {
		const struct event_app_word *w = &t->ev.app_word;
		line_set_reporter(c, l, C_annotation_execution, t, w->app);
		line_set_id(l, C_annotation_thread, w->thread);
		line_set_id(l, C_annotation_within, w->activity);
		line_set_cstr(c, l, C_annotation_kind, term_name(SET_said, w->said));
		line_set_text(c, l, C_annotation_name, w->name);
		if (w->said == TERM_said_config || w->said == TERM_said_tag)
			line_set_text(c, l, C_annotation_value, w->value);
		line_set_text_if(c, l, C_annotation_version, w->version);
		line_set_id(l, C_annotation_whole, w->whole);
	} else if (l && t->ev.kind == EVENT_app_metric) {
		const struct event_app_metric *m = &t->ev.app_metric;
		line_set_reporter(c, l, C_annotation_execution, t, m->app);
		line_set_id(l, C_annotation_thread, m->thread);
		line_set_id(l, C_annotation_within, m->activity);
		line_set_cstr(c, l, C_annotation_kind, "metric");
		line_set_text(c, l, C_annotation_name, m->name);
		l->v[C_annotation_number] = (struct cell){CELL_REAL, (int64_t)m->number, 0};
		if (m->stepped)
			line_set_int(l, C_annotation_step, m->step);
	} else if (l) {
		const struct event_app_activity *a = &t->ev.app_activity;
		line_set_reporter(c, l, C_annotation_execution, t, a->app);
		line_set_id(l, C_annotation_thread, a->thread);
		line_set_id(l, C_annotation_within, a->activity);
		line_set_cstr(c, l, C_annotation_kind, "activity");
		line_set_text(c, l, C_annotation_name, a->name);
		line_set_id(l, C_annotation_activity, a->n);
		line_set_time(l, C_annotation_ended, a->until);
	}
	reported_list_release(&told);
}

/* The line of a rank of MPI, if the row is of one. */
void views_ranks(struct cursor *c)
{
	struct reported_list told;
	c->failed |= read_reported(c->s, c->unit, &told) < 0;
	struct line *l = told.n && told.v[0].ev.kind == EVENT_mpi_rank ? lines_append(c) : NULL;
	if (l) {
		const struct reported_event *t = told.v;
		const struct event_mpi_rank *r = &t->ev.mpi_rank;
		line_set_id(l, C_mpi_rank_run, t->run);
		put_ulid(c, l, C_mpi_rank_ulid, t->run);
		line_set_reporter(c, l, C_mpi_rank_execution, t, r->app);
		line_set_time(l, C_mpi_rank_time, t->ev.time);
		line_set_int(l, C_mpi_rank_rank, (int64_t)r->rank);
		line_set_int(l, C_mpi_rank_size, (int64_t)r->size);
		line_set_int(l, C_mpi_rank_level, (int64_t)r->level);
		line_set_text_if(c, l, C_mpi_rank_library, r->library);
	}
	reported_list_release(&told);
}

/* The line of accesses by MPI, if the row is of those. */
void views_mpiio(struct cursor *c)
{
	struct reported_list told;
	c->failed |= read_reported(c->s, c->unit, &told) < 0;
	struct line *l = told.n && told.v[0].ev.kind == EVENT_mpi_io ? lines_append(c) : NULL;
	if (l) {
		const struct reported_event *t = told.v;
		const struct event_mpi_io *o = &t->ev.mpi_io;
		line_set_id(l, C_mpi_io_run, t->run);
		put_ulid(c, l, C_mpi_io_ulid, t->run);
		line_set_reporter(c, l, C_mpi_io_execution, t, o->app);
		line_set_text(c, l, C_mpi_io_path, o->path);
		line_set_cstr(c, l, C_mpi_io_op, term_name(SET_mpiop, o->op));
		line_set_int(l, C_mpi_io_collective, (int64_t)o->collective);
		line_set_int(l, C_mpi_io_ranks, (int64_t)o->ranks);
		line_set_int(l, C_mpi_io_calls, (int64_t)o->calls);
		line_set_int(l, C_mpi_io_failed, (int64_t)o->failed);
		line_set_int(l, C_mpi_io_bytes, (int64_t)o->bytes);
		line_set_int(l, C_mpi_io_spent, (int64_t)o->spent);
		line_set_time(l, C_mpi_io_first, o->first);
		line_set_time(l, C_mpi_io_last, o->last);
	}
	reported_list_release(&told);
}
