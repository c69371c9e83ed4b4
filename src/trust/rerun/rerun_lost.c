/* rerun_lost.c - what a run needs and itself took away: a file that it appended to, renamed or removed. */
#include "base/fileid.h"
#include "base/os/engine_paths.h"
#include "trust/rerun/rerun_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Was the version made through descriptors only that the run was handed by its caller? Then it is none of its results.
 * What a shell of the run opened, and handed on to a program, is its own. 1, 0, -errno. */
static int is_handed(const struct rerun_planning *p, store_id version, struct edges *gens)
{
	struct version_info v;
	struct file_info f;
	int rc = store_gens(p->s, version, gens);
	bool handed = gens->n > 0;
	for (size_t i = 0; rc == 0 && i < gens->n; i++)
		handed &= gens->v[i].api == TERM_api_inherit;
	if (rc < 0 || !handed)
		return rc;
	if ((rc = store_version(p->s, version, &v)) == 1)
		rc = store_file(p->s, v.file, &f);
	return rc == 1 ? !consumed_opened(&p->consumed, f.domain, f.ino, f.gen) : rc < 0 ? rc : 1;
}

/* What the run's own versions were made from by adding to it: needed, though nobody read it. 0 or -errno. */
static int add_derived(struct rerun_planning *p)
{
	struct edges e = {0}, gens = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->made.n; i++) {
		int handed = is_handed(p, p->made.v[i], &gens);
		if (handed > 0)
			continue;
		rc = handed < 0 ? handed : store_derived(p->s, p->made.v[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++) {
			struct rerun_file *x = NULL;
			if (e.v[k].via == TERM_via_sync || e.v[k].via == TERM_via_cache || rerun_made(p, e.v[k].to))
				continue;
			rc = rerun_need_version(p, e.v[k].to, false, &x);
			if (rc == 0 && x) {
				x->sure = true;
				x->lost = "changed";
			}
		}
	}
	edges_release(&e);
	edges_release(&gens);
	return rc;
}

struct str rerun_name_before(const struct rerun_planning *p, const struct file_info *f)
{
	for (size_t i = 0; i < p->consumed.n; i++) {
		const struct consumed_file *c = &p->consumed.v[i];
		if (c->how == CONSUMED_MOVED && c->ino == f->ino && c->gen == f->gen && str_is(f->domain, c->domain))
			return str_of(c->path);
	}
	return f->path;
}

/* The latest version that it had by then and that the run did not make. 1, 0: none is known, -errno. */
static int version_before(const struct rerun_planning *p, store_id file, int64_t time, struct version_info *ret)
{
	store_id id;
	int rc = store_version_of(p->s, file, 0, &id);
	while (rc == 1 && (rc = store_version(p->s, id, ret)) == 1) {
		if (ret->start <= time && !rerun_made(p, id))
			return 1;
		rc = ret->n > 1 ? store_version_of(p->s, file, ret->n - 1, &id) : 0;
	}
	return rc;
}

/* A file that nobody had opened has no version. It has its bytes still if it is the same file, and was not written
 * since the run began: a rename changes no time of modification. */
static bool is_untouched(const struct rerun_file *x, const struct consumed_file *c, int64_t began)
{
	struct fileid id;
	struct statx st;
	int fd = began == TIME_NONE ? -1 : open(x->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool same = statx(fd, "", AT_EMPTY_PATH, FILEID_STATX, &st) == 0 && S_ISREG(st.stx_mode) &&
	            fileid_time(&st.stx_mtime) <= began;
	if (same) {
		fileid_of(fd, "", AT_EMPTY_PATH, &st, &id);
		same = id.ino == c->ino && id.gen == c->gen && !strcmp(id.domain->name ? id.domain->name : "", c->domain);
	}
	close(fd);
	return same;
}

/* Its file, as the record knows it: at the name that it has now. rc of the record's. */
static int find_moved(const struct rerun_planning *p, const struct consumed_file *c, struct file_info *f,
                      struct version_info *v)
{
	store_id id = 0;
	*f = (struct file_info){.path = str_of(c->path),
	                        .kind = c->folder ? TERM_kind_directory : TERM_kind_regular,
	                        .domain = str_of(c->domain),
	                        .ino = c->ino,
	                        .gen = c->gen};
	*v = (struct version_info){.mtime = TIME_NONE};
	int rc = store_file_by_identity(p->s, str_of(c->domain), c->ino, c->gen, &id);
	if (rc == 1)
		rc = version_before(p, id, c->time, v);
	if (rc >= 0 && id)
		rc = store_file(p->s, id, f);
	return rc < 0 ? rc : 0;
}

/* Moved or linked: its bytes are needed, and lie at its new name if nobody changed them since. 0 or -errno. */
static int need_moved(struct rerun_planning *p, const struct consumed_file *c, struct str name, bool below)
{
	struct version_info v;
	struct file_info f;
	int rc = find_moved(p, c, &f, &v);
	if (rc < 0)
		return rc;
	struct rerun_file *x = rerun_add_needed(p, &f, name, false);
	if (!x)
		return rerun_oom(p->err);
	x->below = below;
	x->sure = true;
	x->lost = c->how == CONSUMED_MOVED ? "moved" : NULL;
	x->state = RERUN_GONE;
	if (c->folder)
		return 0;
	if (!p->r->own)
		return rerun_look_beneath(p, x, &f, &v);
	if (f.path.n)
		rerun_look(x, p->o, &f, &v);
	if (x->state != RERUN_SAME && !*x->want && is_untouched(x, c, p->r->began))
		x->state = RERUN_SAME;
	return 0;
}

/* Only that it was there is needed. 0 or -errno. */
static int note_removed(struct rerun_planning *p, const struct consumed_file *c, struct str name)
{
	struct rerun *r = p->r;
	struct version_info v;
	struct file_info f;
	int rc = find_moved(p, c, &f, &v);
	struct rerun_removed *more = rc < 0 ? NULL : realloc(r->removed, (r->n_removed + 1) * sizeof(*more));
	if (!more)
		return rc < 0 ? rc : rerun_oom(p->err);
	r->removed = more;
	more[r->n_removed] = (struct rerun_removed){
	    .name = strndup(name.p, name.n), .folder = c->folder, .has_size = v.has_size, .size = v.size, .mtime = v.mtime};
	return more[r->n_removed].name ? (r->n_removed++, 0) : rerun_oom(p->err);
}

/* Adds a file that the run itself took away to what a repetition needs. 0 or -errno. */
static int add_consumed_file(struct rerun_planning *p, const struct consumed_file *c)
{
	static const char *const words[] = {
	    [CONSUMED_MOVED] = "moved", [CONSUMED_REMOVED] = "removed", [CONSUMED_REPLACED] = "replaced"};
	struct str name = str_of(c->path);
	bool below = rerun_cut_folder(p->r->cwd, &name);
	if (!rerun_is_path(str_of(c->path), false))
		return err_set(p->err, EBADMSG, "the record contains an invalid path");
	struct rerun_file *x = rerun_find_needed(p->r, name, below);
	if (x) {
		x->lost = words[c->how] ? words[c->how] : x->lost;
		return 0;
	}
	if (c->became)
		return need_moved(p, c, name, below);
	return below ? note_removed(p, c, name) : 0;
}

static int compare_made(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What the run wrote under its name was put in its place, or is what became of it. */
static void judge_replaced(const struct rerun *r, struct rerun_file *x)
{
	const char *name = x->name;
	if (!r->own && x->state == RERUN_UNKNOWN) /* somebody gave a file for it */
		x->lost = NULL;
	if (rerun_lacks(x) && engine_bookkeeping(str_of(x->path)))
		x->state = RERUN_ENGINE;
	if (!rerun_lacks(x) || !x->below ||
	    !(r->n_made && bsearch(&name, r->made, r->n_made, sizeof(*r->made), compare_made)))
		return;
	if (!x->sure)
		x->state = RERUN_REPLACED;
	else if (!x->lost)
		x->lost = "changed";
}

/* Does the path lie below the folder, and is it not the folder itself? False where folder is NULL, "" or "/". The
 * folder must not end in a slash. */
static bool is_below(struct str path, const char *folder)
{
	size_t n = folder ? strlen(folder) : 0;
	while (n > 1 && folder[n - 1] == '/')
		n--;
	return n > 1 && path.n > n && !memcmp(path.p, folder, n) && path.p[n] == '/';
}

/* A folder in which each program may leave what it wants for a while; but one's home is none, wherever it lies. */
static bool is_temporary(struct str path)
{
	static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/proc"};
	if (is_below(path, getenv("HOME")))
		return false;
	bool below = is_below(path, getenv("TMPDIR"));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		below |= is_below(path, folders[i]);
	return below;
}

/* One that it wrote, moved or removed: noted if a confined command may not. 0, -ENOMEM with a sentence. */
static int note_outside(struct rerun_planning *p, struct str path)
{
	struct rerun *r = p->r;
	struct str name = path;
	if (!rerun_is_path(path, false) || rerun_cut_folder(r->cwd, &name) || is_temporary(path))
		return 0;
	for (size_t i = 0; i < r->n_outside; i++)
		if (str_is(path, r->outside[i]))
			return 0;
	r->all_outside++;
	if (r->n_outside >= RERUN_OUTSIDE)
		return 0;
	if (!r->outside && !(r->outside = calloc(RERUN_OUTSIDE + 1, sizeof(*r->outside))))
		return rerun_oom(p->err);
	if (!(r->outside[r->n_outside] = strndup(path.p, path.n)))
		return rerun_oom(p->err);
	r->n_outside++;
	return 0;
}

/* What the run did outside of its folder, in files. 0 or -errno. */
static int collect_outside(struct rerun_planning *p)
{
	struct edges gens = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->made.n; i++) {
		struct version_sort v;
		rc = is_handed(p, p->made.v[i], &gens);
		if (rc == 0 && (rc = store_version_sort(p->s, p->made.v[i], &v)) == 1)
			rc = v.kind == TERM_kind_regular && !v.within ? note_outside(p, v.path) : 0;
		rc = rc < 0 ? rc : 0;
	}
	edges_release(&gens);
	for (size_t i = 0; rc == 0 && i < p->consumed.n; i++)
		rc = note_outside(p, str_of(p->consumed.v[i].path));
	return rc;
}

int rerun_add_lost(struct rerun_planning *p)
{
	int rc = add_derived(p);
	p->r->more_removed = p->consumed.more;
	for (size_t i = 0; rc == 0 && i < p->consumed.n; i++)
		rc = add_consumed_file(p, &p->consumed.v[i]);
	for (size_t i = 0; rc == 0 && i < p->r->n; i++)
		judge_replaced(p->r, &p->r->v[i]);
	return rc < 0 ? rc : collect_outside(p);
}
