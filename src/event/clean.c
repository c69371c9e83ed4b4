#include "event/clean.h"

#include <errno.h>

enum how { HOW_path, HOW_text, HOW_texts, HOW_vars, HOW_args };
enum when { WHEN_always, WHEN_search };

static const struct row {
	unsigned char kind, how, when;
	unsigned short offset;
} rows[] = {
#define CLEAN(name, field, how, when)                                                                                  \
	{EVENT_##name, HOW_##how, WHEN_##when, (unsigned short)offsetof(struct event, name.field)},
#include "event/clean.def"
};
/* Several rows of one event say the same. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const bool has_row[256] = {
#define CLEAN(name, field, how, when) [EVENT_##name] = true,
#include "event/clean.def"
};
#pragma GCC diagnostic pop

/* Events that were cleaned with it are void. */
void event_clean_release(struct event_clean *room)
{
	buf_release(&room->bytes);
	buf_release(&room->items);
}

/* Appends s, cleaned, to out. */
static void append_cleaned(enum how how, struct redact *r, struct buf *out, struct str s)
{
	switch (how) {
	case HOW_path:
		redact_path_watched(r->watch, out, s);
		break;
	case HOW_vars:
		redact_env_watched(r->watch, out, s);
		break;
	case HOW_args:
		redact_arg(r, out, s);
		break;
	default:
		redact_text_watched(r->watch, out, s);
		break;
	}
}

/* Takes secrets out of a field of an event. 1 if it changed: *s is a place in bytes then, made a pointer at the end.
 * 0, -ENOMEM. */
static int clean_str(const struct row *row, struct redact *r, struct event_clean *room, struct str *s)
{
	size_t at = room->bytes.n;
	if (!s->n || (row->how == HOW_path && !redact_path_may(*s)))
		return 0;
	append_cleaned(row->how, r, &room->bytes, *s);
	if (room->bytes.failed)
		return -ENOMEM;
	struct str now = str_n(room->bytes.p + at, room->bytes.n - at);
	if (str_eq(now, *s)) {
		room->bytes.n = at;
		return 0;
	}
	*s = str_n((const char *)at, now.n);
	return 1;
}

/* The list's items as places in bytes, all of them, where one changed. 1 if so; 0, -ENOMEM. */
static int clean_list(const struct row *row, struct redact *r, struct event_clean *room, struct strlist *l)
{
	size_t bytes = room->bytes.n, first = room->items.n;
	struct str s;
	bool changed = false;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		struct str item = {(const char *)room->bytes.n, 0};
		append_cleaned(row->how, r, &room->bytes, s);
		item.n = room->bytes.n - (size_t)item.p;
		if (room->bytes.failed)
			return -ENOMEM;
		changed |= !str_eq(str_n(room->bytes.p + (size_t)item.p, item.n), s);
		buf_add(&room->items, &item, sizeof(item));
	}
	if (room->items.failed)
		return -ENOMEM;
	if (!changed) {
		room->bytes.n = bytes;
		room->items.n = first;
		return 0;
	}
	*l = (struct strlist){.items = (const struct str *)first, .count = (room->items.n - first) / sizeof(s)};
	return 1;
}

/* row must be of the event's kind. */
static void *field_address(struct event *ev, const struct row *row)
{
	return (char *)ev + row->offset;
}

/* Is the field a list, and not one string? */
static bool is_list(const struct row *row)
{
	return row->how == HOW_texts || row->how == HOW_vars || row->how == HOW_args;
}

int event_clean(const struct event *ev, bool search, const struct redact_watch *watch, struct event_clean *room,
                struct event *ret)
{
	const struct row *changed[sizeof(rows) / sizeof(*rows)];
	size_t n = 0;
	if (ev->kind >= sizeof(has_row) || !has_row[ev->kind])
		return 0;
	buf_reset(&room->bytes);
	buf_reset(&room->items);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct redact r = {.watch = watch};
		if (row->kind != ev->kind || (row->when == WHEN_search && !search))
			continue;
		if (!n)
			*ret = *ev;
		int rc = is_list(row) ? clean_list(row, &r, room, field_address(ret, row))
		                      : clean_str(row, &r, room, field_address(ret, row));
		if (rc < 0)
			return rc;
		if (rc > 0)
			changed[n++] = row;
	}
	/* The bytes have stopped moving: places become pointers. */
	for (size_t i = 0; i < n; i++) {
		if (!is_list(changed[i])) {
			struct str *s = field_address(ret, changed[i]);
			s->p = room->bytes.p + (size_t)s->p;
			continue;
		}
		struct strlist *l = field_address(ret, changed[i]);
		struct str *items = (struct str *)(void *)(room->items.p + (size_t)l->items);
		for (size_t k = 0; k < l->count; k++)
			items[k].p = room->bytes.p + (size_t)items[k].p;
		l->items = items;
	}
	return n > 0;
}
