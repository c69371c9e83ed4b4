#include "software/software.h"

#include "base/os/system.h"
#include "query/idmap.h"
#include "query/scripts.h"
#include "software/recorded.h"

#include <errno.h>
#include <stdlib.h>

const char *const software_kind_name[SOFTWARE_KINDS] = {[SOFTWARE_PROGRAM] = "program",
                                                        [SOFTWARE_SCRIPT] = "script",
                                                        [SOFTWARE_LIBRARY] = "library",
                                                        [SOFTWARE_MODULE] = "module"};

void software_release(struct software *w)
{
	vec_release(&w->files);
	packages_release(&w->packages);
	arena_release(&w->texts);
}

/* Is the file a shared library, by its name? */
static bool is_library(struct str path)
{
	struct str base = str_base_name(path);
	if (str_starts(path, str_of("/etc/"))) /* the loader's settings: ld.so.cache */
		return false;
	return str_ends(base, str_of(".so")) || memmem(base.p, base.n, ".so.", 4);
}

/* By its name it is a program's text, whichever interpreter reads it. */
static bool is_module(struct str path)
{
	static const char *const suffixes[] = {".py", ".pyc", ".pm", ".pl",    ".R",   ".rdb", ".rdx", ".rds", ".rb",
	                                       ".js", ".mjs", ".jl", ".class", ".jar", ".lua", ".tcl", ".m",   ".php"};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (str_ends(path, str_of(suffixes[i])))
			return true;
	return false;
}

/* What the file was to the execution. False: it was data. */
static bool kind_of(const struct exec_info *x, store_id file, struct str path, enum software_want want,
                    enum software_kind *ret)
{
	bool loaded = want == SOFTWARE_LOADED, machine = system_path(path, NULL) != SYSTEM_NO;
	if (file == x->exe)
		*ret = SOFTWARE_PROGRAM;
	else if (file == x->script || (loaded && !machine && script_may_be(path)))
		*ret = SOFTWARE_SCRIPT;
	else if (loaded && is_library(path))
		*ret = SOFTWARE_LIBRARY;
	else if (loaded && machine && is_module(path))
		*ret = SOFTWARE_MODULE;
	else
		return false;
	return true;
}

/* A search. Each version, and each file of which nothing but that it was started is known, once. */
struct collect {
	struct store *s;
	struct software *w;
	enum software_want want;
	struct idmap versions, known; /* version -> place in files; files of which there is one */
	struct edges uses;
};

/* Appends a file. path: of it, valid until the store is asked again. 0, -errno. */
static int append_file(struct collect *c, const struct software_file *like, struct str path)
{
	struct store *s = c->s;
	struct software *w = c->w;
	char *text = arena_take(&w->texts, path.n + 1);
	struct software_file *to = text ? vec_add(&w->files) : NULL;
	if (!to)
		return -ENOMEM;
	memcpy(text, path.p, path.n);
	text[path.n] = '\0';
	*to = *like;
	to->path = text;
	to->package = VEC_NONE;
	struct version_info v;
	struct file_info f;
	int r = like->version ? store_version(s, like->version, &v) : 0;
	r = r > 0 ? store_file(s, like->file, &f) : r;
	int there = r > 0 ? recorded_lies_there(s, &f, &v) : r;
	r = r > 0 && there >= 0 ? recorded_digest(s, 0, &f, &v, &to->digest) : there;
	to->state = there > 0 ? SOFTWARE_IN_NONE : SOFTWARE_CHANGED; /* until a package is found */
	to->has_digest = r > 0 && there >= 0;
	return r < 0 ? r : 0;
}

/* One use of an execution. 0, -errno. */
static int take_use(struct collect *c, const struct exec_info *x, const struct edge *e)
{
	struct version_sort v;
	struct software_file like = {.version = e->to, .sure = e->sure};
	int r = e->via == TERM_via_sync ? 0 : store_version_sort(c->s, e->to, &v);
	if (r <= 0 || v.kind != TERM_kind_regular || !v.path.n || !kind_of(x, v.file, v.path, c->want, &like.kind))
		return r < 0 ? r : 0;
	like.file = v.file;
	bool is_new;
	uint32_t *at = idmap_add(&c->versions, e->to, (uint32_t)c->w->files.n, &is_new);
	if (!at)
		return -ENOMEM;
	if (!is_new) {
		struct software_file *has = &c->w->files.v[*at];
		has->kind = like.kind < has->kind ? like.kind : has->kind;
		has->sure |= e->sure;
		return 0;
	}
	return idmap_add(&c->known, v.file, 0, &is_new) ? append_file(c, &like, v.path) : -ENOMEM;
}

/* A program or script whose version is not among the uses. 0, -errno. */
static int take_started(struct collect *c, store_id file, enum software_kind kind)
{
	struct file_info f;
	bool is_new = false;
	if (file && !idmap_add(&c->known, file, 0, &is_new))
		return -ENOMEM;
	int r = is_new ? store_file(c->s, file, &f) : 0;
	if (r <= 0 || !f.path.n)
		return r < 0 ? r : 0;
	return append_file(c, &(struct software_file){.kind = kind, .file = file, .sure = true}, f.path);
}

/* Collects the files that an execution used, and its program and script; an image before any exec has none of its
 * own. 0, -errno. */
static int take_exec(struct collect *c, store_id exec)
{
	struct exec_info x;
	int r = store_exec(c->s, exec, &x);
	if (r <= 0 || !x.n) /* an image before any exec is its parent's */
		return r < 0 ? r : 0;
	struct exec_info own = {.exe = x.exe, .script = x.script};
	r = store_uses(c->s, exec, &c->uses);
	for (size_t i = 0; r >= 0 && i < c->uses.n; i++)
		r = take_use(c, &own, &c->uses.v[i]);
	r = r < 0 ? r : take_started(c, own.exe, SOFTWARE_PROGRAM);
	return r < 0 ? r : take_started(c, own.script, SOFTWARE_SCRIPT);
}

/* Order of qsort. */
static int compare_software_files(const void *a, const void *b)
{
	const struct software_file *x = a, *y = b;
	int c = strcmp(x->path, y->path);
	c = c ? c : (x->file > y->file) - (x->file < y->file);
	return c ? c : (x->version > y->version) - (x->version < y->version);
}

/* Of the files that are as recorded the packages. 0, -ENOMEM. */
static int find_packages(struct software *w)
{
	size_t n = 0;
	const char **paths = calloc(w->files.n + 1, sizeof(*paths));
	uint32_t *found = calloc(w->files.n + 1, sizeof(*found));
	int r = paths && found ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < w->files.n; i++)
		if (w->files.v[i].state == SOFTWARE_IN_NONE)
			paths[n++] = w->files.v[i].path;
	r = r == 0 && n ? packages_find(&w->packages, paths, n, found) : r;
	for (size_t i = 0, k = 0; r == 0 && i < w->files.n; i++) {
		struct software_file *f = &w->files.v[i];
		if (f->state != SOFTWARE_IN_NONE)
			continue;
		f->package = found[k++];
		f->state = f->package != VEC_NONE ? SOFTWARE_IN_PACKAGE : SOFTWARE_IN_NONE;
	}
	free(paths);
	free(found);
	return r;
}

int software_find(struct store *s, const store_id *execs, size_t n, enum software_want want, struct software *ret)
{
	struct collect c = {.s = s, .w = ret, .want = want};
	int r = 0;
	*ret = (struct software){0};
	for (size_t i = 0; i < n && r >= 0; i++)
		r = take_exec(&c, execs[i]);
	edges_release(&c.uses);
	idmap_release(&c.versions);
	idmap_release(&c.known);
	if (r >= 0 && ret->files.n)
		qsort(ret->files.v, ret->files.n, sizeof(*ret->files.v), compare_software_files);
	r = r < 0 ? r : find_packages(ret);
	if (r < 0)
		software_release(ret);
	return r;
}

int software_read_digests(struct store *s, struct software *w)
{
	int r = 0;
	for (size_t i = 0; i < w->files.n && r >= 0; i++) {
		struct software_file *f = &w->files.v[i];
		struct version_info v;
		struct file_info file;
		if (f->has_digest || !f->version || f->state == SOFTWARE_CHANGED)
			continue;
		r = store_version(s, f->version, &v);
		r = r > 0 ? store_file(s, f->file, &file) : r;
		r = r > 0 ? recorded_digest_now(s, &file, &v, &f->digest) : r;
		f->has_digest = r > 0;
	}
	return r < 0 ? r : 0;
}

const struct software_file *software_of(const struct software *w, store_id file, store_id version)
{
	const struct software_file *found = NULL;
	size_t n = 0;
	for (size_t i = 0; file && i < w->files.n; i++) {
		if (w->files.v[i].file != file)
			continue;
		if (w->files.v[i].version == version)
			return &w->files.v[i];
		found = &w->files.v[i];
		n++;
	}
	return n == 1 && (!version || !found->version) ? found : NULL;
}

int software_version_used(struct store *s, store_id exec, store_id file, store_id *ret)
{
	struct edges e = {0};
	size_t n = 0;
	*ret = 0;
	int r = file ? store_uses(s, exec, &e) : 0;
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		store_id of;
		r = store_version_file(s, e.v[i].to, &of);
		if (r > 0 && of == file) {
			n += *ret != e.v[i].to;
			*ret = e.v[i].to;
		}
	}
	edges_release(&e);
	if (n > 1)
		*ret = 0;
	return r < 0 ? r : 0;
}
