/* fuzz_file.h - an input as a file, for readers that take a path; and an assertion that no build leaves out. */
#ifndef STEMMA_FUZZ_FILE_H
#define STEMMA_FUZZ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert, which a build may leave out. */
#define must(ok) ((ok) ? (void)0 : must_failed(#ok, __FILE__, __LINE__))
static inline _Noreturn void must_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

/* A file without a name that holds the bytes. path: what opens it. Its descriptor; the caller closes it. */
static inline int fuzz_file(const void *p, size_t n, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* The bytes up to the first NUL, which is passed over, with a NUL of their own; malloc'ed. */
static inline char *fuzz_text(const uint8_t **at, size_t *left)
{
	size_t n = 0;
	while (n < *left && (*at)[n])
		n++;
	char *text = malloc(n + 1);
	must(text != NULL);
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(*at)[i];
	text[n] = '\0';
	*at += n;
	*left -= n;
	if (*left) {
		++*at;
		--*left;
	}
	return text;
}

#endif
