/* stage_text.h - stages in words, for the tree and the picture of a lineage. */
#ifndef STEMMA_CMD_LINEAGE_STAGE_TEXT_H
#define STEMMA_CMD_LINEAGE_STAGE_TEXT_H

#include "answer/stages/stage_view.h"
#include "cmd/ui/notes_print.h"

/* Where the node is a stage, a step or an engine: "rule sort  sample=A" into name, "2026-..., 3 ms, job 3, 2 programs"
 * into note. 1; 0 it is none of these; -errno. */
int stage_describe(const struct stage_view *w, uint32_t node, struct buf *name, struct buf *note);
/* Appends "rule sort", with the job's wildcards if `whole`. */
void stage_title(const struct stage *g, bool whole, struct buf *b);
/* The programs of such a node: a line each, behind what stands in indent. *ret_lines is added to. 0 or -errno. */
int stage_print_programs(const struct stage_view *w, uint32_t node, const struct screen *out, const struct buf *indent,
                         uint64_t *ret_lines);
/* What was left out, and which names are missing for want of a file. */
void stage_print_rest(const struct stage_view *w);

#endif
