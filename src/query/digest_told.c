#include "query/digest_told.h"

int digest_told(struct store *s, const struct version_info *v, const struct file_info *f, char ret[DIGEST_TEXT])
{
	struct event_digest like = {.domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	struct reported_list l = {0};
	const struct event_digest *found = NULL;
	if (!v->has_size)
		return 0;
	int rc = store_digests(s, &like, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		const struct event_digest *d = &l.v[i].ev.digest;
		if (d->ino == f->ino && d->gen == f->gen && str_eq(d->domain, f->domain) && d->size == v->size &&
		    d->mtime == v->mtime && d->digest.n && d->digest.n < DIGEST_TEXT)
			found = d;
	}
	if (found) {
		memcpy(ret, found->digest.p, found->digest.n);
		ret[found->digest.n] = '\0';
	}
	reported_list_release(&l);
	return rc < 0 ? rc : found != NULL;
}
