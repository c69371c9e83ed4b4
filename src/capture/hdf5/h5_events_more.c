/* What the library told of shapes, parts, links and copies, and what it did not see, as events. As h5_events.c:
 * everything here was written by the user's program, and is checked where it is used. */
#include "capture/hdf5/h5_events_int.h"

#include "base/hash.h"

#include <stdio.h>

#define TELL_MAX 64 /* gaps that are told one by one */

static const char *const classes[] = {"integer",  "float",     "time", "string", "bitfield", "opaque",
                                      "compound", "reference", "enum", "vlen",   "array"};

/* Appends v in decimal as a text of the log: its length, then the digits. */
static void append_number_text(struct buf *b, uint64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	buf_varint(b, (uint64_t)n);
	buf_add(b, text, (size_t)n);
}

/* Points into b: valid until b changes. */
static struct strlist strlist_of(const struct buf *b, size_t count)
{
	return (struct strlist){.count = count, .raw = buf_view(b)};
}

/* Type, shape and largest shape of an object. What makes no sense is passed over. */
void h5_emit_layout(struct teller *t, const struct app_said *said)
{
	struct h5_shape h;
	uint64_t v[2 * H5_RANK_MAX];
	char type[64];
	if (said->value.n < sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *o = h5_image_object(t, h.object);
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
	struct event ev = {.h5_object = {.run = h5_shown_run(t),
	                                 .kind = o->o.kind,
	                                 .file = o->number,
	                                 .type = str_of(type),
	                                 .shape = strlist_of(dims, h.rank)}};
	if (more)
		ev.h5_object.most = strlist_of(most, h.rank);
	sup_event(t->s, EVENT_h5_object, h5_time_within(t, said->time), NULL, &ev);
}

/* A part of a dataset that was read or written: its bounds, and fields. What makes no sense is passed over. */
void h5_emit_part(struct teller *t, const struct app_said *said)
{
	struct h5_part h;
	uint64_t v[2 * H5_RANK_MAX];
	if (said->value.n < sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *o = h.ready ? h5_image_object(t, h.object) : NULL;
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
	struct event ev = {.h5_part = {.run = h5_shown_run(t),
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
	if (!o->number && (o->file = h5_image_file(t, o->o.file)) && o->file->file && o->file->path)
		o->number = file_within(t->s, o->file->file, o->o.kind, h5_object_generation(o), h5_time_within(t, o->met));
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
		struct str before = h5_format_path(&old, o->file, was, o->attr);
		h5_emit_name(t, o, TERM_nameop_rename, time, h5_format_path(&t->path, o->file, path, o->attr), before);
	}
	buf_release(&old);
}

/* A link to another file is an object of its own, known by its path. What it leads to is a name of it, too, that
 * nobody's file has: external: and the path, by which it is looked for. */
static void emit_h5_external(struct teller *t, const struct app_said *said, const struct h5_name *h)
{
	static const char external[] = "external:";
	struct image_file *f = h5_image_file(t, h->file), *other = h->addr ? h5_image_file(t, h->addr) : NULL;
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
	h5_emit_name(t, &o, h->op, time, h5_format_path(&t->path, f, o.path, str_of("")), str_of(""));
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
			h5_emit_name(t, &o, TERM_nameop_link, time, buf_view(&to), str_of(""));
		buf_release(&to);
	}
}

/* A soft link is an object of its own, too. At its path stands what it leads to, so its name is another: softlink: and
 * its path. */
static void emit_h5_soft(struct teller *t, const struct app_said *said, const struct h5_name *h)
{
	struct image_file *f = h5_image_file(t, h->file);
	const char *link = said->value.p + sizeof(*h);
	if (!f || !f->file || !f->path || !h->npath || memchr(link, '\0', h->npath))
		return;
	const uint64_t numbers[] = {f->file->gen, TERM_kind_softlink, 1}; /* an external link of that path has no 1 */
	const int64_t time = h5_time_within(t, said->time);
	uint64_t gen = hash_more(hash_bytes(numbers, sizeof(numbers)), link, h->npath);
	struct image_object o = {.file = f, .number = file_within(t->s, f->file, TERM_kind_softlink, gen, time)};
	struct str path = h5_format_path(&t->path, f, str_n(link, h->npath), str_of(""));
	struct buf name = {0};
	buf_printf(&name, "%s", "softlink:");
	buf_str(&name, path);
	if (!name.failed)
		h5_emit_name(t, &o, h->op, time, buf_view(&name), str_of(""));
	buf_release(&name);
}

/* A name that an object got, lost or changed; or a link to another file. What makes no sense is passed over. */
void h5_emit_link(struct teller *t, const struct app_said *said)
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
			was = h5_format_path(&old, o->file, str_n(said->value.p + sizeof(h) + h.npath, h.nold), str_of(""));
		struct str path = h5_format_path(&t->path, o->file, str_n(said->value.p + sizeof(h), h.npath), str_of(""));
		h5_emit_name(t, o, h.op, h5_time_within(t, said->time), path, was);
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
	return h5_row_is(write) && write->begun == 1 && write->calls == 1 && o->o.few[H5_CREATE].calls == 1 &&
	       !o->o.few[H5_EXTENT].first;
}

/* Told only of an object that was made by nothing but the copy. */
/* Was each write to the object of memory that reads had filled, and is it known which? */
static bool is_only_moved(const struct image_object *o)
{
	const struct h5_row *write = &o->o.row[1];
	return h5_row_is(write) && write->begun == write->calls && write->calls == o->o.moved && !write->failed &&
	       !(o->o.flags & H5_MORE_SOURCES);
}

/* moved: through the program's memory, in any number of calls; else by one call that copies. */
void h5_emit_copy(struct teller *t, const struct app_said *said, bool moved)
{
	struct h5_copy h;
	if (said->value.n != sizeof(h))
		return;
	memcpy(&h, said->value.p, sizeof(h));
	const struct image_object *to = h5_image_object(t, h.to), *from = h5_image_object(t, h.from);
	if (!to || !from || to == from || !to->number || !from->number || !(moved ? is_only_moved(to) : is_only_copied(to)))
		return;
	struct event ev = {.h5_copy = {.run = h5_shown_run(t),
	                               .pid = t->image->head.pid,
	                               .started = (uint64_t)t->image->head.started,
	                               .n = t->n,
	                               .file = to->number,
	                               .original = from->number,
	                               .how = moved}};
	sup_event(t->s, EVENT_h5_copy, h5_time_within(t, said->time), NULL, &ev);
}

/* A gap in the words of the program's library. Of too many, nothing. */
void h5_emit_gap(struct teller *t, struct str text)
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
