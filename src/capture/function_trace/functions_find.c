#include "capture/function_trace/functions_find.h"

#include "base/hex.h"
#include "base/io.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define refuse(err, number, ...) (err_set(err, 0, __VA_ARGS__), -(number))

enum { GLOBS_MAX = 256, SEGMENTS_MAX = 64, BUILD_ID_MAX = 64 };

/* The compiler's start files put these into every program; a pattern does not mean them. */
static bool is_of_start(const char *name)
{
	static const char *const names[] = {"_start",
	                                    "_init",
	                                    "_fini",
	                                    "frame_dummy",
	                                    "register_tm_clones",
	                                    "deregister_tm_clones",
	                                    "__do_global_dtors_aux",
	                                    "_dl_relocate_static_pie"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The function's name without what the compiler put behind it; false: it is only a part of one. */
static bool own_name(const char *symbol, char *ret, size_t size)
{
	static const char *const kept[] = {".isra.", ".constprop.", ".lto_priv."};
	size_t n = strlen(symbol);
	if (!n || n >= size || strstr(symbol, ".cold"))
		return false;
	memcpy(ret, symbol, n + 1);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		char *at = strstr(ret, kept[i]);
		if (at && at != ret)
			*at = '\0';
	}
	return true;
}

/* Does a function of that name match what was asked for? globs: names, or patterns, which do not match what starts a
 * program. */
static bool is_function_wanted(const char *name, char *const *globs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strpbrk(globs[i], "*?[") ? fnmatch(globs[i], name, 0) == 0 && !is_of_start(name) : !strcmp(globs[i], name))
			return true;
	return false;
}

/* By program and address; of one address the name that looks least like the compiler's or a library's own. */
static int compare_functions_by_address(const void *x, const void *y)
{
	const struct found_function *a = x, *b = y;
	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Of several names of one place the one that looks least like the compiler's or a library's own. */
	size_t under_a = strspn(a->name, "_"), under_b = strspn(b->name, "_");
	return under_a != under_b ? (under_a < under_b ? -1 : 1) : strcmp(a->name, b->name);
}

/* Where in the file the code at that address lies. False: in none of its code. */
static bool offset_of(const struct found_program *p, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < p->n_code; i++)
		if (address >= p->code[i].address && address - p->code[i].address < p->code[i].bytes) {
			*ret = p->code[i].offset + (address - p->code[i].address);
			return true;
		}
	return false;
}

bool functions_found_own(const struct found_program *p, uint64_t address)
{
	uint64_t none;
	return offset_of(p, address, &none);
}

const struct found_function *functions_found_at(const struct found *f, uint32_t program, uint64_t address)
{
	size_t low = 0, high = f->n;
	while (low < high) { /* the first that begins behind it */
		size_t i = low + (high - low) / 2;
		if (f->v[i].program < program || (f->v[i].program == program && f->v[i].address <= address))
			low = i + 1;
		else
			high = i;
	}
	const struct found_function *v = low ? &f->v[low - 1] : NULL;
	return v && v->program == program && address - v->address < v->bytes ? v : NULL;
}

uint64_t functions_found_call(const struct found_program *p, uint64_t back)
{
#if defined(__x86_64__)
	unsigned char code[5];
	uint64_t offset;
	int32_t distance;
	if (back < sizeof(code) || !offset_of(p, back - sizeof(code), &offset) || offset > INT64_MAX ||
	    io_pread(p->fd, code, sizeof(code), (off_t)offset) != (ssize_t)sizeof(code) || code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return back + (uint64_t)(int64_t)distance;
#elif defined(__aarch64__)
	uint32_t code;
	uint64_t offset;
	if (back < sizeof(code) || !offset_of(p, back - sizeof(code), &offset) || offset > INT64_MAX ||
	    io_pread(p->fd, &code, sizeof(code), (off_t)offset) != (ssize_t)sizeof(code) || code >> 26 != 0x25)
		return 0;
	return back - sizeof(code) + (uint64_t)((int64_t)((uint64_t)code << 38) >> 36);
#else
	(void)p;
	(void)back;
	return 0;
#endif
}

/* A mark for indirect jumps (endbr64) has to be stepped over, which costs ten times what a push does that the kernel
 * does by itself. A push is where no loop comes back to. */
static uint32_t probe_in(const struct found_program *p, uint64_t offset)
{
#if defined(__x86_64__)
	static const unsigned char mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
	unsigned char code[6];
	if (offset > INT64_MAX || io_pread(p->fd, code, sizeof(code), offset) != (ssize_t)sizeof(code) ||
	    memcmp(code, mark, sizeof(mark)) != 0)
		return 0;
	unsigned char op = code[4] == 0x41 ? code[5] : code[4];
	return op >= 0x50 && op <= 0x57 ? sizeof(mark) : 0;
#else
	(void)p;
	(void)offset;
	return 0;
#endif
}

/* A function that is wanted; offset: of it in the file. 0 or -errno with a sentence. */
static int add_function(struct found *f, uint32_t program, const char *name, const GElf_Sym *s, uint64_t offset,
                        struct err *err)
{
	if (f->n >= 4 * FUNCTIONS_MAX)
		return refuse(err, E2BIG, "more than %d functions have such names", FUNCTIONS_MAX);
	/* There is room for 1, 3, 7, ... */
	struct found_function *v = f->n & (f->n + 1) ? f->v : realloc(f->v, ((f->n ? 2 * f->n : 1) + 1) * sizeof(*v));
	if (v)
		f->v = v;
	if (!v || !(v[f->n].name = strdup(name)))
		return err_set(err, ENOMEM, "cannot look for functions");
	v[f->n].program = program;
	v[f->n].address = s->st_value;
	v[f->n].bytes = s->st_size;
	v[f->n].probe = probe_in(&f->programs[program], offset);
	v[f->n++].offset = offset;
	return 0;
}

/* Adds the functions of its symbol tables whose names match. 0; -errno with a sentence. */
static int take_symbols(struct found *f, uint32_t program, Elf *elf, char *const *globs, size_t n_globs,
                        struct err *err)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) || !sh.sh_entsize ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		size_t count = data->d_size / sh.sh_entsize;
		for (size_t i = 0; i < count && i <= INT_MAX; i++) {
			char name[FUNCTION_NAME_MAX];
			uint64_t offset;
			GElf_Sym s;
			const char *symbol = gelf_getsym(data, (int)i, &s) ? elf_strptr(elf, sh.sh_link, s.st_name) : NULL;
			if (!symbol || GELF_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF ||
			    !own_name(symbol, name, sizeof(name)) || !is_function_wanted(name, globs, n_globs) ||
			    !offset_of(&f->programs[program], s.st_value, &offset))
				continue;
			int rc = add_function(f, program, name, &s, offset, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* The file with what was stripped away: from its build-id. A descriptor; -1: there is none. */
static int open_debug(Elf *elf)
{
	size_t n;
	if (elf_getphdrnum(elf, &n) < 0)
		return -1;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		GElf_Phdr ph;
		Elf_Data *data;
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE ||
		    !(data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
		                                  ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
			continue;
		GElf_Nhdr note;
		size_t name, desc;
		for (size_t at = 0, next; (next = gelf_getnote(data, at, &note, &name, &desc)) > 0; at = next) {
			const unsigned char *id = (const unsigned char *)data->d_buf + desc;
			char path[64 + 2 * BUILD_ID_MAX] = "/usr/lib/debug/.build-id/";
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			    memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 || note.n_descsz < 2 ||
			    note.n_descsz > BUILD_ID_MAX)
				continue;
			char digits[2 * BUILD_ID_MAX + 1];
			hex_text(id, note.n_descsz, digits);
			size_t k = strlen(path);
			snprintf(path + k, sizeof(path) - k, "%.2s/%s.debug", digits, digits + 2);
			return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		}
	}
	return -1;
}

/* Where its code lies. p->library: it has no interpreter. 0; -EBADMSG: it is damaged; -ENOMEM; with a sentence. */
static int take_segments(struct found_program *p, Elf *elf, struct err *err)
{
	size_t n;
	if (elf_getphdrnum(elf, &n) < 0 || n > SEGMENTS_MAX)
		return refuse(err, EBADMSG, "'%s' is a damaged program", p->path);
	p->code = calloc(n + 1, sizeof(*p->code));
	if (!p->code)
		return err_set(err, ENOMEM, "cannot look for functions");
	p->library = true;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_INTERP)
			p->library = false;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || ph.p_offset > p->size ||
		    ph.p_filesz > p->size - ph.p_offset || ph.p_vaddr > UINT64_MAX - ph.p_filesz)
			continue;
		p->code[p->n_code++] = (struct found_segment){ph.p_vaddr, ph.p_offset, ph.p_filesz};
	}
	return 0;
}

/* Looks at the program, and at what of it was stripped away. 0; -ENOEXEC: no ELF program of this processor; -errno;
 * with a sentence. */
static int look_into(struct found *f, uint32_t program, char *const *globs, size_t n_globs, struct err *err)
{
	struct found_program *p = &f->programs[program];
	GElf_Ehdr head;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(p->fd, ELF_C_READ, NULL);
	int r = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
		r = refuse(err, ENOEXEC, "'%s' is not an ELF program: functions can only be traced in those", p->path);
#if defined(__x86_64__)
	else if (head.e_machine != EM_X86_64)
		r = refuse(err, ENOEXEC, "'%s' is a program for another processor or a 32-bit program", p->path);
#endif
	else
		r = take_segments(p, elf, err);
	if (r == 0 && head.e_type == ET_EXEC)
		p->library = false;
	if (r == 0)
		r = take_symbols(f, program, elf, globs, n_globs, err);
	int fd = r == 0 ? open_debug(elf) : -1;
	if (fd >= 0) {
		Elf *debug = elf_begin(fd, ELF_C_READ, NULL);
		if (debug && elf_kind(debug) == ELF_K_ELF)
			r = take_symbols(f, program, debug, globs, n_globs, err);
		elf_end(debug);
		close(fd);
	}
	elf_end(elf);
	return r;
}

/* The whole path of a program. As the shell would find it. malloc'ed; NULL: it is not there. */
static char *find_in_search_path(const char *name)
{
	char path[PATH_MAX];
	const char *list = getenv("PATH");
	if (strchr(name, '/'))
		return realpath(name, NULL);
	for (const char *p = list ? list : "/usr/local/bin:/usr/bin:/bin"; p;
	     p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
		size_t n = strcspn(p, ":");
		struct stat st;
		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(n ? n : 1), n ? p : ".", name) < sizeof(path) &&
		    stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return realpath(path, NULL);
	}
	errno = ENOENT;
	return NULL;
}

/* Adds a program whose functions are to be traced. *ret: its place in f->programs, once for each path. 0; -errno
 * with a sentence. */
static int take_program(struct found *f, const char *name, struct err *err, uint32_t *ret)
{
	struct stat st;
	char *path = find_in_search_path(name);
	if (!path)
		return err_set(err, errno, "cannot find the program '%s'", name);
	for (*ret = 0; *ret < f->n_programs; ++*ret)
		if (!strcmp(f->programs[*ret].path, path)) {
			free(path);
			return 0;
		}
	struct found_program *v = realloc(f->programs, (f->n_programs + 1) * sizeof(*v));
	if (!v) {
		free(path);
		return err_set(err, ENOMEM, "cannot look for functions");
	}
	f->programs = v;
	v += f->n_programs++;
	*v = (struct found_program){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	if (v->fd < 0 || fstat(v->fd, &st) < 0)
		return err_set(err, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return refuse(err, EINVAL, "'%s' is not a file", path);
	v->size = (uint64_t)st.st_size;
	v->time = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	return 0;
}

int functions_found_add(struct found *f, const char *wish, struct err *err)
{
	const char *colon = strrchr(wish, ':');
	char *text = colon ? strdup(wish) : NULL, *globs[GLOBS_MAX];
	size_t n = 0, before = f->n, kept = 0;
	uint32_t program = 0;
	if (!colon || colon == wish || !colon[1])
		return refuse(err, EINVAL, "'%s' is not PROGRAM:NAME,...", wish);
	if (!text)
		return err_set(err, ENOMEM, "cannot look for functions");
	text[colon - wish] = '\0';
	int r = take_program(f, text, err, &program);
	for (char *p = text + (colon - wish) + 1, *save; r == 0 && (p = strtok_r(p, ",", &save)); p = NULL) {
		if (n == GLOBS_MAX)
			r = refuse(err, E2BIG, "more than %d names of functions", GLOBS_MAX);
		else
			globs[n++] = p;
	}
	if (r == 0)
		r = look_into(f, program, globs, n, err);
	free(text);
	if (r < 0)
		return r;
	if (f->n == before) {
		err_set(err, 0, "no function of '%s' has such a name: %s", f->programs[program].path, colon + 1);
		return err_hint(err, "nm %s lists its functions; strip removes them", f->programs[program].path), -ENOENT;
	}
	qsort(f->v, f->n, sizeof(*f->v), compare_functions_by_address);
	for (size_t i = 0; i < f->n; i++)
		if (kept && f->v[kept - 1].program == f->v[i].program && f->v[kept - 1].address == f->v[i].address)
			free(f->v[i].name);
		else
			f->v[kept++] = f->v[i];
	f->n = kept;
	if (f->n > FUNCTIONS_MAX)
		return refuse(err, E2BIG, "%zu functions have such names: more than %d cannot be traced at once", f->n,
		              FUNCTIONS_MAX);
	return 0;
}

/* f is empty then. */
void functions_found_release(struct found *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].name);
	for (size_t i = 0; i < f->n_programs; i++) {
		free(f->programs[i].path);
		free(f->programs[i].code);
		if (f->programs[i].fd >= 0)
			close(f->programs[i].fd);
	}
	free(f->programs);
	free(f->v);
	*f = (struct found){0};
}
