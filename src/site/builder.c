#include "site/builder_int.h"

#include "base/clock.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Locks of claims, and of loads (load.c). */
#define CLAIM_LOCK "7306085913425"
#define LOAD_LOCK "7306085913424"

static const char tables[] =
    "CREATE SCHEMA IF NOT EXISTS stemma_load;"
    "CREATE TABLE IF NOT EXISTS stemma_load.meta (key text PRIMARY KEY, value text);"
    "CREATE TABLE IF NOT EXISTS stemma_load.builder (one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch bigint NOT"
    " NULL, holder text NOT NULL, beat timestamptz NOT NULL, lasts interval NOT NULL);"
    "CREATE TABLE IF NOT EXISTS stemma_load.session (number bigint PRIMARY KEY, host text NOT NULL, events bigint NOT"
    " NULL, ended boolean NOT NULL, lacks boolean NOT NULL);"
    "CREATE TABLE IF NOT EXISTS stemma_load.forgotten (half bigint PRIMARY KEY);"
    "CREATE TABLE IF NOT EXISTS stemma_load.host (host text NOT NULL, sessions bigint NOT NULL, open_sessions bigint"
    " NOT NULL, lacking_sessions bigint NOT NULL, last_recorded bigint);";

int builder_tables(struct database *to, struct err *err)
{
	return database_exec(to, tables, err);
}

/* ---- claiming ---- */

struct holder {
	bool any, alive;
	uint64_t epoch;
	char name[256], source[1024];
};

/* The row of the holder. Always 0. */
static int note_holder(void *arg, const char *const *columns)
{
	struct holder *h = arg;
	h->any = columns[0] != NULL;
	snprintf(h->name, sizeof(h->name), "%s", columns[0] ? columns[0] : "");
	h->epoch = columns[1] ? strtoull(columns[1], NULL, 10) : 0;
	h->alive = columns[2] && columns[2][0] == 't';
	snprintf(h->source, sizeof(h->source), "%s", columns[3] ? columns[3] : "");
	return 0;
}

/* Why this builder may not write; 1: it may; -errno. */
static int decide_claim(struct builder *b, const struct holder *h, struct database *to, struct store *s,
                        struct err *err)
{
	uint64_t behind = 0;
	if (b->replace || (h->any ? !strcmp(h->name, b->name) : !h->source[0] || !strcmp(h->source, b->name)))
		return 1;
	if (!h->any) {
		err_set(err, 0, "the database has the record '%s', which no builder has loaded", h->source);
		err_hint(err, "use another database, or replace that record with --replace");
		return -EEXIST;
	}
	if (h->alive)
		return err_set(err, 0, "the builder '%s' writes to this database; waiting", h->name), 0;
	int rc = builder_behind(to, s, err, &behind);
	if (rc < 0 || !behind)
		return rc < 0 ? rc : 1;
	err_set(err, 0, "the builder '%s' is silent, but the database has more of %llu session%s than this record; waiting",
	        h->name, (unsigned long long)behind, str_plural(behind));
	err_hint(err, "start that builder, or send this one all records; --replace takes over with what is here");
	return 0;
}

/* Ends the loads of others that go on, which are void. Without the right to do so, they are waited for. */
static void end_other_loads(struct database *to)
{
	struct err ignored = {0};
	database_exec(to,
	              "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_locks WHERE locktype = 'advisory'"
	              " AND granted AND pid <> pg_catalog.pg_backend_pid() AND database = (SELECT oid FROM"
	              " pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
	              " AND classid::bigint = " LOAD_LOCK " >> 32 AND objid::bigint = " LOAD_LOCK " & 4294967295",
	              &ignored);
}

/* The claim is written; the epoch grows unless this builder has it. 0, or -errno with a sentence. */
static int write_claim(struct builder *b, const struct holder *h, struct database *to, struct err *err)
{
	char epoch[24], lasts[32];
	const bool mine = h->any && b->epoch && h->epoch == b->epoch && !strcmp(h->name, b->name);
	const uint64_t next = mine ? h->epoch : h->epoch + 1;
	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)next);
	snprintf(lasts, sizeof(lasts), "%lld milliseconds", (long long)(b->lasts / 1000000));
	const char *params[] = {epoch, b->name, lasts, NULL};
	int rc = database_query(to,
	                        "INSERT INTO stemma_load.builder VALUES (true, $1::bigint, $2, clock_timestamp(),"
	                        " $3::interval) ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, holder ="
	                        " excluded.holder, beat = excluded.beat, lasts = excluded.lasts",
	                        params, err, NULL, NULL);
	rc = rc < 0 ? rc : database_exec(to, "COMMIT", err);
	if (rc < 0)
		return rc;
	if (!mine)
		end_other_loads(to);
	b->epoch = next;
	b->beat = clock_now_ns(CLOCK_MONOTONIC);
	return 0;
}

int builder_claim(struct builder *b, struct database *to, struct store *s, struct err *err)
{
	struct holder h = {0};
	int rc =
	    database_exec(to,
	                  "SET client_encoding = 'SQL_ASCII'; SET client_min_messages = warning;"
	                  " SET search_path = pg_catalog, pg_temp; BEGIN; SELECT pg_advisory_xact_lock(" CLAIM_LOCK ")",
	                  err);
	rc = rc < 0 ? rc : builder_tables(to, err);
	rc = rc < 0 ? rc
	            : database_query(to,
	                             "SELECT b.holder, b.epoch, b.beat + b.lasts > clock_timestamp(), (SELECT value FROM"
	                             " stemma_load.meta WHERE key = 'source') FROM (VALUES (true)) AS v(one) LEFT JOIN"
	                             " stemma_load.builder b ON b.one = v.one",
	                             NULL, err, note_holder, &h);
	rc = rc < 0 ? rc : decide_claim(b, &h, to, s, err);
	if (rc == 1) {
		rc = write_claim(b, &h, to, err);
		rc = rc < 0 ? rc : 1;
	}
	if (rc <= 0) {
		struct err ignored = {0};
		database_exec(to, "ROLLBACK", &ignored);
	}
	return rc;
}

/* ---- signs of life ---- */

/* The epoch was found. Always 0. */
static int note_found(void *arg, const char *const *columns)
{
	(void)columns;
	*(bool *)arg = true;
	return 0;
}

int builder_fence(struct builder *b, struct database *to, struct err *err)
{
	char epoch[24];
	bool found = false;
	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)b->epoch);
	const char *params[] = {epoch, b->name, NULL};
	int rc =
	    database_query(to,
	                   "UPDATE stemma_load.builder SET beat = clock_timestamp() WHERE epoch = $1::bigint AND holder"
	                   " = $2 RETURNING epoch",
	                   params, err, note_found, &found);
	if (rc == 0 && !found) {
		err_set(err, 0, "another builder has taken over the database");
		return -ESTALE;
	}
	b->beat = clock_now_ns(CLOCK_MONOTONIC);
	return rc;
}

int builder_beat(struct builder *b, struct err *err)
{
	if (clock_now_ns(CLOCK_MONOTONIC) - b->beat < b->lasts / 4)
		return 0;
	int rc = b->sign ? 0 : database_open(b->url, err, &b->sign);
	return rc < 0 ? rc : builder_fence(b, b->sign, err);
}

void builder_resign(struct builder *b, struct database *to)
{
	struct err ignored = {0};
	char epoch[24];
	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)b->epoch);
	const char *params[] = {epoch, b->name, NULL};
	if (to && b->epoch)
		database_query(to, "UPDATE stemma_load.builder SET beat = '-infinity' WHERE epoch = $1::bigint AND holder = $2",
		               params, &ignored, NULL, NULL);
}
