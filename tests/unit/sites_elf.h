/* What the tests of call sites in programs share: programs' bytes, as files. */
#ifndef STEMMA_TESTS_SITES_ELF_H
#define STEMMA_TESTS_SITES_ELF_H

#include "capture/inject/sites.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char **programs;
static int nprograms;

/* A file's bytes; the caller's. */
static unsigned char *whole(const char *path, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	off_t size = lseek(fd, 0, SEEK_END);
	unsigned char *p = malloc((size_t)size);
	assert_true(pread(fd, p, (size_t)size, 0) == size);
	close(fd);
	*ret_n = (size_t)size;
	return p;
}

/* What sites_read says of a file of these bytes. */
static int read_bytes(const unsigned char *p, size_t n, struct sites *ret)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	int rc = sites_read(fd, ret);
	close(fd);
	return rc;
}

#endif
