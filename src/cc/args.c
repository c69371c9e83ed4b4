#include "cc/args.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- response files, as libiberty's expandargv and LLVM's reader of the same syntax take them apart ---- */

struct growing {
	char **v;
	size_t n, room;
	char **files;
	size_t nfiles;
	size_t bytes;
	bool failed;
};

/* Takes word over. NULL, or no memory: g->failed. */
static void append_owned_argument(struct growing *g, char *word)
{
	if (g->n + 1 >= g->room && !g->failed) {
		size_t room = g->room ? 2 * g->room : 64;
		char **v = realloc(g->v, room * sizeof(*v));
		g->failed = !v;
		if (v) {
			g->v = v;
			g->room = room;
		}
	}
	if (g->failed || !word) {
		g->failed = true;
		free(word);
		return;
	}
	g->v[g->n++] = word;
	g->v[g->n] = NULL;
}

/* Reads a response file (@FILE), words for the compiler. 0; -EFBIG: it is longer than `most`, or no regular file;
 * -errno. */
static int read_response_file(const char *path, size_t most, struct buf *ret)
{
	struct stat st;
	/* To open a FIFO would let go whoever waits for the compiler to read it. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return -EFBIG;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int rc = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EFBIG : io_read_rest(fd, most, ret);
	close(fd);
	return rc;
}

/* Is it white space, as in C's locale? */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word of the text at *at, unquoted; NULL: there is none, or no memory. */
static char *next_token(struct str text, size_t *at, bool *ret_failed)
{
	size_t i = *at, n = 0;
	char quote = 0;
	while (i < text.n && is_blank(text.p[i]))
		i++;
	*at = i;
	if (i == text.n)
		return NULL;
	char *word = malloc(text.n - i + 1);
	*ret_failed = !word;
	for (; word && i < text.n; i++) {
		char c = text.p[i];
		if (!quote && is_blank(c))
			break;
		if (c == '\\' && i + 1 < text.n && quote != '\'') {
			word[n++] = text.p[++i];
		} else if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
		} else {
			word[n++] = c;
		}
	}
	*at = i;
	if (word)
		word[n] = '\0';
	return word;
}

static void expand(struct growing *g, char *word, unsigned depth);

/* The words of a response file. False: it is not taken as one, and stands as it is. */
static bool expand_file(struct growing *g, const char *path, unsigned depth)
{
	struct buf text = {0};
	bool failed = false;
	if (depth >= ARGS_DEPTH || g->nfiles >= ARGS_FILES || read_response_file(path, ARGS_BYTES - g->bytes, &text) < 0) {
		buf_release(&text);
		return false;
	}
	g->bytes += text.n;
	char **files = realloc(g->files, (g->nfiles + 1) * sizeof(*files)), *name = strdup(path);
	if (files)
		g->files = files;
	if (files && name)
		files[g->nfiles++] = name;
	else
		free(name);
	g->failed |= !files || !name;
	char *word;
	for (size_t at = 0; !g->failed && g->n < ARGS_MAX && (word = next_token(buf_view(&text), &at, &failed));) {
		char *small = realloc(word, strlen(word) + 1); /* it was as large as what is left of the text */
		expand(g, small ? small : word, depth + 1);
	}
	g->failed |= failed;
	buf_release(&text);
	return true;
}

/* Adds a word of the command line, or the words of the file that it names (@FILE). Takes the word over. */
static void expand(struct growing *g, char *word, unsigned depth)
{
	if (word && word[0] == '@' && word[1] && expand_file(g, word + 1, depth))
		free(word);
	else
		append_owned_argument(g, word);
}

/* ---- options ---- */

/* Options whose value is the next argument; those that take it glued to them as well are here, too. */
static const char *const with_value[] = {
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-B",
    "-J",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-A",
    "-G",
    "-arch",
    "-target",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iquote",
    "-isysroot",
    "-imultilib",
    "-include-pch",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-Xcompiler",
    "-Xarch_host",
    "-Xarch_device",
    "-Xcudafe",
    "-Xptxas",
    "-Xnvlink",
    "-mllvm",
    "-wrapper",
    "-specs",
    "--sysroot",
    "--param",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-framework",
    "-rpath",
    "-soname",
    "-ccbin",
    "-gencode",
    "-code",
    "-odir",
    "-cxx-isystem",
    "-ivfsoverlay",
    "-working-directory",
    "-optf",
    "--options-file",
    "-fplugin",
    "--output",
    "--include",
    "--include-path",
    "--library",
    "--library-path",
    "-dc-arch",
    "-install_name",
};

/* With one of these the compiler tells something and makes nothing. */
static const char *const asks[] = {"-###",
                                   "-dryrun",
                                   "--dryrun",
                                   "--version",
                                   "-dumpversion",
                                   "-dumpfullversion",
                                   "-dumpmachine",
                                   "-dumpspecs",
                                   "-print-search-dirs",
                                   "-print-multi-lib",
                                   "-print-sysroot",
                                   "-print-multiarch",
                                   "-print-multi-directory",
                                   "-print-resource-dir",
                                   "--target-help",
                                   "-print-libgcc-file-name",
                                   "-print-targets",
                                   "-show",
                                   "--showme"};
static const char *const asks_begins[] = {
    "--help", "-print-file-name=", "-print-prog-name=", "--print-", "-print-", "--showme:"};
static const char *const no_link[] = {"-c",           "-S",           "-E",       "-M",   "-MM",    "-fsyntax-only",
                                      "--precompile", "--preprocess", "-dc",      "-ptx", "-cubin", "-fatbin",
                                      "--compile",    "--assemble",   "-emit-ast"};

/* Is the option one of the list? s is an option, with something behind its dash. */
static bool in(const char *s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[1] == v[i][1] && strcmp(s, v[i]) == 0)
			return true;
	return false;
}

/* An argument by which the compiler is asked something instead of compiling. */
static bool asks_compiler(const char *s)
{
	for (size_t i = 0; i < N(asks_begins); i++)
		if (strncmp(s, asks_begins[i], strlen(asks_begins[i])) == 0)
			return true;
	return in(s, asks, N(asks));
}

/* Is the ending one of the list? By the very ending, e.g. ".c". */
static bool is_ending_in(const char *ending, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(ending, v[i]) == 0)
			return true;
	return false;
}

/* The ending of a name, without the point; empty: none. */
static const char *ending_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	return dot && dot > (slash ? slash : path) ? dot + 1 : "";
}

bool args_is_source(const char *path)
{
	static const char *const endings[] = {
	    "c",   "i",   "C",   "cc",  "cp",  "cpp", "cxx", "c++",  "CPP", "ii",  "m",   "mi", "mm",  "M",   "mii",
	    "h",   "H",   "hh",  "hp",  "hpp", "hxx", "h++", "tcc",  "f",   "for", "ftn", "F",  "FOR", "fpp", "FPP",
	    "FTN", "f90", "f95", "f03", "f08", "f18", "F90", "F95",  "F03", "F08", "F18", "s",  "S",   "sx",  "cu",
	    "cl",  "ll",  "ads", "adb", "d",   "go",  "rs",  "cppm", "ixx", "ccm", "hip", "asm"};
	return is_ending_in(ending_of(path), endings, N(endings));
}

/* Programs that are given a compiler's whole command line. */
static bool is_launcher(const char *path)
{
	static const char *const names[] = {"ccache", "sccache", "distcc", "icecc"};
	const char *slash = strrchr(path, '/');
	return is_ending_in(slash ? slash + 1 : path, names, N(names));
}

/* -oNAME */
static bool is_joined_output(const char *s)
{
	return s[1] == 'o' && strcmp(s, "-objtemp") != 0 && s[2] && strncmp(s, "-of", 3) != 0 &&
	       strncmp(s, "-option", 7) != 0;
}

/* Word i: what it says of the whole. How many of the words behind it belong to it. *question: it asks the compiler for
 * something, instead of compiling. */
static size_t read_argument(struct args *a, size_t i, bool *question)
{
	const char *s = a->v[i];
	size_t more = 0;
	if (s[0] != '-') {
		a->input[i] = s[0] != '\0';
	} else if (!s[1]) {
		a->input[i] = a->from_stdin = true;
	} else if (in(s, with_value, N(with_value))) {
		if (strcmp(s, "-o") == 0 || strcmp(s, "--output") == 0)
			a->output = a->v[i + 1];
		if (strcmp(s, "-l") == 0 || strcmp(s, "--library") == 0)
			a->makes = true;
		more = i + 1 < a->n;
	} else if (is_joined_output(s)) {
		a->output = s + 2;
	} else if (in(s, no_link, N(no_link))) {
		a->links = false;
	} else if (s[1] == 'l') {
		a->makes = true; /* -lfoo alone is enough to link */
	} else {
		*question |= asks_compiler(s);
	}
	a->makes |= a->input[i + more];
	return more;
}

int args_parse(char *const *argv, struct args *ret)
{
	struct growing g = {0};
	for (size_t i = 0; argv[i] && g.n < ARGS_MAX && !g.failed; i++)
		expand(&g, strdup(argv[i]), i ? 0 : ARGS_DEPTH);
	struct args a = {.v = g.v, .n = g.n, .files = g.files, .nfiles = g.nfiles, .links = true};
	a.input = calloc(g.n + 1, sizeof(*a.input));
	if (!a.input || g.failed || !g.n) {
		args_release(&a);
		return -ENOMEM;
	}
	bool question = false;
	while (a.compiler + 1 < a.n && is_launcher(a.v[a.compiler]) && a.v[a.compiler + 1][0] != '-')
		a.compiler++;
	for (size_t i = a.compiler + 1; i < a.n; i++)
		i += read_argument(&a, i, &question);
	a.makes = a.makes && !question;
	*ret = a;
	return 0;
}

/* a is empty then. */
void args_release(struct args *a)
{
	for (size_t i = 0; a->v && i < a->n; i++)
		free(a->v[i]);
	for (size_t i = 0; i < a->nfiles; i++)
		free(a->files[i]);
	free(a->v);
	free(a->files);
	free(a->input);
	*a = (struct args){0};
}

/* Exactly this argument, after the compiler. */
static bool has_option(const struct args *a, const char *option)
{
	for (size_t i = a->compiler + 1; i < a->n; i++)
		if (strcmp(a->v[i], option) == 0)
			return true;
	return false;
}

size_t args_outputs(const struct args *a, struct buf *out)
{
	if (a->output || a->links) {
		const char *name = a->output ? a->output : "a.out";
		buf_add(out, name, strlen(name) + 1);
		return 1;
	}
	const char *ending = has_option(a, "-c") ? "o" : has_option(a, "-S") ? "s" : NULL;
	size_t n = 0;
	for (size_t i = a->compiler + 1; ending && i < a->n; i++) {
		if (!a->input[i] || !args_is_source(a->v[i]))
			continue;
		const char *slash = strrchr(a->v[i], '/'), *base = slash ? slash + 1 : a->v[i];
		buf_printf(out, "%.*s.%s", (int)(strlen(base) - strlen(ending_of(base)) - 1), base, ending);
		buf_char(out, '\0');
		n++;
	}
	return n;
}
