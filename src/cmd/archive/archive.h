/* archive.h - what `stemma archive` found out, and the ways to show it. */
#ifndef STEMMA_CMD_ARCHIVE_ARCHIVE_H
#define STEMMA_CMD_ARCHIVE_ARCHIVE_H

#include "archive/history.h"
#include "archive/stats.h"
#include "cmd/cmd.h"

#define ARCHIVE_BINS 14

struct archive_figure {
	unsigned char figure; /* enum figure_name */
	struct stats stats;   /* n 0: no task has it */
	size_t bounded, incomplete, absent;
	size_t count[ARCHIVE_BINS]; /* from least to greatest */
};
struct archive_group {
	size_t tasks;
	struct archive_figure *v; /* as many as figures were asked for */
};
struct archive {
	struct cmd *c;
	const struct opts_archive *o;
	const struct key *by;
	size_t n_by;
	const unsigned char *figures;
	size_t n_figures;
	const struct history *h;
	struct archive_group *group; /* beside h->group */
};

/* The value of the i-th key of a group, "" not known. */
const char *archive_value(const struct archive *a, size_t group, size_t i);
const char *archive_key_name(const struct key *k, char ret[160]); /* ret is used for labels only */

/* Prints the statistics as tables, one for each group. STATUS_OK, or the status to end with. */
int archive_text(const struct archive *a);
/* Prints the statistics as JSON. */
int archive_json(const struct archive *a);
/* Prints the statistics as CSV. */
int archive_csv(const struct archive *a);

#endif
