/* own_dir.h - a folder that only this user can change, below one that everybody may write (/var/tmp, /tmp).
 *
 * Such a folder has a name that anybody can guess, stemma-UID, and anybody can make it first. What is found there is
 * used only if it is a real folder (no symbolic link) that belongs to this user and that nobody else can write; it is
 * looked at through the descriptor that is then used. Otherwise a second one is taken, stemma-UID.XXXXXX, of which any
 * number can be made; of several the first by name counts, so all processes of a user meet in one.
 *
 * All functions return descriptors (O_CLOEXEC) or -errno. Threads: any. */
#ifndef STEMMA_BASE_OS_OWN_DIR_H
#define STEMMA_BASE_OS_OWN_DIR_H

#include <limits.h>
#include <stdbool.h>

#define OWN_DIR_PATH 128

/* Checks a folder that holds a socket or secrets of this user. 0: fd is a folder of this user's that nobody else can
 * write. -ENOTDIR, -EPERM. */
int own_dir_check(int fd);
/* The folder `name` in parent, made 0700 where missing; no symbolic link, and this user's alone. */
int own_dir_at(int parent, const char *name);
/* This user's folder below base, made where missing, and its path. -EPERM: others could take away what is made in base.
 */
int own_dir_in(const char *base, char ret_path[OWN_DIR_PATH]);
/* The first one if it is there and can be used, else -errno. */
int own_dir_existing(const char *base, char ret_path[OWN_DIR_PATH]);
/* This user's second folder below base if there is one, whether the first can be used or not; else -ENOENT. */
int own_dir_second(const char *base, char ret_path[OWN_DIR_PATH]);

#endif
