#include "base/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], said[8192];
static unsigned complaints;

static void note(void *arg, const char *line)
{
	(void)arg;
	complaints++;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/config-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("home", 0700) | mkdir("p", 0700) | mkdir("p/.stemma", 0700) | mkdir("p/q", 0700), 0);
	assert_int_equal(mkdir("home/.config", 0700) | mkdir("home/.config/stemma", 0700), 0);
	char home[96];
	snprintf(home, sizeof(home), "%s/home", dir);
	setenv("HOME", home, 1);
	unsetenv("XDG_CONFIG_HOME");
	for (int k = 0; k < CONFIG_COUNT; k++)
		unsetenv(config_env((enum config_key)k));
	said[0] = '\0';
	complaints = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return chdir("/") | system(command);
}

#define PUT(path, text) put(path, text, strlen(text))

static void precedence(void **state)
{
	(void)state;
	PUT("home/.config/stemma/config", "# mine\nskew = 1ms\ncapture=tree\n  color = never  \n\nsystem = /a /b\n");
	PUT("p/.stemma/config", "skew = 2 ms\nstore = rec\ncapture = off");
	setenv("STEMMA_SKEW", "3ms", 1);
	char trusted[96];
	snprintf(trusted, sizeof(trusted), "/elsewhere:%s/p/", dir);
	setenv("STEMMA_PROJECTS", trusted, 1);
	assert_int_equal(chdir("p/q"), 0);
	struct config c = {0};
	struct err err = {0};
	assert_int_equal(config_load(&c, note, NULL), 0);
	assert_int_equal(complaints, 0);
	assert_int_equal(config_duration(&c, CONFIG_skew), 3000000);
	assert_string_equal(config_origin(&c, CONFIG_skew), "STEMMA_SKEW");
	assert_string_equal(config_get(&c, CONFIG_capture), "off");
	assert_non_null(strstr(config_origin(&c, CONFIG_capture), "p/.stemma/config:3"));
	assert_string_equal(config_get(&c, CONFIG_color), "never");
	assert_string_equal(config_get(&c, CONFIG_system), "/a /b");
	assert_string_equal(config_get(&c, CONFIG_transport), "auto");
	assert_string_equal(config_origin(&c, CONFIG_transport), "default");
	char want[96];
	snprintf(want, sizeof(want), "%s/p/rec", dir);
	assert_string_equal(config_get(&c, CONFIG_store), want);
	assert_int_equal(config_set(&c, CONFIG_skew, "4s", "option", &err), 0);
	assert_int_equal(config_duration(&c, CONFIG_skew), 4000000000);
	config_release(&c);
	config_release(&c);
}

static void bad_lines_are_said_and_have_no_effect(void **state)
{
	(void)state;
	static const char text[] =
	    "nonsense\nno.such = 1\nskew = -1s\nskew = 1\nskew = 99999999999s\ncapture = auto always\n"
	    "capture =\n=\ncolor\0= x\ncolor = always\n";
	put("c", text, sizeof(text) - 1);
	struct config c = {0};
	assert_int_equal(config_load_file(&c, "c", "/", note, NULL), 0);
	assert_int_equal(complaints, 9);
	assert_non_null(strstr(said, "c:2: unknown setting 'no.such'"));
	assert_string_equal(config_get(&c, CONFIG_color), "always");
	assert_int_equal(config_duration(&c, CONFIG_skew), 0);
	assert_string_equal(config_get(&c, CONFIG_capture), "complete");
	config_release(&c);
}

static void odd_files_are_passed_over(void **state)
{
	(void)state;
	struct config c = {0};
	assert_int_equal(config_load_file(&c, "missing", "/", note, NULL), 0);
	assert_int_equal(complaints, 0);
	assert_int_equal(config_load_file(&c, "home", "/", note, NULL), 0);
	assert_int_equal(complaints, 1);
	char *big = malloc(70000);
	assert_non_null(big);
	memset(big, '#', 70000);
	put("big", big, 70000);
	free(big);
	assert_int_equal(config_load_file(&c, "big", "/", note, NULL), 0);
	assert_int_equal(complaints, 2);
	if (geteuid() == 0) {
		PUT("p/.stemma/config", "store = /elsewhere\n");
		assert_int_equal(chown("p/.stemma/config", 12345, 12345), 0);
		assert_int_equal(chdir("p"), 0);
		assert_int_equal(config_load(&c, note, NULL), 0);
		assert_int_equal(complaints, 3);
		assert_string_equal(config_get(&c, CONFIG_store), "");
	}
	config_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	    T(precedence),
	    T(bad_lines_are_said_and_have_no_effect),
	    T(odd_files_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
