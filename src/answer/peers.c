#include "answer/peers.h"

int peer_is_unobserved(struct store *s, const struct version_info *v, const struct file_info *f)
{
	struct edges gens = {0};
	if (f->kind != TERM_kind_socket)
		return 0;
	bool address = str_starts(f->path, str_of("inet:")) || str_starts(f->path, str_of("unix:"));
	if (!address)
		return v->origin == ORIGIN_EXTERNAL;
	bool served = false;
	int r = store_gens(s, v->id, &gens);
	for (size_t i = 0; i < gens.n; i++)
		served |= !edge_is_client(&gens.v[i]);
	edges_release(&gens);
	return r < 0 ? r : !served;
}

/* Is it what was typed on a terminal? 1, 0, -errno. */
static int peer_typed(struct store *s, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	return r <= 0 ? r : f.kind == TERM_kind_terminal && v.origin == ORIGIN_EXTERNAL;
}

int peer_idle(struct store *s, const struct lineage *l, uint32_t i, const struct lineage_edge *e)
{
	const struct lineage_node *n = &l->nodes[i];
	if (e->type != LINEAGE_USED || e->e.sure || !l->nodes[e->to].stream)
		return 0;
	int r = peer_typed(s, l->nodes[e->to].id);
	for (uint32_t k = 0; k < n->n && r > 0; k++) {
		const struct lineage_edge *other = &l->edges[n->first + k];
		if (other->type != LINEAGE_USED || other->e.mode & ACCESS_PROGRAM)
			continue;
		r = l->nodes[other->to].stream ? peer_typed(s, l->nodes[other->to].id) : 0;
		if (r == 0)
			return 1;
	}
	return r < 0 ? r : 0;
}

int peer_json(struct store *s, const struct version_info *v, const struct file_info *f, json_t *entity)
{
	int r = f->kind == TERM_kind_socket ? peer_is_unobserved(s, v, f) : 0;
	if (r >= 0 && f->kind == TERM_kind_socket)
		js_text(entity, "peer", r ? "unobserved" : "observed");
	return r < 0 ? r : 1;
}
