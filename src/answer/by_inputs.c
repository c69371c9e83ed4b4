#include "answer/by_inputs.h"

#include "answer/entities.h"
#include "base/hash.h"
#include "base/os/engine_paths.h"
#include "base/os/system.h"
#include "event/env.h"
#include "query/idmap.h"
#include "trust/content.h"

#include <errno.h>
#include <stdlib.h>

#define CONTENT_FILE (64ull << 20) /* bytes of a file that is digested for it */

/* What one run, or the executions of the command within one, used and made. */
struct collecting {
	const struct answer_source *a;
	struct by_inputs *b;
	const char *const *words;
	size_t n_words;
	const struct idset *only;
	struct idmap by_name[4]; /* hash of name -> aspect, by kind */
	struct idmap by_version; /* -> aspect and value, as (aspect + 1) and at[] below */
	VEC(uint32_t) value_of;  /* of those versions: the value's place */
	VEC(uint32_t) aspect_of;
};

/* Is the path the command's program? Of a command that is given with its folder only the name counts: the same may
 * be called in another way. */
static bool is_base(struct str path, const char *name)
{
	return str_eq(str_base_name(path), str_base_name(str_of(name)));
}

/* Do the arguments behind the place `at` begin with the rest of the words? */
static bool has_rest(const struct collecting *c, const struct strlist *argv, size_t at)
{
	struct str s;
	size_t i = 0, k = 1;
	for (size_t pos = 0; k < c->n_words && strlist_next(argv, &pos, &s); i++) {
		if (i <= at)
			continue;
		if (!str_is(s, c->words[k]))
			return false;
		k++;
	}
	return k == c->n_words;
}

/* Is it the command: by its program, or the script that follows an interpreter and its options? */
static bool is_command(const struct collecting *c, const struct strlist *argv)
{
	struct str s;
	size_t i = 0;
	for (size_t pos = 0; strlist_next(argv, &pos, &s); i++) {
		if (i && s.n && s.p[0] == '-')
			continue;
		if (is_base(s, c->words[0]))
			return has_rest(c, argv, i);
		if (i)
			return false;
	}
	return false;
}

static void value_release(struct by_value *v)
{
	free(v->key);
	free(v->text);
}

/* The aspect of that kind and name. UINT32_MAX without memory. */
static uint32_t find_aspect(struct collecting *c, enum by_kind kind, struct str name)
{
	bool fresh;
	uint64_t hash = hash_bytes(name.p, name.n) | 1;
	uint32_t *at = idmap_add(&c->by_name[kind], hash, (uint32_t)c->b->aspects.n, &fresh);
	if (!at)
		return UINT32_MAX;
	if (!fresh)
		return *at;
	struct by_aspect *x = vec_add(&c->b->aspects);
	if (!x)
		return UINT32_MAX;
	*x = (struct by_aspect){.kind = kind, .name = strndup(name.p ? name.p : "", name.n)};
	return x->name ? *at : UINT32_MAX;
}

/* The place of a value of an aspect, which is made if there is none with that key. UINT32_MAX without memory. */
static uint32_t find_value(struct by_aspect *x, struct str key, struct str text, store_id version)
{
	for (size_t i = 0; i < x->values.n; i++)
		if (str_is(key, x->values.v[i].key))
			return (uint32_t)i;
	struct by_value *v = vec_add(&x->values);
	if (!v)
		return UINT32_MAX;
	*v = (struct by_value){
	    .key = strndup(key.p ? key.p : "", key.n), .text = strndup(text.p ? text.p : "", text.n), .version = version};
	return v->key && v->text ? (uint32_t)(x->values.n - 1) : UINT32_MAX;
}

/* The run has this value. 0 or -ENOMEM. */
static int set_value(struct by_run *r, uint32_t aspect, uint32_t value)
{
	if (aspect == UINT32_MAX || value == UINT32_MAX)
		return -ENOMEM;
	if (aspect >= r->n_value) {
		size_t n = aspect + 16;
		uint32_t *more = realloc(r->value, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + r->n_value, 0, (n - r->n_value) * sizeof(*more));
		r->value = more;
		r->n_value = n;
	}
	r->value[aspect] = value + 1;
	return 0;
}

/* Notes a setting of one run: the value's text, and the key by which two are the same. 0, -ENOMEM. */
static int add_setting(struct collecting *c, struct by_run *r, enum by_kind kind, struct str name, struct str key,
                       struct str text)
{
	uint32_t aspect = find_aspect(c, kind, name);
	return aspect == UINT32_MAX ? -ENOMEM : set_value(r, aspect, find_value(&c->b->aspects.v[aspect], key, text, 0));
}

/* Says the variable nothing of how the command runs? */
static bool is_passing(struct str name)
{
	static const char *const names[] = {"PWD", "OLDPWD", "TMPDIR", "SHLVL", "TERM", "COLUMNS", "LINES", "_"};
	enum env_role role;
	unsigned rank;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_is(name, names[i]))
			return true;
	return env_role(name, &role, &rank) || str_starts(name, str_of("STEMMA"));
}

/* Variables that change from run to run by themselves are left out. 0, -ENOMEM. */
static int add_variables(struct collecting *c, struct by_run *r, const struct strlist *env)
{
	struct str s;
	int rc = 0;
	for (size_t pos = 0; rc == 0 && strlist_next(env, &pos, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		struct str name = eq ? str_n(s.p, (size_t)(eq - s.p)) : str_of("");
		if (!eq || is_passing(name))
			continue;
		struct str value = str_n(eq + 1, s.n - name.n - 1);
		rc = add_setting(c, r, BY_VARIABLE, name, value, value);
	}
	return rc;
}

/* Compared by all words; shown with at most 400 columns. 0, -ENOMEM. */
static int add_command(struct collecting *c, struct by_run *r, const struct strlist *argv)
{
	struct buf text = {0};
	fmt_argv(&text, argv, true, 400);
	int rc = text.failed ? -ENOMEM : add_setting(c, r, BY_COMMAND, str_of("command"), argv->raw, buf_view(&text));
	buf_release(&text);
	return rc;
}

/* The place of the version among the values of an aspect; UINT32_MAX without memory. */
static uint32_t find_version_value(struct collecting *c, uint32_t aspect, const struct version_info *v,
                                   const struct file_info *f, const char *digest)
{
	struct buf text = {0};
	version_name(&text, v, f);
	uint32_t value = UINT32_MAX;
	if (aspect != UINT32_MAX && !text.failed)
		value = find_value(&c->b->aspects.v[aspect], str_of(*digest ? digest : v->pub.text), buf_view(&text), v->id);
	buf_release(&text);
	return value;
}

/* A file's name from the run's folder. */
static struct str name_from(struct str path, struct str cwd)
{
	bool below = cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n + 1 && path.p[cwd.n] == '/';
	return below ? str_n(path.p + cwd.n + 1, path.n - cwd.n - 1) : path;
}

/* What the version is to any run is remembered: runs of one command mostly share a folder. 0 or -ENOMEM. */
static int remember_version(struct collecting *c, store_id version, uint32_t aspect, uint32_t value)
{
	bool fresh;
	uint32_t *at = idmap_add(&c->by_version, version, (uint32_t)c->value_of.n, &fresh);
	uint32_t *v = at ? vec_add(&c->value_of) : NULL, *x = v ? vec_add(&c->aspect_of) : NULL;
	if (!x)
		return -ENOMEM;
	*v = value;
	*x = aspect;
	return 0;
}

/* A version that the run read. 0, also where the record does not have it (any more); -errno. It is digested now where
 * no run told a digest. */
static int add_input(struct collecting *c, struct by_run *r, store_id version, struct str cwd)
{
	struct version_info v;
	struct file_info f;
	char digest[DIGEST_TEXT] = "";
	const uint32_t *at = idmap_find(&c->by_version, version);
	if (at)
		return set_value(r, c->aspect_of.v[*at], c->value_of.v[*at]);
	int rc = store_version(c->a->store, version, &v);
	if (rc == 1)
		rc = store_file(c->a->store, v.file, &f);
	if (rc != 1)
		return rc;
	rc = digest_told(c->a->store, &v, &f, digest);
	if (rc < 0)
		return rc;
	if (!rc)
		content_now(NULL, &v, &f, CONTENT_FILE, digest);
	uint32_t aspect = find_aspect(c, BY_INPUT, name_from(f.path, cwd));
	uint32_t value = find_version_value(c, aspect, &v, &f, digest);
	rc = set_value(r, aspect, value);
	return rc < 0 ? rc : remember_version(c, version, aspect, value);
}

/* Is it a file of somebody's work, with versions? 1, 0, -errno. */
static int is_input_file(const struct collecting *c, store_id version, store_id *ret_file)
{
	struct version_sort v;
	int rc = store_version_sort(c->a->store, version, &v);
	*ret_file = rc == 1 ? v.file : 0;
	return rc != 1 ? rc
	               : v.kind == TERM_kind_regular && !v.within && v.path.n && v.path.p[0] == '/' &&
	                     !engine_bookkeeping(v.path) && system_path(v.path, c->a->system_extra) == SYSTEM_NO;
}

/* The files that these executions wrote. Adds the files to ret, which may have others. 0, -errno. */
static int collect_written(const struct collecting *c, const store_id *execs, size_t n, struct idmap *ret)
{
	struct edges e = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_outputs(c->a->store, execs[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++) {
			struct version_sort v;
			bool fresh;
			rc = store_version_sort(c->a->store, e.v[k].to, &v);
			if (rc == 1)
				rc = idmap_add(ret, v.file, 1, &fresh) ? 0 : -ENOMEM;
		}
	}
	edges_release(&e);
	return rc;
}

/* What the run wrote itself is no input, nor what was used for an order alone. 0, -errno. */
static int collect_inputs(struct collecting *c, struct by_run *r, const store_id *execs, size_t n, struct str cwd)
{
	struct idmap written = {0};
	struct edges e = {0};
	int rc = collect_written(c, execs, n, &written);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_uses(c->a->store, execs[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++) {
			store_id file;
			if (e.v[k].via == TERM_via_sync || !(e.v[k].mode & (ACCESS_READ | ACCESS_PROGRAM)))
				continue;
			rc = is_input_file(c, e.v[k].to, &file);
			if (rc == 1)
				rc = idmap_find(&written, file) ? 0 : add_input(c, r, e.v[k].to, cwd);
		}
	}
	edges_release(&e);
	idmap_release(&written);
	return rc < 0 ? rc : 0;
}

/* Of the run's executions those of the command, with what they started, to the front of v; how many. 0 none, -errno. */
static ssize_t keep_command(const struct collecting *c, store_id *v, size_t n)
{
	struct idmap in = {0};
	size_t kept = 0;
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct exec_brief x;
		bool fresh;
		rc = store_exec_brief(c->a->store, v[i], &x);
		if (rc != 1 || !(is_command(c, &x.argv) || (x.parent && idmap_find(&in, x.parent))))
			continue;
		if (!idmap_add(&in, v[i], 1, &fresh))
			rc = -ENOMEM;
		v[kept++] = v[i];
	}
	idmap_release(&in);
	return rc < 0 ? rc : (ssize_t)kept;
}

/* The settings of the first of the executions that is a program's. 0, -errno. */
static int add_settings(struct collecting *c, struct by_run *r, const struct strlist *argv, const store_id *execs,
                        size_t n)
{
	struct exec_info x;
	int rc = argv ? add_command(c, r, argv) : 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_exec(c->a->store, execs[i], &x);
		if (rc < 0)
			return rc;
		bool program = rc == 1 && x.n;
		rc = 0;
		if (!program)
			continue;
		rc = argv ? 0 : add_command(c, r, &x.argv);
		return rc < 0 ? rc : add_variables(c, r, &x.env);
	}
	return rc < 0 ? rc : 0;
}

/* Which executions of the run count: *ret_n of *ret, to be freed. 0 or -errno. */
static int choose_execs(const struct collecting *c, store_id run, bool own, store_id **ret, size_t *ret_n)
{
	int rc = store_run_execs(c->a->store, run, ret, ret_n);
	if (rc < 0 || own)
		return rc < 0 ? rc : 0;
	ssize_t kept = keep_command(c, *ret, *ret_n);
	*ret_n = kept > 0 ? (size_t)kept : 0;
	return kept < 0 ? (int)kept : 0;
}

/* What the run is told by: command line (NULL: that of the first execution), variables, host, inputs. */
static int add_aspects(struct collecting *c, struct by_run *r, const struct strlist *argv, struct str host,
                       struct str cwd, const store_id *execs, size_t n)
{
	int rc = add_setting(c, r, BY_HOST, str_of("host"), host, host);
	if (rc == 0)
		rc = add_settings(c, r, argv, execs, n);
	return rc < 0 ? rc : collect_inputs(c, r, execs, n, cwd);
}

/* The run as yet without inputs. The ULID is copied, the rest of info is not kept. */
static struct by_run begin_run(const struct run_info *info)
{
	struct by_run r = {.id = info->id, .start = info->start, .ending = info->ending, .code = info->code};
	snprintf(r.ulid, sizeof(r.ulid), "%.*s", (int)info->ulid.n, info->ulid.p ? info->ulid.p : "");
	return r;
}

/* One run, if it is one of the command, or has it inside. 0 or -errno. */
static int add_run(struct collecting *c, const struct run_info *info)
{
	store_id *execs = NULL;
	size_t n = 0;
	bool own = is_command(c, &info->argv);
	if (!own && !c->b->inside)
		return 0;
	if (!c->only && run_rerun_of(info).n) {
		c->b->reruns++;
		return 0;
	}
	struct by_run r = begin_run(info);
	struct buf cwd = {0}, raw = {0}, host = {0}; /* the store's own are gone at its next answer */
	buf_str(&cwd, info->cwd);
	buf_str(&raw, info->argv.raw);
	buf_str(&host, info->host);
	struct strlist argv = {.raw = buf_view(&raw), .count = info->argv.count};
	int rc = cwd.failed || raw.failed || host.failed ? -ENOMEM : choose_execs(c, info->id, own, &execs, &n);
	if (rc == 0 && n)
		rc = add_aspects(c, &r, own ? &argv : NULL, buf_view(&host), buf_view(&cwd), execs, n);
	struct by_run *slot = rc == 0 && n ? vec_add(&c->b->runs) : NULL;
	if (slot)
		*slot = r;
	else
		free(r.value);
	free(execs);
	buf_release(&cwd);
	buf_release(&raw);
	buf_release(&host);
	return rc < 0 ? rc : n && !slot ? -ENOMEM : 0;
}

/* Runs that are not in c->only are passed over; stops at `most` runs. 0, -errno. */
static int add_runs(struct collecting *c, const store_id *ids, size_t n, uint64_t most)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < n && c->b->runs.n < most; i++) {
		struct run_info info;
		if (c->only && !idset_has(c->only, ids[i]))
			continue;
		rc = store_run(c->a->store, ids[i], &info);
		if (rc == 1)
			rc = add_run(c, &info);
	}
	return rc < 0 ? rc : 0;
}

/* ---- groups ---- */

const struct by_value *by_inputs_value(const struct by_inputs *b, size_t run, size_t aspect)
{
	const struct by_run *r = &b->runs.v[run];
	uint32_t at = aspect < r->n_value ? r->value[aspect] : 0;
	return at ? &b->aspects.v[aspect].values.v[at - 1] : NULL;
}

bool by_inputs_is_odd(const struct by_inputs *b, size_t run, size_t aspect)
{
	return !b->aspects.v[aspect].varies &&
	       by_inputs_value(b, run, aspect) != by_inputs_value(b, b->groups.v[0].first, aspect);
}

/* Three runs or more, and each has one of its own. */
static void find_varying(struct by_inputs *b)
{
	for (size_t k = 0; k < b->aspects.n; k++) {
		size_t with = 0;
		for (size_t i = 0; i < b->runs.n; i++)
			with += by_inputs_value(b, i, k) != NULL;
		b->aspects.v[k].varies = b->runs.n >= 3 && with == b->runs.n && b->aspects.v[k].values.n == with;
	}
}

/* Whether both runs have the same value of each aspect that does not vary by itself. */
static bool is_alike(const struct by_inputs *b, size_t one, size_t other)
{
	for (size_t k = 0; k < b->aspects.n; k++)
		if (!b->aspects.v[k].varies && by_inputs_value(b, one, k) != by_inputs_value(b, other, k))
			return false;
	return true;
}

/* The hash of the values by which runs are grouped; never 0. Runs that are alike have the same. */
static uint64_t hash_run(const struct by_inputs *b, size_t run)
{
	uint64_t h = 1;
	for (size_t k = 0; k < b->aspects.n; k++) {
		const struct by_value *v = b->aspects.v[k].varies ? NULL : by_inputs_value(b, run, k);
		uint64_t place = v ? 1 + (uint64_t)(v - b->aspects.v[k].values.v) : 0;
		h = hash_more(h, &place, sizeof(place));
	}
	return h | 1;
}

/* Runs come the latest first, so groups do, too; the largest is put before them. 0, -ENOMEM. Group 0 is the largest
 * only after put_usual_first. */
static int make_groups(struct by_inputs *b)
{
	struct idmap by_hash = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < b->runs.n; i++) {
		bool fresh = false;
		uint64_t h = hash_run(b, i);
		uint32_t *at = idmap_add(&by_hash, h, (uint32_t)b->groups.n, &fresh);
		while (at && !fresh && !is_alike(b, i, b->groups.v[*at].first)) /* another one of that hash */
			at = idmap_add(&by_hash, h += 2, (uint32_t)b->groups.n, &fresh);
		struct by_group *g = !at ? NULL : fresh ? vec_add(&b->groups) : &b->groups.v[*at];
		if (!g) {
			rc = -ENOMEM;
			break;
		}
		if (fresh)
			*g = (struct by_group){.first = (uint32_t)i};
		g->n++;
		b->runs.v[i].group = *at;
	}
	idmap_release(&by_hash);
	return rc;
}

/* Moves the largest group to the front; those before it move back by one, and the runs' numbers of groups with them. */
static void put_usual_first(struct by_inputs *b)
{
	uint32_t usual = 0;
	for (uint32_t g = 1; g < b->groups.n; g++)
		usual = b->groups.v[g].n > b->groups.v[usual].n ? g : usual;
	if (!usual)
		return;
	struct by_group first = b->groups.v[usual];
	memmove(&b->groups.v[1], &b->groups.v[0], usual * sizeof(first));
	b->groups.v[0] = first;
	for (size_t i = 0; i < b->runs.n; i++) {
		uint32_t *g = &b->runs.v[i].group;
		*g = *g == usual ? 0 : *g < usual ? *g + 1 : *g;
	}
}

int by_inputs_find(const struct answer_source *a, const char *const *words, size_t n, const struct idset *only,
                   uint64_t most, struct by_inputs *ret)
{
	struct collecting c = {.a = a, .b = ret, .words = words, .n_words = n, .only = only};
	store_id *ids = NULL;
	size_t n_ids = 0;
	*ret = (struct by_inputs){0};
	most = most && most < BY_INPUTS_MOST ? most : BY_INPUTS_MOST;
	int rc = store_runs(a->store, UINT64_MAX, &ids, &n_ids);
	if (rc >= 0)
		rc = add_runs(&c, ids, n_ids, most);
	if (rc == 0 && !ret->runs.n) {
		ret->inside = true;
		ret->reruns = 0;
		rc = add_runs(&c, ids, n_ids, most);
	}
	find_varying(ret);
	if (rc == 0)
		rc = make_groups(ret);
	if (rc == 0 && ret->groups.n)
		put_usual_first(ret);
	for (size_t i = 0; i < 4; i++)
		idmap_release(&c.by_name[i]);
	idmap_release(&c.by_version);
	vec_release(&c.value_of);
	vec_release(&c.aspect_of);
	free(ids);
	return rc;
}

/* Its lists are empty then. */
void by_inputs_release(struct by_inputs *b)
{
	for (size_t i = 0; i < b->runs.n; i++)
		free(b->runs.v[i].value);
	for (size_t k = 0; k < b->aspects.n; k++) {
		for (size_t i = 0; i < b->aspects.v[k].values.n; i++)
			value_release(&b->aspects.v[k].values.v[i]);
		vec_release(&b->aspects.v[k].values);
		free(b->aspects.v[k].name);
	}
	vec_release(&b->runs);
	vec_release(&b->aspects);
	vec_release(&b->groups);
}

/* ---- words ---- */

int by_inputs_change(const struct answer_source *a, const struct by_value *usual, const struct by_value *other,
                     struct buf *out)
{
	struct version_info x, y;
	struct edges gens = {0};
	if (!usual || !other || store_version(a->store, usual->version, &x) != 1 ||
	    store_version(a->store, other->version, &y) != 1)
		return 0;
	const struct version_info *later = x.start > y.start ? &x : &y;
	int rc = store_gens(a->store, later->id, &gens);
	if (rc == 0 && gens.n) {
		buf_printf(out, ": changed by ");
		rc = exec_name(a->store, gens.v[0].to, true, 100, out);
	} else if (rc == 0) {
		buf_printf(out, ": modified outside the recorded runs");
	}
	if (rc == 0) {
		buf_printf(out, gens.n ? ", " : ", before ");
		fmt_time(out, later->start, true);
	}
	edges_release(&gens);
	return rc;
}

/* The value as a JSON string. NULL becomes JSON's null. The caller owns it. */
static json_t *value_json(const struct by_value *v)
{
	return v ? js_string(str_of(v->text)) : json_null();
}

/* What a group has otherwise than the usual one, or, of that itself, what it has. *ret is the caller's. 0; -errno, then
 * *ret is not set. */
static int group_json(const struct answer_source *a, const struct by_inputs *b, uint32_t group, json_t **ret)
{
	static const char *const kinds[] = {"input", "command", "variable", "host"};
	json_t *o = json_object(), *runs = json_array(), *list = json_array();
	uint32_t first = b->groups.v[group].first;
	for (size_t i = 0; i < b->runs.n; i++)
		if (b->runs.v[i].group == group)
			js_add(runs, json_string(b->runs.v[i].ulid));
	for (size_t k = 0; k < b->aspects.n; k++) {
		const struct by_aspect *x = &b->aspects.v[k];
		const struct by_value *v = by_inputs_value(b, first, k);
		if (x->varies || (group ? !by_inputs_is_odd(b, first, k) : !v))
			continue;
		json_t *one = json_object();
		js_text(one, "kind", kinds[x->kind]);
		js_str(one, "name", str_of(x->name));
		js_put(one, "value", value_json(v));
		if (group)
			js_put(one, "usual", value_json(by_inputs_value(b, b->groups.v[0].first, k)));
		if (v && v->version) {
			struct version_info info;
			int rc = store_version(a->store, v->version, &info);
			if (rc < 0) {
				json_decref(o);
				json_decref(runs);
				json_decref(list);
				json_decref(one);
				return rc;
			}
			js_text(one, "version", info.pub.text);
		}
		js_add(list, one);
	}
	js_bool(o, "odd", group != 0);
	js_put(o, "runs", runs);
	js_put(o, group ? "differs" : "has", list);
	*ret = o;
	return 0;
}

int by_inputs_json(const struct answer_source *a, const struct by_inputs *b, json_t **ret)
{
	json_t *o = json_object(), *groups = json_array(), *varies = json_array();
	int rc = 0;
	for (uint32_t g = 0; rc == 0 && g < b->groups.n; g++) {
		json_t *one = NULL;
		rc = group_json(a, b, g, &one);
		if (rc == 0)
			js_add(groups, one);
	}
	for (size_t k = 0; k < b->aspects.n; k++)
		if (b->aspects.v[k].varies)
			js_add(varies, js_string(str_of(b->aspects.v[k].name)));
	js_num(o, "format", 1);
	js_num(o, "runs", b->runs.n);
	js_bool(o, "inside", b->inside);
	js_num(o, "reruns", b->reruns);
	js_put(o, "groups", groups);
	js_put(o, "different_in_each", varies);
	if (rc < 0)
		json_decref(o);
	else
		*ret = o;
	return rc;
}
