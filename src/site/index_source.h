/* index_source.h - a record whose index is in a PostgreSQL database (`stemma site load --questions`), to be asked as
 * any other.
 *
 * Who asks has one state: what is read between two calls of renew is of one transaction of the server (REPEATABLE READ,
 * READ ONLY). Pages are fetched when they are asked for, several at once: the first 64 of the index, or 16 neighbours,
 * and more while they are asked for one after the other, up to 64. At most 32 MiB of them are kept. */
#ifndef STEMMA_SITE_INDEX_SOURCE_H
#define STEMMA_SITE_INDEX_SOURCE_H

#include "base/err.h"

#include <stdint.h>

struct store;
/* Of which hosts a database's record is, and how far it goes. Times: ns since 1970, TIME_NONE: none is known. */
struct index_hosts {
	uint64_t hosts, open, lacking; /* sessions without an end; sessions that lack events */
	int64_t first, last;           /* of the hosts' last recorded moments the earliest and the latest */
};

/* The database that a record is in: home if it is a URL of one, or $STEMMA_HOME if home is NULL. NULL: it is none. */
const char *index_source_url(const char *home);
/* Only to be asked. 0; -errno with a sentence: -EACCES, the role may not read the whole record; -ENOENT, the database
 * has no index; as database_open. */
int index_source_open(const char *url, struct err *err, struct store **ret);
/* Of the state that questions to s are answered from. 1; 0: s is of no database, or of one that a stemma loaded which
 * did not tell; -errno with a sentence. */
int index_source_hosts(struct store *s, struct err *err, struct index_hosts *ret);

#endif
