/* stages_snakemake.c - which job of which rule: from the arguments of a job, Snakemake's log, and its metadata.
 *
 * The log has, for each job, a line "rule NAME:" and below it, farther in, "output: A, B", "jobid: 3", "wildcards:
 * k=v". The text is hostile: what does not fit is passed over, and all that comes of it is a name. */
#include "base/base64.h"
#include "base/map.h"
#include "base/os/engine_paths.h"
#include "query/stages/stages_int.h"

#include <ctype.h>
#include <errno.h>

/* ---- names ---- */

/* Does another NAME= begin there? */
static bool begins_wildcard(struct str s)
{
	size_t k = 0;
	while (k < s.n && (isalnum((unsigned char)s.p[k]) || s.p[k] == '_'))
		k++;
	return k && k < s.n && s.p[k] == '=';
}

/* "sample=A, unit=1": a value may have ", " in it, but what follows then is no NAME=. */
static int set_wildcards(struct stages *st, struct stage *g, struct str list, const char *between)
{
	struct buf b = {0};
	struct str gap = str_of(between);
	for (size_t i = 0; i < list.n; i++) {
		struct str rest = str_n(list.p + i, list.n - i);
		bool cut = i && str_starts(rest, gap) && begins_wildcard(str_n(rest.p + gap.n, rest.n - gap.n));
		buf_char(&b, cut || !list.p[i] ? '\0' : list.p[i]);
		i += cut ? gap.n - 1 : 0;
	}
	if (b.n) {
		buf_char(&b, '\0');
		g->wildcards = stages_keep(st, buf_view(&b));
		g->wildcards_n = b.n;
	}
	bool failed = b.failed || (list.n && !g->wildcards);
	buf_release(&b);
	return failed ? -ENOMEM : 0;
}

/* The stage of a job of the log. 0, -ENOMEM. */
static int stage_of_job(struct stage_run *r, uint32_t e, struct stages_job *j, uint32_t *ret)
{
	struct stages *st = r->st;
	if (j->stage == NOT_THERE) {
		struct stage *g = stages_add(st, &j->stage);
		if (!g)
			return -ENOMEM;
		*g = (struct stage){.kind = STAGE_RULE,
		                    .engine = ENGINE_SNAKEMAKE,
		                    .named = NAMED_LOG,
		                    .name = stages_keep(st, j->name),
		                    .job = j->number.n ? stages_keep(st, j->number) : NULL,
		                    .failed = j->failed,
		                    .workflow = r->x[e].id,
		                    .run = r->id};
		if (set_wildcards(st, g, j->wildcards, ", ") < 0)
			return -ENOMEM;
	}
	*ret = j->stage;
	return 0;
}

struct asked {
	struct stage_run *r;
	struct stages_plan *p;
	uint32_t e;
	struct stages_job *ret;
	store_id log; /* the version of the log */
	struct buf metadata;
};

/* arg: struct asked. 1: the job that makes this path is known, and nothing more is asked. */
static int ask_job(void *arg, store_id exec, store_id version, struct str path)
{
	struct asked *a = arg;
	(void)exec, (void)version;
	a->ret = stages_plan_job(a->p, path);
	return a->ret != NULL;
}

/* What Snakemake itself made for a job. 0, -ENOMEM. */
static int ask_made(void *arg, store_id exec, store_id version, struct str path)
{
	struct asked *a = arg;
	struct stages_job *j = engine_own_file(path) ? NULL : stages_plan_job(a->p, path);
	uint32_t stage;
	bool is_new;
	if (!j)
		return 0;
	int r = stage_of_job(a->r, a->e, j, &stage);
	if (r == 0 && !idmap_add(&a->r->st->made, hash_mix(exec, version) | 1, stage + 1, &is_new))
		r = -ENOMEM;
	return r;
}

/* arg: struct asked; keeps the log that was written. 0, -ENOMEM. */
static int ask_log(void *arg, store_id exec, store_id version, struct str path)
{
	static const char folder[] = "/.snakemake/log/";
	struct asked *a = arg;
	const char *at = memmem(path.p, path.n, folder, sizeof(folder) - 1);
	(void)exec;
	if (!at || !str_ends(path, str_of(".log")))
		return 0;
	a->log = version;
	char *kept = stages_keep(a->r->st, str_n(path.p, (size_t)(at - path.p)));
	a->p->folder = str_of(kept);
	return kept ? 0 : -ENOMEM;
}

/* Reads the plan from Snakemake's log, if it is as it was. 0 or -errno. */
static int load_log(struct stage_run *r, uint32_t e, struct stages_plan *p)
{
	struct asked a = {.r = r, .p = p, .e = e};
	int ret = stages_outputs(r->st, r->x[e].id, ask_log, &a);
	if (ret == 0 && a.log)
		ret = stages_read(r->st, a.log, &p->text);
	return ret > 0 ? stages_plan_parse(p) : ret;
}

/* ---- the metadata of an output ---- */

/* Did an execution of the run make the version? 1, 0, -errno. */
static int is_of_run(struct stages *st, store_id version, store_id run)
{
	struct edges e = {0};
	struct exec_brief x;
	int r = store_gens(st->s, version, &e), found = 0;
	for (size_t i = 0; i < e.n && r == 0 && !found; i++) {
		int got = store_exec_brief(st->s, e.v[i].to, &x);
		r = got < 0 ? got : 0;
		found = got > 0 && x.run == run;
	}
	edges_release(&e);
	return r < 0 ? r : found;
}

/* Reads the metadata of an output, which lies below the folder in which Snakemake worked, as the run left it. 1; 0
 * there is none, or the file is another one now; -errno. */
static int read_metadata(struct stages *st, store_id run, struct str folder, struct str path, struct buf *ret)
{
	struct buf at = {0};
	store_id file, last;
	buf_reset(ret);
	if (!str_starts(path, folder) || path.n <= folder.n + 1 || path.n - folder.n > 150)
		return 0;
	buf_str(&at, folder);
	buf_printf(&at, "/.snakemake/metadata/");
	base64_append(&at, str_n(path.p + folder.n + 1, path.n - folder.n - 1));
	int r = at.failed ? -ENOMEM : store_files_by_path(st->s, buf_view(&at), &file, 1);
	if (r > 0)
		r = store_version_of(st->s, file, 0, &last);
	if (r > 0)
		r = is_of_run(st, last, run);
	if (r > 0)
		r = stages_read(st, last, ret);
	buf_release(&at);
	return r < 0 ? r : r > 0 && stages_metadata_rule(buf_view(ret)).n > 0;
}

/* Reads what Snakemake noted of an output. 1; 0: nothing; -errno. */
static int ask_metadata(void *arg, store_id exec, store_id version, struct str path)
{
	struct asked *a = arg;
	(void)exec, (void)version;
	return read_metadata(a->r->st, a->r->id, a->p->folder, path, &a->metadata);
}

/* Metadata are looked for in each folder above an output, for Snakemake worked in one of them; and where the file has
 * none for the folders that it lies in, for an output may be a folder. */
struct metadata_asked {
	struct stages *st;
	store_id run;
	struct buf *text, *folder;
};

/* The length of the folder that the first n bytes of the path lie in; 0: it is the root, or none. */
static size_t parent_length(struct str path, size_t n)
{
	while (n && path.p[n - 1] != '/')
		n--;
	return n ? n - 1 : 0;
}

/* As ask_metadata: of the path, then of each folder above it, in each folder above that. The first that has something
 * goes to a->folder. 1, 0, -errno. */
static int ask_metadata_above(void *arg, store_id exec, store_id version, struct str path)
{
	struct metadata_asked *a = arg;
	struct buf own = {0};
	int r = 0;
	(void)exec, (void)version;
	buf_str(&own, path); /* the store's strings do not outlive the next question */
	path = buf_view(&own);
	for (size_t m = path.n; m > 1 && r == 0; m = parent_length(path, m))
		for (size_t n = parent_length(path, m); n && r == 0; n = parent_length(path, n)) {
			r = own.failed ? -ENOMEM : read_metadata(a->st, a->run, str_n(path.p, n), str_n(path.p, m), a->text);
			if (r > 0) {
				buf_reset(a->folder);
				buf_str(a->folder, str_n(path.p, n));
			}
		}
	buf_release(&own);
	return r < 0 ? r : a->folder->failed ? -ENOMEM : r;
}

int stages_metadata(struct stages *st, uint32_t stage, struct buf *ret_text, struct buf *ret_folder)
{
	const struct stage *g = stages_get(st, stage);
	struct metadata_asked a = {st, g->run, ret_text, ret_folder};
	int r = 0;
	for (size_t i = 0; i < g->n_execs && r == 0 && g->engine == ENGINE_SNAKEMAKE; i++)
		r = stages_outputs(st, g->execs[i], ask_metadata_above, &a);
	return r;
}

/* ---- units ---- */

/* Asks of each execution of a unit; 1 as soon as one has an answer. */
static int ask_unit(struct stage_run *r, uint32_t u, stages_output *ask, struct asked *a)
{
	int ret = 0;
	for (uint32_t i = r->head[u]; i != NOT_THERE && ret == 0; i = r->next[i])
		ret = stages_outputs(r->st, r->x[i].id, ask, a);
	return ret;
}

/* What Snakemake writes before the command of a shell that it starts for a job. */
static const char strict_mode[] = "set -euo pipefail; ";

/* The command of a shell that Snakemake starts for a job, behind -c and its strict mode, appended to ret. 1; 0: it is
 * none; -errno. */
static int shell_job(struct stage_run *r, uint32_t u, struct buf *ret)
{
	for (uint32_t i = r->head[u]; i != NOT_THERE; i = r->next[i]) {
		struct exec_brief x;
		struct str arg, last = {0};
		int found = r->x[i].image ? store_exec_brief(r->st->s, r->x[i].id, &x) : 0;
		if (found < 0)
			return found;
		for (size_t pos = 0; found && strlist_next(&x.argv, &pos, &arg); last = arg)
			if (str_is(last, "-c"))
				break;
		if (found && str_is(last, "-c") && str_starts(arg, str_of(strict_mode))) {
			buf_str(ret, str_n(arg.p + sizeof(strict_mode) - 1, arg.n - (sizeof(strict_mode) - 1)));
			return ret->failed ? -ENOMEM : 1;
		}
		if (found)
			return 0;
	}
	return 0;
}

/* A stage of its own for the unit; name: of the rule, as metadata have it, empty: not known. 0 or -errno. */
static int stage_of_unit(struct stage_run *r, uint32_t e, uint32_t u, struct str name)
{
	uint32_t stage;
	struct stage *g = stages_add(r->st, &stage);
	if (!g)
		return -ENOMEM;
	*g = (struct stage){.kind = STAGE_RULE, .engine = ENGINE_SNAKEMAKE, .workflow = r->x[e].id};
	g->name = name.n ? stages_keep(r->st, name) : NULL;
	g->named = name.n ? NAMED_METADATA : NAMED_NOT;
	return stages_join(r, u, stage);
}

/* By what Snakemake has kept of an output, where its log does not tell. 1, 0: it has kept nothing, -errno. */
static int name_by_metadata(struct stage_run *r, uint32_t e, uint32_t u, struct stages_plan *p)
{
	struct asked a = {.r = r, .p = p, .e = e};
	int ret = p->folder.n ? ask_unit(r, u, ask_metadata, &a) : 0;
	if (ret > 0) {
		int rc = stage_of_unit(r, e, u, stages_metadata_rule(buf_view(&a.metadata)));
		ret = rc < 0 ? rc : 1;
	}
	buf_release(&a.metadata);
	return ret;
}

/* ---- jobs that failed, and left no output ---- */

/* The unit is a job of the log. 0 or -errno. */
static int join_job(struct stage_run *r, uint32_t e, uint32_t u, struct stages_job *j)
{
	uint32_t stage;
	int ret = stage_of_job(r, e, j, &stage);
	return ret < 0 ? ret : stages_join(r, u, stage);
}

/* Is there a job of the rule that says by its arguments what it is? Snakemake runs a rule with `run:` so. 1, 0,
 * -errno. */
static int says_itself(struct stage_run *r, uint32_t e, struct str rule)
{
	int found = 0;
	for (uint32_t u = 0; u < r->n && !found; u++) {
		struct exec_brief x;
		struct str arg, last = {0};
		if (r->x[u].unit != u || r->x[u].under != e || !r->x[u].itself)
			continue;
		int got = store_exec_brief(r->st->s, r->x[u].id, &x);
		if (got < 0)
			return got;
		for (size_t pos = 0; got && !found && strlist_next(&x.argv, &pos, &arg); last = arg)
			found = str_is(last, "--target-jobs") && str_starts(arg, rule) && (arg.n == rule.n || arg.p[rule.n] == ':');
	}
	return found;
}

/* The next job of the plan, from *at on, that failed in a script, as far as can be told; NULL none. 0 or -errno. */
static int next_failed_script(struct stage_run *r, uint32_t e, struct stages_plan *p, size_t *at,
                              struct stages_job **ret)
{
	*ret = NULL;
	for (; *at < p->n && !*ret; (*at)++) {
		struct stages_job *j = &p->jobs[*at];
		if (!j->failed || j->stage != NOT_THERE || j->command.n)
			continue;
		int itself = says_itself(r, e, j->name);
		if (itself < 0)
			return itself;
		*ret = itself ? NULL : j;
	}
	return 0;
}

/* Units that run a script that Snakemake copied and that have no stage, in order of start, against the jobs that failed
 * in a script, in the order of the log: only if they are as many, for the log does not say which script a job runs. The
 * rest get a stage without a name. 0 or -errno. */
static int name_failed_scripts(struct stage_run *r, uint32_t e, struct stages_plan *p, const uint32_t *units,
                               const bool *scripts, size_t n)
{
	size_t jobs = 0, wanted = 0, at = 0;
	struct stages_job *j;
	int ret = 0;
	for (size_t i = 0; i < n; i++)
		wanted += scripts[i];
	while (wanted && (ret = next_failed_script(r, e, p, &at, &j)) == 0 && j)
		jobs++;
	at = 0;
	for (size_t i = 0; ret == 0 && i < n; i++) {
		j = NULL;
		if (scripts[i] && jobs == wanted)
			ret = next_failed_script(r, e, p, &at, &j);
		if (ret == 0)
			ret = j ? join_job(r, e, units[i], j) : stage_of_unit(r, e, units[i], (struct str){0});
	}
	return ret;
}

struct failed_units {
	VEC(uint32_t) units;
	VEC(bool) scripts; /* does it run a script that Snakemake copied? */
};

/* A job that made no file: by the command that the log has of a job that failed, else later. 0 or -errno. */
static int name_by_command(struct stage_run *r, uint32_t e, uint32_t u, struct stages_plan *p, struct str command,
                           struct failed_units *later)
{
	struct stages_job *j = stages_plan_failed(p, command);
	if (j)
		return join_job(r, e, u, j);
	uint32_t *slot = vec_add(&later->units);
	bool *script = slot ? vec_add(&later->scripts) : NULL;
	if (!script)
		return -ENOMEM;
	*slot = u;
	*script = command.n && memmem(command.p, command.n, "/.snakemake/scripts/", 20);
	return 0;
}

/* The unit's stage is the rule of the job that makes one of its outputs. 0 or -errno. */
static int name_unit(struct stage_run *r, uint32_t e, uint32_t u, struct stages_plan *p, struct failed_units *later)
{
	struct buf command = {0};
	struct asked a = {.r = r, .p = p, .e = e};
	uint32_t stage;
	int ret = ask_unit(r, u, ask_job, &a);
	if (ret > 0) {
		ret = stage_of_job(r, e, a.ret, &stage);
		if (ret == 0 && r->x[u].itself)
			r->st->v[stage].named = NAMED_ARGUMENTS; /* it says the same */
		return ret < 0 ? ret : stages_join(r, u, stage);
	}
	if (ret < 0 || r->x[u].itself)
		return ret; /* stages_name_job does it */
	ret = shell_job(r, u, &command);
	int named = ret > 0 ? name_by_metadata(r, e, u, p) : 1;
	if (ret > 0)
		ret = named ? named : name_by_command(r, e, u, p, buf_view(&command), later);
	buf_release(&command);
	return ret < 0 ? ret : 0;
}

int stages_name_snakemake(struct stage_run *r, uint32_t e)
{
	struct stages_plan p = {0};
	struct failed_units later = {0};
	int ret = load_log(r, e, &p);
	for (uint32_t u = 0; u < r->n && ret == 0; u++)
		if (r->x[u].unit == u && r->x[u].under == e && r->x[u].kind == ENGINE_SNAKEMAKE)
			ret = name_unit(r, e, u, &p, &later);
	if (ret == 0)
		ret = name_failed_scripts(r, e, &p, later.units.v, later.scripts.v, later.units.n);
	vec_release(&later.units);
	vec_release(&later.scripts);
	struct asked a = {.r = r, .p = &p, .e = e};
	if (ret == 0 && p.n)
		ret = stages_outputs(r->st, r->x[e].id, ask_made, &a);
	stages_plan_release(&p);
	return ret;
}

/* ---- a job that says what it is ---- */

bool stages_is_job(const struct strlist *argv)
{
	struct str arg;
	for (size_t pos = 0; strlist_next(argv, &pos, &arg);)
		if (str_is(arg, "--target-jobs") || str_is(arg, "--allowed-rules"))
			return true;
	return false;
}

/* The words behind an option, up to the next one: "A, B", without what follows a colon. */
static void words_behind(const struct strlist *argv, const char *option, struct buf *names, struct buf *rest)
{
	struct str arg;
	bool in = false;
	for (size_t pos = 0; strlist_next(argv, &pos, &arg);) {
		if (arg.n > 1 && arg.p[0] == '-') {
			in = str_is(arg, option);
			continue;
		}
		if (!in)
			continue;
		const char *colon = arg.n ? memchr(arg.p, ':', arg.n) : NULL;
		buf_printf(names, names->n ? ", " : "");
		buf_str(names, str_n(arg.p, colon ? (size_t)(colon - arg.p) : arg.n));
		if (colon && !rest->n)
			buf_str(rest, str_n(colon + 1, arg.n - (size_t)(colon + 1 - arg.p)));
	}
}

/* Did the execution end, and not well? 1, 0, -errno. */
static int has_failed(struct stage_run *r, uint32_t u)
{
	struct exec_info x;
	int ret = store_exec(r->st->s, r->x[u].id, &x);
	if (ret <= 0)
		return ret;
	return x.ending == TERM_ending_signaled || (x.ending == TERM_ending_exited && x.code);
}

int stages_name_job(struct stage_run *r, uint32_t u)
{
	struct exec_brief x;
	struct buf names = {0}, rest = {0}, none = {0};
	uint32_t stage;
	int ret = store_exec_brief(r->st->s, r->x[u].id, &x);
	if (ret > 0) {
		words_behind(&x.argv, "--target-jobs", &names, &rest);
		if (!names.n)
			words_behind(&x.argv, "--allowed-rules", &names, &none);
	}
	int failed_job = ret >= 0 ? has_failed(r, u) : 0;
	ret = failed_job < 0 ? failed_job : ret;
	struct stage *g = ret >= 0 ? stages_add(r->st, &stage) : NULL;
	if (g) {
		uint32_t e = r->x[u].under;
		*g = (struct stage){.kind = STAGE_RULE, .engine = ENGINE_SNAKEMAKE, .failed = failed_job};
		g->workflow = e == NOT_THERE ? 0 : r->x[e].id;
		g->name = names.n ? stages_keep(r->st, buf_view(&names)) : NULL;
		g->named = names.n ? NAMED_ARGUMENTS : NAMED_NOT;
		ret = set_wildcards(r->st, g, buf_view(&rest), ",");
		if (ret == 0)
			ret = stages_join(r, u, stage);
	}
	bool failed = names.failed || rest.failed;
	buf_release(&names);
	buf_release(&rest);
	buf_release(&none);
	return ret < 0 ? ret : failed || !g ? -ENOMEM : 0;
}
