#include "cmd/lineage/lineage_repeats.h"

#include "answer/entities.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "query/idmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* r is empty then. */
void repeats_release(struct repeats *r)
{
	free(r->count);
	free(r->last);
	*r = (struct repeats){0};
}

/* ".h" of "src/a.h@{1}"; where it has no suffix the name without its digits. */
static uint64_t file_kind(const char *name)
{
	struct str base = str_base_name(str_n(name, strcspn(name, "@")));
	const char *dot = base.n > 1 ? memrchr(base.p + 1, '.', base.n - 1) : NULL;
	uint64_t h = 1;
	if (dot)
		return hash_str(str_n(dot, (size_t)(base.p + base.n - dot)));
	for (size_t i = 0; i < base.n; i++)
		if (!isdigit((unsigned char)base.p[i]))
			h = hash_mix(h, (unsigned char)base.p[i]);
	return h;
}

/* What a branch is one of: an execution by its program, a file by its suffix and by what made it. */
static uint64_t branch_kind(const struct shape *s, const struct lineage *l, repeats_name *name, void *arg,
                            const struct branch *b)
{
	uint64_t h = hash_mix(hash_str(str_of(b->words)), (uint64_t)b->sure << 1 | l->nodes[b->child].exec);
	if (l->nodes[b->child].exec)
		return hash_mix(h, hash_str(command_kind(name(arg, b->child))));
	h = hash_mix(h, file_kind(name(arg, b->child)));
	for (size_t k = s->first[b->child]; k < s->first[b->child + 1]; k++)
		if (l->nodes[s->branches[k].child].exec)
			return hash_mix(h, hash_str(command_kind(name(arg, s->branches[k].child))));
	return h;
}

/* The branches of one node; kind is beside the branches. ret->count and ret->last of those branches. 0, -ENOMEM. */
static int fold_branches(size_t first, size_t end, const uint64_t *kind, struct repeats *ret)
{
	struct idmap counts = {0}, seen = {0}, folded = {0};
	bool is_new;
	int r = 0;
	for (size_t k = first; k < end && r == 0; k++) {
		uint32_t *n = idmap_add(&counts, kind[k] | 1, 0, &is_new);
		r = n ? 0 : -ENOMEM;
		if (n)
			++*n;
	}
	for (size_t k = first; k < end && r == 0; k++) {
		uint32_t all = *idmap_find(&counts, kind[k] | 1);
		if (all < REPEATS_SHOWN + REPEATS_FOLDED)
			continue;
		uint32_t *n = idmap_add(&seen, kind[k] | 1, 0, &is_new);
		if (!n) {
			r = -ENOMEM;
			break;
		}
		if (++*n == REPEATS_SHOWN + 1) {
			ret->count[k] = all - REPEATS_SHOWN;
			ret->last[k] = k;
			r = idmap_add(&folded, kind[k] | 1, (uint32_t)(k - first), &is_new) ? 0 : -ENOMEM;
		} else if (*n > REPEATS_SHOWN) {
			ret->count[k] = REPEATS_HIDDEN;
			ret->last[first + *idmap_find(&folded, kind[k] | 1)] = k;
		}
	}
	idmap_release(&counts);
	idmap_release(&seen);
	idmap_release(&folded);
	return r;
}

int repeats_find(const struct shape *s, const struct lineage *l, repeats_name *name, void *arg, bool all,
                 struct repeats *ret)
{
	size_t n = s->first[l->n_nodes];
	uint64_t *kind = calloc(n + 1, sizeof(*kind));
	*ret = (struct repeats){calloc(n + 1, sizeof(*ret->count)), calloc(n + 1, sizeof(*ret->last))};
	int r = kind && ret->count && ret->last ? 0 : -ENOMEM;
	for (size_t i = 0; i < l->n_nodes && r == 0 && !all; i++) {
		if (s->first[i + 1] - s->first[i] < REPEATS_SHOWN + REPEATS_FOLDED || !s->shown[i])
			continue;
		for (size_t k = s->first[i]; k < s->first[i + 1]; k++)
			kind[k] = branch_kind(s, l, name, arg, &s->branches[k]);
		r = fold_branches(s->first[i], s->first[i + 1], kind, ret);
	}
	free(kind);
	return r;
}
