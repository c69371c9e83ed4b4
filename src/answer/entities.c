#include "answer/entities.h"

#include "answer/live.h"
#include "base/os/engine_paths.h"

#include "answer/items.h"
#include "query/fold.h"
#include "query/scripts.h"
#include "query/stages/stages.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct str command_kind(const char *name)
{
	size_t n = strcspn(name, " "), word = 0;
	if (name[n] != ' ')
		return str_n(name, n);
	const char *second = name + n + 1;
	size_t length = strcspn(second, " ");
	if (*second != '-' && script_is(str_n(name, n), str_n(second, length)))
		return str_n(name, n + 1 + length);
	if (!islower((unsigned char)*second))
		return str_n(name, n);
	while (islower((unsigned char)second[word]) || second[word] == '_')
		word++;
	return str_n(name, word == length ? n + 1 + word : n);
}

bool kind_is_stream(uint64_t kind)
{
	return kind >= TERM_kind_fifo && kind <= TERM_kind_terminal;
}

/* How MPI libraries, and what starts their programs, call the files in which ranks share memory and find each other: at
 * the beginning of a name. Nobody else's are called so; they are inputs like any other, and only come last. */
static const char *const segments[] = {
    "vader_segment.", "sm_segment.", "open_mpi.", "mpich_shar_tmp",       "ucx_shm_posix_", "psm2_shm.",  "psm_shm.",
    "pmix_dstor_",    "dstore_sm.",  "dstor_sm.", "initial-pmix_shared-", "smlockseg-",     "smdataseg-", "smseg-",
};

/* A folder of Open MPI's: ompi.HOST.UID. */
static bool in_session(struct str path)
{
	static const char ompi[] = "/ompi.", pid[] = "/pid.";
	const char *at = memmem(path.p, path.n, ompi, sizeof(ompi) - 1);
	return at && memmem(at, (size_t)(path.p + path.n - at), pid, sizeof(pid) - 1);
}

/* By the kind of file, and of regular ones by the path. */
enum entity_sort entity_sort(uint64_t kind, struct str path)
{
	if (kind == TERM_kind_socket)
		return ENTITY_SOCKET;
	if (kind == TERM_kind_shm)
		return ENTITY_SEGMENT;
	const char *slash = path.n && kind == TERM_kind_regular ? memrchr(path.p, '/', path.n) : NULL;
	struct str base = slash ? str_n(slash + 1, (size_t)(path.p + path.n - slash) - 1) : str_of("");
	for (size_t i = 0; base.n && i < sizeof(segments) / sizeof(segments[0]); i++)
		if (str_starts(base, str_of(segments[i])))
			return ENTITY_SEGMENT;
	if (base.n && in_session(path))
		return ENTITY_SEGMENT;
	return base.n && engine_own_file(path) ? ENTITY_OWN : ENTITY_DATA;
}

void fmt_entity_count(struct buf *b, enum entity_sort sort, uint64_t n)
{
	buf_printf(b,
	           sort == ENTITY_SOCKET ? "%llu socket%s"
	           : sort == ENTITY_OWN  ? "%llu file%s of the workflow system"
	                                 : "%llu segment%s of shared memory",
	           (unsigned long long)n, n == 1 ? "" : "s");
}

bool run_counts_complete(const struct run_info *r)
{
	return !gaps_that_lack(r->gaps, GAP_ACCESSES);
}

void fmt_copied_script(struct buf *b, size_t from)
{
	for (size_t at = from; at < b->n;) {
		size_t end = at;
		while (end < b->n && b->p[end] != ' ')
			end++;
		struct str name = engine_copied_script(str_n(b->p + at, end - at));
		if (name.n) {
			memmove(b->p + at, b->p + end - name.n, b->n - end + name.n);
			b->n -= end - at - name.n;
			return;
		}
		at = end + 1;
	}
}

struct str run_rerun_of(const struct run_info *r)
{
	static const char label[] = "rerun=";
	enum { ULID = 26 };
	struct str s;
	for (size_t pos = 0; strlist_next(&r->labels, &pos, &s);) {
		bool is = s.n == sizeof(label) - 1 + ULID && str_starts(s, str_of(label));
		for (size_t i = sizeof(label) - 1; is && i < s.n; i++)
			is = (s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'A' && s.p[i] <= 'Z');
		if (is)
			return str_n(s.p + sizeof(label) - 1, ULID);
	}
	return (struct str){0};
}

json_t *run_json(const struct answer_source *a, const struct run_info *r)
{
	uint64_t used, made;
	if (items_count(a, r->id, &used, &made) < 0)
		return NULL;
	json_t *o = json_object();
	js_str(o, "id", r->ulid);
	js_list(o, "command", &r->argv);
	js_str(o, "cwd", r->cwd);
	js_str(o, "user", r->user);
	js_str(o, "host", r->host);
	js_time(o, "start", r->start);
	js_time(o, "end", r->end);
	js_ending(o, "exit", r->ending, r->code);
	bool complete = run_counts_complete(r);
	js_put(o, "inputs", used || complete ? json_integer((json_int_t)used) : json_null());
	js_put(o, "outputs", made || complete ? json_integer((json_int_t)made) : json_null());
	js_bool(o, "counts_complete", complete);
	js_text(o, "recording", live_word(live_recording(a->store, a->live, r)));
	if (r->ending == TERM_ending_unknown && live_standby(a->live, r->ulid))
		js_num(o, "standby", (uint64_t)live_standby(a->live, r->ulid));
	js_pairs(o, "labels", &r->labels);
	if (run_rerun_of(r).n)
		js_str(o, "rerun_of", run_rerun_of(r));
	return o;
}

/* How a version came into being, as JSON has it. */
static const char *origin_name(enum origin o)
{
	return o == ORIGIN_OBSERVED ? "observed" : o == ORIGIN_UNOBSERVED ? "unobserved" : "external";
}

json_t *entity_json(const struct version_info *v, const struct file_info *f)
{
	json_t *o = json_object();
	js_pub(o, "id", &v->pub);
	js_str(o, "path", f->path);
	js_num(o, "version", v->n);
	js_text(o, "kind", term_name(SET_kind, f->kind));
	if (v->has_size)
		js_num(o, "size", v->size);
	else
		js_put(o, "size", json_null());
	js_time(o, "time", v->end);
	js_time(o, "mtime", v->mtime);
	js_text(o, "origin", origin_name(v->origin));
	if (f->kind == TERM_kind_regular)
		js_bool(o, "current", version_is_current(v, f));
	js_pub(o, "file", &f->pub);
	if (f->kind != TERM_kind_absent) {
		js_str(o, "domain", f->domain);
		js_big(o, "inode", f->ino);
		js_big(o, "generation", f->gen);
	}
	return o;
}

/* The path of a file, or nothing. Valid until the next store_file. 0, -errno. */
static int read_path_of_file(struct store *s, store_id file, struct str *ret)
{
	struct file_info f;
	*ret = str_of("");
	int r = file ? store_file(s, file, &f) : 0;
	if (r > 0)
		*ret = f.path;
	return r < 0 ? r : 0;
}

/* The execution that tells whose a fork is: the program above it. 1 (then *ret is store_exec's), 0, -errno. */
static int whose(struct store *s, store_id exec, struct exec_info *ret)
{
	int r = 0;
	for (int depth = 0; depth < 64 && exec; depth++) {
		r = store_exec(s, exec, ret);
		if (r <= 0 || ret->user.n)
			return r;
		exec = ret->n ? 0 : ret->parent;
	}
	return 0;
}

/* Fills *ret with what is known of x. 0 and the caller owns it; -errno and *ret stays as it is. */
int exec_json(struct store *s, const struct exec_info *x, json_t **ret)
{
	json_t *o = json_object();
	store_id parent_id = x->parent;
	struct run_info run;
	struct str path;
	int r = x->run ? store_run_told(s, x->run, &run) : 0;
	if (r < 0)
		goto fail;
	js_pub(o, "id", &x->pub);
	if (r > 0)
		js_str(o, "run", run.ulid);
	else
		js_put(o, "run", json_null());
	js_num(o, "pid", x->pid);
	js_num(o, "n", x->n);
	r = read_path_of_file(s, x->exe, &path);
	if (r < 0)
		goto fail;
	js_str(o, "exe", path);
	if (x->script) {
		r = read_path_of_file(s, x->script, &path);
		if (r < 0)
			goto fail;
		js_str(o, "script", path);
	}
	js_list(o, "argv", &x->argv);
	js_str(o, "cwd", x->cwd);
	bool told = x->user.n > 0;
	store_id id = x->id;
	if (told) {
		js_str(o, "user", x->user);
		js_str(o, "group", x->group);
	}
	js_str(o, "host", x->host);
	js_str_if(o, "job", x->job);
	js_str_if(o, "step", x->step);
	js_str_if(o, "rank", x->rank);
	js_str_if(o, "ranks", x->ranks);
	js_time(o, "start", x->start);
	js_time(o, "end", x->end);
	js_ending(o, "exit", x->ending, x->code);
	js_gaps(o, "completeness", x->gaps);
	if (!told) { /* these last: x is the store's until the next store_exec */
		struct exec_info above = {0};
		r = whose(s, id, &above);
		if (r < 0)
			goto fail;
		js_str(o, "user", r > 0 ? above.user : str_of(""));
		js_str(o, "group", r > 0 ? above.group : str_of(""));
	}
	if (parent_id) {
		struct pubid parent;
		r = store_exec_pub(s, parent_id, &parent);
		if (r < 0)
			goto fail;
		if (r > 0)
			js_pub(o, "parent", &parent);
	}
	*ret = o;
	return 0;
fail:
	json_decref(o);
	return r;
}

int representative_json(struct store *s, store_id exec, json_t *one)
{
	store_id rep;
	struct pubid pub;
	int r = fold_representative(s, exec, &rep);
	if (r > 0 && rep != exec) {
		r = store_exec_pub(s, rep, &pub);
		if (r > 0)
			js_pub(one, "representative", &pub);
	}
	return r < 0 ? r : 0;
}

void version_name(struct buf *b, const struct version_info *v, const struct file_info *f)
{
	if (f->kind == TERM_kind_regular && !f->path.n) {
		buf_printf(b, "nameless file");
	} else if (f->kind == TERM_kind_regular) {
		fmt_version(b, f->path, v->n);
	} else if (f->kind == TERM_kind_pipe || !f->path.n) {
		buf_printf(b, "%s", term_name(SET_kind, f->kind));
	} else {
		struct str inet = str_of("inet:"), mpi = str_of("mpi:");
		bool address = f->kind == TERM_kind_socket && str_starts(f->path, inet);
		if (f->kind == TERM_kind_socket && str_starts(f->path, mpi)) {
			buf_printf(b, "messages of MPI, ");
			fmt_path(b, str_n(f->path.p + mpi.n, f->path.n - mpi.n));
			return;
		}
		buf_printf(b, "%s ", term_name(SET_kind, f->kind));
		fmt_path(b, address ? str_n(f->path.p + inet.n, f->path.n - inet.n) : f->path);
		if (f->within && f->versions > 1) /* most objects have one */
			buf_printf(b, "@{%llu}", (unsigned long long)v->n);
	}
}

int version_name_opened(struct store *s, struct buf *b, const struct version_info *v, struct file_info *f,
                        store_id exec)
{
	struct buf name = {0};
	struct file_info shown = *f;
	int r = exec && f->kind == TERM_kind_regular ? store_opened_name(s, exec, v->file, &name) : 0;
	if (r == 1) /* a name that it has no more leads nowhere */
		shown.path = buf_view(&name);
	if (r >= 0)
		version_name(b, v, &shown);
	buf_release(&name);
	return r < 0 ? r : 0;
}

int opened_name_json(struct store *s, json_t *o, store_id exec, store_id file)
{
	struct buf name = {0};
	int r = store_opened_name(s, exec, file, &name);
	if (r > 0)
		js_str(o, "opened_as", buf_view(&name));
	buf_release(&name);
	return r < 0 ? r : 0;
}

void version_note(struct buf *b, const struct version_info *v, const struct file_info *f, bool bytes)
{
	if (f->kind == TERM_kind_terminal && v->origin == ORIGIN_EXTERNAL)
		buf_printf(b, "typed");
	if (f->kind != TERM_kind_regular)
		return;
	size_t from = b->n;
	if (v->has_size) {
		fmt_size(b, v->size, bytes);
		if (bytes)
			buf_printf(b, " bytes");
	}
	int64_t t = v->origin == ORIGIN_OBSERVED ? v->end : v->mtime;
	if (t != TIME_NONE && t != TIME_NEVER) {
		buf_printf(b, b->n > from ? ", " : "");
		fmt_time(b, t, true);
	}
	if (v->origin != ORIGIN_OBSERVED)
		buf_printf(b, "%s%s", b->n > from ? ", " : "",
		           v->origin == ORIGIN_EXTERNAL ? "external" : "modified outside stemma");
}

bool version_is_current(const struct version_info *v, const struct file_info *f)
{
	return f->named && v->n == f->versions;
}

int version_since(struct store *s, const struct version_info *v, const struct file_info *f, struct buf *b)
{
	store_id holder;
	struct file_info now = {0};
	if ((f->kind != TERM_kind_regular && !f->within) || version_is_current(v, f))
		return 0;
	bool named = f->named;
	int r = named || !f->path.n ? 0 : store_files_by_path(s, f->path, &holder, 1);
	if (r > 0)
		r = store_file(s, holder, &now);
	if (r >= 0)
		buf_printf(b, named || (r > 0 && now.named) ? "replaced since" : "removed since");
	return r < 0 ? r : 0;
}

int exec_name(struct store *s, store_id exec, bool brief, size_t max, struct buf *b)
{
	struct exec_info x = {0};
	/* A fork says what it is a fork of; 64 forks of forks are enough to follow. */
	for (int depth = 0; depth < 64 && exec; depth++) {
		int r = store_exec(s, exec, &x);
		if (r < 0)
			return r;
		if (r == 0)
			break;
		struct str first;
		size_t pos = 0;
		if (strlist_next(&x.argv, &pos, &first)) {
			if (depth)
				buf_printf(b, "fork of ");
			fmt_argv(b, &x.argv, brief, max);
			return 0;
		}
		if (x.exe) {
			struct str path;
			r = read_path_of_file(s, x.exe, &path);
			if (r < 0)
				return r;
			fmt_name(b, path);
			return 0;
		}
		exec = x.n == 0 ? x.parent : 0;
	}
	buf_printf(b, "process %llu", (unsigned long long)x.pid);
	return 0;
}

void fmt_who(struct buf *b, struct str user, struct str host)
{
	fmt_name(b, user.n ? user : str_of("?"));
	if (host.n) {
		buf_char(b, '@');
		fmt_name(b, host);
	}
}

/* Appends the user's name; nothing where it is not known. 0, -errno. */
int exec_user(struct store *s, store_id exec, struct buf *b)
{
	struct exec_info x;
	struct run_info run;
	int r = whose(s, exec, &x);
	if (r > 0)
		buf_str(b, x.user);
	else if (r == 0 && (r = store_exec(s, exec, &x)) > 0 && x.run && (r = store_run_told(s, x.run, &run)) > 0)
		buf_str(b, run.user);
	return r < 0 ? r : 0;
}

int exec_who(struct store *s, store_id exec, struct buf *b)
{
	struct exec_info x, above;
	struct run_info run;
	int r = whose(s, exec, &above);
	if (r > 0)
		fmt_who(b, above.user, above.host);
	if (r == 0 && (r = store_exec(s, exec, &x)) > 0) {
		struct str user = str_of("");
		r = x.run ? store_run_told(s, x.run, &run) : 0;
		if (r > 0)
			user = run.user;
		fmt_who(b, user, x.host);
	}
	return r < 0 ? r : 0;
}

int fmt_deleted(struct store *s, const struct deletion *d, size_t max, bool brief, bool utf8, struct buf *b)
{
	int r = 0;
	if (d->by) {
		buf_printf(b, " by ");
		size_t from = b->n;
		r = exec_name(s, d->by, true, max * 4, b);
		fmt_fit(b, from, max, utf8);
	}
	buf_printf(b, " at ");
	fmt_time(b, d->time, brief);
	return r < 0 ? r : 0;
}

/* Sets o's "deleted": when, and by which execution, null where that is not known. 0, -errno. */
int deleted_json(struct store *s, const struct deletion *d, json_t *o)
{
	json_t *one = json_object(), *by = NULL;
	struct exec_info x;
	int r = d->by ? store_exec(s, d->by, &x) : 0;
	if (r > 0)
		r = exec_json(s, &x, &by);
	js_time(one, "time", d->time);
	js_put(one, "by", by ? by : json_null());
	js_put(o, "deleted", one);
	return r < 0 ? r : 0;
}

/* ---- notes ---- */

int note_add(struct store *s, json_t *list, const struct note_info *n, bool about)
{
	json_t *o = json_object();
	struct run_info run;
	struct file_info f;
	int r = 0;
	if (about && n->run && (r = store_run_told(s, n->run, &run)) > 0)
		js_str(o, "run", run.ulid);
	if (about && n->file && (r = store_file(s, n->file, &f)) > 0) {
		js_pub(o, "file", &f.pub);
		js_str(o, "path", f.path);
	}
	if (n->file && n->version)
		js_num(o, "version", n->version);
	js_time(o, "time", n->time);
	js_str(o, "user", n->user);
	js_str(o, "host", n->host);
	js_str(o, "text", n->text);
	js_add(list, o);
	return r < 0 ? r : 0;
}

int notes_json(struct store *s, json_t *o, enum notes_of of, store_id id, uint64_t n)
{
	struct notes notes;
	json_t *list = NULL;
	int r = store_notes(s, of, id, &notes);
	for (size_t i = 0; i < notes.n && r == 0; i++) {
		if (n && notes.v[i].version != n)
			continue;
		if (!list)
			list = json_array();
		r = note_add(s, list, &notes.v[i], false);
	}
	if (list)
		js_put(o, "notes", list);
	notes_release(&notes);
	return r;
}
