/* p-memory CASE MB ARGUMENT... - has so much memory of a kind that is easily missed, and prints how much it was at its
 * most ("memory BYTES"), which is what it has touched itself. What is printed leaves out the program's own pages (below
 * 4 MiB). Ends with 77 where the machine has no such memory.
 *
 *   huge MB              pages of the machine's pool (MAP_HUGETLB), touched; given back before its end
 *   hugekept MB          ... kept to the end
 *   thp MB               pages that the kernel makes huge by itself (MADV_HUGEPAGE)
 *   memfd MB MS          a file in memory that is written and never mapped, kept for so long, then closed
 *   mapped MB MS         ... that is filled through a mapping, which is then given back; kept so long
 *   file MB MS FILE      a file of a file system in memory, written, closed, kept so long, removed
 *   sysv MB MS           a segment of System V, filled, detached, kept so long, removed
 *   spikes MB N MS       N processes that live together; one after the other has so much for so long */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_HUGETLB
#define MAP_HUGETLB 0x40000
#endif
#define NONE 77

static size_t size;

static void nap(unsigned ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

static void *touched(int flags, int fd)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		exit(NONE);
	if (flags == (MAP_PRIVATE | MAP_ANONYMOUS))
		madvise(p, size, MADV_HUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return p;
}

static void fill(int fd)
{
	static char piece[1 << 20];
	memset(piece, 1, sizeof(piece));
	for (size_t i = 0; i < size; i += sizeof(piece))
		if (write(fd, piece, sizeof(piece)) != (ssize_t)sizeof(piece))
			exit(NONE);
}

/* Each waits for its turn: a byte from the one before. */
static void spikes(unsigned n, unsigned ms)
{
	int in[2], out[2];
	if (pipe(in) < 0)
		exit(1);
	int turn = in[0], first = in[1];
	for (unsigned i = 0; i < n; i++, turn = out[0]) {
		char byte;
		if (pipe(out) < 0)
			exit(1);
		if (fork() > 0)
			continue;
		close(first);
		if (read(turn, &byte, 1) != 1)
			exit(1);
		void *p = touched(MAP_PRIVATE | MAP_ANONYMOUS, -1);
		nap(ms);
		munmap(p, size);
		if (write(out[1], "", 1) != 1)
			exit(1);
		/* They end together. */
		nap((n - i) * (ms + 300));
		exit(0);
	}
	if (write(first, "", 1) != 1)
		exit(1);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *what = argv[1];
	unsigned ms = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	size = (size_t)atoi(argv[2]) << 20;
	if (!strcmp(what, "huge") || !strcmp(what, "hugekept")) {
		void *p = touched(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
		nap(700);
		if (!strcmp(what, "huge"))
			munmap(p, size);
	} else if (!strcmp(what, "thp")) {
		touched(MAP_PRIVATE | MAP_ANONYMOUS, -1);
		nap(300);
	} else if (!strcmp(what, "memfd")) {
		int fd = memfd_create("much", 0);
		fill(fd);
		nap(ms);
		close(fd);
	} else if (!strcmp(what, "mapped")) {
		int fd = memfd_create("much", 0);
		if (ftruncate(fd, (off_t)size) < 0)
			return NONE;
		munmap(touched(MAP_SHARED, fd), size);
		nap(ms);
		close(fd);
	} else if (!strcmp(what, "file") && argc > 4) {
		int fd = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		fill(fd);
		close(fd);
		nap(ms);
		unlink(argv[4]);
	} else if (!strcmp(what, "sysv")) {
		int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
		char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
		if (p == (void *)-1)
			return NONE;
		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		shmdt(p);
		nap(ms);
		shmctl(id, IPC_RMID, NULL);
	} else if (!strcmp(what, "spikes") && argc > 4) {
		spikes(ms, (unsigned)atoi(argv[4]));
	} else {
		return 2;
	}
	printf("memory %zu\n", size);
	return 0;
}
