/* in_toto.c - one run as an in-toto Statement (v1) with SLSA provenance (v1): what verifiers of builds read.
 *
 * Subjects are the regular files that the run made, had under their names when it ended, and whose SHA-256 is known:
 * recorded (stemma run --digest), or of the file itself where it still is that version. One that is not known is left
 * out and counted. What the run used and did not make are the dependencies, its programs among them; one without a
 * digest stays, by its place alone, for without it the statement would say that it was not needed. Files of the machine
 * are left out unless asked for, but not programs.
 *
 * Memory: 80 bytes and the path for each file of the run. Cost: reading the files whose digests are not recorded. */
#include "base/os/system.h"
#include "base/vec.h"
#include "export/export.h"
#include "export/jsonw.h"
#include "export/work.h"
#include "software/recorded.h"

#include <errno.h>

struct item {
	store_id version, file;
	uint64_t n; /* of the version */
	char *path;
	enum { USE_INPUT, USE_LIBRARY, USE_PROGRAM } use;
	bool made, known;
	struct digest digest;
};

struct statement {
	struct prov_source *p;
	struct store *s;
	store_id run;
	VEC(struct item) items;
	uint64_t left_out;
};

static const char *const use_name[] = {[USE_INPUT] = "input", [USE_LIBRARY] = "library", [USE_PROGRAM] = "program"};

/* ---- files ---- */

/* Is a path named in the command? By the last part of the path. */
static bool is_named_in_argv(const struct strlist *argv, struct str path)
{
	const char *slash = memrchr(path.p, '/', path.n);
	struct str word, base = slash ? str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
	for (size_t i = 0, at = 0; base.n && out_list_next(argv, &i, &at, &word);)
		if (memmem(word.p, word.n, base.p, base.n))
			return true;
	return false;
}

/* Is a file part of the work, and not of the machine? By its path it is not one of the machine's own programs, or
 * the command names it. */
static bool is_work(const struct statement *t, const struct strlist *argv, struct str path)
{
	const struct lineage_options *o = &prov_selection(t->p)->lineage;
	enum system_class c = o->all ? SYSTEM_NO : system_path(path, o->system_extra);
	return c == SYSTEM_NO || (c == SYSTEM_UNLESS_NAMED && is_named_in_argv(argv, path));
}

/* Is the edge one that the statement tells of: sure, or possible through data? */
static bool is_told_edge(const struct statement *t, const struct edge *e)
{
	if (e->via == TERM_via_sync)
		return false;
	return e->sure ||
	       (!prov_selection(t->p)->lineage.certain && (e->via == TERM_via_data || e->via == TERM_via_descriptor));
}

/* Adds a file to the materials or products. 0, also where it is no work of anybody's; -errno. */
static int append_item(struct statement *t, const struct exec_info *x, const struct edge *e, bool made)
{
	struct version_info v;
	struct file_info f;
	bool code = !made && e->mode & ACCESS_PROGRAM;
	if (!is_told_edge(t, e))
		return 0;
	int r = store_version(t->s, e->to, &v);
	r = r > 0 ? store_file(t->s, v.file, &f) : r;
	if (r <= 0 || f.kind != TERM_kind_regular || !f.path.n)
		return r;
	bool program = !made && (v.file == x->exe || v.file == x->script);
	if (!program && !is_work(t, &x->argv, f.path))
		return 0;
	struct item *to = vec_add(&t->items);
	if (!to)
		return -ENOMEM;
	*to = (struct item){.version = v.id, .file = v.file, .n = v.n, .path = strndup(f.path.p, f.path.n), .made = made};
	to->use = program ? USE_PROGRAM : code ? USE_LIBRARY : USE_INPUT;
	return to->path ? 0 : -ENOMEM;
}

/* Adds what the run's executions read and wrote. 0, -errno. */
static int append_run_items(struct statement *t)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges e = {0};
	int r = store_run_execs(t->s, t->run, &execs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct exec_info x;
		r = store_exec(t->s, execs[i], &x);
		if (r <= 0)
			continue;
		r = store_uses(t->s, execs[i], &e);
		for (size_t k = 0; r >= 0 && k < e.n; k++)
			r = append_item(t, &x, &e.v[k], false);
		r = r < 0 ? r : store_outputs(t->s, execs[i], &e);
		for (size_t k = 0; r >= 0 && k < e.n; k++)
			r = append_item(t, &x, &e.v[k], true);
	}
	edges_release(&e);
	free(execs);
	return r < 0 ? r : 0;
}

/* Compares two items by version, what was made first. */
static int compare_items_by_version(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return a->made != b->made ? (a->made ? -1 : 1) : (int)b->use - (int)a->use;
}

/* Order of qsort: by path, then by version. */
static int compare_items_by_path(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	int c = strcmp(a->path, b->path);
	return c ? c : (a->n > b->n) - (a->n < b->n);
}

/* Did what was made there keep its name, until `end` or (TIME_NONE) now? 1, 0, -errno. */
static int has_stayed(struct statement *t, const struct item *i, int64_t end)
{
	struct file_info f;
	if (end != TIME_NONE)
		return store_named_at(t->s, i->file, str_of(i->path), end);
	int r = store_file(t->s, i->file, &f);
	return r > 0 ? f.named : r;
}

/* Is item i the last of its file that was made, of those from `next` on? */
static bool is_last_made(const struct item *v, size_t n, size_t i, size_t next)
{
	for (size_t k = next; k < n && v[k].file == v[i].file; k++)
		if (v[k].made)
			return false;
	return true;
}

/* Removes items that are not results. Of each version one, of each file that was made the last, and only what
 * stayed. end: of the run. Sorted by path. 0, -errno. */
static int reduce_items(struct statement *t, int64_t end)
{
	struct item *v = t->items.v;
	size_t kept = 0;
	int r = 0;
	if (t->items.n)
		qsort(v, t->items.n, sizeof(*v), compare_items_by_version);
	for (size_t i = 0, next; i < t->items.n; i = next) {
		for (next = i + 1; next < t->items.n && v[next].version == v[i].version; next++)
			free(v[next].path);
		bool keep = !v[i].made || is_last_made(v, t->items.n, i, next);
		if (keep && v[i].made && r >= 0) {
			r = has_stayed(t, &v[i], end);
			keep = r > 0;
		}
		if (keep)
			v[kept++] = v[i];
		else
			free(v[i].path);
	}
	t->items.n = kept;
	if (kept)
		qsort(v, kept, sizeof(*v), compare_items_by_path);
	return r < 0 ? r : 0;
}

/* Gives each item its recorded digest, else that of a file that is still as recorded, which reads the file. t->left_out
 * counts what was made and has none. 0 or -errno. */
static int find_or_compute_digests(struct statement *t)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < t->items.n; i++) {
		struct item *x = &t->items.v[i];
		struct version_info v;
		struct file_info f;
		r = store_version(t->s, x->version, &v);
		r = r > 0 ? store_file(t->s, v.file, &f) : r;
		if (r > 0) {
			r = recorded_digest(t->s, t->run, &f, &v, &x->digest);
			r = r ? r : recorded_digest_now(t->s, &f, &v, &x->digest);
			x->known = r > 0;
		}
		t->left_out += x->made && !x->known;
	}
	return r < 0 ? r : 0;
}

/* ---- the document ---- */

/* Writes a digest, as a member of the object that is being written. */
static void write_digest_object(struct jsonw *j, const struct digest *d)
{
	char text[DIGEST_TEXT];
	digest_text(d, text);
	jsonw_key(j, "", "digest");
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "sha256", text + strlen("sha256:"));
	jsonw_close(j, '}');
}

/* Writes the URI of a file: file://HOST/PATH, with what a URI does not allow escaped. */
static void put_uri(struct jsonw *j, struct str host, const char *path)
{
	jsonw_key(j, "", "uri");
	out_text(j->out, "\"file://");
	out_uri(j->out, host);
	out_uri(j->out, str_of(path));
	out_char(j->out, '"');
	j->comma = true;
}

/* How many were written; of what was made only those with a digest. */
static size_t write_item_list(struct jsonw *j, const struct statement *t, const struct run_info *run, bool made)
{
	size_t n = 0;
	jsonw_open(j, '[');
	for (size_t i = 0; i < t->items.n; i++) {
		const struct item *x = &t->items.v[i];
		if (x->made != made || (made && !x->known))
			continue;
		n++;
		jsonw_line(j, made ? 2 : 4);
		jsonw_open(j, '{');
		jsonw_pair(j, "name", "", work_path_from(run->cwd, str_of(x->path)));
		put_uri(j, run->host, x->path);
		if (x->known)
			write_digest_object(j, &x->digest);
		if (!made) {
			jsonw_key(j, "", "annotations");
			jsonw_open(j, '{');
			jsonw_pair_cstr(j, "usage", use_name[x->use]);
			jsonw_close(j, '}');
		}
		jsonw_close(j, '}');
	}
	jsonw_close(j, ']');
	return n;
}

/* Writes who ran it, as a member of the object that is being written: the host. */
static void put_builder(struct jsonw *j, const struct run_info *run)
{
	jsonw_key(j, "", "builder");
	jsonw_open(j, '{');
	jsonw_key(j, "", "id");
	out_text(j->out, "\"stemma://");
	out_uri(j->out, run->host);
	out_text(j->out, "\"");
	j->comma = true;
	jsonw_close(j, '}');
}

/* Puts the metadata of the run. When it began and ended, its status, and what its record lacks; what is not known is
 * left out. */
static void put_metadata(struct jsonw *j, const struct run_info *run)
{
	jsonw_key(j, "", "metadata");
	jsonw_open(j, '{');
	jsonw_pair(j, "invocationId", "", run->ulid);
	if (run->start != TIME_NONE) {
		jsonw_key(j, "", "startedOn");
		jsonw_time(j, run->start);
	}
	if (run->end != TIME_NONE) {
		jsonw_key(j, "", "finishedOn");
		jsonw_time(j, run->end);
	}
	if (run->ending == TERM_ending_exited || run->ending == TERM_ending_signaled) {
		jsonw_key(j, "", run->ending == TERM_ending_exited ? "stemma_exitStatus" : "stemma_exitSignal");
		jsonw_count(j, run->code);
	}
	jsonw_key(j, "", "stemma_completeness");
	jsonw_open(j, '[');
	for (unsigned i = 1; i < 64; i++)
		if (run->gaps >> i & 1)
			jsonw_cstr(j, term_name(SET_gap, i));
	jsonw_close(j, ']');
	jsonw_close(j, '}');
}

/* One line of JSON: the statement of one run. */
static void put_statement(struct out *out, const struct statement *t, const struct run_info *run)
{
	struct jsonw j = {.out = out};
	jsonw_open(&j, '{');
	jsonw_line(&j, 1);
	jsonw_pair_cstr(&j, "_type", "https://in-toto.io/Statement/v1");
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "subject");
	write_item_list(&j, t, run, true);
	jsonw_line(&j, 1);
	jsonw_pair_cstr(&j, "predicateType", "https://slsa.dev/provenance/v1");
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "predicate");
	jsonw_open(&j, '{');
	jsonw_line(&j, 2);
	jsonw_key(&j, "", "buildDefinition");
	jsonw_open(&j, '{');
	jsonw_line(&j, 3);
	jsonw_pair_cstr(&j, "buildType", STEMMA_NS "Run");
	jsonw_line(&j, 3);
	jsonw_key(&j, "", "externalParameters");
	jsonw_open(&j, '{');
	jsonw_key(&j, "", "command");
	jsonw_list(&j, &run->argv);
	jsonw_pair(&j, "workingDirectory", "", run->cwd);
	jsonw_close(&j, '}');
	jsonw_line(&j, 3);
	jsonw_key(&j, "", "resolvedDependencies");
	write_item_list(&j, t, run, false);
	jsonw_close(&j, '}');
	jsonw_line(&j, 2);
	jsonw_key(&j, "", "runDetails");
	jsonw_open(&j, '{');
	jsonw_line(&j, 3);
	put_builder(&j, run);
	jsonw_line(&j, 3);
	put_metadata(&j, run);
	jsonw_close(&j, '}');
	jsonw_close(&j, '}');
	out_char(out, '\n');
	jsonw_close(&j, '}');
	out_char(out, '\n');
	jsonw_release(&j);
}

/* Collects materials and products of the run, with their digests. 0; -ENOENT: there is no such run; -EINVAL: no
 * output has a digest; -errno; with a sentence. */
static int collect_run_items(struct statement *t, struct err *err)
{
	struct run_info run;
	int r = store_run(t->s, t->run, &run);
	if (r == 0) {
		err_set(err, 0, "the run is not recorded");
		return -ENOENT;
	}
	int64_t end = r > 0 ? run.end : TIME_NONE;
	r = r < 0 ? r : append_run_items(t);
	r = r < 0 ? r : reduce_items(t, end);
	r = r < 0 ? r : find_or_compute_digests(t);
	if (r < 0)
		return err_set(err, -r, "cannot read the record");
	size_t made = 0;
	for (size_t i = 0; i < t->items.n; i++)
		made += t->items.v[i].made;
	if (made > t->left_out)
		return 0;
	err_set(err, 0, "an in-toto statement needs files with digests, and none of the %zu outputs of the run has one",
	        made);
	if (made)
		err_hint(err, "stemma run --digest records them");
	return -EINVAL;
}

/* One run; -EINVAL: something else was selected. *o->left_out: outputs without a digest. */
int export_in_toto(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	const struct prov_select *sel = prov_selection(p);
	struct run_info run;
	if (sel->n_runs != 1 || sel->n_versions || sel->n_execs) {
		err_set(err, 0, "in-toto exports one run");
		err_hint(err, "stemma export --format in-toto RUN; stemma log lists the runs");
		return -EINVAL;
	}
	struct statement t = {.p = p, .s = prov_store(p), .run = sel->runs[0]};
	int r = collect_run_items(&t, err);
	if (r == 0 && (r = store_run(t.s, t.run, &run)) > 0) {
		put_statement(out, &t, &run);
		if (o->left_out)
			*o->left_out = t.left_out;
		r = 0;
	} else if (r < 0)
		err_set(err, -r, "cannot read the record");
	for (size_t i = 0; i < t.items.n; i++)
		free(t.items.v[i].path);
	vec_release(&t.items);
	return r;
}
