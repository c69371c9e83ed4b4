#include "spec/make.h"
#include "base/child.h"
#include "base/io.h"

#include "spec/objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MOST = 65536 };

/* The path of that part of the library. False: it is not there. */
static bool make_program(const char *name, char *ret, size_t n)
{
	char built[256], installed[256];
	snprintf(built, sizeof(built), "../spec/%s/%s", strcmp(name, "stemma-spec-llvm") == 0 ? "llvm" : "runtime", name);
	snprintf(installed, sizeof(installed), "../" STEMMA_LIBDIR "/stemma/%s", name);
	return io_own(built, installed, ret, n);
}

bool make_library(char *ret, size_t n)
{
	return make_program("libstemma-trace.a", ret, n);
}

const char *make_clang(void)
{
	return SPEC_CLANG;
}

bool make_works(const char **ret_what)
{
	static char what[256];
	char path[4200];
	struct buf said = {0};
	*ret_what = what;
	if (!*SPEC_CLANG || !make_program("stemma-spec-llvm", path, sizeof(path))) {
		snprintf(what, sizeof(what),
		         "built without LLVM and the clang of its version, or not installed (Debian: stemma-spec)");
		return false;
	}
	char *argv[] = {path, (char *)"--version", NULL};
	int rc = make_run(argv, true, &said);
	const char *text = buf_cstr(&said);
	bool works = rc == 0 && access(SPEC_CLANG, X_OK) == 0;
	if (rc != 0)
		snprintf(what, sizeof(what), "LLVM's libraries do not load");
	else if (!works)
		snprintf(what, sizeof(what), "'%s' is not there", SPEC_CLANG);
	else
		snprintf(what, sizeof(what), "%.*s", (int)strcspn(text, "\n"), text);
	buf_release(&said);
	return works;
}

/* In the child: CPU time, memory and no core. Always 0. */
static int keep_to_limits(void *arg)
{
	(void)arg;
	struct rlimit time = {MAKE_SECONDS, MAKE_SECONDS + 5}, bytes = {MAKE_BYTES, MAKE_BYTES}, none = {0, 0}, now;
	if (getrlimit(RLIMIT_CPU, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > time.rlim_cur))
		setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__)
	if (getrlimit(RLIMIT_AS, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > bytes.rlim_cur))
		setrlimit(RLIMIT_AS, &bytes);
#else
	(void)bytes;
#endif
	setrlimit(RLIMIT_CORE, &none);
	return 0;
}

int make_run(char *const *argv, bool limits, struct buf *said)
{
	struct child c = {.argv = argv, .err = CHILD_PRINTS, .before = limits ? keep_to_limits : NULL, .most = SAID_MOST};
	return child_read(&c, said);
}

/* What is no sentence: "used 3", "archive 4". */
static bool is_report(const char *line, size_t n)
{
	size_t k = n > 5 && !memcmp(line, "used ", 5) ? 5 : n > 8 && !memcmp(line, "archive ", 8) ? 8 : 0;
	while (k && k < n && line[k] >= '0' && line[k] <= '9')
		k++;
	return k && k == n;
}

/* The last line that is a sentence; its length, which may be 0. */
static size_t last_sentence(const char *said, const char **ret)
{
	size_t n = strlen(said), k;
	do {
		while (n && said[n - 1] == '\n')
			n--;
		for (k = n; k && said[k - 1] != '\n';)
			k--;
		*ret = said + k;
		if (!is_report(said + k, n - k))
			return n - k;
		n = k;
	} while (n);
	return 0;
}

/* Reports why the program that reads bitcode has failed. -EBADMSG, -ENODATA (there is no bitcode), with the
 * sentence. */
static int report_reader_failure(int status, const char *said, struct err *err)
{
	const char *line;
	size_t n = last_sentence(said, &line);
	if (WIFSIGNALED(status)) {
		err_set(err, 0, "the bitcode cannot be read: LLVM %s it",
		        WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "took too long over" : "crashed over");
		return -EBADMSG;
	}
	if (n == strlen("there is no bitcode") && memcmp(line, "there is no bitcode", n) == 0) {
		err_set(err, 0, "there is no bitcode");
		err_hint(err, "compile with stemma cc --spec, or with clang -emit-llvm -g -O1 -Xclang -disable-llvm-passes");
		return -ENODATA;
	}
	if (!n) {
		err_set(err, 0,
		        "stemma-spec-llvm, the part of stemma that reads bitcode, ended with status %d and without a message",
		        WEXITSTATUS(status));
		err_hint(err, "stemma doctor --quick says whether it works at all");
		return -EBADMSG;
	}
	err_set(err, 0, "%.*s", (int)n, line);
	if (strstr(line, "unreadable bitcode: it is of "))
		err_hint(err, "compile it with %s, whose bitcode is of the same version", SPEC_CLANG);
	return -EBADMSG;
}

/* What make_spec starts and hands over. -ENOTSUP with a sentence: they are not there. */
static int find_parts(const struct make *m, char program[4200], char code[4200], struct err *err)
{
	const char *why;
	if (!make_program("stemma-spec-llvm", program, 4200)) {
		bool works = make_works(&why);
		err_set(err, 0, "specifications cannot be made: %s", works ? "stemma-spec-llvm is not there any more" : why);
		return -ENOTSUP;
	}
	if (m->traced && !make_program("stemma-trace.bc", code, 4200)) {
		err_set(
		    err, 0,
		    "programs cannot be linked to be traced: 'stemma-trace.bc', a part of stemma, is not where it was built or "
		    "installed");
		err_hint(err, "build or install all of stemma; a specification alone (stemma cc --spec) does without it");
		return -ENOTSUP;
	}
	return 0;
}

int make_spec(const struct make *m, struct err *err, enum make_use **ret_used)
{
	char program[4200], code[4200] = "";
	struct buf said = {0};
	size_t n = 0, k = 0;
	while (m->files[n])
		n++;
	int found = find_parts(m, program, code, err);
	if (found < 0)
		return found;
	char missing[16];
	char **argv = calloc(n + 16, sizeof(*argv));
	enum make_use *used = calloc(n + 1, sizeof(*used));
	int rc = -ENOMEM;
	if (!argv || !used) {
		err_set(err, ENOMEM, "cannot make the specification");
		goto out;
	}
	argv[k++] = program;
	argv[k++] = (char *)"--spec";
	argv[k++] = (char *)m->spec;
	if (m->traced) {
		argv[k++] = (char *)"--insert";
		argv[k++] = (char *)m->traced;
		argv[k++] = code;
	}
	if (m->keep) {
		snprintf(missing, sizeof(missing), "%u", m->missing);
		argv[k++] = (char *)"--keep";
		argv[k++] = (char *)m->keep;
		argv[k++] = (char *)"--missing";
		argv[k++] = missing;
	}
	if (m->operands)
		argv[k++] = (char *)"--operands";
	if (m->library)
		argv[k++] = (char *)"--library";
	memcpy(argv + k, m->files, n * sizeof(*argv));
	int status = make_run(argv, true, &said);
	if (status < 0) {
		rc = err_set(err, -status, "cannot start '%s'", program);
		goto out;
	}
	if (status != 0) {
		rc = report_reader_failure(status, buf_cstr(&said), err);
		goto out;
	}
	for (const char *p = buf_cstr(&said); *p; p += strcspn(p, "\n"), p += *p == '\n') {
		unsigned i;
		if (sscanf(p, "used %u", &i) == 1 && i < n)
			used[i] = MAKE_USED;
		else if (sscanf(p, "archive %u", &i) == 1 && i < n)
			used[i] = MAKE_ARCHIVE;
	}
	*ret_used = used;
	used = NULL;
	rc = 0;
out:
	free(argv);
	free(used);
	buf_release(&said);
	return rc;
}

int make_slice(char *const *files, const char *out, struct err *err)
{
	struct make none = {.files = files};
	char program[4200], code[4200];
	struct buf said = {0};
	size_t n = 0;
	int rc = find_parts(&none, program, code, err);
	if (rc < 0)
		return rc;
	while (files[n])
		n++;
	char **argv = calloc(n + 4, sizeof(*argv));
	if (!argv)
		return err_set(err, ENOMEM, "cannot make a slice");
	argv[0] = program;
	argv[1] = (char *)"--slice";
	argv[2] = (char *)out;
	memcpy(argv + 3, files, n * sizeof(*argv));
	int status = make_run(argv, true, &said);
	if (status < 0)
		rc = err_set(err, -status, "cannot start '%s'", program);
	else if (status != 0)
		rc = report_reader_failure(status, buf_cstr(&said), err);
	free(argv);
	buf_release(&said);
	return rc;
}
