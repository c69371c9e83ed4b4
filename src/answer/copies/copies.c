#include "answer/copies/copies.h"

#include "answer/copies/stamp.h"
#include "answer/entities.h"
#include "base/os/still.h"
#include "trust/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSIONS_MAX 1000 /* of one file that are looked through, from the latest */

/* The version of that size and time of the file that the event is of. 1, 0, -errno. */
static int version_of_digest(struct store *s, const struct event_digest *d, struct version_info *ret)
{
	store_id file, id;
	struct file_info f;
	int r = store_file_by_identity(s, d->domain, d->ino, d->gen, &file);
	if (r > 0)
		r = store_file(s, file, &f);
	uint64_t last = r > 0 ? f.versions : 0;
	for (uint64_t n = last; r > 0 && n > 0 && last - n < VERSIONS_MAX; n--) {
		r = store_version_of(s, file, n, &id);
		if (r > 0)
			r = store_version(s, id, ret);
		if (r > 0 && ret->has_size && ret->size == d->size && ret->mtime == d->mtime)
			return 1;
	}
	return r < 0 ? r : 0;
}

/* Did somebody make it? 1, 0, -errno. */
static int is_made(struct store *s, store_id version)
{
	struct edges gens = {0};
	int r = store_gens(s, version, &gens);
	bool made = gens.n > 0;
	edges_release(&gens);
	return r < 0 ? r : made;
}

/* Is one later than the other? Whatever order they were found in. */
static bool is_later(const struct version_info *a, const struct version_info *b)
{
	return a->start != b->start ? a->start > b->start : strcmp(a->pub.text, b->pub.text) > 0;
}

/* Fills c by its digest; `except` is the version that is asked for, 0 none. */
static int find_equal(struct store *s, store_id except, struct copies *c)
{
	struct reported_list l;
	struct version_info best = {0}, v;
	int r = store_digests_of(s, str_of(c->digest), &l);
	for (size_t i = 0; r >= 0 && i < l.n; i++) {
		r = version_of_digest(s, &l.v[i].ev.digest, &v);
		if (r <= 0 || v.id == except || v.id == best.id)
			continue;
		r = is_made(s, v.id);
		if (r <= 0)
			continue;
		c->more += c->version != 0;
		if (!c->version || is_later(&v, &best))
			best = v;
		c->version = best.id;
	}
	reported_list_release(&l);
	return r < 0 ? r : 0;
}

/* Does the file at its name look as the version did? */
static bool is_as_recorded(const struct version_info *v, const struct file_info *f, const char *path)
{
	const struct still_print print = {
	    .domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	return v->has_size && still_looks_so(path, &print);
}

/* Fills c by the stamp in the file at path, if nothing has the same bytes. 0 or -errno. */
static int find_stamped(struct store *s, const char *path, store_id except, struct copies *c)
{
	struct stamp stamp;
	store_id version = 0;
	int r = !c->version && stamp_read(path, &stamp) ? stamp_version(s, &stamp, &version) : 0;
	if (r > 0 && version != except)
		c->version = version;
	c->stamped = r > 0 && version != except;
	return r < 0 ? r : 0;
}

int copies_of_file(const struct answer_source *a, const char *path, struct copies *ret)
{
	struct digest d;
	struct stat st;
	*ret = (struct copies){0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool digested = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	                (uint64_t)st.st_size <= COPIES_FILE && digest_fd(NULL, fd, &d, NULL) == 0;
	if (fd >= 0)
		close(fd);
	if (digested)
		digest_text(&d, ret->digest);
	int r = digested ? find_equal(a->store, 0, ret) : 0;
	return r < 0 ? r : find_stamped(a->store, path, 0, ret);
}

int copies_of_version(const struct answer_source *a, store_id version, struct copies *ret)
{
	struct version_info v;
	struct file_info f;
	*ret = (struct copies){0};
	int r = store_version(a->store, version, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r <= 0 || f.kind != TERM_kind_regular || (v.has_size && !v.size))
		return r < 0 ? r : 0;
	r = digest_told(a->store, &v, &f, ret->digest);
	if (r > 0 || (r == 0 && content_now(NULL, &v, &f, COPIES_FILE, ret->digest)))
		r = find_equal(a->store, version, ret);
	if (r >= 0) /* again, for its texts are valid only until another file is asked for */
		r = store_file(a->store, v.file, &f);
	if (r <= 0 || !f.path.n)
		return r < 0 ? r : 0;
	char *path = strndup(f.path.p, f.path.n);
	r = -ENOMEM;
	if (path)
		r = is_as_recorded(&v, &f, path) ? find_stamped(a->store, path, version, ret) : 0;
	free(path);
	return r;
}

int copies_format(const struct answer_source *a, const struct copies *c, struct buf *b)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(a->store, c->version, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r <= 0)
		return r;
	buf_printf(b, c->stamped ? ", with the stamp of " : ", the same bytes as ");
	version_name(b, &v, &f);
	if (c->more)
		buf_printf(b, " and %zu more", c->more);
	return 0;
}
