/* stemma show: all that is known of one run, file or execution. */
#include "answer/items.h"
#include "answer/live.h"
#include "cmd/show/show_app_log.h"
#include "cmd/show/show_build.h"
#include "cmd/show/show_jobs.h"
#include "cmd/ui/notes_print.h"
#include "query/fold.h"
#include "query/system.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define FOLD 2      /* segments of memory, or sockets, that are told as their number */
#define LIST_MAX 40 /* lines of a list, without --all */

struct show {
	struct cmd *c;
	const struct opts_show *o;
	bool run; /* a run's lists: its pipes are its own affair */
};

static void field_str(const char *name, struct str value)
{
	struct buf b = {0};
	fmt_name(&b, value);
	print_field_if(name, &b);
	buf_release(&b);
}

static void field_time(const char *name, int64_t ns)
{
	struct buf b = {0};
	fmt_time(&b, ns, false);
	print_field_if(name, &b);
	buf_release(&b);
}

static void field_list(const char *name, const struct strlist *l)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s); name = "")
		field_str(name, s);
}

static void field_argv(const char *name, const struct strlist *l)
{
	struct buf b = {0};
	fmt_argv(&b, l, false, SIZE_MAX);
	print_field_if(name, &b);
	buf_release(&b);
}

/* Is it worth a line without --all? */
static bool is_shown_item(const struct show *w, const struct edge *e, const struct version_info *v,
                          const struct file_info *f)
{
	return w->o->all || (f->kind == TERM_kind_regular ? item_is_data(cmd_source(w->c), e, v, f)
	                                                  : !w->run && kind_is_stream(f->kind) && e->via != TERM_via_sync);
}

static void item_line(const struct show *w, const struct edge *e, const struct version_info *v,
                      const struct file_info *f, bool used)
{
	struct buf b = {0}, note = {0}, since = {0};
	version_name(&b, v, f);
	if (!e->sure)
		buf_printf(&b, " ?");
	version_note(&note, v, f, w->o->bytes);
	if (version_since(w->c->store, v, f, &since) < 0)
		buf_reset(&since);
	if (since.n)
		buf_printf(&note, "%s%s", note.n ? ", " : "", buf_cstr(&since));
	if (note.n)
		buf_printf(&b, "  (%s)", buf_cstr(&note));
	if (e->count > 1)
		buf_printf(&b, "  %llu times", (unsigned long long)e->count);
	if (e->has_bytes) {
		buf_printf(&b, used ? "  read " : "  wrote ");
		fmt_size(&b, e->bytes, w->o->bytes);
	}
	if (e->via != TERM_via_data)
		buf_printf(&b, "  via %s", term_name(SET_via, e->via));
	printf("  %s\n", buf_cstr(&b));
	buf_release(&b);
	buf_release(&note);
	buf_release(&since);
}

static void append_item_json(const struct edge *e, const struct version_info *v, const struct file_info *f,
                             json_t *list)
{
	json_t *one = entity_json(v, f);
	if (e->has_bytes)
		js_num(one, "bytes", e->bytes);
	if (e->count)
		js_num(one, "count", e->count);
	js_text(one, "certainty", e->sure ? "must" : "may");
	js_text(one, "via", term_name(SET_via, e->via));
	js_add(list, one);
}

#define SORT_NONE ENTITY_SORTS /* is not listed */

/* What each item is. Appends to json those that are listed. */
static int sort_items(const struct show *w, const struct items *l, json_t *json, uint8_t *sorts,
                      size_t ret_n[ENTITY_SORTS + 1])
{
	for (size_t i = 0; i < l->n; i++) {
		struct version_info v;
		struct file_info f;
		int r = store_version(w->c->store, l->v[i].version, &v);
		if (r > 0)
			r = store_file(w->c->store, v.file, &f);
		if (r < 0)
			return r;
		bool shown = r > 0 && is_shown_item(w, &l->v[i].e, &v, &f);
		sorts[i] = (uint8_t)(shown ? entity_sort(f.kind, f.path) : SORT_NONE);
		if (sorts[i] == ENTITY_DATA && (l->v[i].e.mode & ACCESS_PROGRAM || kind_is_stream(f.kind)))
			sorts[i] = ENTITY_PROGRAM;
		ret_n[sorts[i]] += r > 0;
		if (shown && json)
			append_item_json(&l->v[i].e, &v, &f, json);
	}
	return 0;
}

/* Prints, or appends to json: data first, then programs and pipes, shared memory, sockets. Several of those are told as
 * their number.
 */
static int put_items(const struct show *w, const char *title, const struct items *l, bool used, json_t *json)
{
	uint64_t more = 0, lines = 0;
	size_t of[ENTITY_SORTS + 1] = {0};
	uint8_t *sorts = calloc(l->n + 1, sizeof(*sorts));
	int r = sorts ? sort_items(w, l, json, sorts, of) : -ENOMEM;
	size_t listed = of[ENTITY_DATA] + of[ENTITY_PROGRAM] + of[ENTITY_SEGMENT] + of[ENTITY_SOCKET];
	uint64_t folded = of[SORT_NONE];
	if (r == 0 && !json && listed)
		printf("%s\n", title);
	for (unsigned sort = ENTITY_DATA; r == 0 && !json && sort < ENTITY_SORTS; sort++) {
		if (sort >= ENTITY_SEGMENT && of[sort] >= FOLD && !w->o->all) {
			struct buf b = {0};
			fmt_entity_count(&b, sort, of[sort]);
			printf("  %s (--all)\n", buf_cstr(&b));
			buf_release(&b);
			lines++;
			continue;
		}
		for (size_t i = 0; r >= 0 && i < l->n; i++) {
			struct version_info v;
			struct file_info f;
			if (sorts[i] != sort)
				continue;
			r = lines < LIST_MAX || w->o->all ? store_version(w->c->store, l->v[i].version, &v) : 0;
			if (r > 0)
				r = store_file(w->c->store, v.file, &f);
			if (r > 0)
				item_line(w, &l->v[i].e, &v, &f, used);
			more += !r;
			lines++;
		}
		r = r < 0 ? r : 0;
	}
	free(sorts);
	if (json || r < 0)
		return r;
	if (more)
		printf("  and %llu more (--all)\n", (unsigned long long)more);
	if (folded)
		printf("%s%s%llu %s (--all)\n", lines ? "  + " : title, lines ? "" : ": ", (unsigned long long)folded,
		       w->run ? "of the machine, absent or pipes" : "of the machine or absent");
	return 0;
}

/* ---- execution ---- */

static void exec_figures(const struct show *w, const struct exec_info *x)
{
	static const char *const names[] = {"", "cpu", "user time", "system time", "peak memory",
	                                    "", "",    "read",      "written"};
	const uint64_t values[] = {0, x->cpu, x->user_time, x->system_time, x->rss, 0, 0, x->read_bytes, x->write_bytes};
	for (unsigned i = 1; i < 9; i++) {
		struct buf b = {0};
		if (!*names[i] || !(x->known >> i & 1))
			continue;
		if (i <= 3)
			fmt_duration(&b, values[i]);
		else
			fmt_size(&b, values[i], w->o->bytes);
		if (i >= 7)
			buf_printf(&b, i == 7 ? " from storage" : " to storage");
		print_field_if(names[i], &b);
		buf_release(&b);
	}
}

static int exec_text(const struct show *w, store_id id)
{
	struct store *s = w->c->store;
	struct exec_info x;
	struct run_info run;
	struct file_info f;
	struct buf b = {0};
	int r = store_exec(s, id, &x);
	if (r <= 0)
		return r;
	struct gaps gaps = {0};
	gaps_add(&gaps, id, x.gaps);
	store_id parent = x.parent;
	printf("%-12s %.*s\n", "execution", (int)strnlen(x.pub.text, sizeof(x.pub.text)), x.pub.text);
	field_argv("command", &x.argv);
	if (x.exe && store_file(s, x.exe, &f) > 0)
		field_str("program", f.path);
	if (x.script && store_file(s, x.script, &f) > 0)
		field_str("script", f.path);
	field_str("directory", x.cwd);
	printf("%-12s %llu%s\n", "pid", (unsigned long long)x.pid, x.n ? "" : ", before any exec");
	fmt_who(&b, x.user, x.host);
	print_field_if("by", &b);
	buf_reset(&b);
	field_str("group", x.group);
	if (x.run && store_run(s, x.run, &run) > 0)
		field_str("run", run.ulid);
	field_str("job", x.job);
	field_str("step", x.step);
	if (x.rank.n && x.ranks.n)
		buf_printf(&b, "%.*s of %.*s", (int)x.rank.n, x.rank.p, (int)x.ranks.n, x.ranks.p);
	if (x.rank.n && x.ranks.n)
		print_field_if("rank", &b);
	else
		field_str("rank", x.rank);
	field_time("start", x.start);
	field_time("end", x.end);
	buf_reset(&b);
	fmt_ending(&b, x.ending, x.code);
	print_field_if("exit", &b);
	exec_figures(w, &x);
	field_list("environment", &x.env);
	buf_reset(&b);
	if (parent) {
		r = exec_name(s, parent, true, 100, &b);
		print_field_if("parent", &b);
	}
	buf_release(&b);
	if (r >= 0)
		r = gaps_print(s, &gaps);
	return r;
}

static int show_exec(const struct show *w, store_id id, json_t *list)
{
	struct store *s = w->c->store;
	struct edges e = {0};
	struct items used = {0}, made = {0};
	int r = store_uses(s, id, &e);
	if (r >= 0)
		r = items_add(&e, &used);
	if (r >= 0)
		r = store_outputs(s, id, &e);
	if (r >= 0)
		r = items_add(&e, &made);
	edges_release(&e);
	if (r >= 0 && list) {
		struct exec_info x;
		json_t *o = NULL, *u = json_array(), *m = json_array();
		r = store_exec(s, id, &x);
		if (r > 0)
			r = exec_json(s, &x, &o);
		if (r >= 0 && store_exec(s, id, &x) > 0)
			js_list(o, "environment", &x.env);
		if (r >= 0)
			r = put_items(w, "used", &used, true, u);
		if (r >= 0)
			r = put_items(w, "made", &made, false, m);
		if (r >= 0)
			r = show_jobs(w->c, id, true, o);
		js_text(o, "kind", "execution");
		js_put(o, "used", u);
		js_put(o, "generated", m);
		js_add(list, o);
	} else if (r >= 0) {
		r = exec_text(w, id);
		if (r >= 0)
			r = show_jobs(w->c, id, w->o->all, NULL);
		if (r >= 0)
			r = put_items(w, "used", &used, true, NULL);
		if (r >= 0)
			r = put_items(w, "made", &made, false, NULL);
	}
	items_release(&used);
	items_release(&made);
	return r;
}

/* ---- run ---- */

static void run_text(struct cmd *c, const struct run_info *run)
{
	struct buf b = {0};
	field_str("run", run->ulid);
	field_argv("command", &run->argv);
	field_str("directory", run->cwd);
	fmt_who(&b, run->user, run->host);
	print_field_if("by", &b);
	field_str("group", run->group);
	field_time("start", run->start);
	field_time("end", run->end);
	buf_reset(&b);
	fmt_span(&b, run->start, run->end);
	print_field_if("time", &b);
	buf_reset(&b);
	pid_t standby = run->ending == TERM_ending_unknown ? live_standby(&c->live, run->ulid) : 0;
	if (standby)
		buf_printf(&b, "it runs (its standby is process %d)", standby);
	else
		fmt_ending(&b, run->ending, run->code);
	if (run->end == TIME_NONE && !standby)
		buf_printf(&b, " (it runs still, or its record was cut off)");
	print_field_if("exit", &b);
	field_str("within", run->outer);
	field_list("label", &run->labels);
	field_list("machine", &run->hostinfo);
	field_str("recorded", run->mode);
	if (run->traps) {
		buf_reset(&b);
		buf_printf(&b, "%llu calls stopped, ", (unsigned long long)run->traps);
		fmt_duration(&b, run->recorder_cpu);
		buf_printf(&b, " of CPU");
		print_field_if("cost", &b);
	}
	buf_release(&b);
}

/* Is an execution worth a line: not one that counts to another, nor one that only starts another? */
static int is_listed(struct store *s, store_id exec)
{
	enum fold_class class;
	store_id rep;
	int r = fold_representative(s, exec, &rep);
	if (r > 0 && rep != exec)
		return 0;
	if (r > 0)
		r = fold_class(s, exec, &class);
	return r <= 0 ? r : class != FOLD_command && class != FOLD_wrapper;
}

/* A run with what it used and made. */
struct run_parts {
	store_id id;
	struct run_info run;
	store_id *execs;
	size_t n;
	struct items used, made;
};

static int run_parts_load(struct store *s, store_id id, struct run_parts *ret)
{
	*ret = (struct run_parts){.id = id};
	int r = store_run_execs(s, id, &ret->execs, &ret->n);
	if (r >= 0)
		r = items_of_run(s, ret->execs, ret->n, &ret->used, &ret->made);
	return r < 0 ? r : store_run(s, id, &ret->run);
}

static void run_parts_release(struct run_parts *p)
{
	free(p->execs);
	items_release(&p->used);
	items_release(&p->made);
}

static int append_execs_json(struct store *s, const struct run_parts *p, json_t *list)
{
	int r = 0;
	for (size_t i = 0; i < p->n && r >= 0; i++) {
		struct exec_info info;
		json_t *one = NULL;
		r = store_exec(s, p->execs[i], &info);
		if (r > 0)
			r = exec_json(s, &info, &one);
		if (one && r >= 0)
			r = representative_json(s, p->execs[i], one);
		if (one)
			js_add(list, one);
	}
	return r;
}

static int append_run_json(const struct show *w, const struct run_parts *p, json_t *list)
{
	struct store *s = w->c->store;
	const struct run_info *run = &p->run;
	json_t *o = run_json(cmd_source(w->c), run), *used = json_array(), *made = json_array(), *execs = json_array();
	js_text(o, "kind", "run");
	js_str(o, "group", run->group);
	js_str_if(o, "outer", run->outer);
	js_pairs(o, "machine", &run->hostinfo);
	js_str(o, "mode", run->mode);
	js_gaps(o, "completeness", run->gaps);
	js_num(o, "executions_total", run->executions);
	js_num(o, "calls_stopped", run->traps);
	js_big(o, "recorder_cpu", run->recorder_cpu);
	int r = append_execs_json(s, p, execs);
	if (r >= 0)
		r = put_items(w, "used", &p->used, true, used);
	if (r >= 0)
		r = put_items(w, "made", &p->made, false, made);
	js_put(o, "executions", execs);
	js_put(o, "used", used);
	js_put(o, "generated", made);
	if (r >= 0)
		r = notes_json(s, o, NOTES_RUN, p->id, 0);
	if (r >= 0)
		r = show_app_log(w->c, p->id, true, o);
	js_add(list, o);
	return r;
}

static int print_exec_line(const struct show *w, store_id exec, const struct pubid *pub)
{
	struct buf b = {0};
	int r = exec_name(w->c->store, exec, true, 200, &b);
	fmt_fit(&b, 0, w->c->out.tty ? (size_t)w->c->out.width - 14 : 200, w->c->out.utf8);
	printf("  %.10s  %s\n", pub->text, buf_cstr(&b));
	buf_release(&b);
	return r;
}

/* The executions, and in gaps what of them could not be seen; without --all not those that did nothing of their own. */
static int print_run_execs(const struct show *w, const struct run_parts *p, struct gaps *gaps)
{
	uint64_t bits = p->run.gaps, lines = 0, counted = 0;
	int r = 0;
	printf("%-12s %zu\n", "executions", p->n);
	for (size_t i = 0; i < p->n && r >= 0; i++) {
		struct exec_info info;
		r = store_exec(w->c->store, p->execs[i], &info);
		if (r <= 0)
			continue;
		gaps_add(gaps, p->execs[i], info.gaps);
		bits &= ~info.gaps;
		struct pubid pub = info.pub;
		if (!info.n && !w->o->all)
			continue;
		r = w->o->all ? 1 : is_listed(w->c->store, p->execs[i]);
		counted += r == 0;
		if (r <= 0)
			continue;
		if (lines++ < LIST_MAX || w->o->all)
			r = print_exec_line(w, p->execs[i], &pub);
	}
	if (lines > LIST_MAX && !w->o->all)
		printf("  and %llu more (--all)\n", (unsigned long long)(lines - LIST_MAX));
	if (counted)
		printf("  + %llu that count%s to others (--all)\n", (unsigned long long)counted, counted == 1 ? "s" : "");
	gaps_add(gaps, 0, bits);
	return r;
}

static int print_run(const struct show *w, const struct run_parts *p)
{
	struct store *s = w->c->store;
	struct gaps gaps = {0};
	run_text(w->c, &p->run);
	int r = notes_print(s, NOTES_RUN, p->id);
	if (r >= 0)
		r = show_app_log(w->c, p->id, w->o->all, NULL);
	if (r >= 0)
		r = print_run_execs(w, p, &gaps);
	if (r >= 0)
		r = put_items(w, "used", &p->used, true, NULL);
	if (r >= 0)
		r = put_items(w, "made", &p->made, false, NULL);
	return r < 0 ? r : gaps_print(s, &gaps);
}

static int show_one_run(const struct show *w, store_id id, json_t *list)
{
	struct run_parts p;
	int r = run_parts_load(w->c->store, id, &p);
	if (r > 0)
		r = list ? append_run_json(w, &p, list) : print_run(w, &p);
	run_parts_release(&p);
	return r;
}

/* ---- file ---- */

static int exec_edges(const struct show *w, const char *title, const struct edges *e)
{
	struct buf b = {0};
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(w->c->store, e->v[i].to, &x);
		if (r <= 0)
			continue;
		buf_reset(&b);
		buf_printf(&b, "    %s %.10s%s  ", title, x.pub.text, e->v[i].sure ? "" : " ?");
		r = exec_name(w->c->store, e->v[i].to, true, 200, &b);
		if (i == LIST_MAX && !w->o->all) {
			printf("    and %zu more (--all)\n", e->n - i);
			break;
		}
		fmt_fit(&b, 0, w->c->out.tty ? (size_t)w->c->out.width : 240, w->c->out.utf8);
		puts(buf_cstr(&b));
	}
	buf_release(&b);
	return r < 0 ? r : 0;
}

static int version_text(const struct show *w, store_id id)
{
	struct store *s = w->c->store;
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	struct buf b = {0}, note = {0};
	int r = store_version(s, id, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0)
		return r;
	version_note(&note, &v, &f, w->o->bytes);
	buf_printf(&b, "  @{%llu}  %.25s", (unsigned long long)v.n, v.pub.text);
	if (note.n)
		buf_printf(&b, "  %s", buf_cstr(&note));
	puts(buf_cstr(&b));
	buf_release(&b);
	buf_release(&note);
	r = store_gens(s, id, &e);
	if (r >= 0)
		r = exec_edges(w, "made by", &e);
	if (r >= 0)
		r = store_readers(s, id, &e);
	if (r >= 0)
		r = exec_edges(w, "used by", &e);
	edges_release(&e);
	return r;
}

static int exec_ids_json(struct store *s, const struct edges *e, json_t *list)
{
	for (size_t i = 0; i < e->n; i++) {
		struct exec_info x;
		int r = store_exec(s, e->v[i].to, &x);
		if (r < 0)
			return r;
		json_t *one = json_object();
		js_pub(one, "id", &x.pub);
		js_text(one, "certainty", e->v[i].sure ? "must" : "may");
		js_times(one, "time", e->v[i].lo, e->v[i].hi);
		js_add(list, one);
	}
	return 0;
}

static int version_json(struct store *s, store_id id, json_t *versions)
{
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	json_t *gens = json_array(), *readers = json_array(), *o = NULL;
	int r = store_version(s, id, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r > 0)
		o = entity_json(&v, &f);
	if (r >= 0)
		r = store_gens(s, id, &e);
	if (r >= 0)
		r = exec_ids_json(s, &e, gens);
	if (r >= 0)
		r = store_readers(s, id, &e);
	if (r >= 0)
		r = exec_ids_json(s, &e, readers);
	js_put(o, "wasGeneratedBy", gens);
	js_put(o, "usedBy", readers);
	js_add(versions, o);
	edges_release(&e);
	return r;
}

static int show_one_file(const struct show *w, store_id file, uint64_t only, json_t *list)
{
	struct store *s = w->c->store;
	struct file_info f;
	int r = store_file(s, file, &f);
	if (r <= 0)
		return r;
	json_t *versions = list ? json_array() : NULL;
	uint64_t n = f.versions;
	if (list) {
		json_t *o = json_object();
		js_text(o, "kind", "file");
		js_pub(o, "id", &f.pub);
		js_str(o, "path", f.path);
		js_bool(o, "named", f.named);
		js_text(o, "type", term_name(SET_kind, f.kind));
		js_str(o, "domain", f.domain);
		js_big(o, "inode", f.ino);
		js_big(o, "generation", f.gen);
		js_put(o, "versions", versions);
		r = notes_json(s, o, NOTES_FILE, file, 0);
		js_add(list, o);
	} else {
		field_str("file", f.path);
		printf("%-12s %.25s\n", "id", f.pub.text);
		printf("%-12s %s%s\n", "kind", term_meaning(SET_kind, f.kind),
		       f.named || f.kind != TERM_kind_regular ? "" : "; it has this name no more");
		struct buf b = {0};
		fmt_name(&b, f.domain);
		buf_printf(&b, ", inode %llu", (unsigned long long)f.ino);
		if (f.kind != TERM_kind_absent)
			print_field_if("on", &b);
		buf_release(&b);
		printf("%-12s %llu\n", "versions", (unsigned long long)n);
		r = notes_print(s, NOTES_FILE, file);
	}
	uint64_t from = only ? only : w->o->all || list || n <= LIST_MAX ? 1 : n - LIST_MAX + 1, to = only ? only : n;
	if (from > 1 && !only)
		printf("  the latest %d (--all)\n", LIST_MAX);
	for (uint64_t k = from; k <= to && r >= 0; k++) {
		store_id id;
		r = store_version_of(s, file, k, &id);
		if (r > 0)
			r = list ? version_json(s, id, versions) : version_text(w, id);
	}
	return r;
}

static int show_file(const struct show *w, const char *text, const struct file_target *t, json_t *list)
{
	static const char *const disk[] = {
	    "",
	    "the file on disk has changed since its last version",
	    "another file has the name on disk now",
	    "there is no file of that name on disk",
	    "its file was written since by who did not tell of this object: it may be another one",
	    "deleted"};
	int r = show_one_file(w, t->file, t->n, list);
	if (r >= 0 && !list && t->disk != DISK_SAME) {
		struct buf b = {0};
		buf_printf(&b, "%s", disk[t->disk]);
		if (t->disk == DISK_DELETED)
			r = fmt_deleted(w->c->store, &t->deleted, 200, false, w->c->out.utf8, &b);
		print_field_if("now", &b);
		buf_release(&b);
	}
	if (r >= 0 && list && t->disk == DISK_DELETED)
		r = deleted_json(w->c->store, &t->deleted, json_array_get(list, json_array_size(list) - 1));
	/* Other files that had the name. */
	store_id *files = NULL;
	size_t n = 0;
	uint64_t version;
	struct err err = {0};
	if (r >= 0 && !t->n && target_files(w->c->store, text, &err, &files, &n, &version) > 0)
		for (size_t i = 0; i < n && r >= 0; i++) {
			struct file_info f;
			if (files[i] == t->file || store_file(w->c->store, files[i], &f) <= 0 || !f.versions)
				continue;
			if (!list)
				puts("\nanother file that has or had the name:");
			r = show_one_file(w, files[i], 0, list);
		}
	free(files);
	return r;
}

static bool is_recorded_target(struct cmd *c, const char *text, bool dashed)
{
	struct err err = {0};
	struct target t;
	return target_any(c->store, text, dashed, &err, &t) > 0;
}

/* How it was built: what the name of a record or of a file on disk leads to. 1, 0: nothing is to be told, -errno. */
static int show_built(struct show_build *w, const char *text, bool dashed, json_t *list, struct err *err)
{
	int r = dashed ? 0 : show_build_record(w, text, list, err);
	return r != 0 || strstr(text, "@{") || !show_build_could(text) ? r : show_build_file(w, text, list, err);
}

int cmd_show(struct cmd *c, const struct opts_show *o)
{
	struct show w = {.c = c, .o = o};
	if (!c->n_operands)
		return report_usage(c, "show needs a run, a file or an execution");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	json_t *list = o->json ? json_array() : NULL;
	struct show_build build = {.c = c, .all = o->all, .bytes = o->bytes, .sources = o->sources};
	for (int i = 0; i < c->n_operands && status != STATUS_SELF; i++) {
		struct err err = {0};
		struct target t;
		bool dashed = i >= c->n_operands - c->n_after_dashes;
		build.after = i && !list;
		int shown = show_built(&build, c->operands[i], dashed, list, &err);
		if (shown < 0) {
			report_err(&err, 0);
			status = shown == -ENOTUNIQ ? STATUS_NOTHING : STATUS_SELF;
			continue;
		}
		if (shown > 0 && (o->sources || !is_recorded_target(c, c->operands[i], dashed)))
			continue;
		int r = target_any(c->store, c->operands[i], dashed, &err, &t);
		if (r <= 0) {
			int one = report_err(&err, cmd_target_status(r));
			status = one > status ? one : status;
			continue;
		}
		if ((i || shown) && !list)
			putchar('\n');
		w.run = t.kind == TARGET_RUN;
		r = t.kind == TARGET_RUN    ? show_one_run(&w, t.id, list)
		    : t.kind == TARGET_EXEC ? show_exec(&w, t.id, list)
		                            : show_file(&w, c->operands[i], &t.file, list);
		if (r < 0) {
			report("cannot show '%s'", c->operands[i]);
			status = STATUS_SELF;
		}
	}
	if (build.differs && status == STATUS_OK)
		status = STATUS_NOTHING;
	if (!list || status == STATUS_SELF) {
		json_decref(list);
		return status;
	}
	json_t *all = json_object();
	js_num(all, "format", 1);
	js_put(all, "things", list);
	int printed = js_print(all, false);
	return printed != STATUS_OK ? printed : status;
}
