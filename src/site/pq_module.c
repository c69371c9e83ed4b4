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
	const char *prepared; /* the statement that the server has by the name stemma_fetch, by its address; NULL none */
	const char *asked;    /* what was fetched last */
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

/* Calls row for each row of r, NULL for a null; what is not 0 ends it and is given. r is cleared. */
static int give_rows(struct database *d, PGresult *r, struct err *err,
                     int (*row)(void *arg, const char *const *columns), void *arg)
{
	int rc = 0;
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

/* params end with NULL and may be NULL. As give_rows. */
static int module_query(struct database *d, const char *sql, const char *const *params, struct err *err,
                        int (*row)(void *arg, const char *const *columns), void *arg)
{
	int n = 0;
	while (params && n < PARAMS && params[n])
		n++;
	return give_rows(d, PQexecParams(d->c, sql, n, NULL, params, NULL, NULL, 0), err, row, arg);
}

/* Of several statements, the rows of the last one. As give_rows. */
static int module_ask(struct database *d, const char *sql, struct err *err,
                      int (*row)(void *arg, const char *const *columns), void *arg)
{
	return give_rows(d, PQexec(d->c, sql), err, row, arg);
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

/* The statement's last parameter is the bytes. 0, -errno with a sentence. */
static int module_write(struct database *d, const char *sql, const char *const *params, const void *p, size_t n,
                        struct err *err)
{
	const char *value[PARAMS + 1];
	int length[PARAMS + 1] = {0}, binary[PARAMS + 1] = {0}, k = 0;
	if (n > INT_MAX)
		return err_set(err, EFBIG, "the database");
	while (k < PARAMS && params[k])
		value[k] = params[k], k++;
	value[k] = p;
	length[k] = (int)n;
	binary[k] = 1;
	PGresult *r = PQexecParams(d->c, sql, k + 1, NULL, value, length, binary, 0);
	const ExecStatusType s = PQresultStatus(r);
	PQclear(r);
	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK ? 0 : pq_failed(d, "the database", err);
}

/* In the place of another one. 0, -errno with a sentence. */
static int prepare_fetch(struct database *d, const char *sql, int n, struct err *err)
{
	if (d->prepared)
		PQclear(PQexec(d->c, "DEALLOCATE stemma_fetch"));
	PGresult *made = PQprepare(d->c, "stemma_fetch", sql, n, NULL);
	d->prepared = PQresultStatus(made) == PGRES_COMMAND_OK ? sql : NULL;
	PQclear(made);
	return d->prepared ? 0 : pq_failed(d, "the database", err);
}

/* The server keeps the plan of the statement that was fetched last. As module_query, with columns as they are. */
static int module_fetch(struct database *d, const char *sql, const char *const *params, struct err *err,
                        int (*row)(void *arg, const struct str *columns), void *arg)
{
	int n = 0, rc = 0;
	while (n < PARAMS && params[n])
		n++;
	/* What is asked once is not worth a round trip more. */
	const bool again = d->asked == sql;
	if (again && d->prepared != sql && (rc = prepare_fetch(d, sql, n, err)) < 0)
		return rc;
	d->asked = sql;
	PGresult *r = again ? PQexecPrepared(d->c, "stemma_fetch", n, params, NULL, NULL, 1)
	                    : PQexecParams(d->c, sql, n, NULL, params, NULL, NULL, 1);
	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		rc = pq_failed(d, "the database", err);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		struct str columns[COLUMNS] = {{NULL, 0}};
		for (int k = 0; k < PQnfields(r) && k < COLUMNS; k++)
			if (!PQgetisnull(r, i, k))
				columns[k] = str_n(PQgetvalue(r, i, k), (size_t)PQgetlength(r, i, k));
		rc = row(arg, columns);
	}
	PQclear(r);
	return rc;
}

/* libpq drops the answer when it is asked again; a connection that is lost shows then. */
static void module_send(struct database *d, const char *sql)
{
	(void)PQsendQuery(d->c, sql);
}

/* What libpq cannot read has none, and cannot be connected to. */
static bool module_has_password(const char *url)
{
	bool has = false;
	PQconninfoOption *all = PQconninfoParse(url, NULL);
	for (const PQconninfoOption *o = all; o && o->keyword; o++)
		has = has || (!strcmp(o->keyword, "password") && o->val && o->val[0]);
	PQconninfoFree(all);
	return has;
}

const struct pq_module stemma_pq_module_2 = {module_open, module_close, module_version,     module_exec,  module_query,
                                             module_copy, module_put,   module_copied,      module_write, module_fetch,
                                             module_ask,  module_send,  module_has_password};
