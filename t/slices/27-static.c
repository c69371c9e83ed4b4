/* A parser with state of its own, a table of handlers chosen by a word, and a result through two pointers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct settings {
	int size;
	char name[16];
};
static struct settings s = {4, "default"};
static int unused_limit = 7;
static void set_size(const char *v)
{
	s.size = atoi(v);
}
static void set_name(const char *v)
{
	strncpy(s.name, v, sizeof(s.name) - 1);
}
static const struct handler {
	const char *word;
	void (*set)(const char *);
} handlers[] = {{"size", set_size}, {"name", set_name}};
static void read_settings(void)
{
	char line[64];
	FILE *f = fopen("my.conf", "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *save, *word = strtok_r(line, "= \n", &save), *value = strtok_r(NULL, "= \n", &save);
		for (size_t i = 0; word && value && i < 2; i++)
			if (strcmp(word, handlers[i].word) == 0)
				handlers[i].set(value);
	}
	if (f)
		fclose(f);
}
static void swap(int **a, int **b)
{
	int *t = *a;
	*a = *b;
	*b = t;
}
int main(int argc, char **argv)
{
	int x = 1, y = 2, *p = &x, *q = &y;
	(void)argc;
	read_settings();
	printf("%d %s\n", s.size, s.name); /* OUT settings */
	printf("%d\n", unused_limit); /* OUT limit */
	if (atoi(argv[1]) > 0)
		swap(&p, &q);
	fprintf(stderr, "%d\n", *p); /* OUT pointed */
	y = atoi(argv[2]);
	fprintf(stderr, "%d\n", *q); /* OUT other */
	fprintf(stderr, "%d\n", x); /* OUT kept */
	return 0;
}
