#include "import/segments.h"

#include "event/log_place.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 6 /* folders: a record, logs, host, day */

struct finding {
	int (*say)(void *arg, const char *path);
	void *arg;
	uint64_t *passed;
	struct err *err;
};

/* Is a file a segment? By its name: "*.stl". */
static bool is_segment(const char *name)
{
	size_t n = strlen(name);
	return n > 4 && strcmp(name + n - 4, ".stl") == 0;
}

/* Compares two entries of a folder. For scandir. */
static int compare_entries_by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Whether the folder is a record's logs, which holds those of hosts; their names may begin with a dot. */
static bool holds_hosts(const char *dir)
{
	size_t n = strlen(dir);
	while (n && dir[n - 1] == '/')
		n--;
	return n >= 4 && memcmp(dir + n - 4, "logs", 4) == 0 && (n == 4 || dir[n - 5] == '/');
}

/* Calls f->say for each segment below, by name; *f->passed counts what is too deep or a link. Its first result that is
 * not 0 ends the walk. */
static int walk_segment_folder(const struct finding *f, const char *dir, unsigned depth)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, compare_entries_by_name), r = 0;
	unsigned level = holds_hosts(dir) ? 0 : 2;
	if (n < 0)
		return err_set(f->err, errno, "cannot read the folder '%s'", dir);
	for (int i = 0; i < n; i++) {
		char *path = NULL;
		struct stat st;
		if (log_place_hidden(list[i]->d_name, level)) {
			free(list[i]);
			continue;
		}
		if (r == 0 && asprintf(&path, "%s/%s", dir, list[i]->d_name) < 0) {
			path = NULL;
			r = err_set(f->err, ENOMEM, "cannot read the folder '%s'", dir);
		}
		if (r == 0 && lstat(path, &st) == 0) {
			if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
				r = walk_segment_folder(f, path, depth + 1);
			else if (S_ISREG(st.st_mode) && is_segment(path))
				r = f->say(f->arg, path);
			else if (S_ISDIR(st.st_mode) || is_segment(path)) /* too deep, or a link that leads out */
				++*f->passed;
		}
		free(path);
		free(list[i]);
	}
	free(list);
	return r;
}

int segments_walk(const char *dir, int (*say)(void *arg, const char *path), void *arg, uint64_t *passed,
                  struct err *err)
{
	const struct finding f = {say, arg, passed, err};
	return walk_segment_folder(&f, dir, 0);
}
