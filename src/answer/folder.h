/* folder.h - what made the files of a folder, as it is on disk now, and from what: files that the same programs made
 * are one group (doc/why.md, "Folders").
 *
 * Cost: one question of why for each file, about 1 ms. */
#ifndef STEMMA_ANSWER_FOLDER_H
#define STEMMA_ANSWER_FOLDER_H

#include "answer/why/why.h"
#include "query/idmap.h"

#define FOLDER_FILES 2000 /* are looked at; more are only counted */

struct folder_file {
	struct buf path; /* as the folder was named, and what is below it */
	store_id version;
};
struct folder_group {
	struct buf programs; /* "bwa mem | samtools sort" */
	struct folder_file *files;
	size_t n_files, cap_files;
	store_id *inputs; /* data, but what was made in the folder; in the order of why's line, each once */
	bool *certain;    /* beside them */
	size_t n_inputs, cap_inputs, cap_certain;
	struct idmap seen; /* version -> its place in inputs */
	store_id maker;    /* of one of the files */
	int64_t when;      /* the last of them was written */
	uint64_t gaps;
	bool sure;
};
struct folder {
	struct folder_group *groups; /* the one with most files first */
	size_t n_groups, cap_groups;
	size_t files, unmade, unknown; /* regular files below it; not made under stemma; of which nothing is recorded */
	size_t left;                   /* not looked at */
	size_t unread;                 /* folders and files that could not be looked at: what lies there is not known */
};

/* Which files are meant; path: absolute. 1, 0, -errno. */
struct folder_filter {
	int (*wants)(void *arg, struct str path);
	void *arg;
};
/* Finds who made the files below a folder, in groups by their makers. path: of a folder on disk; symbolic links
 * below it are not followed. only: NULL, all files. 0 or -errno; ret is to be released in any case. */
int folder_find(const struct answer_source *a, const char *path, unsigned flags, const struct folder_filter *only,
                struct folder *ret);
void folder_release(struct folder *f);

#endif
