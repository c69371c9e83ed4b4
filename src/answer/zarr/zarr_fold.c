#include "answer/zarr/zarr_fold.h"

#include "base/map.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fold {
	const struct lineage *l;
	const struct shape *from;
	uint32_t *leader, *next;
	struct shape *ret;
	uint32_t *met;       /* of each node: the last one that it was counted for, from 1 */
	uint64_t *above;     /* of each version: who leads to it, whatever their order */
	struct idmap groups; /* array and makers -> leader */
	struct idmap chunks; /* leader and chunk */
};

/* Who made the version, as they are shown, whatever their order: those that cannot be told apart from it are equal. */
static uint64_t makers_of(struct fold *f, uint32_t node)
{
	uint64_t sum = 0;
	for (size_t k = f->from->first[node]; k < f->from->first[node + 1]; k++) {
		const struct branch *b = &f->from->branches[k];
		const uint32_t by = f->leader[b->child];
		if (by == UINT32_MAX || !f->l->nodes[b->child].exec || f->met[by] == node + 1)
			continue;
		f->met[by] = node + 1;
		sum += hash_mix((uint64_t)by << 1 | b->sure, 0x7a617272);
	}
	return sum;
}

/* Sums up who leads to each version. */
static void find_above(struct fold *f)
{
	for (uint32_t i = 0; i < f->l->n_nodes; i++) {
		if (f->leader[i] != i || !f->l->nodes[i].exec)
			continue;
		for (uint32_t j = i;; j = f->next[j]) {
			for (size_t k = f->from->first[j]; k < f->from->first[j + 1]; k++) {
				const struct branch *b = &f->from->branches[k];
				if (f->met[b->child] != i + 1)
					f->above[b->child] += hash_mix((uint64_t)i << 1 | b->sure, 0x61626f76);
				f->met[b->child] = i + 1;
			}
			if (!f->next[j])
				break;
		}
	}
	memset(f->met, 0, (f->l->n_nodes + 1) * sizeof(*f->met));
}

/* Puts the version in the group of those of one array that the same executions made; the first that comes leads it. 0,
 * -ENOMEM. */
static int add_part(struct fold *f, uint32_t node, const struct zarr_part *p)
{
	bool is_new;
	const uint64_t key = hash_mix(hash_mix(makers_of(f, node), f->above[node]), p->node);
	const uint32_t *at = idmap_add(&f->groups, key | 1, node, &is_new);
	if (!at)
		return -ENOMEM;
	const uint32_t first = *at;
	struct zarr_count *count = &f->ret->parts[first];
	if (is_new) {
		f->ret->array[node] = p->node + 1;
	} else {
		f->ret->array[node] = ZARR_MEMBER;
		f->leader[node] = first;
		f->next[node] = f->next[first];
		f->next[first] = node;
	}
	if (!p->chunk)
		return 0;
	if (!idmap_add(&f->chunks, hash_mix(p->key, first) | 1, 1, &is_new))
		return -ENOMEM;
	count->chunks += is_new;
	count->outside |= !p->inside;
	return 0;
}

int zarr_fold(struct store *s, const struct lineage *l, const struct shape *from, uint32_t *leader, uint32_t *next,
              struct shape *ret)
{
	struct fold f = {.l = l, .from = from, .leader = leader, .next = next, .ret = ret};
	f.met = calloc(l->n_nodes + 1, sizeof(*f.met));
	f.above = calloc(l->n_nodes + 1, sizeof(*f.above));
	ret->array = calloc(l->n_nodes + 1, sizeof(*ret->array));
	ret->parts = calloc(l->n_nodes + 1, sizeof(*ret->parts));
	int r = f.met && f.above && ret->array && ret->parts ? zarr_new(s, &ret->zarr) : -ENOMEM;
	if (r == 0)
		find_above(&f);
	for (uint32_t i = 0; i < l->n_nodes && r == 0; i++) {
		struct zarr_part p;
		if (l->nodes[i].exec || !from->shown[i] || leader[i] != i)
			continue;
		r = zarr_part_of_version(ret->zarr, l->nodes[i].id, &p);
		if (r > 0)
			r = add_part(&f, i, &p);
	}
	free(f.met);
	free(f.above);
	idmap_release(&f.groups);
	idmap_release(&f.chunks);
	return r;
}
