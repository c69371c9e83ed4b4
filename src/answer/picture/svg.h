/* svg.h - texts of a record in a picture: names are hostile. */
#ifndef STEMMA_ANSWER_PICTURE_SVG_H
#define STEMMA_ANSWER_PICTURE_SVG_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends text for SVG, between tags or in quotes: what XML gives a meaning as entities; what it cannot hold, and marks
 * of direction, as U+FFFD. */
void svg_text(struct buf *b, struct str s);
/* The same of at most so many characters, with an ellipsis for the rest: of the end, or (from_end) of the beginning. */
void svg_text_fit(struct buf *b, struct str s, size_t columns, bool from_end);
/* Appends the beginning of a picture: size, title, and the style that all pictures have, light and dark. */
void svg_begin(struct buf *b, double w, double h, const char *title);

/* 1, 2 or 5 times a power of ten, of which `most` holds at most `steps`; of bytes (binary) times a power of 1024. most:
 * above 0. */
double svg_step(double most, int steps, bool binary);

/* Where a span of time lies across a picture. */
struct svg_times {
	double left, right, span; /* seconds, above 0 */
};
double svg_time_at(const struct svg_times *t, double seconds);
/* Appends upright lines from top to bottom, with the time below each. */
void svg_times_axis(struct buf *b, const struct svg_times *t, double top, double bottom);

#endif
