/* fileid.h - what a file is, whatever it is called: file system, inode, generation.
 *
 * domain: "uuid:<file-system uuid>", "net:<server>:/<export>#<fsid>", or "boot:<boot id>:<device>" for file systems
 * that do not outlive the boot (tmpfs) or do not say who they are. gen: XXH3 of the file handle, which holds the
 * inode's generation; else the birth time in ns (not on overlayfs, where a copy-up changes it); else 0. ext4 gives an
 * inode number away again at once, so the number alone is not identity. Capture and queries both come here, so that
 * they agree.
 *
 * Domains are found once per device and kept for the life of the process, behind a lock: safe for threads. */
#ifndef STEMMA_BASE_FILEID_H
#define STEMMA_BASE_FILEID_H

#include "base/str.h"

#include <stdint.h>
#include <sys/stat.h>

struct fs_domain {
	uint64_t dev;       /* major << 32 | minor */
	const char *name;   /* lives as long as the process */
	const char *type;   /* file-system type: ext4, nfs4, tmpfs, ... */
	bool network;       /* written by other hosts; mtime is a server's */
	bool birth_changes; /* overlayfs */
	bool pseudo;        /* proc, sysfs, devpts, cgroup, ...: nothing there has versions */
	int64_t mtime_step; /* ns by which two modifications may share an mtime */
	unsigned index;     /* 1, 2, ... in order of discovery; 0: the domain is unknown */
};

struct fileid {
	const struct fs_domain *domain;
	uint64_t ino, gen;
	struct statx st;
};

/* The mask that fileid_of wants in a struct statx. */
#define FILEID_STATX (STATX_BASIC_STATS | STATX_BTIME)

/* As statx(2), of what the kernel knows without asking a server (AT_STATX_DONT_SYNC). Where the C library makes up
 * statx from stat, because the kernel has none or forbids it, it knows no such flag: then as without it. */
int fileid_statx_cached(int dirfd, const char *name, int flags, unsigned mask, struct statx *ret);

/* The device of a file as one number. */
static inline uint64_t fileid_dev(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}
/* The time in ns since 1970. */
static inline int64_t fileid_time(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000LL + t->tv_nsec;
}

/* The domain of a device; `path` leads to something on it (opened O_PATH at most). Never NULL. */
const struct fs_domain *fileid_domain(int dirfd, const char *path, uint64_t dev);
/* ... as another process found it; `told` is copied. What is known of that device already stays. */
const struct fs_domain *fileid_domain_told(const struct fs_domain *told);
/* ... if it was asked for before, with any path; else NULL. */
const struct fs_domain *fileid_domain_known(uint64_t dev);
/* Identity of an object already statx'ed; path leads to it (flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH). */
void fileid_of(int dirfd, const char *path, int flags, const struct statx *st, struct fileid *ret);
/* statx and identity. 0 or -errno. */
int fileid_get(int dirfd, const char *path, bool follow, struct fileid *ret);
/* Identifies a file. The same from what the kernel remembers; nobody is asked. Size and times may be old ones:
 * st.stx_mask has neither. */
void fileid_of_unasked(const char *path, int flags, const struct statx *st, struct fileid *ret);
/* The type of the file system of a device by a mountinfo; false, and "": it is not there. */
bool fileid_type_in(const char *mountinfo, uint64_t dev, char ret[64]);
/* Is it FUSE? Is it one without versions (struct fs_domain)? */
bool fileid_type_fuse(const char *type);
bool fileid_type_pseudo(const char *type);
/* Does a process (FUSE) or another host answer for file systems of this type, and may keep those waiting who look? */
bool fileid_type_waits(const char *type);
/* Is one mounted in this mount namespace? */
bool fileid_mounts_wait(void);
/* This host's boot id, 32 hex digits; "" if unknown. */
const char *host_boot_id(void);

#endif
