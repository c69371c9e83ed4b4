#include "answer/show/show.h"

#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL (16u << 20) /* bytes of a file of another kind that is digested to see whether a build made it */

/* Is it worth asking how the file was built? A program, a library, an object, an archive. */
static bool could_be_built(const char *path)
{
	struct stat st;
	char head[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ret = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	           (st.st_size <= SMALL || (io_pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	                                    (!memcmp(head, ELFMAG, SELFMAG) || !memcmp(head, "!<arch>\n", 8))));
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Makes a list of the one build that was found. r: what the finder of b returned. 0: ret owns what b had; where r is
 * not 1, r; -ENOMEM. */
static int list_one(int r, struct build *b, struct build_list *ret)
{
	if (r != 1)
		return r;
	ret->v = malloc(sizeof(*ret->v));
	if (!ret->v) {
		build_release(b);
		return -ENOMEM;
	}
	ret->v[0] = *b;
	ret->n = ret->room = 1;
	return 0;
}

/* The builds of the record, else what the file itself says of its compiler. 1 where it does; 0, also where it is no
 * file of a build; -errno. */
static int find_file_builds(struct store *s, const char *path, struct err *err, struct build_list *ret)
{
	struct build b;
	int r = build_find(s, path, err, ret);
	if (r < 0 || ret->n)
		return r == -EINVAL ? 0 : r;
	return list_one(build_from_elf(path, err, &b), &b, ret);
}

/* What the name of a record, or of a file on disk, leads to. 0, also where nothing is found; -errno with a sentence. */
static int find_builds(struct store *s, const char *text, bool only_file, struct err *err, struct build_list *ret)
{
	struct build b;
	int r = only_file ? 0 : list_one(build_get(s, str_of(text), err, &b), &b, ret);
	if (r == 0 && !ret->n && !strstr(text, "@{") && could_be_built(text))
		r = find_file_builds(s, text, err, ret);
	/* What target_any calls "not recorded" is an error here. */
	return r == -ENOENT || r == -EISDIR ? -EIO : r;
}

/* Whether the build noted that a compiler cache answered: then its inputs were not all read. */
static bool is_from_cache(const struct build *b)
{
	for (size_t k = 0; b->gaps && b->gaps[k]; k++)
		if (strcmp(b->gaps[k], "cached") == 0)
			return true;
	return false;
}

int show_find(const struct answer_source *a, const char *text, bool only_file, bool only_builds, struct err *err,
              struct show_found *ret)
{
	*ret = (struct show_found){0};
	int r = find_builds(a->store, text, only_file, err, &ret->builds);
	if (r < 0) {
		show_found_release(ret);
		return r;
	}
	size_t n = ret->builds.n;
	while (ret->build < n && is_from_cache(&ret->builds.v[ret->build]))
		ret->build++;
	if (ret->build == n)
		ret->build = 0;
	if (n && only_builds)
		return 1;
	struct err ignored = {0};
	r = target_any(a->store, text, only_file, n ? &ignored : err, &ret->target);
	ret->has_target = r > 0;
	return n ? 1 : r;
}

/* f is empty then. */
void show_found_release(struct show_found *f)
{
	build_list_release(&f->builds);
	*f = (struct show_found){0};
}

int show_files(struct store *s, const char *text, const struct file_target *t, store_id **ret, size_t *ret_n)
{
	struct err ignored = {0};
	store_id *all = NULL;
	size_t n = 0, kept = 0;
	uint64_t version;
	if (t->n || target_files(s, text, &ignored, &all, &n, &version) <= 0)
		n = 0;
	*ret_n = 0;
	*ret = malloc((n + 1) * sizeof(**ret));
	int r = *ret ? 0 : -ENOMEM;
	if (r == 0)
		(*ret)[kept++] = t->file;
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct file_info f;
		if (all[i] != t->file && (r = store_file(s, all[i], &f)) > 0 && f.versions)
			(*ret)[kept++] = all[i];
	}
	free(all);
	*ret_n = kept;
	return r < 0 ? r : 0;
}
