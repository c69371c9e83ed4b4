/* diff_items.c - the differences between two sides whose executions are paired, category by category. */
#include "query/diff/diff_int.h"
#include "query/scripts.h"
#include "query/stages/stages.h"

#include <errno.h>
#include <stdlib.h>

/* NULL without memory. Valid until the next is appended. */
struct diff_item *diff_items_append(struct items *it, enum diff_category category, enum diff_kind kind,
                                    struct str subject)
{
	if (!diff_room(it->v, it->n, it->cap))
		return NULL;
	it->v[it->n] = (struct diff_item){.category = category,
	                                  .kind = kind,
	                                  .subject = diff_keep_text(it->text, subject),
	                                  .when = TIME_NONE,
	                                  .count = 1,
	                                  .rooted = true};
	return &it->v[it->n++];
}

/* ---- files ---- */

/* v ends with NULL. */
static bool has_suffix(struct str path, const char *const *v)
{
	for (; *v; v++)
		if (str_ends(path, str_of(*v)))
			return true;
	return false;
}

/* Whether a name looks like settings rather than data. */
static bool is_configuration(struct str path)
{
	static const char *const ends[] = {".ini", ".conf", ".cfg", ".config", ".toml",       ".yaml",   ".yml",  ".json",
	                                   ".xml", ".nml",  ".env", ".rc",     ".properties", ".params", ".opts", NULL};
	return has_suffix(path, ends) || str_starts(path, str_of("/etc/")) || memmem(path.p, path.n, "/config/", 8) ||
	       memmem(path.p, path.n, "/.config/", 9);
}

/* A program, script or shared library. */
static bool is_program_path(const struct dpath *p)
{
	const char *so = memmem(p->path.p, p->path.n, ".so", 3);
	return p->mode & ACCESS_PROGRAM || (so && (so + 3 == p->path.p + p->path.n || so[3] == '.'));
}

/* 0 the same, 1 differ, 2 made anew with nothing to tell them apart by. */
static int compare_versions(const struct dversion *a, const struct dversion *b)
{
	if (a->id == b->id)
		return 0;
	if (!a->has_size || !b->has_size)
		return 2;
	if (a->size != b->size)
		return 1;
	return a->mtime == b->mtime && a->mtime != TIME_NONE ? 0 : 2;
}

/* Which execution made the version: one that is seen writing it rather than one that may have. 0: not known. */
static int find_maker(struct store *s, store_id version, store_id *ret)
{
	struct edges e = {0};
	int r = store_gens(s, version, &e);
	for (size_t k = 0; r == 0 && k < e.n; k++)
		if (!*ret || e.v[k].via == TERM_via_data || e.v[k].via == TERM_via_descriptor)
			*ret = e.v[k].to;
	edges_release(&e);
	return r;
}

/* Who made the later of the two versions, and when; of what nobody was seen writing, when its time of modification
 * says. 0, -errno. */
static int find_change(struct store *s, const struct dversion *a, const struct dversion *b, struct diff_item *i)
{
	const struct dversion *later = !a ? b : !b || a->end > b->end ? a : b;
	i->unseen = later->origin != ORIGIN_OBSERVED;
	i->when = i->unseen && later->mtime != TIME_NONE ? later->mtime : later->end;
	if (a && b && a->file == b->file)
		i->changes = a->n > b->n ? a->n - b->n : b->n - a->n;
	return i->unseen ? 0 : find_maker(s, later->id, &i->changed_by);
}

/* The execution that used the version first. 0: nobody used it. */
static store_id find_first_user(const struct side *s, const struct dversion *v)
{
	return v && v->first_user != NONE ? s->execs[v->first_user].id : 0;
}

/* The version with that number on its side. NULL for NONE. */
static const struct dversion *version_of(const struct side *s, uint32_t i)
{
	return i == NONE ? NULL : &s->versions[i];
}

/* a, b: the versions, NULL where the side has none. NULL: *rc is -errno. */
static struct diff_item *append_file_item(struct store *s, const struct side side[2], struct items *it,
                                          enum diff_category category, enum diff_kind kind, const struct dpath *p,
                                          const struct dversion *a, const struct dversion *b, int *rc)
{
	struct diff_item *i = diff_items_append(it, category, kind, p->path);
	if (!i) {
		*rc = -ENOMEM;
		return NULL;
	}
	i->a = a ? a->id : 0;
	i->b = b ? b->id : 0;
	i->exec_a = find_first_user(&side[0], a);
	i->exec_b = find_first_user(&side[1], b);
	*rc = find_change(s, a, b, i);
	return i;
}

/* A file that both have, as compare_versions found them. Not the same for sure: an item, but where the bytes are known
 * to be the same only of a program, of which its build may tell something. *ret_same: no difference. 0, -ENOMEM. */
static int append_pair(struct store *s, const struct side side[2], struct items *it, enum diff_category category,
                       const struct dpath *any, const struct dversion *const v[2], bool *ret_same)
{
	int rc = 0, c = compare_versions(v[0], v[1]);
	bool asked = c == 2 && it->o->content && v[0]->has_size && v[1]->has_size;
	enum diff_content content = asked ? it->o->content(it->o->content_arg, v[0]->id, v[1]->id) : CONTENT_UNKNOWN;
	*ret_same = !c || content == CONTENT_SAME;
	if (!c || (content == CONTENT_SAME && category != DIFF_programs))
		return 0;
	struct diff_item *i =
	    append_file_item(s, side, it, category, c == 1 ? DIFF_CHANGED : DIFF_REWRITTEN, any, v[0], v[1], &rc);
	if (i) {
		i->content = content;
		i->rooted &= content != CONTENT_SAME;
	}
	return rc;
}

/* Did an interpreter read it as a script? 1, 0, -errno. */
static int is_script_of(struct store *s, const struct side *side, const struct dpath *p, const struct dversion *v)
{
	struct file_info f;
	store_id exe = v && v->first_user != NONE && script_may_be(p->path) ? side->execs[v->first_user].exe : 0;
	int r = exe ? store_file(s, exe, &f) : 0;
	return r > 0 ? script_is(f.path, p->path) : r;
}

/* Is the file, by either side, a program's text? 1, 0, -errno. */
static int is_program_pair(struct store *s, const struct side side[2], struct dpath *const p[2],
                           const struct dversion *const v[2])
{
	int r = (p[0] && is_program_path(p[0])) || (p[1] && is_program_path(p[1]));
	for (int k = 0; k < 2 && r == 0; k++)
		r = p[k] ? is_script_of(s, &side[k], p[k], v[k]) : 0;
	return r;
}

/* Of both sides what counts as input there; what one made for itself the other may have found there. False: of neither.
 */
static bool choose_inputs(const struct side side[2], struct dpath *const p[2], const struct dversion *ret[2])
{
	for (int k = 0; k < 2; k++)
		ret[k] = p[k] ? version_of(&side[k], p[k]->input) : NULL;
	if (!ret[0] && !ret[1])
		return false;
	for (int k = 0; k < 2; k++)
		if (!ret[k] && p[k])
			ret[k] = version_of(&side[k], p[k]->made);
	return true;
}

/* A file that one side alone read: v of the other side is NULL. */
static int append_lone_input(struct store *s, const struct side side[2], struct items *it, enum diff_category category,
                             struct dpath *const p[2], const struct dversion *const v[2])
{
	int has = v[1] != NULL, other = !has, rc = 0;
	const struct dpath *any = p[1] ? p[1] : p[0];
	bool absent = p[other] && p[other]->absent != NONE;
	/* Of the machine's files only programs, and those the other side looked for in vain, are worth a word. */
	if (any->system && category != DIFF_programs && !absent)
		return 0;
	struct diff_item *i =
	    append_file_item(s, side, it, category, has ? DIFF_ADDED : DIFF_REMOVED, any, v[0], v[1], &rc);
	if (i) {
		i->absent_before = absent;
		i->lonely = !absent && !v[has]->shared;
	}
	return rc;
}

/* Does it belong to the session of an MPI launcher, which makes such files for each run, or to what a workflow system
 * keeps of its runs? */
static bool is_session_file(struct str path)
{
	return memmem(path.p, path.n, "/pmix_dstor_", 12) || memmem(path.p, path.n, "/ompi.", 6) ||
	       stages_bookkeeping(path);
}

/* An item if the two inputs differ, or one has none. Counts in d what it could not compare. 0 or -errno. */
static int compare_input(struct store *s, const struct side side[2], struct items *it, struct dpath *const p[2],
                         struct diff *d)
{
	const struct dversion *v[2];
	const struct dpath *any = p[1] ? p[1] : p[0];
	bool same;
	if (!choose_inputs(side, p, v))
		return 0;
	if (any->system && is_session_file(any->path))
		return 0;
	int program = is_program_pair(s, side, p, v);
	if (program < 0)
		return program;
	enum diff_category category = program                       ? DIFF_programs
	                              : is_configuration(any->path) ? DIFF_configuration
	                                                            : DIFF_inputs;
	d->files_compared++;
	if (!v[0] || !v[1])
		return append_lone_input(s, side, it, category, p, v);
	int rc = append_pair(s, side, it, category, any, v, &same);
	d->same_files += rc == 0 && same;
	return rc;
}

/* An item if the two final versions differ, or one has none. 0 or -errno. */
static int compare_output(struct store *s, const struct side side[2], struct items *it, struct dpath *const p[2])
{
	const struct dversion *v[2];
	bool same;
	int rc = 0;
	for (int k = 0; k < 2; k++)
		v[k] = p[k] && !p[k]->system ? version_of(&side[k], p[k]->output) : NULL;
	const struct dpath *any = p[1] ? p[1] : p[0];
	if (!v[0] && !v[1])
		return 0;
	if (v[0] && v[1])
		return append_pair(s, side, it, DIFF_outputs, any, v, &same);
	struct diff_item *i =
	    append_file_item(s, side, it, DIFF_outputs, v[1] ? DIFF_ADDED : DIFF_REMOVED, any, v[0], v[1], &rc);
	if (i)
		i->possible = !v[v[1] != NULL]->sure;
	return rc;
}

/* The executions of side k that read files which only unpaired ones read. 0, -errno. */
static int find_side_users(const struct side *s, int k, struct items *it)
{
	struct idmap items = {0};
	bool new;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < it->n; i++) {
		store_id version = k ? it->v[i].b : it->v[i].a;
		if (it->v[i].lonely && version && !idmap_add(&items, version, i, &new))
			rc = -ENOMEM;
	}
	for (size_t u = 0; rc == 0 && items.n && u < s->n_uses; u++) {
		const struct duse *use = &s->uses[u];
		const uint32_t *item = idmap_find(&items, s->versions[use->version].id);
		if (!item)
			continue;
		if (!diff_room(it->users, it->n_users, it->cap_users))
			rc = -ENOMEM;
		else
			it->users[it->n_users++] = (struct concern){*item, {k ? NONE : use->exec, k ? use->exec : NONE}};
	}
	idmap_release(&items);
	return rc;
}

/* The order of paths, for qsort. */
static int path_cmp(const void *a, const void *b)
{
	return str_cmp(((const struct dpath *)a)->key, ((const struct dpath *)b)->key);
}

/* By path; path_cmp goes by the path with what differs from run to run masked. */
static int place_cmp(const void *a, const void *b)
{
	return str_cmp((*(struct dpath *const *)a)->path, (*(struct dpath *const *)b)->path);
}

/* Which path stands where in the order of both sides: less than 0 for the first side's alone, more for the second's. */
static int next_pair(struct side side[2], size_t i, size_t k, struct dpath *ret[2])
{
	ret[0] = i < side[0].n_paths ? &side[0].paths[i] : NULL;
	ret[1] = k < side[1].n_paths ? &side[1].paths[k] : NULL;
	int c = !ret[0] ? 1 : !ret[1] ? -1 : str_cmp(ret[0]->key, ret[1]->key);
	if (c < 0)
		ret[1] = NULL;
	if (c > 0)
		ret[0] = NULL;
	return c;
}

/* The paths that only one side has by their keys, each side's by their paths. 0 or -ENOMEM. */
static int paths_alone(struct side side[2], struct dpath **alone[2], size_t n[2])
{
	struct dpath *p[2];
	for (int k = 0; k < 2; k++) {
		n[k] = 0;
		alone[k] = calloc(side[k].n_paths + 1, sizeof(struct dpath *));
	}
	if (!alone[0] || !alone[1])
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < side[0].n_paths || k < side[1].n_paths;) {
		int c = next_pair(side, i, k, p);
		if (c < 0)
			alone[0][n[0]++] = p[0];
		if (c > 0)
			alone[1][n[1]++] = p[1];
		i += p[0] != NULL;
		k += p[1] != NULL;
	}
	for (int k = 0; k < 2; k++)
		if (n[k])
			qsort(alone[k], n[k], sizeof(struct dpath *), place_cmp);
	return 0;
}

/* A file below the directory of one side only has a key of its own on each: where its path is the same it is the same
 * file. 0, -ENOMEM. */
static int join_places(struct side side[2])
{
	struct dpath **alone[2];
	size_t n[2];
	bool joined = false;
	int rc = paths_alone(side, alone, n);
	for (size_t i = 0, k = 0; rc == 0 && i < n[0] && k < n[1];) {
		int c = place_cmp(&alone[0][i], &alone[1][k]);
		if (c == 0) {
			alone[0][i]->key = alone[1][k]->key;
			joined = true;
		}
		i += c <= 0;
		k += c >= 0;
	}
	if (joined)
		qsort(side[0].paths, side[0].n_paths, sizeof(*side[0].paths), path_cmp);
	free(alone[0]);
	free(alone[1]);
	return rc;
}

/* Items on files: inputs and outputs, path by path. 0 or -errno. */
int items_files(struct store *s, struct side side[2], struct items *it, struct diff *d)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < side[k].n_uses; i++)
			if (side[k].execs[side[k].uses[i].exec].partner != NONE)
				side[k].versions[side[k].uses[i].version].shared = true;
	for (int k = 0; k < 2; k++) /* the versions' places in this array are of no more use */
		if (side[k].n_paths)
			qsort(side[k].paths, side[k].n_paths, sizeof(*side[k].paths), path_cmp);
	int rc = join_places(side);
	for (size_t i = 0, k = 0; rc == 0 && (i < side[0].n_paths || k < side[1].n_paths);) {
		struct dpath *p[2];
		next_pair(side, i, k, p);
		i += p[0] != NULL;
		k += p[1] != NULL;
		rc = compare_input(s, side, it, p, d);
		if (rc == 0)
			rc = compare_output(s, side, it, p);
	}
	for (int k = 0; rc == 0 && k < 2; k++)
		rc = find_side_users(&side[k], k, it);
	return rc;
}

/* ---- variables ---- */

bool diff_split_variable(struct str entry, struct str *ret_name, struct str *ret_value)
{
	const char *eq = memchr(entry.p, '=', entry.n);
	if (!eq)
		return false;
	*ret_name = str_n(entry.p, (size_t)(eq - entry.p));
	*ret_value = str_n(eq + 1, entry.n - ret_name->n - 1);
	return true;
}

bool diff_find_variable(const struct strlist *l, struct str name, struct str *ret)
{
	struct str entry, n;
	for (size_t pos = 0; strlist_next(l, &pos, &entry);)
		if (diff_split_variable(entry, &n, ret) && str_eq(n, name))
			return true;
	return false;
}

/* ---- the sides as a whole ---- */

/* An item on the machine if the two differ. 0, -ENOMEM. */
static int one_fact(struct items *it, const char *name, struct str a, struct str b)
{
	if (str_eq(a, b))
		return 0;
	struct diff_item *i = diff_items_append(it, DIFF_machine, DIFF_CHANGED, str_of(name));
	if (!i)
		return -ENOMEM;
	i->before = diff_keep_text(it->text, a);
	i->after = diff_keep_text(it->text, b);
	return 0;
}

/* Items on what is told of the two machines. 0, -ENOMEM. */
static int host_facts(const struct side side[2], struct items *it)
{
	for (int k = 0; k < 2; k++) {
		struct str entry, name, value, there;
		for (size_t pos = 0; strlist_next(&side[k].host, &pos, &entry);) {
			if (!diff_split_variable(entry, &name, &value))
				continue;
			bool found = diff_find_variable(&side[!k].host, name, &there);
			if (found && (k || str_eq(value, there)))
				continue;
			struct diff_item *i = diff_items_append(it, DIFF_machine,
			                                        found ? DIFF_CHANGED
			                                        : k   ? DIFF_ADDED
			                                              : DIFF_REMOVED,
			                                        name);
			if (!i)
				return -ENOMEM;
			*(k ? &i->after : &i->before) = diff_keep_text(it->text, value);
			if (found)
				i->after = diff_keep_text(it->text, there);
		}
	}
	return 0;
}

/* How many pairs would have to move for the starts to be in one order: all but the longest increasing subsequence
 * (patience sorting; C. Schensted 1961). 0, -ENOMEM. */
static int append_order_item(const struct side side[2], struct items *it)
{
	uint32_t *top = malloc((side[0].n_execs + 1) * sizeof(*top));
	if (!top)
		return -ENOMEM;
	size_t piles = 0, n = 0;
	uint32_t moved = NONE;
	for (uint32_t i = 0; i < side[0].n_execs; i++) {
		const struct dexec *a = &side[0].execs[i];
		if (a->partner == NONE || !a->argv.count)
			continue;
		n++;
		size_t lo = 0, hi = piles;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (top[mid] < a->partner)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < piles && moved == NONE)
			moved = i;
		top[lo] = a->partner;
		piles += lo == piles;
	}
	free(top);
	if (n == piles)
		return 0;
	const struct dexec *x = &side[0].execs[moved];
	struct diff_item *i = diff_items_append(it, DIFF_order, DIFF_CHANGED, x->program);
	if (!i)
		return -ENOMEM;
	i->count = (uint32_t)(n - piles);
	i->exec_a = x->id;
	i->exec_b = side[1].execs[x->partner].id;
	return 0;
}

/* Items on the two runs as wholes: how they ended, machine, user, folder. 0, -ENOMEM. */
int items_sides(struct side side[2], struct items *it)
{
	int r = 0;
	if (side[0].info.what == DIFF_RUN && (side[0].ending != side[1].ending || side[0].code != side[1].code)) {
		struct buf b = {0};
		struct diff_item *i = diff_items_append(it, DIFF_outcome, DIFF_CHANGED, str_of("the run"));
		if (!i)
			return -ENOMEM;
		diff_format_ending(&b, side[0].ending, side[0].code);
		i->before = diff_keep_text(it->text, buf_view(&b));
		diff_format_ending(&b, side[1].ending, side[1].code);
		i->after = diff_keep_text(it->text, buf_view(&b));
		buf_release(&b);
	}
	r = one_fact(it, "host", side[0].hostname, side[1].hostname);
	if (r == 0)
		r = one_fact(it, "user", side[0].user, side[1].user);
	if (r == 0)
		r = one_fact(it, "directory", side[0].cwd, side[1].cwd);
	if (r == 0)
		r = host_facts(side, it);
	return r == 0 ? append_order_item(side, it) : r;
}
