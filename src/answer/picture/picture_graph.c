/* picture_graph.c - which nodes and edges of a lineage a picture has, and what tells them apart. */
#include "answer/picture/picture_int.h"

#include "answer/entities.h"
#include "base/hash.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

/* Folder and ending of a path, and how the file came to be there. */
static uint64_t colour_of_file(struct str path, const struct version_info *v, uint64_t kind)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	const size_t dir = slash ? (size_t)(slash - path.p) : 0;
	const char *base = slash ? slash + 1 : path.p;
	const size_t n = path.n - (slash ? dir + 1 : 0);
	const char *dot = n ? memchr(base + 1, '.', n - 1) : NULL;
	const uint64_t head[] = {kind, v->origin};
	uint64_t h = hash_bytes(head, sizeof(head));
	if (dir)
		h = hash_more(h, path.p, dir);
	return dot ? hash_more(h, dot, n - (size_t)(dot - base)) : h;
}

/* 1, 0: there is none; -errno. */
static int describe_file(const struct picture_of *of, store_id id, struct graph_node *ret)
{
	struct version_info v;
	struct file_info f;
	int rc = store_version(of->s, id, &v);
	if (rc > 0)
		rc = store_file(of->s, v.file, &f);
	if (rc <= 0)
		return rc;
	ret->kind = kind_is_stream(f.kind) ? PICTURE_STREAM : v.origin == ORIGIN_OBSERVED ? PICTURE_FILE : PICTURE_SOURCE;
	ret->colour = colour_of_file(f.path, &v, f.kind);
	return 1;
}

/* By its program and the word that says what it does. 0 or -errno. */
static int describe_program(const struct picture_of *of, uint32_t i, struct graph_node *ret)
{
	const struct stage *g = of->view ? stage_view_stage(of->view, i) : NULL;
	struct buf name = {0};
	ret->kind = of->view && stage_view_group(of->view, i) ? PICTURE_STAGE : PICTURE_PROGRAM;
	if (g) {
		ret->colour = hash_more((uint64_t)g->kind + 1, g->name ? g->name : "", g->name ? strlen(g->name) : 0);
		return 0;
	}
	const store_id id = of->shape->rep[i] ? of->shape->rep[i] : of->l->nodes[i].id;
	const int rc = exec_name(of->s, id, true, 200, &name);
	ret->colour = hash_str(command_kind(buf_cstr(&name)));
	buf_release(&name);
	return rc < 0 ? rc : 0;
}

/* Adds the node of the lineage, if it is shown. 0 or -errno. */
static int add_node(const struct picture_of *of, uint32_t i, struct picture_graph *g)
{
	const struct lineage_node *n = &of->l->nodes[i];
	struct graph_node node = {.of = i, .frame = VEC_NONE, .root = of->l->n_roots == 1 && i == 0};
	int rc = 0;
	g->at[i] = VEC_NONE;
	if (!of->shape->shown[i] || (of->most && i >= of->most))
		return 0;
	if (n->exec)
		rc = describe_program(of, i, &node);
	else if (shape_is_array(of->shape, i))
		node.colour = (uint64_t)i << 1 | 1;
	else if ((rc = describe_file(of, n->id, &node)) == 0)
		return 0;
	if (rc < 0 || !vec_room(&g->nodes, 1))
		return rc < 0 ? rc : -ENOMEM;
	g->at[i] = (uint32_t)g->nodes.n;
	g->nodes.v[g->nodes.n++] = node;
	return 0;
}

/* ---- edges ---- */

/* 0 or -ENOMEM. */
static int add_graph_edge(struct picture_graph *g, struct graph_edge e)
{
	if (!vec_room(&g->edges, 1))
		return -ENOMEM;
	g->edges.v[g->edges.n++] = e;
	return 0;
}

/* 0 or -ENOMEM. */
static int add_edges(const struct picture_of *of, struct picture_graph *g)
{
	int rc = 0;
	for (uint32_t i = 0; i < of->l->n_nodes && rc == 0; i++) {
		if (g->at[i] == VEC_NONE)
			continue;
		for (size_t k = of->shape->first[i]; k < of->shape->first[i + 1] && rc == 0; k++) {
			const struct branch *b = &of->shape->branches[k];
			const uint32_t near = g->at[i], far = g->at[b->child];
			if (far != VEC_NONE && far != near)
				rc = add_graph_edge(g,
				                    (struct graph_edge){of->down ? near : far, of->down ? far : near, b->sure, false});
		}
	}
	return rc;
}

/* The one edge of a node on each side; VEC_NONE - 1: it has more. */
struct sides {
	uint32_t in, out;
};
static void note_side(uint32_t *side, uint32_t edge)
{
	*side = *side == VEC_NONE ? edge : VEC_NONE - 1;
}

/* A stream with one writer and one reader becomes an edge between these, as long as there is one. 0 or -ENOMEM. */
static int contract_streams(struct picture_graph *g)
{
	struct sides *sides = malloc((g->nodes.n + 1) * sizeof(*sides));
	uint32_t *new = calloc(g->nodes.n + 1, sizeof(*new)), n = 0;
	size_t kept = 0;
	for (size_t i = 0; sides && i < g->nodes.n; i++)
		sides[i] = (struct sides){VEC_NONE, VEC_NONE};
	for (size_t k = 0; sides && k < g->edges.n; k++) {
		note_side(&sides[g->edges.v[k].to].in, (uint32_t)k);
		note_side(&sides[g->edges.v[k].from].out, (uint32_t)k);
	}
	for (size_t i = 0; sides && new &&i < g->nodes.n; i++) {
		const struct graph_node *t = &g->nodes.v[i];
		const bool one = sides[i].in < VEC_NONE - 1 && sides[i].out < VEC_NONE - 1;
		new[i] = VEC_NONE;
		if (t->kind == PICTURE_STREAM && !t->root && one &&
		    g->edges.v[sides[i].in].from != g->edges.v[sides[i].out].to &&
		    g->nodes.v[g->edges.v[sides[i].in].from].kind >= PICTURE_PROGRAM) {
			struct graph_edge *in = &g->edges.v[sides[i].in], *out = &g->edges.v[sides[i].out];
			out->from = in->from;
			out->sure &= in->sure;
			out->pipe = true;
			in->to = in->from; /* goes below */
			continue;
		}
		new[i] = n;
		g->nodes.v[n++] = *t;
	}
	for (size_t k = 0; sides && new &&k < g->edges.n; k++) {
		struct graph_edge e = g->edges.v[k];
		if (e.from == e.to)
			continue;
		e.from = new[e.from];
		e.to = new[e.to];
		g->edges.v[kept++] = e;
	}
	const int rc = sides && new ? 0 : -ENOMEM;
	if (rc == 0) {
		g->nodes.n = n;
		g->edges.n = kept;
	}
	free(sides);
	free(new);
	return rc;
}

/* ---- frames ---- */

/* The frame of a program's stage, which is made if it is new. 0 or -errno. */
static int find_frame(const struct picture_of *of, struct picture_graph *g, struct idmap *known, uint32_t node)
{
	const uint32_t i = g->nodes.v[node].of;
	const store_id id = of->shape->rep[i] ? of->shape->rep[i] : of->l->nodes[i].id;
	uint32_t stage;
	bool is_new = false;
	int rc = stages_find(of->stages, id, &stage);
	if (rc <= 0)
		return rc;
	uint32_t *at = idmap_add(known, (uint64_t)stage + 1, (uint32_t)g->nodes.n, &is_new);
	if (!at || !vec_room(&g->nodes, 1))
		return -ENOMEM;
	if (is_new) {
		const struct stage *s = stages_get(of->stages, stage);
		const uint64_t kind = (uint64_t)s->kind + 1;
		g->nodes.v[g->nodes.n++] =
		    (struct graph_node){.of = stage,
		                        .kind = PICTURE_FRAME,
		                        .frame = VEC_NONE,
		                        .colour = hash_more(kind, s->name ? s->name : "", s->name ? strlen(s->name) : 0)};
	}
	g->nodes.v[node].frame = *at;
	return 0;
}

/* Files that one frame alone made and used stand in it. 0 or -ENOMEM. */
static int frame_files(struct picture_graph *g)
{
	enum { NOBODY = VEC_NONE, SEVERAL = VEC_NONE - 1 };
	uint32_t *makers = malloc((g->nodes.n + 1) * sizeof(*makers)), *users = malloc((g->nodes.n + 1) * sizeof(*users));
	for (size_t i = 0; makers && users && i < g->nodes.n; i++)
		makers[i] = users[i] = NOBODY;
	for (size_t k = 0; makers && users && k < g->edges.n; k++) {
		const struct graph_edge *e = &g->edges.v[k];
		const uint32_t maker = g->nodes.v[e->from].frame, user = g->nodes.v[e->to].frame;
		makers[e->to] =
		    makers[e->to] == NOBODY || makers[e->to] == maker ? (maker == NOBODY ? SEVERAL : maker) : SEVERAL;
		users[e->from] =
		    users[e->from] == NOBODY || users[e->from] == user ? (user == NOBODY ? SEVERAL : user) : SEVERAL;
	}
	for (size_t i = 0; makers && users && i < g->nodes.n; i++)
		if (g->nodes.v[i].kind < PICTURE_PROGRAM && !g->nodes.v[i].root && makers[i] < SEVERAL && makers[i] == users[i])
			g->nodes.v[i].frame = makers[i];
	const int rc = makers && users ? 0 : -ENOMEM;
	free(makers);
	free(users);
	return rc;
}

/* 0 or -errno. */
static int add_frames(const struct picture_of *of, struct picture_graph *g)
{
	struct idmap known = {0};
	const size_t n = g->nodes.n;
	int rc = 0;
	for (size_t i = 0; of->stages && i < n && rc >= 0; i++)
		if (g->nodes.v[i].kind == PICTURE_PROGRAM)
			rc = find_frame(of, g, &known, (uint32_t)i);
	idmap_release(&known);
	return rc < 0 ? rc : frame_files(g);
}

int picture_graph_make(const struct picture_of *of, struct picture_graph *ret)
{
	int rc = 0;
	*ret = (struct picture_graph){0};
	ret->at = malloc((of->l->n_nodes + 1) * sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < of->l->n_nodes && rc == 0; i++)
		rc = add_node(of, i, ret);
	if (rc == 0)
		rc = add_edges(of, ret);
	if (rc == 0 && !of->all)
		rc = contract_streams(ret);
	return rc == 0 ? add_frames(of, ret) : rc;
}

void picture_graph_release(struct picture_graph *g)
{
	vec_release(&g->nodes);
	vec_release(&g->edges);
	free(g->at);
}
