#include "capture/run/libraries.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARIES 8
#define OTHERS 64
#define LOOKS 64

struct libraries {
	struct sites sites[LIBRARIES];
	size_t n;
	uint16_t other[OTHERS]; /* low bits of addresses of calls that are no library's */
	size_t nothers;
	unsigned looks;
};

static bool is_other(const struct libraries *libs, uint64_t ip)
{
	size_t n = libs->nothers < OTHERS ? libs->nothers : OTHERS;
	for (size_t i = 0; i < n; i++)
		if (libs->other[i] == (uint16_t)ip)
			return true;
	return false;
}

static const struct sites *library_at(const struct libraries *libs, uint64_t ip, uint64_t *ret_base)
{
	for (size_t i = 0; i < libs->n; i++) {
		const struct sites *l = &libs->sites[i];
		for (size_t k = 0; k <= l->n; k++) {
			if (k < l->n && l->site[k].kind != SITE_OPEN)
				continue;
			uint64_t offset = k < l->n ? l->site[k].offset : l->start;
			if (offset && ip > offset + 2 && ((ip - 2 - offset) & 0xfff) == 0) {
				*ret_base = ip - 2 - offset;
				return l;
			}
		}
	}
	return NULL;
}

/* Reads the file that ip is in. */
static void meet(struct libraries *libs, const struct proc *p, uint64_t ip)
{
	char name[48], *line = NULL;
	size_t room = 0;
	bool found = false;
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	FILE *maps = fopen(name, "re");
	while (maps && !found && getline(&line, &room, maps) > 0) {
		unsigned long long from, to, ino;
		int path = 0;
		if (sscanf(line, "%llx-%llx %*s %*s %*s %llu %n", &from, &to, &ino, &path) < 3 || ip < from || ip >= to)
			continue;
		line[strcspn(line, "\n")] = '\0';
		int fd = ino && path ? open(line + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		struct stat st;
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == ino && libs->n < LIBRARIES &&
		    sites_read(fd, &libs->sites[libs->n]) == 0) {
			libs->n++;
			found = true;
		}
		if (fd >= 0)
			close(fd);
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
	uint64_t base;
	if (!found || !library_at(libs, ip, &base))
		libs->other[libs->nothers++ % OTHERS] = (uint16_t)ip;
}

const struct sites *library_of(struct sup *s, const struct proc *p, uint64_t ip, uint64_t *ret_base)
{
	if (!s->libraries && !(s->libraries = calloc(1, sizeof(*s->libraries))))
		return NULL;
	struct libraries *libs = s->libraries;
	if (is_other(libs, ip))
		return NULL;
	const struct sites *l = library_at(libs, ip, ret_base);
	if (!l && libs->looks < LOOKS) {
		libs->looks++;
		meet(libs, p, ip);
		l = library_at(libs, ip, ret_base);
	}
	return l;
}
