#include "trust/rerun/rerun.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/io.h"
#include "base/os/mark.h"
#include "base/os/memfile.h"
#include "base/os/still.h"
#include "base/os/system.h"
#include "base/strv.h"
#include "base/vec.h"
#include "event/env.h"
#include "sandbox/childless.h"
#include "trust/content.h"
#include "trust/kept.h"
#include "trust/rerun/rerun_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMITS_MAX 50 /* that are looked at for one file */

/* Static. */
const char *rerun_state_name(enum rerun_state s)
{
	static const char *const words[] = {"same", "kept copy", "from git", "built again", "differs",
	                                    "gone", "changed",   "unknown",  "replaced",    "not required"};
	return words[s];
}

int rerun_oom(struct err *err)
{
	return err_set(err, ENOMEM, "cannot find out what the run needs");
}

/* By its name: ".so" at the end or before a dot. */
static bool is_shared_object(struct str path)
{
	const char *so = memmem(path.p, path.n, ".so", 3);
	return so && (so + 3 == path.p + path.n || so[3] == '.');
}

/* What the record says that it held: its digest in this run, else what the run's programs were. */
static char *recorded_content(const struct rerun_planning *p, const struct file_info *f, const struct rerun_file *x)
{
	for (size_t i = 0; i < p->digests.n; i++) {
		const struct event_digest *d = &p->digests.v[i].ev.digest;
		if (d->usage == TERM_usage_input && d->ino == f->ino && d->gen == f->gen && str_eq(d->domain, f->domain) &&
		    d->digest.n)
			return strndup(d->digest.p, d->digest.n);
	}
	const char *base = strrchr(x->path, '/');
	char name[300];
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s.%s", i ? "library" : "program", base ? base + 1 : x->path);
		const struct element *e = elements_find(&p->seen->side.part[TRUST_INVARIANTS], str_of(name));
		if (e && e->n == 1)
			return strdup(e->value[0]);
	}
	return strdup("");
}

bool rerun_is_path(struct str path, bool relative)
{
	if (!path.n || memchr(path.p, '\0', path.n) || (path.p[0] == '/') == relative)
		return false;
	size_t at = relative ? 0 : 1;
	if (at == path.n)
		return true; /* the root */
	for (;;) {
		const char *p = path.p + at, *slash = memchr(p, '/', path.n - at);
		size_t n = slash ? (size_t)(slash - p) : path.n - at;
		if (!n || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (!slash)
			return true;
		at += n + 1;
	}
}

void rerun_look(struct rerun_file *x, const struct witness_options *o, const struct file_info *f,
                const struct version_info *v)
{
	const struct still_print print = {
	    .domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	const struct still_was was = {.content = x->want, .print = v->has_size ? &print : NULL};
	struct still_seen seen;
	x->size = v->has_size ? v->size : 0;
	/* What cannot be read, though it is known what it was, may be brought back. */
	const enum rerun_state states[] = {[STILL_SAME] = RERUN_SAME,
	                                   [STILL_OTHER] = RERUN_DIFFERS,
	                                   [STILL_GONE] = RERUN_GONE,
	                                   [STILL_UNKNOWN] = *x->want ? RERUN_DIFFERS : RERUN_UNKNOWN};
	x->state = states[still_look(o ? o->cache : NULL, x->path, &was, &seen)];
	x->fingerprint_same = seen.print_same;
	if (x->state == RERUN_UNKNOWN && v->has_size && (x->how = still_changed_words(&seen, &print)))
		x->state = RERUN_CHANGED;
	if (seen.mode)
		x->mode = seen.mode;
}

/* Only of a run of this user on this machine. The list ends with NULL. 0, -ENOMEM with a sentence. */
static int add_read(struct rerun_planning *p, struct str path)
{
	struct rerun *r = p->r;
	if (!r->own)
		return 0;
	if ((r->n_reads & (r->n_reads + 1)) == 0) { /* full at 1, 3, 7, ... */
		char **more = realloc(r->reads, (2 * r->n_reads + 2) * sizeof(*more));
		if (!more)
			return rerun_oom(p->err);
		r->reads = more;
	}
	if (!(r->reads[r->n_reads] = strndup(path.p, path.n)))
		return rerun_oom(p->err);
	r->reads[++r->n_reads] = NULL;
	return 0;
}

/* The file that stands for one of a received run: in the folder that the user gave, and nowhere else, whatever links
 * lie there. "" there is none. */
static char *find_beneath(const char *from, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	char link[40], real[PATH_MAX];
	int dir = from ? open(from, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = dir >= 0 ? (int)syscall(SYS_openat2, dir, name, &how, sizeof(how)) : -1;
	ssize_t n = -1;
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, real, sizeof(real) - 1);
		close(fd);
	}
	if (dir >= 0)
		close(dir);
	return n > 0 ? strndup(real, (size_t)n) : strdup("");
}

/* Files and folders that the run used are what a confined command may read. 0 or -errno with a sentence. */
static int add_used_path(struct rerun_planning *p, const struct file_info *f)
{
	if ((f->kind != TERM_kind_regular && f->kind != TERM_kind_directory) || !f->path.n || f->within)
		return 0;
	if (!rerun_is_path(f->path, false)) {
		err_set(p->err, 0, "the record of the run has an invalid path, so it is damaged or forged");
		return -EBADMSG;
	}
	return add_read(p, f->path) < 0 ? -ENOMEM : 0;
}

bool rerun_cut_folder(const char *cwd, struct str *path)
{
	size_t n = strlen(cwd);
	if (n <= 1 || path->n <= n + 1 || memcmp(path->p, cwd, n) != 0 || path->p[n] != '/')
		return false;
	*path = str_n(path->p + n + 1, path->n - n - 1);
	return true;
}

struct rerun_file *rerun_find_needed(struct rerun *r, struct str name, bool below)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].below == below && str_is(name, r->v[i].name))
			return &r->v[i];
	return NULL;
}

struct rerun_file *rerun_add_needed(struct rerun_planning *p, const struct file_info *f, struct str name, bool program)
{
	struct rerun *r = p->r;
	struct rerun_file *more = realloc(r->v, (r->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	r->v = more;
	struct rerun_file *x = &r->v[r->n++];
	*x = (struct rerun_file){.path = strndup(f->path.p, f->path.n),
	                         .name = strndup(name.p, name.n),
	                         .program = program,
	                         .library = is_shared_object(f->path),
	                         .mode = program ? 0755 : 0644};
	x->want = x->path ? recorded_content(p, f, x) : NULL;
	return x->path && x->name && x->want ? x : NULL;
}

int rerun_look_beneath(struct rerun_planning *p, struct rerun_file *x, const struct file_info *f,
                       const struct version_info *v)
{
	char *there = x->below ? find_beneath(p->from, x->name) : strdup("");
	if (!there)
		return rerun_oom(p->err);
	free(x->path);
	x->path = there;
	x->state = RERUN_GONE;
	if (*there)
		rerun_look(x, p->o, f, v);
	if (x->state == RERUN_CHANGED) /* it is another file, with times of its own */
		x->state = RERUN_UNKNOWN;
	return 0;
}

/* Where this run told no digest of it, but another one did. 0 or -errno. */
static int content_by_others(struct rerun_planning *p, const struct file_info *f, const struct version_info *v,
                             struct rerun_file *x)
{
	char told[DIGEST_TEXT] = "";
	int rc = *x->want ? 0 : digest_told(p->s, v, f, told);
	if (rc != 1)
		return rc;
	free(x->want);
	x->want = strdup(told);
	return x->want ? 0 : rerun_oom(p->err);
}

int rerun_need_version(struct rerun_planning *p, store_id version, bool program, struct rerun_file **ret)
{
	struct rerun *r = p->r;
	struct version_info v;
	struct file_info f;
	*ret = NULL;
	int rc = store_version(p->s, version, &v);
	if (rc == 1)
		rc = store_file(p->s, v.file, &f);
	if (rc != 1)
		return rc < 0 ? rc : 0;
	rc = add_used_path(p, &f);
	if (rc < 0 || f.kind != TERM_kind_regular || !f.path.n)
		return rc;
	struct str name = rerun_name_before(p, &f);
	bool below = rerun_cut_folder(r->cwd, &name);
	if (!below && system_path(f.path, p->o->system_extra) != SYSTEM_NO)
		return 0;
	struct rerun_file *x = rerun_find_needed(r, name, below);
	if (x) {
		x->program |= program;
		*ret = x;
		return 0;
	}
	x = rerun_add_needed(p, &f, name, program);
	if (!x)
		return rerun_oom(p->err);
	x->below = below;
	*ret = x;
	rc = content_by_others(p, &f, &v, x);
	if (rc == 0 && !r->own)
		return rerun_look_beneath(p, x, &f, &v);
	if (rc == 0)
		rerun_look(x, p->o, &f, &v);
	return rc;
}

static int compare_made_versions(const void *a, const void *b)
{
	store_id x = *(const store_id *)a, y = *(const store_id *)b;
	return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One of the names of what it made, if it lies below its working directory. 0, -ENOMEM with a sentence. */
static int append_made_name(struct rerun_planning *p, struct str name)
{
	struct rerun *r = p->r;
	if (!name.n || !rerun_cut_folder(r->cwd, &name))
		return 0;
	if (!(r->made[r->n_made] = strndup(name.p, name.n)))
		return rerun_oom(p->err);
	r->n_made++;
	return 0;
}

/* Names of what it made below its working directory, as they are called now, and of what it moved there. 0 or -errno.
 */
static int collect_made_names(struct rerun_planning *p)
{
	struct rerun *r = p->r;
	int moved = 0;
	if (!p->made.n && !p->consumed.n)
		return 0;
	r->made = calloc(p->made.n + p->consumed.n + 1, sizeof(*r->made));
	if (!r->made)
		return rerun_oom(p->err);
	for (size_t i = 0; moved == 0 && i < p->consumed.n; i++)
		moved = append_made_name(p, str_of(p->consumed.v[i].became));
	if (moved < 0)
		return moved;
	for (size_t i = 0; i < p->made.n; i++) {
		struct version_sort v;
		int rc = store_version_sort(p->s, p->made.v[i], &v);
		rc = rc == 1 ? append_made_name(p, v.path) : rc;
		if (rc < 0)
			return rc;
	}
	qsort(r->made, r->n_made, sizeof(*r->made), compare_texts);
	return 0;
}

bool rerun_made(const struct rerun_planning *p, store_id version)
{
	return p->made.n && bsearch(&version, p->made.v, p->made.n, sizeof(store_id), compare_made_versions);
}

/* The file that the edge leads to. 0 or -errno. */
static int need_used(struct rerun_planning *p, const struct edge *e)
{
	struct rerun_file *x;
	int rc = rerun_need_version(p, e->to, (e->mode & ACCESS_PROGRAM) != 0, &x);
	if (rc == 0 && x)
		x->sure |= e->sure;
	return rc;
}

/* What the run used and did not make itself. 0, -errno with a sentence. */
static int collect_files(struct rerun_planning *p, const store_id *execs, size_t n)
{
	struct edges e = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_outputs(p->s, execs[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++) {
			store_id *slot = vec_add(&p->made);
			if (!slot)
				rc = rerun_oom(p->err);
			else
				*slot = e.v[k].to;
		}
	}
	if (p->made.n)
		qsort(p->made.v, p->made.n, sizeof(*p->made.v), compare_made_versions);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_uses(p->s, execs[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++)
			if (e.v[k].via != TERM_via_sync && !rerun_made(p, e.v[k].to))
				rc = need_used(p, &e.v[k]);
	}
	edges_release(&e);
	return rc;
}

bool rerun_has_redacted(const struct strlist *l)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);)
		if (s.n >= 3 && memmem(s.p, s.n, "***", 3))
			return true;
	return false;
}

/* The environment of the run's first program, NULL without one. */
static int first_env(struct store *s, const store_id *execs, size_t n, char ***ret)
{
	struct exec_info x;
	*ret = NULL;
	for (size_t i = 0; i < n; i++)
		if (store_exec(s, execs[i], &x) == 1 && x.n > 0)
			return (*ret = strlist_copy(&x.env)) ? 0 : -ENOMEM;
	return 0;
}

/* Was the mark of this user on this machine made for such a run? False, too, without memory. */
static bool is_marked(const char *home, const struct rerun *r)
{
	size_t argc = 0, envc = 0;
	while (r->argv[argc])
		argc++;
	while (r->env && r->env[envc])
		envc++;
	struct str *v = calloc(argc + envc + 1, sizeof(*v));
	if (!v)
		return false;
	struct mark_what w = {.run = r->ulid, .cwd = str_of(r->cwd), .argv = v, .argc = argc, .env = v + argc};
	for (size_t i = 0; i < argc; i++)
		v[i] = str_of(r->argv[i]);
	for (size_t i = 0; i < envc; i++)
		if (env_marked(str_of(r->env[i])))
			v[argc + w.envc++] = str_of(r->env[i]);
	bool own = mark_has(home, &w);
	free(v);
	return own;
}

/* Does a list have a NUL inside of a text? What is run would be another command than what was marked. */
static bool has_nul(const struct strlist *l)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);)
		if (s.n && memchr(s.p, '\0', s.n))
			return true;
	return false;
}

int rerun_is_own(struct store *s, store_id run, const char *home)
{
	struct run_info info;
	struct rerun r = {0};
	store_id *execs = NULL;
	size_t n = 0;
	int rc = store_run(s, run, &info);
	if (rc != 1)
		return rc < 0 ? rc : -ENOENT;
	bool nul = has_nul(&info.argv);
	r.cwd = strndup(info.cwd.p ? info.cwd.p : "", info.cwd.n);
	r.ulid = strndup(info.ulid.p, info.ulid.n);
	r.argv = strlist_copy(&info.argv);
	r.redacted |= rerun_has_redacted(&info.argv);
	rc = r.cwd && r.ulid && r.argv ? store_run_execs(s, run, &execs, &n) : -ENOMEM;
	if (rc >= 0)
		rc = first_env(s, execs, n, &r.env);
	if (rc >= 0)
		rc = !nul && is_marked(home, &r);
	free(execs);
	rerun_release(&r);
	return rc;
}

/* What the run's command was, and where it ran. 0 or -errno with a sentence. */
static int copy_command(const struct run_info *info, struct err *err, struct rerun *ret)
{
	ret->cwd = strndup(info->cwd.p ? info->cwd.p : "", info->cwd.n);
	ret->ulid = strndup(info->ulid.p, info->ulid.n);
	ret->user = strndup(info->user.p ? info->user.p : "", info->user.n);
	ret->host = strndup(info->host.p ? info->host.p : "", info->host.n);
	ret->argv = strlist_copy(&info->argv);
	ret->began = info->start;
	ret->redacted |= rerun_has_redacted(&info->argv);
	if (has_nul(&info->argv) || (info->cwd.n && !rerun_is_path(info->cwd, false))) {
		err_set(err, 0, "the record of the run has an invalid command or folder, so it is damaged or forged");
		return -EBADMSG;
	}
	return ret->cwd && ret->argv && ret->ulid && ret->user && ret->host ? 0 : rerun_oom(err);
}

int rerun_plan(struct store *s, store_id run, const char *home, const char *from, const struct witness_options *o,
               struct err *err, struct rerun *ret)
{
	struct witness seen = {0};
	struct rerun_planning p = {.s = s, .from = from, .o = o, .err = err, .r = ret, .seen = &seen};
	struct run_info info;
	store_id *execs = NULL;
	size_t n = 0;
	*ret = (struct rerun){0};
	int rc = witness_runs(s, &run, 1, o, err, &seen);
	if (rc < 0) {
		witness_release(&seen);
		return rc;
	}
	rc = store_run(s, run, &info) == 1
	         ? copy_command(&info, err, ret)
	         : (err_set(err, 0, "cannot read the run from the index; stemma index --rebuild makes the index again"),
	            -EIO);
	if (rc == 0)
		rc = store_run_execs(s, run, &execs, &n);
	if (rc >= 0)
		rc = first_env(s, execs, n, &ret->env);
	if (rc >= 0)
		ret->own = is_marked(home, ret);
	if (rc >= 0)
		rc = store_reported(s, run, EVENT_digest, &p.digests);
	if (rc >= 0)
		rc = consumed_read(s, run, err, &p.consumed);
	if (rc >= 0)
		rc = collect_files(&p, execs, n);
	if (rc >= 0)
		rc = collect_made_names(&p);
	if (rc >= 0)
		rc = rerun_add_lost(&p);
	free(execs);
	reported_list_release(&p.digests);
	vec_release(&p.made);
	consumed_release(&p.consumed);
	witness_release(&seen);
	return rc < 0 ? err_set(err, -rc, "cannot find out what the run needs") : 0;
}

/* ---- bringing files back ---- */

/* git in the repository that a file lies in. Whoever made that may let git wait for ever (its configuration or HEAD is
 * a FIFO), or unpack without end. */
struct repository {
	const char *dir;
	uint64_t most; /* bytes that it may print, 0 any number */
};
enum { GIT_MS = 10000 };
static bool git_was_late; /* then it is not asked again in this process, for other files either */

/* Variables could lead git to another repository or program, which the repository's configuration can name, too. arg: a
 * struct repository. Changes the folder and the environment of the calling process. 0, -errno. */
static int enter_repository(void *arg)
{
	extern char **environ;
	const struct repository *repository = arg;
	size_t k = 0;
	if (chdir(repository->dir) < 0)
		return -errno;
	for (size_t i = 0; environ[i]; i++)
		if (strncmp(environ[i], "GIT_", 4) != 0)
			environ[k++] = environ[i];
	environ[k] = NULL;
	childless_bound(repository->most);
	return childless_enter();
}

/* Runs git in the file's folder; its output in a file without a name. The descriptor, or -errno. */
static int git(struct repository *repository, char *const argv[])
{
	const char *tmp = getenv("TMPDIR");
	if (git_was_late)
		return -ENOENT;
	int out = open(tmp && *tmp == '/' ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (out < 0) /* not every file system has such files */
		out = memfile_new("stemma-git");
	if (out < 0)
		return -errno;
	int rc = child_run(
	    &(struct child){.argv = argv, .out = out, .before = enter_repository, .arg = repository, .limit_ms = GIT_MS});
	git_was_late = rc == -ETIMEDOUT;
	if (rc != 0) {
		close(out);
		return -ENOENT;
	}
	return out;
}

/* From a commit that has those bytes under that name, into a file `to`: x->commit and state say so. -ENOENT: none has;
 * -errno. */
static int from_git(struct rerun_file *x, const char *to)
{
	char dir[4096], commits[COMMITS_MAX * 41 + 1], spec[4200], limit[16];
	const char *slash = strrchr(x->path, '/');
	if (!slash || (size_t)(slash - x->path) >= sizeof(dir) || strncmp(x->want, "sha256:", 7) != 0)
		return -ENOENT;
	snprintf(dir, sizeof(dir), "%.*s", slash == x->path ? 1 : (int)(slash - x->path), x->path);
	snprintf(limit, sizeof(limit), "-%d", COMMITS_MAX);
	char *const log[] = {(char *)"git", (char *)"rev-list", (char *)"--all", limit, (char *)"--", (char *)(slash + 1),
	                     NULL};
	struct repository repository = {.dir = dir, .most = sizeof(commits)};
	int fd = git(&repository, log);
	if (fd < 0)
		return fd;
	ssize_t k = io_pread(fd, commits, sizeof(commits) - 1, 0);
	close(fd);
	commits[k > 0 ? k : 0] = '\0';
	repository.most = x->size;
	for (char *save = NULL, *c = strtok_r(commits, "\n", &save); c; c = strtok_r(NULL, "\n", &save)) {
		snprintf(spec, sizeof(spec), "%s:./%s", c, slash + 1);
		char *const blob[] = {(char *)"git", (char *)"cat-file", (char *)"blob", spec, NULL};
		fd = git(&repository, blob);
		if (fd < 0)
			continue;
		int rc = still_holds(NULL, fd, x->want) > 0 ? kept_copy(fd, to, x->mode, NULL) : -ENOENT;
		close(fd);
		if (rc == 0) {
			x->commit = strdup(c);
			x->state = RERUN_GIT;
		}
		if (rc != -ENOENT)
			return rc;
	}
	return -ENOENT;
}

int rerun_bring(struct rerun_file *x, const char *home, const char *to)
{
	struct digest d;
	if (x->state == RERUN_SAME || x->state == RERUN_CHANGED || x->state == RERUN_UNKNOWN) {
		int fd = open(x->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		int rc = fd < 0 ? -errno : kept_copy(fd, to, x->mode, NULL);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (digest_parse(str_of(x->want), &d) && kept_get(home, &d, to) == 0) {
		x->state = RERUN_KEPT;
		return chmod(to, x->mode) < 0 ? -errno : 0;
	}
	int rc = from_git(x, to);
	return rc == -ENOENT ? 0 : rc; /* it stays away, which its state says */
}

/* Puts a recorded variable among the k of v, in the place of one of its name. What is no variable, a secret, or names
 * the place or the recorder is passed over; what could load code, or is not on the list, is named in out instead. */
static void take_variable(char **v, size_t *k, char *variable, struct buf *out)
{
	const char *eq = strchr(variable, '=');
	size_t len = eq ? (size_t)(eq - variable) : 0, at = 0;
	struct str name = str_n(variable, len);
	if (!len || strstr(eq, "***") || str_is(name, "PWD") || !strncmp(variable, "STEMMA", 6))
		return;
	while (at < *k && strncmp(v[at], variable, len + 1) != 0)
		at++;
	if (env_loads(name) || !env_allowed(name)) {
		if (at == *k || strcmp(v[at], variable) != 0)
			buf_printf(out, "%s%.*s", out->n ? ", " : "", (int)len, name.p);
		return;
	}
	v[at] = variable;
	*k += at == *k;
}

char **rerun_environment(char *const *env, bool own, char **left_out)
{
	extern char **environ;
	size_t n = 0, k = 0;
	struct buf out = {0};
	while (environ[n])
		n++;
	for (size_t i = 0; env && env[i]; i++)
		n++;
	char **v = calloc(n + 1, sizeof(*v));
	for (size_t i = 0; v && own && environ[i]; i++)
		v[k++] = environ[i];
	for (size_t i = 0; v && env && env[i]; i++)
		take_variable(v, &k, env[i], &out);
	if (left_out)
		*left_out = strdup(out.n ? buf_cstr(&out) : "");
	buf_release(&out);
	return v;
}

int rerun_fill(struct rerun *r, const char *home, const char *dir, struct err *err)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rerun_file *x = &r->v[i];
		char *to = NULL;
		if (!x->below || x->state == RERUN_REPLACED || x->state == RERUN_ENGINE ||
		    !rerun_is_path(str_of(x->name), true))
			continue;
		if (!r->own && (x->state == RERUN_DIFFERS ||
		                x->state == RERUN_GONE)) /* whose copies and repositories are not the record's to choose from */
			continue;
		if (asprintf(&to, "%s/%s", dir, x->name) < 0)
			return rerun_oom(err);
		char *slash = strrchr(to, '/');
		*slash = '\0';
		int rc = io_mkdirs(to, 0755);
		*slash = '/';
		if (rc == 0)
			rc = rerun_bring(x, home, to);
		free(to);
		if (rc < 0)
			return err_set(err, -rc, "cannot copy '%s' to '%s'", x->name, dir);
	}
	return 0;
}

void rerun_file_release(struct rerun_file *x)
{
	free(x->path);
	free(x->name);
	free(x->want);
	free(x->commit);
}

/* r is empty then. */
void rerun_release(struct rerun *r)
{
	for (size_t i = 0; i < r->n; i++)
		rerun_file_release(&r->v[i]);
	free(r->v);
	strv_free(r->argv);
	strv_free(r->env);
	strv_free(r->reads);
	strv_free(r->made);
	strv_free(r->outside);
	for (size_t i = 0; i < r->n_removed; i++)
		free(r->removed[i].name);
	free(r->removed);
	free(r->cwd);
	free(r->ulid);
	free(r->user);
	free(r->host);
	*r = (struct rerun){0};
}
