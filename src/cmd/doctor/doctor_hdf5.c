#include "cmd/doctor/doctor_hdf5.h"

#include "base/child.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARIES 16
#define SECONDS 10

struct library {
	char path[4096];
	unsigned version[3];
	bool known, told;
};
struct libraries {
	struct library v[LIBRARIES];
	size_t n;
};

/* libhdf5.so.103, libhdf5_serial.so.310: as a program names it that was linked with it. Not what is built on it. */
static bool is_library_name(const char *name)
{
	const char *so = strstr(name, ".so.");
	if (strncmp(name, "libhdf5", 7) != 0 || !so || !so[4] || strspn(so + 4, "0123456789") != strlen(so + 4))
		return false;
	size_t n = (size_t)(so - name) - 7;
	for (const char *const *other = (const char *const[]){"hl", "cpp", "fortran", "f90cstub", "tools", "java", NULL};
	     *other; other++)
		if (memmem(name + 7, n, *other, strlen(*other)))
			return false;
	return n == 0 || name[7] == '_';
}

/* Adds a library that can be read. Of those with one name the first counts, as for the loader. */
static void append_library(struct libraries *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(str_base_name(str_of(l->v[i].path)), str_base_name(str_of(path))))
			return; /* the loader takes the first */
	if (l->n == LIBRARIES || strlen(path) >= sizeof(l->v[0].path) || access(path, R_OK) < 0)
		return;
	l->v[l->n] = (struct library){0};
	memcpy(l->v[l->n++].path, path, strlen(path) + 1);
}

/* A folder that cannot be read has none. */
static void append_folder_libraries(struct libraries *l, const char *folder)
{
	DIR *d = opendir(folder);
	char path[4096];
	for (struct dirent *e; d && (e = readdir(d));)
		if (is_library_name(e->d_name) && snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path))
			append_library(l, path);
	if (d)
		closedir(d);
}

/* Sets the environment of a program that is asked. In the child: a path and a locale of which the answers do not
 * depend. 0, not 0. */
static int plain_environment(void *arg)
{
	(void)arg;
	return setenv("PATH", "/sbin:/usr/sbin:/bin:/usr/bin", 1) || setenv("LC_ALL", "C", 1);
}

/* Where the C library's loader would find it: `name (kind) => path`, a line each. */
static void in_cache(struct libraries *l)
{
	char *argv[] = {(char *)"ldconfig", (char *)"-p", NULL}, *save = NULL;
	struct buf printed = {0};
	child_read(&(struct child){.argv = argv, .before = plain_environment, .most = 8u << 20, .limit_ms = SECONDS * 1000},
	           &printed);
	buf_cstr(&printed);
	for (char *line = printed.p ? strtok_r(printed.p, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *name = line + strspn(line, " \t"), *path = strstr(line, " => ");
		if (!path)
			continue;
		path += 4;
		name[strcspn(name, " ")] = '\0';
		if (is_library_name(name))
			append_library(l, path);
	}
	buf_release(&printed);
}

/* Writes the version to standard output, where the library itself is to write nothing. For a child: 0, or not 0 where
 * it has none. */
static int load_library(void *path)
{
	int to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), null = dup2(STDERR_FILENO, STDOUT_FILENO);
	void *h = dlopen(path, RTLD_LAZY | RTLD_LOCAL), *at = h ? dlsym(h, "H5get_libversion") : NULL;
	int (*get)(unsigned *, unsigned *, unsigned *);
	unsigned v[3];
	memcpy(&get, &at, sizeof(get));
	return null < 0 || !at || get(&v[0], &v[1], &v[2]) < 0 || write(to, v, sizeof(v)) != sizeof(v);
}

/* Asks the HDF5 library for its version. To load it runs code of it: in a child, that says nothing and has not for
 * ever. */
static void ask_library_version(struct library *l)
{
	struct buf printed = {0};
	struct child c = {.before = load_library, .arg = l->path, .most = sizeof(l->version), .limit_ms = SECONDS * 1000};
	l->known = child_read(&c, &printed) >= 0 && printed.n == sizeof(l->version);
	if (l->known)
		memcpy(l->version, printed.p, sizeof(l->version));
	buf_release(&printed);
}

void doctor_hdf5(struct buf *ret, unsigned *ret_served, unsigned *ret_connects)
{
	struct libraries *l = calloc(1, sizeof(*l));
	const char *p = getenv("LD_LIBRARY_PATH");
	*ret_served = *ret_connects = 0;
	if (!l)
		return;
	for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		char folder[4096];
		size_t n = strcspn(p, ":");
		if (!n || n >= sizeof(folder))
			continue;
		memcpy(folder, p, n);
		folder[n] = '\0';
		append_folder_libraries(l, folder);
	}
	in_cache(l);
	for (size_t i = 0; i < l->n; i++)
		ask_library_version(&l->v[i]);
	for (size_t i = 0; i < l->n; i++) {
		const unsigned *v = l->v[i].version;
		if (!l->v[i].known || l->v[i].told)
			continue;
		*ret_served += v[0] == 1 && (v[1] == 10 || v[1] == 12 || v[1] == 14);
		*ret_connects += v[0] == 1 && v[1] == 14;
		buf_printf(ret, "%s%u.%u.%u (", ret->n ? ", " : "", v[0], v[1], v[2]);
		for (size_t k = i; k < l->n; k++)
			if (l->v[k].known && !memcmp(l->v[k].version, v, sizeof(l->v[k].version))) {
				buf_printf(ret, "%s%s", k > i ? ", " : "", str_base_name(str_of(l->v[k].path)).p);
				l->v[k].told = true;
			}
		buf_char(ret, ')');
	}
	free(l);
}

void doctor_h5py(struct buf *ret)
{
	/* Not from the working folder, where python3 -c looks first: somebody else may have made it. */
	char *argv[] = {(char *)"python3", (char *)"-c",
	                (char *)"import sys; sys.path = [p for p in sys.path if p]; import h5py; "
	                        "print('h5py', h5py.__version__, 'with', h5py.version.hdf5_version)",
	                NULL};
	struct buf printed = {0};
	child_read(&(struct child){.argv = argv, .most = 128, .limit_ms = 10000}, &printed);
	const char *line = buf_cstr(&printed);
	if (!strncmp(line, "h5py ", 5))
		for (; *line && *line != '\n'; line++)
			buf_char(ret, (char)(isprint((unsigned char)*line) ? *line : '?'));
	buf_release(&printed);
}
