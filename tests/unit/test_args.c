/* What a compiler's command line says (cc/args.h). */
#include "cc/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Splits at blanks. */
static void parse(const char *text, struct args *ret)
{
	char copy[512], *argv[32];
	size_t n = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *save, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	argv[n] = NULL;
	assert_int_equal(args_parse(argv, ret), 0);
}

/* The arguments that are inputs, with blanks between. */
static void inputs_of(const struct args *a, struct buf *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->input[i])
			buf_printf(b, "%s%s", b->n ? " " : "", a->v[i]);
}

static void commands(void **state)
{
	(void)state;
	static const struct {
		const char *text, *inputs, *output; /* output: NULL none */
		bool makes, links, from_stdin;
		size_t compiler;
	} rows[] = {
	    {"cc a.c", "a.c", NULL, true, true, false, 0},
	    {"cc -c a.c", "a.c", NULL, true, false, false, 0},
	    {"cc -S a.c -o x.s", "a.c", "x.s", true, false, false, 0},
	    {"cc -E a.c", "a.c", NULL, true, false, false, 0},
	    {"cc -fsyntax-only a.c", "a.c", NULL, true, false, false, 0},
	    {"cc a.o b.o -o prog -lm", "a.o b.o", "prog", true, true, false, 0},
	    {"cc -oprog a.o", "a.o", "prog", true, true, false, 0},
	    {"cc -I inc -I. -D X=1 -U Y -include h.h a.c", "a.c", NULL, true, true, false, 0},
	    {"cc -MF d.d -MT t -MQ q -MD -c a.c", "a.c", NULL, true, false, false, 0},
	    {"cc -x c - -c", "-", NULL, true, false, true, 0},
	    {"cc --version", "", NULL, false, true, false, 0},
	    {"cc -v", "", NULL, false, true, false, 0},
	    {"cc -print-search-dirs", "", NULL, false, true, false, 0},
	    {"cc -Xlinker a.o b.c", "b.c", NULL, true, true, false, 0},
	    {"cc -Wl,a.o b.c", "b.c", NULL, true, true, false, 0},
	    {"cc -L dir -T script.ld b.c", "b.c", NULL, true, true, false, 0},
	    {"ccache gcc -c a.c", "a.c", NULL, true, false, false, 1},
	    {"gfortran -J mods -c a.f90", "a.f90", NULL, true, false, false, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct args a;
		struct buf b = {0};
		parse(rows[i].text, &a);
		inputs_of(&a, &b);
		if (strcmp(buf_cstr(&b), rows[i].inputs) != 0)
			fail_msg("%s: inputs '%s'", rows[i].text, buf_cstr(&b));
		if (a.makes != rows[i].makes || (a.makes && a.links != rows[i].links) || a.from_stdin != rows[i].from_stdin ||
		    a.compiler != rows[i].compiler)
			fail_msg("%s: makes %d, links %d, standard input %d, compiler %zu", rows[i].text, a.makes, a.links,
			         a.from_stdin, a.compiler);
		if ((a.output == NULL) != (rows[i].output == NULL) || (a.output && strcmp(a.output, rows[i].output) != 0))
			fail_msg("%s: output '%s'", rows[i].text, a.output ? a.output : "none");
		buf_release(&b);
		args_release(&a);
	}
}

static void sources(void **state)
{
	(void)state;
	static const char *const yes[] = {"a.c", "a.cc", "a.cpp", "a.C", "/w/a.cxx", "a.f90",
	                                  "a.F", "a.m",  "a.S",   "a.s", "a.i",      "a.ii"};
	static const char *const no[] = {"a.o", "a.a", "a.so", "a", "c", ".c/x", "a.c.o", "a.txt", ""};
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!args_is_source(yes[i]))
			fail_msg("%s is a source", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (args_is_source(no[i]))
			fail_msg("%s is none", no[i]);
}

static void made_is(const char *text, const char *want)
{
	struct args a;
	struct buf b = {0};
	parse(text, &a);
	size_t n = args_outputs(&a, &b), k = 0;
	for (size_t i = 0; i < b.n; i++)
		if (!b.p[i]) {
			b.p[i] = ' ';
			k++;
		}
	assert_int_equal(n, k);
	if (strcmp(buf_cstr(&b), want) != 0)
		fail_msg("%s makes '%s'", text, buf_cstr(&b));
	buf_release(&b);
	args_release(&a);
}

/* What compilers call what they make where nobody says. */
static void outputs(void **state)
{
	(void)state;
	made_is("cc a.c", "a.out ");
	made_is("cc -c a.c", "a.o ");
	made_is("cc -c /w/a.c b.c", "a.o b.o ");
	made_is("cc -S x/a.c", "a.s ");
}

/* @FILE stands for the words that are in it, with quotes and backslashes as in a shell. */
static void response_files(void **state)
{
	(void)state;
	char inner[] = "/tmp/stemma-test-args.XXXXXX", outer[] = "/tmp/stemma-test-args.XXXXXX", text[256];
	int fd = mkstemp(inner);
	assert_true(fd >= 0);
	static const char words[] = "-O2 'two words.c'\n\"a \\\"b\"\tc\\ d.c";
	assert_int_equal(write(fd, words, strlen(words)), strlen(words));
	close(fd);
	fd = mkstemp(outer);
	assert_true(fd >= 0);
	int n = snprintf(text, sizeof(text), "-c @%s -g", inner);
	assert_int_equal(write(fd, text, (size_t)n), n);
	close(fd);
	struct args a;
	snprintf(text, sizeof(text), "cc @%s -Wall @/none", outer);
	parse(text, &a);
	static const char *const want[] = {"cc", "-c", "-O2", "two words.c", "a \"b", "c d.c", "-g", "-Wall", "@/none"};
	assert_int_equal(a.n, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < a.n; i++)
		assert_string_equal(a.v[i], want[i]);
	assert_null(a.v[a.n]);
	assert_int_equal(a.nfiles, 2);
	assert_true(a.input[3] && a.input[5] && !a.input[2] && !a.links);
	args_release(&a);
	unlink(inner);
	/* one that names itself ends somewhere */
	FILE *f = fopen(outer, "we");
	assert_non_null(f);
	fprintf(f, "x @%s", outer);
	fclose(f);
	snprintf(text, sizeof(text), "cc @%s", outer);
	parse(text, &a);
	assert_true(a.n > ARGS_DEPTH / 2 && a.n <= ARGS_DEPTH + 10);
	args_release(&a);
	unlink(outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(commands), cmocka_unit_test(sources), cmocka_unit_test(outputs),
	                                   cmocka_unit_test(response_files)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
