/* target.h - what somebody means by a word on the command line: a file as it is called now, or was; one version of it;
 * a run; an execution. */
#ifndef STEMMA_QUERY_TARGET_H
#define STEMMA_QUERY_TARGET_H

#include "base/buf.h"
#include "query/deleted.h"
#include "store/store.h"

enum disk_state {
	DISK_SAME,     /* it is there and looks as recorded, or the record does not say how it looked */
	DISK_CHANGED,  /* size or time of modification differ from the latest version's */
	DISK_REPLACED, /* another file has the name now */
	DISK_GONE,     /* no file has the name now */
	DISK_AROUND,   /* of an object in a file: that was written since, and who did so did not tell whether the object was
	                */
	DISK_DELETED,  /* of an object in a file: it was deleted, and the record says so */
};

/* How the word that was asked for stands to the path that store_file gives. */
enum name_state {
	NAME_SHOWN, /* it is that, or no path at all */
	NAME_KNOWN, /* the file has this name too, as is recorded */
	NAME_NEW,   /* it has the name now, and nobody recorded that it got it */
	NAME_LINK,  /* it is a link from another HDF5 file */
	NAME_OLD,   /* it had the name, and has the other one since */
};

struct file_target {
	store_id file;
	store_id version; /* the one asked for, or the latest; 0: the file has none */
	uint64_t n;       /* the N of FILE@{N}; 0: none was given */
	enum disk_state disk;
	enum name_state name;
	struct deletion deleted; /* where disk is that; the version is then, where none was asked for, what it was before */
	size_t name_n;           /* bytes of the word that are the name, without a version; 0: it was an id */
};

/* Absolute and without `.`, `..` and symbolic links as far as it exists; nothing needs to exist. */
void target_path(const char *text, struct buf *ret);
/* Of FILE//PATH, an object of an HDF5 file, the length of FILE; 0: it is none (the first part is a folder, or there is
 * no
 * //). */
size_t target_object(const char *text);

/* A file: by its identity if there is one of that name now, else by the name; FILE@{N} is its version N, also FILE@N
 * where no file of that whole name is known; fHEX and vHEX are the public ids of files and versions. Returns 1; 0 if it
 * was not recorded, with a sentence; -ENOENT with a sentence if it is recorded and has no version N; -EISDIR; -errno of
 * the store. */
int target_file(struct store *s, const char *text, struct err *err, struct file_target *ret);
/* All files that are or were known by the name; ret is malloc'ed. *ret_n as in struct file_target. For questions about
 * the past of a path, which may have seen several files. Returns like target_file. 1, 0, -errno; *ret is the caller's
 * if it is 1. */
int target_files(struct store *s, const char *text, struct err *err, store_id **ret, size_t *ret_count,
                 uint64_t *ret_n);
/* Of `FILE@{N}`: the version N of each other file that has or had the name. ret is malloc'ed, NULL where there is none.
 * 0 or -errno. */
int target_namesakes(struct store *s, const char *text, store_id **ret, size_t *ret_count);
/* Splits `FILE@{N}` at the end of text; the length of FILE, and N, or the whole length and 0. */
size_t target_split(const char *text, uint64_t *ret_n);

enum target_kind { TARGET_RUN, TARGET_FILE, TARGET_EXEC };
struct target {
	enum target_kind kind;
	store_id id; /* run or execution */
	struct file_target file;
};
/* Any of the three. only_file: it stood behind `--`. Returns like target_file, or -ENOTUNIQ. */
int target_any(struct store *s, const char *text, bool only_file, struct err *err, struct target *ret);

#endif
