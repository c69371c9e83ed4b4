/* stemma why: one line for a file: what made it, from what, who, when, where. */
#include "answer/copies/copies.h"
#include "answer/elsewhere.h"
#include "answer/folder.h"
#include "answer/why/why.h"
#include "answer/zarr/zarr_list.h"
#include "base/os/engine_paths.h"
#include "cmd/lineage/why_folder.h"
#include "cmd/lineage/why_hyperslab.h"
#include "cmd/lineage/why_within.h"
#include "cmd/ui/notes_print.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define PIPELINE_MAX 6 /* commands of a pipeline that are named */
#define SHELL_MAX 24   /* columns of the shell that opened the file */

/* " [rank 1 of 4]", " [4 ranks]", " [3 processes]": of a rank of a job, and of one command that ran several times.
 * Below 0: -errno. */
static int fmt_times(struct cmd *c, const struct why *n, size_t maker, struct buf *b)
{
	struct exec_info x;
	int r = store_exec(c->store, n->l.nodes[n->makers[maker]].id, &x);
	if (r > 0 && n->times[maker] > 1) {
		buf_printf(b, " [%u %s]", n->times[maker], n->ranked ? "ranks" : "processes");
	} else if (r > 0 && n->ranked && x.rank.n) {
		buf_printf(b, " [rank ");
		fmt_name(b, x.rank);
		if (x.ranks.n) {
			buf_printf(b, " of ");
			fmt_name(b, x.ranks);
		}
		buf_char(b, ']');
	}
	return r;
}

/* Of a Snakemake that was started for one job, "snakemake rule merge" or "snakemake rule call s=B", which says more
 * than its command: 1, and it stands in b; 0 it is none; -errno. */
static int fmt_job(struct store *s, store_id exec, struct buf *b)
{
	struct exec_brief x;
	struct str arg, job = {0};
	bool engine = false, next = false;
	int r = store_exec_brief(s, exec, &x);
	for (size_t pos = 0; r > 0 && !job.n && strlist_next(&x.argv, &pos, &arg); next = str_is(arg, "--target-jobs")) {
		engine |= str_is(str_base_name(arg), "snakemake");
		job = next && engine ? arg : job;
	}
	const char *colon = job.n ? memchr(job.p, ':', job.n) : NULL;
	if (r <= 0 || !colon || colon == job.p)
		return r < 0 ? r : 0;
	buf_printf(b, "snakemake rule ");
	fmt_name(b, str_n(job.p, (size_t)(colon - job.p)));
	if (colon + 1 < job.p + job.n) {
		buf_char(b, ' ');
		fmt_name(b, str_n(colon + 1, (size_t)(job.p + job.n - colon - 1)));
	}
	return 1;
}

#define SHELL_COMMAND 40 /* columns of a shell with its commands, where others are one word */
#define KIND_ARGV 400    /* bytes of a command line of which the kind is looked for */

/* "sort x | uniq -c in fit.sh": each about max columns; max 0: the program, and its script or subcommand. */
static int fmt_makers(struct cmd *c, const struct why *n, size_t max, bool shell, struct buf *b)
{
	size_t shown = n->n_makers < PIPELINE_MAX ? n->n_makers : PIPELINE_MAX;
	uint32_t order[PIPELINE_MAX];
	int r = 0;
	why_order_makers(n, shown, order);
	for (size_t k = 0; k < shown && r >= 0; k++) {
		buf_printf(b, "%s", why_word_between(n, order, k, shown));
		size_t from = b->n;
		const size_t maker = order[k];
		r = n->all ? 0 : fmt_job(c->store, n->reps[maker], b);
		const bool job = r > 0;
		r = r ? r : exec_name(c->store, n->reps[maker], true, max ? max * 4 : KIND_ARGV, b);
		if (r >= 0)
			fmt_copied_script(b, from);
		const char *rest = r < 0 || max ? "" : buf_cstr(b) + from + command_kind(buf_cstr(b) + from).n;
		if (job)
			fmt_fit(b, from, max ? max : SHELL_COMMAND, c->out.utf8);
		else if (max || str_starts(str_of(rest), str_of(" -c "))) /* of sh -c, what it runs says more */
			fmt_fit(b, from, max ? max : SHELL_COMMAND, c->out.utf8);
		else if (r >= 0)
			b->n = from + command_kind(buf_cstr(b) + from).n;
		r = r < 0 ? r : fmt_times(c, n, maker, b);
	}
	if (n->n_makers > shown)
		buf_printf(b, " and %zu more", n->n_makers - shown);
	if (!n->sure)
		buf_printf(b, " ?");
	if (shell && n->within && r >= 0) {
		buf_printf(b, " in ");
		size_t from = b->n;
		r = exec_name(c->store, n->within, true, SHELL_MAX * 4, b);
		fmt_fit(b, from, SHELL_MAX, c->out.utf8);
	}
	return r < 0 ? r : 0;
}

#define FOLD 2     /* segments, or sockets, that are told as their number */
#define FOLD_MAX 3 /* where fewer inputs are named, they count with the rest */

/* "index", "settings files": in a count, where the word of the role alone would not be a thing. */
static const char *role_things(unsigned role, bool many)
{
	if (role == WHY_ROLE_settings)
		return many ? "settings files" : "settings file";
	return role == WHY_ROLE_beside ? "beside it in the folder" : why_role_word(role, many);
}

/* ", 7 more (5 indexes, 2 scripts)": of is how many there are of each role. */
static void fmt_more(const size_t of[WHY_ROLES], size_t shown, struct buf *b)
{
	size_t all = 0, parts = 0;
	for (unsigned role = 0; role < WHY_ROLES; role++)
		all += of[role];
	if (!all)
		return;
	if (!shown) {
		buf_printf(b, "%zu input%s", all, str_plural(all));
		return;
	}
	buf_printf(b, ", %zu more", all);
	for (unsigned role = WHY_ROLE_data + 1; role < WHY_ROLES && of[WHY_ROLE_data] < all; role++)
		if (of[role])
			buf_printf(b, "%s%zu %s", parts++ ? ", " : " (", of[role], role_things(role, of[role] != 1));
	buf_printf(b, parts ? ")" : "");
}

/* Is input i named in the line that is printed? Those that are not data are named only where no data are; scripts
 * also behind them. */
static bool is_named_role(const struct why *n, size_t i)
{
	enum why_role first = (enum why_role)n->role[n->inputs[0]], role = (enum why_role)n->role[n->inputs[i]];
	if (n->all || (role == WHY_ROLE_earlier && why_is_certain(n, i)))
		return true; /* it was appended to */
	return n->sort[n->inputs[i]] != ENTITY_DATA || role == first || (role == WHY_ROLE_script && first == WHY_ROLE_data);
}

/* What the line of a version that somebody was seen making says beside makers and inputs. */
struct made {
	const struct file_target *t;
	const struct why *n;
	struct zarr *zarr;
	struct zarr_list arrays; /* beside the inputs */
	struct buf name, who;
	int64_t when; /* ns */
};

/* Is a part of that input's array certain? */
static bool is_array_certain(const struct made *m, size_t first)
{
	for (size_t i = first; i < m->n->n_inputs; i++)
		if (m->arrays.first[i] == first && why_is_certain(m->n, i))
			return true;
	return false;
}

/* Appends input i of m: its array, or its version and what became of the file; with a ? if it is not certain. 0;
 * -EIO: the record lacks it; -errno. */
static int fmt_input(struct cmd *c, const struct made *m, size_t i, struct buf *b)
{
	const struct why *n = m->n;
	if (m->arrays.node[i] != ZARR_NO) {
		int r = zarr_text(m->zarr, m->arrays.node[i], &m->arrays.count[i], b);
		buf_printf(b, "%s", is_array_certain(m, i) ? "" : "?");
		return r;
	}
	struct version_info v;
	struct file_info f;
	int r = store_version(c->store, n->l.nodes[n->inputs[i]].id, &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	if (r <= 0)
		return r < 0 ? r : -EIO; /* the edge led to it */
	r = version_name_opened(c->store, b, &v, &f, why_input_user(n, i));
	if (r < 0)
		return r;
	if (f.kind == TERM_kind_socket || f.kind == TERM_kind_terminal)
		buf_printf(b, f.kind == TERM_kind_socket ? " (not observed)" : " (typed)");
	if (!why_is_certain(n, i))
		buf_char(b, '?');
	struct buf since = {0};
	r = f.named ? 0 : version_since(c->store, &v, &f, &since);
	if (str_starts(buf_view(&since), str_of("replaced"))) /* the name is another file's now */
		buf_printf(b, " (replaced since)");
	buf_release(&since);
	return r < 0 ? r : 0;
}

/* Appends the inputs by their roles, at most max by name; where there are many of a sort, only how many. 0. */
static int fmt_inputs(struct cmd *c, const struct made *m, size_t max, struct buf *b)
{
	const struct why *n = m->n;
	size_t of[ENTITY_SORTS] = {0}, shown = 0, left[WHY_ROLES] = {0}, segments = 0;
	bool sure[ENTITY_SORTS] = {true, true, true, true, true};
	for (size_t i = 0; i < n->n_inputs; i++) {
		of[n->sort[n->inputs[i]]]++;
		sure[n->sort[n->inputs[i]]] &= why_is_certain(n, i);
	}
	for (size_t i = 0; i < n->n_inputs; i++) {
		unsigned sort = n->sort[n->inputs[i]];
		if (m->arrays.first[i] != i)
			continue;
		bool folded = sort >= ENTITY_SEGMENT && of[sort] >= FOLD;
		if (folded && max >= FOLD_MAX)
			continue;
		if (folded || shown >= max || !is_named_role(n, i)) {
			left[n->role[n->inputs[i]]]++;
			continue;
		}
		buf_printf(b, shown++ ? ", " : "");
		int r = fmt_input(c, m, i, b);
		if (r < 0)
			return r;
	}
	for (unsigned sort = ENTITY_SEGMENT; max >= FOLD_MAX && sort < ENTITY_SORTS; sort++) {
		if (of[sort] < FOLD)
			continue;
		buf_printf(b, shown || segments++ ? ", " : "");
		fmt_entity_count(b, sort, of[sort]);
		buf_printf(b, "%s%s", sort == ENTITY_SOCKET ? " (not observed)" : "", sure[sort] ? "" : "?");
	}
	fmt_more(left, shown + segments, b);
	return 0;
}

int why_fmt_asked(const char *text, const struct file_target *t, const struct version_info *v,
                  const struct file_info *f, struct buf *b)
{
	struct buf path = {0};
	char *name = t->name == NAME_SHOWN ? NULL : strndup(text, t->name_n);
	if (name)
		target_path(name, &path);
	if (t->name != NAME_SHOWN && (!name || path.failed)) {
		free(name);
		buf_release(&path);
		return -ENOMEM;
	}
	if (t->name == NAME_KNOWN || t->name == NAME_NEW)
		fmt_version(b, buf_view(&path), v->n);
	else
		version_name(b, v, f);
	if (t->name == NAME_NEW && !f->path.n) {
		buf_printf(b, " (recorded without a name)"); /* it was longer than a path can be */
	} else if (t->name == NAME_NEW || t->name == NAME_OLD || t->name == NAME_LINK) {
		buf_printf(b, t->name == NAME_NEW ? " (recorded as " : t->name == NAME_LINK ? " (linked as " : " (was ");
		fmt_path(b, t->name == NAME_NEW ? f->path : buf_view(&path));
		buf_char(b, ')');
	}
	free(name);
	buf_release(&path);
	return 0;
}

/* Appends what the disk has in place of the recorded version. Nothing where a version was named. brief: without the
 * seconds. 0, -errno. */
static int fmt_disk(struct cmd *c, const struct file_target *t, size_t max, bool brief, struct buf *b)
{
	static const char *const words[] = {
	    [DISK_SAME] = "",
	    [DISK_CHANGED] = "; CHANGED on disk since then",
	    [DISK_REPLACED] = "; ANOTHER file has this name now",
	    [DISK_GONE] = "; GONE",
	    [DISK_AROUND] = "; its FILE was written later, by a program whose objects were not recorded",
	    [DISK_DELETED] = "; DELETED"};
	if (t->n)
		return 0;
	buf_printf(b, "%s", words[t->disk]);
	return t->disk == DISK_DELETED ? fmt_deleted(c->store, &t->deleted, max, brief, c->out.utf8, b) : 0;
}

#define WIDE 150 /* columns from which on who and when are never left out */

/* How much of it a line holds. */
struct made_width {
	size_t argv, inputs; /* bytes of each command; inputs by name */
	int brief; /* 1: without the shell and the seconds; 2: without the time of day; 3: without who and when, too */
};

/* Appends " from ..."; max 0: only how many. Nothing if it has none. 0, negative. */
static int fmt_made_inputs(struct cmd *c, const struct made *m, size_t max, struct buf *line)
{
	const size_t n = m->arrays.n_shown;
	if (!n)
		return 0;
	buf_printf(line, " from ");
	if (max)
		return fmt_inputs(c, m, max, line);
	buf_printf(line, "%zu input%s", n, str_plural(n));
	return 0;
}

/* Appends who made it and when; nothing where it is too long. */
static void fmt_made_by(struct made *m, int brief, struct buf *line)
{
	if (brief > 2)
		return;
	buf_printf(line, " by %s%s", buf_cstr(&m->who), brief ? " " : ", ");
	fmt_time(line, m->when, brief);
	if (brief && line->n > 3 && line->p[line->n - 3] == ':')
		line->n -= brief == 1 ? 3 : 9; /* no seconds, no time of day */
}

/* The whole line, of these widths. 0, -errno. */
static int fmt_made(struct cmd *c, struct made *m, struct made_width w, struct buf *line)
{
	buf_reset(line);
	buf_printf(line, "%s: made by ", buf_cstr(&m->name));
	int r = fmt_makers(c, m->n, w.argv, !w.brief, line);
	if (r >= 0)
		r = fmt_made_inputs(c, m, w.inputs, line);
	fmt_made_by(m, w.brief, line);
	buf_printf(line, "%s", m->n->gaps ? "; record incomplete" : "");
	return r < 0 ? r : fmt_disk(c, m->t, w.argv, w.brief != 0, line);
}

/* Which of the inputs are parts of arrays. 0, -errno. */
static int find_input_arrays(struct cmd *c, struct made *m)
{
	const struct why *n = m->n;
	store_id *ids = calloc(n->n_inputs + 1, sizeof(*ids));
	int r = ids ? zarr_new(c->store, &m->zarr) : -ENOMEM;
	for (size_t i = 0; i < n->n_inputs && r == 0; i++)
		ids[i] = n->l.nodes[n->inputs[i]].id;
	if (r == 0)
		r = zarr_list_make(m->zarr, ids, n->n_inputs, &m->arrays);
	free(ids);
	return r;
}

/* Appends the name that the file had when the version was made, where it got the present one when its maker had ended:
 * another program renamed it. Nothing where the operand is another name. 0, -errno. */
static int fmt_name_then(struct cmd *c, const struct file_target *t, const struct version_info *v, store_id maker,
                         struct buf *b)
{
	struct file_info f;
	struct exec_info x;
	struct buf now = {0}, then = {0};
	int64_t since = TIME_NONE;
	int r = t->name == NAME_SHOWN && v->end != TIME_NEVER ? store_file(c->store, v->file, &f) : 0;
	if (r > 0 && f.kind == TERM_kind_regular && f.named)
		buf_str(&now, f.path);
	r = r > 0 && now.n ? store_named_since(c->store, v->file, buf_view(&now), &since) : r < 0 ? r : 0;
	if (r > 0)
		r = store_exec(c->store, maker, &x);
	if (r > 0)
		r = x.end <= since ? store_name_at(c->store, v->file, since - 1, &then) : 0;
	if (r > 0 && then.n && (r = store_named_at(c->store, v->file, buf_view(&then), since)) == 0) { /* else a link */
		buf_printf(b, " (was ");
		fmt_path(b, buf_view(&then));
		buf_char(b, ')');
	}
	r = now.failed || then.failed ? -ENOMEM : r;
	buf_release(&now);
	buf_release(&then);
	return r < 0 ? r : 0;
}

int why_made_line(struct cmd *c, const char *text, const char *named, const struct file_target *t,
                  const struct version_info *v, const struct why *n, struct buf *line)
{
	static const struct made_width widths[] = {
	    {400, 6, 0}, {160, 5, 0}, {100, 4, 0}, {60, 4, 0}, {40, 4, 0}, {28, 4, 0}, {28, 4, 1}, {0, 6, 1},
	    {0, 4, 1},   {0, 4, 2},   {0, 4, 3},   {0, 3, 3},  {0, 2, 3},  {0, 1, 3},  {12, 1, 3}, {12, 0, 3}};
	struct made m = {.t = t, .n = n, .when = v->end != TIME_NEVER && v->end != TIME_NONE ? v->end : v->start};
	struct file_info f;
	static const struct made_width whole = {400, SIZE_MAX, 0};
	size_t width = n->all ? SIZE_MAX : c->out.tty || getenv("COLUMNS") ? (size_t)c->out.width : 200;
	int r = find_input_arrays(c, &m) < 0 ? -ENOMEM : store_file(c->store, v->file, &f);
	if (r > 0 && named)
		buf_printf(&m.name, "%s", named);
	else if (r > 0)
		r = why_fmt_asked(text, t, v, &f, &m.name) < 0 ||
		            fmt_name_then(c, t, v, n->l.nodes[n->makers[0]].id, &m.name) < 0
		        ? -ENOMEM
		        : r;
	if (r > 0)
		r = exec_who(c->store, n->l.nodes[n->makers[0]].id, &m.who);
	for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]) && r >= 0; k++) {
		struct made_width w = n->all ? whole : widths[k];
		if (w.brief > 2 && width >= WIDE)
			w.brief = 2;
		r = fmt_made(c, &m, w, line);
		if (fmt_columns(buf_view(line)) <= width)
			break;
	}
	buf_release(&m.name);
	buf_release(&m.who);
	zarr_list_release(&m.arrays);
	zarr_free(m.zarr);
	return r < 0 ? r : 0;
}

/* The line of a version that nobody was seen making. 0, -errno. */
static int found_line(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                      struct buf *line)
{
	struct file_info f;
	int r = store_file(c->store, v->file, &f);
	if (r <= 0)
		return r;
	r = why_fmt_asked(text, t, v, &f, line);
	if (r < 0)
		return r;
	if (v->origin == ORIGIN_OBSERVED) {
		buf_printf(line, ": its maker was not observed");
	} else if (v->origin == ORIGIN_UNOBSERVED) {
		buf_printf(line, ": modified outside stemma by an unrecorded program, before ");
		fmt_time(line, v->start, false);
	} else {
		buf_printf(line, ": external, first observed ");
		fmt_time(line, v->start, false);
	}
	struct edges readers = {0};
	r = store_readers(c->store, v->id, &readers);
	if (r >= 0 && readers.n)
		buf_printf(line, ", used by %zu execution%s", readers.n, readers.n == 1 ? "" : "s");
	edges_release(&readers);
	if (r >= 0)
		r = fmt_disk(c, t, 60, false, line);
	return r < 0 ? r : 0;
}

/* What made the version that has the same bytes, called `named` and then by its own name; or as JSON in *ret_json. 1;
 * 0: what made it is not known any more; -errno. */
static int explain_equal(struct cmd *c, const struct copies *same, struct buf *named, unsigned how, struct buf *line,
                         json_t **ret_json)
{
	struct version_info v;
	struct why n = {0};
	int r = store_version(c->store, same->version, &v);
	struct file_target t = {.file = v.file, .version = same->version, .n = v.n};
	if (r > 0)
		r = why_find(cmd_source(c), t.version, how, &n) < 0 ? -EIO : 1;
	bool made = r > 0 && n.n_direct > 0;
	if (made && ret_json)
		r = why_json(cmd_source(c), &t, &n, ret_json);
	else if (made && (r = copies_format(cmd_source(c), same, named)) >= 0)
		r = why_made_line(c, "", buf_cstr(named), &t, &v, &n, line);
	why_release(&n);
	return r < 0 ? r : made;
}

/* A file that the record does not know, but perhaps its bytes. The status; -1: there is no answer. */
static int explain_copy(struct cmd *c, const char *text, unsigned how, json_t *list)
{
	struct copies same;
	struct buf path = {0}, named = {0}, line = {0};
	json_t *made = NULL;
	target_path(text, &path);
	int r = path.failed ? -ENOMEM : copies_of_file(cmd_source(c), buf_cstr(&path), &same);
	if (r == 0 && same.version) {
		fmt_path(&named, buf_view(&path));
		r = explain_equal(c, &same, &named, how, &line, list ? &made : NULL);
	}
	if (r > 0 && list) {
		json_t *one = json_object();
		js_str(one, "path", buf_view(&path));
		js_text(one, "digest", same.digest);
		js_put(one, same.stamped ? "stamp_of" : "same_bytes", made);
		js_add(list, one);
	} else if (r > 0) {
		puts(buf_cstr(&line));
	}
	buf_release(&path);
	buf_release(&named);
	buf_release(&line);
	return r > 0 ? STATUS_OK : -1;
}

/* Of a version that nobody was seen making: is there one with its bytes that somebody made? As explain_equal. Without
 * question 0 of a version that was seen being made. */
static int explain_by_content(struct cmd *c, const char *text, const struct file_target *t,
                              const struct version_info *v, unsigned how, struct buf *line, json_t **ret_json,
                              struct copies *ret)
{
	struct file_info f;
	struct buf named = {0};
	if (v->origin == ORIGIN_OBSERVED)
		return 0;
	int r = copies_of_version(cmd_source(c), t->version, ret);
	if (r < 0 || !ret->version)
		return r;
	r = store_file(c->store, v->file, &f);
	if (r > 0)
		r = why_fmt_asked(text, t, v, &f, &named);
	if (r >= 0)
		r = explain_equal(c, ret, &named, how, line, ret_json);
	buf_release(&named);
	return r;
}

/* Prints a hint for each maker that had others do the work (a queue, a container): the command line that records
 * them. 0, -errno. */
static int hint_elsewhere(struct cmd *c, const struct why *n)
{
	struct buf line = {0};
	int r = 0;
	for (size_t i = 0; i < n->n_makers && r == 0; i++) {
		struct exec_info x;
		const char *name = "";
		r = store_exec(c->store, n->reps[i], &x);
		r = r > 0 ? elsewhere_line(&x.argv, &name, &line) : r;
		if (r > 0)
			report_hint("what %s started elsewhere is not recorded; to record it: %s", name, buf_cstr(&line));
	}
	buf_release(&line);
	return r < 0 ? r : 0;
}

/* Adds the answer about one file to the list. As JSON, with what is known of the version with the same bytes, and of
 * the file that it came with: both may be NULL, and are taken over. 0 or -errno. */
static int add_answer(struct cmd *c, const struct file_target *t, const struct why *n, const struct copies *copied,
                      json_t *same, json_t *in, json_t *list)
{
	json_t *one = NULL;
	int r = why_json(cmd_source(c), t, n, &one);
	if (r < 0) {
		json_decref(same);
		json_decref(in);
		return r;
	}
	if (same)
		js_put(one, copied->stamped ? "stamp_of" : "same_bytes", same);
	if (in)
		js_put(one, "in", in);
	js_add(list, one);
	return 0;
}

/* The text or JSON of a version whose makers were looked for. *ret_made: somebody made it, or one with its bytes. 0 or
 * -errno. */
static int answer_version(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                          const struct why *n, unsigned how, json_t *list, struct buf *line, bool *ret_made)
{
	json_t *same = NULL, *in = NULL;
	struct copies copied = {0};
	bool made = n->n_direct > 0;
	int carried = why_explain_carried(c, text, t, v, n, how, line, list ? &in : NULL);
	int r = made || carried ? 0 : explain_by_content(c, text, t, v, how, line, list ? &same : NULL, &copied);
	*ret_made = made || carried > 0 || r > 0;
	if (r < 0 || carried < 0)
		return r < 0 ? r : carried;
	if (list)
		return add_answer(c, t, n, &copied, same, in, list);
	if (made && !carried) {
		r = why_made_line(c, text, NULL, t, v, n, line);
		r = r < 0 ? r : hint_elsewhere(c, n);
	} else if (!*ret_made) {
		r = found_line(c, text, t, v, line);
	}
	return r < 0 ? r : 0;
}

/* Reports that nothing but names of the file is recorded, and which one it had before this one. */
static void report_name_only(struct cmd *c, const char *text, const struct file_target *t)
{
	struct buf path = {0}, before = {0};
	int64_t since = TIME_NONE;
	target_path(text, &path);
	int r = path.failed ? -ENOMEM : store_named_since(c->store, t->file, buf_view(&path), &since);
	if (r > 0)
		r = store_name_at(c->store, t->file, since - 1, &before);
	report("only the name of '%s' is recorded, not its content", text);
	if (r > 0) {
		struct buf hint = {0};
		buf_printf(&hint, "it was ");
		fmt_path(&hint, buf_view(&before));
		buf_printf(&hint, " until ");
		fmt_time(&hint, since, true);
		buf_printf(&hint, ", when a recorded program renamed it");
		report_hint("%s", buf_cstr(&hint));
		buf_release(&hint);
	}
	buf_release(&path);
	buf_release(&before);
}

/* One file. The status. STATUS_NOTHING: nobody was seen making it. */
static int explain_file(struct cmd *c, const char *text, unsigned how, json_t *list)
{
	struct file_target t;
	struct err unknown = {0};
	int status = target_file(c->store, text, &unknown, &t) == 0 ? explain_copy(c, text, how, list) : -1;
	if (status < 0 && unknown.text[0] && target_object(text))
		status = why_explain_unmet(c, text, &unknown, how, list);
	if (status < 0)
		status = cmd_file(c, text, &t);
	else
		return status;
	if (status != STATUS_OK)
		return status;
	if (!t.version) {
		report_name_only(c, text, &t);
		return STATUS_NOTHING;
	}
	struct version_info v;
	struct why n = {0};
	struct buf line = {0};
	bool made = false;
	int r = store_version(c->store, t.version, &v);
	if (r > 0)
		r = why_find(cmd_source(c), t.version, how, &n);
	if (r >= 0)
		r = answer_version(c, text, &t, &v, &n, how, list, &line, &made);
	if (r < 0)
		report("cannot find what made '%s': the index cannot be read (%s)", text, strerror(r > -4096 ? -r : EIO)),
		    report_hint("stemma fsck checks it; stemma index --rebuild makes it again");
	else if (!list)
		puts(buf_cstr(&line));
	buf_release(&line);
	why_release(&n);
	return r < 0 ? STATUS_SELF : made ? STATUS_OK : STATUS_NOTHING;
}

/* Each made file of a folder, for the JSON. A status, reported. */
static int explain_folder_files(struct cmd *c, const char *text, const struct folder_filter *only, unsigned how,
                                json_t *list)
{
	struct folder f;
	int status = STATUS_NOTHING, r = folder_find(cmd_source(c), text, how, only, &f);
	if (r < 0) {
		report("cannot find what made the files of '%s': %s", text, strerror(-r));
		status = STATUS_SELF;
	}
	for (size_t i = 0; i < f.n_groups && status != STATUS_SELF; i++)
		for (size_t k = 0; k < f.groups[i].n_files && status != STATUS_SELF; k++)
			status = explain_file(c, buf_cstr(&f.groups[i].files[k].path), how, list);
	why_report_folder(text, &f);
	folder_release(&f);
	return status;
}

/* A Zarr array, or some elements of it. The status; -1: it is none. */
static int explain_array(struct cmd *c, const char *text, unsigned how, json_t *list)
{
	struct why_chunks chunks = {0};
	struct err err = {0};
	int status = -1, r = zarr_new(c->store, &chunks.z);
	if (r == 0)
		r = zarr_target(chunks.z, text, &err, &chunks.node, &chunks.box);
	if (r == -EINVAL) {
		status = report_err(&err, STATUS_USAGE);
	} else if (r < 0) {
		report("cannot look up '%s': %s", text, strerror(-r));
		status = STATUS_SELF;
	} else if (r > 0 && zarr_node_meta(chunks.z, chunks.node)->kind == ZARR_ARRAY) {
		const struct folder_filter only = {.wants = why_wants_chunk, .arg = &chunks};
		status = list ? explain_folder_files(c, zarr_node_path(chunks.z, chunks.node).p, &only, how, list)
		              : why_print_array(c, chunks.z, chunks.node, &chunks.box,
		                                chunks.box.any ? strrchr(text, '[') : NULL, how);
	}
	zarr_free(chunks.z);
	return status;
}

/* Prints or adds the answer about one word of the command line. One operand. The status. */
static int explain(struct cmd *c, const char *text, unsigned how, json_t *list)
{
	int status = explain_array(c, text, how, list);
	if (status < 0)
		status = why_explain_hyperslab(c, text, how, list);
	if (status >= 0)
		return status;
	return !why_is_folder(text) ? explain_file(c, text, how, list)
	       : list               ? explain_folder_files(c, text, NULL, how, list)
	                            : why_print_folder(c, text, how);
}

/* Gives the exit status, the worst of all operands. */
int cmd_why(struct cmd *c, const struct opts_why *o)
{
	if (!c->n_operands)
		return report_usage(c, "why needs a file");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	unsigned how = (o->all ? WHY_ALL : o->json ? WHY_UNFOLDED : 0) | (o->through_servers ? WHY_SERVERS : 0);
	json_t *list = o->json ? json_array() : NULL;
	for (int i = 0; i < c->n_operands && status != STATUS_SELF; i++) {
		int one = explain(c, c->operands[i], how, list);
		status = one > status ? one : status;
	}
	if (o->json && status != STATUS_SELF) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "answers", list);
		int printed = js_print(all, false);
		status = printed != STATUS_OK ? printed : status;
	} else {
		json_decref(list);
	}
	return status;
}
