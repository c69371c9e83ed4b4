/* adj_segment.c - segments as files: which one counts, reading it, checking it, publishing another. */
#include "store/adjacency/adjacency.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/os/engine_paths.h"
#include "base/os/system.h"
#include "store/elsewhere/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define ADJ_MAGIC 0x3165676445617453u
#define ADJ_FORMAT 1 /* of the rows, and of this header */
#define ADJ_PIECE_BITS 13
#define ADJ_PIECE (1u << ADJ_PIECE_BITS)

/* The beginning of the file. Then: where each row ends in the data, a checksum of each piece of the data, the data. */
struct adj_header {
	uint64_t magic;
	uint32_t format, table;
	uint64_t range, generation, mark;
	uint64_t rules; /* by which paths were judged */
	uint32_t rows, data_n;
	uint64_t tables_sum; /* of what stands between the header and the data */
	uint64_t sum;        /* of all before it */
};

/* A number that changes with the rules that the edges were judged by: edges of other rules are not used. */
static uint64_t adj_rules(void)
{
	return system_rules() ^ engine_path_rules();
}

/* How many checksums stand for so many bytes. */
static size_t adj_pieces(uint32_t data_n)
{
	return ((size_t)data_n + ADJ_PIECE - 1) >> ADJ_PIECE_BITS;
}

/* Ends of rows take four bytes each; checksums begin at a multiple of eight. */
static size_t adj_ends_bytes(uint32_t rows)
{
	return ((size_t)rows * sizeof(uint32_t) + 7) & ~(size_t)7;
}

/* For so many rows and bytes of data. */
static size_t adj_tables_bytes(uint32_t rows, uint32_t data_n)
{
	return adj_ends_bytes(rows) + adj_pieces(data_n) * sizeof(uint64_t);
}

/* What is reserved counts against the limit on data, whether it is used or not: most of that is for others. */
static uint64_t adj_room(void)
{
	struct rlimit r;
	return getrlimit(RLIMIT_DATA, &r) < 0 || r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur / 4;
}

struct adj *adj_of(struct store *s)
{
	if (!s->adj && (s->adj = calloc(1, sizeof(*s->adj)))) {
		const char *asked = secure_getenv("STEMMA_ADJACENCY");
		s->adj->epoch = 1; /* nothing was asked in view 0 */
		s->adj->off = s->memory || s->handed || (asked && !strcmp(asked, "off"));
		s->adj->all = asked && !strcmp(asked, "all");
		s->adj->room = adj_room();
	}
	return s->adj;
}

/* Closes its file; the mapping stays. It may be closed twice. */
static void adj_close(struct adj *a, struct adj_segment *g)
{
	if (g->file < 0)
		return;
	close(g->file);
	g->file = -1;
	for (size_t i = 0; i < ADJ_OPEN; i++)
		if (a->open[i] == g)
			a->open[i] = NULL;
}

/* Closes and unmaps the segment; its bytes count as room again. */
static void adj_empty(struct adj *a, struct adj_segment *g)
{
	adj_close(a, g);
	if (g->map) {
		munmap(g->map, g->size);
		a->room += g->size;
	}
	free(g->checked);
	g->map = NULL;
	g->checked = NULL;
	g->taken = 0;
	g->usable = g->damaged = false;
}

/* Nothing if it has none. */
void adj_release(struct store *s)
{
	struct adj *a = s->adj;
	if (!a)
		return;
	for (size_t t = 0; t < BLOCK_TABLES; t++) {
		for (size_t i = 0; i < a->ranges[t].n; i++)
			if (a->ranges[t].v[i]) {
				adj_empty(a, a->ranges[t].v[i]);
				free(a->ranges[t].v[i]);
			}
		vec_release(&a->ranges[t]);
	}
	vec_release(&a->written);
	map_release(&a->written_at);
	free(a);
	s->adj = NULL;
}

void adj_view_begin(struct store *s)
{
	if (s->adj)
		s->adj->epoch++;
}

void adj_folder(const struct store *s, char *ret, size_t size)
{
	int n = !store_has_file(s) || !s->index ? -1 : snprintf(ret, size, "%s.edges", s->index);
	if (n < 0 || (size_t)n >= size)
		ret[0] = '\0';
}

/* The name within the folder. */
void adj_file_name(const struct adj_name *n, char ret[96])
{
	snprintf(ret, 96, "%s-%llx-%llx-%016llx", n->table == BLOCK_FILE ? "files" : "processes",
	         (unsigned long long)n->range, (unsigned long long)n->generation, (unsigned long long)n->mark);
}

/* ---- which one counts ---- */

int adj_named(struct store *s, enum block_table table, uint64_t range, struct adj_name *ret,
              struct adj_changed *ret_changed)
{
	sqlite3_stmt *st = store_stmt(s, SQL_adjacency_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)adj_place(table, range));
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		struct str changed = column_str(st, 3);
		*ret = (struct adj_name){table, range, (uint64_t)sqlite3_column_int64(st, 0),
		                         (uint64_t)sqlite3_column_int64(st, 1), (uint32_t)sqlite3_column_int64(st, 2)};
		if (changed.n != sizeof(*ret_changed) || !ret->rows || ret->rows > ADJ_ROWS)
			rc = 0;
		else
			memcpy(ret_changed, changed.p, changed.n);
	}
	sqlite3_reset(st);
	return rc;
}

int adj_name_put(struct store *s, const struct adj_name *n, const struct adj_changed *changed, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_adjacency_put, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)adj_place(n->table, n->range));
	sqlite3_bind_int64(st, 2, (int64_t)n->generation);
	sqlite3_bind_int64(st, 3, (int64_t)n->mark);
	sqlite3_bind_int64(st, 4, n->rows);
	bind_str(st, 5, str_n((const char *)changed, sizeof(*changed)));
	return store_run_stmt(s, st, err);
}

/* ---- reading ---- */

int adj_open(const struct store *s, const struct adj_name *n)
{
	char folder[4096], name[96];
	adj_folder(s, folder, sizeof(folder));
	adj_file_name(n, name);
	int dir = folder[0] ? open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int rc = fd < 0 ? -errno : fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
		rc = -EBADMSG;
	if (dir >= 0)
		close(dir);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* Opens its file, if it is not open. Of many, the one that was opened first is closed. 0 or -errno. */
static int adj_reopen(struct store *s, struct adj_segment *g)
{
	struct adj *a = s->adj;
	struct adj_segment **place = &a->open[a->next_open];
	if (g->file >= 0)
		return 0;
	if (*place)
		adj_close(a, *place);
	if ((g->file = adj_open(s, &g->name)) < 0)
		return g->file;
	*place = g;
	a->next_open = (a->next_open + 1) % ADJ_OPEN;
	return 0;
}

/* The name of the file for a source. */
static void adj_source_name(const struct adj_name *n, char ret[SOURCE_NAME])
{
	char name[96];
	adj_file_name(n, name);
	snprintf(ret, SOURCE_NAME, SOURCE_EDGES "%s", name);
}

/* Reads bytes of the file, wherever it is. 0, -EBADMSG there are not so many, -errno. */
static int adj_read(struct store *s, struct adj_segment *g, void *to, size_t at, size_t n)
{
	char name[SOURCE_NAME];
	if (s->source) {
		adj_source_name(&g->name, name);
		return s->source->read(s->source, name, at, to, n);
	}
	int rc = adj_reopen(s, g);
	if (rc < 0)
		return rc;
	ssize_t got = io_pread(g->file, to, n, at);
	return got < 0 ? (int)got : (size_t)got < n ? -EBADMSG : 0;
}

/* How long the file is. 0 or -errno. */
static int adj_size(struct store *s, struct adj_segment *g, uint64_t *ret)
{
	char name[SOURCE_NAME];
	struct stat st;
	if (s->source) {
		adj_source_name(&g->name, name);
		return s->source->size(s->source, name, ret);
	}
	int rc = adj_reopen(s, g);
	if (rc == 0 && fstat(g->file, &st) < 0)
		rc = -errno;
	if (rc == 0)
		*ret = (uint64_t)st.st_size;
	return rc;
}

/* Whether a segment's head is whole and is that of the segment meant. */
static bool adj_header_fits(const struct adj_header *h, const struct adj_name *n)
{
	return h->magic == ADJ_MAGIC && h->format == ADJ_FORMAT &&
	       h->sum == hash_bytes(h, offsetof(struct adj_header, sum)) && h->table == n->table && h->range == n->range &&
	       h->generation == n->generation && h->mark == n->mark && h->rows == n->rows && h->data_n <= ADJ_BYTES_MAX &&
	       h->rules == adj_rules();
}

/* The tables that follow the header: are they whole, and do rows end in order and in the data? */
static bool adj_tables_fit(const struct adj_segment *g, const struct adj_header *h)
{
	if (h->tables_sum != hash_bytes(g->map + sizeof(*h), adj_tables_bytes(h->rows, h->data_n)))
		return false;
	const uint32_t *ends = (const uint32_t *)(const void *)(g->map + sizeof(*h));
	for (uint32_t k = 0, before = 0; k < h->rows; before = ends[k++])
		if (ends[k] < before || ends[k] > h->data_n)
			return false;
	return true;
}

/* Room for a segment of that size. */
static bool adj_reserve(struct adj *a, struct adj_segment *g, size_t size)
{
	void *map = a->room < size
	                ? MAP_FAILED
	                : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return false;
	a->room -= size;
	g->map = map;
	g->size = size;
	return true;
}

/* Reads the head of the file and checks it; the rest is read and checked piece by piece when it is used. False: it
 * cannot be used, and the rows are asked. */
static bool adj_begin(struct store *s, struct adj_segment *g)
{
	struct adj_header h;
	uint64_t there = 0;
	if (adj_size(s, g, &there) < 0 || adj_read(s, g, &h, 0, sizeof(h)) < 0 || !adj_header_fits(&h, &g->name))
		return false;
	const size_t tables = adj_tables_bytes(h.rows, h.data_n), size = sizeof(h) + tables + h.data_n;
	if (there != size || !adj_reserve(s->adj, g, size))
		return false;
	memcpy(g->map, &h, sizeof(h));
	if (adj_read(s, g, g->map + sizeof(h), sizeof(h), tables) == 0 && adj_tables_fit(g, &h)) {
		g->data = g->map + sizeof(h) + tables;
		g->data_n = h.data_n;
		g->checked = calloc(1, adj_pieces(h.data_n) / 8 + 1);
	}
	return g->checked != NULL;
}

/* Asks the index which segment of the range counts, once a view. */
static void adj_renew(struct store *s, enum block_table table, uint64_t range, struct adj_segment *g)
{
	struct adj_name n;
	g->epoch = s->adj->epoch;
	if (adj_named(s, table, range, &n, &g->changed) != 1) {
		g->usable = false;
		return;
	}
	if (g->map && g->name.mark == n.mark && g->name.generation == n.generation && g->name.rows == n.rows) {
		g->usable = !g->damaged;
		return;
	}
	adj_empty(s->adj, g);
	g->name = n;
	g->usable = adj_begin(s, g);
	if (!g->usable)
		adj_empty(s->adj, g);
}

/* The segment that a row would be in, NULL none. */
static struct adj_segment *adj_segment_of(struct store *s, enum block_table table, uint64_t id)
{
	struct adj *a = s->adj;
	const uint64_t range = id >> ADJ_RANGE_BITS;
	if (range >= ADJ_RANGES_MAX)
		return NULL;
	while (range >= a->ranges[table].n) {
		struct adj_segment **p = vec_add(&a->ranges[table]);
		if (!p)
			return NULL;
		*p = NULL;
	}
	struct adj_segment **g = &a->ranges[table].v[range];
	if (!*g) {
		if (!(*g = calloc(1, sizeof(**g))))
			return NULL;
		(*g)->file = -1;
	}
	if ((*g)->epoch != a->epoch)
		adj_renew(s, table, range, *g);
	return (*g)->usable ? *g : NULL;
}

/* Reads the pieces that hold data[from, to), if they are not there. 0, -EBADMSG they are not what was written, -errno.
 */
static int adj_take_pieces(struct store *s, struct adj_segment *g, uint32_t from, uint32_t to)
{
	const uint64_t *sums =
	    (const uint64_t *)(const void *)(g->map + sizeof(struct adj_header) + adj_ends_bytes(g->name.rows));
	for (uint32_t k = from >> ADJ_PIECE_BITS; k <= (to - 1) >> ADJ_PIECE_BITS; k++) {
		if (g->checked[k / 8] >> (k % 8) & 1)
			continue;
		const uint32_t at = k << ADJ_PIECE_BITS, left = g->data_n - at, n = left < ADJ_PIECE ? left : ADJ_PIECE;
		if (++g->taken == ADJ_MANY)
			madvise(g->map, g->size, MADV_POPULATE_WRITE); /* a page at a time costs a walk 1 % */
		const size_t place = (size_t)(g->data - g->map) + at;
		int rc = adj_read(s, g, g->map + place, place, n);
		if (rc == 0 && hash_more(k, g->data + at, n) != sums[k])
			rc = -EBADMSG;
		if (rc < 0)
			return rc;
		g->checked[k / 8] |= (unsigned char)(1u << (k % 8));
	}
	return 0;
}

int adj_row(struct store *s, enum block_table table, uint64_t id, struct str *ret)
{
	struct adj *a = adj_of(s);
	if (!s->viewing || !a || a->off || a->making)
		return 0;
	if (a->given) {
		*ret = *a->given;
		return 1;
	}
	struct adj_segment *g = adj_segment_of(s, table, id);
	const uint32_t k = (uint32_t)(id & (ADJ_ROWS - 1)), block = k / BLOCK_ROWS;
	if (!g || k >= g->name.rows || g->changed.bit[block / 8] >> (block % 8) & 1)
		return 0;
	const uint32_t *ends = (const uint32_t *)(const void *)(g->map + sizeof(struct adj_header));
	const uint32_t from = k ? ends[k - 1] : 0, to = ends[k];
	if (from == to)
		return 0;
	int rc = adj_take_pieces(s, g, from, to);
	if (rc == -EBADMSG)
		return adj_drop(s, table, id);
	if (rc < 0) { /* it was replaced, or there is no descriptor left: of this view the index is asked */
		g->usable = false;
		return 0;
	}
	*ret = str_n((const char *)g->data + from, to - from);
	return 1;
}

void store_expect(struct store *s, store_id id, bool exec, bool next)
{
	const struct adj *a = s->adj;
	const enum block_table table = exec ? BLOCK_PROCESS : BLOCK_FILE;
	const uint64_t row = exec ? exec_process(id) : version_file(id), range = row >> ADJ_RANGE_BITS;
	const uint32_t k = (uint32_t)(row & (ADJ_ROWS - 1));
	const struct adj_segment *g = a && range < a->ranges[table].n ? a->ranges[table].v[range] : NULL;
	if (!g || !g->usable || g->epoch != a->epoch || k >= g->name.rows)
		return;
	const uint32_t *ends = (const uint32_t *)(const void *)(g->map + sizeof(struct adj_header));
	if (!next) {
		__builtin_prefetch(&ends[k]);
		return;
	}
	const unsigned char *at = g->data + (k ? ends[k - 1] : 0);
	__builtin_prefetch(at);
	__builtin_prefetch(at + 64);
	__builtin_prefetch(at + 128);
}

int adj_drop(struct store *s, enum block_table table, uint64_t id)
{
	struct adj_segment *g = adj_segment_of(s, table, id);
	char folder[4096], path[4200], name[96];
	if (!g)
		return 0;
	g->usable = false; /* what others point to stays in memory */
	g->damaged = true;
	adj_folder(s, folder, sizeof(folder));
	adj_file_name(&g->name, name);
	if (folder[0] && snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		unlink(path);
	return 0;
}

/* ---- publishing ---- */

/* Writes a file of edges. 0, -errno. */
static int adj_write_all(int fd, const struct adj_header *h, const struct buf *tables, struct str data)
{
	int rc = io_write(fd, h, sizeof(*h), NULL);
	if (rc == 0)
		rc = io_write(fd, tables->p, tables->n, NULL);
	return rc == 0 ? io_write(fd, data.p, data.n, NULL) : rc;
}

/* Writes it under another name first: nobody sees half of one. 0, -errno: none of that name, or the old one, is there.
 * */
static int adj_publish(int dir, const char *name, const struct adj_header *h, const struct buf *tables, struct str data)
{
	char made[128];
	snprintf(made, sizeof(made), "%s.%ld.new", name, (long)getpid());
	unlinkat(dir, made, 0);
	int fd = openat(dir, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : adj_write_all(fd, h, tables, data);
	if (fd >= 0)
		close(fd);
	if (rc == 0 && renameat(dir, made, dir, name) < 0)
		rc = -errno;
	if (rc < 0 && fd >= 0)
		unlinkat(dir, made, 0);
	return rc;
}

int adj_segment_write(struct store *s, const struct adj_name *n, const uint32_t *ends, struct str data)
{
	char folder[4096], name[96];
	struct buf tables = {0};
	struct adj_header h = {.magic = ADJ_MAGIC,
	                       .format = ADJ_FORMAT,
	                       .table = n->table,
	                       .range = n->range,
	                       .generation = n->generation,
	                       .mark = n->mark,
	                       .rules = adj_rules(),
	                       .rows = n->rows,
	                       .data_n = (uint32_t)data.n};
	adj_folder(s, folder, sizeof(folder));
	adj_file_name(n, name);
	buf_add(&tables, ends, n->rows * sizeof(*ends));
	while (tables.n < adj_ends_bytes(n->rows) && !tables.failed)
		buf_char(&tables, '\0');
	for (uint32_t k = 0; k < adj_pieces(h.data_n); k++) {
		const size_t at = (size_t)k << ADJ_PIECE_BITS, left = data.n - at;
		const uint64_t sum = hash_more(k, data.p + at, left < ADJ_PIECE ? left : ADJ_PIECE);
		buf_add(&tables, &sum, sizeof(sum));
	}
	h.tables_sum = hash_bytes(tables.p, tables.n);
	h.sum = hash_bytes(&h, offsetof(struct adj_header, sum));
	int rc = tables.failed ? -ENOMEM : !folder[0] ? -ENAMETOOLONG : 0;
	if (rc == 0 && mkdir(folder, 0700) < 0 && errno != EEXIST)
		rc = -errno;
	int dir = rc < 0 ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rc == 0)
		rc = dir < 0 ? -errno : adj_publish(dir, name, &h, &tables, data);
	if (dir >= 0)
		close(dir);
	buf_release(&tables);
	return rc;
}
