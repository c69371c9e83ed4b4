/* build.h - how a program was built: the records that `stemma cc` left, found by the bytes of what was built.
 *
 * A record is bound to what the command made by the ELF build-id, else by the digest: a copy of a program finds its
 * record wherever it lies. Memory belongs to the struct build, release it with build_release. One thread a store. */
#ifndef STEMMA_CC_BUILD_H
#define STEMMA_CC_BUILD_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/os/elfid.h"
#include "store/store.h"

#define BUILD_ID_MAX ELFID_MAX

enum build_origin {
	BUILD_RECORDED, /* by stemma cc */
	BUILD_ELF,      /* what the file itself and the packages tell: there is no record */
};

/* A file that went into a build, or came out of it; its role is a TERM_role_* of event/terms.def. */
struct build_file {
	unsigned role;
	char *path; /* absolute */
	uint64_t size;
	int64_t mtime; /* ns, TIME_NONE not known */
	bool digested;
	struct digest digest; /* as it was when the command ended */
	unsigned char id[BUILD_ID_MAX];
	size_t nid;   /* bytes of the build-id, 0 none */
	char *detail; /* tool: what it says of its version; else why there is no digest; "" nothing */
};

/* In the order they were met: for a link, the order of the link. */
struct build_files {
	struct build_file *v;
	size_t n, room;
};

struct build {
	enum build_origin origin;
	char pub[26];   /* public id: b and 24 hex digits; "" of BUILD_ELF */
	char run[27];   /* ULID of the run it was part of, "" none */
	char *compiler; /* path of the program that was asked for */
	char *version;  /* its first line of --version; of BUILD_ELF: .comment and DW_AT_producer */
	char *target;   /* machine it makes programs for: x86_64-linux-gnu */
	char *package;  /* of BUILD_ELF: what it is of, with its version; NULL none that is known */
	char *cwd, *user, *host;
	char **argv;          /* as it was given, redacted, NULL-terminated */
	char **args;          /* the same with response files in place of @FILE; never NULL */
	char **env;           /* NAME=value: what compilers go by */
	char **gaps;          /* what of it could not be seen, in words; empty: all was */
	char *commit;         /* git, 40 or 64 hex digits; "" none */
	int dirty;            /* 0: as committed, 1: not, -1: not known */
	int64_t began, ended; /* ns since 1970 */
	unsigned ending;      /* TERM_ending_*, with code */
	int code;
	unsigned char note[BUILD_ID_MAX];
	size_t nnote; /* bytes of the ELF note that it put into what it linked, 0 none */
	struct build_files in, out, tools;
};

void build_release(struct build *b);
/* Has it all of its texts and lists? Else there was no memory for one of them. */
bool build_is_whole(const struct build *b);

struct build_list {
	struct build *v; /* the latest first */
	size_t n, room;
};
void build_list_release(struct build_list *l);

/* Finds builds: all records of who made these bytes; the one that made this very file comes first, those that had
 * them from a cache last. 0 with n = 0: there is none. -errno: the file cannot be read. */
int build_find(struct store *s, const char *path, struct err *err, struct build_list *ret);
/* Finds the builds that made a file, by what is known of it: a build-id (nid bytes; 0 none), a digest (NULL none). 0
 * or more; -errno with a sentence. */
int build_find_by(struct store *s, const unsigned char *id, size_t nid, const struct digest *d, struct err *err,
                  struct build_list *ret);
/* Finds the builds that made a version that may be gone: its size and when it was last written (ns) are those of a
 * file that the record says was made. The path tells between several. */
int build_find_stamped(struct store *s, const char *path, uint64_t size, int64_t mtime, struct err *err,
                       struct build_list *ret);
/* Finds a build by public id. 1, 0: there is none, or -errno. */
int build_get(struct store *s, struct str pub, struct err *err, struct build *ret);
/* Describes a build from an ELF file without a record: what ELF, .comment, DW_AT_producer and dpkg tell. 1, 0: it is
 * no ELF file, or -errno. */
int build_from_elf(const char *path, struct err *err, struct build *ret);
/* What an ELF file says of how it was built, without the package, which costs two programs. 1; 0: no ELF file;
 * -errno with a sentence. */
int build_from_elf_alone(const char *path, struct err *err, struct build *ret);

/* All that a program was built from: the inputs of b, and for objects and archives that have records of their own those
 * records' inputs in their place, down to the sources. Each path and digest once. 0; -errno with a sentence, then there
 * is nothing to release. */
struct build_source {
	struct build_file file;
	char made_by[26]; /* public id of the record that names it */
};
struct build_sources {
	struct build_source *v;
	size_t n, room;
	char (*records)[26]; /* the records that were looked into, b first */
	size_t nrecords;
	size_t unknown; /* objects and archives that nothing is known of */
};
/* Finds the sources that went into a build, through objects and libraries that other builds made. */
int build_sources(struct store *s, const struct build *b, struct err *err, struct build_sources *ret);
void build_sources_release(struct build_sources *x);

enum build_match {
	BUILD_SAME,
	BUILD_CHANGED,
	BUILD_MISSING,
	BUILD_UNKNOWN /* no digest was recorded, or unreadable */
};
/* Is the file at its path still what it was? */
enum build_match build_match(struct digest_cache *c, const struct build_file *f);

/* Builds it once more from what the record names, into the new file `out`: with the recorded command, where its inputs
 * still match (objects that do not are made again first, from their own records, in a folder of their own that is
 * removed). The compiler's messages go to message_fd. Nothing that was there is overwritten. Each command is confined
 * (sandbox/jail.h, strict): it reads the system's files and the inputs that its record names, and writes in that
 * folder. Where neither Landlock nor namespaces are to be had, nothing is run: -ENOTSUP. 0: it was built, and *ret_same
 * says whether the bytes are those of the record; -ESTALE: something does not match, with a sentence; -errno. */
#define BUILD_AGAIN_DEPTH 8 /* records of records that are built for it */
/* Makes the result of a build once more, at `out`. */
int build_again(struct store *s, const struct build *b, const char *out, int message_fd, struct err *err,
                bool *ret_same);

/* ---- helpers for those who tell of builds ---- */

/* What one of the gaps means, in words behind what it is of (*ret_of, "" nothing). */
const char *build_gap_meaning(const char *gap, const char **ret_of);
void build_format_id(const struct build_file *f, struct buf *out); /* hex */
/* The note that `stemma cc --note` puts into what it links. */
#define BUILD_NOTE_OWNER "stemma"
#define BUILD_NOTE_TYPE 1
#define BUILD_NOTE_BYTES 16
/* What -D and -U name, in their order: NAME or NAME=value; *ret_undef: it was -U. *pos starts at 0. NULL: the end. */
const char *build_define(const struct build *b, size_t *pos, bool *ret_undef);

#endif
