/* load_int.h - what the parts of loading share: the tables (load_schema.c) and their pieces (load.c). */
#ifndef STEMMA_SITE_LOAD_INT_H
#define STEMMA_SITE_LOAD_INT_H

#include "base/buf.h"
#include "site/load.h"

/* How the number in a table's key column becomes a piece. Rows without a number are a piece of their own. */
enum load_key {
	LOAD_BY_64,        /* of 64 numbers */
	LOAD_BY_EXECUTION, /* executions of 64 processes: a process is number >> 20 */
	LOAD_BY_VERSION,   /* versions of 64 files: a file is number >> 24 */
	LOAD_BY_MIXED      /* runs, which are few, and executions */
};
struct load_table {
	const char *name;
	const char *columns;     /* "id", "ulid", ...: quoted, with commas */
	const char *define;      /* with their types */
	unsigned n_columns, key; /* key: which column */
	enum load_key by;
};
extern const struct load_table load_tables[];
extern const unsigned load_n_tables;

/* Columns of the table `execution`, from 0. */
extern const int load_execution_host, load_execution_began, load_execution_ended;

#define LOAD_NO_PIECE INT64_MIN /* of rows without a number */
int64_t load_piece(const struct load_table *t, int64_t number);
/* The numbers of a piece: from *lo up to, not with, *hi. */
void load_piece_range(const struct load_table *t, int64_t piece, int64_t *lo, int64_t *hi);

/* Makes the schemas where there are none, or those of another layout anew. *ret_made: all tables are empty and have no
 * index yet. 0, or -errno with a sentence. In a transaction. */
int load_schema(struct database *to, struct err *err, bool *ret_made);
/* Makes the indexes, views and rights to read: once the tables of a new schema are filled, in the same transaction.
 * 0, or -errno with a sentence. */
int load_schema_finish(struct database *to, struct err *err);

/* load_index.c: the index of the store, if the database has one, or is to have it (all; then all pages are
 * written, whatever the database has). seed: of the sums. In the
 * transaction of the load. 0, or -errno with a sentence. */
int load_index(struct database *to, struct store *s, const char *seed, bool all, struct err *err,
               struct load_result *ret);

#endif
