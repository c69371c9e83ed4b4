/* work.c - see work.h. */
#include "export/work.h"

#include "base/vec.h"
#include "prov/out.h"

#include <errno.h>
#include <stdlib.h>

/* Appends a file to the last execution. 0, also where the record does not have it; -errno. */
static int append_work_file(struct work *w, const struct prov_statement *st)
{
	struct version_info v;
	struct file_info f;
	bool output = st->kind == PROV_wasGeneratedBy;
	store_id id = output ? st->what : st->other;
	int r = store_version(prov_store(w->p), id, &v);
	r = r > 0 ? store_file(prov_store(w->p), v.file, &f) : r;
	if (r <= 0)
		return r;
	if (w->n_files == w->cap_files && !vec_grow((void **)&w->files, &w->cap_files, w->n_files + 1, sizeof(*w->files)))
		return -ENOMEM;
	const struct prov_value *via = prov_find(st, ATTR_via), *mode = prov_find(st, ATTR_accessMode);
	struct work_file *to = &w->files[w->n_files++];
	*to = (struct work_file){
	    .version = id,
	    .until = TIME_NONE,
	    .output = output,
	    .code = mode && mode->count & ACCESS_PROGRAM,
	    .given = via && str_is(via->text, "descriptor"),
	    .stream = f.kind == TERM_kind_pipe || f.kind == TERM_kind_fifo,
	    .of_channel = f.kind != TERM_kind_regular,
	};
	const struct prov_value *until = prov_find(st, ATTR_until);
	if (until)
		to->until = until->time;
	w->execs[w->n_execs - 1].n++;
	return 0;
}

/* Takes a statement of PROV for the list of work. 0, -errno. Accesses come behind their execution. */
static int append_work_statement(void *arg, const struct prov_statement *st)
{
	struct work *w = arg;
	if (st->kind != PROV_activity)
		return w->n_execs ? append_work_file(w, st) : 0;
	if (strcmp(st->type, "Execution") != 0)
		return 0;
	if (w->n_execs == w->cap_execs && !vec_grow((void **)&w->execs, &w->cap_execs, w->n_execs + 1, sizeof(*w->execs)))
		return -ENOMEM;
	w->execs[w->n_execs++] = (struct work_exec){
	    .id = st->what,
	    .run = st->other,
	    .parent = WORK_NONE,
	    .first = w->n_files,
	    .program = prov_find(st, ATTR_argv) != NULL,
	};
	return 0;
}

/* Compares an execution with an id. For bsearch: key is a store_id. */
static int compare_exec_to_id(const void *key, const void *item)
{
	store_id a = *(const store_id *)key, b = ((const struct work_exec *)item)->id;
	return (a > b) - (a < b);
}

/* WORK_NONE: it is none of them. */
size_t work_find(const struct work *w, store_id exec)
{
	const struct work_exec *x =
	    w->n_execs ? bsearch(&exec, w->execs, w->n_execs, sizeof(*w->execs), compare_exec_to_id) : NULL;
	return x ? (size_t)(x - w->execs) : WORK_NONE;
}

int work_collect(struct prov_source *p, struct err *err, struct work *ret)
{
	struct work w = {.p = p};
	int r = prov_walk(p, PROV_BIT(PROV_activity) | PROV_BIT(PROV_used) | PROV_OUTPUTS, append_work_statement, &w);
	for (size_t i = 0; r >= 0 && i < w.n_execs; i++) {
		struct exec_info x;
		r = store_exec(prov_store(p), w.execs[i].id, &x);
		if (r <= 0)
			continue;
		w.execs[i].failed = x.ending == TERM_ending_signaled || (x.ending == TERM_ending_exited && x.code);
		if (x.parent)
			w.execs[i].parent = work_find(&w, x.parent);
	}
	if (r < 0) {
		work_release(&w);
		return err_set(err, -r, "cannot read the record");
	}
	*ret = w;
	return 0;
}

/* w is empty then. */
void work_release(struct work *w)
{
	free(w->execs);
	free(w->files);
	*w = (struct work){0};
}

/* ---- texts ---- */

/* The text is copied. 0, -ENOMEM. */
int texts_set_add(struct texts_set *t, struct str s, int64_t tag, size_t owner)
{
	if (t->n == t->cap && !vec_grow((void **)&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return -ENOMEM;
	t->v[t->n++] = (struct text_at){t->bytes.n, s.n, owner, tag};
	buf_str(&t->bytes, s);
	return t->bytes.failed ? -ENOMEM : 0;
}

/* Order of qsort_r: by text; arg: the bytes. */
static int compare_texts_by_bytes(const void *pa, const void *pb, void *arg)
{
	const struct text_at *a = pa, *b = pb;
	const char *bytes = arg;
	int c = str_cmp(str_n(bytes + a->at, a->n), str_n(bytes + b->at, b->n));
	return c ? c : a->tag != b->tag ? (a->tag < b->tag ? 1 : -1) : (a->owner > b->owner) - (a->owner < b->owner);
}

void texts_set_close(struct texts_set *t)
{
	size_t kept = 0;
	if (t->n)
		qsort_r(t->v, t->n, sizeof(*t->v), compare_texts_by_bytes, t->bytes.p);
	for (size_t i = 0; i < t->n; i++)
		if (!kept || !str_eq(texts_set_at(t, i), texts_set_at(t, kept - 1)))
			t->v[kept++] = t->v[i];
	t->n = kept;
}

/* Points into t: valid until t changes. */
struct str texts_set_at(const struct texts_set *t, size_t i)
{
	return str_n(t->bytes.p + t->v[i].at, t->v[i].n);
}

/* Only after texts_set_sort. NULL: it is not there. */
const struct text_at *texts_set_find(const struct texts_set *t, struct str s)
{
	size_t lo = 0, hi = t->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = str_cmp(texts_set_at(t, mid), s);
		if (c == 0)
			return &t->v[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* t is empty then. */
void texts_set_release(struct texts_set *t)
{
	buf_release(&t->bytes);
	free(t->v);
	*t = (struct texts_set){0};
}

/* ---- words ---- */

struct str work_path_from(struct str dir, struct str path)
{
	if (dir.n && path.n > dir.n + 1 && str_starts(path, dir) && path.p[dir.n] == '/')
		return str_n(path.p + dir.n + 1, path.n - dir.n - 1);
	return path;
}

/* Quoted only where it must be. */
void shell_quote_argument(struct buf *b, struct str word)
{
	bool plain = word.n != 0;
	for (size_t i = 0; plain && i < word.n; i++) {
		char c = word.p[i];
		plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		        (c && strchr("_@%+:,./-", c)) || (c == '=' && i);
	}
	if (plain) {
		buf_str(b, word);
		return;
	}
	buf_char(b, '\'');
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\'')
			buf_str(b, str_of("'\\''"));
		else
			buf_char(b, word.p[i]);
	buf_char(b, '\'');
}

void shell_quote_arguments(struct buf *b, const struct strlist *argv)
{
	struct str word;
	for (size_t i = 0, at = 0; out_list_next(argv, &i, &at, &word);) {
		if (i > 1)
			buf_char(b, ' ');
		shell_quote_argument(b, word);
	}
}
