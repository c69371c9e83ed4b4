#include "capture/supervisor/libraries.h"
#include "capture/inject/inject.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARIES 12
#define ALONE 6 /* of them static programs, so that libraries have room */
#define LOADERS 4
#define OTHERS 64
#define LOOKS 64

struct libraries {
	struct sites sites[LIBRARIES];
	size_t n, nalone;
	uint16_t other[OTHERS]; /* low bits of addresses of calls that are no library's */
	size_t nothers;
	unsigned looks;
	struct sites loader[LOADERS];
	size_t nloaders;
};

/* Is the address in a library that is of no use? By the last 16 bits: it may be wrong about others. */
static bool is_other(const struct libraries *libs, uint64_t ip)
{
	size_t n = libs->nothers < OTHERS ? libs->nothers : OTHERS;
	for (size_t i = 0; i < n; i++)
		if (libs->other[i] == (uint16_t)ip)
			return true;
	return false;
}

/* The C library, mapped at *ret_base, one of whose sites this address is. NULL: none is known. */
static const struct sites *library_at(const struct libraries *libs, uint64_t ip, uint64_t *ret_base)
{
	for (size_t i = 0; i < libs->n; i++) {
		const struct sites *l = &libs->sites[i];
		for (size_t k = 0; k <= l->n + SITES_STAYS + l->nframed; k++) {
			if (k < l->n && l->site[k].kind != SITE_OPEN)
				continue;
			uint64_t offset = k < l->n                  ? l->site[k].offset
			                  : k == l->n               ? l->start
			                  : k <= l->n + SITES_STAYS ? l->stays[k - l->n - 1]
			                                            : l->framed[k - l->n - SITES_STAYS - 1].call;
			if (offset &&
			    (l->alone && !l->moves ? ip == offset + 2 : ip > offset + 2 && ((ip - 2 - offset) & 0xfff) == 0)) {
				*ret_base = ip - 2 - offset;
				return l;
			}
		}
	}
	return NULL;
}

/* Reads the sites of the file that is mapped there. False: none is, or another file is there now. */
static bool read_mapped(const struct proc *p, uint64_t ip, int (*read)(int fd, struct sites *ret), struct sites *ret)
{
	char name[48], *line = NULL;
	size_t room = 0;
	bool found = false;
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	FILE *maps = fopen(name, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		unsigned long long from, to, ino;
		int path = 0;
		if (sscanf(line, "%llx-%llx %*s %*s %*s %llu %n", &from, &to, &ino, &path) < 3 || ip < from || ip >= to)
			continue;
		line[strcspn(line, "\n")] = '\0';
		int fd = ino && path ? open(line + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		struct stat st;
		found = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == ino && read(fd, ret) == 0;
		if (fd >= 0)
			close(fd);
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* Reads the file that ip is in. */
static void read_library_of(struct libraries *libs, const struct proc *p, uint64_t ip)
{
	uint64_t base;
	struct sites *l = &libs->sites[libs->n];
	bool found = libs->n < LIBRARIES && read_mapped(p, ip, sites_read, l) && (!l->alone || libs->nalone < ALONE);
	libs->n += found;
	libs->nalone += found && l->alone;
	if (!found || !library_at(libs, ip, &base))
		libs->other[libs->nothers++ % OTHERS] = (uint16_t)ip;
}

/* Made at the first use; NULL without memory. */
static struct libraries *libraries_of(struct sup *s)
{
	if (!s->libraries)
		s->libraries = calloc(1, sizeof(*s->libraries));
	return s->libraries;
}

/* Where the kernel has put the loader; 0: nowhere. */
static uint64_t loader_base(pid_t pid)
{
	char name[48];
	uint64_t v[2 * 64]; /* the kernel gives two dozen pairs */
	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, v, sizeof(v));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 2 <= n / (ssize_t)sizeof(v[0]) && v[i] != AT_NULL; i += 2)
		if (v[i] == AT_BASE)
			return v[i + 1];
	return 0;
}

bool libraries_is_loader(struct proc *p, uint64_t ip)
{
	enum { SIZE = 1 << 20, NOWHERE = 1 }; /* glibc's is 240 KB, musl's, which is its C library, 650 KB */
	if (!p->loader) {
		p->loader = loader_base(p->pid);
		if (!p->loader)
			p->loader = NOWHERE;
	}
	return p->loader != NOWHERE && ip - p->loader < SIZE;
}

const struct sites *libraries_loader_of(struct sup *s, const struct proc *p, uint64_t *ret_base)
{
	struct libraries *libs = libraries_of(s);
	*ret_base = libs ? loader_base(p->pid) : 0;
	if (!*ret_base)
		return NULL;
	for (size_t i = 0; i < libs->nloaders; i++)
		if (inject_has_sites(p->pid, &libs->loader[i], *ret_base))
			return &libs->loader[i];
	if (libs->nloaders == LOADERS || libs->looks >= LOOKS)
		return NULL;
	libs->looks++;
	struct sites *l = &libs->loader[libs->nloaders];
	if (!read_mapped(p, *ret_base, sites_read_loader, l) || !inject_has_sites(p->pid, l, *ret_base))
		return NULL;
	libs->nloaders++;
	return l;
}

const struct sites *libraries_library_of(struct sup *s, const struct proc *p, uint64_t ip, uint64_t *ret_base)
{
	struct libraries *libs = libraries_of(s);
	if (!libs || is_other(libs, ip))
		return NULL;
	const struct sites *l = library_at(libs, ip, ret_base);
	if (!l && libs->looks < LOOKS) {
		libs->looks++;
		read_library_of(libs, p, ip);
		l = library_at(libs, ip, ret_base);
	}
	return l;
}
