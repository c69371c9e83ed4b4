/* What a process under --capture=safe has open, and what becomes of it in the log. */
#include "capture/preload/safe_int.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct safe_row no_row;

/* ---- strings and files ---- */

const char *sproc_text(struct str s, char *room, size_t n)
{
	size_t k = s.n < n - 1 ? s.n : n - 1;
	if (k)
		memcpy(room, s.p, k);
	room[k] = '\0';
	return room;
}

/* What is not known is 0, and not in the mask. */
struct statx safe_statx(const struct safe_stat *t)
{
	struct statx st = {.stx_mask = STATX_BASIC_STATS,
	                   .stx_ino = t->ino,
	                   .stx_size = t->size,
	                   .stx_mode = (uint16_t)t->mode,
	                   .stx_nlink = t->nlink,
	                   .stx_uid = t->uid,
	                   .stx_dev_major = t->major,
	                   .stx_dev_minor = t->minor,
	                   .stx_rdev_major = t->rmajor,
	                   .stx_rdev_minor = t->rminor};
	const int64_t second = 1000000000, from[] = {t->mtime, t->ctime, t->btime};
	struct statx_timestamp *to[] = {&st.stx_mtime, &st.stx_ctime, &st.stx_btime};
	for (int i = 0; i < 3; i++) {
		to[i]->tv_sec = from[i] / second;
		to[i]->tv_nsec = (uint32_t)(from[i] % second);
	}
	if (t->flags & SAFE_HAS_BTIME)
		st.stx_mask |= STATX_BTIME;
	return st;
}

/* The name that a path of the process has here. In another mount namespace most paths are the same; what is not says
 * whose it is, so that it is not taken for one of ours. st NULL: there is nothing at the path. */
void sproc_path(const struct sproc *p, struct str told, const struct statx *st, char *ret, size_t n)
{
	struct statx sx;
	char name[2 * SAFE_ROOM];
	/* Above a root there is nothing. */
	while (p && p->root && told.n >= 3 && !memcmp(told.p, "/..", 3) && (told.n == 3 || told.p[3] == '/')) {
		told.p += 3;
		told.n -= 3;
	}
	snprintf(name, sizeof(name), "%s%.*s", p && p->root && told.n && told.p[0] == '/' ? p->root : "", (int)told.n,
	         told.p);
	bool same = !p || !p->ns || name[0] != '/';
	if (!same && statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &sx) == 0 && st)
		same = sx.stx_ino == st->stx_ino && fileid_dev(&sx) == fileid_dev(st);
	if (same)
		snprintf(ret, n, "%s", name);
	else
		snprintf(ret, n, "mnt:[%llu]:%s", (unsigned long long)p->ns, name);
}

struct file *sproc_file(struct safe *f, const struct sproc *p, const struct safe_stat *t, struct str path)
{
	char name[2 * SAFE_ROOM + 64];
	if (t->flags & SAFE_HAS_NOT)
		return NULL;
	struct statx st = safe_statx(t);
	sproc_path(p, path, &st, name, sizeof(name));
	return file_emitted(f->s, &st, t->flags & SAFE_HAS_GEN, t->gen, name);
}

/* Known unless the process said that it has no status. */
struct fingerprint safe_print(const struct safe_stat *t)
{
	return (struct fingerprint){!(t->flags & SAFE_HAS_NOT), t->size, t->mtime, t->ctime};
}
/* ---- open files ---- */

/* NULL: it is not known. */
struct ident *ident_of(struct sproc *p, uint32_t oid)
{
	for (struct ident *i = p->ids[oid % IDS]; i; i = i->next)
		if (i->oid == oid)
			return i;
	return NULL;
}

struct ident *ident_add(struct sproc *p, uint32_t oid)
{
	if (!oid || p->nids >= OPEN_MAX_TOLD)
		return NULL;
	struct ident *i = ident_of(p, oid);
	if (i)
		return i;
	if ((i = calloc(1, sizeof(*i)))) {
		i->oid = oid;
		i->next = p->ids[oid % IDS];
		p->ids[oid % IDS] = i;
		p->nids++;
	}
	return i;
}

/* One more user of it. NULL: a is NULL, or no memory. */
static struct use *use_of(struct sproc *p, struct access *a)
{
	if (!a)
		return NULL;
	for (struct use *u = p->uses; u; u = u->next)
		if (u->a == a) {
			u->refs++;
			return u;
		}
	struct use *u = calloc(1, sizeof(*u));
	if (u) {
		u->a = a;
		u->refs = 1;
		u->next = p->uses;
		p->uses = u;
	}
	return u;
}

/* The live access of p to the file that has these bits. */
struct access *sproc_live(const struct sproc *p, const struct file *file, unsigned bit, bool sync)
{
	for (struct access *a = p->p->live; a; a = a->proc_next)
		if (a->file == file && (a->mode & bit) && (a->via == TERM_via_sync) == sync)
			return a;
	for (struct access *a = p->p->live; a; a = a->proc_next)
		if (a->file == file && (a->mode & bit))
			return a;
	return NULL;
}

void ident_uses(struct sproc *p, struct ident *i, struct access *r, struct access *w)
{
	if (!i)
		return;
	if (!i->use[0])
		i->use[0] = use_of(p, r);
	if (!i->use[1])
		i->use[1] = w == r && i->use[0] ? i->use[0] : use_of(p, w);
	i->refs += i->refs == 0;
}

/* t, held between from and to. */
static int64_t clamp_time(int64_t t, int64_t from, int64_t to)
{
	return t < from ? from : t > to ? to : t;
}

void use_add(const struct safe *f, struct use *u, const struct safe_row *row)
{
	const uint8_t api = row->api <= TERM_ioapi_mmap ? row->api : TERM_ioapi_other, write = row->write != 0;
	const int64_t now = sup_now(f->s) - f->s->clock_offset;
	struct sum *x = u->sums;
	while (x && (x->row.api != api || x->row.write != write))
		x = x->next;
	if (!x) {
		if (!(x = calloc(1, sizeof(*x))))
			return;
		x->row = no_row;
		x->row.api = api;
		x->row.write = write;
		x->row.first = INT64_MAX;
		x->next = u->sums;
		u->sums = x;
	}
	x->row.calls += row->calls;
	x->row.failed += row->failed;
	x->row.bytes += row->bytes;
	x->row.spent += row->spent;
	if (row->largest > x->row.largest)
		x->row.largest = row->largest;
	if (row->first) {
		const int64_t first = clamp_time(row->first, f->since, now), last = clamp_time(row->last, first, now);
		x->row.first = first < x->row.first ? first : x->row.first;
		x->row.last = last > x->row.last ? last : x->row.last;
	}
	for (int i = 0; i < SIZE_CLASSES; i++)
		x->sizes[i] += row->sizes[i];
}

/* Its calls, by access seq. */
static void sums_emit(struct safe *f, struct sproc *p, struct use *u, uint64_t seq)
{
	struct sup *s = f->s;
	int64_t now = sup_now(s);
	for (struct sum *x = u->sums; x; x = x->next) {
		const struct safe_row *r = &x->row;
		int64_t first = r->first == INT64_MAX ? TIME_NONE : r->first + s->clock_offset;
		int64_t last = r->last ? r->last + s->clock_offset : TIME_NONE;
		struct event ev = {.io = {.access = seq,
		                          .api = r->api,
		                          .write = r->write,
		                          .calls = r->calls,
		                          .failed = r->failed,
		                          .bytes = r->bytes,
		                          .largest = r->largest,
		                          .spent = r->spent,
		                          .first = first,
		                          .last = last,
		                          .size0 = x->sizes[0],
		                          .size1 = x->sizes[1],
		                          .size2 = x->sizes[2],
		                          .size3 = x->sizes[3],
		                          .size4 = x->sizes[4],
		                          .size5 = x->sizes[5],
		                          .size6 = x->sizes[6],
		                          .size7 = x->sizes[7],
		                          .size8 = x->sizes[8],
		                          .size9 = x->sizes[9]}};
		sup_event(s, EVENT_io, now, p->p, &ev);
	}
}

/* Bytes that were read or written by calls, not through mappings. */
static uint64_t sums_bytes(const struct use *u, bool write)
{
	uint64_t n = 0;
	for (const struct sum *x = u->sums; x; x = x->next)
		if (x->row.write == write && x->row.api != TERM_ioapi_mmap)
			n += x->row.bytes;
	return n;
}

/* Takes it out of the process's list. What was counted in it is lost. */
static void use_free(struct sproc *p, struct use *u)
{
	struct use **at = &p->uses;
	while (*at && *at != u)
		at = &(*at)->next;
	if (*at)
		*at = u->next;
	for (struct sum *x = u->sums, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	free(u);
}

/* Which sides of a use are known whole: 1 reading, 2 writing, 3 both, 0 none. */
static unsigned rate_known_sides(const struct done *d, uint64_t proved)
{
	unsigned known = 0;
	uint64_t reads = d->held ? SAFE_PROVED_READ : SAFE_PROVED_READ | SAFE_PROVED_OPENED;
	if ((proved & reads) && (d->mode & ACCESS_READ) && !d->loaded && (!d->socket || d->bytes[0]))
		known |= 1;
	if ((proved & SAFE_PROVED_WRITE) && (d->mode & ACCESS_WRITE) && !d->mapped && (!d->altered || d->bytes[1]) &&
	    (!d->socket || d->bytes[1]))
		known |= 2;
	return known;
}

/* Bytes that are known of an access that has ended; proved: which ways the kernel's totals prove. */
static void figures_emit(struct safe *f, struct sproc *p, const struct done *d, uint64_t proved)
{
	unsigned known = rate_known_sides(d, proved);
	bool write = d->mode & ACCESS_WRITE, wrote = write && d->bytes[1];
	bool create = d->mode & (ACCESS_CREATE | ACCESS_TRUNC);
	/* What the end said of a write holds, where no more is known of it. */
	if ((!known && !wrote) || (write && !wrote && !create && !(known & 2)))
		return;
	/* Bytes that were seen going there are evidence, whatever else is not known. */
	struct event ev = {.access_end = {.access = d->seq,
	                                  .until = TIME_NONE,
	                                  .evidence = wrote || create ? TERM_evidence_must : TERM_evidence_none,
	                                  .count = d->count > 1 ? d->count : 0,
	                                  .bytes_read = known & 1 ? d->bytes[0] : 0,
	                                  .bytes_written = known & 2 ? d->bytes[1] : 0,
	                                  .known = known}};
	if (d->mapped && write)
		return;
	sup_event(f->s, EVENT_access_end, sup_now(f->s), p->p, &ev);
}

/* A descriptor that came from elsewhere may have been used; bytes show that it was, though not that they were all. */
static void used_emit(struct safe *f, struct sproc *p, const struct done *d, uint64_t proved)
{
	unsigned known = rate_known_sides(d, proved), mode = 0;
	if (!d->unsure || d->via == TERM_via_sync)
		return;
	mode |= d->bytes[0] && !(known & 1) ? ACCESS_READ : 0;
	mode |= d->bytes[1] && !(known & 2) ? d->mode & (ACCESS_WRITE | ACCESS_APPEND) : 0;
	if (!mode)
		return;
	struct event ev = {.access = {.file = d->file, .mode = mode, .via = d->via, .sure = 1, .api = TERM_api_inherit}};
	uint64_t seq = sup_event(f->s, EVENT_access, d->start, p->p, &ev);
	struct event end = {
	    .access_end = {.access = seq, .until = d->until, .evidence = d->bytes[1] ? TERM_evidence_must : 0}};
	if (seq)
		sup_event(f->s, EVENT_access_end, sup_now(f->s), p->p, &end);
}

/* The last open file that led to the access is closed, or the program is over. */
static void end_use(struct safe *f, struct sproc *p, struct use *u, int64_t time)
{
	struct sup *s = f->s;
	struct access *a = u->a;
	struct file *file = a->file;
	struct done d = {.seq = a->seq,
	                 .bytes = {sums_bytes(u, false), sums_bytes(u, true)},
	                 .count = a->count,
	                 .mode = a->mode,
	                 .loaded = u->loaded || a->mapped,
	                 .mapped = u->mapped || a->mapped,
	                 .altered = u->altered,
	                 .socket = file->kind == TERM_kind_socket,
	                 .held = a->via != TERM_via_data,
	                 .unsure = !a->sure,
	                 .file = file->num,
	                 .via = a->via,
	                 .start = a->start,
	                 .until = time};
	sums_emit(f, p, u, a->seq);
	if (a->mode & ACCESS_WRITE) {
		file->last_stop = 0;
		if (u->flushes && !d.bytes[1])
			a->before.mtime = INT64_MIN; /* what stdio still had was written after the last look */
		if (u->may_flush) {
			file->last = (struct fingerprint){0};
			file->last_stop = s->epoch + 1;
		} else if (u->shot && !u->flushes) {
			file->last = u->print;
			file->last_stop = s->epoch + 1;
		}
	}
	file->pins++;
	access_end(s, a, time);
	u->a = NULL;
	file->pins--;
	file_drop(s, file);
	if (d.bytes[1])
		figures_emit(f, p, &d, 0);
	if (p->ndone >= DONE_MAX) {
		p->done_full = true;
		used_emit(f, p, &d, 0);
	} else {
		if (!(p->ndone & (p->ndone - 1))) {
			struct done *v = realloc(p->done, (p->ndone ? 2 * p->ndone : 1) * sizeof(*v));
			if (!v) {
				use_free(p, u);
				return;
			}
			p->done = v;
		}
		p->done[p->ndone++] = d;
	}
	use_free(p, u);
}

void ident_end(struct safe *f, struct sproc *p, struct ident *i, int64_t time)
{
	struct ident **at = &p->ids[i->oid % IDS];
	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	p->nids--;
	bool both = i->use[0] == i->use[1];
	for (int k = 0; k < (both ? 1 : 2); k++) {
		struct use *u = i->use[k];
		if (u && --u->refs == 0)
			end_use(f, p, u, time);
	}
	free(i);
}

struct handles {
	const struct safe *f;
	struct sproc *p;
};

/* Adds what the process had counted for one object to its accesses. */
static void take_handle(const struct safe_handle *h, void *arg)
{
	const struct safe *f = ((struct handles *)arg)->f;
	struct sproc *p = ((struct handles *)arg)->p;
	struct ident *i = ident_of(p, h->oid);
	for (int k = 0; i && k < 2; k++)
		if (i->use[k] && (h->row[k].calls || h->row[k].failed)) {
			use_add(f, i->use[k], &h->row[k]);
			p->summed[h->row[k].write != 0] += h->row[k].bytes;
		}
}

unsigned sproc_chunks_back(struct safe *f, struct sproc *p)
{
	struct handles h = {f, p};
	return p->image && f->reader ? safe_reader_end(f->reader, p->pid, p->image, take_handle, &h) : 0;
}

/* The program is over: by exec or with its process. proved: SAFE_PROVED_* bits, where all bytes that the kernel counted
 * were seen. */
void sproc_image_end(struct safe *f, struct sproc *p, int64_t time, uint64_t proved)
{
	struct sup *s = f->s;
	unsigned cut = sproc_chunks_back(f, p);
	if (cut)
		sup_gap(s, p->p, TERM_gap_lost, cut, "it was killed while an event was written");
	for (unsigned k = 0; k < IDS; k++)
		while (p->ids[k]) {
			struct ident *i = p->ids[k];
			p->ids[k] = i->next;
			free(i);
		}
	p->nids = 0;
	while (p->uses)
		end_use(f, p, p->uses, time);
	for (struct access *a = p->p->live; a; a = a->proc_next)
		a->file->last_stop = 0;
	proc_end_accesses(s, p->p, time);
	/* Nothing is claimed where something was lost on the way. */
	if (f->lost || !p->told)
		proved = 0;
	if (p->summed[0] != p->rows[0])
		proved &= ~(uint64_t)(SAFE_PROVED_READ | SAFE_PROVED_OPENED);
	if (p->summed[1] != p->rows[1])
		proved &= ~(uint64_t)SAFE_PROVED_WRITE;
	p->told = false;
	memset(p->summed, 0, sizeof(p->summed));
	memset(p->rows, 0, sizeof(p->rows));
	for (size_t k = 0; k < p->ndone; k++) {
		used_emit(f, p, &p->done[k], proved);
		if (proved)
			figures_emit(f, p, &p->done[k], proved);
	}
	bool moved_any = false;
	for (size_t k = 0; k < p->ndone; k++)
		moved_any |= p->done[k].bytes[0] || p->done[k].bytes[1];
	if (moved_any && (f->lost || p->done_full || (proved & SAFE_PROVED_ALL) != SAFE_PROVED_ALL))
		sup_gap(s, p->p, TERM_gap_no_bytes, 0, "some files: more bytes were moved than the library observed");
	free(p->done);
	p->done = NULL;
	p->ndone = 0;
	p->done_full = false;
}
