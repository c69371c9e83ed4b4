/* p-omp CASE: OpenMP threads that read and write. As p-beside. */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, THREADS = 4 };
static const char *name;
static char data[100000];

static long moved(ssize_t n, const char *what)
{
	if (n < 0) {
		perror(what);
		exit(1);
	}
	return n;
}

static void tell(const char *path, long r, long w)
{
	dprintf(9, "%s %s %ld %ld\n", name, path, r, w);
}

static int open_nth(const char *what, int i, int flags)
{
	char path[16];
	snprintf(path, sizeof(path), "%s%d", what, i);
	return (int)moved(open(path, flags, 0644), path);
}

static void prepare(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd = open_nth("in", i, O_WRONLY | O_CREAT);
		moved(write(fd, data, 5000 + (size_t)i), "write");
		close(fd);
	}
}

static void tell_all(const long *r, const long *w)
{
	for (int i = 0; i < FILES; i++) {
		char in[16], out[16];
		snprintf(in, sizeof(in), "in%d", i);
		snprintf(out, sizeof(out), "out%d", i);
		tell(in, r[i], 5000 + i);
		tell(out, 0, w[i]);
	}
}

/* One iteration, one file. */
static void copy(int i, long *r, long *w)
{
	char room[512];
	int a = open_nth("in", i, O_RDONLY), b = open_nth("out", i, O_WRONLY | O_CREAT);
	for (ssize_t n; (n = read(a, room, (size_t)(100 + i))) > 0;) {
		*r += n;
		*w += moved(write(b, room, (size_t)n), "write");
	}
	close(a);
	close(b);
}

static void loop(void)
{
	long r[FILES] = {0}, w[FILES] = {0};
	prepare();
#pragma omp parallel for schedule(dynamic) num_threads(THREADS)
	for (int i = 0; i < FILES; i++)
		copy(i, &r[i], &w[i]);
	tell_all(r, w);
}

static void tasks(void)
{
	long r[FILES] = {0}, w[FILES] = {0};
	prepare();
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	for (int i = 0; i < FILES; i++)
#pragma omp task firstprivate(i) shared(r, w)
		copy(i, &r[i], &w[i]);
	tell_all(r, w);
}

/* All read one file, each at its place, and write one after the other. */
static void shared(void)
{
	long r = 0, w = 0;
	int a = (int)moved(open("in", O_RDWR | O_CREAT, 0644), "in"),
	    b = (int)moved(open("out", O_WRONLY | O_CREAT, 0644), "out");
	long given = moved(write(a, data, 50000), "write");
#pragma omp parallel for reduction(+ : r, w) num_threads(THREADS)
	for (int i = 0; i < 100; i++) {
		char room[512];
		r += moved(pread(a, room, sizeof(room), 500L * i), "pread");
#pragma omp critical
		w += moved(write(b, room, 50 + (size_t)i % 7), "write");
	}
	close(a);
	close(b);
	tell("in", r, given);
	tell("out", 0, w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"loop", loop}, {"tasks", tasks}, {"shared", shared}};
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			name = argv[1];
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	return argc > 1;
}
