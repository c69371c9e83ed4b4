#include "archive/inputs.h"

#include "archive/task.h"
#include "base/os/system.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIZE_NONE = UINT32_MAX }; /* it does not count */

struct input_cache {
	const char *system_extra;
	struct idmap versions; /* version -> index of size, or SIZE_NONE */
	double *sizes;         /* negative: not known */
	size_t n, cap;
	struct buf path;
};

/* NULL without memory. system_extra is not copied. */
struct input_cache *input_cache_new(const char *system_extra)
{
	struct input_cache *c = calloc(1, sizeof(*c));
	if (c)
		c->system_extra = system_extra;
	return c;
}

/* NULL is no error. */
void input_cache_free(struct input_cache *c)
{
	if (!c)
		return;
	idmap_release(&c->versions);
	free(c->sizes);
	buf_release(&c->path);
	free(c);
}

/* Keeps the size of an input (bytes). *ret: its place. 0, -ENOMEM. */
static int add_size(struct input_cache *c, double size, uint32_t *ret)
{
	if (!vec_has_room(c->sizes, c->n, c->cap))
		return -ENOMEM;
	c->sizes[c->n] = size;
	*ret = (uint32_t)c->n++;
	return 0;
}

/* Its place in sizes, or SIZE_NONE. Sizes that are not known are -1 there. SIZE_NONE: it does not count. 0, -errno. */
static int load_input_size(struct store *s, struct input_cache *c, store_id version, uint32_t *ret)
{
	bool is_new = false;
	uint32_t *slot = idmap_add(&c->versions, version, SIZE_NONE, &is_new), at = SIZE_NONE;
	struct version_sort sort;
	struct version_info v;
	if (!slot)
		return -ENOMEM;
	*ret = *slot;
	if (!is_new)
		return 0;
	int rc = store_version_sort(s, version, &sort);
	bool counts = rc == 1 && sort.kind == TERM_kind_regular && system_path(sort.path, c->system_extra) == SYSTEM_NO;
	if (counts)
		rc = store_version(s, version, &v);
	if (counts && rc == 1)
		rc = add_size(c, v.has_size ? (double)v.size : -1, &at);
	slot = idmap_find(&c->versions, version);
	if (slot)
		*slot = at;
	*ret = at;
	return rc < 0 ? rc : 0;
}

/* Without ./ and ../ at its beginning. */
static struct str without_dots(struct str s)
{
	while (s.n > 1 && s.p[0] == '.' && (s.p[1] == '/' || (s.n > 2 && s.p[1] == '.' && s.p[2] == '/'))) {
		size_t skip = s.p[1] == '/' ? 2 : 3;
		s = str_n(s.p + skip, s.n - skip);
	}
	return s;
}

/* Does the word end the path, by whole components? */
static bool ends_path(struct str word, struct str path)
{
	word = without_dots(word);
	return word.n && str_ends(path, word) &&
	       (word.p[0] == '/' || (path.n > word.n && path.p[path.n - word.n - 1] == '/'));
}

/* Does an argument, or what follows a `=` in it, end the path? */
static bool is_input_named(const struct strlist *argv, struct str path)
{
	struct str s;
	for (size_t pos = 0, n = 0; strlist_next(argv, &pos, &s); n++) {
		if (!n || !s.n)
			continue;
		const char *eq = memchr(s.p, '=', s.n);
		if (ends_path(s, path) || (eq && ends_path(str_n(eq + 1, s.n - (size_t)(eq + 1 - s.p)), path)))
			return true;
	}
	return false;
}

/* Adds to *sum, and to *named if the command names it; they become -1, and stay so, where a size is not known. 0,
 * -errno. */
static int sum_input(struct store *s, struct input_cache *c, store_id version, const struct strlist *argv, double *sum,
                     double *named)
{
	uint32_t at;
	struct version_sort sort;
	int rc = load_input_size(s, c, version, &at);
	if (rc < 0 || at == SIZE_NONE)
		return rc;
	double size = c->sizes[at];
	*sum = size < 0 || *sum < 0 ? -1 : *sum + size;
	rc = store_version_sort(s, version, &sort);
	if (rc == 1 && is_input_named(argv, sort.path))
		*named = size < 0 || *named < 0 ? -1 : *named + size;
	return rc < 0 ? rc : 0;
}

/* What the executions made: versions that are no inputs of the run. 0 or more, -errno. */
static int versions_made(struct store *s, const store_id *execs, size_t n, struct idmap *made)
{
	struct edges e = {0};
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_outputs(s, execs[i], &e);
		for (size_t k = 0; rc >= 0 && k < e.n; k++)
			if (!idmap_add(made, e.v[k].to, 1, &(bool){false}))
				rc = -ENOMEM;
	}
	edges_release(&e);
	return rc;
}

/* Adds up what the executions used and did not make, each version once. sum and named as sum_input has them. 0 or more,
 * -errno. */
static int sum_inputs(struct store *s, struct input_cache *c, const store_id *execs, size_t n, const struct idmap *made,
                      const struct strlist *argv, double *sum, double *named)
{
	struct idmap seen = {0};
	struct edges e = {0};
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_uses(s, execs[i], &e);
		for (size_t k = 0; rc >= 0 && k < e.n; k++) {
			bool is_new = false;
			if (!idmap_add(&seen, e.v[k].to, 1, &is_new))
				rc = -ENOMEM;
			else if (is_new && !idmap_find(made, e.v[k].to))
				rc = sum_input(s, c, e.v[k].to, argv, sum, named);
		}
	}
	idmap_release(&seen);
	edges_release(&e);
	return rc;
}

int input_of_run(struct store *s, struct input_cache *c, store_id run, double *ret, double *ret_named)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct idmap made = {0};
	struct buf args = {0};
	struct run_info r;
	double sum = 0, named = 0;
	int rc = store_run_execs(s, run, &execs, &n);
	*ret = *ret_named = -1;
	if (rc >= 0 && n)
		rc = store_run(s, run, &r);
	if (rc <= 0 || !n)
		goto out;
	buf_str(&args, r.argv.raw);
	struct strlist argv = {.count = r.argv.count, .raw = buf_view(&args)};
	rc = args.failed ? -ENOMEM : versions_made(s, execs, n, &made);
	if (rc >= 0)
		rc = sum_inputs(s, c, execs, n, &made, &argv, &sum, &named);
	if (rc >= 0) {
		*ret = sum;
		*ret_named = named;
	}
out:
	free(execs);
	idmap_release(&made);
	buf_release(&args);
	return rc < 0 ? rc : 0;
}

/* ---- of a command that is to come ---- */

/* Was the file, as it is now, made by a run of the command? 1, 0; 0, too, where that cannot be told. */
static int is_result(struct store *s, const char *path, struct str command)
{
	struct err ignored = {0};
	struct file_target t;
	struct edges e = {0};
	struct exec_info x;
	struct run_info r;
	struct buf other = {0};
	int is = 0, rc = target_file(s, path, &ignored, &t);
	if (rc == 1 && t.version && t.disk == DISK_SAME)
		rc = store_gens(s, t.version, &e);
	for (size_t i = 0; rc >= 0 && !is && i < e.n; i++) {
		rc = store_exec(s, e.v[i].to, &x);
		if (rc == 1 && x.run)
			rc = store_run(s, x.run, &r);
		if (rc != 1 || !x.run)
			continue;
		buf_reset(&other);
		task_command(&r.argv, &other);
		is = str_eq(buf_view(&other), command);
	}
	edges_release(&e);
	buf_release(&other);
	return is;
}

int input_of_command(struct store *s, char *const *argv, double *ret)
{
	struct buf command = {0}, raw = {0};
	struct idmap seen = {0};
	size_t n = 0;
	int rc = 0;
	*ret = 0;
	for (; argv[n]; n++) {
		buf_varint(&raw, strlen(argv[n]));
		buf_str(&raw, str_of(argv[n]));
	}
	task_command(&(struct strlist){.count = n, .raw = buf_view(&raw)}, &command);
	for (size_t i = 1; rc >= 0 && i < n; i++) {
		const char *eq = strchr(argv[i], '=');
		const char *const words[] = {argv[i], eq ? eq + 1 : NULL};
		for (unsigned k = 0; rc >= 0 && k < 2; k++) {
			struct stat st;
			bool is_new = false;
			if (!words[k] || !*words[k] || stat(words[k], &st) < 0 || !S_ISREG(st.st_mode))
				continue;
			/* Two files with one sum count once: a sum of inode and device is as good as any key here. */
			if (!idmap_add(&seen, (uint64_t)st.st_ino + ((uint64_t)st.st_dev << 44) + 1, 1, &is_new))
				rc = -ENOMEM;
			else if (is_new && !is_result(s, words[k], buf_view(&command)))
				*ret += (double)st.st_size;
		}
	}
	idmap_release(&seen);
	buf_release(&command);
	buf_release(&raw);
	return rc;
}
