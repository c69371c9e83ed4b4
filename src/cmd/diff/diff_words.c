/* diff_words.c - the sentences of a diff. */
#include "cmd/diff/diff_view.h"

#include <errno.h>
#include <math.h>

/* Appends the name and the command of a run. 0, also where there is none; -errno. */
static int run_name(struct store *s, store_id id, struct buf *b)
{
	struct run_info run;
	int r = id ? store_run(s, id, &run) : 0;
	if (r > 0) {
		buf_str(b, fmt_run(run.ulid));
		buf_str(b, str_of("  "));
		fmt_argv(b, &run.argv, true, 60);
	}
	return r < 0 ? r : 0;
}

/* Name and number of a version; where the other side's are the same, its id too. 0, -errno. */
static int version_side_name(const struct diff_view *v, int side, const struct version_info *ver, struct buf *b)
{
	const struct diff_side_info *i = v->d->side;
	struct version_info other;
	struct file_info f;
	struct buf there = {0};
	size_t from = b->n;
	int r = store_version(v->s, i[!side].id, &other);
	r = r > 0 ? store_file(v->s, other.file, &f) : r;
	if (r > 0)
		version_name(&there, &other, &f);
	r = r < 0 ? r : store_file(v->s, ver->file, &f);
	if (r > 0)
		version_name(b, ver, &f);
	const struct str name = str_n(b->p + from, b->n - from);
	if (r > 0 && i[0].id != i[1].id && i[!side].what == DIFF_VERSION && str_eq(buf_view(&there), name))
		buf_printf(b, "  %.10s", ver->pub.text);
	buf_release(&there);
	return r < 0 ? r : 0;
}

int diff_made_from(const struct diff_view *v, struct buf *b)
{
	const struct diff_side_info *i = v->d->side;
	if (i[0].what != DIFF_VERSION || i[1].what != DIFF_VERSION || i[0].id == i[1].id)
		return 0;
	for (int k = 1; k >= 0; k--) {
		struct edges gens = {0}, uses = {0};
		store_id by = 0;
		int r = store_gens(v->s, i[k].id, &gens);
		for (size_t g = 0; r == 0 && g < gens.n && !by; g++) {
			r = gens.v[g].sure ? store_uses(v->s, gens.v[g].to, &uses) : 0;
			for (size_t u = 0; r == 0 && gens.v[g].sure && u < uses.n; u++)
				if (uses.v[u].sure && uses.v[u].to == i[!k].id && uses.v[u].lo < gens.v[g].hi)
					by = gens.v[g].to;
		}
		edges_release(&gens);
		edges_release(&uses);
		if (r == 0 && by) {
			buf_printf(b, "%c was made from %c by ", "AB"[k], "AB"[!k]);
			return exec_name(v->s, by, true, 60, b) < 0 ? -EIO : 0;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int diff_side_name(const struct diff_view *v, int side, struct buf *b)
{
	const struct diff_side_info *i = &v->d->side[side];
	struct version_info ver;
	int64_t when = i->start;
	int r = 0;
	switch (i->what) {
	case DIFF_RUN:
		r = run_name(v->s, i->id, b);
		break;
	case DIFF_EXEC:
		r = exec_name(v->s, i->id, true, 60, b);
		break;
	case DIFF_VERSION:
		r = store_version(v->s, i->id, &ver);
		if (r > 0) { /* its own time, not that of the oldest thing that it came from */
			r = version_side_name(v, side, &ver, b);
			when = ver.end != TIME_NEVER && ver.end != TIME_NONE ? ver.end : ver.start;
		}
		break;
	}
	if (r >= 0 && when != TIME_NONE && when != TIME_NEVER) {
		buf_str(b, str_of("  "));
		fmt_time(b, when, true);
	}
	return r < 0 ? r : 0;
}

/* Appends the size of a version. *ret_n: the version's number, 0 where there is none; bytes: with all digits; the
 * size is left out where it is not known. 0, -errno. */
static int version_size(const struct diff_view *v, store_id id, uint64_t *ret_n, bool bytes, struct buf *b)
{
	struct version_info ver;
	int r = id ? store_version(v->s, id, &ver) : 0;
	*ret_n = r > 0 ? ver.n : 0;
	if (r > 0 && ver.has_size)
		fmt_size(b, ver.size, bytes);
	return r < 0 ? r : 0;
}

/* 0, -errno. Appends the item's words to b. */
static int file_item(const struct diff_view *v, const struct diff_item *i, struct buf *b)
{
	struct buf before = {0}, after = {0};
	uint64_t na = 0, nb = 0;
	struct version_info va, vb;
	int r = version_size(v, i->a, &na, v->bytes, &before);
	r = r < 0 ? r : version_size(v, i->b, &nb, v->bytes, &after);
	if (r >= 0 && i->kind == DIFF_CHANGED && after.n && str_eq(buf_view(&before), buf_view(&after))) {
		buf_reset(&before); /* "2.1 KiB -> 2.1 KiB" tells nobody anything: all digits do */
		buf_reset(&after);
		r = version_size(v, i->a, &na, true, &before);
		r = r < 0 ? r : version_size(v, i->b, &nb, true, &after);
		buf_str(&before, str_of(v->bytes ? "" : " B"));
		buf_str(&after, str_of(v->bytes ? "" : " B"));
	}
	bool same_file =
	    i->a && i->b && store_version(v->s, i->a, &va) > 0 && store_version(v->s, i->b, &vb) > 0 && va.file == vb.file;
	fmt_path(b, i->subject);
	switch (i->kind) {
	case DIFF_CHANGED:
		buf_printf(b, "  %s -> %s", buf_cstr(&before), buf_cstr(&after));
		break;
	case DIFF_REWRITTEN:
		if (i->content)
			buf_printf(b, "  %s, rewritten: %s", buf_cstr(&after),
			           i->content == CONTENT_SAME ? "equal bytes" : "equal size, different bytes");
		else if (before.n && after.n)
			buf_printf(b, "  %s, %s; content not compared", buf_cstr(&after),
			           i->unseen ? "modified without a change of size" : "rewritten with the same size");
		else
			buf_str(b, str_of("  another version; the record does not have the size of both"));
		break;
	case DIFF_ADDED:
		buf_printf(b,
		           i->absent_before              ? "  only in B%s%s; A looked for it"
		           : i->possible                 ? "  possibly written by B only%s%s"
		           : i->category == DIFF_outputs ? "  made by B only%s%s"
		                                         : "  only in B%s%s",
		           after.n ? ", " : "", buf_cstr(&after));
		break;
	case DIFF_REMOVED:
		buf_printf(b,
		           i->absent_before              ? "  only in A%s%s; B looked for it"
		           : i->possible                 ? "  possibly written by A only%s%s"
		           : i->category == DIFF_outputs ? "  made by A only%s%s"
		                                         : "  only in A%s%s",
		           before.n ? ", " : "", buf_cstr(&before));
		break;
	}
	if (i->reused)
		buf_printf(b, "; %s reused a file that %s had made from it", i->kind == DIFF_ADDED ? "A" : "B",
		           i->kind == DIFF_ADDED ? "B" : "A");
	if (same_file)
		buf_printf(b, " (@{%llu} -> @{%llu})", (unsigned long long)na, (unsigned long long)nb);
	else if (i->a && i->b)
		buf_str(b, str_of(" (another file of the same name)"));
	buf_release(&before);
	buf_release(&after);
	return r;
}

/* A figure as it is kept in an item: "cpu 1234". */
static void format_item_metric(struct buf *b, struct str s, bool bytes, bool with_name)
{
	char name[16] = "", text[64];
	unsigned long long n = 0;
	snprintf(text, sizeof(text), "%.*s", (int)s.n, s.p);
	if (sscanf(text, "%15s %llu", name, &n) != 2)
		return;
	if (with_name)
		buf_printf(b, "%s ", name);
	if (strcmp(name, "cpu") == 0)
		fmt_duration(b, n);
	else
		fmt_size(b, n, bytes);
}

/* Appends the name, cut to a length. max: bytes. What is longer ends with "...". */
static void format_cut_name(struct buf *b, struct str s, size_t max)
{
	fmt_name(b, str_n(s.p, s.n < max ? s.n : max));
	if (s.n > max)
		buf_str(b, str_of("..."));
}

int diff_item_text(const struct diff_view *v, const struct diff_item *i, struct buf *b)
{
	if (i->a || i->b)
		return file_item(v, i, b);
	switch (i->category) {
	case DIFF_build:
		diff_build_head(i, b);
		return 0;
	case DIFF_lines:
		fmt_name(b, i->subject);
		buf_printf(b, "  ");
		fmt_name(b, i->name);
		buf_printf(b, "\n  A ");
		fmt_name(b, i->before);
		buf_printf(b, "\n  B ");
		fmt_name(b, i->after);
		if (i->count > 1)
			buf_printf(b, "\n  and %u more (stemma diff --trace)", i->count - 1);
		return 0;
	case DIFF_executions:
		fmt_name(b, i->subject);
		buf_printf(b, "  only in %s", i->kind == DIFF_ADDED ? "B" : "A");
		if (i->count > 1)
			buf_printf(b, ", %u of them", i->count);
		if (i->reused)
			buf_printf(b, "; %s reused what %s had made with it", i->kind == DIFF_ADDED ? "A" : "B",
			           i->kind == DIFF_ADDED ? "B" : "A");
		return 0;
	case DIFF_order:
		buf_printf(b, "%u pair%s of programs started in a different order, first ", i->count, str_plural(i->count));
		fmt_name(b, i->subject);
		return 0;
	case DIFF_resources:
		fmt_name(b, i->subject);
		buf_str(b, str_of("  "));
		format_item_metric(b, i->before, v->bytes, true);
		buf_str(b, str_of(" -> "));
		format_item_metric(b, i->after, v->bytes, false);
		return 0;
	default:
		break;
	}
	if (i->category == DIFF_outcome && i->exec_b) {
		int r = exec_name(v->s, i->exec_b, true, 60, b);
		if (r < 0)
			return r;
	} else {
		fmt_name(b, i->subject);
	}
	buf_str(b, str_of(i->category == DIFF_environment && i->kind != DIFF_CHANGED
	                      ? (i->kind == DIFF_ADDED ? "  only in B: " : "  only in A: ")
	                      : "  "));
	if (i->kind != DIFF_ADDED)
		format_cut_name(b, i->before.n ? i->before : str_of(i->kind == DIFF_CHANGED ? "(nothing)" : ""), 160);
	if (i->kind == DIFF_CHANGED)
		buf_str(b, str_of(" -> "));
	if (i->kind != DIFF_REMOVED)
		format_cut_name(b, i->after.n ? i->after : str_of(i->kind == DIFF_CHANGED ? "(nothing)" : ""), 160);
	if (i->count > 1)
		buf_printf(b, "  (%u programs)", i->count);
	return 0;
}

int diff_change_text(const struct diff_view *v, const struct diff_item *i, struct buf *b)
{
	struct exec_info x;
	if (i->category == DIFF_build)
		diff_build_values(i, b);
	if (!i->a && !i->b)
		return 0;
	bool one = i->kind == DIFF_ADDED || i->kind == DIFF_REMOVED; /* there is nothing that it changed from */
	if (i->changed_by) {
		buf_str(b, str_of(one ? "made by " : "changed by "));
		int r = exec_name(v->s, i->changed_by, true, 60, b);
		if (r < 0)
			return r;
		r = store_exec(v->s, i->changed_by, &x);
		store_id run = r > 0 ? x.run : 0;
		if (run) {
			struct run_info info;
			r = store_run(v->s, run, &info);
			if (r > 0)
				buf_printf(b, " in run %.*s", (int)fmt_run(info.ulid).n, fmt_run(info.ulid).p);
		}
		if (r < 0)
			return r;
	} else if (i->unseen)
		buf_str(b, str_of(one ? "external to the recorded runs" : "modified outside the recorded runs"));
	else
		return 0;
	if (i->when != TIME_NONE && i->when != TIME_NEVER) {
		buf_str(b, str_of(", "));
		fmt_time(b, i->when, true);
	}
	return 0;
}

/* Are all libraries of the list the recorder's own? */
static bool are_of_recorder(struct str list)
{
	for (size_t at = 0, end; at < list.n; at = end + 1) {
		for (end = at; end < list.n && list.p[end] != ' ' && list.p[end] != ':'; end++)
			;
		if (end > at && !str_starts(str_base_name(str_n(list.p + at, end - at)), str_of("libstemma-")))
			return false;
	}
	return true;
}

/* What the recorder tells its libraries, and which of these it loads, leads to no other result. */
static bool is_of_recorder(const struct diff_item *x)
{
	if (x->category == DIFF_programs)
		return str_starts(str_base_name(x->subject), str_of("libstemma-"));
	return x->category == DIFF_environment &&
	       (str_starts(x->subject, str_of("STEMMA_")) ||
	        (str_is(x->subject, "LD_PRELOAD") && are_of_recorder(x->before) && are_of_recorder(x->after)));
}

/* Were objects of HDF5 files recorded on side A only? stemma rerun records none. */
static bool has_objects_in_a_only(const struct diff *d)
{
	for (size_t i = 0; i < d->n_items; i++)
		if (d->items[i].category == DIFF_environment && d->items[i].kind == DIFF_REMOVED &&
		    str_is(d->items[i].subject, "STEMMA_HDF5"))
			return true;
	return false;
}

/* Is it an object of an HDF5 file: FILE//PATH? */
static bool is_object(const struct diff_item *x)
{
	return (x->category == DIFF_inputs || x->category == DIFF_configuration) && x->kind == DIFF_REMOVED &&
	       memmem(x->subject.p, x->subject.n, "//", 2);
}

/* Is it a file that only B read as one, for A's record has objects of a file of that name? */
static bool is_holder(const struct diff *d, const struct diff_item *x)
{
	const struct str name = str_base_name(x->subject);
	for (size_t i = 0; x->category == DIFF_inputs && x->kind == DIFF_ADDED && i < d->n_items; i++) {
		const struct diff_item *o = &d->items[i];
		const char *at = is_object(o) ? memmem(o->subject.p, o->subject.n, "//", 2) : NULL;
		if (at && str_eq(str_base_name(str_n(o->subject.p, (size_t)(at - o->subject.p))), name))
			return true;
	}
	return false;
}

/* That the folders are others is the doing of stemma rerun, and so is that it records no objects. no_objects: they were
 * recorded on side A only. */
static bool is_of_rerun(const struct diff *d, const struct diff_item *x, bool no_objects)
{
	return is_of_recorder(x) || (no_objects && (is_object(x) || is_holder(d, x))) ||
	       (x->category == DIFF_machine && str_is(x->subject, "directory")) ||
	       (x->category == DIFF_environment && (str_is(x->subject, "TMPDIR") || str_is(x->subject, "PWD")));
}

void diff_pass_over_rerun(struct diff *d)
{
	const bool no_objects = has_objects_in_a_only(d);
	while (d->first < d->n_items && is_of_rerun(d, &d->items[d->first], no_objects))
		do
			d->first++;
		while (d->first < d->n_items && !diff_category_words[d->items[d->first].category].cause);
	if (d->first >= d->n_items)
		d->first = SIZE_MAX;
}

/* Is an output known to differ? */
static bool outputs_differ(const struct diff *d)
{
	for (size_t i = 0; i < d->n_items; i++) {
		const struct diff_item *x = &d->items[i];
		if (x->category == DIFF_outputs && (x->kind != DIFF_REWRITTEN || x->content == CONTENT_DIFFERS))
			return true;
	}
	return false;
}

/* Why the program is another, where it is known; the category has the rest. */
static void cause_build(const struct diff *d, const struct diff_item *program, struct buf *b)
{
	size_t more = 0;
	for (size_t k = 0; k < d->n_items; k++) {
		const struct diff_item *x = &d->items[k];
		if (x->category != DIFF_build || !str_eq(x->subject, program->subject))
			continue;
		if (more++)
			continue;
		buf_str(b, str_of("\nbuild: "));
		diff_build_head(x, b);
		buf_str(b, str_of("\n  "));
		diff_build_values(x, b);
	}
	if (more > 1)
		buf_printf(b, "\n  and %zu more that differ in its build", more - 1);
}

/* Appends which outputs a difference reaches. outputs: how many the side has. */
static void reach_text(const struct diff_item *i, size_t outputs, int side, struct buf *b)
{
	const char *name = side ? "B" : "A";
	if (outputs == 1) {
		buf_printf(b, "\nreaches the only output of %s%s", name, i->reaches_differing ? ", which differs" : "");
		return;
	}
	buf_printf(b, "\nreaches %u of the %zu outputs of %s", i->reaches, outputs, name);
	if (i->reaches_differing)
		buf_printf(b, "; %u of these %s", i->reaches_differing, i->reaches_differing == 1 ? "differs" : "differ");
}

int diff_cause_text(const struct diff_view *v, struct buf *b)
{
	static const char *const what[DIFF_CATEGORIES] = {
	    [DIFF_outcome] = "a program failed",    [DIFF_inputs] = "an input",     [DIFF_programs] = "a program",
	    [DIFF_options] = "arguments",           [DIFF_machine] = "the machine", [DIFF_configuration] = "settings",
	    [DIFF_environment] = "the environment", [DIFF_order] = "the order",     [DIFF_executions] = "the programs"};
	const struct diff *d = v->d;
	if (d->first == SIZE_MAX) {
		buf_str(b, str_of(diff_matters(d) ? "No recorded difference reaches the outputs." : "No recorded difference."));
		if (outputs_differ(d))
			buf_str(b,
			        str_of(" Not recorded: time, random numbers, the network, and environment variables that are not "
			               "listed under ENVIRONMENT in stemma-run(1); \"env NAME=VALUE COMMAND\" records one."));
		return 0;
	}
	const struct diff_item *i = &d->items[d->first];
	buf_printf(b, "%s: ", what[i->category] ? what[i->category] : diff_category_words[i->category].name);
	int r = diff_item_text(v, i, b);
	size_t at = b->n;
	buf_str(b, str_of("\n"));
	size_t start = b->n;
	r = r < 0 ? r : diff_change_text(v, i, b);
	if (b->n == start)
		b->n = at;
	if (i->category == DIFF_programs)
		cause_build(d, i, b);
	if (i->reaches) {
		int side = i->kind == DIFF_REMOVED ? 0 : 1;
		reach_text(i, d->side[side].outputs, side, b);
	}
	return r;
}
