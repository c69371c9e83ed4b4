/* find.c - records of builds, as struct build; and what is made of several of them. */
#include "base/os/still.h"
#include "base/vec.h"
#include "cc/build.h"

#include "base/hash.h"
#include "base/map.h"

#include "spec/objects.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- from the store ---- */

/* The caller frees it; NULL without memory. */
static char *copy_str(struct str s)
{
	char *p = malloc(s.n + 1);
	if (p) {
		memcpy(p, s.n ? s.p : "", s.n);
		p[s.n] = '\0';
	}
	return p;
}

/* Adds an empty file to the list. NULL: no memory. */
static struct build_file *append_loaded_file(struct build_files *l)
{
	if (!vec_has_room(l->v, l->n, l->room))
		return NULL;
	l->v[l->n] = (struct build_file){.mtime = TIME_NONE};
	return &l->v[l->n++];
}

/* Loads a file of a build into the list of its role. 0, -ENOMEM. */
static int load_build_file(struct build *b, const struct store_build_file *x)
{
	struct build_files *l = x->role == TERM_role_output ? &b->out : x->role == TERM_role_tool ? &b->tools : &b->in;
	struct build_file *f = append_loaded_file(l);
	if (!f || !(f->path = copy_str(x->path)) || !(f->detail = copy_str(x->detail)))
		return -ENOMEM;
	f->role = x->role;
	f->size = x->size;
	f->mtime = x->mtime;
	f->digested = x->digest.n == DIGEST_BYTES;
	if (f->digested)
		memcpy(f->digest.b, x->digest.p, DIGEST_BYTES);
	f->nid = x->build_id.n <= BUILD_ID_MAX ? x->build_id.n : 0;
	if (f->nid)
		memcpy(f->id, x->build_id.p, f->nid);
	return 0;
}

struct loading {
	struct store *s;
	struct build b;
	struct pubid exec;
	uint64_t missing;
};

/* Called for a build; arg is a struct loading. 1, -ENOMEM; b is to be released in any case. */
static int load_build(void *arg, const struct store_build *x)
{
	struct loading *l = arg;
	struct build *b = &l->b;
	b->origin = BUILD_RECORDED;
	memcpy(b->pub, x->pub.text, sizeof(b->pub));
	l->exec = x->exec;
	l->missing = x->expected > x->nfiles ? x->expected - x->nfiles : 0;
	b->argv = strlist_copy(&x->argv);
	b->args = strlist_copy(x->args.count ? &x->args : &x->argv);
	b->env = strlist_copy(&x->env);
	b->gaps = strlist_copy(&x->gaps);
	b->compiler = copy_str(x->compiler);
	b->version = copy_str(x->version);
	b->target = copy_str(x->target);
	b->cwd = copy_str(x->cwd);
	b->user = copy_str(x->user);
	b->host = copy_str(x->host);
	b->commit = copy_str(x->commit);
	b->dirty = x->tree == TERM_tree_clean ? 0 : x->tree == TERM_tree_dirty ? 1 : -1;
	b->began = x->began;
	b->ended = x->time;
	b->ending = (unsigned)x->ending;
	b->code = (int)x->code;
	b->nnote = x->note.n <= BUILD_ID_MAX ? x->note.n : 0;
	if (b->nnote)
		memcpy(b->note, x->note.p, b->nnote);
	for (size_t i = 0; i < x->nfiles; i++)
		if (load_build_file(b, &x->files[i]) < 0)
			return -ENOMEM;
	return build_is_whole(b) ? 1 : -ENOMEM;
}

/* A log that ends before all was written is a gap like others. 0, -ENOMEM. */
static int add_missing(struct build *b, uint64_t n)
{
	size_t k = 0;
	while (b->gaps[k])
		k++;
	char **v = realloc(b->gaps, (k + 2) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	b->gaps = v;
	v[k + 1] = NULL;
	return asprintf(&v[k], "unwritten %llu", (unsigned long long)n) < 0 ? (v[k] = NULL, -ENOMEM) : 0;
}

/* Reads a recorded build. 1, 0: there is none, -errno. *ret is the caller's for build_release, if 1. */
static int read_build(struct store *s, store_id id, struct build *ret)
{
	struct loading l = {.s = s};
	struct exec_info x;
	struct run_info run;
	store_id exec;
	char kind;
	int rc = store_build(s, id, load_build, &l);
	if (rc == 1 && l.missing && add_missing(&l.b, l.missing) < 0)
		rc = -ENOMEM;
	if (rc != 1) {
		build_release(&l.b);
		return rc;
	}
	if (l.exec.text[0] && store_by_pubid(s, l.exec.text, &kind, &exec) == 1 && kind == 'x' &&
	    store_exec(s, exec, &x) == 1 && x.run && store_run_told(s, x.run, &run) == 1 && run.ulid.n < sizeof(l.b.run)) {
		memcpy(l.b.run, run.ulid.p, run.ulid.n);
		l.b.run[run.ulid.n] = '\0';
	}
	*ret = l.b;
	return 1;
}

int build_get(struct store *s, struct str pub, struct err *err, struct build *ret)
{
	char name[32];
	store_id id;
	if (pub.n >= sizeof(name))
		return 0;
	memcpy(name, pub.p, pub.n);
	name[pub.n] = '\0';
	int rc = store_build_by_pubid(s, name, &id);
	if (rc == 1)
		rc = read_build(s, id, ret);
	return rc < 0 ? err_set(err, -rc, "cannot read the record of a build") : rc;
}

/* Did the build make this file? By build-id or digest; nid 0, d NULL: not known. */
static bool made(const struct build *b, const unsigned char *id, size_t nid, const struct digest *d)
{
	for (size_t i = 0; i < b->out.n; i++) {
		const struct build_file *f = &b->out.v[i];
		if ((nid && f->nid == nid && memcmp(f->id, id, nid) == 0) || (d && f->digested && digest_eq(&f->digest, d)))
			return true;
	}
	return false;
}

/* The latest first; of one moment by id, so that an answer does not depend on what was indexed first. */
static int later_first(const void *pa, const void *pb)
{
	const struct build *a = pa, *b = pb;
	return a->ended != b->ended ? (a->ended < b->ended) - (a->ended > b->ended) : strcmp(a->pub, b->pub);
}

/* Whether the build noted that a cache answered: then its inputs were not all read. */
static bool from_cache(const struct build *b)
{
	for (size_t i = 0; b->gaps[i]; i++)
		if (strcmp(b->gaps[i], "cached") == 0)
			return true;
	return false;
}

/* Is one of what it made the file at the path (st: NULL: compared by name)? */
static bool made_it(const struct build *b, const char *path, const struct stat *st)
{
	for (size_t i = 0; i < b->out.n; i++) {
		struct stat x;
		if (st ? stat(b->out.v[i].path, &x) == 0 && x.st_dev == st->st_dev && x.st_ino == st->st_ino
		       : strcmp(b->out.v[i].path, path) == 0)
			return true;
	}
	return false;
}

/* Orders builds: of those that made the same bytes the one that made this very file comes first, for its sources are
 * the file's own; and those that had them from a cache, and do not know of all sources, behind the others. */
static void own_first(struct build_list *l, const char *path, const struct stat *st)
{
	size_t at = 0;
	for (unsigned rank = 0; rank < 4; rank++)
		for (size_t i = at; i < l->n; i++) {
			struct build b = l->v[i];
			if (from_cache(&b) != (rank >= 2) || made_it(&b, path, st) != (rank % 2 == 0))
				continue;
			memmove(l->v + at + 1, l->v + at, (i - at) * sizeof(b));
			l->v[at++] = b;
		}
}

/* The list has it then. 0, -ENOMEM. */
static int add_build(struct build_list *l, const struct build *b)
{
	if (!vec_has_room(l->v, l->n, l->room))
		return -ENOMEM;
	l->v[l->n++] = *b;
	return 0;
}

/* What a file is known by; n 0, NULL: not by that. */
struct known {
	const unsigned char *id, *note;
	size_t nid, nnote;
	const struct digest *digest;
};

/* By its note, or else by its build id and digest. */
static bool is_build_of(const struct build *b, const struct known *k)
{
	return (k->nnote && b->nnote == k->nnote && memcmp(b->note, k->note, k->nnote) == 0) ||
	       made(b, k->id, k->nid, k->digest);
}

/* The builds that were found, the latest first; or none of them, where reading failed with rc. Takes l over. 0, -errno
 * with a sentence. */
static int give_found(struct build_list *l, int rc, struct err *err, struct build_list *ret)
{
	if (rc < 0) {
		build_list_release(l);
		return err_set(err, -rc, "cannot read the records of builds");
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), later_first);
	*ret = *l;
	return 0;
}

/* Finds builds by digest, build-id or note. 0; -errno with a sentence; ret is set where it is 0. */
static int find_builds_by(struct store *s, const struct known *k, struct err *err, struct build_list *ret)
{
	struct build_list l = {0};
	store_id *rows = NULL;
	size_t n = 0;
	int rc = store_builds_of(s, str_n(k->digest ? (const char *)k->digest->b : "", k->digest ? DIGEST_BYTES : 0),
	                         str_n((const char *)k->id, k->nid), str_n((const char *)k->note, k->nnote), &rows, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct build b;
		rc = read_build(s, rows[i], &b);
		if (rc != 1)
			continue;
		rc = is_build_of(&b, k) ? add_build(&l, &b) : -ENOENT;
		if (rc < 0)
			build_release(&b);
		if (rc == -ENOENT)
			rc = 0;
	}
	free(rows);
	return give_found(&l, rc, err, ret);
}

int build_find_by(struct store *s, const unsigned char *id, size_t nid, const struct digest *d, struct err *err,
                  struct build_list *ret)
{
	return find_builds_by(s, &(struct known){.id = id, .nid = nid, .digest = d}, err, ret);
}

/* Did the build make a file of this size and time? *ret_here: at this path. */
static bool made_stamped(const struct build *b, const char *path, uint64_t size, int64_t mtime, bool *ret_here)
{
	bool hit = false;
	*ret_here = false;
	for (size_t k = 0; k < b->out.n; k++)
		if (b->out.v[k].size == size && b->out.v[k].mtime == mtime) {
			hit = true;
			*ret_here |= strcmp(b->out.v[k].path, path) == 0;
		}
	return hit;
}

int build_find_stamped(struct store *s, const char *path, uint64_t size, int64_t mtime, struct err *err,
                       struct build_list *ret)
{
	struct build_list l = {0};
	store_id *rows = NULL;
	size_t n = 0;
	bool named = false; /* one is of this path: others are not looked at */
	int rc = store_builds_stamped(s, size, mtime, &rows, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct build b;
		bool here;
		rc = read_build(s, rows[i], &b);
		if (rc != 1)
			continue;
		bool hit = made_stamped(&b, path, size, mtime, &here);
		if (!hit || (!here && (named || mtime % 1000000000 == 0))) {
			build_release(&b);
			continue;
		}
		if (here && !named)
			build_list_release(&l);
		named |= here;
		if ((rc = add_build(&l, &b)) < 0)
			build_release(&b);
	}
	free(rows);
	return give_found(&l, rc, err, ret);
}

int build_find(struct store *s, const char *path, struct err *err, struct build_list *ret)
{
	unsigned char id[BUILD_ID_MAX], note[BUILD_ID_MAX];
	struct digest d;
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int rc = fd < 0 ? -errno : digest_fd(NULL, fd, &d, &st);
	int nid = rc == 0 ? elfid_build_id(fd, id) : 0,
	    nnote = rc == 0 ? elfid_note(fd, BUILD_NOTE_OWNER, BUILD_NOTE_TYPE, note) : 0;
	if (fd >= 0)
		close(fd);
	if (rc < 0) {
		err_set(err, rc == -EINVAL ? 0 : -rc,
		        rc == -EINVAL ? "'%s' is not a file that could be built" : "cannot read '%s'", path);
		return rc;
	}
	/* The very bytes, before what has the same name in it: a stripped copy, or another one of the same sources. */
	rc = find_builds_by(s, &(struct known){.digest = &d}, err, ret);
	if (rc == 0 && ret->n == 0 && nnote > 0)
		rc = find_builds_by(s, &(struct known){.note = note, .nnote = (size_t)nnote}, err, ret);
	if (rc == 0 && ret->n == 0 && nid > 0)
		rc = find_builds_by(s, &(struct known){.id = id, .nid = (size_t)nid}, err, ret);
	if (rc == 0)
		own_first(ret, path, &st);
	return rc;
}

/* ---- sources ---- */

/* By a build: other roles are only read. */
static bool is_made(unsigned role)
{
	return role == TERM_role_object || role == TERM_role_archive || role == TERM_role_library ||
	       role == TERM_role_module || role == TERM_role_source || role == TERM_role_header;
}

struct tracing {
	struct store *s;
	struct err *err;
	struct build_sources *r;
	struct table known; /* of r->v, by path */
};

/* By its path and digest: another state of it is another source. */
static bool is_known_source(const struct tracing *t, const struct build_file *f)
{
	uint32_t at;
	for (size_t pos = TABLE_START;
	     (at = table_next(&t->known, hash_fold(hash_str(str_of(f->path))), &pos)) != VEC_NONE;) {
		const struct build_file *k = &t->r->v[at].file;
		if (strcmp(k->path, f->path) == 0 && k->digested == f->digested &&
		    (!f->digested || digest_eq(&k->digest, &f->digest)))
			return true;
	}
	return false;
}

/* Appends a source: each path and digest once. 0, -ENOMEM. */
static int append_source(struct tracing *t, const struct build *b, const struct build_file *f)
{
	struct build_sources *r = t->r;
	if (is_known_source(t, f))
		return 0;
	if (!vec_has_room(r->v, r->n, r->room))
		return -ENOMEM;
	struct build_source *x = &r->v[r->n];
	*x = (struct build_source){.file = *f};
	memcpy(x->made_by, b->pub, sizeof(x->made_by));
	x->file.path = strdup(f->path);
	x->file.detail = strdup(f->detail);
	if (!x->file.path || !x->file.detail ||
	    !table_add(&t->known, hash_fold(hash_str(str_of(f->path))), (uint32_t)r->n)) {
		free(x->file.path);
		free(x->file.detail);
		return -ENOMEM;
	}
	r->n++;
	return 0;
}

/* Were the sources of that record taken already? pub: the record's public name. */
static bool is_record_traced(const struct tracing *t, const char *pub)
{
	for (size_t i = 0; i < t->r->nrecords; i++)
		if (strcmp(t->r->records[i], pub) == 0)
			return true;
	return false;
}

static int trace_sources(struct tracing *t, const struct build *b, unsigned depth);

/* A member of an archive: its record, if there is one. 1 it was traced, 0, -errno. */
static int trace_member(struct tracing *t, struct str data, unsigned depth)
{
	struct build_list l = {0};
	struct digest_sum sum;
	struct digest d;
	digest_begin(&sum);
	digest_add(&sum, data.p, data.n);
	digest_end(&sum, &d);
	int rc = build_find_by(t->s, NULL, 0, &d, t->err, &l);
	bool known = rc == 0 && l.n;
	if (known && !is_record_traced(t, l.v[0].pub))
		rc = trace_sources(t, &l.v[0], depth + 1);
	build_list_release(&l);
	return rc < 0 ? rc : known;
}

/* Finds the sources of an archive: of an archive that nobody recorded, and that is still what was linked, the
 * members tell by their bytes. 1: all of them are known; 0; -errno. */
static int trace_archive(struct tracing *t, const struct build_file *f, unsigned depth)
{
	struct objects_bytes file;
	struct str name, data;
	size_t pos = 0, n = 0;
	int rc, all = 1;
	if (f->role != TERM_role_archive || build_match(NULL, f) != BUILD_SAME || objects_map(f->path, NULL, &file) < 0)
		return 0;
	while ((rc = objects_member(str_n(file.p, file.n), &pos, &name, &data)) == 1) {
		int known = data.p ? trace_member(t, data, depth) : 0;
		if (known < 0) {
			rc = known;
			break;
		}
		all &= known;
		n++;
	}
	objects_unmap(&file);
	return rc == -EBADMSG ? 0 : rc < 0 ? rc : all && n;
}

#define DEPTH_MAX 16 /* records of records: generators that were built by generators */

/* Finds the sources of a build: down to DEPTH_MAX; of an archive its members. r->unknown counts objects and archives
 * without a record. 0, -errno. */
static int trace_sources(struct tracing *t, const struct build *b, unsigned depth)
{
	struct build_sources *r = t->r;
	char(*records)[26] = realloc(r->records, (r->nrecords + 1) * sizeof(*records));
	int rc = records ? 0 : -ENOMEM;
	if (records) {
		r->records = records;
		memcpy(records[r->nrecords++], b->pub, sizeof(b->pub));
	}
	for (size_t i = 0; rc == 0 && i < b->in.n; i++) {
		const struct build_file *f = &b->in.v[i];
		struct build_list l = {0};
		if (is_made(f->role) && f->digested && depth < DEPTH_MAX)
			rc = build_find_by(t->s, NULL, 0, &f->digest, t->err, &l);
		own_first(&l, f->path, NULL);
		/* What it was made from is in place of it. */
		bool own = l.n && strcmp(l.v[0].pub, b->pub) == 0;
		int members = rc == 0 && !l.n && f->digested && depth < DEPTH_MAX ? trace_archive(t, f, depth) : 0;
		rc = members < 0 ? members : rc;
		if (rc == 0 && members) {
			/* they are in its place */
		} else if (rc == 0 && (!l.n || own)) {
			r->unknown += f->role == TERM_role_object || f->role == TERM_role_archive;
			rc = append_source(t, b, f);
		} else if (rc == 0 && !is_record_traced(t, l.v[0].pub)) {
			rc = trace_sources(t, &l.v[0], depth + 1);
		}
		build_list_release(&l);
	}
	return rc;
}

/* 0; -errno with a sentence, then there is nothing to release. */
int build_sources(struct store *s, const struct build *b, struct err *err, struct build_sources *ret)
{
	struct tracing t = {s, err, ret, {0}};
	*ret = (struct build_sources){0};
	int rc = trace_sources(&t, b, 0);
	table_release(&t.known);
	if (rc < 0) {
		build_sources_release(ret);
		return err_set(err, -rc, "cannot read the records of builds");
	}
	return 0;
}

/* x is empty then. */
void build_sources_release(struct build_sources *x)
{
	for (size_t i = 0; i < x->n; i++) {
		free(x->v[i].file.path);
		free(x->v[i].file.detail);
	}
	free(x->v);
	free(x->records);
	*x = (struct build_sources){0};
}

enum build_match build_match(struct digest_cache *c, const struct build_file *f)
{
	static const enum build_match matches[] = {[STILL_SAME] = BUILD_SAME,
	                                           [STILL_OTHER] = BUILD_CHANGED,
	                                           [STILL_GONE] = BUILD_MISSING,
	                                           [STILL_UNKNOWN] = BUILD_UNKNOWN};
	char content[DIGEST_TEXT] = "";
	if (f->digested)
		digest_text(&f->digest, content);
	return matches[still_look(c, f->path, &(struct still_was){.content = content, .has_size = true, .size = f->size},
	                          NULL)];
}
