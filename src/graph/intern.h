/* intern.h - every string once, and paths as a tree of directories, so that equal strings are equal numbers.
 *
 * Word 0 is the empty string. A path is (parent, last component); "below a directory" is a walk, not a comparison of
 * strings. Bytes live until intern_release. -1 (VEC_NONE) means no memory. */
#ifndef STEMMA_GRAPH_INTERN_H
#define STEMMA_GRAPH_INTERN_H

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

/* Longer paths are kept whole, as one component: the kernel's limit is 4096, and a tree as deep as hostile bytes can
 * make it would cost 24 bytes per slash. */
#define PATH_SPLIT_MAX 4096

struct interner {
	VEC(struct str) list;
	struct table table;
	char *chunk; /* bytes are carved from the current chunk */
	size_t left;
	VEC(void *) chunks;
};

struct path_node {
	uint32_t parent;         /* VEC_NONE: none */
	uint32_t base;           /* word */
	uint32_t child, sibling; /* first child; next child of the same parent */
	uint32_t length;         /* of the whole path */
};
struct paths {
	VEC(struct path_node) list;
	struct table table;
	/* The directory of the path asked for last: paths come in runs from one directory. */
	bool last_known;
	uint32_t last_dir;
	char last[PATH_SPLIT_MAX + 1];
	size_t last_n;
};

/* The number of the word, the same each time; VEC_NONE: no memory. Word 0 is the empty one. */
uint32_t intern_add(struct interner *w, struct str s);
/* The number of a text. VEC_NONE where it was never added. */
uint32_t intern_find(const struct interner *w, struct str s);
/* The text with that number, valid as long as w; empty: there is none. */
static inline struct str intern_get(const struct interner *w, uint32_t id)
{
	return id < w->list.n ? w->list.v[id] : (struct str){"", 0};
}
void intern_release(struct interner *w);

/* Longer ones than PATH_SPLIT_MAX, and those without a slash, stay in one piece. VEC_NONE: no memory. */
uint32_t paths_add(struct paths *p, struct interner *w, struct str path);
/* The path `base` in directory `parent` (VEC_NONE: a path without a slash). */
uint32_t paths_child(struct paths *p, struct interner *w, uint32_t parent, uint32_t base);
uint32_t paths_find_child(const struct paths *p, uint32_t parent, uint32_t base);
/* The number of a path. VEC_NONE where it was never added. */
uint32_t paths_find(const struct paths *p, const struct interner *w, struct str path);
/* Appends the bytes of path id to out. */
void paths_get(const struct paths *p, const struct interner *w, uint32_t id, struct buf *out);
void paths_release(struct paths *p);

#endif
