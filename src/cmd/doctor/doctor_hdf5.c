#include "cmd/doctor/doctor_hdf5.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
static bool is_hdf5_library(const char *name)
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

static void append_folder_libraries(struct libraries *l, const char *folder)
{
	DIR *d = opendir(folder);
	char path[4096];
	for (struct dirent *e; d && (e = readdir(d));)
		if (is_hdf5_library(e->d_name) && snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path))
			append_library(l, path);
	if (d)
		closedir(d);
}

/* Where the C library's loader would find it: `name (kind) => path`, a line each. */
static void in_cache(struct libraries *l)
{
	char line[4400];
	FILE *f = popen("PATH=/sbin:/usr/sbin:/bin:/usr/bin LC_ALL=C ldconfig -p 2>/dev/null", "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *name = line + strspn(line, " \t"), *path = strstr(line, " => ");
		if (!path)
			continue;
		path += 4;
		path[strcspn(path, "\n")] = '\0';
		name[strcspn(name, " ")] = '\0';
		if (is_hdf5_library(name))
			append_library(l, path);
	}
	if (f)
		pclose(f);
}

/* To load it runs code of it: in a child, that says nothing and has not for ever. */
static void ask_library_version(struct library *l)
{
	int to[2];
	if (pipe2(to, O_CLOEXEC) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		alarm(SECONDS);
		void *h = dlopen(l->path, RTLD_LAZY | RTLD_LOCAL), *at = h ? dlsym(h, "H5get_libversion") : NULL;
		int (*get)(unsigned *, unsigned *, unsigned *);
		unsigned v[3];
		memcpy(&get, &at, sizeof(get));
		if (!at || get(&v[0], &v[1], &v[2]) < 0)
			_exit(1);
		_exit(write(to[1], v, sizeof(v)) != sizeof(v));
	}
	close(to[1]);
	l->known = pid > 0 && read(to[0], l->version, sizeof(l->version)) == sizeof(l->version);
	close(to[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
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
	char line[128];
	FILE *f = popen(
	    /* Not from the working folder, where python3 -c looks first: somebody else may have made it. */
	    "timeout 10 python3 -c 'import sys; sys.path = [p for p in sys.path if p]; import h5py; print(\"h5py\", "
	    "h5py.__version__, \"with\", h5py.version.hdf5_version)' "
	    "2>/dev/null </dev/null",
	    "re");
	if (f && fgets(line, sizeof(line), f) && !strncmp(line, "h5py ", 5)) {
		line[strcspn(line, "\n")] = '\0';
		for (char *c = line; *c; c++)
			*c = (char)(isprint((unsigned char)*c) ? *c : '?');
		buf_printf(ret, "%s", line);
	}
	if (f)
		pclose(f);
}
