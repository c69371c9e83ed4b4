/* pq_module.c - PostgreSQL by libpq. */
#include "site/pq_module.h"

#include <errno.h>
#include <libpq-fe.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS = 8, COLUMNS = 16 };

struct database {
	PGconn *c;
};

/* What the server says, without the end of its last line. Always -EIO. */
static int pq_failed(const struct database *d, const char *what, struct err *err)
{
	const char *why = PQerrorMessage(d->c);
	size_t n = strcspn(why, "\n");
	err_set(err, 0, "%s: %.*s", what, n < 400 ? (int)n : 400, why);
	return -EIO;
}

static void pq_quiet(void *arg, const char *text)
{
	(void)arg, (void)text; /* notices: "relation exists, skipping" */
}

/* Closes the connection and frees d. */
static void module_close(struct database *d)
{
	PQfinish(d->c);
	free(d);
}

/* 0, with *ret to close; -EHOSTUNREACH, -ENOMEM with a sentence. */
static int module_open(const char *url, struct err *err, struct database **ret)
{
	struct database *d = calloc(1, sizeof(*d));
	if (!d || !(d->c = PQconnectdb(url))) {
		free(d);
		return err_set(err, ENOMEM, "cannot reach a database");
	}
	if (PQstatus(d->c) != CONNECTION_OK) {
		pq_failed(d, "the database cannot be reached", err);
		module_close(d);
		return -EHOSTUNREACH;
	}
	PQsetNoticeProcessor(d->c, pq_quiet, NULL);
	*ret = d;
	return 0;
}

/* As a number: 150004 is 15.4. */
static int module_version(const struct database *d)
{
	return PQserverVersion(d->c);
}

/* 0, -errno with a sentence. */
static int module_exec(struct database *d, const char *sql, struct err *err)
{
	PGresult *r = PQexec(d->c, sql);
	const ExecStatusType s = PQresultStatus(r);
	PQclear(r);
	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK ? 0 : pq_failed(d, "the database", err);
}

/* params end with NULL and may be NULL. Calls row for each, NULL for a null; what is not 0 ends it and is given. */
static int module_query(struct database *d, const char *sql, const char *const *params, struct err *err,
                        int (*row)(void *arg, const char *const *columns), void *arg)
{
	int n = 0, rc = 0;
	while (params && n < PARAMS && params[n])
		n++;
	PGresult *r = PQexecParams(d->c, sql, n, NULL, params, NULL, NULL, 0);
	if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
		rc = pq_failed(d, "the database", err);
	for (int i = 0; rc == 0 && row && i < PQntuples(r); i++) {
		const char *columns[COLUMNS] = {NULL};
		for (int k = 0; k < PQnfields(r) && k < COLUMNS; k++)
			columns[k] = PQgetisnull(r, i, k) ? NULL : PQgetvalue(r, i, k);
		rc = row(arg, columns);
	}
	PQclear(r);
	return rc;
}

/* module_put comes next, then module_copied. 0, -errno with a sentence. */
static int module_copy(struct database *d, const char *sql, struct err *err)
{
	PGresult *r = PQexec(d->c, sql);
	const ExecStatusType s = PQresultStatus(r);
	PQclear(r);
	return s == PGRES_COPY_IN ? 0 : pq_failed(d, "the database", err);
}

/* Within a copy. 0, -errno with a sentence. */
static int module_put(struct database *d, const void *p, size_t n, struct err *err)
{
	for (const char *at = p; n;) {
		const int k = n < INT_MAX ? (int)n : INT_MAX;
		if (PQputCopyData(d->c, at, k) != 1)
			return pq_failed(d, "the database", err);
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

/* Ends the copy: only then the rows are in. 0, -errno with a sentence. */
static int module_copied(struct database *d, struct err *err)
{
	int rc = PQputCopyEnd(d->c, NULL) == 1 ? 0 : pq_failed(d, "the database", err);
	for (PGresult *r; (r = PQgetResult(d->c)); PQclear(r))
		if (PQresultStatus(r) != PGRES_COMMAND_OK && rc == 0)
			rc = pq_failed(d, "the database", err);
	return rc;
}

const struct pq_module stemma_pq_module_1 = {module_open,  module_close, module_version, module_exec,
                                             module_query, module_copy,  module_put,     module_copied};
