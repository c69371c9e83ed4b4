/* process.c - what the header of a trace says of the process: its program, that one's build-id, and when it began. No
 * allocation, no lock of the dynamic linker's, no descriptor that stays open. */
#include "spec/runtime/process.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

void __stemma_trace_exe_path(char *ret, size_t n)
{
	ssize_t k = readlink("/proc/self/exe", ret, n - 1);
	ret[k > 0 ? k : 0] = '\0';
}

uint32_t __stemma_trace_build_id_note(const char *p, const char *end, unsigned char *ret, uint32_t n)
{
	while (end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)p;
		const char *name = p + sizeof(*note), *desc = name + ((note->n_namesz + 3) & ~3u);
		p = desc + ((note->n_descsz + 3) & ~3u);
		if (p > end)
			break;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= n &&
		    memcmp(name, "GNU", 4) == 0) {
			memcpy(ret, desc, note->n_descsz);
			return note->n_descsz;
		}
	}
	return 0;
}

void __stemma_trace_build_id(struct trace_header *h)
{
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long n = ph ? getauxval(AT_PHNUM) : 0;
	uintptr_t base = 0, file = (uintptr_t)ph - sizeof(ElfW(Ehdr));
	for (unsigned long i = 0; i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			base = (uintptr_t)ph - ph[i].p_vaddr;
		else if (ph[i].p_type == PT_LOAD && !ph[i].p_offset && !base) /* static programs say no more */
			base = file - ph[i].p_vaddr;
	for (unsigned long i = 0; i < n && !h->build_id_bytes; i++) {
		const char *p = (const char *)(base + ph[i].p_vaddr);
		if (ph[i].p_type == PT_NOTE)
			h->build_id_bytes = __stemma_trace_build_id_note(p, p + ph[i].p_memsz, h->build_id, sizeof(h->build_id));
	}
}

uint64_t __stemma_trace_process_start(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}
