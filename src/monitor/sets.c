#include "monitor/sets.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* s is empty then. */
void sets_release(struct sets *s)
{
	free(s->member);
	memset(s, 0, sizeof(*s));
}

/* Raises the heights of one set to those of another. Of each height the larger. */
static void raise_heights(uint64_t into[SET_HEIGHTS], const uint64_t of[SET_HEIGHTS])
{
	for (int k = 0; k < SET_HEIGHTS; k++)
		if (of[k] > into[k])
			into[k] = of[k];
}

/* Adds figures of one process to those of several. */
static void add_heights(uint64_t into[SET_HEIGHTS], const uint64_t of[SET_HEIGHTS])
{
	for (int k = 0; k < SET_HEIGHTS; k++)
		into[k] += of[k];
}

int sets_begin(struct sets *s, uint64_t id, int64_t start)
{
	if (!vec_has_room(s->member, s->n, s->cap))
		return -ENOMEM;
	size_t at = s->n;
	while (at > 0 && s->member[at - 1].start > start)
		at--;
	struct sets_member *m = &s->member[at];
	memmove(m + 1, m, (s->n - at) * sizeof(*m));
	s->n++;
	*m = (struct sets_member){.id = id, .start = start};
	/* It cuts a stretch in two; where in it the most of those that ended was is not known. */
	if (start < s->last_end)
		memcpy(m->ended, at ? m[-1].ended : s->before, sizeof(m->ended));
	return 0;
}

/* The member with that id. NULL: none of that id. */
static struct sets_member *find_sets_member(const struct sets *s, uint64_t id)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->member[i].id == id)
			return &s->member[i];
	return NULL;
}

void sets_raise(struct sets *s, uint64_t id, const uint64_t height[SET_HEIGHTS])
{
	struct sets_member *m = find_sets_member(s, id);
	if (m)
		raise_heights(m->height, height);
}

/* end: ns. Nothing if it is not in the set. */
void sets_end(struct sets *s, uint64_t id, int64_t end)
{
	struct sets_member *m = find_sets_member(s, id);
	if (!m)
		return;
	if (end > s->last_end)
		s->last_end = end;
	size_t at = (size_t)(m - s->member);
	uint64_t height[SET_HEIGHTS], ended[SET_HEIGHTS];
	memcpy(height, m->height, sizeof(height));
	for (size_t i = at; i < s->n; i++)
		add_heights(s->member[i].ended, height);
	memcpy(ended, m->ended, sizeof(ended));
	raise_heights(at ? m[-1].ended : s->before, ended);
	memmove(m, m + 1, (s->n - at - 1) * sizeof(*m));
	s->n--;
}

void sets_peak(const struct sets *s, uint64_t ret[SET_HEIGHTS])
{
	uint64_t alive[SET_HEIGHTS] = {0}, sum[SET_HEIGHTS];
	memcpy(ret, s->before, sizeof(s->before));
	for (size_t i = 0; i < s->n; i++) {
		add_heights(alive, s->member[i].height);
		memcpy(sum, alive, sizeof(sum));
		add_heights(sum, s->member[i].ended);
		raise_heights(ret, sum);
	}
}
