/* leave.h - when a process becomes another program, a library that goes along by LD_PRELOAD takes itself out of the
 * environment of one that it would break: of another machine, C library or root, or with a sanitizer that wants to be
 * the first library. Here is what looks at programs; leave_execs.h, behind it, has the functions. The code that
 * includes them defines before:
 *
 *   library[]                        its own path, "" where it stays as it is
 *   LEAVE_VARIABLE                   the variable that goes with it, "NAME="; not defined: there is none
 *   LEAVE_ON                         whether anything is looked at
 *   LEAVE_LOOK(dirfd, path, flags)   leave_fit of these, perhaps with a note of it
 *
 * and REAL, REAL_OF, EXPORT: the real function, what it is kept in, how a function is made visible. Rules as in safe.h.
 */
#ifndef STEMMA_CAPTURE_INTERPOSE_LEAVE_H
#define STEMMA_CAPTURE_INTERPOSE_LEAVE_H

#include "capture/interpose/raw.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAVE_ROOM 4096

extern char **environ;

/* The length of s, at most max, without the C library. */
static size_t bounded_length(const char *s, size_t max)
{
	size_t n = 0;
	while (n < max && s[n])
		n++;
	return n;
}

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* What the dynamic linker will do with the library in a program. */
enum fit {
	FIT_GOES,   /* loads it */
	FIT_LEAVES, /* leaves it alone by itself: a static program, a set-id one */
	FIT_BREAKS, /* would complain: another machine, C library or root; or a sanitizer that wants to be first */
};

struct look {
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	Elf64_Phdr ph[24];
	Elf64_Dyn dyn[64];
	char name[64];
};

/* Does the text contain the word? Without the C library. */
static bool contains_word(const char *s, const char *word)
{
	size_t n = bounded_length(word, 64);
	for (; *s; s++) {
		size_t k = 0;
		while (k < n && s[k] == word[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

/* Reads n bytes at offset `at`, without the C library. How many, or -errno. */
static long read_file_at(long fd, void *to, size_t n, uint64_t at)
{
	return raw6(SYS_pread64, fd, (long)to, (long)n, (long)at, 0, 0);
}

/* Does the program need the library of the address sanitizer, which wants to be loaded first? */
static bool needs_sanitizer(long fd, struct look *l, unsigned nph)
{
	uint64_t strings = 0, at = 0;
	long n = 0;
	for (unsigned i = 0; i < nph; i++)
		if (l->ph[i].p_type == PT_DYNAMIC)
			n = read_file_at(fd, l->dyn, sizeof(l->dyn), l->ph[i].p_offset) / (long)sizeof(l->dyn[0]);
	for (long i = 0; i < n; i++)
		if (l->dyn[i].d_tag == DT_STRTAB)
			strings = l->dyn[i].d_un.d_ptr;
	for (unsigned i = 0; i < nph; i++)
		if (l->ph[i].p_type == PT_LOAD && strings >= l->ph[i].p_vaddr && strings - l->ph[i].p_vaddr < l->ph[i].p_filesz)
			at = strings - l->ph[i].p_vaddr + l->ph[i].p_offset;
	for (long i = 0; at && i < n && l->dyn[i].d_tag != DT_NULL; i++) {
		if (l->dyn[i].d_tag != DT_NEEDED)
			continue;
		long got = read_file_at(fd, l->name, sizeof(l->name) - 1, at + l->dyn[i].d_un.d_val);
		l->name[got > 0 ? got : 0] = '\0';
		if (contains_word(l->name, "libasan.so") || contains_word(l->name, "libclang_rt."))
			return true;
	}
	return false;
}

/* Can this library be loaded into the ELF program that fd is open at? */
static enum fit elf_fit(long fd, struct look *l)
{
	Elf64_Ehdr *e = &l->head.elf;
	enum fit fit = FIT_LEAVES;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != MACHINE)
		return FIT_BREAKS;
	unsigned nph = e->e_phnum < 24 ? e->e_phnum : 24;
	if (e->e_phentsize != sizeof(l->ph[0]) ||
	    read_file_at(fd, l->ph, nph * sizeof(l->ph[0]), e->e_phoff) != (long)(nph * sizeof(l->ph[0])))
		return FIT_LEAVES;
	for (unsigned i = 0; i < nph; i++)
		if (l->ph[i].p_type == PT_INTERP) {
			long k = read_file_at(fd, l->name, sizeof(l->name) - 1, l->ph[i].p_offset);
			l->name[k > 0 ? k : 0] = '\0';
			if (contains_word(l->name, "musl"))
				return FIT_BREAKS;
			fit = FIT_GOES;
		}
	return fit == FIT_GOES && needs_sanitizer(fd, l, nph) ? FIT_BREAKS : fit;
}

/* Can this library be loaded into the program at path, or the interpreter of that script? flags: as execveat(2) has
 * them. */
static enum fit leave_fit(int dirfd, const char *path, int flags)
{
	struct look l;
	char script[sizeof(l.head.text)];
	if (raw6(SYS_faccessat, AT_FDCWD, (long)library, R_OK, 0, 0, 0) < 0)
		return FIT_BREAKS;
	for (int depth = 0; depth < 5; depth++) {
		struct stat st;
		bool by_fd = (flags & AT_EMPTY_PATH) && !*path;
		long fd = by_fd ? raw3(SYS_fcntl, dirfd, F_DUPFD_CLOEXEC, 3)
		                : raw6(SYS_openat, dirfd, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
		if (fd < 0)
			return FIT_GOES; /* it is not there, or may be run without being read */
		bool regular = raw3(SYS_fstat, fd, (long)&st, 0) == 0 && S_ISREG(st.st_mode);
		memset(&l.head, 0, sizeof(l.head));
		long n = regular ? read_file_at(fd, &l.head, sizeof(l.head) - 1, 0) : 0;
		bool elf = n >= (long)sizeof(Elf64_Ehdr) && !memcmp(l.head.text, ELFMAG, SELFMAG);
		enum fit fit = elf ? elf_fit(fd, &l) : FIT_GOES;
		raw1(SYS_close, fd);
		if (elf && fit == FIT_GOES && depth == 0 &&
		    ((st.st_mode & S_ISUID) || ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP))))
			fit = FIT_LEAVES;
		if (elf || n < 3 || l.head.text[0] != '#' || l.head.text[1] != '!')
			return fit;
		const char *p = l.head.text + 2;
		while (*p == ' ' || *p == '\t')
			p++;
		size_t k = 0;
		while (p[k] && p[k] != ' ' && p[k] != '\t' && p[k] != '\n')
			k++;
		memcpy(script, p, k);
		script[k] = '\0';
		path = script;
		dirfd = AT_FDCWD;
		flags = 0;
	}
	return FIT_GOES;
}

/* Does s begin with head? Without the C library. */
static bool starts_with(const char *s, const char *head)
{
	while (*head)
		if (*s++ != *head++)
			return false;
	return true;
}

/* How many strings the NULL-ended list has; 0 for NULL. */
static size_t count_strings(char *const *v)
{
	size_t n = 0;
	while (v && v[n])
		n++;
	return n;
}

#define PRELOAD "LD_PRELOAD="

/* v without this library, in out and room, which hold as many pointers and as many bytes as v's preload. */
static char *const *without(char *const *v, char **out, char *room)
{
	size_t n = 0, mine = bounded_length(library, sizeof(library));
	for (; *v; v++) {
#ifdef LEAVE_VARIABLE
		if (starts_with(*v, LEAVE_VARIABLE))
			continue;
#endif
		if (!starts_with(*v, PRELOAD)) {
			out[n++] = *v;
			continue;
		}
		char *p = room + sizeof(PRELOAD) - 1;
		memcpy(room, PRELOAD, sizeof(PRELOAD) - 1);
		for (const char *q = *v + sizeof(PRELOAD) - 1; *q;) {
			size_t k = 0;
			while (q[k] && q[k] != ':' && q[k] != ' ')
				k++;
			if (k && !(k == mine && !memcmp(q, library, k))) {
				if (p != room + sizeof(PRELOAD) - 1)
					*p++ = ':';
				memcpy(p, q, k);
				p += k;
			}
			q += k + (q[k] != '\0');
		}
		*p = '\0';
		if (p != room + sizeof(PRELOAD) - 1)
			out[n++] = room;
	}
	out[n] = NULL;
	return out;
}

/* How many bytes the values of LD_PRELOAD in the environment take, with 1 each to end them. */
static size_t preload_room(char *const *v)
{
	size_t n = 1;
	for (; v && *v; v++)
		if (starts_with(*v, PRELOAD))
			n += bounded_length(*v, (size_t)-1) + 1;
	return n;
}

/* Where execvp would find it. */
static const char *search_path_list(const char *file, char *ret, size_t room)
{
	const char *path = NULL;
	size_t len = bounded_length(file, room);
	for (const char *p = file; *p; p++)
		if (*p == '/')
			return file;
	for (char **v = environ; v && *v; v++)
		if (starts_with(*v, "PATH="))
			path = *v + 5;
	for (const char *p = path ? path : "/bin:/usr/bin"; *p;) {
		size_t k = 0;
		while (p[k] && p[k] != ':')
			k++;
		if (k + len + 2 < room) {
			memcpy(ret, p, k);
			ret[k] = '/';
			memcpy(ret + k + (k > 0), file, len + 1);
			if (raw6(SYS_faccessat, AT_FDCWD, (long)ret, X_OK, 0, 0, 0) == 0)
				return ret;
		}
		p += k + (p[k] == ':');
	}
	return file;
}

#endif
