/* A list on the heap, and a buffer beside it. */
#include <stdio.h>
#include <stdlib.h>
struct item {
	struct item *next;
	int value;
};
static struct item *push(struct item *list, int value)
{
	struct item *i = malloc(sizeof(*i));
	i->next = list;
	i->value = value;
	return i;
}
int main(int argc, char **argv)
{
	struct item *list = NULL;
	int sum = 0;
	for (int i = 1; i < argc; i++)
		list = push(list, atoi(argv[i]));
	for (struct item *i = list; i; i = i->next)
		sum += i->value;
	char *b = malloc(16);
	FILE *f = fopen("name.txt", "r");
	if (f && fgets(b, 16, f))
		fclose(f);
	fprintf(stderr, "%s\n", b); /* OUT name */
	printf("%d\n", sum); /* OUT sum */
	return 0;
}
