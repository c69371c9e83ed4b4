/* store_bench.c - what indexing and asking cost, on the logs of generate.c: stemma-bench-store DIR
 *
 * Indexes DIR/main, lets the late log arrive, indexes again, then asks each question REPEATS times and prints a
 * Markdown table with the middle and the quartiles. All times are CPU time of the process, its threads and the kernel
 * on its behalf: they hold on a busy machine, too. Questions are asked in one process with the store's pages in memory,
 * as after a first question. */
#include "query/lineage/lineage.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { REPEATS = 15 };

struct facts {
	char deep[1024], read[1024], source[1024];
};

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void fail(const char *what, const struct err *err)
{
	fprintf(stderr, "store_bench: %s: %s\n", what, err->text);
	exit(1);
}

static int read_facts(const char *dir, struct facts *ret)
{
	char path[4096], line[1024];
	snprintf(path, sizeof(path), "%s/facts", dir);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	*ret = (struct facts){0};
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "deep=", 5))
			snprintf(ret->deep, sizeof(ret->deep), "%s", line + 5);
		else if (!strncmp(line, "read=", 5))
			snprintf(ret->read, sizeof(ret->read), "%s", line + 5);
		else if (!strncmp(line, "source=", 7))
			snprintf(ret->source, sizeof(ret->source), "%s", line + 7);
	}
	fclose(f);
	return ret->deep[0] && ret->read[0] && ret->source[0] ? 0 : -EINVAL;
}

/* Brings the store up to date in CPU seconds. */
static double index_once(const char *home, unsigned flags, struct store_index_stats *ret)
{
	struct err err = {0};
	struct store *s;
	struct store_index_options o = {0};
	double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (store_open(home, STORE_WRITE | flags, &err, &s) < 0)
		fail("cannot open the store", &err);
	if (store_index(s, &o, &err, ret) < 0)
		fail("cannot index", &err);
	store_close(s);
	return seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
}

/* The index's size with what has not been folded into it yet. */
static double index_megabytes(const char *home)
{
	struct err err = {0};
	char *index, path[4096];
	double bytes = 0;
	if (store_places(home, &err, NULL, &index) < 0)
		fail("cannot find the store", &err);
	static const char *const parts[] = {"", "-wal"};
	for (int i = 0; i < 2; i++) {
		struct stat st;
		snprintf(path, sizeof(path), "%s%s", index, parts[i]);
		if (stat(path, &st) == 0)
			bytes += (double)st.st_size;
	}
	free(index);
	return bytes / 1e6;
}

static store_id latest(struct store *s, const char *path)
{
	store_id file, version;
	if (store_files_by_path(s, str_of(path), &file, 1) < 1 || store_version_of(s, file, 0, &version) < 1) {
		fprintf(stderr, "store_bench: the store does not know '%s'\n", path);
		exit(1);
	}
	return version;
}

static void row(const char *what, double v[REPEATS], const char *unit, double scale, const char *target,
                const char *note)
{
	qsort(v, REPEATS, sizeof(*v), by_value);
	printf("| %s | %.3g %s (%.3g … %.3g) | %s | %s |\n", what, v[REPEATS / 2] * scale, unit, v[REPEATS / 4] * scale,
	       v[REPEATS * 3 / 4] * scale, target, note);
}

static void ask_lineage(struct store *s, const char *what, store_id root, const struct lineage_options *o,
                        const char *target)
{
	double v[REPEATS];
	size_t versions = 0, executions = 0;
	for (int i = 0; i < REPEATS; i++) {
		struct err err = {0};
		struct lineage l;
		double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (lineage_walk(s, &root, 1, o, &err, &l) < 0)
			fail("cannot walk", &err);
		v[i] = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
		versions = executions = 0;
		for (size_t k = 0; k < l.n_nodes; k++)
			*(l.nodes[k].exec ? &executions : &versions) += 1;
		lineage_release(&l);
	}
	char note[96];
	snprintf(note, sizeof(note), "%zu versions, %zu executions", versions, executions);
	row(what, v, "ms", 1e3, target, note);
}

static void ask_readers(struct store *s, const char *what, store_id version, const char *target)
{
	double v[REPEATS];
	struct edges e = {0};
	for (int i = 0; i < REPEATS; i++) {
		double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (store_readers(s, version, &e) < 0) {
			fprintf(stderr, "store_bench: cannot read the readers\n");
			exit(1);
		}
		v[i] = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
	}
	char note[64];
	snprintf(note, sizeof(note), "%zu readers", e.n);
	row(what, v, "ms", 1e3, target, note);
	edges_release(&e);
}

static void ask(const char *home, const struct facts *f)
{
	struct err err = {0};
	struct store *s;
	if (store_open(home, STORE_READ, &err, &s) < 0)
		fail("cannot open the store", &err);
	store_id deep = latest(s, f->deep);
	ask_lineage(s, "all ancestors of the deepest file", deep, &(struct lineage_options){.direction = LINEAGE_UP},
	            "≤ 60 ms");
	ask_lineage(s, "the same, versions and executions alone, as `find` asks", deep,
	            &(struct lineage_options){.direction = LINEAGE_UP, .nodes = true}, "≤ 20 ms");
	ask_lineage(s, "its ancestors to depth 100", deep, &(struct lineage_options){.direction = LINEAGE_UP, .depth = 100},
	            "≤ 40 ms");
	ask_lineage(s, "its ancestors to depth 10", deep, &(struct lineage_options){.direction = LINEAGE_UP, .depth = 10},
	            "");
	ask_lineage(s, "all that came from one source", latest(s, f->source),
	            &(struct lineage_options){.direction = LINEAGE_DOWN}, "");
	ask_readers(s, "readers of one version", latest(s, f->read), "≤ 1 ms");
	ask_readers(s, "readers of one source", latest(s, f->source), "");
	store_close(s);
}

int main(int argc, char **argv)
{
	char home[2048], from[4096], to[4096];
	struct facts f;
	struct store_index_stats first = {0}, late = {0}, again = {0};
	if (argc != 2 || strlen(argv[1]) > sizeof(home) - 64) {
		fprintf(stderr, "usage: %s DIR (made by stemma-bench-generate)\n", argv[0]);
		return 2;
	}
	int r = read_facts(argv[1], &f);
	if (r < 0) {
		fprintf(stderr, "store_bench: cannot read '%s/facts': %s\n", argv[1], strerror(-r));
		return 1;
	}
	snprintf(home, sizeof(home), "%s/main", argv[1]);
	double cpu = index_once(home, 0, &first);
	snprintf(from, sizeof(from), "%s/late/logs/node1/2026-01-02", argv[1]);
	snprintf(to, sizeof(to), "%s/logs/node1/2026-01-02", home);
	if (rename(from, to) < 0) {
		fprintf(stderr, "store_bench: cannot move '%s': %s\n", from, strerror(errno));
		return 1;
	}
	double cpu_late = index_once(home, 0, &late);
	double megabytes = index_megabytes(home);

	printf("| what | measured (quartiles) | target | found |\n|---|---|---|---|\n");
	printf("| indexing, the late log after the other | %.2f + %.2f = %.2f s CPU | ≤ 3 s | %llu events |\n", cpu,
	       cpu_late, cpu + cpu_late, (unsigned long long)(first.events + late.events));
	/* What the late log explains is not there any more: new versions do not add up to those that there are. */
	printf("| size of the index | %.1f MB | ≤ 75 MB | %llu executions; the late log brings %llu versions |\n",
	       megabytes, (unsigned long long)(first.new_executions + late.new_executions),
	       (unsigned long long)late.new_versions);
	ask(home, &f);
	double cpu_again = index_once(home, STORE_REBUILD, &again);
	printf("| rebuilding from both logs | %.2f s CPU | | %llu executions, %llu versions |\n", cpu_again,
	       (unsigned long long)again.new_executions, (unsigned long long)again.new_versions);
	return 0;
}
