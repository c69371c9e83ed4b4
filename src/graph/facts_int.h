/* facts_int.h - what facts.c and facts_reported.c share. */
#ifndef STEMMA_GRAPH_FACTS_INT_H
#define STEMMA_GRAPH_FACTS_INT_H

#include "graph/facts.h"

/* The number of a text among the words; 0 without memory. */
uint32_t facts_word(struct facts *f, struct str s);
/* The place of an event among all. */
struct gkey facts_key(const struct facts *f, const struct event *ev);
/* Notes without memory in f->g->failed. */
void facts_set(struct facts *f, struct dense *m, uint64_t key, uint32_t val);
/* By the session's number; VEC_NONE. */
uint32_t facts_find_file(struct facts *f, uint64_t number);
/* An event refers to what was told before those that are read now, and is not kept. */
void facts_lack(struct facts *f);
/* By the session's number; NULL, counted as unknown, where it was not given. */
struct facts_proc *facts_proc_numbered(struct facts *f, uint64_t number);
/* For fields where 0 is none. */
uint32_t facts_file_or_none(struct facts *f, uint64_t number);

/* What an event of this kind says; of facts_reported.c. */
void facts_apply_gap(struct facts *f, const struct event *ev);
void facts_apply_note(struct facts *f, const struct event *ev);
void facts_apply_summary(struct facts *f, const struct event *ev);
void facts_apply_reported(struct facts *f, const struct event *ev, struct str run, uint64_t by);
void facts_apply_h5(struct facts *f, const struct event *ev);
void facts_apply_h5_copy(struct facts *f, const struct event *ev);
void facts_apply_app(struct facts *f, const struct event *ev);
void facts_apply_of_app(struct facts *f, const struct event *ev, uint64_t app);
void facts_apply_build(struct facts *f, const struct event *ev);
void facts_apply_tombstone(struct facts *f, const struct event *ev);

#endif
