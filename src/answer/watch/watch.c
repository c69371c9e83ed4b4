#include "answer/watch/watch.h"

#include "answer/entities.h"
#include "answer/live.h"
#include "base/hash.h"
#include "base/os/system.h"
#include "base/vec.h"
#include "query/find/select.h"
#include "query/idmap.h"
#include "query/idset.h"
#include "query/lineage/lineage.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Ids of rows are not kept: who makes the index anew changes them. What was met is known by public ids. */
struct watch {
	const struct answer_source *a;
	const struct expr *e;
	enum expr_kind kind;
	struct err *err;
	bool first;         /* what is there is no news */
	struct idmap over;  /* runs of which nothing more can come */
	VEC(uint64_t) ends; /* those that this look added: a look that fails is made again, and tells of them then */
	struct idmap fresh; /* runs that came, or went on, after the first look */
	struct live_runs live;
	struct idmap met;    /* versions, runs and executions that were told, or were there */
	struct idmap staled; /* versions that were told to be stale */
	struct idset news;   /* of this look: what may be told of, of the kind that is looked for */
	struct idset came;   /* of this look: versions that were made, or found from outside */
};

/* The key in a table by public name; never 0, which marks an empty place. */
static uint64_t pub_key(const struct pubid *p)
{
	return hash_bytes(p->text, strnlen(p->text, sizeof(p->text))) | 1;
}

/* Is it in the set? It is then. 1 it was, 0 not, -ENOMEM. */
static int put_key(struct idmap *m, uint64_t key)
{
	bool is_new;
	if (!idmap_add(m, key, 1, &is_new))
		return -ENOMEM;
	return !is_new;
}

/* ---- what is new ---- */

/* Was a version that came from outside there before the first look, when a run that was over by then used it? 1, 0,
 * -errno. */
static int was_there(const struct watch *w, store_id version)
{
	struct edges e = {0};
	int r = store_readers(w->a->store, version, &e);
	bool there = false;
	for (size_t i = 0; i < e.n && r >= 0 && !there; i++) {
		struct exec_brief x;
		struct run_info run;
		r = store_exec_brief(w->a->store, e.v[i].to, &x);
		if (r > 0 && x.run)
			r = store_run_told(w->a->store, x.run, &run);
		there = r > 0 && (!x.run || !idmap_find(&w->fresh, hash_str(run.ulid) | 1));
	}
	edges_release(&e);
	return r < 0 ? r : there;
}

/* Notes a version that a run used or made. made: else it was only used. Puts what is new into w->came, and w->news
 * if it is to be told of; with the first look all is met already. 0 or more, -errno. */
static int note_version(struct watch *w, store_id version, bool made)
{
	struct version_info v;
	int r = store_version(w->a->store, version, &v);
	if (r <= 0)
		return r;
	if (!made && v.origin == ORIGIN_OBSERVED)
		return 0; /* who made it tells of it */
	/* What was met stays so; what is not told of yet comes again with the next look. */
	uint64_t key = pub_key(&v.pub);
	if (w->first)
		return put_key(&w->met, key) < 0 ? -ENOMEM : 0;
	if (idmap_find(&w->met, key))
		return 0;
	if (!made) {
		r = was_there(w, version);
		if (r != 0)
			return r < 0 ? r : put_key(&w->met, key) < 0 ? -ENOMEM : 0;
	}
	r = idset_add(&w->came, version);
	return r == 0 && w->kind == EXPR_FILES && made ? idset_add(&w->news, version) : r;
}

/* 0, -errno. Notes the version that each edge leads to. */
static int note_edges(struct watch *w, const struct edges *e, bool made)
{
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++)
		r = note_version(w, e->v[i].to, made);
	return r < 0 ? r : 0;
}

/* Notes the execution, or the files that it made and used, as is asked for. 0, -errno. */
static int note_exec(struct watch *w, store_id exec)
{
	struct edges e = {0};
	struct exec_info x;
	int r = w->kind == EXPR_EXECS ? store_exec(w->a->store, exec, &x) : 0;
	if (r > 0 && (w->first || idmap_find(&w->met, pub_key(&x.pub))))
		r = w->first ? put_key(&w->met, pub_key(&x.pub)) : 0;
	else if (r > 0)
		r = idset_add(&w->news, exec);
	if (r >= 0 && w->kind == EXPR_FILES)
		r = store_outputs(w->a->store, exec, &e);
	if (r >= 0)
		r = note_edges(w, &e, true);
	e.n = 0;
	if (r >= 0 && w->kind == EXPR_FILES)
		r = store_uses(w->a->store, exec, &e);
	if (r >= 0)
		r = note_edges(w, &e, false);
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* An end that is not known because it still runs is none. */
static bool has_ended(const struct run_info *run)
{
	return run->ending != TERM_ending_unknown || (run->end != TIME_NONE && run->end != TIME_NEVER);
}

/* Can nothing more come of a run? What was cut off is asked for at the first look only: later it was being written. */
static bool is_over(struct watch *w, const struct run_info *run)
{
	if (live_standby(&w->live, run->ulid))
		return false; /* also after the command's end, while processes that outlive it are recorded */
	return has_ended(run) || (w->first && live_recording(w->a->store, &w->live, run) == RECORDING_CUT_OFF);
}

/* 0, -errno. Notes each execution of the run. */
static int note_execs(struct watch *w, store_id run)
{
	store_id *execs = NULL;
	size_t n = 0;
	int r = store_run_execs(w->a->store, run, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = note_exec(w, execs[i]);
	free(execs);
	return r < 0 ? r : 0;
}

/* A run that was over at an earlier look is passed over. 0 or more, -errno. */
static int note_run(struct watch *w, store_id id)
{
	struct run_info run;
	int r = store_run_told(w->a->store, id, &run);
	if (r <= 0)
		return r;
	uint64_t key = hash_str(run.ulid) | 1;
	if (idmap_find(&w->over, key))
		return 0;
	bool over = is_over(w, &run), old = w->first && over;
	uint64_t *end = over ? vec_add(&w->ends) : NULL;
	if ((!old && put_key(&w->fresh, key) < 0) || (over && !end))
		return -ENOMEM;
	if (end)
		*end = key;
	if (old)
		return 0; /* it is never asked for again */
	if (w->kind != EXPR_RUNS)
		return note_execs(w, id);
	if (w->first)
		return has_ended(&run) && put_key(&w->met, key) < 0 ? -ENOMEM : 0;
	return idmap_find(&w->met, key) ? 0 : idset_add(&w->news, id);
}

/* Fills w->news and w->came, sorted, from all runs, the oldest first. 0, -errno. */
static int find_news(struct watch *w)
{
	store_id *runs = NULL;
	size_t n = 0;
	w->news.n = w->came.n = w->ends.n = 0;
	live_release(&w->live);
	w->live = (struct live_runs){0};
	int r = store_runs(w->a->store, 0, &runs, &n);
	for (size_t i = n; i-- > 0 && r >= 0;)
		r = note_run(w, runs[i]);
	free(runs);
	idset_close(&w->news);
	idset_close(&w->came);
	return r < 0 ? r : 0;
}

/* ---- what the expression says ---- */

/* Takes the set anew. sure: only what matches for certain. 0, -errno with a sentence. */
static int evaluate(struct watch *w, bool sure, struct idset *ret)
{
	struct select_options o = {
	    .now = (int64_t)time(NULL) * 1000000000, .skew = w->a->skew, .system_extra = w->a->system_extra, .sure = sure};
	ret->n = 0;
	return select_eval(w->a->store, w->e, w->kind, &o, w->err, ret);
}

/* Is it still being written, or does it still run? 1, 0, -errno. *ret_key: what it is known by. */
static int is_open(const struct watch *w, store_id id, uint64_t *ret_key)
{
	struct version_info v;
	struct exec_info x;
	struct run_info run;
	int64_t end = TIME_NONE;
	int r;
	if (w->kind == EXPR_RUNS) {
		r = store_run_told(w->a->store, id, &run);
		*ret_key = r > 0 ? hash_str(run.ulid) | 1 : 1;
		return r <= 0 ? r : !has_ended(&run);
	}
	if (w->kind == EXPR_EXECS) {
		r = store_exec(w->a->store, id, &x);
		*ret_key = r > 0 ? pub_key(&x.pub) : 1;
		end = r > 0 ? x.end : end;
	} else {
		r = store_version(w->a->store, id, &v);
		*ret_key = r > 0 ? pub_key(&v.pub) : 1;
		end = r > 0 ? v.end : end;
	}
	return r <= 0 ? r : end == TIME_NEVER || end == TIME_NONE;
}

/* Does a run go on that it may be of? 1, 0, -errno. */
static int may_go_on(const struct watch *w, store_id id)
{
	struct edges e = {0};
	struct exec_brief x;
	struct run_info run;
	store_id exec = id;
	int r = w->kind == EXPR_FILES ? store_gens(w->a->store, id, &e) : 0;
	if (w->kind == EXPR_FILES)
		exec = r == 0 && e.n ? e.v[0].to : 0;
	edges_release(&e);
	if (r == 0 && exec)
		r = store_exec_brief(w->a->store, exec, &x);
	if (r > 0 && x.run)
		r = store_run_told(w->a->store, x.run, &run);
	return r <= 0 ? r : x.run && !has_ended(&run);
}

/* Tells of what is in `all`; what has not ended comes with a later look. Returns what `each` returned above 0; 0,
 * -errno. */
static int tell_news(struct watch *w, const struct idset *all, const struct idset *sure, watch_each *each, void *arg)
{
	static const enum watch_what whats[] = {
	    [EXPR_FILES] = WATCH_MADE, [EXPR_RUNS] = WATCH_RUN, [EXPR_EXECS] = WATCH_EXECUTION};
	int r = 0;
	for (size_t i = 0; i < w->news.n && r >= 0; i++) {
		uint64_t key;
		store_id id = w->news.v[i];
		r = is_open(w, id, &key);
		if (r > 0 && w->kind != EXPR_RUNS)
			r = may_go_on(w, id);
		if (r != 0)
			continue; /* with a later look */
		r = put_key(&w->met, key);
		if (r != 0 || !idset_has(all, id))
			continue;
		struct watch_event e = {.what = whats[w->kind], .id = id, .sure = idset_has(sure, id)};
		r = each(arg, &e);
		if (r > 0)
			return r;
	}
	return r < 0 ? r : 0;
}

/* ---- what is stale ---- */

/* What the version stands in the place of: the one before of its file, else the last one of the file that had its name
 * before. 1, 0 nothing, -errno. */
static int find_replaced(const struct watch *w, store_id version, store_id *ret)
{
	struct version_info v;
	struct file_info f;
	struct buf path = {0};
	store_id files[2];
	int r = store_version(w->a->store, version, &v);
	if (r > 0)
		r = store_file(w->a->store, v.file, &f);
	if (r <= 0 || f.kind != TERM_kind_regular || !f.path.n || system_path(f.path, w->a->system_extra) == SYSTEM_YES)
		return r < 0 ? r : 0;
	if (v.n > 1)
		return store_version_of(w->a->store, v.file, v.n - 1, ret);
	buf_str(&path, f.path);
	r = path.failed ? -ENOMEM : store_files_by_path(w->a->store, buf_view(&path), files, 2);
	buf_release(&path);
	if (r < 2 || files[0] != v.file)
		return r < 0 ? r : 0;
	return store_version_of(w->a->store, files[1], 0, ret);
}

/* May the version have been replaced by a newer one: can it be told as stale? 1 it is the last one of its file and
 * was not told of, 0, -errno. */
static int can_be_stale(struct watch *w, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(w->a->store, version, &v);
	if (r > 0)
		r = store_file(w->a->store, v.file, &f);
	if (r <= 0 || !version_is_current(&v, &f))
		return r < 0 ? r : 0;
	r = put_key(&w->staled, pub_key(&v.pub));
	return r < 0 ? r : !r;
}

/* Marks what the walk comes to from its root by a way that goes neither through `now` nor through an execution that
 * made it: who reads its own file and writes it again has not made with an old one what it made. ret has room for all
 * nodes. 0, -errno. */
static int mark_reached_otherwise(struct store *s, const struct lineage *l, store_id now, bool *ret)
{
	struct edges makers = {0};
	int r = store_gens(s, now, &makers);
	bool *shut = r < 0 ? NULL : calloc(l->n_nodes + 1, sizeof(*shut));
	uint32_t *queue = shut ? calloc(l->n_nodes + 1, sizeof(*queue)) : NULL;
	for (size_t i = 0; queue && i < l->n_nodes; i++) {
		shut[i] = !l->nodes[i].exec && l->nodes[i].id == now;
		for (size_t k = 0; k < makers.n && l->nodes[i].exec; k++)
			shut[i] |= makers.v[k].to == l->nodes[i].id;
	}
	for (size_t at = 0, n = queue && l->n_nodes ? 1 : 0; at < n; at++) { /* the root is node 0 */
		const struct lineage_node *node = &l->nodes[queue[at]];
		ret[queue[at]] = true;
		for (size_t k = node->first; k < node->first + node->n; k++) {
			const uint32_t next = lineage_other(&l->edges[k], queue[at]);
			if (!shut[next]) {
				shut[next] = true;
				queue[n++] = next;
			}
		}
	}
	edges_release(&makers);
	if (r >= 0 && !queue)
		r = -ENOMEM;
	free(shut);
	free(queue);
	return r < 0 ? r : 0;
}

/* Tells of what came from the version that was replaced, and is in `all`. 0, what `each` returned, -errno. */
static int tell_stale_of(struct watch *w, store_id was, store_id now, const struct idset *all, watch_each *each,
                         void *arg)
{
	struct lineage l = {0};
	struct lineage_options o = {
	    .direction = LINEAGE_DOWN, .skew = w->a->skew, .system_extra = w->a->system_extra, .seen_only = true};
	bool *sure = NULL, *old = NULL;
	int r = lineage_walk(w->a->store, &was, 1, &o, w->err, &l);
	if (r == 0) {
		sure = calloc(l.n_nodes + 1, sizeof(*sure));
		old = calloc(l.n_nodes + 1, sizeof(*old));
	}
	if (r == 0)
		r = sure && old ? lineage_certain(w->a->store, &l, &o, w->err, sure) : -ENOMEM;
	if (r == 0)
		r = mark_reached_otherwise(w->a->store, &l, now, old);
	for (size_t i = 1; i < l.n_nodes && r == 0; i++) {
		if (l.nodes[i].exec || !old[i] || !idset_has(all, l.nodes[i].id) || l.nodes[i].id == now)
			continue;
		r = can_be_stale(w, l.nodes[i].id);
		if (r <= 0)
			continue;
		r = each(arg, &(struct watch_event){WATCH_STALE, l.nodes[i].id, was, now, sure[i]});
	}
	free(old);
	free(sure);
	lineage_release(&l);
	return r;
}

/* Tells of the results that rest on what was replaced. 0, what `each` returned, -errno. */
static int tell_stale(struct watch *w, const struct idset *all, watch_each *each, void *arg)
{
	int r = 0;
	for (size_t i = 0; i < w->came.n && r == 0; i++) {
		store_id was;
		r = find_replaced(w, w->came.v[i], &was);
		if (r > 0)
			r = tell_stale_of(w, was, w->came.v[i], all, each, arg);
	}
	return r;
}

/* Versions from outside are told of by what they replace only. 0, -errno. */
static int note_told(struct watch *w)
{
	int r = 0;
	for (size_t i = 0; i < w->came.n && r >= 0; i++) {
		struct version_info v;
		if (idset_has(&w->news, w->came.v[i]))
			continue;
		r = store_version(w->a->store, w->came.v[i], &v);
		if (r > 0)
			r = put_key(&w->met, pub_key(&v.pub));
	}
	return r < 0 ? r : 0;
}

/* ---- looks ---- */

int watch_look(struct watch *w, struct err *err, watch_each *each, void *arg)
{
	struct idset all = {0}, sure = {0};
	w->err = err;
	bool viewing = store_view_begin(w->a->store, VIEW_WALK) == 0;
	int r = find_news(w);
	if (r == 0 && !w->first && (w->news.n || w->came.n)) {
		r = evaluate(w, false, &all);
		if (r == 0)
			r = evaluate(w, true, &sure);
		if (r == 0)
			r = tell_stale(w, &all, each, arg);
		if (r == 0)
			r = tell_news(w, &all, &sure, each, arg);
		if (r == 0)
			r = note_told(w);
	}
	for (size_t i = 0; i < w->ends.n && r >= 0; i++)
		if (put_key(&w->over, w->ends.v[i]) < 0)
			r = -ENOMEM;
	if (viewing)
		store_view_end(w->a->store);
	idset_release(&all);
	idset_release(&sure);
	w->first &= r < 0;
	return r;
}

int watch_new(const struct answer_source *a, const struct expr *e, enum expr_kind kind, struct err *err,
              struct watch **ret)
{
	struct idset all = {0};
	struct watch *w = calloc(1, sizeof(*w));
	*ret = w;
	if (!w)
		return -ENOMEM;
	*w = (struct watch){.a = a, .e = e, .kind = kind, .err = err, .first = true};
	int r = evaluate(w, false, &all); /* is it one at all, and of what there is? */
	idset_release(&all);
	return r < 0 ? r : watch_look(w, err, NULL, NULL);
}

/* NULL is no error. What w was made with stays. */
void watch_free(struct watch *w)
{
	if (!w)
		return;
	idmap_release(&w->over);
	vec_release(&w->ends);
	idmap_release(&w->fresh);
	live_release(&w->live);
	idmap_release(&w->met);
	idmap_release(&w->staled);
	idset_release(&w->news);
	idset_release(&w->came);
	free(w);
}

/* ---- JSON ---- */

/* Makes the object of a version. 0; -ENOENT: the record does not have it; -errno. *ret is the caller's. */
static int version_json(const struct answer_source *a, store_id id, json_t **ret)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(a->store, id, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r > 0)
		*ret = entity_json(&v, &f);
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

/* Puts the object of a version. As version_json; o is as it was where it is not 0. */
static int put_version(const struct answer_source *a, store_id id, json_t *o, const char *key)
{
	json_t *one = NULL;
	int r = version_json(a, id, &one);
	if (r == 0)
		js_put(o, key, one);
	return r;
}

int watch_json(const struct answer_source *a, const struct watch_event *e, json_t **ret)
{
	static const char *const names[] = {"made", "run", "execution", "stale"};
	json_t *o = json_object(), *one = NULL;
	struct run_info run;
	struct exec_info x;
	int r = 0;
	js_num(o, "format", 1);
	js_text(o, "event", names[e->what]);
	js_text(o, "certainty", e->sure ? "must" : "may");
	if (e->what == WATCH_RUN) {
		r = store_run(a->store, e->id, &run);
		if (r > 0)
			js_put(o, "run", run_json(a, &run));
	} else if (e->what == WATCH_EXECUTION) {
		r = store_exec(a->store, e->id, &x);
		if (r > 0)
			r = exec_json(a->store, &x, &one);
		if (one)
			js_put(o, "execution", one);
	} else {
		r = put_version(a, e->id, o, "entity");
	}
	if (r >= 0 && e->what == WATCH_STALE)
		r = put_version(a, e->was, o, "was");
	if (r >= 0 && e->what == WATCH_STALE)
		r = put_version(a, e->now, o, "now");
	if (r < 0)
		json_decref(o);
	else
		*ret = o;
	return r < 0 ? r : 0;
}
