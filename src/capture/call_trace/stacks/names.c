#include "capture/call_trace/stacks/names.h"

#include "base/hex.h"
#include "capture/call_trace/stacks/library.h"

#include <dirent.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INLINED = 64, NAME = 4096, MODULES = 65536, DECLARED = 8, RANGES = 1 << 24 };
/* A module that takes longer has no names; after so many of these no more are looked at. */
enum { SECONDS = 20, LATE_MOST = 3 };
#define MEMORY_MOST ((rlim_t)4 << 30)

struct place {
	uint64_t offset;
	bool interrupted;
};
struct module {
	char *key; /* identity, a space, path with its bytes as in the trace */
	struct place *v;
	size_t n, cap;
};
struct modules {
	struct module *v;
	size_t n, cap;
};

#ifdef HAVE_DEMANGLE
char *__cxa_demangle(const char *name, char *to, size_t *n, int *status); // NOLINT: the C++ library's name
#endif

/* ---- what the traces ask ---- */

/* Makes room for one more element, of size bytes, behind the n elements of *p. False: no memory. */
static bool grow_for_one(void **p, size_t *cap, size_t n, size_t size)
{
	if (n < *cap)
		return true;
	size_t more = *cap ? 2 * *cap : 64;
	void *q = realloc(*p, more * size);
	if (!q)
		return false;
	*p = q;
	*cap = more;
	return true;
}

/* The module of that key, made if it is new. NULL: there are MODULES, or no memory. Valid until another is made. */
static struct module *module_of(struct modules *m, const char *key)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->v[i].key, key))
			return &m->v[i];
	if (m->n == MODULES || !grow_for_one((void **)&m->v, &m->cap, m->n, sizeof(*m->v)))
		return NULL;
	m->v[m->n] = (struct module){.key = strdup(key)};
	return m->v[m->n].key ? &m->v[m->n++] : NULL;
}

/* One trace's lines `m` and `f`. A file that cannot be opened is passed over, and the rest behind a damaged line. 0,
 * -ENOMEM. */
static int read_call_trace(struct modules *m, const char *path)
{
	size_t *here = NULL, n_here = 0, cap = 0, size = 0;
	char *line = NULL;
	int r = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	ssize_t n;
	while (f && r == 0 && (n = getline(&line, &size, f)) > 0) {
		unsigned long long number, module, offset;
		char flag;
		int at = 0;
		if (line[n - 1] != '\n')
			break;
		line[n - 1] = '\0';
		if (sscanf(line, "m %llu %n", &number, &at) == 1 && at && number == n_here) {
			struct module *x = module_of(m, line + at);
			if (!x || !grow_for_one((void **)&here, &cap, n_here, sizeof(*here)))
				r = -ENOMEM;
			else
				here[n_here++] = (size_t)(x - m->v);
		} else if (sscanf(line, "f %*u %llu %llx %c", &module, &offset, &flag) == 3 && module < n_here) {
			struct module *x = &m->v[here[module]];
			if (!grow_for_one((void **)&x->v, &x->cap, x->n, sizeof(*x->v)))
				r = -ENOMEM;
			else
				x->v[x->n++] = (struct place){offset, flag == 's'};
		}
	}
	free(line);
	free(here);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return r;
}

/* ---- names ---- */

/* Writes control characters and backslashes as \xNN. */
static void print_escaped_name(FILE *to, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 127 || *p == '\\')
			fprintf(to, "\\x%02x", *p);
		else
			putc(*p, to);
}

/* A function of C++ as it is in the source; others as they are. */
static void put_symbol(FILE *to, const char *name)
{
#ifdef HAVE_DEMANGLE
	int status;
	char *plain = !strncmp(name, "_Z", 2) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
	if (plain) { /* without its parameters, which debug information does not show either */
		char *open = strrchr(plain, ')');
		for (int depth = 0; open && open > plain; open--) {
			depth += *open == ')' ? 1 : *open == '(' ? -1 : 0;
			if (!depth)
				break;
		}
		if (open && open > plain)
			*open = '\0';
		print_escaped_name(to, plain);
		free(plain);
		return;
	}
#endif
	print_escaped_name(to, name);
}

/* The classes and namespaces around it, where the function was declared. */
static void print_function(FILE *to, Dwarf_Die *function)
{
	Dwarf_Die die = *function, *scopes;
	Dwarf_Attribute attr;
	for (int i = 0; i < DECLARED; i++)
		if (!(dwarf_attr(&die, DW_AT_abstract_origin, &attr) || dwarf_attr(&die, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &die))
			break;
	int n = dwarf_getscopes_die(&die, &scopes);
	for (int i = n - 1; i > 0; i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = dwarf_diename(&scopes[i]);
		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type)
			continue;
		print_escaped_name(to, name                      ? name
		                       : tag == DW_TAG_namespace ? "(anonymous namespace)"
		                                                 : "(unnamed class)"); /* a lambda's, too */
		fputs("::", to);
	}
	if (n > 0)
		free(scopes);
	print_escaped_name(to, dwarf_diename(function));
}

/* The compilation units that have code, by its addresses. libdw looks into .debug_aranges alone, where clang's units
 * have no entry, and takes what is between two others' for the first one's. */
struct unit {
	Dwarf_Addr from, end;
	Dwarf_Die *die;
	Dwarf_Addr bias;
};
struct units {
	struct unit *v;
	size_t n, cap;
	bool listed;
};

/* Order of qsort. */
static int compare_units_by_address(const void *x, const void *y)
{
	const struct unit *a = x, *b = y;
	return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->end > b->end) - (a->end < b->end);
}

/* The ranges of its compilation units, sorted; RANGES at most. */
static void list_units(Dwfl_Module *mod, struct units *u)
{
	Dwarf_Addr bias, base, from, end;
	Dwarf_Die *die = NULL;
	u->listed = true;
	while ((die = dwfl_module_nextcu(mod, die, &bias)))
		for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &from, &end)) > 0;) {
			if (u->n == RANGES || !grow_for_one((void **)&u->v, &u->cap, u->n, sizeof(*u->v)))
				break;
			u->v[u->n++] = (struct unit){from, end, die, bias};
		}
	if (u->n)
		qsort(u->v, u->n, sizeof(*u->v), compare_units_by_address);
}

/* Functions that the linker left out stand at 0, so the last that begins before is asked. */
static Dwarf_Die *find_unit(Dwfl_Module *mod, struct units *u, Dwarf_Addr at, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(mod, at, ret_bias);
	size_t low = 0;
	if (die && dwarf_haspc(die, at - *ret_bias) > 0)
		return die;
	if (!u->listed)
		list_units(mod, u);
	for (size_t high = u->n; low < high;) { /* the first that begins behind it */
		size_t middle = (low + high) / 2;
		if (u->v[middle].from + u->v[middle].bias <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || u->v[low - 1].end + u->v[low - 1].bias <= at)
		return NULL;
	*ret_bias = u->v[low - 1].bias;
	return u->v[low - 1].die;
}

struct place_names {
	FILE *to;
	const struct place *place;
	struct units *units;
};

/* The file and, in ret, the line of a place. NULL: not known. */
static const char *find_source_line(Dwarf_Die *cu, Dwarf_Addr at, int *ret)
{
	Dwarf_Line *where = cu ? dwarf_getsrc_die(cu, at) : NULL;
	if (!where || dwarf_lineno(where, ret) != 0)
		return NULL;
	return dwarf_linesrc(where, NULL, NULL);
}

/* Writes the beginning of a line that names a place in a program. line: of the source, 0 where it is not known. The
 * text of the line follows; end_name_line ends it. */
static void begin_name_line(const struct place_names *t, int line)
{
	fprintf(t->to, "n %llx %c %d ", (unsigned long long)t->place->offset, t->place->interrupted ? 's' : 'r', line);
}

/* Writes the end of a line that names a place, with its source file. file may be NULL: not known. */
static void end_name_line(const struct place_names *t, const char *file)
{
	putc('\t', t->to);
	print_escaped_name(t->to, file ? file : "");
	putc('\n', t->to);
}

/* Prints the names of a place by debug information: what was inlined there, innermost first, and the function.
 * False: there is none of that place, and nothing was printed. */
static bool print_debug_names(const struct place_names *t, Dwfl_Module *mod, Dwarf_Addr at)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = find_unit(mod, t->units, at, &bias), *scopes = NULL, innermost;
	Dwarf_Files *files = NULL;
	Dwarf_Die named[INLINED];
	int n = cu ? dwarf_getscopes(cu, at - bias, &scopes) : 0, k = 0, line = 0;
	if (n <= 0)
		return false;
	/* The scopes that were found go on where an inlined function was written; wanted is where it was put. */
	innermost = scopes[0];
	free(scopes);
	scopes = NULL;
	n = dwarf_getscopes_die(&innermost, &scopes);
	for (int i = 0; i < n && k < INLINED; i++) {
		int tag = dwarf_tag(&scopes[i]);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			if (!dwarf_diename(&scopes[i]))
				break;
			named[k++] = scopes[i];
			if (tag == DW_TAG_subprogram)
				break;
		}
	}
	free(scopes);
	if (!k || dwarf_tag(&named[k - 1]) != DW_TAG_subprogram)
		return false;
	const char *file = find_source_line(cu, at - bias, &line);
	if (dwarf_getsrcfiles(cu, &files, NULL) != 0)
		files = NULL;
	for (int i = 0; i < k; i++) {
		Dwarf_Attribute attr;
		Dwarf_Word number;
		begin_name_line(t, line);
		print_function(t->to, &named[i]);
		end_name_line(t, file);
		line = 0;
		file = NULL;
		if (dwarf_formudata(dwarf_attr(&named[i], DW_AT_call_file, &attr), &number) == 0 && files)
			file = dwarf_filesrc(files, number, NULL, NULL);
		if (file && dwarf_formudata(dwarf_attr(&named[i], DW_AT_call_line, &attr), &number) == 0)
			line = (int)number;
	}
	return true;
}

/* A signed 32-bit number at p, which need not be aligned. */
static int64_t read_s32(const unsigned char *p)
{
	int32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* Of what has no symbols: where the function begins, by the sorted table that unwinders search (.eh_frame_hdr, in the
 * one form that linkers write). 0: not known. */
static uint64_t find_function_start(Elf *elf, uint64_t at)
{
	enum { VERSION = 1, POINTER = 0x1b, COUNT = 0x03, TABLE = 0x3b, HEAD = 12, ROW = 8 };
	size_t n;
	GElf_Phdr ph;
	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		const unsigned char *p = d ? d->d_buf : NULL;
		if (!p || d->d_size < HEAD || p[0] != VERSION || p[1] != POINTER || p[2] != COUNT || p[3] != TABLE)
			return 0;
		size_t rows = (size_t)(uint32_t)read_s32(p + 8), low = 0;
		if (rows > (d->d_size - HEAD) / ROW)
			return 0;
		for (size_t high = rows; low < high;) { /* the first that begins behind it */
			size_t middle = (low + high) / 2;
			if (ph.p_vaddr + (uint64_t)read_s32(p + HEAD + ROW * middle) <= at)
				low = middle + 1;
			else
				high = middle;
		}
		return low ? ph.p_vaddr + (uint64_t)read_s32(p + HEAD + ROW * (low - 1)) : 0;
	}
	return 0;
}

/* Prints the names of a place by debug information, else by the symbol, else as FILE+0xOFFSET of the function's
 * begin; nothing where that is not known either. */
static void print_place_names(const struct place_names *t, Dwfl_Module *mod, Elf *elf, Dwarf_Addr bias,
                              const char *path)
{
	GElf_Off off;
	GElf_Sym sym;
	/* A return address is behind its call, perhaps in the next line, or the next function. */
	Dwarf_Addr at = t->place->offset + bias - !t->place->interrupted;
	if (print_debug_names(t, mod, at))
		return;
	const char *name = dwfl_module_addrinfo(mod, at, &off, &sym, NULL, NULL, NULL), *slash = strrchr(path, '/');
	if (name && *name && GELF_ST_TYPE(sym.st_info) != STT_SECTION && (!sym.st_size || off < sym.st_size)) {
		/* There may be lines all the same: of functions within functions, as C++'s lambdas are. */
		int line = 0;
		Dwarf_Addr of_unit = 0;
		Dwarf_Die *cu = find_unit(mod, t->units, at, &of_unit);
		const char *file = find_source_line(cu, at - of_unit, &line);
		begin_name_line(t, file ? line : 0);
		put_symbol(t->to, name);
		end_name_line(t, file);
		return;
	}
	uint64_t first = find_function_start(elf, at - bias);
	if (!first)
		return;
	begin_name_line(t, 0);
	print_escaped_name(t->to, slash ? slash + 1 : path);
	fprintf(t->to, "+0x%llx", (unsigned long long)first);
	end_name_line(t, "");
}

/* ---- modules ---- */

/* \xHH as that byte, without " (deleted)". False: it is too long, or not absolute. */
static bool unescape_path(const char *p, char ret[NAME])
{
	static const char gone[] = " (deleted)";
	size_t n = 0;
	for (; *p && n + 1 < NAME; p++)
		if (p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
			ret[n++] = (char)(hex_digit(p[2]) << 4 | hex_digit(p[3]));
			p += 3;
		} else {
			ret[n++] = *p;
		}
	ret[n] = '\0';
	/* Something may have been put in its place; what it is its identity says. */
	if (n > sizeof(gone) && !strcmp(ret + n - sizeof(gone) + 1, gone))
		ret[n - sizeof(gone) + 1] = '\0';
	return !*p && ret[0] == '/';
}

/* Is it the same program or library, by build-id; a module without one by size and time (ns). */
static bool is_same_module(Dwfl_Module *mod, int fd, const char *identity, size_t n)
{
	char text[160] = "";
	const unsigned char *id;
	GElf_Addr at;
	struct stat st;
	int k = dwfl_module_build_id(mod, &id, &at);
	if (k > 0)
		hex_text(id, (size_t)k < sizeof(text) / 2 ? (size_t)k : sizeof(text) / 2 - 1, text);
	if (k <= 0 && fstat(fd, &st) == 0)
		snprintf(text, sizeof(text), "%lld.%lld", (long long)st.st_size,
		         (long long)st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	return strlen(text) == n && !memcmp(text, identity, n);
}

/* Order of qsort. */
static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : a->interrupted - b->interrupted;
}

/* The names of its places, if the file on disk still is the same module. Nothing of the C library. */
static void print_module_names(struct module *m, FILE *to)
{
	static const Dwfl_Callbacks callbacks = {.find_debuginfo = dwfl_standard_find_debuginfo,
	                                         .section_address = dwfl_offline_section_address};
	size_t identity = strcspn(m->key, " ");
	char path[NAME];
	Dwfl *dwfl = NULL;
	GElf_Addr bias;
	struct stat st;
	if (!m->key[identity] || !unescape_path(m->key + identity + 1, path) || stack_is_c_library(strrchr(path, '/') + 1))
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (regular && (dwfl = dwfl_begin(&callbacks))) {
		/* The descriptor becomes libdw's where that succeeds. */
		Dwfl_Module *mod = dwfl_report_offline(dwfl, path, path, fd);
		if (mod)
			fd = -1;
		dwfl_report_end(dwfl, NULL, NULL);
		Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
		int own = elf ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		if (own >= 0 && is_same_module(mod, own, m->key, identity)) {
			fprintf(to, "m %s\n", m->key);
			struct units units = {0};
			qsort(m->v, m->n, sizeof(*m->v), compare_places);
			for (size_t i = 0; i < m->n; i++)
				if (!i || compare_places(&m->v[i - 1], &m->v[i]) != 0)
					print_place_names(&(struct place_names){to, &m->v[i], &units}, mod, elf, bias, path);
			free(units.v);
		}
		if (own >= 0)
			close(own);
		dwfl_end(dwfl);
	}
	if (fd >= 0)
		close(fd);
}

/* Prints the names of a module's places, in a process of its own, which may die or wait: libdw opens what the file
 * names, which may be a FIFO that nobody writes to. What it found is printed as a whole or not at all. -ETIMEDOUT,
 * or 0. */
static int print_names_apart(struct module *m, FILE *to)
{
	const struct rlimit memory = {MEMORY_MOST, MEMORY_MOST}, none = {0, 0};
	int status = 0;
	fflush(to);
	pid_t pid = fork();
	if (pid == 0) {
		char *text = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&text, &n);
		signal(SIGALRM, SIG_DFL);
		setrlimit(RLIMIT_DATA, &memory);
		setrlimit(RLIMIT_CORE, &none);
		alarm(SECONDS);
		if (f)
			print_module_names(m, f);
		alarm(0);
		if (f && fclose(f) == 0)
			fwrite(text, 1, n, to);
		_exit(fflush(to) != 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? -ETIMEDOUT : 0;
}

/* A trace, or those in a folder. 0, -ENOMEM. */
static int read_traces(struct modules *m, const char *path)
{
	char inner[NAME];
	DIR *d = opendir(path);
	int r = d ? 0 : read_call_trace(m, path);
	for (struct dirent *e; d && r == 0 && (e = readdir(d));) {
		const char *dot = strrchr(e->d_name, '.');
		if (dot && !strcmp(dot, ".calls") && snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name) < NAME)
			r = read_call_trace(m, inner);
	}
	if (d)
		closedir(d);
	return r;
}

int names_print(char *const *traces, size_t n, FILE *to)
{
	struct modules m = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_traces(&m, traces[i]);
	fprintf(to, "stemma-names 1\n");
	for (size_t i = 0, late = 0; r == 0 && i < m.n && late < LATE_MOST; i++)
		late += print_names_apart(&m.v[i], to) < 0;
	for (size_t i = 0; i < m.n; i++) {
		free(m.v[i].key);
		free(m.v[i].v);
	}
	free(m.v);
	return fflush(to) == 0 && !ferror(to) ? r : -EIO;
}
