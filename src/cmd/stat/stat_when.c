#include "cmd/stat/stat_when.h"
#include "base/vec.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND 1000000000
#define DEFAULT_LINES 10

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

void stat_when_release(struct stat_when *w)
{
	free(w->v);
	*w = (struct stat_when){0};
}

/* ---- over time ---- */

/* Of n spread evenly over `whole`, what lies in its first `part`; all of it at its end, so that slices add up. */
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

static int one_json(struct cmd *c, const struct when_row *row, json_t *o)
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
	int r = store_exec(c->store, row->exec, &x);
	if (r > 0) {
		js_pub(o, "execution", &x.pub);
		js_list(o, "argv", &x.argv);
		js_str_if(o, "rank", x.rank);
	}
	r = r < 0 ? r : store_file(c->store, row->file, &f);
	if (r > 0) {
		js_pub(o, "file", &f.pub);
		js_str(o, "path", f.path);
		js_text(o, "kind", term_name(SET_kind, f.kind));
	}
	return r < 0 ? r : 0;
}

static int at_json(struct cmd *c, const struct stat_when *w)
{
	json_t *all = json_object(), *list = json_array();
	int r = 0;
	for (size_t i = 0; i < w->n && r >= 0; i++) {
		json_t *o = json_object();
		r = one_json(c, &w->v[i], o);
		js_add(list, o);
	}
	js_num(all, "format", 1);
	js_time(all, "at", w->at);
	js_put(all, "under_way", list);
	js_num(all, "untimed", w->untimed);
	int status = js_print(all, false);
	return r < 0 ? r : status;
}

/* In seconds. Times may be anything that a log holds. */
static double seconds_since(int64_t t, int64_t from)
{
	return (double)(int64_t)((uint64_t)t - (uint64_t)from) / SECOND;
}

static int at_row(struct cmd *c, struct table *t, const struct when_row *row, int64_t at)
{
	struct exec_info x;
	struct buf b = {0};
	table_cell(t, str_of(stat_call(row->api, row->write)));
	table_cellf(t, "%llu", (unsigned long long)row->calls);
	table_cellf(t, "%.3f", seconds_since(row->first, at));
	table_cellf(t, "+%.3f", seconds_since(row->last, at));
	int r = store_exec(c->store, row->exec, &x);
	fmt_name(&b, r > 0 && x.rank.n ? x.rank : str_of("-"));
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	r = r < 0 ? r : exec_name(c->store, row->exec, true, 12, &b);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	r = r < 0 ? r : stat_name(c->store, row->file, false, &b);
	table_cell(t, buf_view(&b));
	buf_release(&b);
	return r < 0 ? r : 0;
}

int stat_at(struct cmd *c, const struct opts_stat *o, struct stat_when *w, const char *of)
{
	static const char *const heads[] = {"CALL", "CALLS", "FROM", "TO", "RANK", "BY", ""};
	struct table t = {.heads = heads, .align = "lrrrrll", .n_columns = 7};
	struct buf name = {0}, when = {0};
	size_t most = o->count ? (size_t)o->count : DEFAULT_LINES;
	int r = 0;
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_call);
	if (o->json) {
		r = at_json(c, w);
		return r != STATUS_OK || w->n ? r : STATUS_NOTHING;
	}
	fmt_name(&name, str_of(of));
	fmt_time(&when, w->at, false);
	printf("%s at %s: %s\n", buf_cstr(&name), buf_cstr(&when),
	       w->n ? "these calls were made before and after" : "nothing was under way");
	for (size_t i = 0; i < w->n && i < most && r >= 0; i++)
		r = at_row(c, &t, &w->v[i], w->at);
	if (w->n) {
		putchar('\n');
		table_print(&t, &c->out, c->out.width);
	}
	if (w->n > most)
		printf("+ %zu more (--max-count)\n", w->n - most);
	if (w->untimed)
		printf("%llu calls were made at times that are not known\n", (unsigned long long)w->untimed);
	buf_release(&name);
	buf_release(&when);
	return r < 0 ? r : w->n ? STATUS_OK : STATUS_NOTHING;
}
