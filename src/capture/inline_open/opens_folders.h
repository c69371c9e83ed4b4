/* opens_folders.h - folders by whose descriptors programs open files without a stop, as grep -r does (doc/opens.md, By
 * a folder's descriptor): each is looked up once, at a stop. Internal to capture/inline_open; under the big lock.
 *
 * A descriptor's number says nothing when a log is read, for it may be another's by then. So the code asks for the
 * folder's device and inode at each open, and goes on only where the program's log has these in its table of folders.
 * The entry has the row. Here is the name of each row, and before it is used it has to lead to that very folder. No
 * descriptor is held.
 *
 * A row comes from a stop, or from the code: where that has opened a folder it puts it into the table, and into its log
 * with what it is and its path, by which the name is known when the entries that begin in it are read.
 *
 * Cost of a folder: one stop and 5 us, or 3 us without a stop; and 1 us each time a log is read in which it is. At most
 * OPENS_FOLDERS a program. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_OPENS_FOLDERS_H
#define STEMMA_CAPTURE_INLINE_OPEN_OPENS_FOLDERS_H

#include "capture/inline_open/logging.h"

/* Learns a folder: p, which has a log and is at a stop, opens a file by its descriptor fd of a folder: from now on
 * it does so without a stop. Nothing is learned of a folder in /proc, of one without a name, or where a file system
 * may keep us waiting. */
void opens_folders_learn(struct sup *s, struct proc *p, int fd);
/* Notes a folder: p has opened that folder by its code, by that path; folder: that a relative one begins in, NULL:
 * the working directory. */
void opens_folders_made(struct sup *s, struct proc *p, const struct opens_folder_row *row, const char *folder,
                        const char *path, unsigned flags);
/* May p put folders into the table? Not where a file system may keep us waiting who look at them, nor if it works in
 * /proc or one of its folders was not found again. */
bool opens_folders_noted(const struct sup *s, const struct logging *g);
/* The name of that row, 1 + its number, without "/" at its end; valid until that row is learned anew. NULL: the name
 * leads to another folder now, or to none, and the program stops there again. */
const char *opens_folders_name(struct opens_logs *l, struct logging *g, unsigned row);
/* Folders are about to get other names: all programs stop again for those that they know. */
void opens_folders_forget(struct opens_logs *l);
void opens_folders_free(struct logging *g);

#endif
