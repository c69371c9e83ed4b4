/* elf.c - what a program tells of its own building, where there is no record: .comment, the producers that DWARF names,
 * the libraries it needs, and the package that it is of.
 *
 * Section headers are read by hand, each bounded; DWARF is libdw's, which is loaded when it is needed and there. */
#include "base/child.h"
#include "base/io.h"
#include "cc/build.h"
#include "cc/compiler.h"
#include "sandbox/reader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_MAX 65536 /* of .comment, .dynstr beyond it is not looked at */
#define STRINGS_MAX (16u << 20)
#define UNITS_MAX 4096 /* compilation units that are asked */
#define PRODUCERS_MAX 16
#define PRODUCERS_MS 10000 /* a file that takes longer tells nothing */

struct image {
	int fd;
	bool wide;
	unsigned machine, type;
	uint64_t shoff;
	unsigned shnum, shentsize, shstrndx;
};

struct section {
	uint32_t name, type, link;
	uint64_t offset, size;
};

/* Reads n bytes at offset `at`. False: an error. False also if the file is shorter. */
static bool read_exactly(int fd, void *to, size_t n, uint64_t at)
{
	return io_pread(fd, to, n, at) == (ssize_t)n;
}

/* Reads the head of an ELF file. False: no ELF file of this byte order. */
static bool open_image(int fd, struct image *ret)
{
	Elf64_Ehdr e;
	Elf32_Ehdr n;
	if (!read_exactly(fd, &n, sizeof(n), 0) || memcmp(n.e_ident, ELFMAG, SELFMAG) != 0 ||
	    n.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return false;
	*ret = (struct image){.fd = fd, .wide = n.e_ident[EI_CLASS] == ELFCLASS64};
	if (ret->wide && !read_exactly(fd, &e, sizeof(e), 0))
		return false;
	ret->machine = ret->wide ? e.e_machine : n.e_machine;
	ret->type = ret->wide ? e.e_type : n.e_type;
	ret->shoff = ret->wide ? e.e_shoff : n.e_shoff;
	ret->shnum = ret->wide ? e.e_shnum : n.e_shnum;
	ret->shentsize = ret->wide ? e.e_shentsize : n.e_shentsize;
	ret->shstrndx = ret->wide ? e.e_shstrndx : n.e_shstrndx;
	return true;
}

/* Reads the head of a section. False: there is no such section, or it is damaged. */
static bool section_at(const struct image *m, unsigned i, struct section *ret)
{
	Elf64_Shdr w;
	Elf32_Shdr n;
	size_t size = m->wide ? sizeof(w) : sizeof(n);
	if (i >= m->shnum || m->shentsize != size || m->shoff > INT64_MAX - (uint64_t)i * size ||
	    !read_exactly(m->fd, m->wide ? (void *)&w : (void *)&n, size, m->shoff + (uint64_t)i * size))
		return false;
	*ret = m->wide ? (struct section){w.sh_name, w.sh_type, w.sh_link, w.sh_offset, w.sh_size}
	               : (struct section){n.sh_name, n.sh_type, n.sh_link, n.sh_offset, n.sh_size};
	return true;
}

/* Up to max bytes of a section, NUL-terminated. NULL: it cannot be read. */
static char *read_section(const struct image *m, const struct section *s, size_t max, size_t *ret_n)
{
	size_t n = s->size < max ? (size_t)s->size : max;
	char *p = s->type == SHT_NOBITS || s->offset > INT64_MAX ? NULL : malloc(n + 1);
	ssize_t got = p ? io_pread(m->fd, p, n, s->offset) : -1;
	if (got < 0) {
		free(p);
		return NULL;
	}
	p[got] = '\0';
	*ret_n = (size_t)got;
	return p;
}

/* Finds a section by its name. *ret is only right where it is true. */
static bool find_section(const struct image *m, const char *name, struct section *ret)
{
	struct section names, s;
	size_t n;
	char *text = section_at(m, m->shstrndx, &names) ? read_section(m, &names, STRINGS_MAX, &n) : NULL;
	bool found = false;
	for (unsigned i = 1; text && i < m->shnum && !found && section_at(m, i, &s); i++)
		found = s.name < n && strcmp(text + s.name, name) == 0;
	free(text);
	*ret = s;
	return found;
}

/* ---- lists of different lines ---- */

struct lines {
	char *v[PRODUCERS_MAX];
	size_t n;
};

/* Appends a copy, unless it is empty, is there already, or there are too many. */
static void append_new_line(struct lines *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], text) == 0)
			return;
	char *p = *text && l->n < PRODUCERS_MAX ? strdup(text) : NULL;
	if (p)
		l->v[l->n++] = p;
}

/* l itself stays. */
static void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
}

/* Appends the texts of .comment: one for each compiler that made a part of it. */
static void read_comment(const struct image *m, struct lines *l)
{
	struct section s;
	size_t n = 0;
	char *text = find_section(m, ".comment", &s) ? read_section(m, &s, TEXT_MAX, &n) : NULL;
	for (size_t at = 0; text && at < n; at += strlen(text + at) + 1)
		append_new_line(l, text + at);
	free(text);
}

/* ---- DWARF ---- */

/* Of elfutils/libdw.h, which need not be there to build. */
typedef struct Dwarf Dwarf;
typedef uint64_t Dwarf_Off;
typedef struct {
	void *addr, *cu, *abbrev;
	long padding;
} Dwarf_Die;
typedef struct {
	unsigned code, form;
	unsigned char *valp;
	void *cu;
} Dwarf_Attribute;
enum { AT_PRODUCER = 0x25, READ = 0 };

struct libdw {
	void *library;
	Dwarf *(*begin)(int fd, int how);
	int (*end)(Dwarf *d);
	int (*nextcu)(Dwarf *d, Dwarf_Off at, Dwarf_Off *next, size_t *header, Dwarf_Off *abbrev, uint8_t *address,
	              uint8_t *offset);
	Dwarf_Die *(*offdie)(Dwarf *d, Dwarf_Off at, Dwarf_Die *ret);
	Dwarf_Attribute *(*attr)(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret);
	const char *(*formstring)(Dwarf_Attribute *a);
};

/* Loads libdw, by which the compilers of a program are found. False: there is no libdw with these functions. Close
 * it by dlclose. */
static bool load_libdw(struct libdw *ret)
{
	void *l = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!l)
		return false;
	*ret = (struct libdw){.library = l};
	struct {
		void *to;
		const char *name;
	} f[] = {{&ret->begin, "dwarf_begin"},   {&ret->end, "dwarf_end"},   {&ret->nextcu, "dwarf_nextcu"},
	         {&ret->offdie, "dwarf_offdie"}, {&ret->attr, "dwarf_attr"}, {&ret->formstring, "dwarf_formstring"}};
	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++) {
		void *p = dlsym(l, f[i].name);
		if (!p) {
			dlclose(l);
			return false;
		}
		memcpy(f[i].to, &p, sizeof(p));
	}
	return true;
}

struct producers {
	struct libdw w;
	int fd;
};

/* In a process of its own: prints them, each with its NUL. What it reads may be hostile: it is confined. 0; 1: it
 * cannot be. */
static int print_producers(void *arg)
{
	struct producers *p = arg;
	struct libdw *w = &p->w;
	struct lines l = {0};
	if (reader_enter() < 0)
		return 1;
	Dwarf *d = w->begin(p->fd, READ);
	Dwarf_Off at = 0, next;
	size_t header;
	for (unsigned i = 0; d && i < UNITS_MAX && w->nextcu(d, at, &next, &header, NULL, NULL, NULL) == 0; i++) {
		Dwarf_Die die;
		Dwarf_Attribute a;
		const char *text = w->offdie(d, at + header, &die) && w->attr(&die, AT_PRODUCER, &a) ? w->formstring(&a) : NULL;
		if (text)
			append_new_line(&l, text);
		if (next <= at)
			break;
		at = next;
	}
	for (size_t i = 0; i < l.n; i++)
		io_write(STDOUT_FILENO, l.v[i], strlen(l.v[i]) + 1, NULL);
	return 0;
}

/* Appends what DWARF says of compilers. Nothing without libdw, or where it takes longer than PRODUCERS_MS. */
static void read_producers(int fd, struct lines *l)
{
	struct producers p = {.fd = fd};
	struct buf text = {0};
	if (!load_libdw(&p.w))
		return;
	struct child c = {.before = print_producers, .arg = &p, .most = TEXT_MAX, .cut = true, .limit_ms = PRODUCERS_MS};
	child_read(&c, &text);
	buf_char(&text, '\0');
	for (size_t at = 0; !text.failed && at < text.n; at += strlen(text.p + at) + 1)
		append_new_line(l, text.p + at);
	buf_release(&text);
	dlclose(p.w.library);
}

/* ---- needed libraries ---- */

/* Adds a library that the program needs, by its name. 0; -ENOMEM, then the file is in b, perhaps without its texts.
 */
static int add_needed(struct build *b, const char *name)
{
	struct build_file *v = realloc(b->in.v, (b->in.n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	b->in.v = v;
	v[b->in.n] = (struct build_file){
	    .role = TERM_role_library, .mtime = TIME_NONE, .path = strdup(name), .detail = strdup("by name only")};
	b->in.n++;
	return v[b->in.n - 1].path && v[b->in.n - 1].detail ? 0 : -ENOMEM;
}

/* Appends the libraries that a dynamic program needs. 0, also where there are none or it is damaged; -ENOMEM. */
static int read_needed(const struct image *m, struct build *b)
{
	struct section s, strings;
	size_t n = 0, k = 0, size = m->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	int rc = 0;
	if (!find_section(m, ".dynamic", &s) || !section_at(m, s.link, &strings))
		return 0;
	char *dyn = read_section(m, &s, TEXT_MAX, &n), *text = read_section(m, &strings, STRINGS_MAX, &k);
	for (size_t at = 0; dyn && text && rc == 0 && at + size <= n; at += size) {
		Elf64_Dyn w;
		Elf32_Dyn d;
		memcpy(m->wide ? (void *)&w : (void *)&d, dyn + at, size);
		int64_t tag = m->wide ? w.d_tag : d.d_tag;
		uint64_t value = m->wide ? w.d_un.d_val : d.d_un.d_val;
		if (tag == DT_NULL)
			break;
		if (tag == DT_NEEDED && value < k && text[value])
			rc = add_needed(b, text + value);
	}
	free(dyn);
	free(text);
	return rc;
}

/* The machine that an ELF file is for; static. Empty: another machine. */
static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_PPC64:
		return "ppc64";
	case EM_RISCV:
		return "riscv";
	case EM_S390:
		return "s390";
	default:
		return "";
	}
}

/* "package version" of the file's package; "" it is of none that dpkg knows. */
static void read_package(const char *path, char ret[COMPILER_LINE])
{
	char line[PATH_MAX + 128] = "", version[128], *real = realpath(path, NULL);
	/* What a package put into /bin lies in /usr/bin on most systems. */
	const char *names[] = {path, real, real && strncmp(real, "/usr/", 5) == 0 ? real + 4 : NULL};
	ret[0] = '\0';
	for (unsigned i = 0; i < 3 && !line[0]; i++) {
		char *ask[] = {(char *)"dpkg-query", (char *)"-S", (char *)names[i], NULL};
		if (names[i] && names[i][0] == '/' && !strpbrk(names[i], "*?[\\"))
			compiler_ask(ask, line, sizeof(line));
	}
	free(real);
	char *colon = strstr(line, ": ");
	if (!colon)
		return;
	*colon = '\0';
	char *of[] = {(char *)"dpkg-query", (char *)"-W", (char *)"-f=${Version}", line, NULL};
	compiler_ask(of, version, sizeof(version));
	snprintf(ret, COMPILER_LINE, "%.100s %.100s", line, version);
}

/* The lines with "; " between them. To be freed; NULL: no memory. */
static char *join_lines(const struct lines *l)
{
	struct buf b = {0};
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b, "%s%s", i ? "; " : "", l->v[i]);
	char *p = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return p;
}

/* An empty list that ends with NULL. The caller frees it; NULL without memory. */
static char **none(void)
{
	return calloc(1, sizeof(char *));
}

int build_from_elf(const char *path, struct err *err, struct build *ret)
{
	char package[COMPILER_LINE];
	int rc = build_from_elf_alone(path, err, ret);
	if (rc == 1) {
		read_package(path, package);
		ret->package = package[0] ? strdup(package) : NULL;
	}
	return rc;
}

int build_from_elf_alone(const char *path, struct err *err, struct build *ret)
{
	struct build b = {.origin = BUILD_ELF, .dirty = -1, .began = TIME_NONE, .ended = TIME_NONE};
	struct build_file out = {.role = TERM_role_output, .mtime = TIME_NONE};
	struct lines said = {0};
	struct image m;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc = 0;
	if (fd < 0)
		return err_set(err, errno, "cannot read '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !open_image(fd, &m)) {
		close(fd);
		return 0;
	}
	read_comment(&m, &said);
	read_producers(fd, &said);
	rc = read_needed(&m, &b);
	int nid = elfid_build_id(fd, out.id);
	out.nid = nid > 0 ? (size_t)nid : 0;
	out.digested = digest_fd(NULL, fd, &out.digest, &st) == 0;
	out.size = (uint64_t)st.st_size;
	out.path = realpath(path, NULL);
	out.detail = strdup("");
	close(fd);
	b.out.v = malloc(sizeof(out));
	if (b.out.v) {
		b.out.v[b.out.n++] = out;
	} else {
		free(out.path);
		free(out.detail);
	}
	b.version = join_lines(&said);
	lines_release(&said);
	b.target = strdup(machine_name(m.machine));
	b.compiler = strdup("");
	b.cwd = strdup("");
	b.user = strdup("");
	b.host = strdup("");
	b.commit = strdup("");
	b.argv = none();
	b.args = none();
	b.env = none();
	b.gaps = none();
	if (rc < 0 || !b.out.v || !b.out.v[0].path || !b.out.v[0].detail || !build_is_whole(&b)) {
		build_release(&b);
		return err_set(err, ENOMEM, "cannot read '%s'", path);
	}
	*ret = b;
	return 1;
}
