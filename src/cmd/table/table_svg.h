/* table_svg.h - a plot as an SVG picture: points of several series, joined by lines where they are wished. Needs
 * nothing but numbers; not-a-number and infinite ones are left out. */
#ifndef STEMMA_CMD_TABLE_TABLE_SVG_H
#define STEMMA_CMD_TABLE_TABLE_SVG_H

#include "base/buf.h"

struct plot_point {
	double x, y;
	size_t series;
};
struct plot {
	struct str title, x, y;    /* any bytes */
	struct plot_point *points; /* of a series one after the other, in the order in which they are joined */
	size_t n;
	const struct str *names; /* of the series */
	size_t n_series;
	bool lines;
};
/* Writes a plot as SVG. False: there is nothing to draw. */
bool plot_svg(const struct plot *p, struct buf *out);

#endif
