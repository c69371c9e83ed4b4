/* What libstemma-hdf5.so told of a program, as events: objects are files that lie in a file, and what was done with
 * them are accesses (doc/hdf5.md). Everything here was written by the user's program, and is checked where it is used.
 */
#include "base/hash.h"
#include "capture/app/channel.h"
#include "capture/app/images.h"
#include "capture/hdf5/h5_format.h"
#include "capture/preload/safe_int.h"
#include "capture/supervisor/super.h"

#include <stdio.h>
#include <stdlib.h>

#define OBJECTS_MAX (4u << 20) /* of an image; its room in memory holds fewer */
#define TELL_MAX 64            /* gaps that are told one by one */

struct image_file {
	uint64_t num;
	struct file *file;
	char *path; /* of the file, as it is shown; with what stands behind it for an object */
};
struct image_object {
	struct h5_object o;
	struct str path, attr; /* in the window */
	uint64_t number;       /* in the log; 0: not told */
	int64_t met;           /* when it was told of */
	struct image_file *file;
};
struct teller {
	struct sup *s;
	const struct channel_image *image;
	struct proc subject; /* the process under a number of its own */
	uint64_t n;          /* its execution */
	int64_t now;
	struct image_file *files;
	size_t nfiles, files_cap;
	struct image_object *objects;
	size_t nobjects, objects_cap;
	uint64_t lost;
	unsigned gaps;
	struct buf path, list[3];
};

static int64_t h5_time_within(const struct teller *t, int64_t said)
{
	int64_t boot = t->now - t->s->clock_offset;
	return (said < t->image->head.born ? t->image->head.born : said > boot ? boot : said) + t->s->clock_offset;
}

/* Room for one more element; pv: the address of the pointer. False: no memory, or `most` are there. */
static bool grow_table(void *pv, size_t n, size_t *cap, size_t size, size_t most)
{
	void *old, *more;
	if (n < *cap)
		return true;
	size_t want = *cap ? 2 * *cap : 64;
	memcpy(&old, pv, sizeof(old));
	if (want > most || !(more = realloc(old, want * size)))
		return false;
	memcpy(pv, &more, sizeof(more));
	*cap = want;
	return true;
}

/* ---- first: what there is ---- */

/* A file that the program had open through HDF5, by its number there: checked, and kept for the objects that are said
 * to be in it. */
static void keep_file_entry(struct teller *t, const struct app_said *said)
{
	struct h5_file f;
	if (said->value.n <= sizeof(f) ||
	    !grow_table(&t->files, t->nfiles, &t->files_cap, sizeof(*t->files), OBJECTS_MAX)) {
		t->lost++;
		return;
	}
	memcpy(&f, said->value.p, sizeof(f));
	struct str path = str_n(said->value.p + sizeof(f), said->value.n - sizeof(f));
	char *name = memchr(path.p, '\0', path.n) ? NULL : strndup(path.p, path.n);
	if (!name || name[0] != '/' || (f.st.mode & S_IFMT) != S_IFREG) {
		free(name);
		t->lost++;
		return;
	}
	t->files[t->nfiles++] = (struct image_file){.num = f.num, .path = name};
	struct statx st = safe_statx(&f.st);
	struct image_file *to = &t->files[t->nfiles - 1];
	to->file = file_emitted(t->s, &st, f.st.flags & SAFE_HAS_GEN, f.st.gen, name);
	if (to->file)
		to->file->pins++; /* others that are told of do not push it out */
	if (to->file && to->file->path && to->file->path[0] == '/') {
		free(to->path);
		to->path = strdup(to->file->path);
	}
}

/* An object's entry, if it makes sense; else it counts as lost. The texts stay the tape's. */
static void keep_object_entry(struct teller *t, const struct app_said *said)
{
	struct h5_object o;
	if (said->value.n < sizeof(o))
		return;
	memcpy(&o, said->value.p, sizeof(o));
	bool fits = (uint64_t)o.nname + o.nattr + sizeof(o) <= said->value.n;
	if (!o.ready || !fits || o.kind < TERM_kind_group || o.kind > TERM_kind_datatype || !o.num ||
	    (o.kind == TERM_kind_attribute) != (o.nattr != 0) ||
	    !grow_table(&t->objects, t->nobjects, &t->objects_cap, sizeof(*t->objects), OBJECTS_MAX)) {
		t->lost += o.ready != 0;
		return;
	}
	const char *text = said->value.p + sizeof(o);
	t->objects[t->nobjects++] = (struct image_object){
	    .o = o, .met = said->time, .path = str_n(text, o.nname), .attr = str_n(text + o.nname, o.nattr)};
}

/* Called for each entry; arg is a struct teller. Always 0. */
static int keep_entry(void *arg, const struct app_said *said)
{
	struct teller *t = arg;
	if (said->kind == H5_FILE)
		keep_file_entry(t, said);
	else if (said->kind == H5_OBJECT)
		keep_object_entry(t, said);
	return 0;
}

static int by_file(const void *pa, const void *pb)
{
	const struct image_file *a = pa, *b = pb;
	return (a->num > b->num) - (a->num < b->num);
}

static int by_object(const void *pa, const void *pb)
{
	const struct image_object *a = pa, *b = pb;
	return (a->o.num > b->o.num) - (a->o.num < b->o.num);
}

static struct image_file *find_image_file(struct teller *t, uint64_t num)
{
	struct image_file key = {.num = num};
	return t->nfiles ? bsearch(&key, t->files, t->nfiles, sizeof(key), by_file) : NULL;
}

static struct image_object *find_image_object(struct teller *t, uint64_t num)
{
	struct image_object key = {.o.num = num};
	return t->nobjects ? bsearch(&key, t->objects, t->nobjects, sizeof(key), by_object) : NULL;
}

/* ---- then: what was done ---- */

/* The generation of an object: of its file's, its type and its address; of an attribute also its name. */
static uint64_t object_generation(const struct image_object *o)
{
	const uint64_t numbers[] = {o->file->file->gen, o->o.kind, o->o.addr};
	return hash_more(hash_bytes(numbers, sizeof(numbers)), o->attr.p, o->attr.n);
}

/* The path of an object as it is shown: file, //, path in the file, and of an attribute @ and its name. */
static struct str format_h5_path(struct buf *b, const struct image_file *f, struct str path, struct str attr)
{
	buf_reset(b);
	buf_printf(b, "%s/", f->path);
	if (!path.n || path.p[0] != '/')
		buf_char(b, '/');
	buf_str(b, path);
	if (attr.n) {
		buf_char(b, '@');
		buf_str(b, attr);
	}
	return buf_view(b);
}

static struct str shown_path(struct teller *t, const struct image_object *o)
{
	return format_h5_path(&t->path, o->file, o->path, o->attr);
}

/* Empty where it is the session's: these events are many. */
static struct str shown_run(const struct teller *t)
{
	return str_of(strcmp(t->image->head.run, t->s->run) == 0 ? "" : t->image->head.run);
}

static void emit_h5_name(struct teller *t, const struct image_object *o, unsigned op, int64_t time, struct str path,
                         struct str old)
{
	struct event ev = {.name = {.op = op, .file = o->number, .path = path, .old = old}};
	sup_event(t->s, EVENT_name, time, &t->subject, &ev);
}

/* A row with at most so many calls as were begun, in order of time. */
static bool row_is(const struct h5_row *r)
{
	return r->begun && r->first && r->last >= r->first && r->calls <= r->begun && r->failed <= r->begun;
}

/* Figures without times have TIME_NONE, and are told at the end. */
static void emit_h5_io(struct teller *t, uint64_t access, unsigned api, bool write, const struct h5_row *r)
{
	bool timed = r->first != H5_SOME_TIME;
	struct event ev = {.io = {.access = access,
	                          .api = api,
	                          .write = write,
	                          .calls = r->calls,
	                          .failed = r->failed,
	                          .bytes = r->bytes,
	                          .largest = r->largest,
	                          .spent = timed ? r->spent : 0,
	                          .first = timed ? h5_time_within(t, r->first) : TIME_NONE,
	                          .last = timed ? h5_time_within(t, r->last) : TIME_NONE}};
	sup_event(t->s, EVENT_io, timed ? ev.io.last : t->now, &t->subject,
	          &ev); /* near its times: they are kept as distances */
}

/* Calls that are few: an event for each kind of them that was made and has times. */
static void emit_h5_few(struct teller *t, uint64_t access, const struct h5_object *o)
{
	static const struct {
		unsigned api;
		bool write;
	} what[H5_FEW] = {[H5_CREATE] = {TERM_ioapi_create, true}, [H5_OPEN] = {TERM_ioapi_h5open, false},
	                  [H5_FLUSH] = {TERM_ioapi_flush, true},   [H5_RENAME] = {TERM_ioapi_rename, true},
	                  [H5_EXTENT] = {TERM_ioapi_extent, true}, [H5_DELETE] = {TERM_ioapi_delete, true}};
	for (int i = 0; i < H5_FEW; i++) {
		const struct h5_few *f = &o->few[i];
		if ((f->calls || f->failed) && f->first && f->last >= f->first)
			emit_h5_io(
			    t, access, what[i].api, what[i].write,
			    &(struct h5_row){
			        .calls = f->calls, .failed = f->failed, .spent = f->spent, .first = f->first, .last = f->last});
	}
}

struct span {
	int64_t from, to; /* 0: none */
};

static void extend_span(struct span *s, int64_t from, int64_t to)
{
	if (!from)
		return;
	s->from = s->from && s->from < from ? s->from : from;
	s->to = s->to > to ? s->to : to;
}

/* How an access ended. Without times it goes on for as long as the program ran. */
enum how { ENDED, UNTIMED, UNDER_WAY };

/* An access of the object with its end. r: what was moved, NULL nothing. The event's number. */
static uint64_t emit_h5_access(struct teller *t, const struct image_object *o, unsigned mode, struct span span,
                               bool moved, enum how how, unsigned evidence, const struct h5_row *r)
{
	bool goes_on = how != ENDED;
	struct event ev = {
	    .access = {.file = o->number, .mode = mode, .via = TERM_via_data, .sure = 1, .api = TERM_api_hdf5}};
	int64_t from = h5_time_within(t, span.from), to = h5_time_within(t, span.to);
	uint64_t seq = sup_event(t->s, EVENT_access, from, &t->subject, &ev);
	struct event end = {.access_end = {.access = seq,
	                                   .until = goes_on ? TIME_NONE : to,
	                                   .evidence = evidence,
	                                   .count = o->o.few[H5_OPEN].calls + (uint64_t)o->o.few[H5_CREATE].calls,
	                                   .exact = !goes_on,
	                                   .first = moved && !goes_on ? from : TIME_NONE,
	                                   .last = moved && !goes_on ? to : TIME_NONE}};
	bool sized = r && how != UNDER_WAY && !(o->o.flags & H5_UNSIZED << (mode & ACCESS_READ ? 0 : 1));
	if (sized && mode & ACCESS_READ) {
		end.access_end.bytes_read = r->bytes;
		end.access_end.known = 1;
	} else if (sized) {
		end.access_end.bytes_written = r->bytes;
		end.access_end.known = 2;
	}
	sup_event(t->s, EVENT_access_end, goes_on ? t->now : to, &t->subject, &end);
	return seq;
}

/* When an object was used, as the program's clock has it. */
struct object_spans {
	struct span all, read, write;
	bool reads, writes, creates, extends; /* or may have */
	bool timed;                           /* false: there was no clock */
};

/* When it was read, written and used at all. Without a clock all times are that at which it was met. */
static void find_spans(const struct image_object *o, struct object_spans *ret)
{
	const struct h5_object *h = &o->o;
	const struct h5_row *read = &h->row[0], *write = &h->row[1];
	const struct h5_few *made = &h->few[H5_CREATE], *longer = &h->few[H5_EXTENT];
	*ret = (struct object_spans){.reads = row_is(read), .creates = made->calls && made->first};
	ret->extends = longer->first && longer->last >= longer->first;
	ret->writes = row_is(write) || ret->creates || ret->extends;
	for (int i = 0; i < H5_FEW; i++)
		extend_span(&ret->all, h->few[i].first, h->few[i].last);
	if (ret->reads)
		extend_span(&ret->read, read->first, read->last);
	if (row_is(write))
		extend_span(&ret->write, write->first, write->last);
	if (ret->creates)
		extend_span(&ret->write, made->first, made->last);
	if (ret->extends)
		extend_span(&ret->write, longer->first, longer->last);
	extend_span(&ret->all, ret->read.from, ret->read.to);
	extend_span(&ret->all, ret->write.from, ret->write.to);
	/* Without a clock: from when it was met, for as long as the program ran. */
	ret->timed = ret->all.from != H5_SOME_TIME;
	if (ret->all.from && !ret->timed)
		ret->all = ret->read = ret->write = (struct span){o->met, o->met};
}

static enum how how_ended(bool under_way, bool moved, bool timed)
{
	return under_way ? UNDER_WAY : moved && !timed ? UNTIMED : ENDED;
}

/* The access by which it was written, with its calls. The event's number. */
static uint64_t emit_object_writes(struct teller *t, struct image_object *o, const struct object_spans *s, unsigned api)
{
	const struct h5_object *h = &o->o;
	const struct h5_row *write = &h->row[1];
	const struct h5_few *longer = &h->few[H5_EXTENT];
	bool under_way = (row_is(write) && write->begun > write->calls + write->failed) ||
	                 (s->extends && !longer->calls && !longer->failed);
	unsigned mode = ACCESS_WRITE | (s->creates ? ACCESS_CREATE : 0) | (h->flags & H5_WHOLE ? ACCESS_TRUNC : 0);
	bool moved = (row_is(write) && write->calls) || s->creates || longer->calls;
	unsigned evidence = moved ? TERM_evidence_must : under_way ? TERM_evidence_may : TERM_evidence_none;
	uint64_t access = emit_h5_access(t, o, moved || under_way ? mode : ACCESS_WRITE, s->write, moved,
	                                 how_ended(under_way, moved, s->timed), evidence, write);
	if (row_is(write))
		emit_h5_io(t, access, api, true, write);
	return access;
}

static uint64_t emit_object_reads(struct teller *t, struct image_object *o, const struct object_spans *s, unsigned api)
{
	const struct h5_row *read = &o->o.row[0];
	bool under_way = read->begun > read->calls + read->failed;
	uint64_t access = emit_h5_access(t, o, ACCESS_READ, s->read, read->calls != 0,
	                                 how_ended(under_way, read->calls != 0, s->timed), TERM_evidence_none, read);
	emit_h5_io(t, access, api, false, read);
	return access;
}

/* Of an attribute the name is its own: it ends where the last that was done with it was to delete it. */
static void emit_attribute_end(struct teller *t, struct image_object *o, bool timed)
{
	const struct h5_few *gone = &o->o.few[H5_DELETE], *made = &o->o.few[H5_CREATE];
	if (!o->attr.n || !gone->calls || !gone->first || (gone->last <= made->last && gone->calls <= made->calls))
		return;
	struct str path = shown_path(t, o);
	emit_h5_name(t, o, TERM_nameop_unlink, timed ? h5_time_within(t, gone->last) : t->now, path, str_of(""));
}

/* All that is known of one object: its name, its accesses, its calls. An object of a file that is not known counts as
 * lost. */
static void emit_h5_object(struct teller *t, struct image_object *o)
{
	const struct h5_object *h = &o->o;
	struct object_spans s;
	if (!(o->file = find_image_file(t, h->file)) || !o->file->file || !o->file->path) {
		t->lost++;
		return;
	}
	find_spans(o, &s);
	if (!s.all.from)
		return;
	/* Near the times of what follows: they are kept as distances. */
	o->number = file_within(t->s, o->file->file, h->kind, object_generation(o), h5_time_within(t, s.all.from));
	if (o->path.n) {
		struct str path = shown_path(t, o);
		int64_t first = s.creates && s.timed ? h->few[H5_CREATE].first : s.all.from;
		emit_h5_name(t, o, s.creates ? TERM_nameop_create : TERM_nameop_seen, h5_time_within(t, first), path,
		             str_of(""));
	}
	unsigned api = h->kind == TERM_kind_attribute ? TERM_ioapi_attr : TERM_ioapi_data;
	uint64_t access = s.writes ? emit_object_writes(t, o, &s, api) : 0;
	uint64_t read = s.reads ? emit_object_reads(t, o, &s, api) : 0;
	access = access ? access : read;
	if (!access) /* opened only: no use of it */
		access = emit_h5_access(t, o, ACCESS_READ, s.all, false, ENDED, TERM_evidence_none, NULL);
	emit_h5_few(t, access, h);
	emit_attribute_end(t, o, s.timed);
}

/* ---- and what it was ---- */

static const char *const classes[] = {"integer",  "float",     "time", "string", "bitfield", "opaque",
                                      "compound", "reference", "enum", "vlen",   "array"};

static void append_number_text(struct buf *b, uint64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	buf_varint(b, (uint64_t)n);
	buf_add(b, text, (size_t)n);
}

static struct strlist strlist_of(const struct buf *b, size_t count)
{
	return (struct strlist){.count = count, .raw = buf_view(b)};
}

/* Type, shape and largest shape of an object. What makes no sense is passed over. */
static void emit_h5_layout(struct teller *t, const struct app_said *said)
{
	struct h5_shape h;
	uint64_t v[2 * H5_RANK_MAX];
	char type[64];
	if (said->value.n < sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *o = find_image_object(t, h.object);
	if (!o || !o->number || h.rank > H5_RANK_MAX || said->value.n < sizeof(h) + 16 * h.rank)
		return;
	memcpy(v, said->value.p + sizeof(h), 16 * h.rank);
	snprintf(type, sizeof(type), "%s:%llu", h.class < sizeof(classes) / sizeof(classes[0]) ? classes[h.class] : "?",
	         (unsigned long long)h.size);
	struct buf *dims = &t->list[0], *most = &t->list[1];
	bool more = false;
	buf_reset(dims);
	buf_reset(most);
	for (uint32_t i = 0; i < h.rank; i++) {
		append_number_text(dims, v[i]);
		more |= v[h.rank + i] != v[i];
		if (v[h.rank + i] == UINT64_MAX) {
			buf_varint(most, 9);
			buf_str(most, str_of("unlimited"));
		} else {
			append_number_text(most, v[h.rank + i]);
		}
	}
	struct event ev = {.h5_object = {.run = shown_run(t),
	                                 .kind = o->o.kind,
	                                 .file = o->number,
	                                 .type = str_of(type),
	                                 .shape = strlist_of(dims, h.rank)}};
	if (more)
		ev.h5_object.most = strlist_of(most, h.rank);
	sup_event(t->s, EVENT_h5_object, h5_time_within(t, said->time), NULL, &ev);
}

/* A part of a dataset that was read or written: its bounds, and fields. What makes no sense is passed over. */
static void emit_h5_part(struct teller *t, const struct app_said *said)
{
	struct h5_part h;
	uint64_t v[2 * H5_RANK_MAX];
	if (said->value.n < sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *o = h.ready ? find_image_object(t, h.object) : NULL;
	if (!o || !o->number || h.rank > H5_RANK_MAX || said->value.n < sizeof(h) + 16 * (size_t)h.rank + h.nfields ||
	    !h.calls)
		return;
	memcpy(v, said->value.p + sizeof(h), 16 * (size_t)h.rank);
	struct buf *from = &t->list[0], *to = &t->list[1], *fields = &t->list[2];
	size_t nfields = 0;
	buf_reset(from);
	buf_reset(to);
	buf_reset(fields);
	for (uint32_t i = 0; i < h.rank; i++) {
		if (v[2 * i] > v[2 * i + 1])
			return;
		append_number_text(from, v[2 * i]);
		append_number_text(to, v[2 * i + 1]);
	}
	const char *p = said->value.p + sizeof(h) + 16 * (size_t)h.rank, *end = p + h.nfields, *nul;
	for (; p < end && (nul = memchr(p, '\0', (size_t)(end - p))); p = nul + 1, nfields++) {
		buf_varint(fields, (uint64_t)(nul - p));
		buf_add(fields, p, (size_t)(nul - p));
	}
	struct event ev = {.h5_part = {.run = shown_run(t),
	                               .pid = t->image->head.pid,
	                               .started = (uint64_t)t->image->head.started,
	                               .n = t->n,
	                               .write = h.write != 0,
	                               .file = o->number,
	                               .from = strlist_of(from, h.rank),
	                               .to = strlist_of(to, h.rank),
	                               .calls = h.calls,
	                               .elements = h.elements,
	                               .field = strlist_of(fields, nfields)}};
	sup_event(t->s, EVENT_h5_part, h5_time_within(t, said->time), NULL, &ev);
}

/* Is it told of? Also where nothing was done with it but to give it a name. */
static bool has_event_number(struct teller *t, struct image_object *o)
{
	if (!o->number && (o->file = find_image_file(t, o->o.file)) && o->file->file && o->file->path)
		o->number = file_within(t->s, o->file->file, o->o.kind, object_generation(o), h5_time_within(t, o->met));
	return o->number != 0;
}

/* Attributes of an object that has another name. */
static void emit_h5_moved(struct teller *t, const struct image_object *owner, int64_t time, struct str path,
                          struct str was)
{
	struct buf old = {0};
	for (size_t i = 0; i < t->nobjects; i++) {
		struct image_object *o = &t->objects[i];
		if (!o->attr.n || o->o.file != owner->o.file || o->o.addr != owner->o.addr)
			continue;
		if (!has_event_number(t, o))
			continue;
		struct str before = format_h5_path(&old, o->file, was, o->attr);
		emit_h5_name(t, o, TERM_nameop_rename, time, format_h5_path(&t->path, o->file, path, o->attr), before);
	}
	buf_release(&old);
}

/* A link to another file is an object of its own, known by its path. What it leads to is a name of it, too, that
 * nobody's file has: external: and the path, by which it is looked for. */
static void emit_h5_external(struct teller *t, const struct app_said *said, const struct h5_name *h)
{
	static const char external[] = "external:";
	struct image_file *f = find_image_file(t, h->file), *other = h->addr ? find_image_file(t, h->addr) : NULL;
	const char *link = said->value.p + sizeof(*h), *old = link + h->npath;
	if (!f || !f->file || !f->path || !h->npath || memchr(link, '\0', (size_t)h->npath + h->nold) ||
	    (h->addr && (!other || !other->path)))
		return;
	struct image_object o = {.file = f, .path = str_n(link, h->npath)};
	const uint64_t numbers[] = {f->file->gen, TERM_kind_softlink};
	uint64_t gen = hash_more(hash_bytes(numbers, sizeof(numbers)), link, h->npath);
	int64_t time = h5_time_within(t, said->time);
	o.number = file_within(t->s, f->file, TERM_kind_softlink, gen, time);
	/* By its first name it is shown. */
	emit_h5_name(t, &o, h->op, time, format_h5_path(&t->path, f, o.path, str_of("")), str_of(""));
	if (h->op != TERM_nameop_unlink && h->nold) {
		struct buf to = {0};
		const char *slash = strrchr(f->path, '/');
		buf_printf(&to, "%s", external);
		if (other)
			buf_printf(&to, "%s//", other->path);
		else if (*old != '/') /* beside the file that the link is in */
			buf_add(&to, f->path, (size_t)(slash - f->path) + 1);
		buf_add(&to, old, h->nold);
		if (!to.failed)
			emit_h5_name(t, &o, TERM_nameop_link, time, buf_view(&to), str_of(""));
		buf_release(&to);
	}
}

/* A soft link is an object of its own, too. At its path stands what it leads to, so its name is another: softlink: and
 * its path. */
static void emit_h5_soft(struct teller *t, const struct app_said *said, const struct h5_name *h)
{
	struct image_file *f = find_image_file(t, h->file);
	const char *link = said->value.p + sizeof(*h);
	if (!f || !f->file || !f->path || !h->npath || memchr(link, '\0', h->npath))
		return;
	const uint64_t numbers[] = {f->file->gen, TERM_kind_softlink, 1}; /* an external link of that path has no 1 */
	const int64_t time = h5_time_within(t, said->time);
	uint64_t gen = hash_more(hash_bytes(numbers, sizeof(numbers)), link, h->npath);
	struct image_object o = {.file = f, .number = file_within(t->s, f->file, TERM_kind_softlink, gen, time)};
	struct str path = format_h5_path(&t->path, f, str_n(link, h->npath), str_of(""));
	struct buf name = {0};
	buf_printf(&name, "%s", "softlink:");
	buf_str(&name, path);
	if (!name.failed)
		emit_h5_name(t, &o, h->op, time, buf_view(&name), str_of(""));
	buf_release(&name);
}

/* A name that an object got, lost or changed; or a link to another file. What makes no sense is passed over. */
static void emit_h5_link(struct teller *t, const struct app_said *said)
{
	struct h5_name h;
	struct buf old = {0};
	if (said->value.n < sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	if ((uint64_t)h.npath + h.nold + sizeof(h) > said->value.n || h.op < TERM_nameop_create ||
	    h.op > TERM_nameop_unlink)
		return;
	if (h.kind == TERM_kind_softlink) {
		if (h.op == TERM_nameop_link || h.op == TERM_nameop_unlink)
			(h.addr == H5_LINK_SOFT ? emit_h5_soft : emit_h5_external)(t, said, &h);
		return;
	}
	/* The object, by what it is: few calls make links. */
	for (size_t i = 0; i < t->nobjects; i++) {
		struct image_object *o = &t->objects[i];
		if (o->o.file != h.file || o->o.addr != h.addr || o->o.kind != h.kind || o->attr.n || !has_event_number(t, o))
			continue;
		struct str was = str_of("");
		if (h.nold)
			was = format_h5_path(&old, o->file, str_n(said->value.p + sizeof(h) + h.npath, h.nold), str_of(""));
		struct str path = format_h5_path(&t->path, o->file, str_n(said->value.p + sizeof(h), h.npath), str_of(""));
		emit_h5_name(t, o, h.op, h5_time_within(t, said->time), path, was);
		if (h.op == TERM_nameop_rename && h.nold)
			emit_h5_moved(t, o, h5_time_within(t, said->time), str_n(said->value.p + sizeof(h), h.npath),
			              str_n(said->value.p + sizeof(h) + h.npath, h.nold));
		break;
	}
	buf_release(&old);
}

/* Was the object made by one copy, and by nothing else? */
static bool is_only_copied(const struct image_object *o)
{
	const struct h5_row *write = &o->o.row[1];
	return row_is(write) && write->begun == 1 && write->calls == 1 && o->o.few[H5_CREATE].calls == 1 &&
	       !o->o.few[H5_EXTENT].first;
}

/* Told only of an object that was made by nothing but the copy. */
static void emit_h5_copy(struct teller *t, const struct app_said *said)
{
	struct h5_copy h;
	if (said->value.n != sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *to = find_image_object(t, h.to), *from = find_image_object(t, h.from);
	if (!to || !from || to == from || !to->number || !from->number || !is_only_copied(to))
		return;
	struct event ev = {.h5_copy = {.run = shown_run(t),
	                               .pid = t->image->head.pid,
	                               .started = (uint64_t)t->image->head.started,
	                               .n = t->n,
	                               .file = to->number,
	                               .original = from->number}};
	sup_event(t->s, EVENT_h5_copy, h5_time_within(t, said->time), NULL, &ev);
}

static void emit_h5_gap(struct teller *t, struct str text)
{
	char line[256];
	size_t n = text.n < sizeof(line) - 1 ? text.n : sizeof(line) - 1;
	if (t->gaps++ >= TELL_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		line[i] = (char)(text.p[i] >= ' ' && text.p[i] < 127 ? text.p[i] : '?');
	line[n] = '\0';
	sup_gap(t->s, &t->subject, TERM_gap_hdf5, 0, line);
}

/* Called for each entry, after all objects were kept; arg is a struct teller. Always 0. */
static int emit_h5_entry(void *arg, const struct app_said *said)
{
	struct teller *t = arg;
	if (said->kind == H5_SHAPE)
		emit_h5_layout(t, said);
	else if (said->kind == H5_PART)
		emit_h5_part(t, said);
	else if (said->kind == H5_NAME)
		emit_h5_link(t, said);
	else if (said->kind == H5_GAP)
		emit_h5_gap(t, said->value);
	else if (said->kind == H5_COPY)
		emit_h5_copy(t, said);
	return 0;
}

/* The process under another number, for its execution may not be the one that is current under the first. False: nobody
 * saw the program, which is a gap. */
static bool begin_image(struct teller *t)
{
	const struct app_told *h = &t->image->head;
	int64_t born = h5_time_within(t, h->born);
	if (!h->pid || !images_find(t->s->images, h->pid, h->started, born, &t->n)) {
		sup_gap(t->s, NULL, TERM_gap_hdf5, 0, "a program that was not observed used HDF5");
		return false;
	}
	t->subject = (struct proc){.pid = (pid_t)h->pid, .num = ++t->s->known->procs};
	struct event ev = {.process = {.pid = h->pid, .started = h->started, .forked = TIME_NONE}};
	sup_event(t->s, EVENT_process, t->now, &t->subject, &ev);
	struct event image = {.image = {.n = t->n}};
	sup_event(t->s, EVENT_image, t->now, &t->subject, &image);
	return true;
}

void channel_emit_h5(struct sup *s, const struct channel_image *image)
{
	struct teller *t = calloc(1, sizeof(*t));
	if (!t)
		return;
	*t = (struct teller){.s = s, .image = image, .now = sup_now(s), .lost = image->head.dropped};
	if (!begin_image(t))
		goto out;
	for (size_t i = 0; i < image->n; i++)
		app_read_entries(image->windows[i].p, image->windows[i].n, keep_entry, t);
	if (t->nfiles)
		qsort(t->files, t->nfiles, sizeof(*t->files), by_file);
	if (t->nobjects)
		qsort(t->objects, t->nobjects, sizeof(*t->objects), by_object);
	for (size_t i = 0; i < t->nobjects; i++)
		emit_h5_object(t, &t->objects[i]);
	for (size_t i = 0; i < image->n; i++)
		app_read_entries(image->windows[i].p, image->windows[i].n, emit_h5_entry, t);
	if (t->lost)
		sup_gap(s, &t->subject, TERM_gap_hdf5, t->lost, "objects beyond the limit");
out:
	for (size_t i = 0; i < t->nfiles; i++) {
		if (t->files[i].file)
			t->files[i].file->pins--;
		free(t->files[i].path);
	}
	free(t->files);
	free(t->objects);
	buf_release(&t->path);
	for (unsigned i = 0; i < sizeof(t->list) / sizeof(t->list[0]); i++)
		buf_release(&t->list[i]);
	free(t);
}
