#include "site/index_source.h"

#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"
#include "site/database.h"
#include "store/elsewhere/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16, MOST = 64, SLOTS = 2048, FILES_MAX = 1 << 17 };

struct source_file {
	char name[SOURCE_NAME];
	uint64_t size;
	uint64_t next;   /* the page behind those that were fetched last */
	unsigned window; /* how many these were */
};
struct source_slot {
	uint32_t file; /* its number, and 1; 0: the slot is free */
	uint32_t n;
	unsigned char *page;
	size_t size;
};
struct index_source {
	struct store_source base;
	struct database *db;
	char *name;
	uint64_t stamp; /* of all files, as they are in the transaction */
	bool resting;   /* no transaction is open */
	VEC(struct source_file) files;
	struct source_slot slot[SLOTS];
	/* While pages are fetched: of which file, which were asked for, and what was wrong with what came. */
	uint32_t fetching;
	uint64_t from, to;
	int wrong;
};

/* The source of a store, as what it is: the source is its first member. */
static struct index_source *source_of(struct store_source *s)
{
	return (struct index_source *)s;
}

/* ---- files ---- */

/* Reads a number as the server sends a bigint. False: it is none. */
static bool number_of(struct str s, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < s.n && s.n == 8; i++)
		v = v << 8 | (unsigned char)s.p[i];
	*ret = v;
	return s.n == 8 && v <= INT64_MAX;
}

/* A row of stemma_index.file. What cannot be is an error. 0; -EBADMSG, -ENOMEM. */
static int note_file(void *arg, const char *const *columns)
{
	struct index_source *d = arg;
	char *end = NULL;
	const unsigned long long size = columns[1] && columns[1][0] != '-' ? strtoull(columns[1], &end, 10) : 0;
	if (!columns[0] || !columns[0][0] || strlen(columns[0]) >= SOURCE_NAME || !end || *end || end == columns[1] ||
	    size > (uint64_t)UINT32_MAX * SOURCE_PAGE || d->files.n >= FILES_MAX)
		return -EBADMSG;
	struct source_file *f = vec_add(&d->files);
	if (!f)
		return -ENOMEM;
	*f = (struct source_file){.size = size};
	memcpy(f->name, columns[0], strlen(columns[0]));
	for (int i = 0; i < 3; i++)
		d->stamp = hash_more(d->stamp, columns[i] ? columns[i] : "", columns[i] ? strlen(columns[i]) + 1 : 0);
	return 0;
}

/* No more than can be used, however much is there: 128 is SOURCE_NAME, 131073 one more than FILES_MAX. */
#define READING                                                                                                        \
	"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT pg_catalog.left(name, 128), size,"                        \
	" pg_catalog.left(stamp, 64) FROM stemma_index.file ORDER BY name LIMIT 131073"
_Static_assert(SOURCE_NAME == 128 && FILES_MAX == 131072, "as in the query");

/* Begins a transaction and reads which files there are: they stay so until it ends. sql: ends with READING. 0, or
 * -errno with a sentence; then no transaction is open. */
static int begin_reading(struct index_source *d, const char *sql, struct err *err)
{
	d->files.n = 0;
	d->stamp = 0;
	int rc = database_ask(d->db, sql, err, note_file, d);
	d->resting = rc < 0;
	if (rc < 0)
		database_exec(d->db, "ROLLBACK", NULL);
	if (rc == -EBADMSG)
		err_set(err, 0, "the index in the database '%s' makes no sense: it is damaged or forged", d->name);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "cannot open the record") : rc;
}

/* The file of that name; NULL: there is none. There are few, and one is asked for again and again. */
static struct source_file *file_of(struct index_source *d, const char *name)
{
	size_t lo = 0, hi = d->files.n;
	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;
		const int c = strcmp(d->files.v[mid].name, name);
		if (c == 0)
			return &d->files.v[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* ---- pages ---- */

/* How many bytes the page has. */
static size_t page_size(const struct source_file *f, uint64_t n)
{
	const uint64_t left = f->size - n * SOURCE_PAGE;
	return left < SOURCE_PAGE ? (size_t)left : SOURCE_PAGE;
}

/* Where the page is kept: neighbours beside each other, so that those of one fetch do not take each other's place. */
static struct source_slot *slot_of(struct index_source *d, uint32_t file, uint64_t n)
{
	return &d->slot[(hash_bytes(&file, sizeof(file)) + n) % SLOTS];
}

/* Keeps a page that came, if it is one that was asked for. 0; -EBADMSG, -ENOMEM. */
static int take_page(void *arg, const struct str *columns)
{
	struct index_source *d = arg;
	const struct source_file *f = &d->files.v[d->fetching];
	uint64_t n = 0;
	if (!number_of(columns[0], &n) || n < d->from || n >= d->to || columns[1].n != page_size(f, n))
		return d->wrong = -EBADMSG;
	struct source_slot *slot = slot_of(d, d->fetching, n);
	if (!slot->page && !(slot->page = malloc(SOURCE_PAGE)))
		return d->wrong = -ENOMEM;
	memcpy(slot->page, columns[1].p, columns[1].n);
	slot->file = d->fetching + 1;
	slot->n = (uint32_t)n;
	slot->size = columns[1].n;
	return 0;
}

/* Fetches the page and those behind it. 0, or -errno; what failed is told in the source. */
static int fetch_pages(struct index_source *d, struct source_file *f, uint64_t n)
{
	const uint64_t pages = (f->size + SOURCE_PAGE - 1) / SOURCE_PAGE;
	char from[24], to[24];
	/* The first pages of the index are the roots of its tables, which every question comes to. */
	const bool roots = n < MOST && !strcmp(f->name, SOURCE_INDEX), follows = n == f->next && n;
	f->window = roots ? MOST : !follows ? LEAST : f->window < MOST / 2 ? f->window * 2 : MOST;
	d->from = roots ? 0 : n - n % LEAST;
	d->to = pages - d->from < f->window ? pages : d->from + f->window;
	d->fetching = (uint32_t)(f - d->files.v);
	d->wrong = 0;
	f->next = d->to;
	snprintf(from, sizeof(from), "%llu", (unsigned long long)d->from);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)d->to);
	const char *params[] = {f->name, from, to, NULL};
	err_clear(&d->base.failed);
	int rc = database_fetch(d->db,
	                        "SELECT n, bytes FROM stemma_index.page WHERE file = $1 AND n >= $2::bigint AND n <"
	                        " $3::bigint AND octet_length(bytes) <= 16384 ORDER BY n LIMIT 64",
	                        params, &d->base.failed, take_page, d);
	return d->wrong ? d->wrong : rc;
}

/* The page, fetched if it is not kept. 0; -EBADMSG: the database does not have it; -errno. */
static int find_page(struct index_source *d, struct source_file *f, uint64_t n, const struct source_slot **ret)
{
	const uint32_t number = (uint32_t)(f - d->files.v);
	const struct source_slot *slot = slot_of(d, number, n);
	for (int tried = 0; slot->file != number + 1 || slot->n != n; tried++) {
		int rc = tried ? -EBADMSG : fetch_pages(d, f, n);
		if (rc < 0)
			return rc;
	}
	*ret = slot;
	return 0;
}

/* Reads a piece of a file of the index from the database, as read of struct store_source, by pages that are kept. 0,
 * all n bytes; -ENOENT: no such file; -EBADMSG: it has not so many; -errno. */
static int source_read(struct store_source *s, const char *file, uint64_t at, void *to, size_t n)
{
	struct index_source *d = source_of(s);
	struct source_file *f = file_of(d, file);
	if (!f)
		return -ENOENT;
	if (at > f->size || n > f->size - at)
		return -EBADMSG;
	for (size_t done = 0; done < n;) {
		const struct source_slot *slot;
		const size_t in = (size_t)((at + done) % SOURCE_PAGE);
		int rc = find_page(d, f, (at + done) / SOURCE_PAGE, &slot);
		if (rc < 0)
			return rc;
		const size_t have = slot->size - in, take = have < n - done ? have : n - done;
		memcpy((char *)to + done, slot->page + in, take);
		done += take;
	}
	return 0;
}

/* The size of a file of the index, bytes. 0; -ENOENT: there is none of that name. */
static int source_size(struct store_source *s, const char *file, uint64_t *ret)
{
	const struct source_file *f = file_of(source_of(s), file);
	if (!f)
		return -ENOENT;
	*ret = f->size;
	return 0;
}

/* ---- questions ---- */

/* Ends the reading of one state of the index, so that the database need not keep it. */
static void source_rest(struct store_source *s)
{
	struct index_source *d = source_of(s);
	if (!d->resting)
		database_send(d->db, "COMMIT");
	d->resting = true;
}

/* Begins to read the newest state of the index. 1: it is another one than before; 0; -errno with a sentence. */
static int source_renew(struct store_source *s, struct err *err)
{
	struct index_source *d = source_of(s);
	const uint64_t before = d->stamp;
	source_rest(s);
	int rc = begin_reading(d, READING, err);
	return rc < 0 ? rc : d->stamp != before;
}

static void source_close(struct store_source *s)
{
	struct index_source *d = source_of(s);
	database_close(d->db);
	for (size_t i = 0; i < SLOTS; i++)
		free(d->slot[i].page);
	vec_release(&d->files);
	free(d->name);
	free(d);
}

/* ---- opening ---- */

const char *index_source_url(const char *home)
{
	const char *env = getenv("STEMMA_HOME");
	if (!home && env && env[0])
		home = env;
	return home && database_is_url(home) ? home : NULL;
}

/* Notes whether the tables are there. Always 0. */
static int note_tables(void *arg, const char *const *columns)
{
	*(bool *)arg = columns[0] && columns[0][0] == 't';
	return 0;
}

/* Begins to read, if an index is there of which this role may see something. 0; -ENOENT, -EACCES, -errno with a
 * sentence. */
static int begin_first(struct index_source *d, struct err *err)
{
	struct err why = {0};
	bool there = false;
	/* Else functions that somebody made in another schema would be called as us. */
	int rc =
	    begin_reading(d, "SET client_encoding = 'SQL_ASCII'; SET search_path = pg_catalog, pg_temp; " READING, &why);
	if (rc < 0 &&
	    database_query(d->db, "SELECT to_regclass('stemma_index.file') IS NOT NULL", NULL, NULL, note_tables, &there) ==
	        0 &&
	    !there) {
		err_set(err, 0, "the database '%s' has no index, so stemma cannot query it", d->name);
		err_hint(err, "run stemma site load --questions on the machine that has the record");
		return -ENOENT;
	}
	if (rc < 0) {
		err_set(err, 0, "%s", why.text);
		err_hint(err, "%s", why.hint);
		return rc;
	}
	if (!file_of(d, SOURCE_INDEX)) {
		err_set(err, 0, "this role may not read the whole record in '%s'", d->name);
		err_hint(err, "use a role that stemma_load.reader lists with NULL, or query the tables with psql");
		return -EACCES;
	}
	return 0;
}

/* The figures of all hosts; what is null stays. Always 0. */
static int note_hosts(void *arg, const char *const *columns)
{
	struct index_hosts *h = arg;
	uint64_t *const count[] = {&h->hosts, &h->open, &h->lacking};
	for (int i = 0; i < 3; i++)
		*count[i] = columns[i] ? strtoull(columns[i], NULL, 10) : 0;
	h->first = columns[3] ? strtoll(columns[3], NULL, 10) : TIME_NONE;
	h->last = columns[4] ? strtoll(columns[4], NULL, 10) : TIME_NONE;
	return 0;
}

int index_source_hosts(struct store *s, struct err *err, struct index_hosts *ret)
{
	struct store_source *source = store_source_of(s);
	bool there = false;
	*ret = (struct index_hosts){.first = TIME_NONE, .last = TIME_NONE};
	if (!source)
		return 0;
	struct database *db = source_of(source)->db;
	int rc = database_query(db, "SELECT to_regclass('stemma_load.host') IS NOT NULL", NULL, err, note_tables, &there);
	if (rc < 0 || !there)
		return rc;
	rc = database_query(db,
	                    "SELECT count(*), sum(open_sessions), sum(lacking_sessions), min(last_recorded),"
	                    " max(last_recorded) FROM stemma_load.host",
	                    NULL, err, note_hosts, ret);
	return rc < 0 ? rc : ret->hosts > 0;
}

int index_source_open(const char *url, struct err *err, struct store **ret)
{
	struct index_source *d = calloc(1, sizeof(*d));
	if (!d || !(d->name = strdup(url))) {
		free(d);
		return err_set(err, ENOMEM, "cannot open the record");
	}
	d->base =
	    (struct store_source){d->name, source_read, source_size, source_rest, source_renew, source_close, {"", ""}};
	d->resting = true;
	int rc = database_open(url, err, &d->db);
	rc = rc < 0 ? rc : begin_first(d, err);
	if (rc < 0) {
		source_close(&d->base);
		return rc;
	}
	return store_open_source(&d->base, err, ret);
}
