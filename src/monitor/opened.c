#include "monitor/opened.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 1000
#define SLOTS 2048 /* a power of two */

struct one {
	uint64_t number;
	char *path;
	int64_t size;
	bool read, written, handed, seen;
};

struct opened {
	struct one file[MOST];
	size_t n;
	uint16_t slot[SLOTS]; /* index + 1, 0 none */
	bool reported, looked, left_out;
};

/* NULL without memory. */
struct opened *opened_new(void)
{
	return calloc(1, sizeof(struct opened));
}

/* NULL is no error. */
void opened_free(struct opened *o)
{
	for (size_t i = 0; o && i < o->n; i++)
		free(o->file[i].path);
	free(o);
}

/* Made if it is new. NULL: there are MOST, which sets o->left_out. */
static struct one *opened_file_slot(struct opened *o, uint64_t number)
{
	size_t at = (size_t)(number * 0x9E3779B97F4A7C15u >> 40) & (SLOTS - 1);
	for (; o->slot[at]; at = (at + 1) & (SLOTS - 1))
		if (o->file[o->slot[at] - 1].number == number)
			return &o->file[o->slot[at] - 1];
	if (o->n == MOST) {
		o->left_out = true;
		return NULL;
	}
	o->file[o->n] = (struct one){.number = number, .size = -1, .handed = true};
	o->slot[at] = (uint16_t)++o->n;
	return &o->file[o->n - 1];
}

void opened_report(struct opened *o, uint64_t number, const char *path, int64_t size, bool read, bool written,
                   bool handed)
{
	struct one *f = opened_file_slot(o, number);
	if (!f)
		return;
	if (path && (!f->path || strcmp(f->path, path))) {
		char *copy = strdup(path);
		if (copy) {
			free(f->path);
			f->path = copy;
		}
	}
	if (size >= 0)
		f->size = size;
	f->seen |= read || written;
	f->read |= read;
	f->written |= written;
	f->handed &= handed || !(read || written);
}

void opened_set_reported(struct opened *o, bool all)
{
	o->reported = true;
	o->left_out |= !all;
}

void opened_look(struct opened *o, pid_t pid)
{
	char name[48], path[4096];
	if (o->reported)
		return;
	o->looked = true;
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	DIR *d = opendir(name);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st, link;
		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode) ||
		    fstatat(dirfd(d), e->d_name, &link, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof(path) - 1);
		if (n <= 0 || path[0] != '/')
			continue;
		path[n] = '\0';
		opened_report(o, (uint64_t)st.st_dev << 40 ^ (uint64_t)st.st_ino, path, (int64_t)st.st_size,
		              link.st_mode & S_IRUSR, link.st_mode & S_IWUSR, true);
	}
	if (d)
		closedir(d);
}

int opened_summarize(const struct opened *o, bool whole, struct summary *s)
{
	if (!o->reported && !o->looked)
		return 0;
	s->file = calloc(o->n + 1, sizeof(*s->file));
	if (!s->file)
		return -ENOMEM;
	s->files_told = true;
	s->files_complete = o->reported && whole && !o->left_out;
	for (size_t i = 0; i < o->n; i++) {
		const struct one *f = &o->file[i];
		if (!f->seen || !f->path)
			continue;
		struct summary_file *to = &s->file[s->nfile];
		*to = (struct summary_file){.size = f->size, .read = f->read, .written = f->written};
		to->path = strdup(f->path);
		to->how = strdup(f->handed ? "descriptor" : "open");
		s->nfile += to->path && to->how;
	}
	return 0;
}
