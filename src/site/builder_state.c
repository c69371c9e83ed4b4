/* builder_state.c - what the loaded index has of each session and host, and whether another index has as much. */
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "site/builder_int.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 64 << 10 };

struct session_here {
	uint64_t number, events;
	uint32_t host;
	bool ended, lacks, same; /* same: the database has it so */
};
struct host_here {
	char *name;
	uint64_t sessions, open, lacking;
	int64_t until;
};
struct builder_state {
	VEC(struct session_here) sessions;
	VEC(struct host_here) hosts;
	struct map by_number; /* session -> its place */
	struct table by_name; /* host -> its place */
	VEC(uint64_t) forgotten;
	struct map by_half;
	VEC(uint64_t) gone; /* numbers that the database has otherwise, or that are no longer here */
	uint64_t behind;
};

struct builder_state *builder_state_new(void)
{
	return calloc(1, sizeof(struct builder_state));
}

/* NULL is no error. */
void builder_state_free(struct builder_state *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->hosts.n; i++)
		free(t->hosts.v[i].name);
	vec_release(&t->sessions);
	vec_release(&t->hosts);
	vec_release(&t->forgotten);
	vec_release(&t->gone);
	map_release(&t->by_number);
	map_release(&t->by_half);
	table_release(&t->by_name);
	free(t);
}

/* Its place, made where missing; VEC_NONE without memory. */
static uint32_t host_of(struct builder_state *t, struct str name)
{
	const uint32_t h = hash_fold(hash_str(name));
	size_t pos = TABLE_START;
	uint32_t at;
	do
		at = table_next(&t->by_name, h, &pos);
	while (at != VEC_NONE && !str_eq(str_of(t->hosts.v[at].name), name));
	if (at != VEC_NONE)
		return at;
	char *copy = strndup(name.n ? name.p : "", name.n);
	struct host_here *slot = copy ? vec_add(&t->hosts) : NULL;
	if (!slot || !table_add(&t->by_name, h, (uint32_t)(t->hosts.n - 1))) {
		t->hosts.n -= slot != NULL;
		free(copy);
		return VEC_NONE;
	}
	*slot = (struct host_here){.name = copy, .until = TIME_NONE};
	return (uint32_t)(t->hosts.n - 1);
}

int builder_state_host(struct builder_state *t, struct str host, int64_t ns)
{
	const uint32_t at = host_of(t, host);
	if (at == VEC_NONE)
		return -ENOMEM;
	if (ns != TIME_NONE && (t->hosts.v[at].until == TIME_NONE || ns > t->hosts.v[at].until))
		t->hosts.v[at].until = ns;
	return 0;
}

/* A session of the index. 0, -ENOMEM. */
static int note_session(void *arg, const struct store_session_state *state)
{
	struct builder_state *t = arg;
	if (state->only_forgets)
		return 0; /* each builder has its own; what they forgot is compared below */
	const uint32_t at = host_of(t, state->host);
	struct session_here *slot = at == VEC_NONE ? NULL : vec_add(&t->sessions);
	if (!slot || !map_set(&t->by_number, state->number, (uint32_t)(t->sessions.n - 1)))
		return -ENOMEM;
	*slot = (struct session_here){state->number, state->events, at, state->ended, state->lacks, false};
	t->hosts.v[at].sessions++;
	t->hosts.v[at].open += !state->ended;
	t->hosts.v[at].lacking += state->lacks;
	return 0;
}

/* A session that the index knows as forgotten. 0, -ENOMEM. */
static int note_half(void *arg, uint64_t half)
{
	struct builder_state *t = arg;
	uint64_t *slot = vec_add(&t->forgotten);
	if (slot)
		*slot = half;
	return slot && map_set(&t->by_half, half, 1) ? 0 : -ENOMEM;
}

/* 0, or -errno with a sentence. */
static int read_index(struct builder_state *t, struct store *s, struct err *err)
{
	int rc = store_each_session(s, note_session, t, err);
	rc = rc < 0 ? rc : store_each_forgotten(s, note_half, t, err);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "cannot compare the sessions with the database") : rc;
}

/* A session as the database has it. 0, -ENOMEM. */
static int compare_session(void *arg, const char *const *columns)
{
	struct builder_state *t = arg;
	for (int i = 0; i < 4; i++)
		if (!columns[i])
			return 0;
	const uint64_t number = (uint64_t)strtoll(columns[0], NULL, 10), events = (uint64_t)strtoll(columns[1], NULL, 10);
	const bool ended = columns[2][0] == 't', lacks = columns[3][0] == 't';
	const uint32_t at = map_get(&t->by_number, number);
	struct session_here *h = at == VEC_NONE ? NULL : &t->sessions.v[at];
	if (h && h->events == events && h->ended == ended && h->lacks == lacks) {
		h->same = true;
		return 0;
	}
	if (map_get(&t->by_half, number >> 1) == VEC_NONE)
		t->behind += !h || h->events < events || (h->lacks && !lacks);
	uint64_t *slot = vec_add(&t->gone);
	if (slot)
		*slot = number;
	return slot ? 0 : -ENOMEM;
}

/* One that the database knows as forgotten. Always 0. */
static int compare_half(void *arg, const char *const *columns)
{
	struct builder_state *t = arg;
	if (!columns[0])
		return 0;
	const uint64_t half = strtoull(columns[0], NULL, 10);
	if (map_get(&t->by_half, half) != VEC_NONE)
		map_set(&t->by_half, half, 2);
	else
		t->behind += map_get(&t->by_number, half << 1) != VEC_NONE || map_get(&t->by_number, half << 1 | 1) != VEC_NONE;
	return 0;
}

/* 0, or -errno with a sentence. */
static int compare_with_database(struct builder_state *t, struct database *to, struct store *s, struct err *err)
{
	int rc = read_index(t, s, err);
	rc = rc < 0 ? rc
	            : database_query(to, "SELECT number, events, ended, lacks FROM stemma_load.session", NULL, err,
	                             compare_session, t);
	rc = rc < 0 ? rc : database_query(to, "SELECT half FROM stemma_load.forgotten", NULL, err, compare_half, t);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "cannot compare the sessions with the database") : rc;
}

int builder_behind(struct database *to, struct store *s, struct err *err, uint64_t *ret)
{
	struct builder_state *t = builder_state_new();
	int rc = t ? compare_with_database(t, to, s, err)
	           : err_set(err, ENOMEM, "cannot compare the sessions with the database");
	*ret = t ? t->behind : 0;
	builder_state_free(t);
	return rc;
}

/* ---- writing ---- */

/* Rows that wait in out go to the database if they are more than least bytes. 0, or -errno with a sentence. */
static int put_rows(struct database *to, struct buf *out, size_t least, struct err *err)
{
	if (out->failed)
		return err_set(err, ENOMEM, "cannot load");
	int rc = out->n > least ? database_put(to, out->p, out->n, err) : 0;
	if (out->n > least)
		buf_reset(out);
	return rc;
}

/* Takes rows out that are others now. 0, or -errno with a sentence. */
static int remove_gone(const struct builder_state *t, struct database *to, struct buf *sql, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < t->gone.n; i++) {
		buf_printf(sql, "%s'%lld'", sql->n ? ", " : "DELETE FROM stemma_load.session WHERE number IN (",
		           (long long)t->gone.v[i]);
		if (sql->n < STATEMENT && i + 1 < t->gone.n)
			continue;
		buf_char(sql, ')');
		rc = sql->failed ? err_set(err, ENOMEM, "cannot load") : database_exec(to, buf_cstr(sql), err);
		buf_reset(sql);
	}
	return rc;
}

/* A host's name as COPY reads it. */
static void put_host(struct buf *out, const char *name)
{
	for (; *name; name++)
		if (*name == '\\' || *name == '\t' || *name == '\n' || *name == '\r')
			buf_printf(out, "\\%c", *name == '\t' ? 't' : *name == '\n' ? 'n' : *name == '\r' ? 'r' : '\\');
		else
			buf_char(out, *name);
}

/* Sessions that are new or changed. 0, or -errno with a sentence. */
static int copy_sessions(const struct builder_state *t, struct database *to, struct buf *out, struct err *err)
{
	int rc = database_copy(to, "COPY stemma_load.session (number, host, events, ended, lacks) FROM STDIN", err);
	for (size_t i = 0; rc == 0 && i < t->sessions.n; i++) {
		const struct session_here *h = &t->sessions.v[i];
		if (h->same)
			continue;
		buf_printf(out, "%lld\t", (long long)h->number);
		put_host(out, t->hosts.v[h->host].name);
		buf_printf(out, "\t%lld\t%c\t%c\n", (long long)h->events, h->ended ? 't' : 'f', h->lacks ? 't' : 'f');
		rc = put_rows(to, out, STATEMENT, err);
	}
	rc = rc < 0 ? rc : put_rows(to, out, 0, err);
	return rc < 0 ? rc : database_copied(to, err);
}

/* What was forgotten and is new to the database. 0, or -errno with a sentence. */
static int copy_forgotten(const struct builder_state *t, struct database *to, struct buf *out, struct err *err)
{
	int rc = database_copy(to, "COPY stemma_load.forgotten (half) FROM STDIN", err);
	for (size_t i = 0; rc == 0 && i < t->forgotten.n; i++) {
		if (map_get(&t->by_half, t->forgotten.v[i]) != 1)
			continue;
		buf_printf(out, "%llu\n", (unsigned long long)t->forgotten.v[i]);
		rc = put_rows(to, out, STATEMENT, err);
	}
	rc = rc < 0 ? rc : put_rows(to, out, 0, err);
	return rc < 0 ? rc : database_copied(to, err);
}

/* Notes the text of all hosts' rows, as the database remembers it. Always 0. */
static int note_sum(void *arg, const char *const *columns)
{
	snprintf(arg, 24, "%s", columns[0] ? columns[0] : "");
	return 0;
}

/* All hosts anew, if one has changed. 0, or -errno with a sentence. */
static int write_hosts(const struct builder_state *t, struct database *to, struct buf *out, struct err *err)
{
	char sum[24], had[24] = "";
	const char *params[] = {sum, NULL};
	for (size_t i = 0; i < t->hosts.n; i++) {
		const struct host_here *h = &t->hosts.v[i];
		put_host(out, h->name);
		buf_printf(out, "\t%llu\t%llu\t%llu\t", (unsigned long long)h->sessions, (unsigned long long)h->open,
		           (unsigned long long)h->lacking);
		if (h->until == TIME_NONE)
			buf_printf(out, "\\N\n");
		else
			buf_printf(out, "%lld\n", (long long)h->until);
	}
	if (out->failed)
		return err_set(err, ENOMEM, "cannot load");
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)hash_str(buf_view(out)));
	int rc = database_query(to, "SELECT value FROM stemma_load.meta WHERE key = 'hosts'", NULL, err, note_sum, had);
	if (rc < 0 || !strcmp(sum, had))
		return rc;
	rc = database_exec(to, "DELETE FROM stemma_load.host", err);
	rc = rc < 0 ? rc
	            : database_copy(to,
	                            "COPY stemma_load.host (host, sessions, open_sessions, lacking_sessions, last_recorded)"
	                            " FROM STDIN",
	                            err);
	rc = rc < 0 ? rc : put_rows(to, out, 0, err);
	rc = rc < 0 ? rc : database_copied(to, err);
	return rc < 0 ? rc
	              : database_query(to,
	                               "INSERT INTO stemma_load.meta VALUES ('hosts', $1) ON CONFLICT (key) DO UPDATE SET"
	                               " value = excluded.value",
	                               params, err, NULL, NULL);
}

int builder_state_write(struct builder_state *t, struct database *to, struct store *s, struct err *err)
{
	struct buf out = {0};
	int rc = compare_with_database(t, to, s, err);
	rc = rc < 0 ? rc : remove_gone(t, to, &out, err);
	rc = rc < 0 ? rc : copy_sessions(t, to, &out, err);
	rc = rc < 0 ? rc : copy_forgotten(t, to, &out, err);
	rc = rc < 0 ? rc : write_hosts(t, to, &out, err);
	buf_release(&out);
	return rc;
}
