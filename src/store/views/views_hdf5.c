/* views_hdf5.c - the tables of what lies in HDF5 files: shapes, and which parts of datasets were moved. */
#include "store/views/views_line.h"

/* The one event of the row; NULL if it is of another kind, or failed. told is to be released. */
static const struct reported_event *read_single_event(struct cursor *c, struct reported_list *told, uint64_t kind)
{
	c->failed |= read_reported(c->s, c->unit, told) < 0;
	return told->n && told->v[0].ev.kind == kind ? told->v : NULL;
}

/* Numbers with commas between them; nothing: none. */
static void put_numbers(struct cursor *c, struct line *l, unsigned column, const struct strlist *list)
{
	struct buf b = {0};
	struct str s;
	for (size_t pos = 0; strlist_next(list, &pos, &s);)
		buf_printf(&b, "%s%.*s", b.n ? "," : "", (int)s.n, s.p);
	c->failed |= b.failed;
	line_set_text_if(c, l, column, buf_view(&b));
	buf_release(&b);
}

/* Only if the column is asked for. */
static void line_set_event_path(struct cursor *c, struct line *l, unsigned column, const struct reported_event *t)
{
	struct str path;
	if (!(c->wanted >> column & 1))
		return;
	c->failed |= store_reported_path(c->s, t, &path) < 0;
	line_set_text_if(c, l, column, path);
}

void views_hdf5_objects(struct cursor *c)
{
	struct reported_list told;
	const struct reported_event *t = read_single_event(c, &told, EVENT_h5_object);
	struct line *l = t ? lines_append(c) : NULL;
	if (l) {
		const struct event_h5_object *o = &t->ev.h5_object;
		line_set_id(l, C_hdf5_object_run, t->run);
		line_set_time(l, C_hdf5_object_time, t->ev.time);
		line_set_event_path(c, l, C_hdf5_object_path, t);
		line_set_cstr(c, l, C_hdf5_object_kind, term_name(SET_kind, (unsigned)o->kind));
		line_set_text_if(c, l, C_hdf5_object_type, o->type);
		put_numbers(c, l, C_hdf5_object_shape, &o->shape);
		put_numbers(c, l, C_hdf5_object_most, &o->most);
	}
	reported_list_release(&told);
}

/* The line of one part of a dataset, if the row is of one. */
void views_hdf5_parts(struct cursor *c)
{
	struct reported_list told;
	const struct reported_event *t = read_single_event(c, &told, EVENT_h5_part);
	struct line *l = t ? lines_append(c) : NULL;
	if (l) {
		const struct event_h5_part *p = &t->ev.h5_part;
		store_id exec = 0;
		if (c->wanted >> C_hdf5_part_execution & 1)
			c->failed |= store_exec_at(c->s, t->session, p->pid, (int64_t)p->started, t->ev.time, &exec) < 0;
		line_set_id(l, C_hdf5_part_run, t->run);
		line_set_id(l, C_hdf5_part_execution, exec);
		line_set_event_path(c, l, C_hdf5_part_path, t);
		line_set_cstr(c, l, C_hdf5_part_direction, p->write ? "write" : "read");
		put_numbers(c, l, C_hdf5_part_first, &p->from);
		put_numbers(c, l, C_hdf5_part_last, &p->to);
		line_set_int(l, C_hdf5_part_calls, (int64_t)p->calls);
		line_set_int(l, C_hdf5_part_elements, (int64_t)p->elements);
		put_numbers(c, l, C_hdf5_part_members, &p->field);
	}
	reported_list_release(&told);
}
