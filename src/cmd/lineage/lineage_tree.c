/* lineage_tree.c - a lineage for the eye: each node once, its next mention a mark that leads back. */
#include "answer/peers.h"
#include "answer/within.h"
#include "answer/zarr/zarr.h"
#include "cmd/lineage/lineage_repeats.h"
#include "cmd/lineage/lineage_view.h"
#include "cmd/lineage/stage_text.h"
#include "cmd/ui/notes_print.h"
#include "query/fold.h"
#include "query/stages/stages.h"

#include <errno.h>
#include <stdlib.h>

#define ARGV_MAX 300 /* bytes of a command line where nothing cuts it to a screen */

struct frame {
	uint32_t node, next; /* next branch to print */
};

struct tree {
	const struct lineage_view *v;
	struct buf names, notes; /* NUL-terminated, one per node that was described */
	size_t *name_at, *note_at;
	bool *described;
	struct shape shape;
	struct repeats repeats;
	uint64_t lines, max_lines; /* printed; 0: as many as there are */
	bool cut, failed;
	uint32_t *mentions; /* branches that lead to the node */
	uint32_t *mark;     /* its number, once it was printed and if it is mentioned again; 0 otherwise */
	bool *printed;
	uint32_t marks;
	uint32_t *later; /* nodes too deep to indent, to be printed as trees of their own */
	size_t n_later;
	struct frame *stack;
	size_t max_levels;
	struct str user, host; /* shown once, at the end, if they are those of all executions */
	bool one_user;
	struct gaps gaps;
};

/* ---- words ---- */

/* Parts of a Zarr array, by the array. 1, -errno; 0: the store lacks it. */
static int describe_array(struct tree *t, uint32_t node)
{
	struct version_info v;
	int r = zarr_text(t->shape.zarr, t->shape.array[node] - 1, &t->shape.parts[node], &t->names);
	if (r == 0)
		r = store_version(t->v->s, t->v->l->nodes[node].id, &v);
	if (r > 0 && v.origin != ORIGIN_OBSERVED)
		buf_printf(&t->notes, v.origin == ORIGIN_EXTERNAL ? "external" : "modified outside stemma");
	return r;
}

/* How a version is called below the execution that used it: by the name that it was opened by (e: the edge; NULL: the
 * name that is shown). 1: into b; 0: by the node's name; -errno. */
static int opened_version_name(struct tree *t, const struct lineage_edge *e, uint32_t node, struct buf *b)
{
	struct version_info v;
	struct file_info f;
	if (!e || e->type != LINEAGE_USED || e->to != node || shape_is_array(&t->shape, node))
		return 0;
	int r = store_version(t->v->s, t->v->l->nodes[node].id, &v);
	if (r > 0)
		r = store_file(t->v->s, v.file, &f);
	if (r > 0)
		r = version_name_opened(t->v->s, b, &v, &f, t->v->l->nodes[e->from].id);
	return r < 0 ? r : 1;
}

/* Appends the version of its file that an object came with. 0 or more, -errno. */
static int note_carrier(struct tree *t, store_id id)
{
	struct version_info v;
	struct file_info f;
	store_id carrier;
	int r = within_of_version(t->v->s, id, &carrier);
	if (r > 0)
		r = store_version(t->v->s, carrier, &v);
	if (r > 0)
		r = store_file(t->v->s, v.file, &f);
	if (r > 0) {
		buf_printf(&t->notes, "in ");
		version_name(&t->notes, &v, &f);
	}
	return r;
}

/* Appends the version's name to t->names and what is known of it to t->notes. 0 or more; 0 with nothing appended: the
 * record lacks it; -errno. */
static int describe_version(struct tree *t, store_id id)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(t->v->s, id, &v);
	if (r > 0)
		r = store_file(t->v->s, v.file, &f);
	if (r <= 0)
		return r;
	version_name(&t->names, &v, &f);
	size_t from = t->notes.n;
	version_note(&t->notes, &v, &f, t->v->bytes);
	if (f.within && (r = note_carrier(t, id)) >= 0)
		r = store_file(t->v->s, v.file, &f);
	r = r < 0 ? r : peer_is_unobserved(t->v->s, &v, &f);
	if (r > 0)
		buf_printf(&t->notes, "%sthe other end was not observed",
		           t->v->options->direction == LINEAGE_UP ? "external: " : "");
	if (r < 0)
		return r;
	bool down = t->v->options->direction == LINEAGE_DOWN;
	if (!down && f.named)
		return 0;
	struct buf since = {0};
	r = version_since(t->v->s, &v, &f, &since);
	/* Upwards, only where the name alone would be taken for the file that has it now. */
	if (since.n && (down || str_starts(buf_view(&since), str_of("replaced"))))
		buf_printf(&t->notes, "%s%s", t->notes.n > from ? ", " : "", buf_cstr(&since));
	buf_release(&since);
	return r;
}

/* First look: is one user on one host behind all? Sets one_user, the user and the host, and notes the gaps. 0, negative
 * if that failed. */
static int look_at_users(struct tree *t)
{
	const struct lineage *l = t->v->l;
	bool any = false;
	t->one_user = true;
	for (size_t i = 0; i < l->n_nodes; i++) {
		struct exec_info x;
		if (!l->nodes[i].exec)
			continue;
		int r = store_exec(t->v->s, l->nodes[i].id, &x);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		gaps_add(&t->gaps, l->nodes[i].id, x.gaps);
		if (!x.user.n) /* a fork that came to nothing else */
			continue;
		if (!any) {
			t->user = (struct str){malloc(x.user.n + 1), x.user.n};
			t->host = (struct str){malloc(x.host.n + 1), x.host.n};
			if (!t->user.p || !t->host.p)
				return -1;
			if (x.user.n)
				memcpy((char *)t->user.p, x.user.p, x.user.n);
			if (x.host.n)
				memcpy((char *)t->host.p, x.host.p, x.host.n);
		}
		any = true;
		t->one_user &= str_eq(t->user, x.user) && str_eq(t->host, x.host);
	}
	t->one_user &= any;
	return 0;
}

/* Describes an execution or stage. As describe_version, of the node's execution or stage. */
static int describe_exec(struct tree *t, uint32_t node)
{
	struct exec_info x;
	store_id id = t->shape.rep[node] ? t->shape.rep[node] : t->v->l->nodes[node].id;
	int r = t->v->stages && t->shape.shown[node] ? stage_describe(t->v->stages, node, &t->names, &t->notes) : 0;
	if (r != 0)
		return r;
	r = exec_name(t->v->s, id, true, ARGV_MAX, &t->names);
	if (r >= 0)
		r = store_exec(t->v->s, id, &x);
	if (r <= 0)
		return r;
	if (t->shape.ranks[node]) {
		buf_printf(&t->names, "  [");
		lineage_ranks(&t->shape, node, &x, &t->names);
		buf_char(&t->names, ']');
	}
	struct buf *b = &t->notes;
	fmt_time(b, x.start, true);
	buf_printf(b, ", ");
	fmt_span(b, x.start, x.end);
	if (!t->one_user) {
		buf_printf(b, ", ");
		r = exec_who(t->v->s, id, b);
		if (r < 0)
			return r;
	}
	if (x.ending == TERM_ending_exited && x.code)
		buf_printf(b, ", exit %llu", (unsigned long long)x.code);
	else if (x.ending == TERM_ending_signaled) {
		buf_printf(b, ", ");
		fmt_ending(b, x.ending, x.code);
	}
	if (t->shape.rep[node]) {
		enum fold_class class = FOLD_program;
		r = fold_class(t->v->s, id, &class);
		bool one = t->shape.members[node] == 1;
		buf_printf(b, ", %u %s", t->shape.members[node],
		           class == FOLD_driver ? (one ? "program" : "programs") : (one ? "process" : "processes"));
	}
	return r < 0 ? r : 0;
}

/* Below 0: -errno or no memory. */
static int describe_node(struct tree *t, uint32_t i)
{
	t->described[i] = true;
	t->name_at[i] = t->names.n;
	t->note_at[i] = t->notes.n;
	int r = t->v->l->nodes[i].exec         ? describe_exec(t, i)
	        : shape_is_array(&t->shape, i) ? describe_array(t, i)
	                                       : describe_version(t, t->v->l->nodes[i].id);
	buf_char(&t->names, '\0');
	buf_char(&t->notes, '\0');
	return t->names.failed || t->notes.failed ? -1 : r;
}

/* A node's name, described when it is first asked for: of a long lineage few are shown. Valid until the next node's. */
static const char *node_name(struct tree *t, uint32_t node)
{
	if (!t->described[node] && describe_node(t, node) < 0)
		t->failed = true;
	return t->failed ? "" : t->names.p + t->name_at[node];
}

/* Valid until the next is made; empty: that failed. */
static const char *node_note(struct tree *t, uint32_t node)
{
	node_name(t, node);
	return t->failed ? "" : t->notes.p + t->note_at[node];
}

/* Finds out what the tree says beside its nodes. Who is behind all; and of stages, which are few, what each is. 0 or
 * more, -errno. */
static int describe_nodes(struct tree *t)
{
	int r = look_at_users(t);
	for (size_t i = 0; i < t->v->l->n_nodes && t->v->stages && r >= 0; i++)
		r = describe_node(t, (uint32_t)i);
	return r;
}

/* ---- order ---- */

/* The order of a node's branches, which depends on nothing but what is shown. */
static int by_time(const void *pa, const void *pb, void *arg)
{
	struct tree *t = arg;
	const struct branch *a = pa, *b = pb;
	if (a->e->type != b->e->type)
		return a->e->type < b->e->type ? -1 : 1;
	if (*a->words != *b->words) /* who opened it comes after who wrote it */
		return *a->words < *b->words ? -1 : 1;
	/* Of an object of a file: what it came from, then the files that may have brought it. */
	const struct lineage_node *nodes = t->v->l->nodes;
	if (nodes[0].object && nodes[a->child].object != nodes[b->child].object)
		return nodes[b->child].object - nodes[a->child].object;
	if (a->e->e.lo != b->e->e.lo)
		return a->e->e.lo < b->e->e.lo ? -1 : 1;
	node_name(t, b->child); /* both are described before one is looked at */
	const char *name = node_name(t, a->child);
	int c = strcmp(name, node_name(t, b->child));
	return c ? c : (a->child > b->child) - (a->child < b->child);
}

/* Sorts all branches and counts how often each node is mentioned. 0; -1: no memory. */
static int arrange(struct tree *t)
{
	struct shape *sh = &t->shape;
	size_t n = t->v->l->n_nodes;
	uint32_t *parent = calloc(n + 1, sizeof(*parent)); /* one of those that mention a node */
	int r = parent ? 0 : -1;
	for (size_t i = 0; r == 0 && i < n; i++) {
		qsort_r(sh->branches + sh->first[i], sh->first[i + 1] - sh->first[i], sizeof(*sh->branches), by_time, t);
		for (size_t k = sh->first[i]; sh->shown[i] && k < sh->first[i + 1]; k++) {
			t->mentions[sh->branches[k].child]++;
			parent[sh->branches[k].child] = (uint32_t)i;
		}
	}
	/* What has_more passes over is no mention. */
	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = sh->first[i]; !t->v->l->nodes[i].exec && t->mentions[i] == 1 && k < sh->first[i + 1]; k++)
			t->mentions[parent[i]] -= sh->branches[k].child == parent[i];
	free(parent);
	return r;
}

/* The name of a node. arg: the struct tree. */
static const char *name_for_repeats(void *arg, uint32_t node)
{
	return node_name(arg, node);
}

/* Finds the branches that are shown as one. 0, -errno. */
static int fold_repeats(struct tree *t)
{
	return repeats_find(&t->shape, t->v->l, name_for_repeats, t, t->v->options->all, &t->repeats);
}

/* ---- printing ---- */

/* Prints the buffer's bytes to stdout. */
static void print_buf(const struct buf *b)
{
	if (b->n)
		fwrite(b->p, 1, b->n, stdout);
}

/* One line: the branch, a `?` for what only may be, the name, the note. Cut to a terminal's width, the name first. */
static void print_line(struct tree *t, const struct buf *indent, const struct branch *br, uint32_t node, bool again,
                       bool postponed)
{
	const struct lineage_edge *e = br ? br->e : NULL;
	const struct screen *out = t->v->out;
	const struct lineage *l = t->v->l;
	struct buf name = {0}, note = {0};
	const char *text = node_note(t, node);

	buf_printf(&name, "%s%s", br && !br->sure ? "? " : "", br ? br->words : "");
	int opened = opened_version_name(t, e, node, &name);
	t->failed |= opened < 0;
	buf_printf(&name, "%s", opened ? "" : node_name(t, node));
	if (again)
		buf_printf(&note, "  [%u] above", t->mark[node]);
	else if (postponed)
		buf_printf(&note, "  [%u] below", t->mark[node]);
	else if (t->mark[node])
		buf_printf(&note, "  [%u]", t->mark[node]);
	if (!again && *text)
		buf_printf(&note, "  (%s)", text);
	if (e && !e->e.sure && e->e.via != TERM_via_data)
		buf_printf(&note, "  via %s", term_name(SET_via, e->e.via));
	if (e && (e->e.folded || br->folded))
		buf_printf(&note, "  folded");

	size_t indent_columns = fmt_columns(buf_view(indent)), note_columns = fmt_columns(buf_view(&note));
	if (out->tty) {
		size_t room = (size_t)out->width > indent_columns ? (size_t)out->width - indent_columns : 1;
		size_t for_name = room > note_columns + 16 ? room - note_columns : room;
		fmt_fit(&name, 0, for_name, out->utf8);
		size_t used = fmt_columns(buf_view(&name));
		fmt_fit(&note, 0, room > used ? room - used : 0, out->utf8);
	}
	print_buf(indent);
	fputs(style_on(out, l->nodes[node].exec ? STYLE_RUN : STYLE_FILE), stdout);
	print_buf(&name);
	fputs(style_off(out), stdout);
	fputs(style_on(out, STYLE_DIM), stdout);
	print_buf(&note);
	fputs(style_off(out), stdout);
	putchar('\n');
	buf_release(&name);
	buf_release(&note);
}

/* Is there another branch below the frame? Passes over what leads from a stream straight back to where it is shown: who
 * speaks and listens on one socket. */
static bool has_more(const struct tree *t, struct frame *f)
{
	const struct shape *s = &t->shape;
	/* Of a stream, and of a file that the program above made for itself, that program is no news. */
	bool between = !t->v->l->nodes[f->node].exec && f > t->stack;
	while (s->first[f->node] + f->next < s->first[f->node + 1] &&
	       ((between && s->branches[s->first[f->node] + f->next].child == f[-1].node) ||
	        t->repeats.count[s->first[f->node] + f->next] == REPEATS_HIDDEN))
		f->next++;
	return s->first[f->node] + f->next < s->first[f->node + 1];
}

/* "… 45 more like these, to s48.bam@{1}" */
static void print_repeats(struct tree *t, const struct buf *indent, size_t branch)
{
	const struct screen *out = t->v->out;
	struct buf b = {0};
	uint32_t last = t->shape.branches[t->repeats.last[branch]].child;
	buf_printf(&b, "%s %u more like these, to %s", out->utf8 ? "…" : "...", t->repeats.count[branch],
	           node_name(t, last));
	if (out->tty) {
		size_t used = fmt_columns(buf_view(indent));
		fmt_fit(&b, 0, (size_t)out->width > used ? (size_t)out->width - used : 1, out->utf8);
	}
	print_buf(indent);
	fputs(style_on(out, STYLE_DIM), stdout);
	print_buf(&b);
	fputs(style_off(out), stdout);
	putchar('\n');
	buf_release(&b);
}

/* Below the line of a stage, whose frame is the last one if it has branches. */
static void print_programs(struct tree *t, uint32_t node, size_t depth, bool branches)
{
	const bool utf8 = t->v->out->utf8;
	struct buf indent = {0};
	if (!t->v->programs || !t->v->l->nodes[node].exec)
		return;
	for (size_t k = 0; k < depth; k++)
		buf_printf(&indent, "%s", has_more(t, &t->stack[k]) ? (utf8 ? "│  " : "|  ") : "   ");
	buf_printf(&indent, branches ? "" : "   ");
	if (stage_print_programs(t->v->stages, node, t->v->out, &indent, &t->lines) < 0)
		t->failed = true;
	buf_release(&indent);
}

/* Prints the part of the tree below a node. From root, to t->max_levels; what lies deeper is put off to t->later.
 * t->cut: there were too many lines. */
static void print_subtree(struct tree *t, uint32_t root)
{
	const bool utf8 = t->v->out->utf8;
	const char *tee = utf8 ? "├─ " : "|- ", *last = utf8 ? "└─ " : "`- ", *bar = utf8 ? "│  " : "|  ";
	struct buf indent = {0};
	size_t depth = 1;

	t->printed[root] = true;
	t->lines++;
	print_line(t, &indent, NULL, root, false, false);
	t->stack[0] = (struct frame){root, 0};
	while (depth) {
		struct frame *f = &t->stack[depth - 1];
		if (!has_more(t, f)) {
			depth--;
			continue;
		}
		size_t at = t->shape.first[f->node] + f->next++;
		const struct branch *b = &t->shape.branches[at];
		uint32_t child = b->child;
		buf_reset(&indent);
		for (size_t k = 0; k + 1 < depth; k++)
			buf_printf(&indent, "%s", has_more(t, &t->stack[k]) ? bar : "   ");
		buf_printf(&indent, "%s", has_more(t, f) ? tee : last);
		if (t->max_lines && t->lines >= t->max_lines) {
			t->cut = true;
			break;
		}
		t->lines++;
		if (t->repeats.count[at]) {
			print_repeats(t, &indent, at);
			continue;
		}
		bool again = t->printed[child], leaf = t->shape.first[child] == t->shape.first[child + 1];
		bool postpone = !again && depth >= t->max_levels && !leaf;
		if (!again && !t->mark[child] && (postpone || t->mentions[child] > 1))
			t->mark[child] = ++t->marks;
		t->printed[child] = true;
		print_line(t, &indent, b, child, again, postpone);
		if (postpone)
			t->later[t->n_later++] = child;
		else if (!again && !leaf)
			t->stack[depth++] = (struct frame){child, 0};
		if (!again && !postpone)
			print_programs(t, child, depth, !leaf);
	}
	buf_release(&indent);
}

/* Appends ", N things" to a list; nothing for 0. */
static void count_line(struct buf *b, uint64_t n, const char *one, const char *many)
{
	if (n)
		buf_printf(b, "%s%llu %s", b->n ? ", " : "", (unsigned long long)n, n == 1 ? one : many);
}

/* A tree of programs is more than most people ask where a workflow ran them: says how to see its parts. */
static void hint_at_stages(const struct tree *t)
{
	static const struct {
		enum stage_engine engine;
		const char *parts;
	} known[] = {{ENGINE_SNAKEMAKE, "its rules and jobs"},
	             {ENGINE_NEXTFLOW, "its processes and tasks"},
	             {ENGINE_MAKE, "its targets"},
	             {ENGINE_NINJA, "its targets"},
	             {ENGINE_JUPYTER, "the notebooks"}};
	const size_t most = 1000; /* programs are looked at: the nearest ones */
	size_t looked = 0;
	for (size_t i = 0; i < t->v->l->n_nodes && looked < most && !t->v->stages; i++) {
		const struct lineage_node *n = &t->v->l->nodes[i];
		enum stage_engine e = ENGINE_NONE;
		if (!n->exec)
			continue;
		looked++;
		if (stages_engine(t->v->s, n->id, &e) < 0)
			return;
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (known[k].engine == e) {
				printf("%s ran these programs: --stages shows %s\n", stage_engine_name(e), known[k].parts);
				return;
			}
	}
}

/* What was left out, and by which option it would be shown; gaps. */
static void print_rest(const struct tree *t)
{
	const struct lineage *l = t->v->l;
	const uint64_t *om = l->omitted;
	struct buf b = {0};
	if (t->v->stages)
		stage_print_rest(t->v->stages);
	count_line(&b, om[OMIT_system], "system file", "system files");
	count_line(&b, om[OMIT_absent], "absent path", "absent paths");
	count_line(&b, t->v->stages ? 0 : om[OMIT_engine], "file of the workflow system", "files of the workflow system");
	count_line(&b, om[OMIT_housekeeping], "housekeeping attribute", "housekeeping attributes");
	count_line(&b, t->shape.folded, "folded program or shell", "folded programs and shells");
	if (b.n)
		printf("+ %s (--all)\n", buf_cstr(&b));
	buf_reset(&b);
	count_line(&b, om[OMIT_cache], "input of a writer of a cache", "inputs of writers of caches");
	count_line(&b, om[OMIT_empty], "input of a writer of an empty file", "inputs of writers of empty files");
	count_line(&b, om[OMIT_sync], "coordination edge", "coordination edges");
	count_line(&b, om[OMIT_transport], "edge through what MPI's library shares between ranks",
	           "edges through what MPI's library shares between ranks");
	count_line(&b, t->shape.held, "stream that may not have been read", "streams that may not have been read");
	if (b.n)
		printf("left out: %s (--all)\n", buf_cstr(&b));
	buf_reset(&b);
	count_line(&b, om[OMIT_fork], "possible edge through fork or exec", "possible edges through fork or exec");
	count_line(&b, om[OMIT_shm], "possible edge through shared memory", "possible edges through shared memory");
	if (b.n)
		printf("left out: %s (--fork)\n", buf_cstr(&b));
	buf_reset(&b);
	count_line(&b, om[OMIT_uncertain] + t->shape.unsure, "possible edge", "possible edges");
	if (b.n)
		printf("left out: %s (shown without --certain)\n", buf_cstr(&b));
	buf_reset(&b);
	if (t->v->options->direction == LINEAGE_UP)
		count_line(&b, om[OMIT_unread], "file that was opened and may not have been read",
		           "files that were opened and may not have been read");
	else
		count_line(&b, om[OMIT_unread], "program that opened a file and may not have read it",
		           "programs that opened a file and may not have read it");
	if (b.n)
		printf("left out: %s (shown by --certain without =read)\n", buf_cstr(&b));
	if (t->cut)
		printf("%s more than %llu lines (--lines 0: all; --depth N: nearer ones)\n", t->v->out->utf8 ? "…" : "...",
		       (unsigned long long)t->max_lines);
	if (l->cut)
		printf("there is more beyond depth %u\n", t->v->options->depth);
	if (t->one_user) {
		buf_reset(&b);
		fmt_name(&b, t->user);
		buf_printf(&b, " on ");
		fmt_name(&b, t->host);
		printf("all by %s\n", buf_cstr(&b));
	}
	buf_release(&b);
	hint_at_stages(t);
	gaps_print(t->v->s, &t->gaps);
}

int lineage_shape(const struct lineage_view *v, struct shape *ret)
{
	if (!v->stages)
		return shape_make(&(struct shape_of){.s = v->s, .l = v->l, .options = v->options, .arrays = true}, ret);
	*ret = v->stages->shape;
	return 0;
}

/* Only of a shape that was made for it. */
void lineage_shape_release(const struct lineage_view *v, struct shape *s)
{
	if (!v->stages)
		shape_release(s);
}

/* STATUS_OK, or a status, and it was said. */
int lineage_tree(const struct lineage_view *v)
{
	const struct lineage *l = v->l;
	struct tree t = {.v = v, .max_lines = v->lines};
	int status = STATUS_SELF;
	size_t n = l->n_nodes + 1;

	t.max_levels = !v->out->tty ? 30 : v->out->width > 80 ? (size_t)(v->out->width - 44) / 3 : 12;
	t.name_at = calloc(n, sizeof(*t.name_at));
	t.note_at = calloc(n, sizeof(*t.note_at));
	t.described = calloc(n, sizeof(*t.described));
	t.mentions = calloc(n, sizeof(*t.mentions));
	t.mark = calloc(n, sizeof(*t.mark));
	t.printed = calloc(n, sizeof(*t.printed));
	t.later = calloc(n, sizeof(*t.later));
	t.stack = calloc(t.max_levels + 1, sizeof(*t.stack));
	if (!t.name_at || !t.note_at || !t.described || !t.mentions || !t.mark || !t.printed || !t.later || !t.stack ||
	    lineage_shape(v, &t.shape) < 0 || describe_nodes(&t) < 0 || arrange(&t) < 0 || fold_repeats(&t) < 0) {
		cmd_report_unread(v->s, "describe the lineage");
		goto out;
	}
	if (t.mentions[0]) /* it comes again below */
		t.mark[0] = ++t.marks;
	for (uint32_t i = 0; i < l->n_roots && !t.cut; i++)
		if (shape_is_root(&t.shape, i) && !t.printed[i])
			print_subtree(&t, i);
	for (size_t k = 0; k < t.n_later && !t.cut; k++) {
		putchar('\n');
		print_subtree(&t, t.later[k]);
	}
	print_rest(&t);
	if (t.failed)
		cmd_report_unread(v->s, "describe the lineage");
	status = t.failed ? STATUS_SELF : STATUS_OK;
out:
	free(t.name_at);
	free(t.note_at);
	free(t.described);
	free(t.mentions);
	free(t.mark);
	free(t.printed);
	free(t.later);
	repeats_release(&t.repeats);
	lineage_shape_release(v, &t.shape);
	free(t.stack);
	free((char *)t.user.p);
	free((char *)t.host.p);
	buf_release(&t.names);
	buf_release(&t.notes);
	return status;
}
