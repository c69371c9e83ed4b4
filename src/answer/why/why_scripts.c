/* why_scripts.c - a script that Snakemake copied before it ran it stands for the one that it was copied from. */
#include "answer/why/why_int.h"
#include "base/os/engine_paths.h"
#include "base/str.h"

#define NAME_MAX_BYTES 256

/* Did the execution write the version itself? Snakemake reads a script from a cache that it fills before. 1, 0, -errno.
 */
static int is_own_work(struct store *s, store_id version, store_id exec)
{
	struct edges gens = {0};
	int r = store_gens(s, version, &gens);
	bool own = false;
	for (size_t i = 0; i < gens.n && r >= 0; i++)
		own |= gens.v[i].to == exec;
	edges_release(&gens);
	return r < 0 ? r : own;
}

/* What the execution used under that name and did not write, last; of several files none. 0 or -errno. */
static int find_used_by_name(struct store *s, store_id exec, struct str name, store_id *ret, store_id *ret_file)
{
	struct edges uses = {0};
	int r = store_uses(s, exec, &uses);
	int64_t last = INT64_MIN;
	bool several = false;
	for (size_t i = 0; i < uses.n && r >= 0; i++) {
		struct version_sort v;
		r = store_version_sort(s, uses.v[i].to, &v);
		if (r <= 0 || v.kind != TERM_kind_regular || !str_eq(str_base_name(v.path), name))
			continue;
		store_id file = v.file;
		if ((r = is_own_work(s, uses.v[i].to, exec)) != 0)
			continue;
		several |= *ret_file && *ret_file != file;
		*ret_file = file;
		if (uses.v[i].lo >= last)
			*ret = uses.v[i].to;
		last = uses.v[i].lo > last ? uses.v[i].lo : last;
	}
	edges_release(&uses);
	if (several)
		*ret = 0;
	return r < 0 ? r : 0;
}

/* What the copy was made from: what its one maker used under its name. *ret: 0, it is not known. 0 or -errno. */
static int find_original(struct store *s, store_id copy, struct str name, store_id *ret)
{
	struct edges gens = {0};
	store_id file = 0;
	int r = store_gens(s, copy, &gens);
	*ret = 0;
	if (r >= 0 && gens.n == 1)
		r = find_used_by_name(s, gens.v[0].to, name, ret, &file);
	edges_release(&gens);
	return r < 0 ? r : 0;
}

int why_show_scripts(const struct answer_source *a, struct why *n)
{
	int r = 0;
	for (uint32_t i = 1; i < n->l.n_nodes && r >= 0; i++) {
		struct version_sort v;
		char text[NAME_MAX_BYTES];
		store_id original;
		if (n->l.nodes[i].exec || n->l.nodes[i].stream)
			continue;
		r = store_version_sort(a->store, n->l.nodes[i].id, &v);
		struct str name = r > 0 ? engine_copied_script(v.path) : (struct str){0};
		if (!name.n || name.n >= sizeof(text))
			continue;
		memcpy(text, name.p, name.n); /* the path is the store's, until the next question */
		r = find_original(a->store, n->l.nodes[i].id, str_n(text, name.n), &original);
		if (r == 0 && original)
			n->l.nodes[i].id = original;
	}
	return r < 0 ? r : 0;
}
