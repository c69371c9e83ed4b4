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

struct sqlite3;
struct load_result {
	uint64_t rows, pieces, changed, written, bytes; /* of the record; pieces that differed; rows and bytes written */
};
/* Begins a load: waits until no other one goes on. To be called before the record is brought up to date and opened:
 * then the load that ends last has the latest. 0, or -errno with a sentence: -EPROTO, the database cannot hold a
 * record. */
int load_begin(struct database *to, struct err *err);
/* After load_begin: writes what the record (db: store_sqlite of a store that is up to date) has and the database has
 * not. source: which record it is; where the database has another one, -EEXIST, unless replace. Ends the load. 0, or
 * -errno with a sentence. */
int load_record(struct database *to, struct sqlite3 *db, const char *source, bool replace, struct err *err,
                struct load_result *ret);

#endif
