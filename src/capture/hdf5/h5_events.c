/* What libstemma-hdf5.so told of a program, as events: objects are files that lie in a file, and what was done with
 * them are accesses (doc/hdf5.md). Everything here was written by the user's program, and is checked where it is used.
 */
#include "capture/hdf5/h5_events_int.h"

#include "base/hash.h"
#include "capture/app/images.h"

#include <stdio.h>
#include <stdlib.h>

#define OBJECTS_MAX (4u << 20) /* of an image; its room in memory holds fewer */

int64_t h5_time_within(const struct teller *t, int64_t said)
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

/* Order of qsort: by number. */
static int by_file(const void *pa, const void *pb)
{
	const struct image_file *a = pa, *b = pb;
	return (a->num > b->num) - (a->num < b->num);
}

/* Order of qsort: by number. */
static int by_object(const void *pa, const void *pb)
{
	const struct image_object *a = pa, *b = pb;
	return (a->o.num > b->o.num) - (a->o.num < b->o.num);
}

struct image_file *h5_image_file(struct teller *t, uint64_t num)
{
	struct image_file key = {.num = num};
	return t->nfiles ? bsearch(&key, t->files, t->nfiles, sizeof(key), by_file) : NULL;
}

/* NULL: there is none. */
struct image_object *h5_image_object(struct teller *t, uint64_t num)
{
	struct image_object key = {.o.num = num};
	return t->nobjects ? bsearch(&key, t->objects, t->nobjects, sizeof(key), by_object) : NULL;
}

/* ---- then: what was done ---- */

/* The generation of an object: of its file's, its type and its address; of an attribute also its name. */
uint64_t h5_object_generation(const struct image_object *o)
{
	const uint64_t numbers[] = {o->file->file->gen, o->o.kind, o->o.addr};
	return hash_more(hash_bytes(numbers, sizeof(numbers)), o->attr.p, o->attr.n);
}

/* The path of an object as it is shown: file, //, path in the file, and of an attribute @ and its name. */
struct str h5_format_path(struct buf *b, const struct image_file *f, struct str path, struct str attr)
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

/* The path inside the file, in t->path: valid until the next one. */
static struct str shown_path(struct teller *t, const struct image_object *o)
{
	return h5_format_path(&t->path, o->file, o->path, o->attr);
}

/* Empty where it is the session's: these events are many. */
struct str h5_shown_run(const struct teller *t)
{
	return str_of(strcmp(t->image->head.run, t->s->run) == 0 ? "" : t->image->head.run);
}

/* op: TERM_nameop of the path in the file; old: the one before. */
void h5_emit_name(struct teller *t, const struct image_object *o, unsigned op, int64_t time, struct str path,
                  struct str old)
{
	struct event ev = {.name = {.op = op, .file = o->number, .path = path, .old = old}};
	sup_event(t->s, EVENT_name, time, &t->subject, &ev);
}

/* A row with at most so many calls as were begun, in order of time. */
bool h5_row_is(const struct h5_row *r)
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

/* Widens the span (ns). from 0: there is no time, nothing changes. */
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
	bool renames;                         /* gave it another name, and wrote nothing else of it */
	bool timed;                           /* false: there was no clock */
};

/* Finds the times of an object: when it was read, written and used at all. Without a clock all times are that at
 * which it was met. */
static void find_spans(const struct image_object *o, struct object_spans *ret)
{
	const struct h5_object *h = &o->o;
	const struct h5_row *read = &h->row[0], *write = &h->row[1];
	const struct h5_few *made = &h->few[H5_CREATE], *longer = &h->few[H5_EXTENT], *named = &h->few[H5_RENAME];
	*ret = (struct object_spans){.reads = h5_row_is(read), .creates = made->calls && made->first};
	ret->extends = longer->first && longer->last >= longer->first;
	ret->writes = h5_row_is(write) || ret->creates || ret->extends;
	/* Who gave an object another name made what has that name. */
	ret->renames = !ret->writes && named->calls && named->first && named->last >= named->first;
	ret->writes |= ret->renames;
	for (int i = 0; i < H5_FEW; i++)
		extend_span(&ret->all, h->few[i].first, h->few[i].last);
	if (ret->reads)
		extend_span(&ret->read, read->first, read->last);
	if (h5_row_is(write))
		extend_span(&ret->write, write->first, write->last);
	if (ret->creates)
		extend_span(&ret->write, made->first, made->last);
	if (ret->extends)
		extend_span(&ret->write, longer->first, longer->last);
	if (ret->renames)
		extend_span(&ret->write, named->first, named->last);
	extend_span(&ret->all, ret->read.from, ret->read.to);
	extend_span(&ret->all, ret->write.from, ret->write.to);
	/* Without a clock: from when it was met, for as long as the program ran. */
	ret->timed = ret->all.from != H5_SOME_TIME;
	if (ret->all.from && !ret->timed)
		ret->all = ret->read = ret->write = (struct span){o->met, o->met};
}

/* How an access ends in the record: it is still under way, ended, or ended at a time that is not known. */
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
	bool under_way = (h5_row_is(write) && write->begun > write->calls + write->failed) ||
	                 (s->extends && !longer->calls && !longer->failed);
	unsigned mode = ACCESS_WRITE | (s->creates ? ACCESS_CREATE : 0) | (h->flags & H5_WHOLE ? ACCESS_TRUNC : 0);
	bool moved = (h5_row_is(write) && write->calls) || s->creates || s->renames || longer->calls;
	unsigned evidence = moved ? TERM_evidence_must : under_way ? TERM_evidence_may : TERM_evidence_none;
	uint64_t access = emit_h5_access(t, o, moved || under_way ? mode : ACCESS_WRITE, s->write, moved,
	                                 how_ended(under_way, moved, s->timed), evidence, write);
	if (h5_row_is(write))
		emit_h5_io(t, access, api, true, write);
	return access;
}

/* Emits what was read of an object; gives the number of the access. */
static uint64_t emit_object_reads(struct teller *t, struct image_object *o, const struct object_spans *s, unsigned api)
{
	const struct h5_row *read = &o->o.row[0];
	bool under_way = read->begun > read->calls + read->failed;
	uint64_t access = emit_h5_access(t, o, ACCESS_READ, s->read, read->calls != 0,
	                                 how_ended(under_way, read->calls != 0, s->timed), TERM_evidence_none, read);
	emit_h5_io(t, access, api, false, read);
	return access;
}

/* Tells that an attribute was deleted. Of an attribute the name is its own: it ends where the last that was done
 * with it was to delete it. */
static void emit_attribute_end(struct teller *t, struct image_object *o, bool timed)
{
	const struct h5_few *gone = &o->o.few[H5_DELETE], *made = &o->o.few[H5_CREATE];
	if (!o->attr.n || !gone->calls || !gone->first || (gone->last <= made->last && gone->calls <= made->calls))
		return;
	struct str path = shown_path(t, o);
	h5_emit_name(t, o, TERM_nameop_unlink, timed ? h5_time_within(t, gone->last) : t->now, path, str_of(""));
}

/* All that is known of one object: its name, its accesses, its calls. An object of a file that is not known counts as
 * lost. */
static void emit_h5_object(struct teller *t, struct image_object *o)
{
	const struct h5_object *h = &o->o;
	struct object_spans s;
	if (!(o->file = h5_image_file(t, h->file)) || !o->file->file || !o->file->path) {
		t->lost++;
		return;
	}
	find_spans(o, &s);
	if (!s.all.from)
		return;
	/* Near the times of what follows: they are kept as distances. */
	o->number = file_within(t->s, o->file->file, h->kind, h5_object_generation(o), h5_time_within(t, s.all.from));
	if (o->path.n) {
		struct str path = shown_path(t, o);
		int64_t first = s.creates && s.timed ? h->few[H5_CREATE].first : s.all.from;
		h5_emit_name(t, o, s.creates ? TERM_nameop_create : TERM_nameop_seen, h5_time_within(t, first), path,
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

/* A visitor of a tape's entries; kinds that are not its own are passed over. Always 0. */
static int emit_h5_entry(void *arg, const struct app_said *said)
{
	struct teller *t = arg;
	if (said->kind == H5_SHAPE)
		h5_emit_layout(t, said);
	else if (said->kind == H5_PART)
		h5_emit_part(t, said);
	else if (said->kind == H5_NAME)
		h5_emit_link(t, said);
	else if (said->kind == H5_GAP)
		h5_emit_gap(t, said->value);
	else if (said->kind == H5_COPY)
		h5_emit_copy(t, said, false);
	else if (said->kind == H5_MOVED)
		h5_emit_copy(t, said, true);
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
