#include "report/report_words.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/utf8.h"
#include "prov/out.h"
#include "report/report_table.h"

#include <string.h>

int64_t report_words_text(struct report_words *w, struct str s)
{
	bool is_new = false;
	uint64_t hash = hash_str(s) | 1;
	uint32_t *at = idmap_add(&w->text_at, hash, (uint32_t)w->texts.n, &is_new);
	while (at && !is_new && !str_eq(w->texts.v[*at], s)) { /* another one of the same hash */
		hash = hash_mix(hash, 1) | 1;
		at = idmap_add(&w->text_at, hash, (uint32_t)w->texts.n, &is_new);
	}
	if (at && !is_new)
		return *at;
	char *copy = at ? arena_take(&w->arena, s.n + 1) : NULL;
	struct str *one = copy ? vec_add(&w->texts) : NULL;
	if (!one) {
		w->failed = true;
		return 0;
	}
	if (s.n)
		memcpy(copy, s.p, s.n);
	*one = str_n(copy, s.n);
	return (int64_t)w->texts.n - 1;
}

int64_t report_words_text_if(struct report_words *w, struct str s)
{
	return s.n ? report_words_text(w, s) : REPORT_UNKNOWN;
}

/* Are items[from .. from + n) what the list has? */
static bool list_is(const struct report_words *w, size_t list, size_t from, size_t n)
{
	const struct report_list *l = &w->lists[list];
	return l->n == n && (!n || !memcmp(&w->items.v[l->first], &w->items.v[from], n * sizeof(uint32_t)));
}

/* The number of the list; equal lists have the same. */
int64_t report_words_list(struct report_words *w, const struct strlist *l)
{
	size_t from = w->items.n;
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		uint32_t text = (uint32_t)report_words_text(w, s), *item = vec_add(&w->items);
		if (!item) {
			w->failed = true;
			return 0;
		}
		*item = text;
	}
	size_t n = w->items.n - from, list = w->n_lists;
	uint64_t hash = hash_bytes(n ? &w->items.v[from] : NULL, n * sizeof(uint32_t)) | 1;
	bool is_new = false;
	uint32_t *at = idmap_add(&w->list_at, hash, (uint32_t)list, &is_new);
	while (at && !is_new && (*at >= list || !list_is(w, *at, from, n))) {
		hash = hash_mix(hash, 1) | 1;
		at = idmap_add(&w->list_at, hash, (uint32_t)list, &is_new);
	}
	if (at && !is_new) {
		w->items.n = from;
		return *at;
	}
	if (!at || !vec_has_room(w->lists, w->n_lists, w->cap_lists)) {
		w->failed = true;
		return 0;
	}
	w->lists[w->n_lists++] = (struct report_list){(uint32_t)from, (uint32_t)n};
	return (int64_t)list;
}

void report_words_write(const struct report_words *w, struct buf *b)
{
	struct out o = out_into(b);
	bool any = false;
	buf_str(b, str_of("\"strings\":["));
	for (size_t i = 0; i < w->texts.n; i++) {
		buf_str(b, str_of(i ? ",\"" : "\""));
		out_escaped(&o, w->texts.v[i], NULL);
		buf_char(b, '"');
	}
	buf_str(b, str_of("],\n\"exact\":{"));
	for (size_t i = 0; i < w->texts.n; i++) {
		if (utf8_is_valid(w->texts.v[i]))
			continue;
		buf_printf(b, "%s\"%zu\":\"", any ? "," : "", i);
		out_base64(&o, w->texts.v[i]);
		buf_char(b, '"');
		any = true;
	}
	buf_str(b, str_of("},\n\"lists\":["));
	for (size_t i = 0; i < w->n_lists; i++) {
		buf_str(b, str_of(i ? ",[" : "["));
		for (uint32_t k = 0; k < w->lists[i].n; k++) {
			if (k)
				buf_char(b, ',');
			report_number(b, w->items.v[w->lists[i].first + k]);
		}
		buf_char(b, ']');
	}
	buf_char(b, ']');
	b->failed |= w->failed;
}

/* w itself may not be used afterwards. */
void report_words_release(struct report_words *w)
{
	arena_release(&w->arena);
	vec_release(&w->texts);
	vec_release(&w->items);
	free(w->lists);
	idmap_release(&w->text_at);
	idmap_release(&w->list_at);
}
