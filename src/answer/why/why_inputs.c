/* why_inputs.c - which inputs there are, and in which order they are named (doc/why.md). */
#include "answer/why/why_int.h"

#include "answer/peers.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/os/system.h"
#include "base/path.h"
#include "query/idmap.h"
#include "query/objects.h"
#include "query/scripts.h"

#include <errno.h>
#include <string.h>

#define ARGUMENTS 8192 /* words of arguments that are looked at, of all who took part */

/* Data come before sockets and shared memory. Then by role and place (doc/why.md); of these what is certain comes
 * first. Attributes come after the data: a library reads a dozen of them for one dataset. */
enum { RANK_BEFORE = 2, RANK_DOUBTFUL, RANK_OPENER };
/* The order by what is asked of. Of a file or a dataset: data, files beside their objects, attributes. Of an attribute:
 * those of the same name, other ones, other objects, files. */
enum part_of { PART_FIRST, PART_SECOND, PART_THIRD, PART_LAST };
enum place { PLACE_ARGUMENT, PLACE_FOLDER, PLACE_BELOW, PLACE_ELSEWHERE };

struct input {
	uint32_t node, rank, by; /* by: node of the execution that used it first */
	enum entity_sort sort;
	enum why_role role;
	enum place place;
	bool unlike;           /* its name, without the suffix, is another than that of the file that is explained */
	uint32_t argument;     /* its number, of place ARGUMENT and FOLDER */
	bool possible, latest; /* latest: of those that are alike otherwise, the one that was used last comes first */
	unsigned char part;    /* of what is asked of: enum part_of */
	uint64_t size;
	int64_t lo;
};

static int cmp_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The order of inputs: what is more likely to be meant by a person first; an order of its own for each. */
static int by_rank(const void *pa, const void *pb)
{
	const struct input *a = pa, *b = pb;
	/* What a file was taken from was read last. */
	const bool stored = a->role == WHY_ROLE_stored && b->role == WHY_ROLE_stored;
	const uint64_t keys[][2] = {
	    {a->rank >= RANK_DOUBTFUL, b->rank >= RANK_DOUBTFUL},
	    {a->sort, b->sort},
	    {a->role, b->role},
	    {a->part, b->part},
	    {a->place, b->place},
	    {a->argument, b->argument},
	    {a->unlike, b->unlike},
	    {a->possible, b->possible},
	    {a->rank, b->rank},
	    {stored ? (uint64_t)b->lo : b->size, stored ? (uint64_t)a->lo : a->size},
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int c = cmp_u64(keys[i][0], keys[i][1]);
		if (c)
			return c;
	}
	if (a->lo != b->lo) /* an attribute is read just before it is written elsewhere */
		return (a->lo < b->lo) != a->latest ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* ---- what the arguments name ---- */

/* Words of arguments as absolute paths, in the order of the stages of a pipeline. */
struct argument {
	size_t at, n; /* in text */
	bool option;  /* it stood behind an option, or in one */
};
struct arguments {
	struct buf text;
	VEC(struct argument) words;
	struct table by_hash;
	bool failed;
};

/* Points into a->text. */
static struct str argument_path(const struct arguments *a, uint32_t i)
{
	return str_n(a->text.p + a->words.v[i].at, a->words.v[i].n);
}

/* Among the arguments, the one that is that path. VEC_NONE: none of that path. */
static uint32_t find_argument(const struct arguments *a, struct str path)
{
	uint32_t hash = hash_fold(hash_str(path)), i;
	for (size_t pos = TABLE_START; (i = table_next(&a->by_hash, hash, &pos)) != VEC_NONE;)
		if (str_eq(argument_path(a, i), path))
			return i;
	return VEC_NONE;
}

/* A word as a path below cwd; each path once. Long words, and more than ARGUMENTS, are passed over. No memory:
 * a->failed. */
static void add_argument(struct arguments *a, struct str cwd, struct str word, bool option)
{
	size_t from = a->text.n;
	if (!word.n || word.n > 4096 || a->words.n >= ARGUMENTS)
		return;
	if (*word.p != '/')
		path_append(&a->text, from, cwd);
	path_append(&a->text, from, word);
	struct str path = str_n(a->text.p + from, a->text.n - from);
	if (a->text.failed || !path.n || find_argument(a, path) != VEC_NONE) {
		a->failed |= a->text.failed;
		a->text.n = from;
		return;
	}
	struct argument *one = vec_add(&a->words);
	if (!one || !table_add(&a->by_hash, hash_fold(hash_str(path)), (uint32_t)a->words.n - 1))
		a->failed = true;
	else
		*one = (struct argument){from, path.n, option};
}

/* An argument as a whole, and the words in it: --in=FILE, -o,FILE, the commands of sh -c. */
static void add_words(struct arguments *a, struct str cwd, struct str arg, bool option)
{
	static const char between[] = " \t\n'\"=,:;<>|&()@";
	add_argument(a, cwd, arg, option);
	for (size_t i = 0, from = 0; i <= arg.n; i++) {
		if (i < arg.n && !memchr(between, arg.p[i], sizeof(between) - 1))
			continue;
		if (i - from < arg.n)
			add_argument(a, cwd, str_n(arg.p + from, i - from), option);
		from = i + 1;
	}
}

/* "-" alone is none: it stands for a stream. */
static bool is_option(struct str arg)
{
	return arg.n > 1 && *arg.p == '-';
}

/* The words behind the command's first, as paths; `option`: the word is one, or stands behind one. 0, -errno. */
static int add_arguments_of(struct store *s, store_id exec, struct arguments *a)
{
	struct exec_info x;
	struct str arg, before = {0};
	size_t pos = 0;
	int r = store_exec(s, exec, &x);
	for (bool first = true; r > 0 && strlist_next(&x.argv, &pos, &arg); first = false) {
		if (!first)
			add_words(a, x.cwd, arg, is_option(arg) || is_option(before));
		before = arg;
	}
	return r < 0 ? r : 0;
}

/* The last maker's first, then the helpers'. 0, -errno. */
static int find_arguments(struct store *s, const struct why *n, struct arguments *a)
{
	int r = 0;
	for (size_t i = n->n_makers; i-- > 0 && r == 0;)
		r = add_arguments_of(s, n->l.nodes[n->makers[i]].id, a);
	for (size_t i = 0; i < n->n_helpers && r == 0; i++)
		r = add_arguments_of(s, n->l.nodes[n->helpers[i]].id, a);
	return r < 0 ? r : a->failed ? -ENOMEM : 0;
}

/* ---- roles ---- */

/* Whether a path ends as an index of a data file does (why_roles.def). */
static bool is_index_name(struct str path)
{
	static const char *const suffixes[] = {
#define INDEX(suffix) suffix,
#include "answer/why/why_roles.def"
#undef INDEX
	};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (str_ends(path, str_of(suffixes[i])))
			return true;
	return false;
}

/* Does a part of the path behind `above` begin with a dot? */
static bool has_dot_part(struct str path, size_t above)
{
	for (size_t i = above; i + 1 < path.n; i++)
		if (path.p[i] == '/' && path.p[i + 1] == '.')
			return true;
	return false;
}

/* Does it lie where git, git-annex or DVC keep files by their content? */
static bool is_in_content_store(struct str path)
{
	static const char *const parts[] = {
#define CONTENT_STORE(part) part,
#include "answer/why/why_roles.def"
#undef CONTENT_STORE
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (memmem(path.p, path.n, parts[i], strlen(parts[i])))
			return true;
	return false;
}

/* a of /w/a.tar.gz */
static struct str name_stem(struct str path)
{
	struct str base = str_base_name(path);
	const char *dot = base.n > 1 ? memchr(base.p + 1, '.', base.n - 1) : NULL;
	return dot ? str_n(base.p, (size_t)(dot - base.p)) : base;
}

/* rate of /w/a.h5//x@rate */
static struct str attribute_name(struct str path)
{
	size_t at = path.n;
	while (at && path.p[at - 1] != '@')
		at--;
	return str_n(path.p + at, path.n - at);
}

/* Is the path below the folder? */
static bool is_below(struct str path, struct str folder)
{
	return folder.n > 1 ? str_starts(path, folder) && path.n > folder.n && path.p[folder.n] == '/' : folder.n == 1;
}

enum { PARTS_MAKER = 1, PARTS_HELPER, PARTS_ABOVE = 64 };

/* Notes who took part, by their ids. 0 or -ENOMEM. */
static int map_parts(const struct why *n, struct idmap *ret)
{
	bool is_new;
	for (size_t i = 0; i < n->n_makers; i++)
		if (!idmap_add(ret, n->l.nodes[n->makers[i]].id, PARTS_MAKER, &is_new))
			return -ENOMEM;
	for (size_t i = 0; i < n->n_helpers; i++)
		if (!idmap_add(ret, n->l.nodes[n->helpers[i]].id, PARTS_HELPER, &is_new))
			return -ENOMEM;
	return 0;
}

/* Did the execution take part, or did a helper start it? helpers: makers do not count. 1, 0, -errno. */
static int is_part(struct store *s, const struct idmap *parts, store_id exec, bool helpers)
{
	const uint32_t *part = idmap_find(parts, exec);
	if (part && (*part == PARTS_HELPER || !helpers))
		return 1;
	for (int i = 0; i < PARTS_ABOVE; i++) {
		struct exec_info x;
		int r = store_exec(s, exec, &x);
		if (r <= 0 || !x.parent)
			return r < 0 ? r : 0;
		exec = x.parent;
		part = idmap_find(parts, exec);
		if (part && *part == PARTS_HELPER)
			return 1;
	}
	return 0;
}

/* Did only those write the version who took part, or whom a helper started? helpers: of them only the helpers. 1, 0,
 * -errno. */
static int is_made_by_parts(struct store *s, const struct idmap *parts, store_id version, bool helpers)
{
	struct edges gens = {0};
	int r = store_gens(s, version, &gens);
	bool all = r == 0 && gens.n;
	for (size_t i = 0; i < gens.n && all; i++) {
		int part = is_part(s, parts, gens.v[i].to, helpers);
		r = part < 0 ? part : r;
		all = part > 0;
	}
	edges_release(&gens);
	return r < 0 ? r : all;
}

/* Is it memory, a segment in a file, or a file that has no name any more, between those who took part? 1, 0, -errno. */
static int is_between_parts(struct makers *m, const struct idmap *parts, store_id version)
{
	struct version_sort v;
	struct file_info f;
	int r = store_version_sort(m->s, version, &v);
	bool segment = r > 0 && entity_sort(v.kind, v.path) == ENTITY_SEGMENT;
	r = r > 0 ? store_file(m->s, v.file, &f) : r;
	bool nameless = r > 0 && f.kind == TERM_kind_regular && !f.named;
	if (r <= 0 || !(segment || nameless))
		return r < 0 ? r : 0;
	if (segment && nameless)
		return 1; /* an MPI library's, which removed it when its ranks had it */
	return is_made_by_parts(m->s, parts, version, false);
}

/* What is asked of who used an input. The strings are kept: the store's own do not outlive the next question. */
struct reader {
	uint32_t node;
	store_id exe, script;
	struct buf cwd, program, subject;
};

/* The first argument that is no option: the script of an interpreter, the document of a typesetter. */
static struct str first_subject(const struct exec_info *x)
{
	struct str arg;
	size_t pos = 0;
	strlist_next(&x->argv, &pos, &arg);
	while (strlist_next(&x->argv, &pos, &arg))
		if (!is_option(arg))
			return arg;
	return str_of("");
}

/* Did an earlier execution of the same program on the same subject make the version? 1, 0, -errno. */
static int is_own_cache(struct store *s, store_id version, const struct reader *by)
{
	struct edges gens = {0};
	struct exec_info x;
	int r = store_gens(s, version, &gens);
	store_id maker = r == 0 && gens.n == 1 ? gens.v[0].to : 0;
	edges_release(&gens);
	r = maker ? store_exec(s, maker, &x) : r;
	if (r <= 0)
		return r;
	return by->exe && x.exe == by->exe && x.script == by->script && str_eq(first_subject(&x), buf_view(&by->subject));
}

/* Loads the execution, if ret has another one. 0: the record does not have it, or it was loaded before; 1 or 0 else;
 * -errno. */
static int load_reader(struct store *s, const struct why *n, uint32_t node, struct reader *ret)
{
	struct exec_info x;
	struct file_info f;
	if (ret->node == node)
		return 0;
	int r = store_exec(s, n->l.nodes[node].id, &x);
	if (r <= 0)
		return r;
	ret->node = node;
	ret->exe = x.exe;
	ret->script = x.script;
	buf_reset(&ret->cwd);
	buf_str(&ret->cwd, x.cwd);
	buf_reset(&ret->subject);
	buf_str(&ret->subject, first_subject(&x));
	buf_reset(&ret->program);
	r = x.exe ? store_file(s, x.exe, &f) : 0;
	if (r > 0)
		buf_str(&ret->program, f.path);
	return r < 0 ? r : ret->cwd.failed || ret->program.failed || ret->subject.failed ? -ENOMEM : 0;
}

/* Is it an argument, in a folder that is one, below the working directory, or elsewhere? Sets in->place and
 * in->argument. */
static void find_place(const struct arguments *a, struct str path, struct str cwd, struct input *in)
{
	uint32_t i = find_argument(a, path);
	in->place = PLACE_ARGUMENT;
	for (size_t at = path.n; i == VEC_NONE && at > 1;) {
		while (at > 1 && path.p[at - 1] != '/')
			at--;
		at--;
		struct str folder = str_n(path.p, at);
		if (str_eq(folder, cwd))
			break; /* `.` names nothing in particular */
		i = find_argument(a, folder);
		in->place = PLACE_FOLDER;
	}
	if (i != VEC_NONE)
		in->argument = i + (a->words.v[i].option ? ARGUMENTS : 0);
	else
		in->place = is_below(path, cwd) ? PLACE_BELOW : PLACE_ELSEWHERE;
}

/* What is collected: one struct input a node. */
struct inputs {
	struct input *v;
	uint32_t *at; /* of each node: its place in v, from 1 */
	size_t n;
	store_id asked;             /* the file whose version is explained */
	store_id program;           /* the program of the first maker, which its launcher may look into; 0 not known */
	struct buf asked_stem;      /* its name without the suffix */
	struct buf asked_attribute; /* of an attribute: its own name */
	struct idmap parts;         /* who took part */
	struct idmap servers;       /* address -> place in v, from 1 */
	struct arguments arguments;
	struct reader reader;
};

/* The role of a version that nothing but its making can tell from data. 1, 0 or -errno. */
static int is_cache(struct store *s, const struct idmap *parts, const struct version_info *v, const struct reader *by,
                    bool named)
{
	if (v->origin != ORIGIN_OBSERVED)
		return 0;
	int r = is_made_by_parts(s, parts, v->id, true);
	return r == 0 && !named ? is_own_cache(s, v->id, by) : r;
}

/* The role of an input, by where it lies and what it is called; named: it is an argument. */
static enum why_role role_by_name(const struct version_info *v, const struct file_info *f, const struct reader *by,
                                  uint16_t mode, const char *extra, bool named)
{
	struct str cwd = buf_view(&by->cwd);
	bool below = is_below(f->path, cwd);
	if (system_path(f->path, extra) != SYSTEM_NO)
		return WHY_ROLE_machine;
	if (!f->named && !below)
		return WHY_ROLE_temporary;
	if (v->file == by->script || mode & ACCESS_PROGRAM || script_is(buf_view(&by->program), f->path))
		return WHY_ROLE_script;
	if (named)
		return WHY_ROLE_data;
	if (is_index_name(f->path))
		return WHY_ROLE_index;
	if (is_in_content_store(f->path))
		return WHY_ROLE_stored;
	return has_dot_part(f->path, below ? cwd.n : 0) ? WHY_ROLE_settings : WHY_ROLE_data;
}

/* Finds role, place and size of a regular file; of an object of an HDF5 file those of the file. What is no regular file
 * stays as it is. 0, -errno. */
static int describe_input(const struct answer_source *a, const struct why *n, struct inputs *all, uint16_t mode,
                          struct input *in)
{
	struct version_info v;
	struct file_info f;
	struct buf opened = {0};
	int r = load_reader(a->store, n, in->by, &all->reader);
	if (r == 0)
		r = store_version(a->store, n->l.nodes[in->node].id, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r > 0 && objects_is_object(f.kind))
		r = store_file(a->store, f.within, &f);
	if (r <= 0 || f.kind != TERM_kind_regular)
		return r < 0 ? r : 0;
	in->size = v.has_size ? v.size : 0;
	r = store_opened_name(a->store, n->l.nodes[in->by].id, f.id, &opened);
	if (r > 0)
		f.path = buf_view(&opened);
	find_place(&all->arguments, f.path, buf_view(&all->reader.cwd), in);
	bool named = in->place == PLACE_ARGUMENT;
	in->role = role_by_name(&v, &f, &all->reader, mode, a->system_extra, named);
	if (in->role == WHY_ROLE_data && v.file == all->program)
		in->role = WHY_ROLE_script;
	if (in->role == WHY_ROLE_data) {
		r = is_cache(a->store, &all->parts, &v, &all->reader, named);
		in->role = r > 0 ? WHY_ROLE_cache : WHY_ROLE_data;
	}
	buf_release(&opened);
	return r < 0 ? r : 0;
}

/* ---- inputs ---- */

/* Was a socket without an address held by the first process of a run? Else a program of the run made it, mostly a pair
 * for its own threads, and nobody outside has its other end, but who was sent it. 1, 0, -errno. */
static int came_with_run(struct store *s, store_id version)
{
	struct edges e = {0};
	struct exec_info x, parent;
	int found = 0, r = 0;
	for (int side = 0; side < 2 && r == 0 && !found; side++) {
		r = side ? store_readers(s, version, &e) : store_gens(s, version, &e);
		for (size_t i = 0; i < e.n && r == 0 && !found; i++) {
			r = store_exec(s, e.v[i].to, &x);
			if (r > 0 && x.parent)
				r = store_exec(s, x.parent, &parent);
			found = r >= 0 && (!x.run || !x.parent || r == 0 || parent.run != x.run);
			r = r < 0 ? r : 0;
		}
	}
	edges_release(&e);
	return r < 0 ? r : found;
}

/* Is a stream an input by itself, because what wrote to it was not seen? Not those of the machine's own services. 1, 0,
 * -errno. */
static int is_outside(const struct answer_source *a, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(a->store, version, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r <= 0)
		return r;
	if (f.kind == TERM_kind_terminal)
		return v.origin == ORIGIN_EXTERNAL;
	struct str unix_name = str_of("unix:");
	if (str_starts(f.path, unix_name) &&
	    system_path(str_n(f.path.p + unix_name.n, f.path.n - unix_name.n), a->system_extra) == SYSTEM_YES)
		return 0;
	bool addressed = str_starts(f.path, unix_name) || str_starts(f.path, str_of("inet:"));
	r = peer_is_unobserved(a->store, &v, &f);
	return r > 0 && f.kind == TERM_kind_socket && !addressed ? came_with_run(a->store, version) : r;
}

#define NO_INPUT (-1)

/* The rank of an input by who read it: edge e from a maker, a helper, the opener or who only may have made the version,
 * or of the version itself, which was there before. NO_INPUT if it is from none of them. */
static int reader_rank(const struct why *n, const struct lineage_edge *e)
{
	if (e->type == LINEAGE_USED && n->is[e->from] & (WHY_IS_MAKER | WHY_IS_HELPER))
		return !(n->is[e->from] & WHY_IS_DIRECT);
	if (e->from < n->l.n_roots)
		return RANK_BEFORE;
	if (n->is[e->from] & WHY_IS_DOUBTFUL)
		return RANK_DOUBTFUL;
	return e->from == n->opener ? RANK_OPENER : NO_INPUT;
}

/* Says edge e something of what the version was made from? Not what its reader may have had all the same: an own file
 * of its, a stream that somebody seen wrote to, a terminal beside other inputs, what the parts gave each other. 1, 0,
 * -errno. */
static int tells_of_source(const struct answer_source *a, struct makers *m, const struct why *n,
                           const struct idmap *parts, const struct lineage_edge *e)
{
	const struct lineage_node *to = &n->l.nodes[e->to];
	int r = to->stream ? is_outside(a, to->id) : maker_own(m, e);
	if (r < 0 || !r == to->stream)
		return r < 0 ? r : 0;
	r = peer_idle(a->store, &n->l, e->from, e);
	if (r == 0)
		r = is_between_parts(m, parts, to->id);
	return r < 0 ? r : !r;
}

/* Is edge e to an input? Its rank, or NO_INPUT, or -errno below that. */
static int input_rank(const struct answer_source *a, struct makers *m, const struct why *n, const struct idmap *parts,
                      const struct lineage_edge *e)
{
	int rank = reader_rank(n, e);
	bool beside = e->e.bears && !n->l.nodes[0].object; /* what was used of it are its objects */
	if (rank == NO_INPUT || n->l.nodes[e->to].exec || e->to < n->l.n_roots || n->is[e->to] & WHY_IS_PRIVATE || beside)
		return NO_INPUT;
	int r = tells_of_source(a, m, n, parts, e);
	return r < 0 ? r : r ? rank : NO_INPUT;
}

/* Several connections to one address are one input: its place from 1, or where the next one will stand. 0 or -ENOMEM.
 */
static int same_server(struct inputs *in, store_id server, uint32_t *ret)
{
	bool is_new = true;
	uint32_t *at = server ? idmap_add(&in->servers, server, (uint32_t)in->n + 1, &is_new) : NULL;
	*ret = is_new ? 0 : *at;
	return server && !at ? -ENOMEM : 0;
}

/* What the input v, at node `to`, is to what is asked of. */
static enum part_of part_of(const struct why *n, const struct inputs *in, const struct lineage_node *to,
                            const struct version_sort *v)
{
	bool attribute = v->kind == TERM_kind_attribute, object = n->l.nodes[0].object;
	if (in->asked_attribute.n)
		return attribute && str_eq(attribute_name(v->path), buf_view(&in->asked_attribute)) ? PART_FIRST
		       : attribute                                                                  ? PART_SECOND
		       : to->object                                                                 ? PART_THIRD
		                                                                                    : PART_LAST;
	return attribute ? PART_THIRD : object && !to->object ? PART_SECOND : PART_FIRST;
}

/* Fills the input that e leads to, of which nothing is known yet. v: what its version is, where `known`. 0 or -errno.
 */
static int fill_input(const struct answer_source *a, struct why *n, struct inputs *in, const struct lineage_edge *e,
                      const struct version_sort *v, bool known, struct input *ret)
{
	const struct lineage_node *to = &n->l.nodes[e->to];
	n->sort[e->to] = (uint8_t)entity_sort(v->kind, v->path);
	*ret = (struct input){.node = e->to,
	                      .rank = UINT32_MAX,
	                      .by = e->from,
	                      .sort = n->sort[e->to],
	                      .place = PLACE_ELSEWHERE,
	                      .possible = !n->certain[e->to],
	                      .part = (unsigned char)part_of(n, in, to, v),
	                      .latest = in->asked_attribute.n && v->kind == TERM_kind_attribute,
	                      .lo = e->e.lo};
	ret->unlike = !str_eq(name_stem(v->path), buf_view(&in->asked_stem));
	if (v->file == in->asked || (objects_is_object(v->kind) && v->within == in->asked))
		ret->role = WHY_ROLE_earlier;
	else if (known && e->type == LINEAGE_USED && (v->kind == TERM_kind_regular || objects_is_object(v->kind)))
		return describe_input(a, n, in, e->e.mode, ret);
	return 0;
}

/* Adds what e leads to, once; of several edges the one counts whose rank is less. 0, -errno. Room is there. */
static int add_input(const struct answer_source *a, struct why *n, struct inputs *in, const struct lineage_edge *e,
                     uint32_t rank)
{
	uint32_t *at = &in->at[e->to];
	int r = 0;
	/* What it is for, the one says who is nearest to what was made: a helper may have had it as its standard input. */
	if (!*at || rank < in->v[*at - 1].rank) {
		struct version_sort v = {0};
		const bool again = *at != 0;
		int known = store_version_sort(a->store, n->l.nodes[e->to].id, &v);
		r = known < 0 ? known : again ? 0 : same_server(in, n->l.nodes[e->to].stream ? v.file : 0, at);
		if (r == 0 && !*at) {
			r = fill_input(a, n, in, e, &v, known > 0, &in->v[in->n]);
			*at = (uint32_t)++in->n;
		} else if (r == 0 && again && in->v[*at - 1].node == e->to) {
			const int64_t lo = in->v[*at - 1].lo;
			r = fill_input(a, n, in, e, &v, known > 0, &in->v[*at - 1]);
			in->v[*at - 1].lo = lo;
		}
	}
	if (r < 0)
		return r;
	struct input *i = &in->v[*at - 1];
	i->rank = rank < i->rank ? rank : i->rank;
	i->lo = e->e.lo < i->lo ? e->e.lo : i->lo;
	return 0;
}

/* Notes which inputs lie beside others: of a folder that an argument names, and in which a file is called like the
 * output, the others are beside it: who copies a folder reads them all. In the order of by_rank. */
static void set_beside(struct inputs *in)
{
	for (size_t i = 1, like = 0; i < in->n; i++) {
		const struct input *a = &in->v[like], *b = &in->v[i];
		bool same = b->place == PLACE_FOLDER && a->place == PLACE_FOLDER && a->argument == b->argument &&
		            a->role == WHY_ROLE_data && b->role == WHY_ROLE_data;
		if (!same || !b->unlike)
			like = i;
		else if (!a->unlike)
			in->v[i].role = WHY_ROLE_beside;
	}
}

int why_add_inputs(const struct answer_source *a, struct makers *m, struct why *n)
{
	struct inputs in = {.v = calloc(n->l.n_nodes + 1, sizeof(*in.v)),
	                    .at = calloc(n->l.n_nodes + 1, sizeof(*in.at)),
	                    .reader = {.node = UINT32_MAX}};
	struct version_sort asked = {0};
	int r = in.v && in.at ? store_version_sort(a->store, n->l.nodes[0].id, &asked) : -ENOMEM;
	in.asked = asked.file;
	buf_str(&in.asked_stem, name_stem(asked.path));
	if (asked.kind == TERM_kind_attribute)
		buf_str(&in.asked_attribute, attribute_name(asked.path));
	struct exec_info first;
	if (r >= 0 && n->n_makers && (r = store_exec(a->store, n->l.nodes[n->makers[0]].id, &first)) > 0)
		in.program = first.exe;
	r = r < 0 ? r : map_parts(n, &in.parts);
	r = r < 0 ? r : find_arguments(a->store, n, &in.arguments);
	for (size_t k = 0; r >= 0 && k < n->l.n_edges; k++) {
		int rank = input_rank(a, m, n, &in.parts, &n->l.edges[k]);
		if (rank < NO_INPUT)
			r = rank;
		else if (rank != NO_INPUT)
			r = add_input(a, n, &in, &n->l.edges[k], (uint32_t)rank);
	}
	if (in.n)
		qsort(in.v, in.n, sizeof(*in.v), by_rank);
	set_beside(&in);
	for (size_t i = 0; i < in.n; i++) {
		n->role[in.v[i].node] = (uint8_t)in.v[i].role;
		if (in.v[i].rank == RANK_OPENER)
			n->opener_inputs[n->n_opener_inputs++] = in.v[i].node;
		else
			n->inputs[n->n_inputs++] = in.v[i].node;
		n->n_seen += in.v[i].rank < RANK_DOUBTFUL;
	}
	free(in.v);
	free(in.at);
	idmap_release(&in.parts);
	idmap_release(&in.servers);
	buf_release(&in.asked_stem);
	buf_release(&in.asked_attribute);
	buf_release(&in.arguments.text);
	vec_release(&in.arguments.words);
	table_release(&in.arguments.by_hash);
	buf_release(&in.reader.cwd);
	buf_release(&in.reader.program);
	buf_release(&in.reader.subject);
	return r < 0 ? r : 0;
}
