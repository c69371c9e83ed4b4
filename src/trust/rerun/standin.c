#include "trust/rerun/standin.h"

#include "base/fileid.h"
#include "base/io.h"
#include "base/strv.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct making {
	const struct rerun *r;
	struct standins *out;
	int64_t began;
	uint64_t dev; /* of the folder: what is mounted below it is not looked into */
	char **made;  /* names of files that the run made, sorted; not the making's */
	size_t n_made, cap;
	VEC(char *) folders; /* names of those that are still to be looked into, nearest first */
};

/* One folder of the run, and the same in the copy. */
struct level {
	int from, to;
	const char *name; /* relative; "" the folder itself */
	unsigned depth;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* v must be sorted. */
static bool is_among(char *const *v, size_t n, const char *name)
{
	return n && bsearch(&name, v, n, sizeof(*v), compare_names);
}

/* Is there a stand-in of that name? False also without memory. */
static bool standins_has(const struct standins *s, struct str name)
{
	char *own = strndup(name.p ? name.p : "", name.n);
	bool has = own && is_among(s->v, s->n, own);
	free(own);
	return has;
}

/* When it was made, or where that is not known changed: ns. */
static int64_t stamp(const struct statx *st)
{
	if (st->stx_mask & STATX_BTIME)
		return fileid_time(&st->stx_btime);
	return fileid_time(&st->stx_mtime);
}

/* A file with a hole in the place of its bytes. What is there already stays. 0, -errno. */
static int make_file(struct making *m, const struct level *l, const char *entry, const char *name,
                     const struct statx *st)
{
	int fd = openat(l->to, entry, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	const struct timespec times[2] = {{.tv_sec = st->stx_atime.tv_sec, .tv_nsec = st->stx_atime.tv_nsec},
	                                  {.tv_sec = st->stx_mtime.tv_sec, .tv_nsec = st->stx_mtime.tv_nsec}};
	int rc = ftruncate(fd, (off_t)st->stx_size) < 0 || fchmod(fd, st->stx_mode & 0777) < 0 || futimens(fd, times) < 0
	             ? -errno
	             : 0;
	close(fd);
	struct standins *s = m->out;
	if (rc == 0 && !vec_has_room(s->v, s->n + 1, m->cap))
		return -ENOMEM;
	if (rc == 0 && (s->v[s->n] = strdup(name)))
		s->n++;
	else if (rc == 0)
		rc = -ENOMEM;
	return rc;
}

/* A link that stays below the folder: relative and without "..", else below the folder's own path, which becomes the
 * copy's by as many steps up as it lies deep. 0, also where it leads out, and nothing is made; -errno. */
static int make_link(const struct making *m, const struct level *l, const char *entry)
{
	char target[4096], moved[4096 + 3 * STANDIN_DEPTH];
	ssize_t n = readlinkat(l->from, entry, target, sizeof(target) - 1);
	size_t cwd = strlen(m->r->cwd), at = 0;
	if (n <= 0)
		return 0;
	target[n] = '\0';
	const char *within = target;
	if (!strncmp(target, m->r->cwd, cwd) && target[cwd] == '/') {
		within = target + cwd + 1;
		for (unsigned i = 0; i < l->depth; i++)
			at += (size_t)snprintf(moved + at, sizeof(moved) - at, "../");
	}
	if (!rerun_is_path(str_of(within), true))
		return 0;
	snprintf(moved + at, sizeof(moved) - at, "%s", within);
	return symlinkat(moved, l->to, entry) < 0 && errno != EEXIST ? -errno : 0;
}

/* The folder is made, and looked into when those of its depth have their turn. name becomes the making's. At the
 * greatest depth no folder is made, and out->more is set. 0, -errno. */
static int put_off_folder(struct making *m, const struct level *l, const char *entry, char *name)
{
	char **slot = l->depth < STANDIN_DEPTH ? vec_add(&m->folders) : NULL;
	if (!slot) {
		free(name);
		m->out->more |= l->depth >= STANDIN_DEPTH;
		return l->depth < STANDIN_DEPTH ? -ENOMEM : 0;
	}
	*slot = name;
	return mkdirat(l->to, entry, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* Other file systems, and what is younger than the run, are passed over, 0; beyond STANDIN_MOST m->out->more is set.
 * -errno. */
static int make_entry(struct making *m, const struct level *l, const char *entry)
{
	struct statx st;
	char *name;
	if (statx(l->from, entry, AT_SYMLINK_NOFOLLOW, FILEID_STATX, &st) < 0 || fileid_dev(&st) != m->dev ||
	    stamp(&st) > m->began)
		return 0;
	if (asprintf(&name, "%s%s%s", l->name, *l->name ? "/" : "", entry) < 0)
		return -ENOMEM;
	int rc = 0;
	bool counts = !is_among(m->made, m->n_made, name), folder = S_ISDIR(st.stx_mode);
	if (m->out->all >= STANDIN_MOST) {
		m->out->more = true;
		folder = counts = false;
	} else if (S_ISREG(st.stx_mode) && counts)
		rc = make_file(m, l, entry, name, &st);
	else if (folder && strcmp(entry, ".git") != 0)
		return m->out->all++, put_off_folder(m, l, entry, name);
	else if (S_ISLNK(st.stx_mode) && counts)
		rc = make_link(m, l, entry);
	else
		counts = false;
	m->out->all += counts;
	free(name);
	return rc;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* For scandir: all but "." and "..". */
static int is_no_dot(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* What lies in it, in order of the names, so that the same is left out each time. -errno. */
static int make_level(struct making *m, const struct level *l)
{
	struct dirent **v = NULL;
	int n = scandirat(l->from, ".", &v, is_no_dot, compare_entries), rc = 0;
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = make_entry(m, l, v[i]->d_name);
		free(v[i]);
	}
	free(v);
	return rc;
}

/* No link is followed, whoever puts one there meanwhile. A descriptor that the caller closes, or -1 with errno. */
static int open_standin_folder(int folder, const char *name)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

/* How many folders deep a relative path leads, from 1. */
static unsigned depth_of(const char *name)
{
	unsigned n = 1;
	for (; *name; name++)
		n += *name == '/';
	return n;
}

/* Level by level: what lies near is looked at more often. 0, -errno. */
static int make_levels(struct making *m, const struct level *top)
{
	int rc = make_level(m, top);
	for (size_t i = 0; rc == 0 && i < m->folders.n && !m->out->more; i++) {
		char *name = m->folders.v[i];
		struct level l = {.from = open_standin_folder(top->from, name),
		                  .to = open_standin_folder(top->to, name),
		                  .name = name,
		                  .depth = depth_of(name)};
		if (l.from >= 0 && l.to >= 0)
			rc = make_level(m, &l);
		if (l.from >= 0)
			close(l.from);
		if (l.to >= 0)
			close(l.to);
	}
	for (size_t i = 0; i < m->folders.n; i++)
		free(m->folders.v[i]);
	vec_release(&m->folders);
	return rc;
}

/* What the run removed was there: it is made from the record. What is there already stays. 0, -errno. */
static int make_removed(struct making *m, const char *to, const struct rerun_removed *x)
{
	struct statx st = {.stx_mode = S_IFREG | 0644, .stx_size = x->has_size ? x->size : 0};
	int64_t at = x->mtime != TIME_NONE && x->mtime < m->began ? x->mtime : m->began - 1000000000;
	char *path = NULL;
	if (!rerun_is_path(str_of(x->name), true))
		return 0;
	if (m->out->all >= STANDIN_MOST) {
		m->out->more = true;
		return 0;
	}
	if (asprintf(&path, "%s/%s", to, x->name) < 0)
		return -ENOMEM;
	char *slash = strrchr(path, '/');
	*slash = x->folder ? '/' : '\0';
	int rc = io_mkdirs(path, 0755), fd = rc < 0 || x->folder ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	st.stx_mtime.tv_sec = st.stx_atime.tv_sec = at / 1000000000;
	st.stx_mtime.tv_nsec = st.stx_atime.tv_nsec = (unsigned)(at % 1000000000);
	if (fd >= 0) {
		const size_t before = m->out->n;
		rc = make_file(m, &(struct level){.to = fd}, slash + 1, x->name, &st);
		m->out->unsized += m->out->n > before && !x->has_size;
		close(fd);
	}
	m->out->all++;
	free(path);
	return rc == -EEXIST || rc == -ENOTDIR ? 0 : rc;
}

int standins_make(const struct rerun *r, int64_t began, const char *to, struct err *err, struct standins *ret)
{
	struct making m = {.r = r, .out = ret, .began = began, .made = r->made, .n_made = r->n_made};
	struct level l = {.name = ""};
	struct statx st;
	*ret = (struct standins){0};
	if (!r->own || began == TIME_NONE || strlen(r->cwd) < 2)
		return 0;
	l.from = open(r->cwd, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	l.to = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;
	if (l.from >= 0 && l.to >= 0 && statx(l.from, "", AT_EMPTY_PATH, FILEID_STATX, &st) == 0) {
		m.dev = fileid_dev(&st);
		rc = make_levels(&m, &l);
	}
	for (size_t i = 0; rc == 0 && l.to >= 0 && i < r->n_removed; i++)
		rc = make_removed(&m, to, &r->removed[i]);
	if (l.from >= 0)
		close(l.from);
	if (l.to >= 0)
		close(l.to);
	if (ret->v) {
		ret->v[ret->n] = NULL;
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_names);
	}
	return rc < 0 ? err_set(err, -rc, "cannot make stand-ins in '%s'", to) : 0;
}

void standins_release(struct standins *s)
{
	strv_free(s->v);
	*s = (struct standins){0};
}

/* The stand-in that the edge says was read, malloc'ed; "" none. NULL without memory. */
static char *stand_in_read(struct store *s, const struct edge *e, const char *to, const struct standins *made)
{
	struct version_info v;
	struct file_info f;
	size_t n = strlen(to);
	if (!(e->mode & (ACCESS_READ | ACCESS_PROGRAM)) || store_version(s, e->to, &v) != 1 ||
	    v.origin == ORIGIN_OBSERVED || store_file(s, v.file, &f) != 1 || f.kind != TERM_kind_regular ||
	    f.path.n <= n + 1 || memcmp(f.path.p, to, n) != 0 || f.path.p[n] != '/')
		return strdup("");
	struct str name = str_n(f.path.p + n + 1, f.path.n - n - 1);
	return standins_has(made, name) ? strndup(name.p, name.n) : strdup("");
}

int standins_opened(struct store *s, store_id run, const char *to, const struct standins *made, char ***ret)
{
	store_id *execs = NULL;
	size_t n = 0, k = 0, cap = 0;
	struct edges e = {0};
	char **v = NULL;
	*ret = NULL;
	int rc = made->n ? store_run_execs(s, run, &execs, &n) : 0;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_uses(s, execs[i], &e);
		for (size_t j = 0; rc >= 0 && j < e.n; j++) {
			char *name = stand_in_read(s, &e.v[j], to, made);
			bool known = name && !*name;
			for (size_t q = 0; name && q < k; q++)
				known |= !strcmp(v[q], name);
			if (!name || (!known && !vec_has_room(v, k + 1, cap)))
				rc = -ENOMEM;
			else if (!known) {
				v[k++] = name;
				v[k] = NULL;
				continue;
			}
			free(name);
		}
	}
	edges_release(&e);
	free(execs);
	if (rc < 0)
		strv_free(v);
	else
		*ret = v;
	return rc < 0 ? rc : 0;
}
