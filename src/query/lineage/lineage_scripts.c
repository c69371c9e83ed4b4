/* lineage_scripts.c - a workflow system's copy of a script came from the script alone, whatever else the system used
 * before it made the copy (doc/graph.md, "Copied scripts"). */
#include "query/lineage/lineage_int.h"

#include "base/hash.h"
#include "base/os/engine_paths.h"

#include <errno.h>
#include <string.h>

/* Never 0. */
static uint64_t named_key(store_id exec, struct str name)
{
	return hash_mix(exec, hash_str(name)) | 1;
}

/* Puts the edge to a version of that name into the chain of the execution and name. 0, -ENOMEM. */
static int add_named(struct lineage_scripts *c, store_id exec, struct str name, const struct edge *e)
{
	bool is_new;
	struct lineage_chained *one = vec_add(&c->uses);
	uint32_t at = (uint32_t)c->uses.n; /* from 1 */
	uint32_t *head = one ? idmap_add(&c->by_name, named_key(exec, name), at, &is_new) : NULL;
	if (!head)
		return -ENOMEM;
	*one = (struct lineage_chained){.e = *e, .next = is_new ? 0 : *head};
	*head = at;
	return 0;
}

/* Files all that the execution used by name, once. 0 or -errno. */
static int load_named(struct lineage_walk *w, store_id exec)
{
	struct lineage_scripts *c = &w->scripts;
	bool is_new = false;
	if (!idmap_add(&c->execs, exec, 1, &is_new))
		return -ENOMEM;
	int r = is_new ? store_uses(w->s, exec, &c->got) : 0;
	for (size_t k = 0; is_new && r >= 0 && k < c->got.n; k++) {
		struct version_sort v;
		r = store_version_sort(w->s, c->got.v[k].to, &v);
		if (r > 0 && v.kind == TERM_kind_regular && !engine_own_file(v.path))
			r = add_named(c, exec, str_base_name(v.path), &c->got.v[k]);
	}
	return r < 0 ? r : 0;
}

/* Is the version of that name, and from somewhere else? (What the execution put into a cache of its own before is not
 * meant, but what that came from.) 1, 0, -errno. Uses c->got. */
static int is_source(struct lineage_walk *w, store_id version, struct str name, store_id exec)
{
	struct edges *gens = &w->scripts.got;
	struct version_sort v;
	int r = store_version_sort(w->s, version, &v);
	if (r <= 0 || !str_eq(str_base_name(v.path), name))
		return r < 0 ? r : 0;
	r = store_gens(w->s, version, gens);
	for (size_t k = 0; r == 0 && k < gens->n; k++)
		if (gens->v[k].to == exec)
			return 0;
	return r < 0 ? r : 1;
}

int lineage_script_sources(struct lineage_walk *w, store_id version, struct edge *ret_made)
{
	struct lineage_scripts *c = &w->scripts;
	struct version_sort v;
	char text[256];
	c->sources.n = 0;
	int r = store_version_sort(w->s, version, &v);
	struct str name = r > 0 ? engine_copied_script(v.path) : (struct str){0};
	if (r < 0 || !name.n || name.n > sizeof(text))
		return r < 0 ? r : 0;
	memcpy(text, name.p, name.n); /* the path is the store's, until the next question */
	name = str_n(text, name.n);
	r = store_gens(w->s, version, &c->got);
	if (r < 0 || c->got.n != 1)
		return r;
	*ret_made = c->got.v[0];
	r = load_named(w, ret_made->to);
	const uint32_t *head = r == 0 ? idmap_find(&c->by_name, named_key(ret_made->to, name)) : NULL;
	for (uint32_t at = head ? *head : 0; r >= 0 && at; at = c->uses.v[at - 1].next) {
		const struct edge *e = &c->uses.v[at - 1].e;
		r = e->lo <= ret_made->hi ? is_source(w, e->to, name, ret_made->to) : 0;
		if (r > 0)
			r = edges_add(&c->sources, e);
	}
	for (size_t k = 0; k < c->sources.n; k++)
		c->sources.v[k].sure = c->sources.v[k].sure && c->sources.n == 1;
	return r < 0 ? r : 0;
}

/* Files the edge to a copy by its source. Where that was followed on already, it is once more. 0, -ENOMEM. */
static int file_copy(struct lineage_walk *w, store_id source, const struct edge *e)
{
	struct lineage_scripts *c = &w->scripts;
	struct lineage_chained *one = vec_add(&c->copies);
	uint32_t at = (uint32_t)c->copies.n, i;
	bool is_new;
	uint32_t *head = one ? idmap_add(&c->copies_of, source, at, &is_new) : NULL;
	if (!head)
		return -ENOMEM;
	*one = (struct lineage_chained){.e = *e, .next = is_new ? 0 : *head};
	*head = at;
	if (lineage_find_node(w, source, false, &i) && w->states[i].expanded)
		return lineage_enqueue(w, &w->now, i);
	return 0;
}

int lineage_script_classify(struct lineage_walk *w, uint32_t i)
{
	struct lineage_scripts *c = &w->scripts;
	struct edge made = {0};
	int r = lineage_script_sources(w, w->nodes[i].id, &made);
	w->states[i].copied = r == 0 && c->sources.n;
	made.to = w->nodes[i].id;
	for (size_t k = 0; r == 0 && w->o->direction == LINEAGE_DOWN && k < c->sources.n; k++) {
		struct edge e = made;
		e.sure = made.sure && c->sources.v[k].sure;
		r = file_copy(w, c->sources.v[k].to, &e);
	}
	return r;
}

int lineage_scripts_from(struct lineage_walk *w, store_id version, struct edges *ret)
{
	struct lineage_scripts *c = &w->scripts;
	const uint32_t *head = c->copies.n ? idmap_find(&c->copies_of, version) : NULL;
	int r = 0;
	for (uint32_t at = head ? *head : 0; r == 0 && at; at = c->copies.v[at - 1].next)
		r = edges_add(ret, &c->copies.v[at - 1].e);
	return r;
}

void lineage_scripts_release(struct lineage_scripts *c)
{
	idmap_release(&c->execs);
	idmap_release(&c->by_name);
	idmap_release(&c->copies_of);
	vec_release(&c->uses);
	vec_release(&c->copies);
	edges_release(&c->got);
	edges_release(&c->sources);
}
