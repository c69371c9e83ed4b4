/* lineage_servers.c - which versions of a socket's address are connections to a server that nobody saw (doc/graph.md,
 * "Through servers"). */
#include "query/lineage/lineage_int.h"

/* Adds the time of edges to that of a connection. False where one of the edges is not a client's. */
static bool widen_connection(const struct edges *e, struct lineage_connection *c)
{
	for (size_t k = 0; k < e->n; k++) {
		const struct edge *one = &e->v[k];
		int64_t hi = one->hi == TIME_NONE ? TIME_NEVER : one->hi;
		if (one->api != TERM_api_connect)
			return false;
		c->exec = c->exec ? c->exec : one->to;
		c->lo = one->lo < c->lo ? one->lo : c->lo;
		c->hi = hi > c->hi ? hi : c->hi;
	}
	return true;
}

/* Reads a connection of a client to a server. 1 it is one, 0 not, -errno. */
static int read_connection(struct lineage_walk *w, store_id version, struct lineage_connection *ret)
{
	*ret = (struct lineage_connection){.version = version, .lo = TIME_NEVER, .hi = INT64_MIN};
	int r = store_gens(w->s, version, &w->got);
	if (r < 0 || !widen_connection(&w->got, ret))
		return r;
	r = store_readers(w->s, version, &w->got);
	return r < 0 ? r : widen_connection(&w->got, ret) && ret->exec;
}

int lineage_server_of(struct lineage_walk *w, store_id version, store_id *ret)
{
	struct version_sort v;
	struct lineage_connection c;
	int r = store_version_sort(w->s, version, &v);
	if (r <= 0 || v.kind != TERM_kind_socket)
		return r < 0 ? r : 0;
	*ret = v.file;
	return read_connection(w, version, &c);
}

int lineage_connection_of(struct lineage_walk *w, store_id server, uint64_t n, struct lineage_connection *ret)
{
	store_id id;
	int r = store_version_of(w->s, server, n, &id);
	return r > 0 ? read_connection(w, id, ret) : r;
}
