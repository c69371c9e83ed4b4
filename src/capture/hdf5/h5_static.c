#include "capture/hdf5/h5_static.h"

#include "capture/supervisor/super.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAMS 1024 /* that are remembered; of more, the first is looked at anew */
#define CHUNK (256u << 10)
#define READ_MAX (64u << 20) /* bytes of a program */
#define HEADERS 64

/* What the library says of itself, in two pieces, that no program of ours is taken for one: behind the first stands the
 * number of a version. A program that only speaks of HDF5's version has no number there. */
static const char said[] = "HDF5 library vers", also[] = "ion: ";
#define NEEDLE (sizeof(said) - 1 + sizeof(also) - 1)

struct program {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	bool has;
};
struct inside {
	size_t n, turn;
	struct program v[PROGRAMS];
	char room[CHUNK + NEEDLE + 1];
};

struct inside *inside_new(void)
{
	return calloc(1, sizeof(struct inside));
}

/* Has the room the sentence that only HDF5's code has? */
static bool in_room(const char *room, size_t n)
{
	for (const char *p = room, *end = room + n; (p = memmem(p, (size_t)(end - p), said, sizeof(said) - 1)); p++) {
		const char *q = p + sizeof(said) - 1;
		if ((size_t)(end - p) > NEEDLE && !memcmp(q, also, sizeof(also) - 1) && p[NEEDLE] >= '0' && p[NEEDLE] <= '9')
			return true;
	}
	return false;
}

/* Pieces overlap by what is looked for. *left: bytes that may be read yet. False also where it cannot be read. */
static bool in_part(struct sup *s, int fd, uint64_t at, uint64_t size, uint64_t *left)
{
	struct inside *m = s->inside;
	size_t kept = 0;
	for (size = size < *left ? size : *left; size;) {
		ssize_t got = pread(fd, m->room + kept, size < CHUNK ? (size_t)size : CHUNK, (off_t)at);
		if (got <= 0)
			return false;
		*left -= (uint64_t)got;
		size -= (uint64_t)got;
		at += (uint64_t)got;
		size_t n = kept + (size_t)got;
		if (in_room(m->room, n))
			return true;
		kept = n < NEEDLE ? n : NEEDLE;
		memmove(m->room, m->room + n - kept, kept);
		sup_goes_on(s);
	}
	return false;
}

/* Data first: there it stands, or, where it is constant, in what is only read. Code only where there is no such part.
 * False, too, where it is no 64-bit ELF file. */
static bool has_hdf5(struct sup *s, int fd)
{
	Elf64_Ehdr e;
	Elf64_Phdr h[HEADERS];
	uint64_t left = READ_MAX;
	bool only_read = false;
	if (pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(h[0]))
		return false;
	size_t n = e.e_phnum < HEADERS ? e.e_phnum : HEADERS;
	ssize_t got = pread(fd, h, n * sizeof(h[0]), (off_t)e.e_phoff);
	n = got < 0 ? 0 : (size_t)got / sizeof(h[0]);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < n; i++) {
			unsigned kind = h[i].p_flags & PF_W ? 0 : h[i].p_flags & PF_X ? 2 : 1;
			if (h[i].p_type != PT_LOAD || (int)kind != round || (kind == 2 && only_read))
				continue;
			if (in_part(s, fd, h[i].p_offset, h[i].p_filesz, &left))
				return true;
			/* The headers alone are no such part. */
			only_read |= kind == 1 && h[i].p_offset;
		}
	return false;
}

/* Its program by the process, else by its path if it still is that inode. A descriptor; -1: neither. */
static int open_program(const struct proc *p, const struct file *exe, struct stat *ret)
{
	char link[48];
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	const char *const ways[] = {link, exe->path};
	for (int i = 0; i < 2; i++) {
		int fd = ways[i] && ways[i][0] == '/' ? open(ways[i], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
		if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_ino == exe->ino)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* By inode, device, size and time of change. */
static bool is_program_unchanged(const struct program *a, const struct stat *b)
{
	return a->ino == b->st_ino && a->dev == b->st_dev && a->size == b->st_size &&
	       a->mtime.tv_sec == b->st_mtim.tv_sec && a->mtime.tv_nsec == b->st_mtim.tv_nsec;
}

/* p has just become the program exe (may be NULL). */
static void inside_look(struct sup *s, struct proc *p, const struct file *exe)
{
	struct inside *m = s->inside;
	struct stat st;
	int fd = m && exe && exe->kind == TERM_kind_regular ? open_program(p, exe, &st) : -1;
	if (fd < 0)
		return;
	size_t i = 0;
	while (i < m->n && !is_program_unchanged(&m->v[i], &st))
		i++;
	if (i == m->n) {
		i = m->n < PROGRAMS ? m->n++ : m->turn++ % PROGRAMS;
		m->v[i] = (struct program){
		    .dev = st.st_dev, .ino = st.st_ino, .size = st.st_size, .mtime = st.st_mtim, .has = has_hdf5(s, fd)};
	}
	close(fd);
	if (m->v[i].has)
		sup_gap(s, p, TERM_gap_hdf5, 0, "HDF5 linked into the program is not observed");
}

const struct feature hdf5_feature = {.name = "hdf5", .exec = inside_look};
