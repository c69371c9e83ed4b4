#include "answer/stat/stat_when.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

int stat_when_row(void *when, const struct stat_row *row)
{
	struct stat_when *w = when;
	if (row->api < 0 || row->api == TERM_ioapi_mmap)
		return 0;
	if (row->io.first == TIME_NONE || row->io.last < row->io.first) {
		w->untimed += row->io.calls + row->io.failed;
		return 0;
	}
	if (w->has_at && (row->io.first > w->at || row->io.last < w->at))
		return 0;
	if (!vec_has_room(w->v, w->n, w->cap))
		return -ENOMEM;
	w->v[w->n++] = (struct when_row){.exec = row->exec,
	                                 .file = row->file,
	                                 .calls = row->io.calls,
	                                 .bytes = row->io.bytes,
	                                 .spent = row->io.spent,
	                                 .first = row->io.first,
	                                 .last = row->io.last,
	                                 .api = (uint8_t)row->api,
	                                 .write = row->write,
	                                 .bare = row->io.bare};
	return 0;
}

/* w is empty then. */
void stat_when_release(struct stat_when *w)
{
	free(w->v);
	*w = (struct stat_when){0};
}

/* ---- over time ---- */

/* The share of n spread evenly over `whole`, what lies in its first `part`; all of it at its end, so that slices add
 * up. */
static uint64_t spread_share(uint64_t n, uint64_t part, uint64_t whole)
{
	return part >= whole ? n : (uint64_t)((unsigned __int128)n * part / whole);
}

size_t stat_slices(const struct stat_when *w, struct stat_slice *ret)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	for (size_t i = 0; i < w->n; i++) {
		from = w->v[i].first < from ? w->v[i].first : from;
		to = w->v[i].last > to ? w->v[i].last : to;
	}
	if (!w->n)
		return 0;
	uint64_t span = (uint64_t)to - (uint64_t)from;
	for (unsigned k = 0; k < STAT_SLICES; k++)
		ret[k] = (struct stat_slice){.from = (int64_t)((uint64_t)from + spread_share(span, k, STAT_SLICES)),
		                             .to = (int64_t)((uint64_t)from + spread_share(span, k + 1, STAT_SLICES))};
	for (size_t i = 0; i < w->n; i++) {
		const struct when_row *r = &w->v[i];
		uint64_t whole = (uint64_t)r->last - (uint64_t)r->first, calls = 0, bytes = 0, spent = 0;
		for (unsigned k = 0; k < STAT_SLICES; k++) {
			/* What began and ended in one moment is in the slice that ends at it or behind it. */
			bool all = k == STAT_SLICES - 1 || r->last <= ret[k].to;
			uint64_t part = all ? whole : ret[k].to > r->first ? (uint64_t)ret[k].to - (uint64_t)r->first : 0;
			if (!all && !part)
				continue;
			uint64_t c = spread_share(r->calls, part, whole), b = spread_share(r->bytes, part, whole),
			         s = spread_share(r->spent, part, whole);
			ret[k].way[r->write].calls += c - calls;
			ret[k].way[r->write].bytes += b - bytes;
			ret[k].way[r->write].spent += s - spent;
			ret[k].way[r->write].bare |= r->bare && (c > calls || b > bytes);
			calls = c, bytes = b, spent = s;
		}
	}
	return STAT_SLICES;
}

/* ---- at a moment ---- */

/* An order of its own for each row; reads before writes of one call. */
static int by_call(const void *pa, const void *pb)
{
	const struct when_row *a = pa, *b = pb;
	if (a->api != b->api || a->write != b->write)
		return a->api != b->api ? a->api - b->api : a->write - b->write;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	return (a->file > b->file) - (a->file < b->file);
}

void stat_when_sort(struct stat_when *w)
{
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_call);
}

/* What the record does not have is left out. 0, -errno. */
static int one_json(struct store *s, const struct when_row *row, json_t *o)
{
	struct exec_info x;
	struct file_info f;
	js_text(o, "api", term_name(SET_ioapi, row->api));
	js_text(o, "direction", row->write ? "write" : "read");
	js_num(o, "calls", row->calls);
	js_num(o, "bytes", row->bytes);
	if (row->bare)
		js_put(o, "spent_ns", json_null());
	else
		js_big(o, "spent_ns", row->spent);
	js_time(o, "first", row->first);
	js_time(o, "last", row->last);
	int r = store_exec(s, row->exec, &x);
	if (r > 0) {
		js_pub(o, "execution", &x.pub);
		js_list(o, "argv", &x.argv);
		js_str_if(o, "rank", x.rank);
	}
	r = r < 0 ? r : store_file(s, row->file, &f);
	if (r > 0) {
		js_pub(o, "file", &f.pub);
		js_str(o, "path", f.path);
		js_text(o, "kind", term_name(SET_kind, f.kind));
	}
	return r < 0 ? r : 0;
}

int stat_at_json(struct store *s, const struct stat_when *w, json_t **ret)
{
	json_t *all = json_object(), *list = json_array();
	int r = 0;
	for (size_t i = 0; i < w->n && r >= 0; i++) {
		json_t *o = json_object();
		r = one_json(s, &w->v[i], o);
		js_add(list, o);
	}
	js_num(all, "format", 1);
	js_time(all, "at", w->at);
	js_put(all, "under_way", list);
	js_num(all, "untimed", w->untimed);
	if (r < 0) {
		json_decref(all);
		return r;
	}
	*ret = all;
	return 0;
}
