/* Call sites of musl: each lies in the function that the program's names say it is of, none is where a thread may be
 * cancelled, and a byte that is another one means that nothing is known. Arguments: static programs that are not
 * stripped. */
#include "sites_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* The table of names, and how many; what they are named by. */
static Elf64_Shdr *names(unsigned char *p, const Elf64_Sym **ret, size_t *ret_n, const char **ret_text)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	Elf64_Shdr *sh = (Elf64_Shdr *)(p + h->e_shoff);
	for (size_t i = 0; i < h->e_shnum; i++)
		if (sh[i].sh_type == SHT_SYMTAB) {
			*ret = (const Elf64_Sym *)(p + sh[i].sh_offset);
			*ret_n = sh[i].sh_size / sizeof(Elf64_Sym);
			*ret_text = (const char *)(p + sh[sh[i].sh_link].sh_offset);
			return &sh[i];
		}
	fail_msg("no names");
	return NULL;
}

/* Is it in a function of that name? */
static bool is_in(unsigned char *p, uint64_t addr, const char *name)
{
	const Elf64_Sym *sym;
	const char *text;
	size_t n;
	names(p, &sym, &n, &text);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(text + sym[i].st_name, name) && addr >= sym[i].st_value &&
		    addr < sym[i].st_value + (sym[i].st_size ? sym[i].st_size : 64))
			return true;
	return false;
}

static const struct site *site_of(const struct sites *s, enum site_kind kind, int nr)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->site[i].kind == kind && (nr < 0 || s->site[i].nr == nr))
			return &s->site[i];
	return NULL;
}

static unsigned char *at_address(unsigned char *p, uint64_t addr)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(p + h->e_phoff);
	for (size_t i = 0; i < h->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && addr >= ph[i].p_vaddr && addr - ph[i].p_vaddr < ph[i].p_filesz)
			return p + ph[i].p_offset + (addr - ph[i].p_vaddr);
	fail_msg("not in the file");
	return NULL;
}

static void places(void **state)
{
	(void)state;
	static const struct {
		enum site_kind kind;
		int nr;
		const char *name;
	} known[] = {{SITE_CANCEL, -1, "__syscall_cp"}, {SITE_MARK, 56, "__clone"},  {SITE_MARK, 58, "vfork"},
	             {SITE_DUP2, 33, "dup2"},           {SITE_DUP, 32, "dup"},       {SITE_PIPE, 22, "pipe"},
	             {SITE_MOVE, 40, "sendfile"},       {SITE_SPLICE, 275, "splice"}};
	static struct sites s, bare;
	unsigned seen = 0;
	for (int i = 0; i < nprograms; i++) {
		size_t n, nsym;
		const Elf64_Sym *sym;
		const char *text;
		unsigned char *p = whole(programs[i], &n);
		assert_int_equal(read_bytes(p, n, &s), 0);
		assert_true(s.musl && s.alone && s.n > 8 && !s.tid && s.gadget && (s.sigreturn || s.pop));
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
			const struct site *t = site_of(&s, known[k].kind, known[k].nr);
			seen += t != NULL;
			if (t && !is_in(p, t->offset, known[k].name))
				fail_msg("%s: the site of %s is not in it", programs[i], known[k].name);
		}
		/* The one place, and those of which the stub is jumped to. */
		assert_non_null(site_of(&s, SITE_CANCEL, -1));
		for (size_t k = 0; k < s.n; k++) {
			assert_false(is_in(p, s.site[k].offset, "__syscall_cp_asm") || is_in(p, s.site[k].offset, "sccp"));
			assert_true(s.site[k].taken >= 5 && s.site[k].taken <= SITE_BYTES);
			assert_memory_equal(at_address(p, s.site[k].offset), s.site[k].bytes, s.site[k].taken);
		}
		assert_true(is_in(p, s.stays[0], "__syscall_cp_asm") || is_in(p, s.stays[0], "sccp"));
		assert_true(sites_stay(&s, s.stays[0] + 2) && !sites_stay(&s, s.stays[0]) && !sites_stay(&s, 2));
		/* Its names are of no use to it. */
		names(p, &sym, &nsym, &text)->sh_type = SHT_NULL;
		assert_int_equal(read_bytes(p, n, &bare), 0);
		assert_int_equal(bare.n, s.n);
		for (size_t k = 0; k < s.n; k++)
			assert_int_equal(bare.site[k].offset, s.site[k].offset);
		free(p);
	}
	assert_true(seen > 8);
}

/* What is not as it is known is left alone. */
static void others(void **state)
{
	(void)state;
	static struct sites s, less;
	size_t n;
	unsigned char *p = whole(programs[0], &n);
	assert_int_equal(read_bytes(p, n, &s), 0);
	const struct site *dup2 = site_of(&s, SITE_DUP2, 33), *cancel = site_of(&s, SITE_CANCEL, -1);
	assert_true(dup2 && cancel && dup2->taken == 5);
	/* A jump to the middle of what changes. */
	unsigned char *c = at_address(p, dup2->offset);
	const unsigned char was = c[6];
	assert_int_equal(c[5], 0x74); /* dup2 tries again where another thread opens */
	c[6] = (unsigned char)(2 - 7);
	assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
	c[6] = was;
	assert_int_equal(read_bytes(p, n, &less), 0);
	/* No room behind it. */
	c[2] = 0xe8;
	assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
	c[2] = 0x83;
	/* The one place, by another instruction. */
	c = at_address(p, cancel->offset);
	c[0] = 0xe8;
	assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
	c[0] = 0xe9;
	c = at_address(p, s.stays[0]);
	c[2] = 0x90; /* no return behind it */
	assert_int_equal(read_bytes(p, n, &less), -ENOEXEC);
	free(p);
}

/* Cut short, or any byte another: nothing is read that is not there (for the address sanitizer). */
static void hostile(void **state)
{
	(void)state;
	static struct sites s;
	size_t n;
	unsigned char *p = whole(programs[0], &n);
	unsigned seed = 1;
	for (size_t cut = n; cut > 64; cut -= cut / 5 + 1)
		read_bytes(p, cut, &s);
	for (int i = 0; i < 200; i++) {
		seed = seed * 1103515245 + 12345;
		const size_t at = 64 + (seed >> 4) % (n - 64);
		const unsigned char was = p[at];
		p[at] = (unsigned char)(seed >> 16);
		read_bytes(p, n, &s);
		p[at] = was;
	}
	free(p);
}

int main(int argc, char **argv)
{
	programs = argv + 1;
	nprograms = argc - 1;
	const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(others), cmocka_unit_test(hostile)};
	return nprograms ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
