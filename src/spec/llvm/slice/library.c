/* library.c - what library functions do, by the rows of library.def.
 *
 * A row is words between spaces. DST<SRC,SRC: data flows; DST=SRC: pointers go along. Places:
 *
 *   r          the result                    0 1 2 ...   an argument
 *   *0 *r      what it points to             **0         all that can be reached from it
 *   V M D      all arguments: themselves, what they point to, all that is reached
 *   v *v       the same of those behind `...`
 *   i0 o0 p0   of the stream or descriptor that argument 0 is: what is read, what is written (an output), the position
 *   $NAME      a state of the library        static:NAME   an object of the library
 *   elsewhere  memory of which nothing is known; what is done with it forbids
 *   new        a new object                  stream:0 number:0   something opened, with the name that argument 0 is
 *   !KIND !KIND:0   an input of that kind, with that name
 *   @0 @1 @2   as in `o`, of standard input ...
 *   w0         as o0, but no output: that it is created
 *   streamof:0 numberof:0   another name of the stream or descriptor that argument 0 is
 *   environment:0   the variable of the environment with that name
 *   extra      the arguments behind the `...` of the function that calls
 *   ~0         of standard input: where it is read
 *   O          an output that is not of a stream
 *   e x        whether the call comes back, and whether it is made
 *
 * Words without a flow: `ends` (it never comes back), `mayend`, `abnormal` (the program ends, and not by exit), `calls`
 * (it calls what it is given), `later` (and not at once), `out` (an output of all its arguments), `apart` (errno
 * stays), `maybe` (it uses a stream only where it is given one), `doubles` (what streams have not written yet is
 * written twice), `creates:1` (what it opens is written to unless argument 1, a mode or flags, says that it is only
 * read), `maps` (memory may be a file). "%1:" before a flow: only where argument 1, a format, may have %n. */
#include "spec/llvm/slice/library.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct row rows[] = {
#define ROW(name, what) {name, what},
#include "spec/llvm/slice/library.def"
#define ROW(name, what) {name, what},
#include "spec/llvm/slice/library_system.def"
};

/* ---- rows ---- */

/* Has the format a conversion with that letter (of its own or as a modifier)? */
static bool has_conversion(const char *format, char letter)
{
	for (const char *p = format; (p = strchr(p, '%'));) {
		size_t n = strspn(p + 1, "0123456789.*$-+ #'hlqjztLIm");
		if (p[1 + n] == letter || memchr(p + 1, letter, n))
			return true;
		p += 1 + n + (p[1 + n] != '\0');
	}
	return false;
}

static bool may_convert(LLVMValueRef format, char letter, int depth);

/* The same of what callers give for a parameter: true where they are not all known. */
static bool parameter_may_convert(LLVMValueRef v, char letter, int depth)
{
	LLVMValueRef f = LLVMGetParamParent(v);
	unsigned k = 0;
	if (LLVMGetLinkage(f) != LLVMInternalLinkage)
		return true;
	while (LLVMGetParam(f, k) != v)
		k++;
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		bool calls = (LLVMIsACallInst(by) || LLVMIsAInvokeInst(by)) && LLVMGetCalledValue(by) == f;
		if (!calls || k >= LLVMGetNumArgOperands(by) || may_convert(LLVMGetOperand(by, k), letter, depth + 1))
			return true;
	}
	return false;
}

/* Has the format such a conversion, or is it not known? */
static bool may_convert(LLVMValueRef format, char letter, int depth)
{
	const char *text = build_constant_text(format);
	if (text || !format || depth > 4)
		return !text || has_conversion(text, letter);
	if (LLVMIsASelectInst(format))
		return may_convert(LLVMGetOperand(format, 1), letter, depth + 1) ||
		       may_convert(LLVMGetOperand(format, 2), letter, depth + 1);
	return !LLVMIsAArgument(format) || parameter_may_convert(format, letter, depth);
}

/* "DST<SRC,SRC". */
static void apply_flow(struct apply *a, const char *word, size_t n)
{
	if (*word == '%') {
		if (!may_convert(apply_argument(a, (unsigned)(word[2] - '0')), word[1], 0))
			return;
		word += 4;
		n -= 4;
	}
	size_t k = strcspn(word, "<=");
	bool points = word[k] == '=';
	for (size_t at = k + 1; at < n;) {
		size_t m = strcspn(word + at, ", ");
		uint32_t from = apply_read(a, word + at, m);
		apply_write(a, from, word, k, points);
		if (*word == 'o' && word[at] == '*' && strncmp(a->name, "fput", 4) != 0)
			hidden_bytes(a, from, true);
		if (*word == '*' && word[at] == 'i' && isdigit((unsigned char)word[at + 1])) {
			uint32_t bytes = graph_node(a->s, HOLDS_ALL);
			hidden_bytes(a, apply_read(a, word, k), false);
			graph_points(a->s, bytes, a->s->bytes);
			apply_write(a, bytes, word, k, true);
		}
		at += m + 1;
	}
}

/* Applies `mayend`: the call may end the program, by what it is given. */
static void apply_ending(struct apply *a, bool abnormal)
{
	struct slice *s = a->s;
	struct call *c = apply_call(a);
	c->may_end = true;
	for (uint32_t i = 0; i < c->n_arguments; i++)
		graph_flow(s, c->argument[i], c->ends);
	if (abnormal)
		graph_flow(s, c->effects, s->abnormal);
}

/* "calls": anything that it is given and that is a function. */
static void apply_calls(struct apply *a)
{
	uint32_t deep = apply_arguments(a, 0, REACHED), own = graph_object(a->s, OBJECT_MEMORY);
	uint32_t decides = graph_node(a->s, HOLDS_NOTHING);
	graph_points(a->s, deep, own); /* of the library's own */
	apply_call(a)->deep = deep;
	graph_take(a->s, deep, a->call, true);
	if (strstr(a->what, "later"))
		return;
	graph_flow(a->s, deep, decides);
	graph_flow(a->s, apply_call(a)->result, decides);
	graph_flow(a->s, decides, a->s->objects.v[own].content);
	apply_call(a)->decides = decides;
}

/* Is argument i a constant that says that what is opened is only read? */
static bool only_reads(const struct apply *a, unsigned i)
{
	enum { ACCESS = 3, CREATES = 01100 };
	LLVMValueRef v = apply_argument(a, i);
	const char *mode = build_constant_text(v);
	if (mode)
		return *mode == 'r' && !strchr(mode, '+');
	if (!v || !LLVMIsAConstantInt(v))
		return false;
	long long flags = LLVMConstIntGetSExtValue(v);
	return (flags & (ACCESS | CREATES)) == 0;
}

/* A child has all that is not yet written. */
static void apply_doubles(struct apply *a)
{
	graph_flow(a->s, apply_call(a)->effects, a->s->abnormal);
}

/* Memory that is a file: what is stored in it is written, unless it is private. */
static void apply_maps(struct apply *a)
{
	LLVMValueRef flags = apply_argument(a, 3);
	if (!flags || !LLVMIsAConstantInt(flags) || (LLVMConstIntGetSExtValue(flags) & 3) != 2) {
		uint32_t from = apply_read(a, "*r", 2);
		apply_write(a, from, "o4", 2, false);
		hidden_bytes(a, from, true);
	}
}

/* "creates:1": unless what is opened is only read. */
static void apply_creates(struct apply *a, unsigned mode)
{
	if (only_reads(a, mode))
		return;
	if (a->odd && a->s->seeks)
		graph_reason(a->s, "a write to a file that may be the memory of the program:", a->name, apply_call(a)->inst,
		             apply_call(a)->function);
	apply_write(a, apply_arguments(a, 0, POINTED), "wr", 2, false);
}

/* Applies a row of the table: the call ends the program. */
static void apply_ends(struct apply *a)
{
	apply_call(a)->always_ends = true;
	apply_ending(a, false);
}

/* Applies a row of the table: the call may end the program. */
static void apply_mayend(struct apply *a)
{
	apply_ending(a, false);
}

/* Applies a row of the table: the call may end the program as a signal does. */
static void apply_abnormal(struct apply *a)
{
	apply_ending(a, true);
}

/* Applies a row of the table: functions that it is given are called later. */
static void apply_later(struct apply *a)
{
	apply_call(a)->later = true;
}

/* Applies a row of the table: what it is given goes out of the program. */
static void apply_out(struct apply *a)
{
	graph_flow(a->s, apply_arguments(a, 0, REACHED), apply_output(a, false));
}

/* Applies a row of the table: errno stays as it is. */
static void apply_apart(struct apply *a)
{
	a->keeps_errno = true;
}

/* Applies a row of the table: it does so only for some arguments. */
static void apply_maybe(struct apply *a)
{
	a->maybe = true;
}

/* Applies one word of a summary of a library function to the call: a name of the table, "creates:N", else a flow
 * "DST<SRC,SRC". */
static void apply_word(struct apply *a, const char *word, size_t n)
{
	static const struct {
		const char *word;
		void (*apply)(struct apply *);
	} words[] = {{"ends", apply_ends},      {"mayend", apply_mayend}, {"abnormal", apply_abnormal},
	             {"calls", apply_calls},    {"later", apply_later},   {"out", apply_out},
	             {"apart", apply_apart},    {"maybe", apply_maybe},   {"maps", apply_maps},
	             {"doubles", apply_doubles}};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == n && memcmp(words[i].word, word, n) == 0) {
			words[i].apply(a);
			return;
		}
	if (n == 9 && strncmp(word, "creates:", 8) == 0)
		apply_creates(a, (unsigned)(word[8] - '0'));
	else
		apply_flow(a, word, n);
}

/* The row of the table of that name; NULL: none. */
static const struct row *row_named(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

/* Of a function of LLVM's own: by the beginning of its name, as its types follow. */
static const struct row *intrinsic_row(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].name);
		if (strncmp(rows[i].name, "llvm.", 5) == 0 && strncmp(rows[i].name, name, n) == 0 &&
		    (!name[n] || name[n] == '.'))
			return &rows[i];
	}
	return NULL;
}

/* Under the name, and under those that glibc's headers put in its place. */
static const struct row *find_row(const char *name)
{
	size_t n = strlen(name);
	static const char *const before[] = {"__isoc99_", "__isoc23_"}, *const behind[] = {"64", "_unlocked"};
	if (strncmp(name, "llvm.", 5) == 0)
		return intrinsic_row(name);
	const struct row *r = row_named(name);
	for (size_t i = 0; !r && i < 2; i++)
		if (strncmp(name, before[i], strlen(before[i])) == 0)
			r = find_row(name + strlen(before[i]));
	for (size_t i = 0; !r && i < 2; i++) {
		size_t k = strlen(behind[i]);
		if (n > k && strcmp(name + n - k, behind[i]) == 0) {
			char *shorter = llvm_need(strndup(name, n - k));
			r = row_named(shorter);
			free(shorter);
		}
	}
	return r;
}

/* What each function of the library may leave in errno. */
static void apply_errno(struct apply *a)
{
	uint32_t error = graph_variable(a->s, "errno");
	const struct call *c = apply_call(a);
	for (uint32_t i = 0; i < c->n_arguments; i++)
		graph_flow(a->s, c->argument[i], error);
	graph_flow(a->s, c->effects, error);
	graph_flow(a->s, c->result, error);
}

bool library_knows(const char *name)
{
	return find_row(name) || library_cxx_row(name);
}

bool library_follows(const char *name, unsigned i, unsigned n_fixed)
{
	const struct row *r = find_row(name) ? find_row(name) : library_cxx_row(name);
	/* What goes on to a function of the program is looked at there. */
	bool calls = r && strstr(r->what, "calls");
	for (const char *p = r ? strpbrk(r->what, "*MD") : NULL; p; p = strpbrk(p + 1, "*MD"))
		if (((*p != '*' || p[1] == '*') && !calls) || p[1] == (char)('0' + i) || (p[1] == 'v' && i >= n_fixed))
			return true;
	return false;
}

bool library_apply(struct slice *s, uint32_t call, const char *name)
{
	const struct row *r = find_row(name);
	if (!r)
		r = library_cxx_row(name);
	if (!r)
		return false;
	struct apply a = {.s = s, .call = call, .name = *r->name ? r->name : name, .what = r->what, .output = VEC_NONE};
	a.opens = strncmp(r->what, "r=", 2) == 0;
	for (const char *p = r->what; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		apply_word(&a, p, n);
		p += n;
	}
	hidden_apply(&a);
	if (!a.keeps_errno)
		apply_errno(&a);
	return true;
}

/* ---- variables of libraries ---- */

/* What comes in by a variable of the library. */
static void state_input(struct slice *s, const char *state, uint32_t node)
{
	bool environment = strcmp(state, "environ") == 0;
	if (!environment && strcmp(state, "program") != 0)
		return;
	if (environment) {
		build_environment(s);
		return;
	}
	uint32_t text = graph_object(s, OBJECT_MEMORY), list = graph_object(s, OBJECT_MEMORY);
	uint32_t from = graph_input(s, "argument", "0", NULL, VEC_NONE);
	graph_flow(s, from, node);
	graph_flow(s, from, s->objects.v[text].content);
	graph_flow(s, from, s->objects.v[list].content);
	graph_points(s, s->objects.v[list].content, text);
	graph_points(s, node, text);
	graph_points(s, node, list);
}

/* The standard stream that a variable of the C++ library is; -1: none. */
static int cxx_stream(const char *name)
{
	static const char *const names[] = {"_ZSt3cin", "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"};
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return i < 2 ? i : 2;
	return -1;
}

bool library_variable(struct slice *s, LLVMValueRef v, uint32_t node)
{
	static const char *const standard[] = {"stdin", "stdout", "stderr"};
	static const struct {
		const char *name, *state;
	} states[] = {{"optarg", "getopt"},
	              {"optind", "getopt"},
	              {"optopt", "getopt"},
	              {"opterr", "getopt"},
	              {"environ", "environ"},
	              {"__environ", "environ"},
	              {"timezone", "tz"},
	              {"daylight", "tz"},
	              {"tzname", "tz"},
	              {"program_invocation_name", "program"},
	              {"program_invocation_short_name", "program"},
	              {"__progname", "program"},
	              {"signgam", "signgam"}};
	const char *name = build_name(v);
	uint32_t o = graph_object(s, OBJECT_MEMORY);
	graph_points(s, node, o);
	if (cxx_stream(name) >= 0) {
		graph_points(s, node, s->standard[cxx_stream(name)]);
		return true;
	}
	for (size_t i = 0; i < 3; i++)
		if (strcmp(name, standard[i]) == 0) {
			graph_points(s, s->objects.v[o].content, s->standard[i]);
			return true;
		}
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(name, states[i].name) == 0) {
			/* What the program puts there, the library sees. */
			graph_copy(s, graph_variable(s, states[i].state), s->objects.v[o].content);
			graph_copy(s, s->objects.v[o].content, graph_variable(s, states[i].state));
			state_input(s, states[i].state, graph_variable(s, states[i].state));
			return true;
		}
	/* Types, classes of properties and the like; it makes them before anything else, and they stay. */
	if (strncmp(name, "H5", 2) == 0 && strlen(name) > 4 && strcmp(name + strlen(name) - 2, "_g") == 0) {
		graph_copy(s, s->any_descriptor, s->objects.v[o].content);
		return true;
	}
	if (strncmp(name, "ompi_mpi_", 9) == 0) /* communicators, types, operations: only their address is used */
		return true;
	/* Classes of the C++ library: what is in them may be called. */
	graph_points(s, s->objects.v[o].content, s->unknown);
	return strncmp(name, "_ZTV", 4) == 0 || strncmp(name, "_ZTI", 4) == 0 || strncmp(name, "_ZTT", 4) == 0 ||
	       strcmp(name, "__dso_handle") == 0;
}
