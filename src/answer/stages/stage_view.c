#include "answer/stages/stage_view.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/os/engine_paths.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define HIDDEN UINT32_MAX

/* A version that was open for writing from part `first` to part `last` of a program, by the branch. */
struct late_writer {
	const struct branch *from;
	uint32_t version, first, last;
};

/* The view while it is made. */
struct folding {
	const struct shape_of *v;
	struct stages *st;
	struct stage_view *w;
	struct shape from;  /* of programs */
	struct idmap known; /* hash of kind and key -> group + 1 */
	uint32_t *leader;   /* of each node what it is shown as; HIDDEN: as none */
	uint32_t *next;     /* of each node the next one with its leader; 0: none */
	size_t cap_nodes;
	VEC(struct late_writer) late;
	bool up;
};

/* ---- which nodes are one ---- */

/* The place in f->w->groups of the group, added without a node where *ret_new; NULL: no memory. */
static uint32_t *group_of(struct folding *f, enum stage_group_kind kind, uint64_t key, bool *ret_new)
{
	uint32_t *at = idmap_add(&f->known, hash_mix(kind + 1, key) | 1, (uint32_t)f->w->n_groups + 1, ret_new);
	if (!at || (*ret_new && !vec_has_room(f->w->groups, f->w->n_groups, f->w->cap_groups)))
		return NULL;
	if (*ret_new)
		f->w->groups[f->w->n_groups++] = (struct stage_group){.kind = kind, .key = key, .node = HIDDEN};
	return at;
}

/* Puts the node behind the last of the group of that kind and key; the first one is its leader. 0, -ENOMEM. */
static int join_group(struct folding *f, uint32_t node, enum stage_group_kind kind, uint64_t key)
{
	bool is_new;
	uint32_t *at = group_of(f, kind, key, &is_new);
	if (!at)
		return -ENOMEM;
	struct stage_group *g = &f->w->groups[*at - 1];
	f->w->group[node] = *at;
	if (g->node == HIDDEN)
		g->node = node;
	else
		f->next[g->last] = node;
	g->last = node;
	f->leader[node] = g->node;
	return 0;
}

enum { DEEP = 64 }; /* programs above one another, from what a cell started up to its kernel */

/* The part of the notebook's kernel in which it started the execution, itself or by others. 1, 0, -errno. */
static int find_cell_above(struct folding *f, store_id id, uint32_t *ret)
{
	struct exec_info x;
	int r = f->w->cells.v.n ? store_exec(f->v->s, id, &x) : 0;
	int64_t start = r > 0 ? x.start : 0;
	for (int up = 0; r > 0 && up < DEEP; up++) {
		struct exec_brief b;
		if (stage_cells_has(&f->w->cells, id)) {
			*ret = up ? stage_cells_at(&f->w->cells, id, start) : STAGE_NO_CELL;
			return *ret != STAGE_NO_CELL && !f->w->cells.v.v[*ret].between;
		}
		r = store_exec_brief(f->v->s, id, &b);
		id = r > 0 ? b.parent : 0;
		r = id ? r : r < 0 ? r : 0;
	}
	return r < 0 ? r : 0;
}

/* Finds the group of a node: by a notebook's cell, else the stage, the engine, the step of a job; else the node
 * stays alone. 0, -errno. */
static int find_group(struct folding *f, uint32_t node)
{
	store_id id = f->w->l.nodes[node].id, engine;
	struct exec_info x;
	uint32_t stage, cell;
	int r = stages_find(f->st, id, &stage);
	int in_cell = r > 0 && stages_get(f->st, stage)->kind == STAGE_NOTEBOOK ? find_cell_above(f, id, &cell) : 0;
	if (in_cell != 0)
		return in_cell < 0 ? in_cell : join_group(f, node, GROUP_CELL, cell);
	if (r > 0)
		return join_group(f, node, GROUP_STAGE, stage);
	if (r == 0)
		r = stages_is_engine(f->st, id, &engine);
	if (r > 0)
		return join_group(f, node, GROUP_ENGINE, engine);
	if (r == 0 && !f->from.ranks[node])
		r = store_exec(f->v->s, id, &x);
	if (r > 0 && x.step.n)
		return join_group(f, node, GROUP_STEP, hash_mix(hash_str(x.job), hash_str(x.step)));
	return r < 0 ? r : 0;
}

/* Puts executions of one stage into one group, and notes its leader. 0, -errno. At first each node leads itself. */
static int find_groups(struct folding *f)
{
	int r = 0;
	for (uint32_t i = 0; i < f->w->l.n_nodes && r == 0; i++) {
		f->leader[i] = i;
		if (f->w->l.nodes[i].exec && f->from.shown[i])
			r = find_group(f, i);
	}
	return r;
}

/* A node outside all groups counts as a step. */
static enum stage_group_kind kind_of(const struct folding *f, uint32_t node)
{
	return f->w->group[node] ? f->w->groups[f->w->group[node] - 1].kind : GROUP_STEP;
}

/* A node outside all groups is none. */
static bool is_engine(const struct folding *f, uint32_t node)
{
	return f->w->group[node] && kind_of(f, node) == GROUP_ENGINE;
}

/* The node of a stage, or part, of which no program is in the walk, behind those of the walk. 0; -ENOMEM, -ENOSPC. */
static int add_node(struct folding *f, enum stage_group_kind kind, uint32_t key, store_id exec, uint32_t *ret)
{
	struct lineage *l = &f->w->l;
	bool is_new;
	uint32_t *at = group_of(f, kind, key, &is_new);
	if (!at)
		return -ENOMEM;
	struct stage_group *g = &f->w->groups[*at - 1];
	if (g->node == HIDDEN) {
		if (l->n_nodes >= f->cap_nodes)
			return -ENOSPC; /* there are as many as versions, and parts */
		g->node = g->last = (uint32_t)l->n_nodes;
		l->nodes[l->n_nodes] = (struct lineage_node){.id = exec, .exec = true};
		f->w->group[l->n_nodes] = *at;
		f->leader[l->n_nodes] = g->node;
		l->n_nodes++;
	}
	*ret = g->node;
	return 0;
}

/* ---- parts of a program ---- */

/* What a node is shown as at one end of an edge: of a program that told of its parts the one in which the edge began.
 */
static int shown_as(struct folding *f, uint32_t node, const struct lineage_edge *e, uint32_t *ret)
{
	const struct lineage_node *n = &f->w->l.nodes[node];
	*ret = f->leader[node];
	if (!n->exec || node >= f->v->l->n_nodes || !stage_cells_has(&f->w->cells, n->id))
		return 0;
	uint32_t cell = stage_cells_at(&f->w->cells, n->id, e->e.lo);
	return cell == STAGE_NO_CELL ? 0 : add_node(f, GROUP_CELL, cell, n->id, ret);
}

/* ---- which versions are within a stage ---- */

/* Who is on either side of each version: 0 nobody, HIDDEN several, else a leader + 1. */
struct sides {
	uint32_t *above, *below;
};

/* Notes that side's node belongs to leader; a second other one makes it HIDDEN. 0: none yet. Numbers are stored plus 1.
 * */
static void note_side(uint32_t *side, uint32_t leader)
{
	*side = *side == 0 || *side == leader + 1 ? leader + 1 : HIDDEN;
}

/* Sets for each version between which two groups it lies. 0, -errno. */
static int note_sides(struct folding *f, struct sides *s)
{
	int r = 0;
	for (uint32_t i = 0; i < f->v->l->n_nodes && r == 0; i++)
		for (size_t k = f->from.first[i]; f->from.shown[i] && k < f->from.first[i + 1] && r == 0; k++) {
			const struct branch *b = &f->from.branches[k];
			uint32_t below, above;
			r = shown_as(f, b->child, b->e, &below);
			r = r < 0 ? r : shown_as(f, i, b->e, &above);
			if (r < 0)
				break;
			note_side(&s->below[i], below);
			note_side(&s->above[b->child], above);
		}
	return r;
}

/* by, below: who is on either side. 0 or -errno. */
static int hide_version(struct folding *f, uint32_t node, uint32_t by, uint32_t below)
{
	struct version_sort v;
	bool within = by && by != HIDDEN && by == below && f->w->group[by - 1];
	int r = store_version_sort(f->v->s, f->w->l.nodes[node].id, &v);
	bool own = r > 0 && v.kind == TERM_kind_regular && engine_own_file(v.path);
	own |= within && is_engine(f, by - 1);
	f->w->inside += within && !own;
	f->w->own += own;
	if (within || own)
		f->leader[node] = HIDDEN;
	return r < 0 ? r : 0;
}

/* Hides the versions that only one group has to do with. The first root stays. 0, -errno. */
static int hide_versions(struct folding *f)
{
	size_t n = f->v->l->n_nodes;
	struct sides s = {calloc(n + 1, sizeof(uint32_t)), calloc(n + 1, sizeof(uint32_t))};
	int r = s.above && s.below ? note_sides(f, &s) : -ENOMEM;
	for (uint32_t i = 1; i < n && r == 0; i++)
		if (!f->w->l.nodes[i].exec && f->from.shown[i])
			r = hide_version(f, i, s.above[i], s.below[i]);
	free(s.above);
	free(s.below);
	return r;
}

/* ---- branches ---- */

struct pair {
	uint32_t node;
	struct branch b;
};
struct pairs {
	struct pair *v;
	size_t n, cap;
	struct idmap known;
};

/* A branch from `node`. One that is there already becomes sure if this one is. 0, -ENOMEM. */
static int add_pair(struct folding *f, struct pairs *p, uint32_t node, const struct branch *b)
{
	bool is_new;
	const struct stage_group *g = stage_view_group(f->w, b->child);
	uint32_t *at = idmap_add(&p->known, hash_mix(node + 1, b->child + 1) | 1, (uint32_t)p->n, &is_new);
	if (!at || !vec_has_room(p->v, p->n, p->cap))
		return -ENOMEM;
	struct branch *to = &p->v[*at].b;
	if (is_new) {
		p->v[p->n++] = (struct pair){node, *b};
		to = &p->v[*at].b;
	}
	to->sure |= b->sure;
	if (b->sure && !to->e->e.sure)
		to->e = b->e;
	if (!*b->words || (g && g->kind == GROUP_STAGE))
		to->words = "";
	return 0;
}

/* Name of a version's file equals it? 1, 0, -errno. */
static int is_called(const struct folding *f, uint32_t node, struct str name)
{
	struct version_sort v;
	if (f->w->l.nodes[node].exec)
		return 0;
	int r = store_version_sort(f->v->s, f->w->l.nodes[node].id, &v);
	return r <= 0 ? r : v.kind == TERM_kind_regular && !engine_own_file(v.path) && str_eq(str_base_name(v.path), name);
}

/* Adds the branch, which is as sure as that at most, if it leads to a file of that name. 0, 1, -errno. */
static int add_called(struct folding *f, struct pairs *p, uint32_t node, struct branch b, struct str name, bool sure)
{
	int r = is_called(f, b.child, name);
	b.words = "";
	b.sure = b.sure && sure;
	return r > 0 ? add_pair(f, p, node, &b) : r;
}

/* Upwards: if the node copy is a script's copy that the engine made, adds branches to p from the node user, who ran
 * it, to the script itself: what the copy is derived from, and what the engine used under the script's name. above:
 * the branch from user to copy; a branch that is added is as sure as it at most. 0, also where copy is no such file;
 * -errno. */
static int join_script(struct folding *f, struct pairs *p, const struct branch *above, uint32_t user, uint32_t copy)
{
	struct version_sort v;
	char name[256];
	int r = store_version_sort(f->v->s, f->w->l.nodes[copy].id, &v);
	struct str script = r > 0 ? engine_copied_script(v.path) : (struct str){0};
	if (r <= 0 || !script.n || script.n >= sizeof(name))
		return r < 0 ? r : 0;
	memcpy(name, script.p, script.n);
	script = str_n(name, script.n);
	for (size_t k = f->from.first[copy]; k < f->from.first[copy + 1] && r >= 0; k++) {
		const struct branch *by = &f->from.branches[k];
		const bool sure = by->sure && above->sure;
		if (by->e->type == LINEAGE_DERIVED)
			r = add_called(f, p, user, *by, script, sure);
		for (size_t m = f->from.first[by->child]; is_engine(f, by->child) && m < f->from.first[by->child + 1] && r >= 0;
		     m++)
			r = add_called(f, p, user, f->from.branches[m], script, sure);
	}
	return r < 0 ? r : 0;
}

/* Downwards: if the branch leads to a copy of the node script that the engine made, adds branches to p from script to
 * who ran the copy. They are sure where sure is true and the branches to the copy and from it are. 0, -errno. */
static int join_users(struct folding *f, struct pairs *p, const struct branch *copy, uint32_t script, bool sure)
{
	struct version_sort v;
	char text[256];
	int r = f->w->l.nodes[copy->child].exec ? 0 : store_version_sort(f->v->s, f->w->l.nodes[copy->child].id, &v);
	struct str name = r > 0 ? engine_copied_script(v.path) : (struct str){0};
	if (r <= 0 || !name.n || name.n >= sizeof(text))
		return r < 0 ? r : 0;
	memcpy(text, name.p, name.n);
	r = is_called(f, script, str_n(text, name.n));
	for (size_t m = f->from.first[copy->child]; r > 0 && m < f->from.first[copy->child + 1]; m++) {
		struct branch b = f->from.branches[m];
		b.child = f->leader[b.child];
		b.sure = b.sure && copy->sure && sure;
		if (b.child != HIDDEN && add_pair(f, p, script, &b) < 0)
			return -ENOMEM;
	}
	return r < 0 ? r : 0;
}

/* Calls join_users for each copy of the node script that the node engine made. above: the branch from script to
 * engine. 0, -errno. */
static int join_script_down(struct folding *f, struct pairs *p, const struct branch *above, uint32_t engine,
                            uint32_t script)
{
	int r = 0;
	for (size_t k = f->from.first[engine]; k < f->from.first[engine + 1] && r >= 0; k++)
		r = join_users(f, p, &f->from.branches[k], script, above->sure);
	return r;
}

/* What an engine made for a job by itself is the job's. *child: the engine, and then the job. 0, -errno. */
static int redirect_made(struct folding *f, uint32_t node, uint32_t *child)
{
	uint32_t exec = f->up ? *child : node, version = f->up ? node : *child, stage;
	if (!is_engine(f, exec) || f->w->l.nodes[version].exec)
		return 0;
	store_id engine = f->w->groups[f->w->group[exec] - 1].key;
	int r = stages_made_for(f->st, engine, f->w->l.nodes[version].id, &stage);
	return r > 0 && f->up ? add_node(f, GROUP_STAGE, stage, engine, child) : r < 0 ? r : 0;
}

#define FILE_TIME_GRAIN 10000000 /* ns: of a kernel with 100 ticks a second */

/* Where a part opened the file and a later one closed it, that may have written, too: noted. A close is seen late; who
 * writes later than the time of modification changes that, and its clock has a grain. 0 or -errno. */
static int note_late_writer(struct folding *f, uint32_t node, const struct branch *from)
{
	const struct stage_cells *c = &f->w->cells;
	uint32_t exec = f->up ? from->child : node, version = f->up ? node : from->child;
	store_id id = f->w->l.nodes[exec].id;
	struct version_info v;
	if (from->e->type != LINEAGE_GENERATED || !stage_cells_has(c, id))
		return 0;
	int r = store_version(f->v->s, f->w->l.nodes[version].id, &v);
	int64_t until = from->e->e.hi;
	if (r > 0 && v.mtime != TIME_NONE && v.mtime + FILE_TIME_GRAIN < until)
		until = v.mtime + FILE_TIME_GRAIN;
	struct late_writer *one = r < 0 ? NULL : vec_add(&f->late);
	if (!one)
		return r < 0 ? r : -ENOMEM;
	*one = (struct late_writer){.from = from,
	                            .version = version,
	                            .first = stage_cells_at(c, id, from->e->e.lo),
	                            .last = stage_cells_at(c, id, until)};
	return 0;
}

/* The node of a part, if it has edges of its own. */
static const uint32_t *cell_group(const struct folding *f, size_t cell)
{
	return idmap_find(&f->known, hash_mix(GROUP_CELL + 1, cell) | 1);
}

/* The last part with an edge, of those in which the file was open, may have written it; parts before that are linked to
 * it. 0, -ENOMEM. */
static int add_late_writers(struct folding *f, struct pairs *p)
{
	int r = 0;
	for (size_t i = 0; i < f->late.n && r == 0; i++) {
		const struct late_writer *w = &f->late.v[i];
		uint32_t at = w->last;
		while (at != STAGE_NO_CELL && at != w->first && !cell_group(f, at))
			at = at && f->w->cells.v.v[at - 1].exec == f->w->cells.v.v[at].exec ? at - 1 : STAGE_NO_CELL;
		if (at == STAGE_NO_CELL || at == w->first || f->leader[w->version] == HIDDEN)
			continue;
		struct branch b = *w->from;
		uint32_t part = f->w->groups[*cell_group(f, at) - 1].node;
		b.sure = false;
		b.child = f->up ? part : f->leader[w->version];
		r = add_pair(f, p, f->up ? f->leader[w->version] : part, &b);
	}
	return r;
}

/* A program that tells of no parts made a version that is shown: its stage makes something itself. */
static void note_maker(struct folding *f, uint32_t exec, uint32_t version, const struct branch *b)
{
	if (b->e->type == LINEAGE_GENERATED && f->leader[version] != HIDDEN && f->w->group[exec] &&
	    !stage_cells_has(&f->w->cells, f->w->l.nodes[exec].id))
		f->w->groups[f->w->group[exec] - 1].makes = true;
}

/* Puts what a branch of the walk is between the groups into p; nothing where it lies within one or is hidden. 0,
 * -errno. */
static int add_branch(struct folding *f, struct pairs *p, uint32_t node, const struct branch *from)
{
	struct branch b = *from;
	uint32_t leader;
	int r = redirect_made(f, node, &b.child);
	r = r < 0 ? r : shown_as(f, node, from->e, &leader);
	r = r < 0 ? r : note_late_writer(f, node, from);
	if (r < 0 || leader == HIDDEN)
		return r;
	note_maker(f, f->up ? b.child : node, f->up ? node : b.child, from);
	if (f->up && f->leader[b.child] == HIDDEN && !f->w->l.nodes[b.child].exec)
		return join_script(f, p, from, leader, b.child);
	if (!f->up && from->e->type == LINEAGE_DERIVED && f->leader[b.child] == HIDDEN)
		return join_users(f, p, from, node, true);
	if (!f->up && is_engine(f, b.child)) {
		r = join_script_down(f, p, from, b.child, node);
		if (r < 0)
			return r;
	}
	r = shown_as(f, b.child, from->e, &b.child);
	return r < 0 || b.child == HIDDEN || b.child == leader ? r : add_pair(f, p, leader, &b);
}

/* Adds an edge between two parts of one program: from one node to another that is before it in the same program:
 * what the earlier one had, the later one may have. cell: that one of the two. 0, -ENOMEM. */
static int add_link(struct folding *f, struct pairs *p, uint32_t later, uint32_t earlier, const struct stage_cell *cell,
                    const char *words, struct lineage_edge *link)
{
	*link = (struct lineage_edge){.type = LINEAGE_INFORMED,
	                              .e = {.via = TERM_via_data, .lo = cell->start, .hi = cell->end}};
	struct branch b = {.child = f->up ? earlier : later, .words = f->up ? words : "then ", .e = link};
	return add_pair(f, p, f->up ? later : earlier, &b);
}

/* The parts of program node i that have edges, one after the other; the first comes from the program itself. What other
 * programs of its stage made, as nbconvert the notebook that was run, may have something of all parts. 0, -errno. */
static int link_cells(struct folding *f, struct pairs *p, uint32_t i)
{
	const struct stage_cells *c = &f->w->cells;
	uint32_t self = f->leader[i], before = self;
	const struct stage_cell *last = NULL;
	size_t k = *idmap_find(&c->first, f->w->l.nodes[i].id) - 1;
	int r = 0;
	for (; k < c->v.n && c->v.v[k].exec == f->w->l.nodes[i].id && r == 0; k++) {
		const uint32_t *group = cell_group(f, k);
		if (!group)
			continue;
		uint32_t node = f->w->groups[*group - 1].node;
		last = &c->v.v[k];
		if (before != HIDDEN && before != node)
			r = add_link(f, p, node, before, last, before == self ? "in " : "after ", &f->w->links[k]);
		before = node;
	}
	if (r == 0 && last && f->w->group[self] && f->w->groups[f->w->group[self] - 1].makes)
		r = add_link(f, p, self, before, last, "after ", &f->w->links[c->v.n + (size_t)(last - c->v.v)]);
	return r;
}

/* The parts of each program once; none where only what is certain is asked for. 0, -errno. */
static int add_links(struct folding *f, struct pairs *p)
{
	struct idmap done = {0};
	bool is_new = false;
	int r = 0;
	for (uint32_t i = 0; i < f->v->l->n_nodes && r == 0 && !f->v->options->certain; i++) {
		const struct lineage_node *n = &f->w->l.nodes[i];
		if (!n->exec || !stage_cells_has(&f->w->cells, n->id))
			continue;
		if (!idmap_add(&done, n->id, 1, &is_new))
			r = -ENOMEM;
		else if (is_new)
			r = link_cells(f, p, i);
	}
	idmap_release(&done);
	return r;
}

/* Order of qsort. */
static int by_node(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;
	return a->node != b->node ? (a->node > b->node) - (a->node < b->node)
	                          : (a->b.child > b->b.child) - (a->b.child < b->b.child);
}

/* Is there nothing in the version? Not known: there may be something. */
static bool is_empty(const struct folding *f, uint32_t node)
{
	struct version_info v;
	return !f->w->l.nodes[node].exec && store_version(f->v->s, f->w->l.nodes[node].id, &v) > 0 && v.has_size && !v.size;
}

/* An engine from which nothing more comes is where its own files ended; what it may have printed somewhere is nothing,
 * nor is what it only touched. */
static bool is_bare_engine(const struct folding *f, const struct pairs *p, uint32_t node)
{
	size_t lo = 0, hi = p->n;
	if (f->up || !is_engine(f, node))
		return false;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (p->v[mid].node < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->n && p->v[lo].node == node; lo++)
		if (p->v[lo].b.sure || (p->v[lo].b.e->e.via != TERM_via_descriptor && !is_empty(f, p->v[lo].b.child)))
			return false;
	return true;
}

/* Allocates arrays for the nodes and so many branches. False: no memory; what could be had is in ret. */
static bool alloc_shape(const struct folding *f, size_t branches, struct shape *ret)
{
	size_t n = f->w->l.n_nodes + 2;
	*ret = (struct shape){.branches = calloc(branches + 1, sizeof(*ret->branches)),
	                      .first = calloc(n, sizeof(*ret->first)),
	                      .shown = calloc(n, sizeof(*ret->shown)),
	                      .rep = calloc(n, sizeof(*ret->rep)),
	                      .members = calloc(n, sizeof(*ret->members)),
	                      .ranks = calloc(n, sizeof(*ret->ranks)),
	                      .held = f->from.held,
	                      .folded = f->from.folded};
	return ret->branches && ret->first && ret->shown && ret->rep && ret->members && ret->ranks;
}

/* Makes the shape of the view from the pairs of node and branch, which it sorts; what an engine alone would add is
 * left out. 0, -ENOMEM. */
static int fill_shape(struct folding *f, struct pairs *p)
{
	size_t nodes = f->w->l.n_nodes, n = 0;
	struct shape *s = &f->w->shape;
	uint32_t *queue = calloc(nodes + 1, sizeof(*queue));
	if (!alloc_shape(f, p->n, s) || !queue) {
		free(queue);
		return -ENOMEM;
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_node);
	for (size_t i = 0, k = 0; i <= nodes; i++) {
		s->first[i] = n;
		for (; k < p->n && p->v[k].node == i; k++)
			if (!is_bare_engine(f, p, p->v[k].b.child))
				s->branches[n++] = p->v[k].b;
		if (i >= f->v->l->n_nodes || f->w->group[i])
			continue;
		s->rep[i] = f->from.rep[i];
		s->members[i] = f->from.members[i];
		s->ranks[i] = f->from.ranks[i];
	}
	shape_mark_shown(&f->w->l, s, queue);
	free(queue);
	return 0;
}

/* Makes the view's shape from that of the walk. 0, -errno. */
static int add_branches(struct folding *f)
{
	struct pairs p = {0};
	int r = 0;
	for (uint32_t i = 0; i < f->v->l->n_nodes && r == 0; i++)
		for (size_t k = f->from.first[i]; f->from.shown[i] && k < f->from.first[i + 1] && r == 0; k++)
			r = add_branch(f, &p, i, &f->from.branches[k]);
	if (r == 0)
		r = add_late_writers(f, &p);
	if (r == 0)
		r = add_links(f, &p);
	if (r == 0)
		r = fill_shape(f, &p);
	free(p.v);
	idmap_release(&p.known);
	return r;
}

/* ---- the view ---- */

int stage_view_make(const struct shape_of *v, struct stages *st, struct stage_view *ret)
{
	size_t n = v->l->n_nodes;
	struct folding f = {.v = v, .st = st, .w = ret, .up = v->options->direction == LINEAGE_UP};
	*ret = (struct stage_view){.s = v->s, .st = st, .l = *v->l, .own = v->l->omitted[OMIT_engine]};
	ret->l.nodes = NULL;
	int r = stage_cells_load(v->s, v->l, &ret->cells);
	if (r < 0)
		return r;
	f.cap_nodes = 2 * n + 1 + ret->cells.v.n;
	ret->links = calloc(2 * ret->cells.v.n + 1, sizeof(*ret->links));
	ret->l.nodes = calloc(f.cap_nodes, sizeof(*ret->l.nodes));
	ret->group = calloc(f.cap_nodes, sizeof(*ret->group));
	f.leader = calloc(f.cap_nodes, sizeof(*f.leader));
	f.next = calloc(f.cap_nodes, sizeof(*f.next));
	r = ret->links && ret->l.nodes && ret->group && f.leader && f.next ? shape_make(v, &f.from) : -ENOMEM;
	if (r == 0) {
		memcpy(ret->l.nodes, v->l->nodes, n * sizeof(*v->l->nodes));
		r = find_groups(&f);
	}
	if (r == 0)
		r = hide_versions(&f);
	if (r == 0)
		r = add_branches(&f);
	if (f.from.first)
		shape_release(&f.from);
	idmap_release(&f.known);
	vec_release(&f.late);
	free(f.leader);
	free(f.next);
	return r;
}

/* w is empty then; the walk that it is of stays. */
void stage_view_release(struct stage_view *w)
{
	stage_cells_release(&w->cells);
	free(w->links);
	free(w->l.nodes);
	free(w->groups);
	free(w->group);
	if (w->shape.first)
		shape_release(&w->shape);
	*w = (struct stage_view){0};
}

const struct stage_group *stage_view_group(const struct stage_view *w, uint32_t node)
{
	return w->group[node] ? &w->groups[w->group[node] - 1] : NULL;
}

const struct stage *stage_view_stage(const struct stage_view *w, uint32_t node)
{
	const struct stage_group *g = stage_view_group(w, node);
	return g && g->kind == GROUP_STAGE ? stages_get(w->st, (uint32_t)g->key) : NULL;
}

const struct stage_cell *stage_view_cell(const struct stage_view *w, uint32_t node)
{
	const struct stage_group *g = stage_view_group(w, node);
	return g && g->kind == GROUP_CELL ? &w->cells.v.v[g->key] : NULL;
}

const struct stage *stage_view_notebook(const struct stage_view *w, const struct stage_cell *cell)
{
	uint32_t stage;
	const struct stage *g = stages_find(w->st, cell->exec, &stage) > 0 ? stages_get(w->st, stage) : NULL;
	return g && g->kind == STAGE_NOTEBOOK ? g : NULL;
}

int stage_view_cost(const struct stage_view *w, uint32_t node, const store_id *execs, size_t n, struct stage_cost *ret)
{
	const struct stage_cell *c = stage_view_cell(w, node);
	int r = stage_cost(w->s, execs, n, ret);
	if (r < 0 || !c)
		return r;
	const struct stage_figure unknown = {.known = false, .whole = false};
	ret->start = c->start;
	if (c->end != TIME_NEVER) /* else it ends with the program */
		ret->end = c->end;
	ret->cpu = ret->rss = ret->read_bytes = ret->write_bytes = unknown; /* the kernel counts for processes */
	return 0;
}

int stage_view_execs(const struct stage_view *w, uint32_t node, store_id **ret, size_t *ret_n)
{
	const struct stage *g = stage_view_stage(w, node);
	const struct stage_cell *cell = stage_view_cell(w, node);
	size_t n = 0;
	*ret = calloc((g ? g->n_execs : w->l.n_nodes) + 2, sizeof(**ret));
	*ret_n = 0;
	if (!*ret)
		return -ENOMEM;
	if (g) {
		n = g->n_execs;
		if (n)
			memcpy(*ret, g->execs, n * sizeof(**ret));
	} else if (!w->group[node]) {
		(*ret)[n++] = w->shape.rep[node] ? w->shape.rep[node] : w->l.nodes[node].id;
	}
	if (cell)
		(*ret)[n++] = cell->exec;
	for (size_t i = 0; !g && w->group[node] && i < w->l.n_nodes; i++)
		if (w->group[i] == w->group[node] && !(cell && w->l.nodes[i].id == cell->exec))
			(*ret)[n++] = w->l.nodes[i].id;
	*ret_n = n;
	return 0;
}
