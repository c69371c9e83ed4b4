/* monitor_work REPORT cpu N | memory MIB | io FILE MIB KIB - works that know what they use, for bench/monitor.py.
 *
 * cpu: N times the sine and cosine of a random number. memory: fills so much. io: writes a file of that size with a
 * buffer of that size and reads it back. What was used is written to REPORT as the last thing:
 * CPU ns up to then, resident bytes (of /proc/self/smaps_rollup, which counts the page tables and is exact where other
 * files of /proc are not), and the bytes read and written, among them those of the dynamic loader before main. */
#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB 1048576ull

static uint64_t have_read, have_written;
static uint64_t resident;
volatile double sink;

static size_t slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	for (ssize_t k; fd >= 0 && (k = read(fd, text + n, size - 1 - n)) > 0;)
		n += (size_t)k;
	if (fd < 0 || !n)
		err(1, "%s", path);
	close(fd);
	text[n] = 0;
	have_read += n;
	return n;
}

/* What the loader read before main. */
static void begin(void)
{
	char text[1024];
	size_t n = slurp("/proc/self/io", text, sizeof(text));
	char *at = strstr(text, "rchar: ");
	have_read = n + (at ? strtoull(at + 7, NULL, 10) : 0);
}

static void cpu(uint64_t turns)
{
	uint64_t state = 88172645463325252ull;
	double sum = 0;
	for (uint64_t i = 0; i < turns; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		double x = (double)(state >> 11) * 0x1p-50;
		sum += sin(x) * cos(x);
	}
	sink = sum;
}

static void memory(uint64_t size)
{
	char text[4096], *at;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	memset(p, 1, size);
	slurp("/proc/self/smaps_rollup", text, sizeof(text));
	if (!(at = strstr(text, "Rss:")))
		errx(1, "no Rss");
	resident = strtoull(at + 4, NULL, 10) * 1024;
}

static void io(const char *path, uint64_t size, size_t buffer)
{
	char *p = calloc(1, buffer);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!p || fd < 0)
		err(1, "%s", path);
	for (uint64_t at = 0; at < size; at += buffer) {
		if (write(fd, p, buffer) != (ssize_t)buffer)
			err(1, "write");
		have_written += buffer;
	}
	if (lseek(fd, 0, SEEK_SET) != 0)
		err(1, "lseek");
	for (ssize_t n; (n = read(fd, p, buffer)) > 0;)
		have_read += (uint64_t)n;
	close(fd);
	unlink(path);
	free(p);
}

int main(int argc, char **argv)
{
	struct timespec used;
	char text[256];
	begin();
	if (argc == 4 && !strcmp(argv[2], "cpu"))
		cpu(strtoull(argv[3], NULL, 10));
	else if (argc == 4 && !strcmp(argv[2], "memory"))
		memory(strtoull(argv[3], NULL, 10) * MIB);
	else if (argc == 6 && !strcmp(argv[2], "io"))
		io(argv[3], strtoull(argv[4], NULL, 10) * MIB, strtoull(argv[5], NULL, 10) * 1024);
	else
		errx(2, "usage: monitor_work REPORT cpu N | memory MIB | io FILE MIB KIB");
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		err(1, "%s", argv[1]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	/* always as long as this */
	int n =
	    snprintf(text, sizeof(text), "{\"cpu\": %20llu, \"resident\": %20llu, \"read\": %20llu, \"written\": %20llu}\n",
	             (unsigned long long)used.tv_sec * 1000000000ull + (unsigned long long)used.tv_nsec,
	             (unsigned long long)resident, (unsigned long long)have_read, (unsigned long long)have_written);
	n = snprintf(text, sizeof(text), "{\"cpu\": %20llu, \"resident\": %20llu, \"read\": %20llu, \"written\": %20llu}\n",
	             (unsigned long long)used.tv_sec * 1000000000ull + (unsigned long long)used.tv_nsec,
	             (unsigned long long)resident, (unsigned long long)have_read,
	             (unsigned long long)have_written + (unsigned)n);
	if (write(fd, text, (size_t)n) != n)
		err(1, "%s", argv[1]);
	return 0;
}
