/* crate.h - where a crate goes: a directory, or a zip archive where the name ends in .zip and stemma was built with
 * libarchive's header and finds it. Whole or not at all. */
#ifndef STEMMA_EXPORT_CRATE_H
#define STEMMA_EXPORT_CRATE_H

#include "export/dir.h"

#include <stdbool.h>
#include <stdint.h>

struct crate;
/* Begins a crate: a folder, or an archive where path ends in .zip. 0, -errno with a sentence: -ENOTSUP for an
 * archive without libarchive. */
int crate_open(const char *path, struct err *err, struct crate **ret);
/* Puts size bytes of fd from its beginning under the name, which has no "." or ".." and in an archive is UTF-8; there
 * is none of it yet. */
int crate_put(struct crate *c, const char *name, int fd, uint64_t size, struct err *err);
/* With r 0 the crate takes its name, else nothing of it stays. Returns r, or -errno with a sentence. crate_can_zip: is
 * libarchive there? It is never unloaded. */
int crate_close(struct crate *c, int r, struct err *err);
bool crate_can_zip(void);

#endif
