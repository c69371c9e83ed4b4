/* pack.c - see pack.h.
 *
 * Copied is what the run used and did not make: data and scripts, and programs, libraries and modules of no package of
 * dpkg or rpm. Of the rest the packages are named. A file that is not any more as it was recorded is not in the pack,
 * and is told. Whatever lies at a path is opened only where identity, size and time are the record's, before and after
 * the copy. Memory: 80 bytes and the path of each file. Cost: reading what is copied twice. */
#include "export/pack.h"

#include "base/io.h"
#include "base/os/system.h"
#include "export/export.h"
#include "query/idset.h"
#include "software/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 65536

bool pack_is_installed(const struct package *p)
{
	return p->manager == PACKAGE_dpkg || p->manager == PACKAGE_rpm;
}

/* ---- which ---- */

/* Lists are lines with tabs: a path with one of these characters cannot stand there. */
static bool is_listable(struct str path)
{
	return path.n && path.p[0] == '/' && path.n < PATH_MAX && !memchr(path.p, '\n', path.n) &&
	       !memchr(path.p, '\t', path.n) && !memchr(path.p, '\0', path.n);
}

/* A copy; NULL without memory. */
static const char *copy_packed_text(struct pack *p, struct str s)
{
	char *text = arena_take(&p->texts, s.n + 1);
	if (text) {
		memcpy(text, s.p, s.n);
		text[s.n] = '\0';
	}
	return text;
}

/* The version as an input, or an output. 0, -errno. */
static int add_packed_file(struct pack *p, store_id version, bool output)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(p->s, version, &v);
	r = r > 0 ? store_file(p->s, v.file, &f) : r;
	if (r <= 0 || f.kind != TERM_kind_regular || !f.path.n || (output && (!f.named || v.n != f.versions)))
		return r < 0 ? r : 0;
	struct pack_file *to = output ? vec_add(&p->outputs) : vec_add(&p->inputs);
	if (!to)
		return -ENOMEM;
	*to = (struct pack_file){.version = version, .path = copy_packed_text(p, f.path), .size = v.size, .mtime = v.mtime};
	if (!to->path)
		return -ENOMEM;
	if (!is_listable(f.path))
		to->why = "its name has a tab or newline, so it cannot be in a list";
	if (!output)
		return 0;
	r = recorded_digest(p->s, p->run, &f, &v, &to->digest);
	r = r ? r : recorded_digest_now(p->s, &f, &v, &to->digest);
	to->known = r > 0 && !to->why;
	return r < 0 ? r : 0;
}

/* Is a used version data or a script of somebody's? The machine's files are told by their packages. 1, 0, -errno. */
static int is_packed_input(struct pack *p, const struct edge *e)
{
	struct version_sort v;
	int r = e->via == TERM_via_sync ? 0 : store_version_sort(p->s, e->to, &v);
	if (r <= 0 || v.kind != TERM_kind_regular || !v.path.n)
		return r < 0 ? r : 0;
	return system_path(v.path, NULL) == SYSTEM_NO && !str_starts(v.path, str_of("/dev/shm/"));
}

/* What the run's executions used and made. 0, -errno. */
static int find_files(struct pack *p, const store_id *execs, size_t n)
{
	struct idset used = {0}, made = {0},
	             given = {0}; /* given: written through a descriptor that somebody else opened */
	struct edges e = {0};
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = store_outputs(p->s, execs[i], &e);
		for (size_t k = 0; k < e.n && r >= 0; k++)
			r = idset_add(e.v[k].via == TERM_via_descriptor ? &given : &made, e.v[k].to);
		r = r < 0 ? r : store_uses(p->s, execs[i], &e);
		for (size_t k = 0; k < e.n && r >= 0; k++) {
			r = is_packed_input(p, &e.v[k]);
			r = r > 0 ? idset_add(&used, e.v[k].to) : r;
		}
	}
	if (r >= 0) {
		idset_close(&made);
		idset_close(&used);
		idset_close(&given);
		idset_take(&used, &made);
		idset_take(&used, &given);
	}
	for (size_t i = 0; i < used.n && r >= 0; i++)
		r = add_packed_file(p, used.v[i], false);
	for (size_t i = 0; i < made.n && r >= 0; i++)
		r = add_packed_file(p, made.v[i], true);
	edges_release(&e);
	idset_release(&used);
	idset_release(&made);
	idset_release(&given);
	return r < 0 ? r : 0;
}

/* Is the version among the inputs? */
static bool has_input(const struct pack *p, store_id version)
{
	for (size_t i = 0; i < p->inputs.n; i++)
		if (p->inputs.v[i].version == version)
			return true;
	return false;
}

/* Programs, libraries and modules that no package brings along. 0, -errno. */
static int find_software(struct pack *p, const store_id *execs, size_t n)
{
	int r = software_find(p->s, execs, n, SOFTWARE_LOADED, &p->software);
	for (size_t i = 0; i < p->software.files.n && r >= 0; i++) {
		const struct software_file *f = &p->software.files.v[i];
		bool brought = f->package != VEC_NONE && pack_is_installed(&p->software.packages.v.v[f->package]);
		if (!brought && f->version && !has_input(p, f->version))
			r = add_packed_file(p, f->version, false);
	}
	return r;
}

/* The environment of the run's first program. 0, -errno. */
static int find_environment(struct pack *p, const store_id *execs, size_t n)
{
	struct exec_info x;
	struct str s;
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = store_exec(p->s, execs[i], &x);
		if (r <= 0 || !x.n)
			continue;
		for (size_t pos = 0; strlist_next(&x.env, &pos, &s);) {
			buf_str(&p->environment, s);
			buf_char(&p->environment, '\0');
		}
		return p->environment.failed ? -ENOMEM : 0;
	}
	return r < 0 ? r : 0;
}

/* Order of qsort: by path, then the later version first. */
static int compare_pack_files(const void *a, const void *b)
{
	const struct pack_file *x = a, *y = b;
	int c = strcmp(x->path, y->path);
	return c ? c : (x->mtime < y->mtime) - (x->mtime > y->mtime);
}

/* ---- copies ---- */

/* Copies a file. All bytes of one descriptor into another one. 0, -errno. */
static int copy_bytes(int from, int to)
{
	char *block = malloc(BLOCK);
	int r = block ? 0 : -ENOMEM;
	for (ssize_t n; r == 0 && (n = io_read(from, block, BLOCK)) != 0;)
		r = n < 0 ? (int)n : io_write(to, block, (size_t)n, NULL);
	free(block);
	return r;
}

/* The file, which lies there as recorded, into the pack by its digest; what is there already is the same. 0, -errno
 * with a sentence. */
static int copy_by_digest(struct pack *p, struct pack_file *f, int from, struct err *err)
{
	char name[16 + DIGEST_TEXT], text[DIGEST_TEXT];
	struct stat st;
	int to = -1;
	digest_text(&f->digest, text);
	snprintf(name, sizeof(name), "files/%s", strchr(text, ':') + 1);
	if (fstatat(p->dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	int r = export_dir_file(&p->dir, name, err, &to);
	if (r < 0)
		return r;
	r = copy_bytes(from, to);
	if (close(to) < 0 && r == 0)
		r = -errno;
	return r < 0 ? err_set(err, -r, "cannot copy '%s'", f->path) : 0;
}

/* Copies an input; where it cannot, f->why says so. 0, -errno with a sentence. */
static int copy_input(struct pack *p, struct pack_file *f, struct err *err)
{
	struct version_info v;
	struct file_info of;
	struct stat st;
	int r = store_version(p->s, f->version, &v);
	r = r > 0 ? store_file(p->s, v.file, &of) : r;
	if (r <= 0)
		return err_set(err, r < 0 ? -r : EIO, "cannot read the record");
	int there = recorded_digest_now(p->s, &of, &v, &f->digest);
	if (there <= 0) {
		f->why = "it has changed, or was removed, since it was recorded";
		return there < 0 ? err_set(err, -there, "cannot read the record") : 0;
	}
	int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		f->why = "it cannot be read";
	else if (p->received && !(st.st_mode & S_IROTH))
		f->why = "not everybody can read it, and the run is not your own";
	r = f->why ? 0 : copy_by_digest(p, f, fd, err);
	if (fd >= 0)
		close(fd);
	if (r == 0 && !f->why && recorded_lies_there(p->s, &of, &v) <= 0)
		return err_set(err, EBUSY, "'%s' changed while it was copied", f->path);
	f->mode = f->why ? 0 : st.st_mode & 0777;
	f->known = r == 0 && !f->why;
	return r;
}

/* ---- all ---- */

/* Finds all that goes into the pack: files, environment, software, links. 0, -errno with a sentence. *left_out:
 * inputs that are not in the pack. */
static int fill_pack(struct pack *p, uint64_t *left_out, struct err *err)
{
	store_id *execs = NULL;
	size_t n = 0;
	int r = store_run_execs(p->s, p->run, &execs, &n);
	r = r < 0 ? r : find_environment(p, execs, n);
	r = r < 0 ? r : find_files(p, execs, n);
	r = r < 0 ? r : find_software(p, execs, n);
	r = r < 0 ? r : pack_find_links(p, execs, n);
	free(execs);
	if (r < 0)
		return err_set(err, -r, "cannot read the record");
	if (p->inputs.n)
		qsort(p->inputs.v, p->inputs.n, sizeof(*p->inputs.v), compare_pack_files);
	if (p->outputs.n)
		qsort(p->outputs.v, p->outputs.n, sizeof(*p->outputs.v), compare_pack_files);
	for (size_t i = 0; i < p->inputs.n && r == 0; i++) {
		struct pack_file *f = &p->inputs.v[i];
		if (!f->why && i && strcmp(f->path, p->inputs.v[i - 1].path) == 0)
			f->why = "the run used two versions of it, and a pack has room for one";
		if (!f->why)
			r = copy_input(p, f, err);
		*left_out += f->why != NULL;
	}
	r = r < 0 ? r : pack_write_lists(p, err);
	r = r < 0 ? r : pack_write_recipe(p, err);
	return r < 0 ? r : pack_write_script(p, err);
}

/* One run; -EINVAL: something else was selected. */
int export_pack(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	const struct prov_select *sel = prov_selection(p);
	struct pack k = {.s = prov_store(p), .dir = {.fd = -1}};
	uint64_t left_out = 0;
	(void)out;
	if (sel->n_runs != 1 || sel->n_versions || sel->n_execs) {
		err_set(err, 0, "a pack is made of one run, and something else was selected");
		err_hint(err, "use stemma export --format pack -o FOLDER RUN; stemma log lists the runs");
		return -EINVAL;
	}
	k.run = sel->runs[0];
	k.received = !o->is_own || !o->is_own(o->is_own_arg, k.run);
	int r = export_dir_open(o->target, err, &k.dir);
	r = r < 0 ? r : fill_pack(&k, &left_out, err);
	r = export_dir_close(&k.dir, r, err);
	if (o->left_out)
		*o->left_out = left_out;
	software_release(&k.software);
	vec_release(&k.inputs);
	vec_release(&k.outputs);
	vec_release(&k.links);
	arena_release(&k.texts);
	buf_release(&k.environment);
	return r;
}
