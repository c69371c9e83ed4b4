/* database.h - a connection to a PostgreSQL database. The library, libpq, is in a module of its own, pq_module.c, which
 * is loaded when it is needed; a stemma that was built without it says so.
 *
 * Not safe for threads. Statements are stemma's own; what comes from a record goes as COPY rows or as parameters. */
#ifndef STEMMA_SITE_DATABASE_H
#define STEMMA_SITE_DATABASE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct database;
/* Is it a database's URL (postgresql:// or postgres://)? */
bool database_is_url(const char *url);
/* Is the module there? */
bool database_is_there(void);
/* A URL with a password is refused, -EINVAL: other users see it, and it would stand in records. url: also what libpq
 * takes beside it, from the environment and its files (PGPASSFILE, PGSERVICE ...). 0, or -errno with a sentence:
 * -ENOSYS, there is no module; -EHOSTUNREACH, the server does not let us in, is not there, or says nothing for 10 s (as
 * connect_timeout of the URL or PGCONNECT_TIMEOUT say). */
int database_open(const char *url, struct err *err, struct database **ret);
void database_close(struct database *d); /* NULL is fine; what was not committed is rolled back */

/* The server's version, as 150018. */
int database_version(const struct database *d);
/* Statements without an answer, one or several. 0, or -EIO with the server's sentence. */
int database_exec(struct database *d, const char *sql, struct err *err);
/* A query with up to 8 parameters as text ($1 ...; NULL ends them). row is called for each row with its columns as
 * text (NULL: null); what it returns ends the query where it is not 0. 0, -EIO, or what row returned. */
int database_query(struct database *d, const char *sql, const char *const *params, struct err *err,
                   int (*row)(void *arg, const char *const *columns), void *arg);
/* A statement whose last parameter are n bytes; those before it are text, as above. 0, or -EIO with the server's
 * sentence. */
int database_write(struct database *d, const char *sql, const char *const *params, const void *p, size_t n,
                   struct err *err);
/* A query that is asked again and again: sql is a constant, and the server keeps its plan while no other is fetched.
 * Columns come as the server sends them in binary (p NULL: null), valid during the call. As database_query; and -EIO
 * where the answer is not there after 60 s, or what STEMMA_DATABASE_TIMEOUT says: then the connection is lost. */
int database_fetch(struct database *d, const char *sql, const char *const *params, struct err *err,
                   int (*row)(void *arg, const struct str *columns), void *arg);
/* Several statements in one round trip, each only if those before succeed; the rows of the last one, as
 * database_fetch. */
int database_ask(struct database *d, const char *sql, struct err *err,
                 int (*row)(void *arg, const char *const *columns), void *arg);
/* A statement whose answer nobody waits for; the next call passes over it. */
void database_send(struct database *d, const char *sql);
/* COPY ... FROM STDIN begins; bytes of rows; it ends. 0, or -EIO with the server's sentence. */
int database_copy(struct database *d, const char *sql, struct err *err);
int database_put(struct database *d, const void *p, size_t n, struct err *err);
int database_copied(struct database *d, struct err *err);

#endif
