#include "cc/withspec.h"

#include "base/io.h"
#include "cc/compiler.h"
#include "cc/withspec_keep.h"
#include "spec/make.h"
#include "spec/objects.h"
#include "spec/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct withspec {
	const struct args *a;
	enum withspec_mode mode;
	char dir[64];   /* of what is made on the way */
	char **argv;    /* NULL: as it is */
	char *owned[8]; /* strings of argv that are ours */
	char **wraps;   /* of argv: the option with MPI's functions, NULL none */
	bool has_spec, slice;
	unsigned missing; /* sources that have no bitcode */
	char spec[96], bitcode[96];
	char **read; /* by clang, for the link: owned, NULL-terminated; NULL none */
	size_t n_read;
};

/* ---- a second pass, by clang ---- */

/* Does the name end so, with something before it? */
static bool has_extension(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n > k && strcmp(s + n - k, end) == 0;
}

/* Is the file a source in C++, by its name? */
static bool is_cxx(const char *path)
{
	static const char *const ends_in[] = {".cc", ".cpp", ".cxx", ".C", ".c++", ".CPP", ".cp", ".ii"};
	for (size_t i = 0; i < sizeof(ends_in) / sizeof(ends_in[0]); i++)
		if (has_extension(path, ends_in[i]))
			return true;
	return false;
}

/* Is the file a source in C or C++, by its name? */
static bool is_c_source(const char *path)
{
	return has_extension(path, ".c") || has_extension(path, ".i") || is_cxx(path);
}

/* Options that say what is made and where, or that are the linker's or of another compiler: with their value behind
 * them (2), or by themselves (1). 0: it is kept. */
static int left_out(const char *s)
{
	static const char *const two[] = {"-o", "-MF",      "-MT", "-MQ", "-MJ", "-l",
	                                  "-L", "-Xlinker", "-T",  "-z",  "-u",  "-aux-info"};
	static const char *const one[] = {
	    "-c",   "-S",      "-E",         "-s",        "-r",          "-shared",       "-static", "-rdynamic", "-pg",
	    "-pie", "-no-pie", "--coverage", "-coverage", "-static-pie", "-fsyntax-only", "-v",      "-###"};
	static const char *const starts[] = {"-M",
	                                     "-O",
	                                     "-l",
	                                     "-L",
	                                     "-Wl,",
	                                     "-Wp,-M",
	                                     "-Wa,",
	                                     "-flto",
	                                     "-fno-lto",
	                                     "-ffat-lto",
	                                     "-fprofile",
	                                     "-ftest-coverage",
	                                     "-save-temps",
	                                     "--save-temps",
	                                     "-specs",
	                                     "-fuse-ld",
	                                     "-fdump",
	                                     "-fopt-info",
	                                     "-fplugin",
	                                     "-fanalyzer",
	                                     "-fcallgraph-info",
	                                     "-fstack-usage",
	                                     "-static-lib"};
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		if (strcmp(s, two[i]) == 0)
			return 2;
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
		if (strcmp(s, one[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(s, starts[i], strlen(starts[i])) == 0)
			return 1;
	return 0;
}

/* The option that clang says it does not know: taken out of argv. False: it says so of none. */
static bool remove_unknown_option(char **argv, const char *said)
{
	static const char *const before[] = {"unknown argument: '", "unknown argument '",     "unsupported option '",
	                                     "to option '",         "unsupported argument '", "invalid value '"};
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		const char *p = strstr(said, before[i]);
		if (!p)
			continue;
		p += strlen(before[i]);
		size_t n = strcspn(p, "'");
		for (char **v = argv + 1; *v; v++)
			if (**v == '-' && strlen(*v) >= n && n &&
			    (strncmp(*v, p, n) == 0 || (strstr(*v, "=") && strncmp(strstr(*v, "=") + 1, p, n) == 0))) {
				do
					v[0] = v[1];
				while (*v++);
				return true;
			}
	}
	return false;
}

#define WRAPPER_LINE 8192
#define WRAPPER_WORDS 64

/* The folders and definitions that a wrapper of MPI's gives its compiler, which clang is to have, too. In `room`; how
 * many words, put into ret. Both families of MPI answer -show without doing anything. */
static size_t wrapper_arguments(const struct args *a, char room[WRAPPER_LINE], char *ret[WRAPPER_WORDS])
{
	const char *compiler = a->v[a->compiler], *slash = strrchr(compiler, '/');
	char *argv[] = {(char *)compiler, (char *)"-show", (char *)"-c", (char *)"x.c", NULL}, *save = NULL;
	size_t n = 0;
	if (strncmp(slash ? slash + 1 : compiler, "mpi", 3) != 0)
		return 0;
	compiler_ask(argv, room, WRAPPER_LINE);
	for (char *w = strtok_r(room, " \t", &save); w && n + 1 < WRAPPER_WORDS; w = strtok_r(NULL, " \t", &save)) {
		bool two = !strcmp(w, "-isystem") || !strcmp(w, "-I");
		if (!two && strncmp(w, "-I", 2) != 0 && strncmp(w, "-D", 2) != 0)
			continue;
		ret[n++] = w;
		if (two && (w = strtok_r(NULL, " \t", &save)))
			ret[n++] = w;
	}
	return n;
}

/* Compiles a source to bitcode. deps: where clang is to list what it read, as make would have it; NULL nowhere. 0,
 * or -errno with a sentence. */
static int to_bitcode(const struct args *a, const char *source, const char *out, const char *deps, struct err *err)
{
	char **argv = calloc(a->n + 36 + WRAPPER_WORDS, sizeof(*argv)), room[WRAPPER_LINE];
	char *words[WRAPPER_WORDS];
	struct buf said = {0};
	size_t n = 0;
	int status = 0;
	if (!argv)
		return err_set(err, ENOMEM, "cannot compile '%s' once more", source);
	argv[n++] = (char *)make_clang();
	if (is_cxx(source) || strstr(a->v[a->compiler], "++"))
		argv[n++] = (char *)"--driver-mode=g++";
	for (size_t i = a->compiler + 1; i < a->n; i++) {
		int left = a->input[i] ? 1 : left_out(a->v[i]);
		if (left == 2)
			i++;
		if (!left)
			argv[n++] = a->v[i];
	}
	size_t n_words = wrapper_arguments(a, room, words);
	for (size_t i = 0; i < n_words; i++)
		argv[n++] = words[i];
	if (deps) {
		argv[n++] = (char *)"-MD";
		argv[n++] = (char *)"-MF";
		argv[n++] = (char *)deps;
	}
	/* DWARF 4: valgrind 3.19, Debian 12's, ends at clang's fifth, and a traced program is to run under it. */
	char *const ours[] = {(char *)"-w",
	                      /* Errors of clang since 16, warnings of gcc before 14. */
	                      (char *)"-Wno-error=implicit-function-declaration", (char *)"-Wno-error=implicit-int",
	                      (char *)"-Wno-error=int-conversion", (char *)"-Wno-error=incompatible-function-pointer-types",
	                      (char *)"-Wno-error=incompatible-pointer-types", (char *)"-Qunused-arguments",
	                      (char *)"-gdwarf-4", (char *)"-O1", (char *)"-Xclang", (char *)"-disable-llvm-passes",
	                      (char *)"-fno-discard-value-names", /* of blocks: spec/llvm/truth.c */
	                      /* Their ends are clean-ups: ways would join there, and part again by a choice of clang's. */
	                      (char *)"-Xclang", (char *)"-disable-lifetime-markers",
	                      /* Else what would crash by NULL is taken for never done, and the traced program goes on. */
	                      (char *)"-fno-delete-null-pointer-checks", (char *)"-c", (char *)"-emit-llvm", (char *)source,
	                      (char *)"-o", (char *)out, NULL};
	memcpy(argv + n, ours, sizeof(ours));
	for (int turn = 0; turn < 16; turn++) {
		buf_reset(&said);
		status = make_run(argv, false, &said);
		if (status == 0 || !remove_unknown_option(argv, buf_cstr(&said)))
			break;
	}
	free(argv);
	int rc = 0;
	if (status != 0) {
		const char *p = strstr(buf_cstr(&said), "error:");
		p = p ? p + 6 : buf_cstr(&said);
		err_set(err, 0, "clang does not compile '%s':%.*s", source, (int)strcspn(p, "\n"), p);
		rc = -EBADMSG;
	}
	buf_release(&said);
	return rc;
}

/* ---- into an object ---- */

/* Writes the bitcode file `from` as a piece of an object's section to `to`. The piece of a section
 * (doc/format/spec.md): a mark, the length, the bitcode. 0; -errno with a sentence. */
static int wrap(const char *from, const char *to, struct err *err)
{
	struct objects_bytes b;
	unsigned char head[16] = "STMBITC1";
	int rc = objects_map(from, err, &b);
	if (rc < 0)
		return rc;
	for (int i = 0; i < 8; i++)
		head[8 + i] = (unsigned char)((uint64_t)b.n >> (8 * i));
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : io_write(fd, head, sizeof(head), NULL);
	if (rc == 0)
		rc = io_write(fd, b.p, b.n, NULL);
	if (fd >= 0)
		close(fd);
	objects_unmap(&b);
	return rc < 0 ? err_set(err, -rc, "cannot write '%s'", to) : 0;
}

/* What -c makes of a source where nobody says: its name with .o, in the working directory. */
static void default_object(const struct args *a, const char *source, char *ret, size_t n)
{
	const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source, *dot = strrchr(name, '.');
	if (a->output)
		snprintf(ret, n, "%s", a->output);
	else
		snprintf(ret, n, "%.*s.o", dot ? (int)(dot - name) : (int)strlen(name), name);
}

/* Compiles the source to bitcode and puts that into its object by objcopy. 0, -errno with a sentence; -EIO: objcopy
 * failed. */
static int embed(struct withspec *w, const char *source, struct err *err)
{
	char bc[96], piece[96], object[PATH_MAX], add[160];
	struct buf said = {0};
	snprintf(bc, sizeof(bc), "%s/x.bc", w->dir);
	snprintf(piece, sizeof(piece), "%s/x.piece", w->dir);
	snprintf(add, sizeof(add), SPEC_BITCODE "=%s", piece);
	default_object(w->a, source, object, sizeof(object));
	int rc = to_bitcode(w->a, source, bc, NULL, err);
	if (rc == 0)
		rc = wrap(bc, piece, err);
	if (rc < 0)
		return rc;
	char *argv[] = {(char *)"objcopy",
	                (char *)"--add-section",
	                add,
	                (char *)"--set-section-flags",
	                (char *)SPEC_BITCODE "=exclude,readonly",
	                object,
	                NULL};
	int status = make_run(argv, false, &said);
	if (status != 0) {
		err_set(err, 0, "objcopy cannot put the bitcode into '%s': %.*s", object, (int)strcspn(buf_cstr(&said), "\n"),
		        buf_cstr(&said));
		rc = -EIO;
	}
	buf_release(&said);
	return rc;
}

/* ---- into a program ---- */

/* A source for the assembler that brings the specification along. 0; -errno with a sentence. */
static int section_source(struct withspec *w, const char *path, struct err *err)
{
	FILE *f = fopen(path, "we");
	if (f)
		fprintf(f,
		        "\t.section " SPEC_SECTION
		        ",\"\",%%progbits\n\t.incbin \"%s\"\n\t.section .note.GNU-stack,\"\",%%progbits\n",
		        w->spec);
	if (!f || fclose(f) != 0)
		return err_set(err, errno, "cannot write '%s'", path);
	return 0;
}

/* The bitcode that traces, compiled: optimised as the link says, else -O2. 0; -EBADMSG with clang's first line. */
static int compile_traced(struct withspec *w, const char *bc, const char *object, struct err *err)
{
	char *argv[24];
	struct buf said = {0};
	size_t n = 0;
	const char *level = "-O2";
	bool pic = false, nopic = false;
	for (size_t i = w->a->compiler + 1; i < w->a->n; i++) {
		const char *s = w->a->v[i];
		if (strncmp(s, "-O", 2) == 0 && strcmp(s, "-O0") != 0 && strcmp(s, "-Og") != 0)
			level = s;
		pic |= strcmp(s, "-shared") == 0 || strcmp(s, "-fPIC") == 0;
		nopic |= strcmp(s, "-no-pie") == 0 || strcmp(s, "-static") == 0;
	}
	argv[n++] = (char *)make_clang();
	argv[n++] = (char *)"-w";
	argv[n++] = (char *)level;
	if (pic || !nopic)
		argv[n++] = (char *)(pic ? "-fPIC" : "-fPIE");
	argv[n++] = (char *)"-ffunction-sections";
	argv[n++] = (char *)"-c";
	argv[n++] = (char *)bc;
	argv[n++] = (char *)"-o";
	argv[n++] = (char *)object;
	argv[n] = NULL;
	int status = make_run(argv, false, &said), rc = 0;
	if (status != 0) {
		err_set(err, 0, "clang cannot compile the program that traces: %.*s", (int)strcspn(buf_cstr(&said), "\n"),
		        buf_cstr(&said));
		rc = -EBADMSG;
	}
	buf_release(&said);
	return rc;
}

/* Puts a copy of s into place i of the words that are released with w. NULL: no memory. */
static char *replace_owned(struct withspec *w, unsigned i, const char *s)
{
	free(w->owned[i]);
	return w->owned[i] = strdup(s);
}

/* What the library stands before, and in programs that call MPI out of a library. */
#define MESSAGE(number, name, words)
#define COLLECTIVE(number, name) CALL(name)
#define CALL(name) ",--wrap=MPI_" #name
static const char wrap_threads[] = "-Wl,--wrap=pthread_create";
static const char wrap_all[] = "-Wl,--wrap=pthread_create"
#include "spec/trace/messages.def"
    ;
#undef MESSAGE
#undef COLLECTIVE
#undef CALL

/* Does the program with that specification call MPI? */
static bool calls_mpi(const char *path)
{
	struct spec *s;
	bool found = false;
	if (spec_load(path, NULL, &s) < 0)
		return false;
	for (uint32_t i = 0; !found && i < s->n_nodes; i++)
		found = s->nodes[i].kind == SPEC_SYSCALL && strncmp(s->nodes[i].name, "MPI_", 4) == 0;
	spec_free(s);
	return found;
}

/* Is the command to make a shared library? */
static bool makes_library(const struct args *a)
{
	for (size_t i = a->compiler + 1; i < a->n; i++)
		if (strcmp(a->v[i], "-shared") == 0)
			return true;
	return false;
}

/* The link's own arguments; with a trace, what was made of bitcode in the place of the first of its files. */
static int make_argv(struct withspec *w, const size_t *at, const enum make_use *used, size_t n_files,
                     const char *traced, const char *source, struct err *err)
{
	char library[4200];
	const struct args *a = w->a;
	size_t n = 0;
	bool placed = false;
	if (!(w->argv = calloc(a->n + 16, sizeof(*w->argv))) || !replace_owned(w, 0, source) ||
	    (traced && !replace_owned(w, 1, traced)))
		return err_set(err, ENOMEM, "cannot link with a specification");
	if (traced && (!make_library(library, sizeof(library)) || !replace_owned(w, 2, library)))
		return err_set(err, ENOENT, "cannot link with libstemma-trace.a");
	for (size_t i = 0; i < a->n; i++) {
		bool replaced = false;
		for (size_t k = 0; traced && k < n_files; k++)
			replaced |= at[k] == i && used[k] == MAKE_USED;
		if (replaced && !placed) {
			w->argv[n++] = w->owned[1];
			w->argv[n++] = w->owned[2]; /* before static libraries that it calls; and again behind all that calls it */
			placed = true;
		}
		if (!replaced)
			w->argv[n++] = a->v[i];
	}
	if (traced && !placed)
		w->argv[n++] = w->owned[1];
	if (traced) {
		w->argv[n++] = w->owned[2];
		w->wraps = calls_mpi(w->spec) ? &w->argv[n] : NULL;
		w->argv[n++] = (char *)(w->wraps ? wrap_all : wrap_threads);
		w->argv[n++] = (char *)"-pthread";
		if (makes_library(a)) /* threads hold on to it */
			w->argv[n++] = (char *)"-Wl,-z,nodelete";
	}
	w->argv[n++] = (char *)"-Wl,--build-id";
	w->argv[n++] = (char *)"-x";
	w->argv[n++] = (char *)"assembler";
	w->argv[n++] = w->owned[0];
	w->argv[n++] = (char *)"-x";
	w->argv[n++] = (char *)"none";
	return 0;
}

/* The static library that -lNAME stands for: as the linker looks, in the -L folders alone, and only where no shared one
 * is found before. NULL: none. */
static char *library_of_option(const struct args *a, const char *name)
{
	bool only_static = false;
	struct buf path = {0};
	for (size_t i = 1; i < a->n; i++)
		only_static |= strcmp(a->v[i], "-static") == 0 || strcmp(a->v[i], "-static-pie") == 0;
	for (size_t i = 1; i < a->n; i++) {
		const char *dir = a->v[i];
		if (strncmp(dir, "-L", 2) != 0)
			continue;
		dir = dir[2] ? dir + 2 : i + 1 < a->n ? a->v[i + 1] : "";
		buf_reset(&path);
		buf_printf(&path, "%s/lib%s.so", dir, name);
		if (!only_static && access(buf_cstr(&path), R_OK) == 0)
			break;
		buf_reset(&path);
		if (*name == ':')
			buf_printf(&path, "%s/%s", dir, name + 1);
		else
			buf_printf(&path, "%s/lib%s.a", dir, name);
		if (!path.failed && access(buf_cstr(&path), R_OK) == 0)
			return path.p;
	}
	buf_release(&path);
	return NULL;
}

/* A file that clang read, absolute. 0, -ENOMEM. */
static int append_read(struct withspec *w, const char *name)
{
	char cwd[PATH_MAX], **v = realloc(w->read, (w->n_read + 2) * sizeof(*v));
	struct buf b = {0};
	if (!v)
		return -ENOMEM;
	w->read = v;
	v[w->n_read] = NULL;
	if (*name != '/' && getcwd(cwd, sizeof(cwd)))
		buf_printf(&b, "%s/", cwd);
	buf_str(&b, str_of(name));
	buf_cstr(&b);
	if (b.failed)
		return -ENOMEM;
	v[w->n_read++] = b.p;
	v[w->n_read] = NULL;
	return 0;
}

/* The names behind the colon of a rule of make's; what is missing is missing in the record only. 0, -ENOMEM. */
static int take_dependencies(struct withspec *w, const char *path)
{
	struct objects_bytes file;
	struct buf name = {0};
	int rc = 0;
	if (objects_map(path, NULL, &file) < 0)
		return 0;
	const char *end = file.p + file.n, *p = file.n ? memmem(file.p, file.n, ": ", 2) : NULL;
	for (p = p ? p + 1 : end; rc == 0 && p <= end; p++) {
		bool escaped = p + 1 < end && *p == '\\' && strchr(" #\\", p[1]);
		bool dollar = p + 1 < end && *p == '$' && p[1] == '$';
		bool between = p == end || (!escaped && (*p == ' ' || *p == '\n' || *p == '\\'));
		if (escaped || dollar)
			p++;
		if (!between)
			buf_char(&name, *p);
		else if (name.n)
			rc = name.failed ? -ENOMEM : append_read(w, buf_cstr(&name));
		if (between)
			buf_reset(&name);
	}
	buf_release(&name);
	objects_unmap(&file);
	return rc;
}

/* The file that word i of the arguments adds to the program: an object, a library, the bitcode of a C source;
 * malloc'ed. 1 there is one, 0, or -errno with a sentence. */
static int file_to_link(struct withspec *w, size_t i, char **ret, struct err *err)
{
	const struct args *a = w->a;
	char path[96], deps[96];
	if (strncmp(a->v[i], "-l", 2) == 0) {
		const char *name = a->v[i][2] ? a->v[i] + 2 : i + 1 < a->n ? a->v[i + 1] : "";
		*ret = library_of_option(a, name);
		return *ret != NULL;
	}
	if (!a->input[i] || a->v[i][0] == '-')
		return 0;
	if (!args_is_source(a->v[i])) {
		if (access(a->v[i], R_OK) < 0)
			return 0;
		*ret = strdup(a->v[i]);
		return 1;
	}
	if (!is_c_source(a->v[i])) {
		w->missing++;
		return 0;
	}
	snprintf(path, sizeof(path), "%s/%zu.bc", w->dir, i);
	snprintf(deps, sizeof(deps), "%s/%zu.d", w->dir, i);
	int rc = to_bitcode(a, a->v[i], path, deps, err);
	if (rc == 0)
		rc = take_dependencies(w, deps);
	if (rc < 0)
		return rc;
	*ret = strdup(path);
	return 1;
}

/* Options by which the linker puts another function in the place of one. */
static bool changes_symbols(const struct args *a)
{
	for (size_t i = a->compiler + 1; i < a->n; i++)
		if (strstr(a->v[i], "--wrap") || strstr(a->v[i], "--defsym") || a->v[i][0] == '@')
			return true;
	return false;
}

/* Makes the specification of the objects to be linked, and the command that links it in (w->has_spec). 0; -errno with
 * a sentence: there is no specification. */
static int prepare_link(struct withspec *w, struct err *err)
{
	const struct args *a = w->a;
	char **files = calloc(a->n + 1, sizeof(*files)), path[96], traced_bc[96], traced[96];
	size_t *at = calloc(a->n + 1, sizeof(*at)), n = 0;
	enum make_use *used = NULL;
	bool trace = w->mode >= WITHSPEC_TRACE;
	int rc = files && at ? 0 : -ENOMEM;
	struct err one = {0};
	for (size_t i = a->compiler + 1; i < a->n && rc >= 0; i++) {
		rc = file_to_link(w, i, &files[n], &one);
		if (rc > 0)
			at[n++] = i;
	}
	if (rc < 0) {
		err_set(err, 0, "%s", one.text);
		goto out;
	}
	snprintf(w->spec, sizeof(w->spec), "%s/spec", w->dir);
	snprintf(w->bitcode, sizeof(w->bitcode), "%s/whole.bc", w->dir);
	snprintf(traced_bc, sizeof(traced_bc), "%s/traced.bc", w->dir);
	snprintf(traced, sizeof(traced), "%s/traced.o", w->dir);
	snprintf(path, sizeof(path), "%s/spec.s", w->dir);
	struct make m = {.files = files,
	                 .spec = w->spec,
	                 .traced = trace ? traced_bc : NULL,
	                 .keep = w->slice ? w->bitcode : NULL,
	                 .missing = w->missing + changes_symbols(a),
	                 .operands = w->mode == WITHSPEC_OPERANDS,
	                 .library = makes_library(a)};
	rc = make_spec(&m, err, &used);
	/* Objects whose place is taken are not opened by the linker. */
	for (size_t i = 0; i < n && rc == 0; i++)
		if (used[i] == MAKE_USED && strncmp(files[i], w->dir, strlen(w->dir)) != 0)
			rc = append_read(w, files[i]);
	if (rc == 0 && trace)
		rc = compile_traced(w, traced_bc, traced, err);
	if (rc == 0)
		rc = section_source(w, path, err);
	if (rc == 0)
		rc = make_argv(w, at, used, n, trace ? traced : NULL, path, err);
	w->has_spec = rc == 0;
out:
	for (size_t i = 0; i < n; i++)
		free(files[i]);
	free(files);
	free(at);
	free(used);
	return rc;
}

/* ---- the command ---- */

int withspec_begin(const struct args *a, enum withspec_mode mode, bool slice, struct err *err, struct withspec **ret)
{
	const char *why;
	if (!make_works(&why)) {
		err_set(err, 0, "no specification: %s", why);
		return -ENOTSUP;
	}
	struct withspec *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, ENOMEM, "no specification");
	w->a = a;
	w->mode = mode;
	w->slice = slice;
	const char *tmp = getenv("TMPDIR");
	if (!tmp || strlen(tmp) > 30 || strpbrk(tmp, "\"\\\n"))
		tmp = "/tmp";
	snprintf(w->dir, sizeof(w->dir), "%s/stemma-spec-XXXXXX", tmp);
	int rc = mkdtemp(w->dir) ? 0 : err_set(err, errno, "no specification: cannot write in '%s'", tmp);
	if (rc < 0)
		w->dir[0] = '\0';
	struct err why_not = {0};
	if (rc == 0 && a->links && (rc = prepare_link(w, &why_not)) < 0)
		err_set(err, 0, "no specification: %s", why_not.text);
	if (rc < 0) {
		withspec_free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

char *const *withspec_argv(const struct withspec *w)
{
	return w->argv;
}

const char *withspec_folder(const struct withspec *w)
{
	return *w->dir ? w->dir : NULL;
}

char *const *withspec_read(const struct withspec *w)
{
	return w->has_spec && w->mode >= WITHSPEC_TRACE ? w->read : NULL;
}

const char *withspec_compiler(void)
{
	return make_clang();
}

bool withspec_less(struct withspec *w)
{
	if (!w->wraps)
		return false;
	*w->wraps = (char *)wrap_threads;
	w->wraps = NULL;
	return true;
}

int withspec_end(struct withspec *w, int status, const char *home, struct err *err)
{
	int rc = 0;
	if (status != 0)
		return 0;
	for (size_t i = w->a->compiler + 1; i < w->a->n && !w->a->links; i++) {
		struct err why = {0};
		if (w->a->input[i] && is_c_source(w->a->v[i]) && embed(w, w->a->v[i], &why) < 0) {
			err_set(err, 0, "no specification: %s", why.text);
			rc = -EIO;
		}
	}
	if (w->a->links && w->has_spec && home)
		rc = withspec_keep(w->a->output ? w->a->output : "a.out", w->spec, w->slice ? w->bitcode : NULL, home, err);
	return rc;
}

void withspec_free(struct withspec *w)
{
	if (!w)
		return;
	DIR *d = *w->dir ? opendir(w->dir) : NULL;
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (*w->dir)
		rmdir(w->dir);
	for (size_t i = 0; i < sizeof(w->owned) / sizeof(w->owned[0]); i++)
		free(w->owned[i]);
	for (size_t i = 0; i < w->n_read; i++)
		free(w->read[i]);
	free(w->read);
	free(w->argv);
	free(w);
}
