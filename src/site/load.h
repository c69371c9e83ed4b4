/* load.h - the record's documented tables (doc/format/store.md), written into a PostgreSQL database: the same tables,
 * columns and rows, in the schema `stemma`.
 *
 * Rows are written in *pieces*: those of 64 neighbouring runs, files or processes, of each table. The database keeps a
 * sum of each piece (schema `stemma_load`); only pieces whose sum differs are replaced. So it does not matter how the
 * record came to be what it is: late data, forget and a rebuild are all the same. All of a load is one transaction: who
 * asks sees the record of one moment.
 *
 * Who may read what is enforced by the database (row-level security), load_schema.c.
 *
 * Cost: the tables are read once, and those that have changed pieces once more. Memory: 24 bytes a piece. */
#ifndef STEMMA_SITE_LOAD_H
#define STEMMA_SITE_LOAD_H

#include "site/database.h"

#include <stdint.h>

struct builder;
struct store;
struct load_result {
	uint64_t rows, pieces, changed, written, bytes; /* of the record; pieces that differed; rows and bytes written */
	bool has_index;                                 /* the database has the index, too (load_index.c) */
	uint64_t index_pages, index_changed; /* of it, of 16 KiB; those that were written, bytes above count them */
};
struct load_options {
	const char *source;      /* which record it is */
	struct builder *builder; /* that has claimed the database, else NULL: then it takes the place of any record */
	bool replace;            /* where the database has another one: take its place */
	bool index; /* the index, too, all of it; where the database has one, what changed is loaded in any case */
};
/* Begins a load: waits until no other one goes on. To be called before the record is brought up to date and opened:
 * then the load that ends last has the latest. 0, or -errno with a sentence: -EPROTO, the database cannot hold a
 * record. */
int load_begin(struct database *to, struct err *err);
/* After load_begin: writes what the record (a store that is up to date) has and the database has not. -EEXIST: the
 * database has another record; -ESTALE: another builder has taken over. Ends the load. 0, or -errno with a sentence:
 * nothing has changed then, and the transaction is still to be rolled back. */
int load_record(struct database *to, struct store *s, const struct load_options *o, struct err *err,
                struct load_result *ret);

#endif
