/* redact_corpus FILE... - reads cases of tests/redact (gone*.tsv), redacts each as the recorder does, and prints the
 * cases whose secret is still there. The last line: how many cases, how many leaks. Ends with 1 if more than one in a
 * hundred leak. redact_corpus --stays - reads command lines from standard input, arguments with TABs between, and
 * prints those that do not come back as they were. */
#include "redact/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 64

/* Takes out the mark and the escapes, in place. */
static void decode(char *s)
{
	char *to = s;
	for (; *s; s++) {
		if (!strncmp(s, "\xc2\xa6", 2)) {
			s++;
			continue;
		}
		if (*s == '\\' && s[1]) {
			s++;
			*to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
			continue;
		}
		*to++ = *s;
	}
	*to = '\0';
}

static void redact_case(char *const *v, size_t n, struct buf *out)
{
	struct redact r = {0};
	buf_reset(out);
	for (size_t i = 3; i < n; i++) {
		if (!strcmp(v[1], "argv"))
			redact_arg(&r, out, str_of(v[i]));
		else if (!strcmp(v[1], "name"))
			redact_path(out, str_of(v[i]));
		else
			redact_env(out, str_of(v[i]));
		buf_char(out, '\n');
	}
}

static int stays(void)
{
	struct buf out = {0}, want = {0};
	char *line = NULL, *v[COLUMNS * 16];
	size_t cap = 0, lines = 0, changed = 0;
	while (getline(&line, &cap, stdin) > 0) {
		struct redact r = {0};
		size_t n = 0;
		line[strcspn(line, "\n")] = '\0';
		for (char *p = line; p && n < sizeof(v) / sizeof(*v); n++) {
			v[n] = strsep(&p, "\t");
			decode(v[n]);
		}
		buf_reset(&out);
		buf_reset(&want);
		for (size_t i = 0; i < n; i++) {
			redact_arg(&r, &out, str_of(v[i]));
			buf_printf(&want, "%s\t", v[i]);
			buf_char(&out, '\t');
		}
		lines++;
		if (str_eq(buf_view(&out), buf_view(&want)))
			continue;
		changed++;
		printf("%s\n     -> %s\n", buf_cstr(&want), buf_cstr(&out));
	}
	printf("%zu lines, %zu changed\n", lines, changed);
	free(line);
	buf_release(&out);
	buf_release(&want);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--stays"))
		return stays();
	size_t cases = 0, leaks = 0;
	struct buf out = {0};
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "r");
		char *line = NULL;
		size_t cap = 0;
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		while (getline(&line, &cap, f) > 0) {
			char *v[COLUMNS];
			size_t n = 0;
			if (*line == '#')
				continue;
			line[strcspn(line, "\n")] = '\0';
			for (char *p = strtok(line, "\t"); p && n < COLUMNS; p = strtok(NULL, "\t"))
				v[n++] = p;
			for (size_t k = 0; k < n; k++)
				decode(v[k]);
			if (n < 4)
				continue;
			cases++;
			redact_case(v, n, &out);
			if (!strstr(buf_cstr(&out), v[2]))
				continue;
			leaks++;
			printf("leak: %s: %s: %s", v[0], v[2], buf_cstr(&out));
		}
		free(line);
		fclose(f);
	}
	buf_release(&out);
	printf("%zu cases, %zu leaks\n", cases, leaks);
	return !cases || leaks * 100 > cases;
}
