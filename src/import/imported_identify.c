/* imported_identify.c - what several accesses say together: which of them follow from others, which one made a version,
 * which one ended it, and which one found a file changed. */
#include "import/imported.h"

#include <stdlib.h>

/* Hashes an access. For accesses of the same file by the same activity in the same time. */
static uint32_t span_hash(const struct imported *t, const struct imported_access *a)
{
	return doc_hash(hash_mix(t->versions.v[a->version].file, a->activity), (uint64_t)a->lo, (uint64_t)a->hi);
}

/* Are both accesses of the same file, activity and bounds of time: one access that was written twice. */
static bool same_span(const struct imported *t, const struct imported_access *a, const struct imported_access *b)
{
	return a->activity == b->activity && a->lo == b->lo && a->hi == b->hi &&
	       t->versions.v[a->version].file == t->versions.v[b->version].file;
}

/* Does a use follow from another access of the same span? That which reads and writes is told as a generation, too;
 * that which used what overlapped it as several uses, of which the one that does not say so stands for all. */
static bool follows_other_access(const struct imported *t, const struct table *spans, uint32_t i)
{
	const struct imported_access *a = &t->accesses.v[i];
	uint32_t k, hash = span_hash(t, a);
	for (size_t pos = TABLE_START; (k = table_next(spans, hash, &pos)) != VEC_NONE;) {
		const struct imported_access *b = &t->accesses.v[k];
		if (k == i || !same_span(t, a, b))
			continue;
		bool plain = b->via != TERM_via_overlap;
		if (b->write ? (b->mode & ACCESS_READ) != 0 : a->via == TERM_via_overlap ? plain || k < i : plain && k < i)
			return true;
	}
	return false;
}

bool imported_drop_uses(struct imported *t)
{
	struct table spans = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && i < t->accesses.n; i++) {
		const struct imported_access *a = &t->accesses.v[i];
		bool regular = imported_regular(t, a->version);
		if (!a->foreign && regular && (!a->write || a->mode & ACCESS_READ))
			ok = table_add(&spans, span_hash(t, a), i);
	}
	for (size_t x = 0; ok && spans.slot && x < t->activities.n; x++) {
		uint32_t *at = &t->activities.v[x].first;
		while (*at != VEC_NONE) {
			struct imported_access *a = &t->accesses.v[*at];
			bool regular = imported_regular(t, a->version);
			a->dropped = !a->foreign && !a->write && regular && follows_other_access(t, &spans, *at);
			if (a->dropped)
				*at = a->next;
			else
				at = &a->next;
		}
	}
	table_release(&spans);
	return ok;
}

/* Hashes a file and a time. For finding what happened to a file at a time. */
static uint32_t file_time_hash(uint32_t file, int64_t at)
{
	return doc_hash(file, (uint64_t)at, 0);
}

/* Does any of the accesses that began when the version did see it? *ret_write, only where none did: one of them that
 * wrote; where none wrote it stays as it is. */
static bool was_found_by_use(const struct imported *t, const struct table *found, uint32_t version, uint32_t *ret_write)
{
	const struct imported_version *v = &t->versions.v[version];
	bool used = false;
	uint32_t i;
	for (size_t pos = TABLE_START;
	     !used && (i = table_next(found, file_time_hash(v->file, v->start), &pos)) != VEC_NONE;) {
		const struct imported_access *a = &t->accesses.v[i];
		if (a->lo != v->start || t->versions.v[a->version].file != v->file)
			continue;
		used = a->state == version;
		*ret_write = a->write ? i : *ret_write;
	}
	return used;
}

/* A version that nobody was seen to write was found by an access that began then: where no use of it did, by a write.
 * false: no memory. */
static bool find_changes(struct imported *t)
{
	struct table found = {0};
	bool ok = true;
	for (uint32_t x = 0; ok && x < t->activities.n; x++)
		for (uint32_t i = t->activities.v[x].first; ok && i != VEC_NONE; i = t->accesses.v[i].next) {
			const struct imported_access *a = &t->accesses.v[i];
			if (!a->foreign)
				ok = table_add(&found, file_time_hash(t->versions.v[a->version].file, a->lo), i);
		}
	for (uint32_t k = 0; ok && k < t->versions.n; k++) {
		const struct imported_version *v = &t->versions.v[k];
		uint32_t write = VEC_NONE;
		if (!v->own || v->by_event || !v->unobserved_size || !imported_regular(t, k))
			continue;
		if (!was_found_by_use(t, &found, k, &write) && write != VEC_NONE)
			t->accesses.v[write].state = k;
	}
	table_release(&found);
	return ok;
}

/* Of a version's accesses, by version: the place of the one that made it, and of the one that ended it; VEC_NONE. */
struct ends {
	uint32_t *first, *last;
};

/* Takes access i into account for its version: the first write, in e->first, and the write that ended last, in e->last.
 * */
static void find_ends(const struct imported *t, struct ends *e, uint32_t i)
{
	const struct imported_access *a = &t->accesses.v[i];
	uint32_t *best = &e->first[a->version];
	const struct imported_access *b = *best == VEC_NONE ? NULL : &t->accesses.v[*best];
	bool earlier = !b || a->lo < b->lo || (a->lo == b->lo && a->write && !b->write);
	if ((a->write || !imported_regular(t, a->version)) && earlier)
		*best = i;
	best = &e->last[a->version];
	b = *best == VEC_NONE ? NULL : &t->accesses.v[*best];
	if (a->write && (!b || a->hi == TIME_NONE || (b->hi != TIME_NONE && a->hi >= b->hi)))
		*best = i;
}

/* The access saw the version that it names, if nothing else can be meant. Only of regular files. */
static void take_state(const struct imported *t, struct imported_access *a)
{
	const struct imported_version *v = &t->versions.v[a->version];
	if (!imported_regular(t, a->version))
		return;
	/* It saw the content that it used, where nothing else could be meant. */
	if (!a->write && !a->foreign && v->own && v->unobserved_size && a->via != TERM_via_overlap)
		a->state = a->version;
	if (a->via == TERM_via_overlap)
		a->via = TERM_via_data; /* found anew */
}

int imported_identify(struct imported *t)
{
	size_t n = t->versions.n;
	struct ends e = {malloc((n + 1) * sizeof(*e.first)), malloc((n + 1) * sizeof(*e.last))};
	bool ok = e.first && e.last;
	for (size_t i = 0; ok && i < n; i++)
		e.first[i] = e.last[i] = VEC_NONE;
	for (uint32_t i = 0; ok && i < t->accesses.n; i++) {
		if (t->accesses.v[i].dropped)
			continue;
		find_ends(t, &e, i);
		take_state(t, &t->accesses.v[i]);
	}
	for (size_t i = 0; ok && i < n; i++) {
		if (e.first[i] != VEC_NONE && t->versions.v[i].by_event)
			t->accesses.v[e.first[i]].first = true;
		if (e.last[i] != VEC_NONE && t->versions.v[i].unobserved_size)
			t->accesses.v[e.last[i]].closes = true;
	}
	free(e.first);
	free(e.last);
	return ok && find_changes(t) ? 0 : imported_oom(t);
}
