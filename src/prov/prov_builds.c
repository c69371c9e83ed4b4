/* prov_builds.c - compilers' commands as activities: what each used and made, for whom. With them a program that ran
 * has its sources.
 *
 * A file of a build is an entity of its own, b... and its number in the build: the record may have seen no version of
 * it. One that an earlier build made is that build's. What a build made is what the version of the same path, size and
 * time is a specialization of; it has no time of generation, for of a version there is one. Files of the machine are
 * left out unless asked for. Of a part of the record those builds are told that its executions are, that made what was
 * used or written, and that made what those used: for that all builds are looked at once. */
#include "base/digest.h"
#include "base/hex.h"
#include "base/os/system.h"
#include "prov/prov_int.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIKE 8     /* files of one path that are looked at */
#define VERSIONS 64 /* and of each so many of its last versions */

/* ---- which ---- */

/* The version that the file was. 1, 0, -errno. */
static int find_build_version(struct prov_source *p, const struct store_build_file *f, struct version_info *ret)
{
	store_id files[ALIKE];
	int n = store_files_by_path(p->s, f->path, files, ALIKE), r = n < 0 ? n : 0;
	for (int i = 0; r == 0 && i < n && i < ALIKE; i++) {
		struct file_info x;
		r = store_file(p->s, files[i], &x);
		uint64_t last = r > 0 && x.kind == TERM_kind_regular ? x.versions : 0;
		r = r < 0 ? r : 0;
		for (uint64_t k = last; r == 0 && k > 0 && last - k < VERSIONS; k--) {
			store_id id;
			r = store_version_of(p->s, files[i], k, &id);
			r = r > 0 ? store_version(p->s, id, ret) : r;
			r = r > 0 ? ret->has_size && ret->size == f->size && ret->mtime == f->mtime : r;
		}
	}
	return r;
}

struct search {
	struct prov_source *p;
	VEC(store_id) found;
	/* the maker of a file */
	const struct store_build_file *file;
	int64_t before;
	store_id maker;
	int64_t made;
	struct pubid pub;
	size_t number;
};

/* Adds a build whose execution, or an output of which, is exported to s->found. -errno. */
static int note_wanted_build(void *arg, const struct store_build *b)
{
	struct search *s = arg;
	struct version_info v;
	char letter;
	store_id id;
	int r = b->exec.text[0] ? store_by_pubid(s->p->s, b->exec.text, &letter, &id) : 0;
	if (r == -ENOTUNIQ)
		r = 0;
	if (r > 0)
		r = letter == 'x' && prov_has_exec(s->p, id);
	for (size_t i = 0; r == 0 && i < b->nfiles; i++)
		if (b->files[i].role == TERM_role_output && (r = find_build_version(s->p, &b->files[i], &v)) > 0)
			r = prov_has_version(s->p, v.id);
	store_id *slot = r > 0 ? vec_add(&s->found) : NULL;
	if (slot)
		*slot = b->id;
	return r > 0 && !slot ? -ENOMEM : r < 0 ? r : 0;
}

/* Keeps the latest build not after s->before that made s->file, in s->maker. A store_build callback; always 0. */
static int note_maker(void *arg, const struct store_build *b)
{
	struct search *s = arg;
	for (size_t i = 0; i < b->nfiles && b->time <= s->before; i++)
		if (b->files[i].role == TERM_role_output && str_eq(b->files[i].path, s->file->path) &&
		    str_eq(b->files[i].digest, s->file->digest) && (!s->maker || b->time > s->made)) {
			s->maker = b->id;
			s->made = b->time;
			s->pub = b->pub;
			s->number = i + 1;
		}
	return 0;
}

/* The last build before b that made its file: s->maker, 0 none. */
static int find_maker(struct search *s, const struct store_build *b, const struct store_build_file *f)
{
	store_id *ids = NULL;
	size_t n = 0;
	s->maker = 0;
	s->file = f;
	s->before = b->began;
	if (!f->digest.n || f->role == TERM_role_output || b->began == TIME_NONE)
		return 0;
	int r = store_builds_of(s->p->s, f->digest, str_n("", 0), str_n("", 0), &ids, &n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (ids[i] != b->id)
			r = store_build(s->p->s, ids[i], note_maker, s);
	free(ids);
	return r < 0 ? r : 0;
}

/* Adds the builds that made what it read. -errno. */
static int append_makers(void *arg, const struct store_build *b)
{
	struct search *s = arg;
	int r = 0;
	for (size_t i = 0; r == 0 && i < b->nfiles; i++) {
		r = find_maker(s, b, &b->files[i]);
		bool known = !s->maker;
		for (size_t k = 0; r == 0 && !known && k < s->found.n; k++)
			known = s->found.v[k] == s->maker;
		store_id *slot = r == 0 && !known ? vec_add(&s->found) : NULL;
		if (slot)
			*slot = s->maker;
		else if (r == 0 && !known)
			r = -ENOMEM;
	}
	return r;
}

int prov_find_builds(struct prov_source *p)
{
	struct search s = {.p = p};
	sqlite3_stmt *st = NULL;
	int r = 0;
	if (sqlite3_prepare_v2(store_sqlite(p->s), "SELECT id FROM build", -1, &st, NULL) != SQLITE_OK)
		r = -EIO;
	while (r == 0 && sqlite3_step(st) == SQLITE_ROW)
		r = store_build(p->s, (store_id)sqlite3_column_int64(st, 0), note_wanted_build, &s);
	sqlite3_finalize(st);
	for (size_t i = 0; r == 0 && i < s.found.n; i++)
		r = store_build(p->s, s.found.v[i], append_makers, &s);
	for (size_t i = 0; r == 0 && i < s.found.n; i++)
		r = idset_add(&p->builds, s.found.v[i]);
	idset_close(&p->builds);
	vec_release(&s.found);
	return r;
}

/* ---- statements ---- */

struct build_emission {
	struct prov_source *p;
	unsigned kinds;
	struct search search;
};

/* What prov_emit gives, so all emit_ functions: 0, or what ends the walk. */
static int emit_build(struct prov_source *p, const struct store_build *b)
{
	prov_begin(p, PROV_activity);
	p->st.id = str_of(b->pub.text);
	p->st.type = "Build";
	p->st.start = prov_known(b->began);
	p->st.end = prov_known(b->time);
	p->st.label = b->compiler;
	prov_put_list(p, ATTR_argv, &b->argv);
	prov_put_text(p, ATTR_cwd, b->cwd);
	prov_put_list(p, ATTR_environment, &b->env);
	prov_put_text(p, ATTR_host, b->host);
	prov_put_text(p, ATTR_user, b->user);
	if (b->ending == TERM_ending_exited)
		prov_put_count(p, ATTR_exitStatus, b->code);
	if (b->ending == TERM_ending_signaled)
		prov_put_count(p, ATTR_exitSignal, b->code);
	prov_put_list(p, ATTR_completeness, &b->gaps);
	prov_put_text(p, ATTR_compiler, b->compiler);
	prov_put_text(p, ATTR_compilerVersion, b->version);
	prov_put_text(p, ATTR_compilerTarget, b->target);
	prov_put_text(p, ATTR_commit, b->commit);
	return prov_emit(p);
}

/* digest, size and mtime only where they are known. What prov_emit gives. */
static int emit_build_file(struct prov_source *p, const struct store_build_file *f, struct str name)
{
	char digest[DIGEST_TEXT], id[129];
	struct digest d;
	prov_begin(p, PROV_entity);
	p->st.id = name;
	p->st.type = "BuildFile";
	p->st.label = f->path;
	prov_put_text(p, ATTR_path, f->path);
	prov_put_text(p, ATTR_role, str_of(term_name(SET_role, f->role)));
	if (f->digest.n == DIGEST_BYTES) {
		memcpy(d.b, f->digest.p, DIGEST_BYTES);
		digest_text(&d, digest);
		prov_put_count(p, ATTR_size, f->size);
		prov_put_time(p, ATTR_mtime, f->mtime);
		prov_put_text(p, ATTR_digest, str_of(digest));
	}
	size_t n = f->build_id.n < sizeof(id) / 2 ? f->build_id.n : (sizeof(id) - 1) / 2;
	prov_put_text(p, ATTR_buildId, str_of(hex_text(f->build_id.p, n, id)));
	return prov_emit(p);
}

/* What prov_emit gives: -ENOMEM, or what the receiver gives. */
static int emit_relation(struct prov_source *p, enum prov_kind kind, struct str subject, struct str object)
{
	prov_begin(p, kind);
	p->st.subject = subject;
	p->st.object = object;
	return prov_emit(p);
}

/* The version that a build made comes from it; what a build read comes from the version. 0 also where the version is
 * not exported. */
static int emit_build_version(struct prov_source *p, const struct store_build_file *f, struct str name)
{
	struct version_info v;
	struct file_info x;
	int r = f->digest.n ? find_build_version(p, f, &v) : 0;
	r = r > 0 && !prov_has_version(p, v.id) ? 0 : r;
	r = r > 0 ? store_file(p->s, v.file, &x) : r;
	r = r > 0 ? prov_is_exported(p, &v, &x, 0) : r;
	if (r <= 0)
		return r;
	struct str version = prov_named(&p->third, v.pub.text, 0);
	bool made = f->role == TERM_role_output;
	return emit_relation(p, PROV_specializationOf, made ? version : name, made ? name : version);
}

/* A file that another build made goes by that build's name, and is told with it. -errno. */
static int emit_build_file_relations(struct build_emission *t, const struct store_build *b, size_t i)
{
	struct prov_source *p = t->p;
	const struct store_build_file *f = &b->files[i];
	bool made = f->role == TERM_role_output;
	if (!made && !p->o.lineage.all && system_path(f->path, p->o.lineage.system_extra) != SYSTEM_NO)
		return 0;
	int r = find_maker(&t->search, b, f);
	if (r < 0)
		return r;
	bool other = t->search.maker != 0;
	struct str name = other ? prov_named(&p->subject, t->search.pub.text, (unsigned)t->search.number)
	                        : prov_named(&p->subject, b->pub.text, (unsigned)i + 1);
	if (!other && t->kinds & PROV_BIT(PROV_entity))
		r = emit_build_file(p, f, name);
	if (r == 0 && made && t->kinds & PROV_BIT(PROV_wasGeneratedBy))
		r = emit_relation(p, PROV_wasGeneratedBy, name, str_of(b->pub.text));
	if (r == 0 && !made && t->kinds & PROV_BIT(PROV_used))
		r = emit_relation(p, PROV_used, str_of(b->pub.text), name);
	if (r == 0 && !other && t->kinds & PROV_BIT(PROV_specializationOf))
		r = emit_build_version(p, f, name);
	return r;
}

/* A store_build callback. 0, -errno, or what the receiver gives. */
static int emit_build_statements(void *arg, const struct store_build *b)
{
	struct build_emission *t = arg;
	struct prov_source *p = t->p;
	int r = 0;
	if (b->user.n && t->kinds & PROV_BIT(PROV_agent))
		r = prov_emit_user(p, b->user, b->host);
	if (r == 0 && t->kinds & PROV_BIT(PROV_activity))
		r = emit_build(p, b);
	if (r == 0 && b->user.n && t->kinds & PROV_BIT(PROV_wasAssociatedWith))
		r = emit_relation(p, PROV_wasAssociatedWith, str_of(b->pub.text),
		                  prov_hashed(&p->third, 'u', b->user, b->host));
	const unsigned of_files =
	    PROV_BIT(PROV_entity) | PROV_BIT(PROV_used) | PROV_BIT(PROV_wasGeneratedBy) | PROV_BIT(PROV_specializationOf);
	for (size_t i = 0; r == 0 && t->kinds & of_files && i < b->nfiles; i++)
		r = emit_build_file_relations(t, b, i);
	return r;
}

/* 0, -errno, or what the receiver gave. */
int prov_one_build(struct prov_source *p, store_id id, unsigned kinds)
{
	struct build_emission t = {.p = p, .kinds = kinds, .search = {.p = p}};
	return store_build(p->s, id, emit_build_statements, &t);
}
