/* lineage_class.c - what a version is to a walk: data, of the machine, or absent; and whether it is folded. */
#include "query/lineage/lineage_int.h"

/* Was a version that has nothing in it used before it was whole? Then it may have had something. 1, 0, -errno. */
static int used_before_end(struct lineage_walk *w, store_id version, int64_t end)
{
	struct edges e = {0};
	int r = store_readers(w->s, version, &e);
	for (size_t k = 0; k < e.n && r == 0; k++)
		r = e.v[k].lo < end;
	edges_release(&e);
	return r;
}

/* Was the file handed on by descriptor to who wrote it, and has it no name any more? So a launcher takes what its
 * commands print. 1, 0, -errno. */
static int was_handed(struct lineage_walk *w, store_id version)
{
	struct version_sort v;
	struct file_info f;
	struct edges e = {0};
	int handed = 0;
	int r = store_version_sort(w->s, version, &v);
	r = r > 0 ? store_file(w->s, v.file, &f) : r;
	if (r > 0 && !f.named)
		r = store_gens(w->s, version, &e);
	for (size_t k = 0; k < e.n && r >= 0; k++)
		handed |= e.v[k].via == TERM_via_descriptor;
	edges_release(&e);
	return r < 0 ? r : handed;
}

int lineage_classify(struct lineage_walk *w, uint32_t i)
{
	if (w->nodes[i].classified)
		return 0;
	struct version_judged v;
	int r = store_version_judged(w->s, w->nodes[i].id, w->o->system_extra, &v);
	if (r < 0)
		return r;
	struct lineage_state *st = &w->states[i];
	w->nodes[i].classified = true;
	st->class = VERSION_DATA;
	if (r == 0)
		return 0;
	st->observed = v.origin == ORIGIN_OBSERVED;
	w->nodes[i].object = objects_is_object(v.kind);
	w->nodes[i].stream = v.kind >= TERM_kind_fifo && v.kind <= TERM_kind_terminal;
	w->nodes[i].near = w->nodes[i].stream;
	if (w->o->handed && w->o->depth && v.kind == TERM_kind_regular) {
		r = was_handed(w, w->nodes[i].id);
		if (r < 0)
			return r;
		w->nodes[i].near = r;
	}
	if (v.hollow && v.kind == TERM_kind_regular) {
		r = used_before_end(w, w->nodes[i].id, v.end);
		if (r < 0)
			return r;
		st->empty = !r;
	}
	st->class = (uint8_t)v.class;
	if (v.kind == TERM_kind_attribute && !w->o->all) {
		struct version_sort sort;
		r = store_version_sort(w->s, w->nodes[i].id, &sort);
		st->housekeeping = r > 0 && objects_is_housekeeping(sort.kind, sort.path);
		return r < 0 ? r : 0;
	}
	return v.class == VERSION_SCRIPT && !w->o->all ? lineage_script_classify(w, i) : 0;
}

/* Was the execution given the version's path as, or within, an argument? 0, -errno. */
static int named_in_argv(struct lineage_walk *w, store_id exec, store_id version, bool *ret)
{
	struct exec_info x;
	struct version_sort v;
	*ret = false;
	int r = store_version_sort(w->s, version, &v);
	if (r > 0)
		r = store_exec(w->s, exec, &x);
	if (r <= 0)
		return r;
	struct str arg;
	for (size_t pos = 0; !*ret && strlist_next(&x.argv, &pos, &arg);)
		*ret = memmem(arg.p, arg.n, v.path.p, v.path.n) != NULL;
	return 0;
}

/* Is the version the script that the execution ran? 0, -errno. */
static int is_script(struct lineage_walk *w, store_id version, store_id exec, bool *ret)
{
	store_id script = 0;
	struct version_sort v;
	*ret = false;
	int r = store_exec_script(w->s, exec, &script);
	if (r < 0 || !script)
		return r;
	r = store_version_sort(w->s, version, &v);
	*ret = r > 0 && v.file == script;
	return r;
}

/* Is the version, classified as data, a program's text that nobody was seen making? The script is what the user calls
 * the program, and the interpreter is not. `from`: the execution. 0, -errno. */
static int is_interpreter(struct lineage_walk *w, uint32_t i, const struct edge *e, uint32_t from, bool *ret)
{
	bool script = false;
	*ret = w->nodes[from].exec && e->mode & ACCESS_PROGRAM && !w->states[i].observed && w->o->direction == LINEAGE_UP;
	if (!*ret || w->states[from].no_script)
		return 0;
	int r = is_script(w, w->nodes[i].id, w->nodes[from].id, &script);
	*ret = !script;
	return r;
}

int lineage_judge(struct lineage_walk *w, uint32_t i, const struct edge *e, uint32_t other, enum lineage_omit *ret_omit)
{
	const struct lineage_state *st = &w->states[i];
	bool named = false, interpreter = false;
	int r = 0;
	*ret_omit = OMIT_COUNT;
	if (w->o->all || st->root)
		return 0;
	if (st->empty && w->o->certain && w->o->direction == LINEAGE_DOWN && w->nodes[other].exec) {
		*ret_omit = OMIT_empty; /* who made it has put nothing into it */
		return 0;
	}
	if (st->copied && w->o->direction == LINEAGE_DOWN && w->nodes[other].exec) {
		*ret_omit = OMIT_engine; /* it came from its script, and is come to from there */
		return 0;
	}
	if (st->housekeeping) {
		*ret_omit = OMIT_housekeeping;
		return 0;
	}
	switch ((enum version_class)st->class) {
	case VERSION_ABSENT:
		*ret_omit = OMIT_absent;
		return 0;
	case VERSION_ENGINE:
		*ret_omit = OMIT_engine;
		return 0;
	case VERSION_SYSTEM:
		*ret_omit = OMIT_system;
		return 0;
	case VERSION_NAMED:
		r = w->nodes[other].exec ? named_in_argv(w, w->nodes[other].id, w->nodes[i].id, &named) : 0;
		if (!named)
			*ret_omit = OMIT_system;
		return r;
	case VERSION_SCRIPT:
	case VERSION_DATA:
	case VERSION_CLASSES:
		break;
	}
	r = is_interpreter(w, i, e, other, &interpreter);
	if (interpreter)
		*ret_omit = OMIT_system;
	return r < 0 ? r : 0;
}
