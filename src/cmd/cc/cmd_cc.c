/* stemma cc: compile, and record how. */
#include "cmd/cc/cmd_cc.h"
#include "cc/launch.h"
#include "cmd/cmd.h"

#include "cc/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Other names of the command, and the compiler that each stands for. */
static const struct {
	const char *name, *compiler;
} names[] = {{"c++", "c++"},       {"fc", "gfortran"},     {"mpicc", "mpicc"},
             {"mpicxx", "mpicxx"}, {"mpifort", "mpifort"}, {"nvcc", "nvcc"}};

const char *cc_compiler_of(const char *command)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(command, names[i].name) == 0)
			return names[i].compiler;
	return NULL;
}

/* gcc, x86_64-linux-gnu-gcc-12, clang++-14 */
static bool is_compiler(const char *name)
{
	static const char *const known[] = {"cc",     "c++",    "gcc",    "g++",  "clang", "clang++", "gfortran",
	                                    "flang",  "fc",     "f77",    "f95",  "mpicc", "mpicxx",  "mpifort",
	                                    "mpic++", "mpif90", "mpif77", "nvcc", "icx",   "icpx",    "ifx",
	                                    "icc",    "icpc",   "ifort",  "c89",  "c99"};
	size_t n = strlen(name);
	size_t k = n;
	while (k > 0 && strchr("0123456789.", name[k - 1]))
		k--;
	if (k > 1 && k < n && name[k - 1] == '-')
		n = k - 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t m = strlen(known[i]);
		if (n >= m && memcmp(name + n - m, known[i], m) == 0 && (n == m || name[n - m - 1] == '-'))
			return true;
	}
	return false;
}

const char *cc_link_name(const char *program)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	if (strncmp(name, "stemma-", 7) == 0 && name[7])
		return name + 7;
	return is_compiler(name) ? name : NULL;
}

/* Is it an option of stemma cc that takes no value? */
static bool is_flag(const char *s)
{
	static const char *const flags[] = {"--help", "--help-all", "--note", "--spec", "--slice", "--trace", "--operands"};
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(s, flags[i]) == 0)
			return true;
	return false;
}

int cc_own_options(int argc, char **argv)
{
	int i = 1;
	if (argc == 2 && strcmp(argv[1], "-h") == 0) /* with more it is the linker's */
		return 1;
	for (; i < argc; i++)
		if (strcmp(argv[i], "--store") == 0 && i + 1 < argc)
			i++;
		else if (strncmp(argv[i], "--store=", 8) != 0 && !is_flag(argv[i]))
			break;
	return i - 1;
}

/* Is the first operand a compiler? Else it is an argument of the usual one. */
static bool names_compiler(const char *s)
{
	size_t n = strlen(s);
	bool object = n > 2 && s[n - 2] == '.' && strchr("oa", s[n - 1]);
	return s[0] != '-' && s[0] != '@' && !object && !args_is_source(s);
}

/* The status of the compiler; 126, 127 where it cannot be run. A specification that could not be made is only reported.
 * */
static int run_compiler(struct cmd *c, const struct opts_cc *o, const char *compiler, char **arguments)
{
	struct err err = {0};
	char *home = NULL, *index = NULL;
	int status = 0;
	size_t n = 0;
	while (arguments[n])
		n++;
	char **argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return report_err(&err, STATUS_SELF);
	argv[0] = (char *)compiler;
	memcpy(argv + 1, arguments, n * sizeof(*argv));
	/* A record that has no place is no reason not to compile. */
	if (store_places(cmd_home(c), NULL, &home, NULL) == 0 && store_places(cmd_home(c), NULL, NULL, &index) == 0)
		*strrchr(index, '/') = '\0';
	struct err no_spec = {0};
	struct launch l = {
	    .home = home, .cache = index, .note = o->note, .slice = o->slice, .argv = argv, .spec_err = &no_spec};
	l.spec = o->operands           ? WITHSPEC_OPERANDS
	         : o->trace            ? WITHSPEC_TRACE
	         : o->spec || o->slice ? WITHSPEC_SPEC
	                               : WITHSPEC_NONE;
	int rc = launch_run(&l, &err, &status);
	if (*no_spec.text)
		report_err(&no_spec, 0);
	free(home);
	free(index);
	free(argv);
	if (rc < 0)
		return report_err(&err, rc == -ENOENT || rc == -ENOTDIR ? 127 : rc == -ENOMEM ? STATUS_SELF : 126);
	return cmd_end_as(status);
}

/* Gives the exit status; cc is the compiler if none is named. */
int cmd_cc(struct cmd *c, const struct opts_cc *o)
{
	char **v = c->operands;
	const char *compiler = "cc";
	if (c->n_operands == 0)
		return report_usage(c, "nothing to compile");
	if (names_compiler(v[0]))
		compiler = *v++;
	if (*v && strcmp(*v, "--") == 0)
		v++;
	return run_compiler(c, o, compiler, v);
}
