/* Which programs a preloaded library stays out of, and with what environment they are started (interpose/leave.h). */
#include "base/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char library[64];
#define LEAVE_VARIABLE "MINE="
#include "capture/interpose/leave.h"

static struct {
	enum fit verdict;
	int looks, at, flags;
	char path[128];
	const char *called; /* the real function */
	char *const *argv, *const *env;
	bool none;                  /* env was NULL */
	char first[64], second[64]; /* of env, "" none */
	size_t n;
} L;

static enum fit look_once(int at, const char *path, int flags)
{
	L.looks++;
	L.at = at;
	L.flags = flags;
	snprintf(L.path, sizeof(L.path), "%s", path);
	errno = 999;
	return L.verdict;
}

static int called(const char *name, char *const *argv, char *const *env)
{
	L.called = name;
	L.argv = argv;
	L.none = !env;
	L.n = count_strings(env);
	snprintf(L.first, sizeof(L.first), "%s", L.n > 0 ? env[0] : "");
	snprintf(L.second, sizeof(L.second), "%s", L.n > 1 ? env[1] : "");
	return -7;
}
static int real_execve(const char *path, char *const *argv, char *const *env)
{
	return called(path, argv, env);
}
static int real_execvpe(const char *file, char *const *argv, char *const *env)
{
	return called(file, argv, env);
}
static int real_fexecve(int fd, char *const *argv, char *const *env)
{
	assert_int_equal(fd, 5);
	return called("fexecve", argv, env);
}
static int real_execveat(int fd, const char *path, char *const *argv, char *const *env, int flags)
{
	assert_int_equal(fd, 6);
	assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
	return called(path, argv, env);
}
static int real_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const *argv, char *const *env)
{
	(void)pid, (void)actions, (void)attr;
	return called(path, argv, env);
}
#define real_posix_spawnp real_posix_spawn

#define LEAVE_ON library[0]
#define LEAVE_LOOK look_once
#define REAL(name) real_##name
#define REAL_OF(name) extern char **environ
#define EXPORT
#include "capture/interpose/leave_execs.h"

/* ---- programs ---- */

static char file[] = "/tmp/stemma-test-leave.XXXXXX";

/* A program of that machine and class that has an interpreter, and needs a library; "" none. */
static void put_program(unsigned class, unsigned machine, const char *interpreter, const char *needed, mode_t mode)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr ph[3];
		Elf64_Dyn dyn[3];
		char interpreter[32], strings[32];
	} p = {.head = {.e_phentsize = sizeof(Elf64_Phdr), .e_phoff = sizeof(Elf64_Ehdr)}};
	memcpy(p.head.e_ident, ELFMAG, SELFMAG);
	p.head.e_ident[EI_CLASS] = (unsigned char)class;
	p.head.e_machine = (Elf64_Half)machine;
	snprintf(p.interpreter, sizeof(p.interpreter), "%s", interpreter);
	snprintf(p.strings + 1, sizeof(p.strings) - 1, "%s", needed);
	unsigned n = 0;
	if (*interpreter)
		p.ph[n++] = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = offsetof(__typeof__(p), interpreter)};
	if (*needed) {
		p.ph[n++] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(p)};
		p.ph[n++] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = offsetof(__typeof__(p), dyn)};
		p.dyn[0] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un = {.d_ptr = 0x10000 + offsetof(__typeof__(p), strings)}};
		p.dyn[1] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un = {.d_val = 1}};
	}
	p.head.e_phnum = (Elf64_Half)n;
	int fd = open(file, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &p, sizeof(p)), sizeof(p));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* How many descriptors are open. */
static int open_descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#define HERE "/lib64/ld-linux-x86-64.so.2"

static void programs(void **state)
{
	(void)state;
	static const struct {
		unsigned class, machine;
		const char *interpreter, *needed;
		mode_t mode;
		enum fit want;
	} rows[] = {
	    {ELFCLASS64, MACHINE, HERE, "", 0755, FIT_GOES},
	    {ELFCLASS64, MACHINE, "", "", 0755, FIT_LEAVES}, /* static */
	    {ELFCLASS32, MACHINE, HERE, "", 0755, FIT_BREAKS},
	    {ELFCLASS64, MACHINE + 1, HERE, "", 0755, FIT_BREAKS},
	    {ELFCLASS64, MACHINE, "/lib/ld-musl-x86_64.so.1", "", 0755, FIT_BREAKS},
	    {ELFCLASS64, MACHINE, HERE, "libc.so.6", 0755, FIT_GOES},
	    {ELFCLASS64, MACHINE, HERE, "libasan.so.8", 0755, FIT_BREAKS},
	    {ELFCLASS64, MACHINE, HERE, "libclang_rt.asan.so", 0755, FIT_BREAKS},
	    {ELFCLASS64, MACHINE, "", "libasan.so.8", 0755, FIT_LEAVES},
	    {ELFCLASS64, MACHINE, HERE, "", 04755, FIT_LEAVES},
	    {ELFCLASS64, MACHINE, HERE, "", 02755, FIT_LEAVES},
	    {ELFCLASS64, MACHINE, HERE, "", 02745, FIT_GOES}, /* a mark for locks, not for a program */
	    {ELFCLASS64, MACHINE, "/lib/ld-musl-x86_64.so.1", "", 04755, FIT_BREAKS},
	};
	int before = open_descriptors();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put_program(rows[i].class, rows[i].machine, rows[i].interpreter, rows[i].needed, rows[i].mode);
		int fd = open(file, O_RDONLY);
		if (leave_fit(AT_FDCWD, file, 0) != rows[i].want || leave_fit(fd, "", AT_EMPTY_PATH) != rows[i].want)
			fail_msg("program %zu", i);
		close(fd);
	}
	assert_int_equal(open_descriptors(), before);
}

static void scripts(void **state)
{
	(void)state;
	char script[64], text[128];
	snprintf(script, sizeof(script), "%s.sh", file);
	put_program(ELFCLASS64, MACHINE, "/lib/ld-musl-x86_64.so.1", "", 0755);
	static const struct {
		const char *format;
		enum fit want;
	} rows[] = {
	    {"#!%s\n", FIT_BREAKS}, {"#! \t%s -x\n", FIT_BREAKS}, {"#!%s\t-x", FIT_BREAKS}, {"#!/none%s\n", FIT_GOES},
	    {"# !%s\n", FIT_GOES},  {"!#%s\n", FIT_GOES},         {"#", FIT_GOES},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), rows[i].format, file);
#pragma GCC diagnostic pop
		put_text(script, text);
		if (leave_fit(AT_FDCWD, script, 0) != rows[i].want)
			fail_msg("'%s'", text);
	}
	/* a script that is its own interpreter, and one whose interpreter's set-user-id bit counts for nothing */
	snprintf(text, sizeof(text), "#!%s\n", script);
	put_text(script, text);
	assert_int_equal(leave_fit(AT_FDCWD, script, 0), FIT_GOES);
	put_program(ELFCLASS64, MACHINE, HERE, "", 04755);
	snprintf(text, sizeof(text), "#!%s\n", file);
	put_text(script, text);
	assert_int_equal(leave_fit(AT_FDCWD, script, 0), FIT_GOES);
	assert_int_equal(leave_fit(AT_FDCWD, "/none/such", 0), FIT_GOES);
	assert_int_equal(leave_fit(AT_FDCWD, "/", 0), FIT_GOES);
	unlink(script);
}

/* Where the library itself cannot be read, in another root, nothing can load it. */
static void another_root(void **state)
{
	(void)state;
	put_program(ELFCLASS64, MACHINE, HERE, "", 0755);
	char keep = library[1];
	library[1] = '\1';
	assert_int_equal(leave_fit(AT_FDCWD, file, 0), FIT_BREAKS);
	library[1] = keep;
	assert_int_equal(leave_fit(AT_FDCWD, file, 0), FIT_GOES);
}

/* ---- the environment ---- */

static void preload_lists(void **state)
{
	(void)state;
	static const struct {
		const char *format; /* %s: the library */
		const char *want;   /* "" none is left */
	} rows[] = {
	    {"LD_PRELOAD=%s", ""},
	    {"LD_PRELOAD=/a.so:%s", "LD_PRELOAD=/a.so"},
	    {"LD_PRELOAD=%s:/a.so", "LD_PRELOAD=/a.so"},
	    {"LD_PRELOAD=/a %s /b", "LD_PRELOAD=/a:/b"},
	    {"LD_PRELOAD=/a::/b", "LD_PRELOAD=/a:/b"},
	    {"LD_PRELOAD=", ""},
	    {"LD_PRELOAD=%sx", NULL},
	    {"LD_PRELOADX=%s", NULL},
	    {"MINE=%s", ""},
	    {"MINE", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char entry[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(entry, sizeof(entry), rows[i].format, library);
#pragma GCC diagnostic pop
		char *const env[] = {(char *)"A=1", entry, (char *)"B=2", NULL};
		char *out[4], room[256];
		assert_true(preload_room(env) <= sizeof(room));
		char *const *got = without(env, out, room);
		const char *want = rows[i].want ? rows[i].want : entry; /* NULL: as it was */
		size_t n = *want ? 3 : 2;
		assert_int_equal(count_strings(got), n);
		assert_string_equal(got[0], "A=1");
		assert_string_equal(got[n - 1], "B=2");
		if (n == 3)
			assert_string_equal(got[1], want);
	}
	assert_int_equal(count_strings(NULL), 0);
}

static void calls(void **state)
{
	(void)state;
	char mine[128];
	snprintf(mine, sizeof(mine), "LD_PRELOAD=%s", library);
	char *argv[] = {(char *)"x", (char *)"y", NULL}, *env[] = {mine, (char *)"A=1", NULL}, **keep = environ;
	environ = env;
	for (int leaves = 0; leaves < 2; leaves++) {
		L.verdict = leaves ? FIT_BREAKS : FIT_GOES;
		L.looks = 0;
#define CHECK(call, name, where, how)                                                                                  \
	errno = 33;                                                                                                        \
	assert_int_equal(call, -7);                                                                                        \
	assert_int_equal(errno, 33);                                                                                       \
	assert_string_equal(L.called, name);                                                                               \
	assert_int_equal(L.n, leaves ? 1 : 2);                                                                             \
	assert_string_equal(L.first, leaves ? "A=1" : mine);                                                               \
	assert_int_equal(L.at, where);                                                                                     \
	assert_int_equal(L.flags, how);                                                                                    \
	assert_string_equal(L.argv[0], "x");                                                                               \
	assert_string_equal(L.argv[1], "y");                                                                               \
	assert_null(L.argv[2])
		CHECK(execve("/p", argv, env), "/p", AT_FDCWD, 0);
		assert_string_equal(L.path, "/p");
		CHECK(execv("/p", argv), "/p", AT_FDCWD, 0);
		CHECK(execvpe("/p", argv, env), "/p", AT_FDCWD, 0);
		CHECK(execvp("/p", argv), "/p", AT_FDCWD, 0);
		CHECK(fexecve(5, argv, env), "fexecve", 5, AT_EMPTY_PATH);
		assert_string_equal(L.path, "");
		CHECK(execveat(6, "q", argv, env, AT_SYMLINK_NOFOLLOW), "q", 6, AT_SYMLINK_NOFOLLOW);
		assert_string_equal(L.path, "q");
		CHECK(execl("/p", "x", "y", NULL), "/p", AT_FDCWD, 0);
		CHECK(execlp("/p", "x", "y", NULL), "/p", AT_FDCWD, 0);
		CHECK(execle("/p", "x", "y", NULL, env), "/p", AT_FDCWD, 0);
		CHECK(posix_spawn(NULL, "/p", NULL, NULL, argv, env), "/p", AT_FDCWD, 0);
		CHECK(posix_spawnp(NULL, "/p", NULL, NULL, argv, env), "/p", AT_FDCWD, 0);
		assert_int_equal(L.looks, 11);
		assert_int_equal(posix_spawn(NULL, "/p", NULL, NULL, argv, NULL), -7); /* the caller's own environment */
		assert_int_equal(L.none, !leaves);
		assert_string_equal(L.first, leaves ? "A=1" : "");
		assert_int_equal(execve("/p", argv, NULL), -7);
		assert_true(L.none);
	}
	environ = keep;
}

static void found_in_path(void **state)
{
	(void)state;
	char found[128], *env[] = {(char *)"XPATH=/none", (char *)"PATH=/none:/bin:/usr/bin", NULL}, *empty[] = {NULL},
	                 **keep = environ;
	environ = env;
	assert_string_equal(search_path_list("sh", found, sizeof(found)), "/bin/sh");
	assert_string_equal(search_path_list("no-such-program", found, sizeof(found)), "no-such-program");
	assert_string_equal(search_path_list("./sh", found, sizeof(found)), "./sh");
	assert_string_equal(search_path_list("sh", found, 6), "sh"); /* no room for any */
	environ = empty;
	assert_string_equal(search_path_list("sh", found, sizeof(found)), "/bin/sh");
	environ = keep;
}

static int setup(void **state)
{
	(void)state;
	int fd = mkstemp(file);
	close(fd);
	snprintf(library, sizeof(library), "%s", file);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(programs),     cmocka_unit_test(scripts),
	                                   cmocka_unit_test(another_root), cmocka_unit_test(preload_lists),
	                                   cmocka_unit_test(calls),        cmocka_unit_test(found_in_path)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
