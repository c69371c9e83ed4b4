/* Functions of the program that the library calls. */
#define _GNU_SOURCE
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int sign = 1, compared, trees, registered;
static int by_sign(const void *a, const void *b)
{
	compared++;
	return sign * (*(const int *)a - *(const int *)b);
}
static int by_context(const void *a, const void *b, void *context)
{
	return *(int *)context * (*(const int *)a - *(const int *)b);
}
static int equal(const void *a, const void *b)
{
	return strcmp(a, b);
}
static void visit(const void *node, VISIT v, int depth)
{
	(void)node;
	if (v == leaf || v == endorder)
		trees += depth + 1;
}
static void once(void)
{
	registered++;
}
static ssize_t keep(void *cookie, const char *text, size_t n)
{
	memcpy(cookie, text, n < 50 ? n : 50);
	return (ssize_t)n;
}
static int found(const char *path, const struct stat *st, int type)
{
	(void)st;
	(void)type;
	puts(path); /* OUT walked */
	return 0;
}
int main(int argc, char **argv)
{
	int v[3] = {2, 3, 1}, w[3] = {2, 3, 1}, u[3] = {1, 2, 0}, k = 1;
	(void)argc;
	/* -- */
	sign = atoi(argv[1]);
	qsort(v, 3, sizeof(int), by_sign);
	printf("%d\n", v[0]); /* OUT sorted */
	/* -- */
	u[2] = atoi(argv[2]);
	compared = 0;
	sign = 1;
	qsort(u, 3, sizeof(int), by_sign);
	printf("%d\n", compared); /* OUT compared */
	/* -- */
	k = atoi(argv[3]);
	qsort_r(w, 3, sizeof(int), by_context, &k);
	printf("%d\n", w[0]); /* OUT context */
	/* -- */
	void *root = NULL;
	tsearch("m", &root, equal);
	tsearch(argv[4], &root, equal);
	twalk(root, visit);
	printf("%d\n", trees); /* OUT tree */
	/* -- */
	pthread_once_t control = PTHREAD_ONCE_INIT;
	if (atoi(argv[5]))
		pthread_once(&control, once);
	pthread_once(&control, once);
	printf("%d\n", registered); /* OUT once */
	/* -- */
	char kept[64] = "";
	FILE *f = fopencookie(kept, "w", (cookie_io_functions_t){.write = keep});
	fputs(argv[6], f);
	fclose(f);
	puts(kept); /* OUT cookie */
	/* -- */
	ftw(argv[7], found, 5);
	return 0;
}
