/* dir.h - a directory on its way: made beside its name and renamed at the end, so that nobody finds half of one. */
#ifndef STEMMA_EXPORT_DIR_H
#define STEMMA_EXPORT_DIR_H

#include "base/err.h"

struct export_dir {
	int fd; /* -1: none */
	char *path, *temporary;
};

/* Makes the folder of an export, under another name until it is whole. path may be there only as an empty directory.
 * 0, or -errno with a sentence. */
int export_dir_open(const char *path, struct err *err, struct export_dir *ret);
/* With r 0 the directory takes its name, else all of it is removed. Returns r, or -errno with a sentence. */
int export_dir_close(struct export_dir *d, int r, struct err *err);
/* A new file in it, its descriptor in *ret; name may have directories, which are made. -EEXIST: there is one. */
int export_dir_file(struct export_dir *d, const char *name, struct err *err, int *ret);

#endif
