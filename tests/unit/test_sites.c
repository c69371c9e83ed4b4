/* Call sites of static programs: what is found by bytes alone is what the names say, and none is where a thread may be
 * cancelled. The truth of an instruction's length is objdump's. Arguments: static programs that are not stripped. */
#include "capture/inject/sites_int.h"
#include "sites_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void forget_names(unsigned char *p)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	Elf64_Shdr *sh = (Elf64_Shdr *)(p + h->e_shoff);
	for (size_t i = 0; i < h->e_shnum; i++)
		if (sh[i].sh_type == SHT_SYMTAB)
			sh[i].sh_type = SHT_NULL;
}

static const struct site *site_at(const struct sites *s, uint64_t offset)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->site[i].offset == offset)
			return &s->site[i];
	return NULL;
}

static bool of_threads(const struct site *t)
{
	return t->kind >= SITE_BEGIN && t->kind <= SITE_OPENED;
}

static void without_names(void **state)
{
	(void)state;
	static struct sites named, bare;
	for (int i = 0; i < nprograms; i++) {
		size_t n;
		unsigned char *p = whole(programs[i], &n);
		assert_int_equal(read_bytes(p, n, &named), 0);
		forget_names(p);
		assert_int_equal(read_bytes(p, n, &bare), 0);
		free(p);
		assert_true(named.n > 10 && bare.alone && bare.tid == 0);
		assert_int_equal(bare.start, named.start);
		for (size_t k = 0; k < named.n; k++) {
			const struct site *a = &named.site[k], *b = site_at(&bare, a->offset);
			if (of_threads(a)) {
				/* Where the call itself is, it stays. */
				for (size_t j = 0; a->call && j < bare.n; j++)
					assert_false(a->call >= bare.site[j].offset && a->call < bare.site[j].offset + bare.site[j].taken);
				continue;
			}
			if (!b)
				fail_msg("%s: no site at %llx, call %d", programs[i], (unsigned long long)a->offset, a->nr);
			assert_int_equal(a->nr, b->nr);
			assert_int_equal(a->kind, b->kind);
			assert_int_equal(a->from, b->from);
			assert_int_equal(a->to, b->to);
			assert_int_equal(a->positional, b->positional);
			assert_int_equal(a->taken, b->taken);
			assert_int_equal(a->single, b->single);
			if (a->kind == SITE_OPEN)
				assert_int_equal(a->loaded, b->loaded);
			assert_memory_equal(a->bytes, b->bytes, a->taken);
		}
		/* The library keeps a few to itself: duplicates, the closing of many. */
		for (size_t k = 0; k < bare.n; k++)
			if (!site_at(&named, bare.site[k].offset) && bare.site[k].kind != SITE_FCNTL &&
			    bare.site[k].kind != SITE_RANGE && bare.site[k].kind != SITE_MARK)
				fail_msg("%s: a site at %llx, call %d", programs[i], (unsigned long long)bare.site[k].offset,
				         bare.site[k].nr);
	}
}

/* A jump to the middle of a site: it is left, and so is the program if it needs that call. */
static void entered(void **state)
{
	(void)state;
	static struct sites s, less;
	size_t n;
	unsigned char *p = whole(programs[0], &n);
	forget_names(p);
	assert_int_equal(read_bytes(p, n, &s), 0);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(p + h->e_phoff);
	const struct site *dup2 = NULL;
	for (size_t i = 0; i < s.n; i++)
		if (s.site[i].kind == SITE_DUP2)
			dup2 = &s.site[i];
	assert_non_null(dup2);
	for (size_t i = 0; i < h->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X))
			continue;
		unsigned char *c = p + ph[i].p_offset + (dup2->offset - ph[i].p_vaddr);
		const unsigned char was[2] = {c[SITE_BYTES], c[SITE_BYTES + 1]};
		c[SITE_BYTES] = 0xeb; /* back to the comparison */
		c[SITE_BYTES + 1] = (unsigned char)(2 - (SITE_BYTES + 2));
		assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
		c[SITE_BYTES + 1] = 0; /* to what comes next */
		assert_int_equal(read_bytes(p, n, &less), 0);
		c[SITE_BYTES] = was[0];
		c[SITE_BYTES + 1] = was[1];
		/* From afar: the first bytes that are executed at all, which are no site. */
		unsigned char *far = p + ph[i].p_offset;
		int32_t d = (int32_t)(dup2->offset + 2 - (ph[i].p_vaddr + 5));
		far[0] = 0xe9;
		memcpy(far + 1, &d, sizeof(d));
		assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
	}
	free(p);
}

/* A table that ends behind the file is no table, whether of segments or of sections. */
static void cut_off(void **state)
{
	(void)state;
	static struct sites s;
	size_t n;
	unsigned char *p = whole(programs[0], &n);
	Elf64_Ehdr *h = (Elf64_Ehdr *)p;
	const Elf64_Ehdr was = *h;
	assert_int_equal(read_bytes(p, n, &s), 0);
	memset(p + n - sizeof(Elf64_Phdr), 0, sizeof(Elf64_Phdr)); /* the last that there can be: a segment of no kind */
	h->e_phoff = (n - sizeof(Elf64_Phdr)) & ~7ULL;
	h->e_phnum = 2;
	assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
	*h = was;
	h->e_shoff = (n - sizeof(Elf64_Shdr)) & ~7ULL;
	h->e_shnum = 2;
	assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
	free(p);
}

static void added_once(void **state)
{
	(void)state;
	static struct sites s;
	const unsigned char code[64] = {0};
	sites_add(&s, &sites_wanted[0], 100, SITE_BYTES, code);
	sites_add(&s, &sites_wanted[0], 200, SITE_BYTES, code);
	sites_add(&s, &sites_wanted[0], 100, SITE_BYTES, code);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.site[0].offset, 100);
	assert_int_equal(s.site[1].offset, 200);
	for (uint64_t i = 0; i < 2 * SITES_MAX; i++)
		sites_add(&s, &sites_wanted[0], 300 + i, SITE_BYTES, code);
	assert_int_equal(s.n, SITES_MAX);
}

/* objdump's lines: ADDRESS: \t BYTES \t INSTRUCTION. */
static void lengths(void **state)
{
	(void)state;
	char command[4200], line[512];
	size_t seen = 0;
	snprintf(command, sizeof(command), "objdump -d --insn-width=16 '%s' 2>/dev/null", programs[0]);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned char b[32];
		size_t n = 0;
		const char *at = strchr(line, '\t');
		const char *name = at ? strchr(at + 1, '\t') : NULL;
		if (!name || strstr(name, "(bad)") || strstr(name, ".byte"))
			continue;
		for (at++; n < 16 && at[0] != ' ' && at[0] != '\t'; at += 3)
			b[n++] = (unsigned char)strtoul((const char[]){at[0], at[1], '\0'}, NULL, 16);
		memset(b + n, 0x90, 16);
		if (sites_length(b, n + 16) != n)
			fail_msg("%zu bytes, not %zu: %s", n, sites_length(b, n + 16), line);
		for (size_t less = 0; less < n; less++)
			assert_true(sites_length(b, less) <= less);
		seen++;
	}
	if (pclose(f) != 0) {
		print_message("# skipped: lengths: there is no objdump\n");
		skip();
	}
	assert_true(seen > 10000);
}

/* What compilers seldom make, by the manual of the processor: prefixes that make an operand shorter or longer,
 * addresses of each kind. */
static void rare_lengths(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		unsigned char n, bytes[12];
	} rows[] = {
	    {"mov $,%ax", 4, {0x66, 0xb8, 1, 2}},
	    {"mov $,%eax", 5, {0xb8, 1, 2, 3, 4}},
	    {"movabs $,%rax", 10, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
	    {"mov $,%r9w", 5, {0x66, 0x41, 0xb9, 1, 2}},
	    {"cmp $,%rdx, of both prefixes", 8, {0x66, 0x48, 0x81, 0xfa, 1, 2, 3, 4}},
	    {"mov $,%rax, of both prefixes", 11, {0x66, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
	    {"femms", 2, {0x0f, 0x0e}},
	    {"rsm", 2, {0x0f, 0xaa}},
	    {"pop (%rax)", 2, {0x8f, 0x00}},
	    {"XOP", 0, {0x8f, 0x49, 0x00, 0x01}},
	    {"pfadd", 4, {0x0f, 0x0f, 0xc1, 0x9e}},
	    {"add $,%ax", 4, {0x66, 0x05, 1, 2}},
	    {"add $,%rax", 6, {0x48, 0x05, 1, 2, 3, 4}},
	    {"push $ (8)", 2, {0x6a, 1}},
	    {"push $ (32)", 5, {0x68, 1, 2, 3, 4}},
	    {"test $,%al", 3, {0xf6, 0xc0, 1}},
	    {"test $,%eax", 6, {0xf7, 0xc0, 1, 2, 3, 4}},
	    {"test $,%ax", 5, {0x66, 0xf7, 0xc0, 1, 2}},
	    {"not %eax", 2, {0xf7, 0xd0}},
	    {"movl $,8(%rsp)", 8, {0xc7, 0x44, 0x24, 8, 1, 2, 3, 4}},
	    {"movw $,(%rax)", 5, {0x66, 0xc7, 0x00, 1, 2}},
	    {"mov 0(,%rax,8),%rax", 8, {0x48, 0x8b, 0x04, 0xc5, 1, 2, 3, 4}},
	    {"mov x(%rip),%rax", 7, {0x48, 0x8b, 0x05, 1, 2, 3, 4}},
	    {"mov (%rax),%ecx", 2, {0x8b, 0x08}},
	    {"mov 1(%rax),%ecx", 3, {0x8b, 0x48, 1}},
	    {"mov x(%rax),%ecx", 6, {0x8b, 0x88, 1, 2, 3, 4}},
	    {"mov %fs:x,%rax", 9, {0x64, 0x48, 0x8b, 0x04, 0x25, 1, 2, 3, 4}},
	    {"je (8)", 2, {0x74, 1}},
	    {"je (32)", 6, {0x0f, 0x84, 1, 2, 3, 4}},
	    {"call", 5, {0xe8, 1, 2, 3, 4}},
	    {"ret $", 3, {0xc2, 1, 2}},
	    {"shl $,%eax", 3, {0xc1, 0xe0, 1}},
	    {"bt $,%eax", 4, {0x0f, 0xba, 0xe0, 1}},
	    {"pshufd $", 5, {0x66, 0x0f, 0x70, 0xc0, 1}},
	    {"palignr $", 6, {0x66, 0x0f, 0x3a, 0x0f, 0xc0, 1}},
	    {"pshufb", 5, {0x66, 0x0f, 0x38, 0x00, 0xc0}},
	    {"vzeroupper", 3, {0xc5, 0xf8, 0x77}},
	    {"vmovdqu (%rsi),%ymm0", 4, {0xc5, 0xfe, 0x6f, 0x06}},
	    {"vpbroadcastb", 5, {0xc4, 0xe2, 0x7d, 0x78, 0xc0}},
	    {"vpalignr $", 6, {0xc4, 0xe3, 0x75, 0x0f, 0xc0, 1}},
	    {"vmovdqu64 (%rsi),%zmm16", 6, {0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x06}},
	    {"lock cmpxchg", 4, {0xf0, 0x0f, 0xb1, 0x0f}},
	    {"rep movsb", 2, {0xf3, 0xa4}},
	    {"endbr64", 4, {0xf3, 0x0f, 0x1e, 0xfa}},
	    {"syscall", 2, {0x0f, 0x05}},
	    /* None of 64-bit code. */
	    {"push %es", 0, {0x06}},
	    {"aaa", 0, {0x37}},
	    {"pusha", 0, {0x60}},
	    {"far call", 0, {0x9a, 1, 2, 3, 4, 5, 6}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned char b[32];
		memset(b, 0x90, sizeof(b));
		memcpy(b, rows[i].bytes, sizeof(rows[i].bytes));
		if (rows[i].n)
			memset(b + rows[i].n, 0x90, sizeof(b) - rows[i].n);
		if (sites_length(b, sizeof(b)) != rows[i].n)
			fail_msg("%s: %zu bytes, not %d", rows[i].what, sites_length(b, sizeof(b)), rows[i].n);
		if (rows[i].n)
			assert_int_equal(sites_length(b, rows[i].n), rows[i].n);
		for (size_t less = 0; less < rows[i].n; less++) /* cut off, it is none, or an earlier one */
			assert_true(sites_length(b, less) <= less);
	}
}

/* The path of the C library that this program has. */
static bool find_library(char *ret, size_t size)
{
	char line[4400];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');
		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		found = strstr(path, "/libc.so.6") || strstr(path, "/libc-2.");
		if (found)
			snprintf(ret, size, "%s", path);
	}
	fclose(f);
	return found;
}

/* What lies at an address of the library; the caller knows that it is code or data of its file. */
static const unsigned char *at_address(const unsigned char *p, uint64_t addr)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(p + h->e_phoff);
	for (size_t i = 0; i < h->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && addr >= ph[i].p_vaddr && addr - ph[i].p_vaddr < ph[i].p_filesz)
			return p + ph[i].p_offset + (addr - ph[i].p_vaddr);
	fail_msg("nothing is at %llx", (unsigned long long)addr);
	return NULL;
}

/* Where a jump or call of five bytes goes. */
static uint64_t goes_to(const unsigned char *at, uint64_t addr)
{
	int32_t d;
	memcpy(&d, at + 1, sizeof(d));
	return addr + 5 + (uint64_t)(int64_t)d;
}

static void is_framed_open(const unsigned char *p, const struct framed_open *f)
{
	const unsigned char *begin = at_address(p, f->begin), *end = at_address(p, f->end), *call = at_address(p, f->call);
	assert_memory_equal(f->was[0], begin, 5);
	assert_memory_equal(f->was[1], end, 5);
	assert_int_equal(begin[0], 0xe8);
	assert_int_equal(goes_to(begin, f->begin), f->begins);
	assert_int_equal(end[0], 0xe9);
	assert_int_equal(goes_to(end, f->end), f->back);
	assert_memory_equal(call, ((const unsigned char[]){0x0f, 0x05, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff}), 8);
	assert_true(f->begin < f->call && f->call < f->end && f->end - f->begin < 1024);
	assert_true(f->here || f->folder.reg != f->path.reg || f->folder.at != f->path.at);
	at_address(p, f->back);
}

/* All that is said of the C library lies in its file as it is said (inject/sites.h). */
static void a_library(void **state)
{
	(void)state;
	static struct sites s;
	static const unsigned char gadget[] = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3};
	char path[4096];
	size_t n, of[SITE_CANCEL + 1] = {0};
	if (!find_library(path, sizeof(path))) {
		print_message("# skipped: a_library: no glibc is loaded\n");
		skip();
	}
	unsigned char *p = whole(path, &n);
	if (read_bytes(p, n, &s) < 0) {
		free(p);
		print_message("# skipped: a_library: calls of %s are not found\n", path);
		skip();
	}
	assert_false(s.alone || s.moves || s.musl);
	assert_memory_equal(at_address(p, s.gadget), gadget, sizeof(gadget));
	assert_memory_equal(at_address(p, s.sigreturn), ((const unsigned char[]){0x48, 0xc7, 0xc0, 0x0f}), 4);
	assert_memory_equal(at_address(p, s.start), ((const unsigned char[]){0x0f, 0x05}), 2);
	assert_int_equal(s.pop, 0);
	for (size_t i = 0; i < s.n; i++) {
		const struct site *t = &s.site[i];
		const unsigned char *at = at_address(p, t->offset);
		uint32_t nr;
		of[t->kind]++;
		assert_memory_equal(t->bytes, at, t->taken);
		assert_true(t->taken >= 5 && t->taken <= SITE_BYTES);
		for (size_t k = 0; k < i; k++) /* apart from all others */
			assert_true(t->offset >= s.site[k].offset + s.site[k].taken || s.site[k].offset >= t->offset + t->taken);
		if (t->kind == SITE_BEGIN || t->kind == SITE_SHUT) {
			assert_int_equal(at[0], 0xe8);
			assert_int_equal(goes_to(at, t->offset), t->target);
		} else if (t->kind == SITE_OPENED) {
			assert_int_equal(at[0], 0xe9);
			assert_int_equal(goes_to(at, t->offset), t->target);
		} else if (t->kind == SITE_DONE) {
			assert_memory_equal(at, ((const unsigned char[]){0x48, 0x83, 0xc4, t->frame, 0xc3}), 5);
		} else if (t->kind == SITE_MARK) {
			memcpy(&nr, at + 1, sizeof(nr));
			assert_true(t->before || (at[0] == 0xb8 && nr == (uint32_t)t->nr));
		} else {
			assert_memory_equal(at, ((const unsigned char[]){0x0f, 0x05, 0x48, 0x3d}), 4); /* and -4096 or -4095 */
			assert_memory_equal(at + 5, ((const unsigned char[]){0xf0, 0xff, 0xff}), 3);
		}
		if (t->loaded && t->kind == SITE_OPEN) {
			memcpy(&nr, at - 4, sizeof(nr));
			assert_true(at[-5] == 0xb8 && nr == (uint32_t)t->nr);
		}
		/* The descriptor is kept in the frame, where that is. */
		if (t->kind == SITE_BEGIN || t->kind == SITE_DONE)
			assert_true(t->slot + 4 <= t->frame || !t->frame);
		if (t->call)
			assert_memory_equal(at_address(p, t->call), ((const unsigned char[]){0x0f, 0x05}), 2);
	}
	assert_true(of[SITE_MOVE] >= 8 && of[SITE_OPEN] >= 2 && of[SITE_CLOSE] >= 1 && of[SITE_DUP2] >= 1 &&
	            of[SITE_MARK] >= 1);
	assert_int_equal(of[SITE_BEGIN], of[SITE_DONE]);
	if (s.tid) { /* the ways of threads: a call that moves, one that opens, one that closes */
		assert_true(of[SITE_BEGIN] > 0 && of[SITE_OPENED] > 0 && of[SITE_SHUT] > 0);
		assert_true(s.tid < 4096);
	}
	for (size_t i = 0; i < s.nframed; i++) {
		is_framed_open(p, &s.framed[i]);
		assert_true(sites_is_framed(&s, s.framed[i].call + 2));
		assert_false(sites_is_framed(&s, s.framed[i].call));
	}
	assert_true(!s.nframed || (s.cancel > 0 && s.cancel < 4096));
	free(p);
}

/* A program is its own library; it may lie anywhere only if its file says so. */
static void programs_alone(void **state)
{
	(void)state;
	static struct sites s;
	for (int i = 0; i < nprograms; i++) {
		size_t n;
		unsigned char *p = whole(programs[i], &n);
		Elf64_Ehdr *h = (Elf64_Ehdr *)p;
		const bool moves = h->e_type == ET_DYN;
		assert_int_equal(read_bytes(p, n, &s), 0);
		assert_true(s.alone && s.moves == moves);
		if (moves) {
			free(p);
			continue;
		}
		assert_int_equal(h->e_type, ET_EXEC);
		h->e_type = ET_DYN; /* and nothing says that it is no library */
		assert_true(read_bytes(p, n, &s) < 0 || !s.alone);
		h->e_type = ET_REL;
		assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
		h->e_type = ET_EXEC;
		h->e_machine = EM_AARCH64;
		assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
		h->e_machine = EM_X86_64;
		h->e_ident[EI_CLASS] = ELFCLASS32;
		assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
		h->e_ident[EI_CLASS] = ELFCLASS64;
		/* One that has libraries. */
		Elf64_Phdr *ph = (Elf64_Phdr *)(p + h->e_phoff);
		for (size_t k = 0; k < h->e_phnum; k++)
			if (ph[k].p_type == PT_NOTE || ph[k].p_type == PT_GNU_STACK)
				ph[k].p_type = PT_INTERP;
		assert_int_equal(read_bytes(p, n, &s), -ENOEXEC);
		free(p);
	}
}

int main(int argc, char **argv)
{
	programs = argv + 1;
	nprograms = argc - 1;
	const struct CMUnitTest tests[] = {cmocka_unit_test(without_names), cmocka_unit_test(entered),
	                                   cmocka_unit_test(cut_off),       cmocka_unit_test(added_once),
	                                   cmocka_unit_test(lengths),       cmocka_unit_test(rare_lengths),
	                                   cmocka_unit_test(a_library),     cmocka_unit_test(programs_alone)};
	return nprograms ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
