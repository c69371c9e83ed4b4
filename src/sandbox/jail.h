/* jail.h - a command that may reach only what it is given.
 *
 * What a record says is run again in a jail: it may read system folders and the files that are given, write below its
 * own folders, and reach no other process, socket or device. Several layers do that; each is used where the kernel has
 * it, and jail_make says which are there (doc/security.md has the table):
 *
 *   Landlock       files that are opened, made, removed or executed, by any name; signals and sockets of others
 *   namespaces     all mounts read-only but the own folders (so also modes, owners and times); no network but an own
 *                  loopback; an own and empty /dev/shm; System V memory
 *   call filter    sockets, other processes, mounts, keyrings, io_uring, the terminal's input; in a strict jail
 *                  programs that whoever starts them runs as this user (set-user-ID)
 *   descriptors    in a strict jail the first three alone
 *   capabilities   root keeps those that concern its own files, in a strict jail none
 *
 * jail_make prepares all that names files, outside; jail_enter is called in the process that will exec, and only that
 * and its children are in the jail. Whoever traces or records them stays outside. */
#ifndef STEMMA_SANDBOX_JAIL_H
#define STEMMA_SANDBOX_JAIL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	JAIL_FILES = 1,      /* Landlock is there */
	JAIL_NAMESPACES = 2, /* ... an own mount and network namespace */
	JAIL_CALLS = 4,      /* ... system call filters */
};

struct jail {
	bool apart;  /* the caller makes the namespaces: jail_enter makes none. Set between the two */
	bool strict; /* the command is not the user's own: no sockets at all, no other process's state in /proc */
	/* Of the module: */
	int ruleset, abi; /* -1 none; Landlock's version, 0 none */
	unsigned layers;  /* JAIL_... */
	char *own[4];     /* folders that it may write below */
	size_t n_own;
};

/* Which layers does this kernel let this process use? Asks by trying, in a child. */
unsigned jail_layers(int *ret_abi);
/* Begins a jail with the system's folders. Release it in any case. 0 or -errno. */
int jail_make(struct jail *j, bool strict, struct err *err);
/* It may read, list and execute what lies there. path: absolute; a path with a symbolic link in it, or that is not
 * there, gives nothing. */
void jail_may_read(struct jail *j, const char *path);
/* Lets a command of the user's own read a file as jail_may_read does; it may also list the folder that it lies in
 * and those below that one, for interpreters look for modules that way, and a record has no lists of folders. */
void jail_may_find(struct jail *j, const char *path);
/* It may do everything below this folder, which is there; absolute, without links. 0 or -errno. */
int jail_may_write(struct jail *j, const char *folder);
/* In a child that will exec. 0 or -errno with a sentence: then the process must not go on. */
int jail_enter(struct jail *j, struct err *err);
void jail_release(struct jail *j);

#endif
