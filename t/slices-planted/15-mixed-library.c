/* Pointers that may be an object's or the library's: what it hands out is memory that others change, too. */
#define _GNU_SOURCE
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static char mine[100] = "mine";
int main(int argc, char **argv)
{
	time_t zero = 0, later = 0;
	(void)argc;
	/* -- */
	char *value = getenv("PLANTED");
	if (!value)
		value = mine;
	value[0] = argv[1][0];
	char *again = getenv("PLANTED");
	puts(again ? again : "none"); /* OUT again */
	puts(mine); /* OUT mine */
	/* -- */
	struct tm *a = gmtime(&zero);
	later = atol(argv[2]);
	struct tm *b = gmtime(&later);
	(void)b;
	printf("%d\n", a->tm_year); /* OUT year */
	/* -- */
	static char entry[] = "KEPT=x";
	putenv(entry);
	entry[5] = argv[3][0];
	puts(getenv("KEPT")); /* OUT kept */
	/* -- */
	char words[] = "one two three";
	char *w = strtok(words, " ");
	words[4] = argv[4][0];
	w = strtok(NULL, " ");
	puts(w); /* OUT word */
	/* -- */
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	fputs(argv[5], f);
	fflush(f);
	puts(text); /* OUT stream */
	/* -- */
	char area[100] = "";
	FILE *g = fmemopen(area, sizeof(area), "w");
	fputs(argv[6], g);
	fclose(g);
	puts(area); /* OUT area */
	/* -- */
	char *line = mine;
	size_t room = 0;
	line = NULL;
	FILE *h = fmemopen(argv[7], strlen(argv[7]), "r");
	getline(&line, &room, h);
	puts(line); /* OUT line */
	/* -- */
	struct lconv *conv = localeconv();
	setlocale(LC_ALL, argv[8]);
	conv = localeconv();
	puts(conv->decimal_point); /* OUT point */
	/* -- */
	char *found = strchr(argv[9], 'x');
	char *part = found ? found : mine;
	part[0] = 'y';
	puts(argv[9]); /* OUT changed */
	return 0;
}
