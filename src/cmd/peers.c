#include "cmd/peers.h"

bool peer_is_client(const struct edge *e)
{
	return e->via == TERM_via_socket && e->api == TERM_api_connect;
}

int peer_unseen(struct store *s, const struct version_info *v, const struct file_info *f)
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
		served |= !peer_is_client(&gens.v[i]);
	edges_release(&gens);
	return r < 0 ? r : !served;
}

int peer_json(struct store *s, const struct version_info *v, const struct file_info *f, json_t *entity)
{
	int r = f->kind == TERM_kind_socket ? peer_unseen(s, v, f) : 0;
	if (r >= 0 && f->kind == TERM_kind_socket)
		js_text(entity, "peer", r ? "unobserved" : "observed");
	return r < 0 ? r : 1;
}
