/* pq_module.c - PostgreSQL by libpq. */
#include "site/pq_module.h"

#include "base/clock.h"

#include <errno.h>
#include <libpq-fe.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PARAMS = 8, COLUMNS = 16, ANSWER_SECONDS = 60, SECONDS_MOST = 86400 };
#define CONNECT_SECONDS "10" /* for each address of the server */

struct database {
	PGconn *c;
	const char *prepared; /* the statement that the server has by the name stemma_fetch, by its address; NULL none */
	const char *asked;    /* what was fetched last */
	int patience;         /* seconds that the answer to a question may take */
};

/* What the server says, without the end of its last line. Always -EIO. */
static int pq_failed(const struct database *d, const char *what, struct err *err)
{
	const char *why = PQerrorMessage(d->c);
	size_t n = strcspn(why, "\n");
	err_set(err, 0, "%s: %.*s", what, n < 400 ? (int)n : 400, why);
	return -EIO;
}

/* Takes what PostgreSQL remarks, and does nothing with it. */
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

/* Does the environment, or a service that it names, say how long connecting may take? */
static bool says_how_long(void)
{
	bool says = false;
	PQconninfoOption *all = PQconndefaults();
	for (const PQconninfoOption *o = all; o && o->keyword; o++)
		says = says || (!strcmp(o->keyword, "connect_timeout") && o->val && o->val[0]);
	PQconninfoFree(all);
	return says;
}

/* The seconds that STEMMA_DATABASE_TIMEOUT says, or the usual ones. */
static int patience_of(void)
{
	const char *told = getenv("STEMMA_DATABASE_TIMEOUT");
	char *end = NULL;
	const long s = told && told[0] ? strtol(told, &end, 10) : 0;
	return end && !*end && s > 0 && s <= SECONDS_MOST ? (int)s : ANSWER_SECONDS;
}

/* Connects to the database. 0, with *ret to close; -EHOSTUNREACH, -ENOMEM with a sentence. */
static int module_open(const char *url, struct err *err, struct database **ret)
{
	struct database *d = calloc(1, sizeof(*d));
	/* What comes later has the last word: the URL before what is usual here. */
	const char *const name[] = {says_how_long() ? "dbname" : "connect_timeout", "dbname", NULL};
	const char *const value[] = {says_how_long() ? url : CONNECT_SECONDS, url, NULL};
	if (!d || !(d->c = PQconnectdbParams(name, value, 1))) {
		free(d);
		return err_set(err, ENOMEM, "cannot reach a database");
	}
	if (PQstatus(d->c) != CONNECTION_OK) {
		pq_failed(d, "the database cannot be reached", err);
		module_close(d);
		return -EHOSTUNREACH;
	}
	PQsetNoticeProcessor(d->c, pq_quiet, NULL);
	d->patience = patience_of();
	*ret = d;
	return 0;
}

/* The version of the server as a number: 150004 is 15.4. */
static int module_version(const struct database *d)
{
	return PQserverVersion(d->c);
}

/* Executes a statement without rows. 0, -errno with a sentence. */
static int module_exec(struct database *d, const char *sql, struct err *err)
{
	PGresult *r = PQexec(d->c, sql);
	const ExecStatusType s = PQresultStatus(r);
	PQclear(r);
	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK ? 0 : pq_failed(d, "the database", err);
}

/* Ends the connection, whose server says nothing: what is asked after it fails at once. Always NULL. */
static PGresult *give_up(struct database *d, struct err *err)
{
	const char *host = PQhost(d->c), *port = PQport(d->c);
	shutdown(PQsocket(d->c), SHUT_RDWR);
	err_set(err, 0, "the database server '%s' (port %s) did not answer within %d s", host ? host : "", port ? port : "",
	        d->patience);
	err_hint(err, "if the server is only slow, set STEMMA_DATABASE_TIMEOUT to more seconds");
	return NULL;
}

/* The answer to what was sent, if it was: of several results the last one. For PQclear; NULL: there is none; or, with a
 * sentence, the connection is lost, or all of it was not there in time. */
static PGresult *answer_of(struct database *d, int sent, struct err *err)
{
	const int64_t end = clock_now_ms(CLOCK_MONOTONIC) + (int64_t)d->patience * 1000;
	PGresult *last = NULL, *one;
	do {
		while (sent && PQisBusy(d->c)) {
			const int64_t left = end - clock_now_ms(CLOCK_MONOTONIC);
			struct pollfd p = {.fd = PQsocket(d->c), .events = POLLIN};
			if (left <= 0) {
				PQclear(last);
				return give_up(d, err);
			}
			sent = poll(&p, 1, (int)left) <= 0 || PQconsumeInput(d->c);
		}
		if (!sent) {
			pq_failed(d, "the database", err);
			PQclear(last);
			return NULL;
		}
		one = PQgetResult(d->c);
		if (one)
			PQclear(last);
		last = one ? one : last;
	} while (one);
	return last;
}

/* Why there is no answer, or a wrong one: what answer_of said, or the server. Always -EIO. */
static int no_answer(const struct database *d, const struct err *why, struct err *err)
{
	if (!why->text[0])
		return pq_failed(d, "the database", err);
	err_set(err, 0, "%s", why->text);
	err_hint(err, "%s", why->hint);
	return -EIO;
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
	struct err why = {0};
	PQclear(answer_of(d, 1, &why)); /* of module_send */
	PGresult *r = why.text[0] ? NULL : answer_of(d, PQsendQuery(d->c, sql), &why);
	return r ? give_rows(d, r, err, row, arg) : no_answer(d, &why, err);
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
	struct err why = {0};
	if (d->prepared)
		PQclear(answer_of(d, PQsendQuery(d->c, "DEALLOCATE stemma_fetch"), &why));
	PGresult *made = answer_of(d, PQsendPrepare(d->c, "stemma_fetch", sql, n, NULL), &why);
	d->prepared = PQresultStatus(made) == PGRES_COMMAND_OK ? sql : NULL;
	PQclear(made);
	return d->prepared ? 0 : no_answer(d, &why, err);
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
	struct err why = {0};
	PQclear(answer_of(d, 1, &why)); /* of module_send */
	if (why.text[0])
		return no_answer(d, &why, err);
	if (again && d->prepared != sql && (rc = prepare_fetch(d, sql, n, err)) < 0)
		return rc;
	d->asked = sql;
	PGresult *r = answer_of(d,
	                        again ? PQsendQueryPrepared(d->c, "stemma_fetch", n, params, NULL, NULL, 1)
	                              : PQsendQueryParams(d->c, sql, n, NULL, params, NULL, NULL, 1),
	                        &why);
	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		rc = no_answer(d, &why, err);
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

/* One of the options that libpq itself says are not to be shown: the password, and that of the key of TLS. What libpq
 * cannot read has none, and cannot be connected to. */
static bool module_has_password(const char *url)
{
	bool has = false;
	PQconninfoOption *all = PQconninfoParse(url, NULL);
	for (const PQconninfoOption *o = all; o && o->keyword; o++)
		has = has || (o->dispchar && o->dispchar[0] == '*' && o->val && o->val[0]);
	PQconninfoFree(all);
	return has;
}

const struct pq_module stemma_pq_module_2 = {module_open, module_close, module_version,     module_exec,  module_query,
                                             module_copy, module_put,   module_copied,      module_write, module_fetch,
                                             module_ask,  module_send,  module_has_password};
