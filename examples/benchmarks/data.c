#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		fail("memory");
	return p;
}

unsigned long long data_random(unsigned long long *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

double data_uniform(unsigned long long *state)
{
	return (double)(data_random(state) >> 11) / 9007199254740992.0;
}

void data_points(const char *path, struct points *ret)
{
	FILE *f = fopen(path, "r");
	if (!f || fscanf(f, "%zu %zu", &ret->n, &ret->dim) != 2 || ret->n > 1000000 || ret->dim > 64)
		fail(path);
	ret->v = room(ret->n * ret->dim, sizeof(double));
	ret->label = room(ret->n, sizeof(int));
	for (size_t i = 0; i < ret->n; i++) {
		for (size_t d = 0; d < ret->dim; d++)
			if (fscanf(f, "%lf", &ret->v[i * ret->dim + d]) != 1)
				fail(path);
		if (fscanf(f, "%d", &ret->label[i]) != 1)
			fail(path);
	}
	fclose(f);
}

void data_baskets(const char *path, struct baskets *ret)
{
	char line[4096];
	FILE *f = fopen(path, "r");
	if (!f || fscanf(f, "%zu %zu\n", &ret->n, &ret->items) != 2 || ret->n > 1000000 || ret->items > 64)
		fail(path);
	ret->words = (ret->n + 63) / 64;
	for (size_t i = 0; i < ret->items; i++)
		ret->has[i] = room(ret->words, sizeof(unsigned long long));
	for (size_t i = 0; i < ret->n && fgets(line, sizeof(line), f); i++)
		for (char *p = strtok(line, " \n"); p; p = strtok(NULL, " \n")) {
			unsigned long item = strtoul(p, NULL, 10);
			if (item < ret->items)
				ret->has[item][i / 64] |= 1ULL << i % 64;
		}
	fclose(f);
}

double data_distance2(const double *a, const double *b, size_t dim)
{
	double sum = 0;
	for (size_t d = 0; d < dim; d++)
		sum += (a[d] - b[d]) * (a[d] - b[d]);
	return sum;
}

size_t data_support(const struct baskets *b, unsigned long long itemset)
{
	size_t count = 0;
	for (size_t w = 0; w < b->words; w++) {
		unsigned long long all = ~0ULL;
		for (size_t i = 0; i < b->items; i++)
			if (itemset >> i & 1)
				all &= b->has[i][w];
		if (w == b->words - 1 && b->n % 64)
			all &= (1ULL << b->n % 64) - 1;
		count += (size_t)__builtin_popcountll(all);
	}
	return count;
}

double data_number(int argc, char **argv, const char *option, double otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], option))
			return atof(argv[i + 1]);
	return otherwise;
}

const char *data_file(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s [OPTIONS] FILE\n", argv[0]);
		exit(2);
	}
	return argv[argc - 1];
}
