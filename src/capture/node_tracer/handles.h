/* handles.h - file handles to files: which file system, inode, generation, and what the directory is called.
 *
 * A file system is known by fanotify's id of it. Handles are opened by the helper (helper.h), with O_PATH only: nothing
 * of a file is read, no lease broken, no device touched. What a whole read of fanotify's queue needs is asked for at
 * once.
 *
 * Paths of directories are kept (4,096), until a directory is renamed; sizes and times of files for a second (4,096).
 * Both are tables where a new one takes the place of another. One thread. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_HANDLES_H
#define STEMMA_CAPTURE_NODE_TRACER_HANDLES_H

#include "base/fileid.h"
#include "capture/node_tracer/decode.h"
#include "capture/node_tracer/helper.h"
#include "capture/node_tracer/tracer.h"

#include <sys/types.h>

struct place { /* a file system */
	uint64_t fsid, dev;
	const struct fs_domain *domain;
	char *shown; /* where it is mounted */
	bool asked;  /* the helper knows it, as this: */
	uint32_t slot;
	bool alias; /* of another mount namespace: */
	pid_t by;   /* the process of it that it is reached through; 0: it is not */
	uint32_t ns;
	bool handles; /* name_to_handle_at works: its handles are identities, and can be opened */
	bool decodes; /* the inode's number is in the handle, where it is looked for */
	int32_t type; /* of its handles, when it decodes */
	uint32_t bytes;
	bool seen;            /* for who goes through all mounts: watch.c's, as are */
	bool watched, silent; /* silent: it does not answer, and nothing more is known */
	const char *why;      /* it is not, or what is missing; NULL nothing */
};

struct places;

/* helper must outlive it. 0, -ENOMEM. */
int places_new(struct helper *helper, struct places **ret);

void places_free(struct places *p);
/* What the helper looked at; its slot is taken. NULL and errno if there is no room. Known ones are found again. */
struct place *places_add(struct places *p, const struct helper_place *seen, const char *shown, bool alias);
/* One that is not asked; why: it is not watched. places_find: NULL: it is not known. places_remove: frees it; paths and
 * states of all are forgotten. */
struct place *places_add_unasked(struct places *p, uint64_t dev, const char *shown, bool alias, const char *why);
void places_remove(struct places *p, struct place *place);
struct place *places_find(struct places *p, uint64_t fsid);
struct place *places_of_dev(const struct places *p, uint64_t dev);
/* The i-th, NULL at the end. */
struct place *places_at(struct places *p, size_t i);

/* Identity of what a handle means; without asking the file system where it can be read off. False: gone. */
bool places_id(struct places *p, struct place *at, const struct handle *h, struct tracer_fileid *ret);
/* Fills in gen where the kernel told an inode's number and generation, and what a handle holds is known. */
void places_gen(const struct places *p, struct tracer_fileid *id);
/* What a directory is called now; lives until the next call. False with *ret_why. */
bool places_dir(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why);
/* ... any file, by its own handle: the name it was last looked up by. Not kept. */
bool places_path(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why);
/* A file as it was found. looked: when at the latest; ns of CLOCK_MONOTONIC. */
struct place_state {
	struct tracer_fileid id;
	uint64_t size; /* bytes */
	int64_t mtime, looked;
};
/* Not older than a second; fresh: not older than this round. False: gone. */
bool places_state(struct places *p, struct place *at, const struct handle *h, bool fresh, int64_t now,
                  struct place_state *ret);
/* An event told what a directory is called: true of the events that follow, whatever became of it since. */
void places_learn(struct places *p, struct place *at, const struct handle *h, struct str path);
/* A directory was renamed. Paths below it that events told get their new beginning, all that were asked for are asked
 * for again. Empty paths: not known. */
void places_renamed(struct places *p, struct str from, struct str to);
/* Begins with what a read of fanotify gave. Then what will be asked of places_state is said, and places_wanted asks for
 * it: in the same round that is not older than it may be. places_want: fresh: a state that is known already is not
 * enough. */
void places_round(struct places *p);
void places_want(struct places *p, struct place *at, const struct handle *h, bool fresh, int64_t now);
void places_wanted(struct places *p, int64_t now);
/* Bytes. */
size_t places_memory(const struct places *p);

#endif
