/* A shared library of two pages, made here by hand: headers, string table and dynamic section on the first, which ends
 * before its page does; data that may be written on the second. */
#include "capture/attach/attach_elf.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PAGE 4096u
#define STRINGS 0x400u  /* offset and address of the string table */
#define DYNAMIC 0x1000u /* of the dynamic section: the beginning of the second page */
#define LIBRARY "/opt/stemma/libours.so"

static const char strings[] = "\0libhdf5.so.103\0my_H5Dwrite\0H5Dread";

/* The segment that is only read has `used` bytes; the dynamic section these entries, which `spare` empty ones end. */
static void make_image(unsigned char image[2 * PAGE], size_t used, const Elf64_Dyn *more, size_t nmore, size_t spare)
{
	const Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	                      .e_type = ET_DYN,
	                      .e_machine = EM_X86_64,
	                      .e_phoff = sizeof(e),
	                      .e_phentsize = sizeof(Elf64_Phdr),
	                      .e_phnum = 3};
	const size_t ndynamic = 2 + nmore + spare;
	const Elf64_Phdr h[] = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = used, .p_memsz = used, .p_align = PAGE},
	                        {.p_type = PT_LOAD,
	                         .p_flags = PF_R | PF_W,
	                         .p_offset = DYNAMIC,
	                         .p_vaddr = 0x3000,
	                         .p_filesz = 512,
	                         .p_memsz = 900},
	                        {.p_type = PT_DYNAMIC,
	                         .p_flags = PF_R | PF_W,
	                         .p_offset = DYNAMIC,
	                         .p_vaddr = 0x3000,
	                         .p_filesz = ndynamic * sizeof(Elf64_Dyn),
	                         .p_memsz = ndynamic * sizeof(Elf64_Dyn)}};
	const Elf64_Dyn first[] = {{.d_tag = DT_STRTAB, .d_un.d_ptr = STRINGS},
	                           {.d_tag = DT_STRSZ, .d_un.d_val = sizeof(strings)}};
	memset(image, 0, 2 * PAGE);
	memcpy(image, &e, sizeof(e));
	memcpy(image + sizeof(e), h, sizeof(h));
	memcpy(image + STRINGS, strings, sizeof(strings));
	memcpy(image + DYNAMIC, first, sizeof(first));
	if (nmore)
		memcpy(image + DYNAMIC + sizeof(first), more, nmore * sizeof(*more));
}

/* The value of the one entry with that tag; it is a mistake if there is none, or another one. */
static uint64_t value_of(const unsigned char *image, Elf64_Sxword tag)
{
	uint64_t ret = 0;
	int found = 0;
	for (const unsigned char *p = image + DYNAMIC;; p += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;
		memcpy(&d, p, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == tag) {
			ret = d.d_un.d_val;
			found++;
		}
	}
	assert_int_equal(found, 1);
	return ret;
}

/* As the linker reads it: behind the address of the string table. */
static void is_attached(const unsigned char *image)
{
	const uint64_t address = STRINGS + value_of(image, DT_AUXILIARY);
	assert_true(address < PAGE);
	assert_string_equal((const char *)image + address, LIBRARY);
	assert_true(value_of(image, DT_FLAGS_1) & DF_1_NODELETE);
}

static void spare_entries(void **state)
{
	unsigned char image[2 * PAGE];
	(void)state;
	make_image(image, 0x800, NULL, 0, 3);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), 0);
	is_attached(image);
	make_image(image, 0x800, NULL, 0, 2);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -ENOSPC);
}

static void flags_and_count(void **state)
{
	const Elf64_Dyn flags = {.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_NOW};
	const Elf64_Dyn count = {.d_tag = DT_RELACOUNT, .d_un.d_val = 7};
	unsigned char image[2 * PAGE];
	(void)state;
	make_image(image, 0x800, &flags, 1, 2);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), 0);
	is_attached(image);
	assert_true(value_of(image, DT_FLAGS_1) & DF_1_NOW);
	make_image(image, 0x800, &count, 1, 2);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), 0);
	is_attached(image);
}

static void other_libraries(void **state)
{
	const Elf64_Dyn filter = {.d_tag = DT_FILTER, .d_un.d_val = 1};
	unsigned char image[2 * PAGE], was[2 * PAGE];
	(void)state;
	make_image(image, 0x800, &filter, 1, 4);
	memcpy(was, image, sizeof(was));
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -EEXIST);
	assert_memory_equal(image, was, sizeof(was));
	/* No room behind the segment: it ends where its page does, or 22 bytes before. */
	make_image(image, PAGE, NULL, 0, 4);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -ENOSPC);
	make_image(image, PAGE - (sizeof(LIBRARY) - 1), NULL, 0, 4);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -ENOSPC);
	make_image(image, PAGE - sizeof(LIBRARY), NULL, 0, 4);
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), 0);
	is_attached(image);
	/* Something stands there. */
	make_image(image, 0x800, NULL, 0, 4);
	image[0x805] = 1;
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -ENOSPC);
}

static void cut_short(void **state)
{
	unsigned char image[2 * PAGE], was[2 * PAGE];
	(void)state;
	make_image(image, 0x800, NULL, 0, 4);
	memcpy(was, image, sizeof(was));
	for (size_t n = 0; n < DYNAMIC + 64; n++)
		assert_int_equal(attach_elf_add(image, n, LIBRARY), -ENOEXEC);
	assert_memory_equal(image, was, sizeof(was));
	image[EI_CLASS] = ELFCLASS32;
	assert_int_equal(attach_elf_add(image, sizeof(image), LIBRARY), -ENOEXEC);
}

static void names(void **state)
{
	unsigned char image[2 * PAGE];
	(void)state;
	make_image(image, 0x800, NULL, 0, 4);
	assert_true(attach_elf_names(image, sizeof(image), "H5Dwrite")); /* the end of another name */
	assert_true(attach_elf_names(image, sizeof(image), "H5Dread"));
	assert_false(attach_elf_names(image, sizeof(image), "H5Dwrit"));
	assert_false(attach_elf_names(image, 100, "H5Dread"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(spare_entries), cmocka_unit_test(flags_and_count),
	                                   cmocka_unit_test(other_libraries), cmocka_unit_test(cut_short),
	                                   cmocka_unit_test(names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
