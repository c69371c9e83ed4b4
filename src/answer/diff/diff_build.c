/* diff_build.c - the category `build`: why two versions of a program differ, from the records of stemma cc.
 *
 * A version's record is found by the size and time that both records have of it, so that it is found when the file is
 * long gone; and by its bytes while it is still there. */
#include "answer/diff/diff_build.h"
#include "answer/fmt.h"

#include "answer/diff/diff_build_match.h"
#include "base/utf8.h"
#include "cc/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A version of a program, and what is known of its making. */
struct origin_of {
	struct build_list records; /* n 0: none */
	struct build *b;           /* of them, NULL */
	struct build elf;
	bool has_elf, there; /* there: the file is still this version */
	bool digested;
	struct digest digest;
	struct build_sources sources;
};

struct telling {
	struct diff *d;
	struct diff_item like;
	size_t n; /* differences */
	struct err *err;
};

/* A build_part; arg is a struct telling. What is there already is counted once more. 0, -ENOMEM. */
static int append_build_item(void *arg, const char *part, const char *name, const char *before, const char *after)
{
	struct telling *t = arg;
	struct diff_item x = t->like;
	x.kind = !before ? DIFF_ADDED : !after ? DIFF_REMOVED : DIFF_CHANGED;
	x.part = str_of(part);
	x.name = str_of(name);
	x.before = str_of(before ? before : "");
	x.after = str_of(after ? after : "");
	t->n++;
	for (size_t i = 0; i < t->d->n_items; i++) { /* many objects may be made with the same other flag */
		struct diff_item *y = &t->d->items[i];
		if (y->category == DIFF_build && y->kind == x.kind && str_eq(y->subject, x.subject) &&
		    str_eq(y->part, x.part) && str_eq(y->name, x.name) && str_eq(y->before, x.before) &&
		    str_eq(y->after, x.after)) {
			y->count++;
			return 0;
		}
	}
	return diff_add(t->d, &x) ? 0 : -ENOMEM;
}

/* What went in is known of one that a cache did not answer. */
static struct build *best_of(struct build_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		bool cached = false;
		for (char **g = l->v[i].gaps; *g; g++)
			cached |= strcmp(*g, "cached") == 0;
		if (!cached)
			return &l->v[i];
	}
	return l->n ? &l->v[0] : NULL;
}

/* Finds how the file of a version was built. ret->b stays NULL where no build is known; ret->there says whether the
 * file on disk still is that version. 0, -errno; a file that cannot be read is no error. */
static int find_build_origin(struct store *s, store_id version, struct err *err, struct origin_of *ret)
{
	struct version_info v;
	struct file_info f;
	struct stat st;
	int r = store_version(s, version, &v);
	r = r > 0 ? store_file(s, v.file, &f) : r;
	if (r <= 0 || !v.has_size || v.mtime == TIME_NONE)
		return r < 0 ? r : 0;
	char *path = strndup(f.path.p, f.path.n);
	if (!path)
		return -ENOMEM;
	ret->there = stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == v.size &&
	             (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == v.mtime;
	r = build_find_stamped(s, path, v.size, v.mtime, err, &ret->records);
	if (r == 0 && !ret->records.n && ret->there && build_find(s, path, err, &ret->records) < 0) {
		ret->there = false; /* it cannot be read: then it tells nothing */
		*err = (struct err){0};
	}
	ret->b = best_of(&ret->records);
	for (size_t i = 0; ret->b && i < ret->b->out.n && !ret->digested; i++) {
		const struct build_file *out = &ret->b->out.v[i];
		ret->digested = out->digested && out->size == v.size && out->mtime == v.mtime;
		ret->digest = out->digest;
	}
	if (!ret->digested && ret->there)
		ret->digested = digest_file(NULL, AT_FDCWD, path, &ret->digest, NULL) == 0;
	if (r == 0 && !ret->b && ret->there) {
		ret->has_elf = build_from_elf_alone(path, err, &ret->elf) == 1;
		*err = (struct err){0};
	}
	free(path);
	return r;
}

/* Releases what is known of a build. It may not be used afterwards. */
static void release_build_origin(struct origin_of *o)
{
	build_sources_release(&o->sources);
	build_list_release(&o->records);
	if (o->has_elf)
		build_release(&o->elf);
}

/* Belongs to b; "" if it made nothing. Of several the first one. */
static const char *made_path(const struct build *b)
{
	return b->out.n ? b->out.v[0].path : "";
}

/* The name of the first file that it made, without its folder; "" if it made none. */
static const char *made_name(const struct build *b)
{
	const char *p = made_path(b), *slash = strrchr(p, '/');
	return slash ? slash + 1 : p;
}

/* The records of what the program was linked from; one that is gone is left out. 0, -errno. ret is to be released in
 * any case. */
static int load_source_builds(struct store *s, const struct build_sources *x, struct err *err, struct build_list *ret)
{
	ret->v = calloc(x->nrecords + 1, sizeof(*ret->v));
	int r = ret->v ? 0 : -ENOMEM;
	for (size_t i = 1; r >= 0 && i < x->nrecords; i++) { /* the first is the program's own */
		r = build_get(s, str_of(x->records[i]), err, &ret->v[ret->n]);
		ret->n += r == 1;
	}
	return r < 0 ? r : 0;
}

/* The commands that made the objects, each with that of the object of the same path, else of the same name. 0, -errno.
 * */
static int match_objects(struct store *s, const struct origin_of o[2], struct telling *t)
{
	struct build_list l[2] = {{0}, {0}};
	int r = load_source_builds(s, &o[0].sources, t->err, &l[0]);
	r = r < 0 ? r : load_source_builds(s, &o[1].sources, t->err, &l[1]);
	bool *done = r == 0 ? calloc(l[0].n + l[1].n + 1, sizeof(*done)) : NULL;
	r = r == 0 && !done ? -ENOMEM : r;
	for (int pass = 0; r == 0 && pass < 2; pass++)
		for (size_t i = 0; r == 0 && i < l[0].n; i++)
			for (size_t k = 0; !done[i] && k < l[1].n; k++) {
				const struct build *a = &l[0].v[i], *b = &l[1].v[k];
				bool fits = pass ? strcmp(made_name(a), made_name(b)) == 0 : strcmp(made_path(a), made_path(b)) == 0;
				if (!fits || done[l[0].n + k])
					continue;
				done[i] = done[l[0].n + k] = true;
				r = match_commands(a, b, append_build_item, t);
				if (r < 0)
					break;
			}
	free(done);
	build_list_release(&l[0]);
	build_list_release(&l[1]);
	return r;
}

/* Where nothing differs, one item says so: `same` where the bytes are the same, else `nothing`. 0, -errno. */
static int match_records(struct store *s, struct origin_of o[2], bool same, struct telling *t)
{
	int r = 0;
	for (int k = 0; r == 0 && k < 2; k++)
		r = build_sources(s, o[k].b, t->err, &o[k].sources);
	r = r < 0 ? r : match_commands(o[0].b, o[1].b, append_build_item, t);
	r = r < 0 ? r : match_objects(s, o, t);
	r = r < 0 ? r : match_sources(&o[0].sources, &o[1].sources, append_build_item, t);
	r = r < 0 ? r : match_places(o[0].b, o[1].b, append_build_item, t);
	if (r == 0 && !t->n)
		r = append_build_item(t, same ? "same" : "nothing", "", o[0].b->pub, o[1].b->pub);
	return r;
}

/* Appends the arguments, quoted as for a shell, with blanks between. */
static void command_words(const struct build *b, struct buf *out)
{
	for (char **a = b->argv; *a; a++) {
		buf_printf(out, "%s", out->n ? " " : "");
		fmt_arg(out, str_of(*a));
	}
}

/* What is known of the side without a record, and the command of the other. 0, -ENOMEM. */
static int one_record(struct origin_of o[2], struct telling *t)
{
	struct buf text[2] = {{0}, {0}};
	int has = o[1].b != NULL;
	command_words(o[has].b, &text[has]);
	const struct origin_of *no = &o[!has];
	buf_printf(&text[!has], "%s",
	           !no->there                              ? "the file is gone"
	           : !no->has_elf                          ? "no ELF file"
	           : no->elf.version && no->elf.version[0] ? no->elf.version
	                                                   : "the file names no compiler");
	int r = text[0].failed || text[1].failed ? -ENOMEM : 0;
	struct diff_item x = t->like;
	x.kind = has ? DIFF_ADDED : DIFF_REMOVED;
	x.part = str_of("record");
	x.before = buf_view(&text[0]);
	x.after = buf_view(&text[1]);
	if (r == 0 && !diff_add(t->d, &x))
		r = -ENOMEM;
	buf_release(&text[0]);
	buf_release(&text[1]);
	return r;
}

/* d->items[at]: a program that differs between the sides. Nothing is added where neither side's build is known. 0,
 * -errno. */
static int append_program_items(struct store *s, struct diff *d, size_t at, struct err *err)
{
	const struct diff_item item = d->items[at], *program = &item; /* the array moves */
	struct origin_of o[2] = {0};
	/* It leads where the program leads. */
	struct telling t = {.d = d,
	                    .err = err,
	                    .like = {.category = DIFF_build,
	                             .subject = program->subject,
	                             .when = TIME_NONE,
	                             .count = 1,
	                             .exec_a = program->exec_a,
	                             .exec_b = program->exec_b,
	                             .rooted = program->rooted,
	                             .reaches = program->reaches,
	                             .reaches_differing = program->reaches_differing}};
	int r = find_build_origin(s, program->a, err, &o[0]);
	r = r < 0 ? r : find_build_origin(s, program->b, err, &o[1]);
	bool same = o[0].digested && o[1].digested && digest_eq(&o[0].digest, &o[1].digest);
	if (r == 0 && o[0].digested && o[1].digested && (o[0].b || o[1].b))
		diff_content_known(d, at, same ? CONTENT_SAME : CONTENT_DIFFERS);
	t.like.rooted = !same && t.like.rooted;
	if (r == 0 && o[0].b && o[1].b)
		r = match_records(s, o, same, &t);
	else if (r == 0 && (o[0].b || o[1].b))
		r = one_record(o, &t);
	release_build_origin(&o[0]);
	release_build_origin(&o[1]);
	return r;
}

int diff_builds(struct store *s, struct diff *d, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < d->n_items && d->items[i].category <= DIFF_programs; i++)
		if (d->items[i].category == DIFF_programs && d->items[i].a && d->items[i].b)
			r = append_program_items(s, d, i, err);
	return r < 0 ? err_set(err, -r, "cannot compare how programs were built") : 0;
}

/* ---- words ---- */

/* A path that ends as it does, in so many columns. */
static void put_tail(struct buf *b, struct str path, size_t columns)
{
	struct buf p = {0};
	fmt_path(&p, path);
	struct str s = buf_view(&p);
	if (s.n > columns) {
		buf_str(b, str_of("..."));
		s = str_n(s.p + s.n - (columns - 3), columns - 3);
		while (s.n && utf8_is_middle(*s.p)) /* not in the middle of a character */
			s = str_n(s.p + 1, s.n - 1);
	}
	buf_str(b, s);
	buf_release(&p);
}

enum { VALUE = 29, VALUE_WIDE = 56 }; /* columns: two side by side, or one */

/* Appends a value for a person, cut to fit into so many columns; "(none)" where it is empty. Of a digest only the first
 * 12 digits. */
static void format_build_value(struct buf *b, struct str s, size_t columns)
{
	struct buf v = {0};
	if (str_starts(s, str_of("sha256:"))) /* enough of a digest to tell two apart; --json has all */
		s = str_n(s.p + 7, s.n < 19 ? s.n - 7 : 12);
	fmt_name(&v, s);
	fmt_fit(&v, 0, columns, false);
	buf_str(b, s.n ? buf_view(&v) : str_of("(none)"));
	buf_release(&v);
}

void diff_build_head(const struct diff_item *i, struct buf *b)
{
	const char *slash = memrchr(i->subject.p, '/', i->subject.n);
	put_tail(b, slash ? str_n(slash + 1, (size_t)(i->subject.p + i->subject.n - slash) - 1) : i->subject, 24);
	if (str_is(i->part, "record")) {
		buf_printf(b, "  no record of how %s was built", i->kind == DIFF_ADDED ? "A's" : "B's");
		return;
	}
	if (str_is(i->part, "nothing")) {
		buf_str(b, str_of("  built from the same inputs, as far as recorded"));
		return;
	}
	if (str_is(i->part, "same")) {
		buf_str(b, str_of("  built twice, to the same bytes"));
		return;
	}
	buf_printf(b, "  %.*s", (int)i->part.n, i->part.p);
	if (i->name.n) {
		buf_char(b, ' ');
		put_tail(b, i->name, 36);
	}
	if (i->count > 1)
		buf_printf(b, "  (%u commands)", i->count);
}

void diff_build_values(const struct diff_item *i, struct buf *b)
{
	if (str_is(i->part, "record")) {
		bool has = i->kind == DIFF_ADDED;
		buf_printf(b, "%c: ", has ? 'A' : 'B');
		format_build_value(b, has ? i->before : i->after, VALUE_WIDE);
		buf_printf(b, "\n  %c: ", has ? 'B' : 'A');
		format_build_value(b, has ? i->after : i->before, VALUE_WIDE);
		return;
	}
	if (str_is(i->part, "same"))
		return;
	if (str_is(i->part, "nothing")) {
		buf_str(b, str_of("`stemma show` lists the gaps of the build"));
		return;
	}
	if (i->kind == DIFF_CHANGED) {
		bool wide = !str_starts(i->before, str_of("sha256:")) && (i->before.n > VALUE || i->after.n > VALUE);
		format_build_value(b, i->before, wide ? VALUE_WIDE : VALUE);
		buf_str(b, str_of(wide ? "\n  -> " : " -> "));
		format_build_value(b, i->after, wide ? VALUE_WIDE : VALUE);
		return;
	}
	buf_str(b, str_of(i->kind == DIFF_ADDED ? "only in B: " : "only in A: "));
	format_build_value(b, i->kind == DIFF_ADDED ? i->after : i->before, 52);
}
