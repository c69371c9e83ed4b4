/* stemma-spec-llvm - the part of stemma that knows LLVM, a program of its own: its libraries make every start a fifth
 * of a second slower, and its reader of bitcode ends of what is damaged.
 *
 *   stemma-spec-llvm --version
 *   stemma-spec-llvm [--spec OUT] [--insert OUT.bc INLINE.bc [--operands] [--library]] [--keep OUT.bc [--missing N]]
 * [--slice OUT] FILE...
 *
 * --keep writes the bitcode of all, merged, and notes that N parts more have none; --slice, which inputs can reach
 * which outputs, as JSON (slice/slice.h).
 *
 * FILEs in the order of the link: bitcode; objects that have it in a section; archives, of which those members are
 * taken that define what is missing before them. What has no bitcode is passed over. For each FILE that was used a line
 * "used N" goes to standard output (N from 0), of an archive "archive N"; a failure is one sentence on standard error,
 * and status 1. */
#include "base/io.h"
#include "spec/llvm/program.h"
#include "spec/llvm/slice/slice.h"
#include "spec/llvm/versions.h"
#include "spec/objects.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Linker.h>
#include <llvm/Config/llvm-config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

/* Says why and ends the process, with status 1. */
void llvm_die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

/* Gives p; ends the program where it is NULL. */
void *llvm_need(void *p)
{
	if (!p)
		llvm_die("out of memory");
	return p;
}

struct loader {
	LLVMContextRef context;
	LLVMModuleRef all;
	uint64_t modules;
	struct condition_texts *words;
	const char *path; /* of the FILE that is read */
	char said[512];   /* by LLVM, last */
	struct names {
		VEC(const char *) v;
		struct table t;
	} defined, missing;
};

/* Is the name in the list? */
static bool names_have(const struct names *n, const char *s)
{
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&n->t, hash_fold(hash_str(str_of(s))), &pos)) != VEC_NONE;)
		if (strcmp(n->v.v[i], s) == 0)
			return true;
	return false;
}

/* Copies the name; one that is there already stays. */
static void names_append(struct names *n, const char *s)
{
	if (names_have(n, s))
		return;
	*(const char **)llvm_need(vec_add(&n->v)) = llvm_need(strdup(s));
	if (!table_add(&n->t, hash_fold(hash_str(str_of(s))), (uint32_t)n->v.n - 1))
		llvm_die("out of memory");
}

/* Called by LLVM with what it has to say. context: the loader; keeps LLVM's last error. */
static void on_diagnostic(LLVMDiagnosticInfoRef d, void *context)
{
	struct loader *l = context;
	char *text = LLVMGetDiagInfoDescription(d);
	if (LLVMGetDiagInfoSeverity(d) == LLVMDSError)
		snprintf(l->said, sizeof(l->said), "%s", text);
	LLVMDisposeMessage(text);
}

/* "LLVM19.1.7": of another version than this? */
static bool of_another(const char *producer)
{
	unsigned major;
	return sscanf(producer, "LLVM%u", &major) == 1 && major != LLVM_VERSION_MAJOR;
}

/* Dies where it is unreadable. */
static LLVMModuleRef parse_bitcode(struct loader *l, struct str bytes, const char *name)
{
	LLVMModuleRef m = NULL;
	LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.p, bytes.n, name);
	l->said[0] = '\0';
	if (LLVMParseBitcodeInContext2(l->context, b, &m)) {
		char by[64];
		if (objects_bitcode_producer(bytes, by, sizeof(by)) && of_another(by))
			llvm_die("'%s': unreadable bitcode: it is of %s, and what reads it is LLVM %s", name, by,
			         LLVM_VERSION_STRING);
		llvm_die("'%s': unreadable bitcode%s%s", name, *l->said ? ": " : "", l->said);
	}
	LLVMDisposeMemoryBuffer(b);
	return m;
}

/* Symbols that other modules see: defined here, or missing. */
static void note_symbol(struct loader *l, LLVMValueRef v)
{
	size_t n;
	const char *name = LLVMGetValueName2(v, &n);
	LLVMLinkage linkage = LLVMGetLinkage(v);
	if (linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage || !n)
		return;
	names_append(LLVMIsDeclaration(v) ? &l->missing : &l->defined, name);
}

/* m goes into the whole; dies where they do not go together. */
static void link_in(struct loader *l, LLVMModuleRef m, const char *name)
{
	for (LLVMValueRef v = LLVMGetFirstFunction(m); v; v = LLVMGetNextFunction(v))
		note_symbol(l, v);
	for (LLVMValueRef v = LLVMGetFirstGlobal(m); v; v = LLVMGetNextGlobal(v))
		note_symbol(l, v);
	condition_texts_add_module(l->words, m, l->path);
	l->modules++;
	if (!l->all) {
		l->all = m;
		return;
	}
	l->said[0] = '\0';
	if (LLVMLinkModules2(l->all, m))
		llvm_die("'%s' does not go together with what stands before it%s%s", name, *l->said ? ": " : "", l->said);
}

/* Does it define something that was asked for and that nothing has defined yet? */
static bool defines_wanted_symbol(struct loader *l, LLVMModuleRef m)
{
	size_t n;
	for (int pass = 0; pass < 2; pass++)
		for (LLVMValueRef v = pass ? LLVMGetFirstGlobal(m) : LLVMGetFirstFunction(m); v;
		     v = pass ? LLVMGetNextGlobal(v) : LLVMGetNextFunction(v)) {
			if (LLVMIsDeclaration(v) || LLVMGetLinkage(v) == LLVMInternalLinkage ||
			    LLVMGetLinkage(v) == LLVMPrivateLinkage)
				continue;
			const char *name = LLVMGetValueName2(v, &n);
			if (names_have(&l->missing, name) && !names_have(&l->defined, name))
				return true;
		}
	return false;
}

/* The bitcode in a section: pieces, as the linker may have put several one behind the other, each with its length. */
static bool next_bitcode_piece(struct str *section, struct str *ret)
{
	uint64_t n;
	/* The linker fills between them with zeroes. */
	while (section->n && !*section->p) {
		section->p++;
		section->n--;
	}
	if (section->n < 16 || memcmp(section->p, "STMBITC1", 8) != 0)
		return false;
	memcpy(&n, section->p + 8, 8);
	if (n > section->n - 16)
		return false;
	*ret = str_n(section->p + 16, n);
	section->p += 16 + n;
	section->n -= 16 + n;
	return true;
}

/* Loads the bitcode of an object. False: there is no bitcode in it. */
static bool load_object_bitcode(struct loader *l, struct str bytes, const char *name)
{
	struct str section, one;
	bool any = false;
	if (objects_is_bitcode(bytes)) {
		link_in(l, parse_bitcode(l, bytes, name), name);
		return true;
	}
	if (objects_section(bytes, SPEC_BITCODE, &section) < 0)
		return false;
	while (next_bitcode_piece(&section, &one)) {
		link_in(l, parse_bitcode(l, one, name), name);
		any = true;
	}
	return any;
}

/* Members that define what is wanted, until no more do. Thin archives, too. false: it took none. */
static bool take_archive(struct loader *l, struct str bytes, const char *path)
{
	struct member {
		struct str data;
		LLVMModuleRef m;
		char *name;
		bool tried;
	} *v = NULL;
	size_t n = 0, cap = 0, pos = 0;
	struct str name, data, section, one;
	struct objects_bytes file;
	bool any = false;
	while (objects_member(bytes, &pos, &name, &data) == 1) {
		struct buf label = {0};
		if (!data.p) { /* thin: beside the archive */
			struct buf at = {0};
			const char *slash = strrchr(path, '/');
			if (name.n && *name.p != '/' && slash)
				buf_str(&at, str_n(path, (size_t)(slash - path) + 1));
			buf_str(&at, name);
			if (objects_map(buf_cstr(&at), NULL, &file) == 0)
				data = str_n(file.p, file.n);
			buf_release(&at);
		}
		if (!data.p || objects_section(data, SPEC_BITCODE, &section) < 0 || !next_bitcode_piece(&section, &one))
			continue;
		if (n == cap)
			v = llvm_need(realloc(v, (cap = cap ? cap * 2 : 64) * sizeof(*v)));
		buf_printf(&label, "%s(%.*s)", path, (int)name.n, name.p);
		v[n++] = (struct member){.data = one, .name = llvm_need(strdup(buf_cstr(&label)))};
		buf_release(&label);
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < n; i++) {
			if (v[i].tried)
				continue;
			if (!v[i].m)
				v[i].m = parse_bitcode(l, v[i].data, v[i].name);
			if (!defines_wanted_symbol(l, v[i].m))
				continue;
			link_in(l, v[i].m, v[i].name);
			v[i].tried = changed = any = true;
		}
	}
	free(v);
	return any;
}

/* Ends the process where it cannot be written. */
static void write_output_file(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : io_write(fd, p, n, NULL);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		llvm_die("cannot write '%s': %s", path, strerror(-rc));
}

/* What traces say which specification they go by. */
static void set_constant(LLVMModuleRef m, const char *name, LLVMTypeRef type, uint64_t n)
{
	LLVMValueRef v = LLVMAddGlobal(m, type, name);
	LLVMSetInitializer(v, LLVMConstInt(type, n, false));
	LLVMSetGlobalConstant(v, true);
	LLVMSetLinkage(v, LLVMExternalLinkage);
	LLVMSetVisibility(v, LLVMHiddenVisibility);
}

/* Writes into the module which specification it was made with. */
static void set_spec_id(LLVMModuleRef m, uint64_t id, bool library)
{
	LLVMContextRef context = LLVMGetModuleContext(m);
	set_constant(m, "__stemma_trace_spec", LLVMInt64TypeInContext(context), id);
	set_constant(m, "__stemma_trace_library", LLVMInt32TypeInContext(context), library);
}

/* What is asked for; NULL: that is not. */
struct wish {
	const char *spec, *traced, *inlined, *keep, *slice;
	bool operands, library;
	unsigned missing; /* parts of the program that have no bitcode, as far as the caller knows */
};

/* The number of the first FILE. */
static int take_options(int argc, char **argv, struct wish *w)
{
	int i = 1;
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++)
		if (strcmp(argv[i], "--version") == 0) {
			printf("LLVM %d.%d\n", LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR);
			fflush(stdout);
			_exit(0); /* as at the end */
		} else if (strcmp(argv[i], "--spec") == 0 && i + 1 < argc)
			w->spec = argv[++i];
		else if (strcmp(argv[i], "--insert") == 0 && i + 2 < argc) {
			w->traced = argv[++i];
			w->inlined = argv[++i];
		} else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
			w->keep = argv[++i];
		else if (strcmp(argv[i], "--slice") == 0 && i + 1 < argc)
			w->slice = argv[++i];
		else if (strcmp(argv[i], "--missing") == 0 && i + 1 < argc)
			w->missing = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--operands") == 0)
			w->operands = true;
		else if (strcmp(argv[i], "--library") == 0)
			w->library = true;
		else
			llvm_die("unknown option '%s'", argv[i]);
	if (!w->spec && !w->slice)
		llvm_die("nothing to do");
	return i;
}

/* Reads and merges the FILEs, and says what became of each. */
static void load_files(struct loader *l, struct wish *w, char **files, int n)
{
	struct err err = {0};
	for (int i = 0; i < n; i++) {
		struct objects_bytes file;
		if (objects_map(files[i], &err, &file) < 0)
			llvm_die("%s", err.text);
		struct str b = str_n(file.p, file.n);
		l->path = files[i];
		bool archive = objects_is_archive(b),
		     used = archive ? take_archive(l, b, files[i]) : load_object_bitcode(l, b, files[i]);
		if (used)
			printf("%s %d\n", archive ? "archive" : "used", i);
		w->missing += !used;
		objects_unmap(&file);
	}
	fflush(stdout);
	if (!l->all)
		llvm_die("there is no bitcode");
}

/* The specification, and what is linked in the program's place. */
static void make_specification(struct loader *l, const struct wish *w)
{
	struct program p = {0};
	struct spec s;
	struct buf bytes = {0};
	struct err err = {0};
	uint64_t id;
	char producer[64];
	program_read(&p, l->all);
	program_reduce(&p);
	snprintf(producer, sizeof(producer), "stemma %s, LLVM %d", STEMMA_VERSION, LLVM_VERSION_MAJOR);
	program_spec(&p, producer, l->modules, l->words, &s);
	if (spec_write(&s, &bytes, &id) < 0)
		llvm_die("out of memory");
	if (w->traced) {
		struct objects_bytes file;
		if (objects_map(w->inlined, &err, &file) < 0)
			llvm_die("%s", err.text);
		struct versions *plain = versions_keep(&p);
		program_insert(&p, parse_bitcode(l, str_n(file.p, file.n), w->inlined), w->operands, w->library);
		versions_add(&p, plain);
		set_spec_id(l->all, id, w->library);
		if (LLVMWriteBitcodeToFile(l->all, w->traced))
			llvm_die("cannot write '%s'", w->traced);
	}
	write_output_file(w->spec, bytes.p, bytes.n);
}

/* 0; 1 with a sentence. */
int main(int argc, char **argv)
{
	struct loader l = {.context = LLVMContextCreate(), .words = condition_texts_new()};
	struct wish w = {0};
	LLVMContextSetDiagnosticHandler(l.context, on_diagnostic, &l);
	int first = take_options(argc, argv, &w);
	load_files(&l, &w, argv + first, argc - first);
	if (w.keep || w.slice)
		slice_note_missing(l.all, w.missing);
	if (w.keep && LLVMWriteBitcodeToFile(l.all, w.keep))
		llvm_die("cannot write '%s'", w.keep);
	if (w.spec)
		make_specification(&l, &w);
	else {
		struct buf b = {0};
		slice_module(l.all, &b);
		write_output_file(w.slice, b.p, b.n);
	}
	/* All of it goes with the process: LLVM's own way of taking things down costs more than all above. */
	fflush(stdout);
	_exit(0);
}
