/* What a command line really runs, and the name under which its job is found again (export/script.h). */
#include "export/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The words of a line between blanks; _ stands for a blank within a word. */
static struct strlist words_of(char *line, struct str *room, size_t most)
{
	size_t n = 0;
	for (char *w = strtok(line, " "); w && n < most; w = strtok(NULL, " ")) {
		for (char *p = w; *p; p++)
			*p = *p == '_' ? ' ' : *p;
		room[n++] = str_of(w);
	}
	return (struct strlist){.items = room, .count = n};
}

static void names(void **state)
{
	static const struct {
		const char *line, *cwd, *name;
	} jobs[] = {
	    /* one script, however it is called */
	    {"python3 fit.py --rate 0.1", "/w", "/w/fit.py --rate 0.1"},
	    {"/usr/bin/python3.11 -u -W ignore ./fit.py --rate 0.1", "/w", "/w/fit.py --rate 0.1"},
	    {"python3 /w/sub/../fit.py --rate 0.1", "/elsewhere", "/w/fit.py --rate 0.1"},
	    {"./fit.py --rate 0.1", "/w", "/w/fit.py --rate 0.1"},
	    {"python3 -- fit.py", "/w", "/w/fit.py"},
	    {"python3 -X dev -B fit.py -m x", "/w", "/w/fit.py -m x"},
	    /* two scripts are two jobs, and so are two inputs */
	    {"python3 other.py --rate 0.1", "/w", "/w/other.py --rate 0.1"},
	    {"Rscript --vanilla plot.R a.csv", "/w", "/w/plot.R a.csv"},
	    {"R --no-save -f plot.R", "/w", "/w/plot.R"},
	    {"bash -e -o pipefail run.sh x", "/w", "/w/run.sh x"},
	    {"sh -ec exit_1", "/w", "sh -c 'exit 1'"},
	    {"bash -c echo_x name", "/w", "bash -c 'echo x' name"},
	    {"perl -I lib -w tidy.pl a", "/w", "/w/tidy.pl a"},
	    {"perl -ne print x", "/w", "perl -c print x"},
	    {"node --require ts-node/register build.js", "/w", "/w/build.js"},
	    {"node -e 1+1", "/w", "node -c 1+1"},
	    {"java -Xmx1g -cp a:b -jar fit.jar in", "/w", "/w/fit.jar in"},
	    {"java -Xmx1g -cp a:b org.fit.Main in", "/w", "java org.fit.Main in"},
	    {"python3.11 -m pkg.fit a", "/w", "python -m pkg.fit a"},
	    {"julia -t 4 --project=. fit.jl", "/w", "/w/fit.jl"},
	    {"ruby -I lib x.rb", "/w", "/w/x.rb"},
	    /* no script */
	    {"python3", "/w", "python3"},
	    {"python3 -i", "/w", "python3 -i"},
	    {"python3 - a", "/w", "python3 - a"},
	    {"python3 -m", "/w", "python3 -m"},
	    {"samtools sort -o out.bam in.bam", "/w", "samtools sort -o out.bam in.bam"},
	    {"/usr/bin/sort a", "/w", "sort a"},
	    {"sort a", "/w", "sort a"},
	    {"/opt/tool/bin/sort a", "/w", "/opt/tool/bin/sort a"},
	    {"./a.out", "", "./a.out"},
	    {"../a.out two_words", "/w/x/y", "/w/x/a.out 'two words'"},
	    {"../../../a.out", "/w", "/a.out"},
	    {"pythonic fit.py", "/w", "pythonic fit.py"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		char line[200];
		struct str room[32];
		struct buf name = {0};
		snprintf(line, sizeof(line), "%s", jobs[i].line);
		struct strlist argv = words_of(line, room, 32);
		script_job_name(&argv, str_of(jobs[i].cwd), &name);
		assert_false(name.failed);
		assert_string_equal(buf_cstr(&name), jobs[i].name);
		buf_release(&name);
	}
}

static void kinds(void **state)
{
	static const struct {
		const char *line;
		enum script_kind kind;
		const char *name;
		size_t rest;
	} all[] = {
	    {"python3 -u fit.py a", SCRIPT_FILE, "fit.py", 3},
	    {"python3 -m fit a", SCRIPT_MODULE, "fit", 3},
	    {"sh -c text a", SCRIPT_TEXT, "text", 3},
	    {"java -jar a.jar", SCRIPT_FILE, "a.jar", 3},
	    {"java Main", SCRIPT_MODULE, "Main", 2},
	    {"sort fit.py", SCRIPT_NONE, "", 1},
	    {"python3", SCRIPT_NONE, "", 1},
	    {"", SCRIPT_NONE, "", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char line[200];
		struct str room[32];
		snprintf(line, sizeof(line), "%s", all[i].line);
		struct strlist argv = words_of(line, room, 32);
		struct script s = script_of(&argv);
		assert_int_equal(s.kind, all[i].kind);
		assert_true(str_is(s.name, all[i].name));
		assert_int_equal(s.rest, all[i].rest);
	}
}

/* Long ones stay apart, end at a whole character, and no command gives none. */
static void bounds(void **state)
{
	static char text[4][4096];
	struct str room[2] = {str_of("tool"), {0}};
	struct buf name[4] = {{0}, {0}, {0}, {0}};
	(void)state;
	for (int i = 0; i < 4; i++) {
		for (size_t at = 0; at + 2 < sizeof(text[i]) - 8; at += 2)
			memcpy(text[i] + at, "\xc3\xa9", 2);
		if (i < 2)
			memcpy(text[i], "aa", (size_t)i + 1); /* characters begin at even and at odd places */
		snprintf(text[i] + sizeof(text[i]) - 8, 8, "%d", i == 3 ? 2 : i);
		room[1] = str_n(text[i], sizeof(text[i]) - 7);
		struct strlist argv = {.items = room, .count = 2};
		script_job_name(&argv, str_of("/w"), &name[i]);
		assert_false(name[i].failed);
		assert_in_range(name[i].n, SCRIPT_JOB_MAX / 2, SCRIPT_JOB_MAX + 20);
		const char *dots = strstr(buf_cstr(&name[i]), "... ");
		assert_non_null(dots);
		size_t n = (size_t)(dots - name[i].p);
		assert_true(n && ((unsigned char)name[i].p[n - 1] & 0xc0) == 0x80); /* the second half of the last one */
	}
	assert_string_not_equal(buf_cstr(&name[0]), buf_cstr(&name[2]));
	assert_string_equal(buf_cstr(&name[2]), buf_cstr(&name[3]));
	for (int i = 0; i < 4; i++)
		buf_release(&name[i]);
	struct strlist none = {.items = room, .count = 0};
	script_job_name(&none, str_of("/w"), &name[0]);
	assert_int_equal(name[0].n, 0);
	buf_release(&name[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(kinds), cmocka_unit_test(bounds)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
