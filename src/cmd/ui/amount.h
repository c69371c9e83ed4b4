/* amount.h - values of figures as people read them, and as JSON and CSV have them. */
#ifndef STEMMA_CMD_UI_AMOUNT_H
#define STEMMA_CMD_UI_AMOUNT_H

#include "cmd/ui/js_print.h"
#include "summary/summary.h"

/* A value in the figure's base unit, which may be a mean: 1.25 s, 3:07, 512.0 MiB, 1.50, 2026-...; "-" for NAN. span: a
 * difference of two values. plain: in the figure's unit, without it. */
void amount_put(struct buf *b, enum figure_name f, double v, bool span, bool plain);
/* In the figure's unit; null for NAN. */
void amount_json(json_t *o, const char *key, enum figure_name f, double v);
/* The words of its name, for a column of that width: a line each, in a buffer with NUL behind each; how many. */
unsigned amount_heading(struct buf *b, enum figure_name f, size_t width);
/* Reads a size. Bytes: 2G, 500 MiB, 10000. 0 or -EINVAL. */
int amount_parse_size(const char *text, uint64_t *ret);

#endif
