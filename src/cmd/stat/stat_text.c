#include "cmd/stat/stat_view.h"

#include <errno.h>
#include <stdio.h>

#define DEFAULT_LINES 10
#define MS 1000000
#define SECOND 1000000000

/* A number of 5 characters at most. */
static void put_count(struct buf *b, uint64_t n)
{
	static const char units[] = "kMGTPE";
	unsigned u = 0;
	if (n < 100000) {
		buf_printf(b, "%u", (unsigned)n);
		return;
	}
	for (n /= 1000; n >= 10000 && units[u + 1]; u++)
		n /= 1000;
	buf_printf(b, "%u%c", (unsigned)n, units[u]);
}

/* Calls are often of microseconds. ns. */
static void put_spent(struct buf *b, uint64_t ns)
{
	if (ns < 1000)
		buf_printf(b, "%u ns", (unsigned)ns);
	else if (ns < MS)
		buf_printf(b, "%u us", (unsigned)(ns / 1000));
	else
		fmt_duration(b, ns);
}

/* Adds the cell and releases b. */
static void cell(struct table *t, struct buf *b)
{
	table_cell(t, buf_view(b));
	buf_release(b);
}

/* "-": there are none; "?": not known; ">=": some of them are. */
static void size_cell(struct table *t, const struct stat_way *w, bool bytes)
{
	struct buf b = {0};
	struct stat_bytes n = stat_bytes(w);
	if (!n.any) {
		buf_char(&b, '-');
	} else if (!n.known || (!n.whole && !n.n)) {
		buf_char(&b, '?');
	} else {
		buf_printf(&b, n.whole ? "" : ">=");
		fmt_size(&b, n.n, bytes);
	}
	cell(t, &b);
}

/* Adds a number to the table. plain: all digits. */
static void number_cell(struct table *t, uint64_t n, bool plain)
{
	struct buf b = {0};
	if (plain)
		buf_printf(&b, "%llu", (unsigned long long)n);
	else
		put_count(&b, n);
	cell(t, &b);
}

/* How many calls, and the time they took. */
static void calls_cells(struct table *t, const struct stat_way *w, bool plain)
{
	struct buf b = {0};
	if (!w->counted) {
		table_cell(t, str_of(w->uncounted ? "?" : "-"));
		return;
	}
	buf_printf(&b, w->uncounted || w->unseen ? ">=" : "");
	if (plain)
		buf_printf(&b, "%llu", (unsigned long long)stat_io(w)->calls);
	else
		put_count(&b, stat_io(w)->calls);
	cell(t, &b);
}

/* "-": no time was taken; "?": not known. */
static void spent_cell(struct table *t, const struct stat_way *w)
{
	struct buf b = {0};
	if (!w->counted)
		buf_char(&b, w->uncounted ? '?' : '-');
	else if (!stat_io(w)->any)
		buf_char(&b, '-');
	else if (stat_io(w)->untimed || stat_io(w)->bare)
		buf_char(&b, '?');
	else
		put_spent(&b, stat_io(w)->spent);
	cell(t, &b);
}

uint64_t stat_lines(const struct opts_stat *o)
{
	return o->count ? o->count : DEFAULT_LINES;
}

/* How many lines of the list are shown. */
static size_t lines_of(const struct opts_stat *o, const struct stat_list *l)
{
	uint64_t max = stat_lines(o);
	return l->n > max ? (size_t)max : l->n;
}

/* Says with it whether fewer lines are shown than the list has. */
static void print_table_title(const struct opts_stat *o, const char *what, const struct stat_list *l)
{
	printf("\n%s%s\n", what, lines_of(o, l) < l->n ? ", the most used" : "");
}

/* ---- by call ---- */

/* Adds a row of what was moved: calls, failures, bytes and times. more: there may be more bytes. What is not known
 * of bare figures is "?". */
static void moved_row(struct table *t, const struct stat_moved *m, const struct opts_stat *o, struct str name,
                      bool more)
{
	struct buf b = {0};
	number_cell(t, m->calls, o->bytes);
	if (m->bare)
		table_cell(t, str_of("?"));
	else
		number_cell(t, m->failed, o->bytes);
	buf_printf(&b, more ? ">=" : "");
	fmt_size(&b, m->bytes, o->bytes);
	cell(t, &b);
	const uint64_t sizes[] = {m->calls ? m->bytes / m->calls : 0, m->largest};
	for (unsigned i = 0; i < 2; i++) {
		if (i && m->bare)
			buf_char(&b, '?');
		else if (m->calls)
			fmt_size(&b, sizes[i], o->bytes);
		else
			buf_char(&b, '-');
		cell(t, &b);
	}
	if (m->untimed || m->bare)
		buf_char(&b, '?');
	else
		put_spent(&b, m->spent);
	cell(t, &b);
	table_cell(t, name);
}

/* What each call moved, by system call, and the sums of all. */
static void calls(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o)
{
	static const char *const heads[] = {"CALLS", "FAILED", "BYTES", "MEAN", "LARGEST", "TIME", "CALL"};
	static const char *const all[] = {"all that read", "all that wrote"};
	struct table t = {.heads = heads, .align = "rrrrrrl", .n_columns = 7};
	for (unsigned api = 0; api < STAT_APIS; api++)
		for (unsigned k = 0; k < STAT_WAYS; k++)
			if (w->io_api[api][k].any)
				moved_row(&t, &w->io_api[api][k], o, str_of(stat_call(api, k)), false);
	for (unsigned k = 0; k < STAT_WAYS; k++)
		if (stat_io(&w->total.way[k])->any)
			moved_row(&t, stat_io(&w->total.way[k]), o, str_of(all[k]),
			          w->total.way[k].uncounted || w->total.way[k].unseen);
	table_print(&t, &c->out, c->out.width);
}

/* Are any bytes known at all, so that a column is worth it? */
static bool sum_has_bytes(const struct stat_sum *s)
{
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		struct stat_bytes n = stat_bytes(&s->way[k]);
		if (n.any && n.known && (n.whole || n.n))
			return true;
	}
	return false;
}

/* Are the bytes of anything known? Else there is no column of them, and one line that says so. */
static bool has_bytes(const struct stat_sums *w)
{
	bool any = sum_has_bytes(&w->total);
	for (size_t i = 0; i < w->execs.n && !any; i++)
		any = sum_has_bytes(&w->execs.v[i]);
	for (size_t i = 0; i < w->files.n && !any; i++)
		any = sum_has_bytes(&w->files.v[i]);
	return any;
}

/* Adds the cells of accesses to a row. For reading and writing each: how many, and, with sizes, how many bytes. */
static void access_cells(struct table *t, const struct opts_stat *o, const struct stat_sum *s, bool sizes)
{
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		table_cellf(t, "%llu", (unsigned long long)s->way[k].accesses);
		if (sizes)
			size_cell(t, &s->way[k], o->bytes);
	}
}

/* Adds a row of accesses. */
static void access_row(struct table *t, const struct opts_stat *o, const struct stat_sum *s, bool sizes,
                       const char *name)
{
	access_cells(t, o, s, sizes);
	table_cell(t, str_of(name));
}

/* Where no calls were counted: the accesses, by the call they began with. */
static void accesses(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o)
{
	static const char *const heads[] = {"READS", "BYTES", "WRITES", "BYTES", "CALL"}, *const few[] = {"READS", "WRITES",
	                                                                                                  "CALL"};
	bool sizes = has_bytes(w);
	struct table t = {.heads = sizes ? heads : few, .align = sizes ? "rrrrl" : "rrl", .n_columns = sizes ? 5 : 3};
	for (unsigned k = 0; k < STAT_ACCESS_APIS; k++)
		if (stat_has_accesses(&w->api[k]))
			access_row(&t, o, &w->api[k], sizes, term_name(SET_api, k));
	access_row(&t, o, &w->total, sizes, "all");
	table_print(&t, &c->out, c->out.width);
}

/* ---- by execution, by file ---- */

/* What the kernel says of the process: all that it read and wrote, of every file, since it began: two
 * cells, `?` for what is not known. 0: the record does not have the execution, 1; -errno: no cell was added. */
static int process_cells(struct table *t, struct store *s, store_id exec, bool bytes)
{
	struct exec_info x;
	struct buf b = {0};
	int r = store_exec(s, exec, &x);
	for (unsigned i = 0; i < 2 && r >= 0; i++) {
		if (r > 0 && x.known >> (5 + i) & 1)
			fmt_size(&b, i ? x.wchar_ : x.rchar, bytes);
		else
			buf_char(&b, '?');
		cell(t, &b);
	}
	return r;
}

/* Has any of them a rank? It is of the environment, which many have in common. 1, 0 or -errno. */
static int any_rank(struct store *s, const struct stat_list *l)
{
	struct idmap without = {0}; /* environments */
	struct exec_sort sort;
	struct exec_info x;
	int r = 0;
	bool found = false, is_new = false;
	for (size_t i = 0; i < l->n && r >= 0 && !found; i++) {
		r = store_exec_sort(s, l->v[i].id, &sort);
		if (r <= 0 || !sort.env)
			continue;
		if (!idmap_add(&without, sort.env, 0, &is_new))
			r = -ENOMEM;
		else if (is_new)
			found = (r = store_exec(s, l->v[i].id, &x)) > 0 && x.rank.n;
	}
	idmap_release(&without);
	return r < 0 ? r : found;
}

/* Adds the cells of who made the accesses to a row. Who it was: rank, where any has one, and user, where it is asked
 * who did what with an object. 0, -errno. */
static int who_cells(struct table *t, struct store *s, store_id exec, bool ranks, bool users)
{
	struct exec_info x;
	struct buf b = {0};
	int r = ranks || users ? store_exec(s, exec, &x) : 0;
	if (ranks) {
		fmt_name(&b, r > 0 && x.rank.n ? x.rank : str_of("-"));
		cell(t, &b);
	}
	if (users && r >= 0) {
		r = exec_who(s, exec, &b);
		cell(t, &b);
	}
	return r < 0 ? r : 0;
}

/* The heads of a section, and how its columns are laid out. */
struct section_heads {
	const char *heads[9];
	char align[10];
	size_t n;
};

/* There must be room. head is not copied. */
static void add_stat_column(struct section_heads *h, const char *head, char align)
{
	h->heads[h->n] = head;
	h->align[h->n++] = align;
}

/* Which columns the table has, in their order. */
static void choose_columns(struct section_heads *h, bool exec, bool counted, bool sizes, bool ranks, bool users)
{
	static const char *const few[] = {"READS", "BYTES", "WRITES", "BYTES", "IN", "OUT"};
	static const char *const many[] = {"CALLS", "READ", "TIME", "CALLS", "WRITTEN", "TIME"};
	for (size_t i = 0; i < (counted || exec ? 6 : 4); i++)
		if (counted || sizes || i > 3 || i % 2 == 0)
			add_stat_column(h, counted ? many[i] : few[i], 'r');
	if (ranks)
		add_stat_column(h, "RANK", 'r');
	if (users)
		add_stat_column(h, "BY", 'l');
	add_stat_column(h, "", 'l');
}

/* What one of them read and wrote: calls and their times, or accesses. 0 or more, -errno. */
static int used_cells(struct table *t, struct store *s, const struct stat_sum *sum, const struct opts_stat *o,
                      bool exec, bool counted, bool sizes)
{
	if (!counted) {
		access_cells(t, o, sum, sizes);
		return exec ? process_cells(t, s, sum->id, o->bytes) : 0;
	}
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		calls_cells(t, &sum->way[k], o->bytes);
		size_cell(t, &sum->way[k], o->bytes);
		spent_cell(t, &sum->way[k]);
	}
	return 0;
}

/* A table of executions or files; counted: of calls, else of accesses. 0 or more, -errno. */
static int section(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o, const char *what,
                   const struct stat_list *l, bool exec, bool counted)
{
	struct section_heads h = {0};
	struct buf b = {0};
	int r = exec ? any_rank(c->store, l) : 0;
	bool ranks = r > 0, users = exec && w->objects, sizes = has_bytes(w);
	choose_columns(&h, exec, counted, sizes, ranks, users);
	struct table t = {.heads = h.heads, .align = h.align, .n_columns = h.n};
	for (size_t i = 0; i < lines_of(o, l) && r >= 0; i++) {
		r = stat_name(c->store, l->v[i].id, exec, &b);
		if (r >= 0)
			r = used_cells(&t, c->store, &l->v[i], o, exec, counted, sizes);
		if (r >= 0)
			r = who_cells(&t, c->store, l->v[i].id, ranks, users);
		table_cell(&t, buf_view(&b));
	}
	buf_release(&b);
	print_table_title(o, what, l);
	table_print(&t, &c->out, c->out.width);
	return r;
}

/* ---- sizes ---- */

static const char *const size_heads[] = {"100", "1k", "10k", "100k", "1M", "4M", "10M", "100M", "1G", "more", ""};
static const struct table sizes_table = {.heads = size_heads, .align = "rrrrrrrrrrl", .n_columns = IO_SIZES + 1};

/* A row of how many calls moved up to so many bytes; "?" where it was not measured, "-" for none. */
static void sizes_row(struct table *t, const struct stat_moved *m, const struct opts_stat *o, const char *how,
                      struct str name)
{
	struct buf b = {0};
	for (unsigned i = 0; i < IO_SIZES; i++)
		if (m->size[i])
			number_cell(t, m->size[i], o->bytes);
		else
			table_cell(t, str_of(m->bare ? "?" : "-"));
	buf_printf(&b, "%s", how);
	buf_str(&b, name);
	cell(t, &b);
}

/* How large the calls were. 0 or more, -errno. */
static int sizes(struct cmd *c, const struct opts_stat *o, const char *what, const struct stat_list *l, bool exec)
{
	struct table t = sizes_table;
	struct buf b = {0};
	int r = 0;
	for (size_t i = 0; i < lines_of(o, l) && r >= 0; i++) {
		r = stat_name(c->store, l->v[i].id, exec, &b);
		for (unsigned k = 0; k < STAT_WAYS; k++)
			if (stat_io(&l->v[i].way[k])->any)
				sizes_row(&t, stat_io(&l->v[i].way[k]), o, k == STAT_READ ? "r " : "w ", buf_view(&b));
	}
	buf_release(&b);
	print_table_title(o, what, l);
	table_print(&t, &c->out, c->out.width);
	return r;
}

/* A table: how many calls of each sort moved up to so many bytes. */
static void sizes_by_call(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o)
{
	struct table t = sizes_table;
	for (unsigned api = 0; api < STAT_APIS; api++)
		for (unsigned k = 0; k < STAT_WAYS; k++)
			if (w->io_api[api][k].any)
				sizes_row(&t, &w->io_api[api][k], o, "", str_of(stat_call(api, k)));
	puts("\ncalls that moved up to so many bytes");
	table_print(&t, &c->out, c->out.width);
}

/* ---- times ---- */

/* Seconds since a time; both in ns. "?" where it is not known. */
static void time_cell(struct table *t, int64_t ns, int64_t since)
{
	if (ns == TIME_NONE)
		table_cell(t, str_of("?"));
	else
		table_cellf(t, "%.6f", (double)(int64_t)((uint64_t)ns - (uint64_t)since) / SECOND);
}

/* Seconds since `since`. 0 or more, -errno. */
static int times(struct cmd *c, const struct opts_stat *o, const char *what, const struct stat_list *l, bool exec,
                 int64_t since)
{
	static const char *const heads[] = {"FIRST READ", "LAST READ", "FIRST WRITE", "LAST WRITE", ""};
	struct table t = {.heads = heads, .align = "rrrrl", .n_columns = 5};
	struct buf b = {0};
	int r = 0;
	for (size_t i = 0; i < lines_of(o, l) && r >= 0; i++) {
		r = stat_name(c->store, l->v[i].id, exec, &b);
		for (unsigned k = 0; k < STAT_WAYS; k++) {
			const struct stat_way *v = &l->v[i].way[k];
			if (stat_io(v)->any) {
				time_cell(&t, stat_io(v)->first, since);
				time_cell(&t, stat_io(v)->last, since);
				continue;
			}
			table_cell(&t, str_of(v->uncounted && !v->counted ? "?" : "-"));
			table_cell(&t, str_of(v->uncounted && !v->counted ? "?" : "-"));
		}
		table_cell(&t, buf_view(&b));
	}
	buf_release(&b);
	print_table_title(o, what, l);
	table_print(&t, &c->out, c->out.width);
	return r;
}

/* Calls over the time that was recorded, in STAT_SLICES parts at most. */
static void slices(struct cmd *c, const struct opts_stat *o, const struct stat_when *when, int64_t since)
{
	static const char *const heads[] = {"FROM", "CALLS", "READ", "TIME", "CALLS", "WRITTEN", "TIME"};
	struct table t = {.heads = heads, .align = "rrrrrrr", .n_columns = 7};
	struct stat_slice v[STAT_SLICES];
	struct buf b = {0};
	size_t n = stat_slices(when, v);
	for (size_t i = 0; i < n; i++) {
		time_cell(&t, v[i].from, since);
		for (unsigned k = 0; k < STAT_WAYS; k++) {
			number_cell(&t, v[i].way[k].calls, o->bytes);
			fmt_size(&b, v[i].way[k].bytes, o->bytes);
			cell(&t, &b);
			if (v[i].way[k].bare)
				buf_char(&b, '?');
			else
				put_spent(&b, v[i].way[k].spent);
			cell(&t, &b);
		}
	}
	if (n) {
		puts("\ncalls over time, distributed evenly between the first and the last on a file");
		table_print(&t, &c->out, c->out.width);
	}
	if (when->untimed)
		printf("without %llu call%s of unknown time\n", (unsigned long long)when->untimed, str_plural(when->untimed));
}

/* The second in which the first call began, which moments are told from. ns; 0: there was none. */
static int64_t first_call_second(const struct stat_sums *w)
{
	int64_t first = TIME_NONE;
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		const struct stat_moved *m = stat_io(&w->total.way[k]);
		if (m->any && m->first != TIME_NONE && (first == TIME_NONE || m->first < first))
			first = m->first;
	}
	return first == TIME_NONE ? 0 : first - first % SECOND;
}

/* Instead of tables with nothing in them. */
static void print_nothing_counted(const struct stat_sums *w, const char *of)
{
	if (w->unseen & 1ULL << TERM_gap_tree_only)
		printf("%s: only processes were recorded, no files\n", of);
	else if (w->objects || w->all || w->file)
		printf("%s: nothing was read or written\n", of);
	else
		printf("%s: only system files were used: --all counts them\n", of);
}

/* What the marks in the tables mean, and what to type for more. */
static void print_hints(const struct stat_sums *w)
{
	static const char *const hints[] = {
	    [STAT_LACKS_NOTHING] = NULL,
	    [STAT_NO_CALLS] = "executed or loaded with a program: there are no calls to count",
	    [STAT_UNPROVED] = "?: whether data moved is unknown: stemma run --exact counts every call",
	    [STAT_MAPPED] = "?: data may have moved through mapped memory; every call was counted",
	    [STAT_SOME_CALLS] = "some calls are unknown: stemma run --exact counts all",
	    [STAT_ACCESSES] = "bytes and calls are unknown: stemma run --count counts most of them, --exact all",
	};
	const char *hint = hints[stat_lack(w)];
	if (hint)
		printf("\n%s\n", hint);
	if (w->unseen)
		printf("\nthe record is incomplete: more may have been read and written ('stemma show' lists the gaps)\n");
}

/* Prints how large reads and writes were. 0, negative. */
static int print_sizes(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o)
{
	sizes_by_call(c, w, o);
	int r = sizes(c, o, "sizes, executions", &w->execs, true);
	return r < 0 ? r : sizes(c, o, "sizes, files", &w->files, false);
}

/* Prints when reads and writes were made. 0 or more, -errno. */
static int print_times(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o,
                       const struct stat_when *when)
{
	struct buf b = {0};
	int64_t since = first_call_second(w);
	fmt_time(&b, since, false);
	if (since)
		printf("\nseconds since %s\n", buf_cstr(&b));
	buf_release(&b);
	int r = times(c, o, "times, executions", &w->execs, true, since);
	r = r < 0 ? r : times(c, o, "times, files", &w->files, false, since);
	if (r >= 0)
		slices(c, o, when, since);
	return r;
}

int stat_print(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o, const struct stat_when *when,
               const char *title)
{
	struct buf b = {0};
	const bool counted = stat_has_calls(w);
	fmt_name(&b, str_of(title));
	if (!w->execs.n) {
		print_nothing_counted(w, buf_cstr(&b));
		buf_release(&b);
		return 0;
	}
	printf("%s: %zu execution%s, %zu file%s\n\n", buf_cstr(&b), w->execs.n, w->execs.n == 1 ? "" : "s", w->files.n,
	       w->files.n == 1 ? "" : "s");
	buf_release(&b);
	if (counted)
		calls(c, w, o);
	else
		accesses(c, w, o);
	int r = section(c, w, o, counted ? "executions" : "executions (IN, OUT: all bytes that the process read and wrote)",
	                &w->execs, true, counted);
	r = r < 0 ? r : section(c, w, o, "files", &w->files, false, counted);
	if (r >= 0 && counted && o->sizes)
		r = print_sizes(c, w, o);
	if (r >= 0 && counted && o->times)
		r = print_times(c, w, o, when);
	if (r >= 0)
		print_hints(w);
	return r < 0 ? r : 0;
}
