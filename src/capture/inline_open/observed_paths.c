#include "capture/inline_open/observed_paths.h"

#include <string.h>
#include <xxhash.h>

/* Of a path as this process names it; never 0. */
uint64_t observed_hash(const struct proc *p, const char *path, uint32_t length, bool nofollow)
{
	uint64_t hash = XXH3_64bits_withSeed(path, length, (uint64_t)p->pid << 1 | nofollow);
	return hash ? hash : 1;
}

struct observed *observed_find(struct observed_table *t, const struct proc *p, const char *path, uint32_t length,
                               bool nofollow, uint64_t hash)
{
	size_t from = hash % OBSERVED_MAX;
	for (size_t i = from; i < from + OBSERVED_PROBES; i++) {
		struct observed *m = &t->observed[i];
		if (t->hash[i] == hash && m->proc == p && m->nofollow == nofollow && m->length == length &&
		    !memcmp(observed_path(t, m), path, length))
			return m;
	}
	return NULL;
}

struct observed *observed_add(struct observed_table *t, const struct observed *m, const char *path, uint64_t hash)
{
	size_t i = hash % OBSERVED_MAX, end = i + OBSERVED_PROBES, at = t->text.n;
	while (i < end && t->hash[i])
		i++;
	if (i == end)
		return NULL;
	buf_add(&t->text, path, m->length);
	if (t->text.n != at + m->length)
		return NULL;
	t->hash[i] = hash;
	t->observed[i] = *m;
	t->observed[i].path = at;
	if (m->what.file)
		m->what.file->pins++;
	t->used[t->nused++] = (uint16_t)i;

	return &t->observed[i];
}

void observed_forget(struct sup *s, struct observed_table *t, bool all)
{
	size_t n = 0;
	for (size_t k = 0; k < t->nused; k++) {
		size_t i = t->used[k];
		struct file *f = t->observed[i].what.file;
		if (!all && t->observed[i].kept) {
			t->used[n++] = (uint16_t)i;
			continue;
		}
		t->hash[i] = 0;
		if (f) {
			f->pins--;
			file_drop(s, f);
		}
	}
	t->nused = n;
	if (!n)
		t->text.n = 0;
}
