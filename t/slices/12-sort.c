/* A sort by a function that looks at a variable. */
#include <stdio.h>
#include <stdlib.h>
static int descending;
static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return descending ? y - x : x - y;
}
int main(int argc, char **argv)
{
	int v[3] = {3, 1, 2}, w[2] = {7, 8};
	(void)argc;
	descending = getenv("DOWN") != NULL;
	v[1] = atoi(argv[1]);
	qsort(v, 3, sizeof(*v), compare);
	printf("%d %d %d\n", v[0], v[1], v[2]); /* OUT sorted */
	printf("%d %d\n", w[0], w[1]); /* OUT still */
	printf("%s\n", argv[2]); /* OUT second */
	return 0;
}
