/* ix_names.h - what the parts that deal with names share: ix_paths.c (rows of paths and their facts), ix_moves.c
 * (renamed directories) and ix_names.c (which paths are replayed, and what comes of it). */
#ifndef STEMMA_STORE_INDEX_IX_NAMES_H
#define STEMMA_STORE_INDEX_IX_NAMES_H

#include "store/index/index.h"

/* All return 0 or -errno, with a sentence in ix.err. */

/* ---- ix_paths.c ---- */

/* The node's path in ix.paths, its row read where the store has one. 0, -errno with a sentence. */
int ix_path_load(struct ix *x, uint32_t node, uint32_t *ret);
/* Calls say for every fact of the path but those of sessions that were read again; stops where it fails. 0, or say's
 * -errno; -errno. */
int ix_path_old_facts(struct ix *x, const struct ix_loaded_path *p,
                      int (*say)(struct ix *, uint32_t node, const struct pname_fact *));
/* Puts an old fact into the graph. 0, -errno with a sentence. */
int ix_path_restore_fact(struct ix *x, uint32_t node, const struct pname_fact *f);
/* Packs a fact that a new session adds to the path; is_old: the path is the rename's old one. 0, -errno with a
 * sentence. */
int ix_path_new_fact(struct ix *x, uint32_t node, const struct gname_event *e, bool is_old);

/* ---- ix_moves.c ---- */

/* Brings the directory renames of the store into ix.moves. 0, -errno with a sentence. */
int ix_moves_load(struct ix *x);
/* Adds a directory rename to the store and to ix.moves. */
int ix_moves_note(struct ix *x, const struct gname_event *e);
/* Whether some directory above the path was ever renamed, or is what one was renamed to. */
bool ix_below_move(const struct ix *x, uint32_t node);
/* The path is to be replayed; it is put in the queue once. 0, -errno with a sentence. */
int ix_make_dirty(struct ix *x, uint32_t node, struct ix_nodes *queue);
/* All paths below a directory are made dirty. */
int ix_dirty_below(struct ix *x, uint32_t node, struct ix_nodes *queue);
/* Empties the queue: what its paths can have come from or gone to by a directory rename is made dirty, too. */
int ix_close_over_moves(struct ix *x, struct ix_nodes *queue);

#endif
