/* dirs.h - names of directories of which a descriptor is held. The kernel is asked for a name once, and it is kept
 * until dirs_forget: only a rename, a mount or the end of a directory gives it another one. Internal to capture. Safe
 * for threads; what is remembered, each remembers for itself. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_DIRS_H
#define STEMMA_CAPTURE_SUPERVISOR_DIRS_H

#include <stdbool.h>
#include <stdint.h>

/* Which directory a descriptor is of, and by which mount it was reached: by another mount the same directory has
 * another name. That stays as long as the descriptor does. */
struct dir_id {
	uint64_t ino; /* 0: not asked for */
	uint64_t dev, mount;
	int64_t born; /* 0: its file system does not tell */
	bool in_proc;
};
/* Asks what identifies a folder: inode, device, mount and birth. False: that cannot be told. */
bool dirs_ask(int fd, struct dir_id *ret);
/* The canonical name of the directory fd, NULL if it cannot be told; valid until the thread asks again. *id is asked
 * for where it is not known. */
const char *dirs_name(int fd, struct dir_id *id);
/* Directories may have got other names. */
void dirs_forget(void);

/* Begins to hold folders. Of absolute paths that are looked at one after the other, as a log has them, the
 * directories are held that come again and again: a thread does so from dirs_turn_begin to dirs_turn_end, while the
 * run changes no name. */
void dirs_turn_begin(void);
void dirs_turn_end(void);
/* The directory of such a path, and its canonical name where that is wanted. The descriptor and the name are valid
 * until the turn ends. -1: it is not held, as yet; or it leads through a process. dirs_in_turn: *ret may be set where
 * it is -1. */
struct dir_held;
int dirs_in_turn(const char *path, struct dir_held **ret);
/* The path of a folder that is held, valid as long as it is held. NULL: it cannot be told. */
const char *dirs_held_name(struct dir_held *h);

#endif
