/* stat_when.h - when calls were made: what was under way at a moment, and how the calls lie over time.
 *
 * Of the calls of one kind on one file by one execution only the first beginning and the last end are known: between
 * these they are under way, and over time they are spread evenly. Rows are gathered with stat_when_row, the `say` of
 * struct stat_sums, whose argument is a struct stat_when; about 80 bytes a row. Times are ns since 1970. */
#ifndef STEMMA_ANSWER_STAT_STAT_WHEN_H
#define STEMMA_ANSWER_STAT_STAT_WHEN_H

#include "answer/stat/stat.h"

#define STAT_SLICES 10

struct when_row {
	store_id exec, file;
	uint64_t calls, bytes, spent;
	int64_t first, last;
	uint8_t api;
	bool write;
	bool bare; /* `spent` is not known */
};
struct stat_when {
	bool has_at;
	int64_t at; /* only what was under way then */
	struct when_row *v;
	size_t n, cap;
	uint64_t untimed; /* calls whose times are not known */
};
/* A row of stat_count, kept with when it moved. */
int stat_when_row(void *when, const struct stat_row *row);

void stat_when_release(struct stat_when *w);

/* A slice of the time from the first call to the last; by way. */
struct stat_slice {
	int64_t from, to;
	struct {
		uint64_t calls, bytes, spent;
		bool bare; /* of some `spent` is not known */
	} way[STAT_WAYS];
};
/* Divides the time from the first to the last access into equal slices, and says how many bytes moved in each. 0
 * where there are no times, else STAT_SLICES. The sums of the slices are those of the rows. */
size_t stat_slices(const struct stat_when *w, struct stat_slice *ret);

/* Puts the rows in order: by call, then by when they began. */
void stat_when_sort(struct stat_when *w);
/* The answer of `stemma stat --at --json`, a new reference. 0 or -errno. */
int stat_at_json(struct store *s, const struct stat_when *w, json_t **ret);

#endif
