/* pack.h - the packed columns, to structs and back (doc/format/store.md has the bytes).
 *
 * Decoders never trust: a column that does not hold what it should gives -ENOTRECOVERABLE, and the caller says that the
 * index is damaged. Times are stored as differences to store.base or to a time before them. */
#ifndef STEMMA_STORE_PACK_H
#define STEMMA_STORE_PACK_H

#include "store/store_int.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define PACK_DAMAGED (-ENOTRECOVERABLE) /* of a column that does not hold what it should */

struct cur {
	const unsigned char *p, *end;
	bool bad;
};
/* Begins to read packed bytes. */
static inline struct cur cur_of(struct str s)
{
	return (struct cur){(const unsigned char *)s.p, (const unsigned char *)s.p + s.n, false};
}
/* Eight bytes at once: the groups of seven bits up to the first byte that ends a number are pushed together. */
static inline __attribute__((always_inline)) uint64_t cur_u_here(struct cur *c)
{
	uint64_t v = 0, ends;
	if (c->end - c->p >= 8) {
		if (*c->p < 0x80)
			return *c->p++;
		memcpy(&v, c->p, sizeof(v));
		v = le64toh(v);
		ends = ~v & 0x8080808080808080u;
		if (ends) {
			c->p += (unsigned)__builtin_ctzll(ends) / 8 + 1;
			v &= ends ^ (ends - 1);
			v = (v & 0x007f007f007f007fu) | (v & 0x7f007f007f007f00u) >> 1;
			v = (v & 0x00003fff00003fffu) | (v & 0x3fff00003fff0000u) >> 2;
			return (v & 0x0fffffffu) | (v & 0x0fffffff00000000u) >> 4;
		}
		v = 0;
	}
	if (!c->bad && !varint_get(&c->p, c->end, &v))
		c->bad = true;
	return v;
}
/* Reads a number; 0 and c->bad if the bytes end within it. */
static inline uint64_t cur_u(struct cur *c)
{
	return cur_u_here(c);
}
/* Reads a signed number; as cur_u. */
static inline int64_t cur_z(struct cur *c)
{
	return unzigzag(cur_u(c));
}
/* Reads a text, which stays where it is; empty and c->bad if the bytes end within it. */
static inline struct str cur_str(struct cur *c)
{
	uint64_t n = cur_u(c);
	if (c->bad || n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return str_n("", 0);
	}
	struct str s = {(const char *)c->p, (size_t)n};
	c->p += n;
	return s;
}
/* Is there more to read, and nothing damaged so far? */
static inline bool cur_more(const struct cur *c)
{
	return !c->bad && c->p < c->end;
}
/* The pack of a file is its info, versions and readers; that of a process its accesses and info: the lengths of all
 * parts but the last, then the parts. One column, so that a row is one read. */
enum { FILE_INFO, FILE_VER, FILE_RD, FILE_PARTS };
enum { PROCESS_ACC, PROCESS_INFO, PROCESS_PARTS };
/* Splits packed bytes into parts; the lengths of all but the last stand at the beginning. False: damaged. */
static inline bool pack_split(struct str pack, unsigned parts, struct str *ret)
{
	struct cur c = cur_of(pack);
	for (unsigned i = 0; i + 1 < parts; i++)
		ret[i].n = cur_u(&c);
	for (unsigned i = 0; i + 1 < parts; i++) {
		if (c.bad || ret[i].n > (size_t)(c.end - c.p))
			return false;
		ret[i].p = (const char *)c.p;
		c.p += ret[i].n;
	}
	ret[parts - 1] = str_n((const char *)c.p, (size_t)(c.end - c.p));
	return !c.bad;
}
void pack_join(struct buf *out, const struct str *part, unsigned parts);
/* Differences wrap: logs can hold any time. */
static inline int64_t time_add(int64_t t, int64_t d)
{
	return (int64_t)((uint64_t)t + (uint64_t)d);
}
/* The difference of two times, which wraps. */
static inline int64_t time_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* ---- accesses ---- */

/* What most accesses have in common with many others: one number, told once in the table shape. */
enum layout_bits {
	LAYOUT_MODE = 0,      /* 8 bits */
	LAYOUT_VIA = 8,       /* 3 */
	LAYOUT_API = 11,      /* 4 */
	LAYOUT_EVIDENCE = 15, /* 2 */
	LAYOUT_SURE = 17,
	LAYOUT_END = 18, /* 2: enum end_kind */
	LAYOUT_FPS = 20,
	LAYOUT_FPE = 21,
	LAYOUT_COUNT = 22,
	LAYOUT_READ_BYTES = 23,
	LAYOUT_WRITTEN_BYTES = 24,
	LAYOUT_FLAGS = 25, /* 12: enum gaccess_flags */
	LAYOUT_GEN = 37,
	LAYOUT_GEN_VIA = 38,   /* 3 */
	LAYOUT_USES = 41,      /* 2: 0, 1, 2 = many */
	LAYOUT_USE_VIA = 43,   /* 3, of the one use */
	LAYOUT_OTHER = 46,     /* the file it counts to is another (an alias) */
	LAYOUT_REPORTED = 47,  /* its key is another log's: as_session and as_seq follow */
	LAYOUT_DUPLICATE = 48, /* another access has its key, and stands for it */
	LAYOUT_EXACT = 49,     /* when its bytes moved follows: first and last, 0 for none, else 1 + zigzag to its start */
	LAYOUT_SPAN = 50,      /* it took place from then to then: offsets follow */
	LAYOUT_IO = 51,        /* its calls are in the table io */
	LAYOUT_EARLY = 52,     /* it may have ended before its end: the earliest moment follows, as with LAYOUT_EXACT */
	LAYOUT_PART = 53,      /* which of the processes of its execution did it follows */
};
enum end_kind { END_NEVER, END_GIVEN, END_EXEC }; /* NEVER: the execution's, which has not ended */
/* The n bits from bit `at` on. */
static inline unsigned layout_get(uint64_t bits, unsigned at, unsigned n)
{
	return (unsigned)(bits >> at) & ((1u << n) - 1);
}

struct puse {
	uint32_t n;
	uint8_t via;
};
struct pacc {
	uint64_t seq, bits, self, file;
	int64_t start, end;  /* as recorded */
	int64_t from, to;    /* when it took place, gaccess_span */
	int64_t first, last; /* with LAYOUT_EXACT; with LAYOUT_EARLY last alone, its earliest end */
	uint32_t fps, fpe;   /* index in the file's fingerprints + 1, 0 none */
	uint64_t count, bytes_read, bytes_written;
	uint64_t as_session, as_seq; /* as_session: its number */
	uint32_t gen, nuse, use;     /* use: the version's number, or where in the uses */
	uint32_t part;               /* with LAYOUT_PART */
	uint32_t access;             /* index in the graph while it is there, else VEC_NONE */
	bool reopened;               /* of the indexer: it stands in the graph as a new one */
};
/* The accesses of one execution that one session told of. */
struct pacc_section {
	uint64_t session;
	uint32_t n;
	struct cur body; /* of the accesses */
	uint64_t count;
};
/* Steps through the column acc. 1, 0 at its end, -ENOTRECOVERABLE. */
int pacc_section_next(struct cur *c, struct pacc_section *ret);

struct pacc_reader {
	struct store *s;
	struct cur body;
	int64_t start;
	uint64_t seq, self;
	struct ids *uses; /* many uses are added here, n << 3 | via */
};
void pacc_begin(struct pacc_reader *r, struct store *s, const struct pacc_section *sec, struct ids *uses);
/* Reads the next access of a packed list. 1, 0, -ENOTRECOVERABLE. */
int pacc_next(struct pacc_reader *r, struct pacc *ret);
/* Appends a section. 0, -errno with a sentence. */
int pacc_put(struct store *s, struct buf *out, uint64_t session, uint32_t n, const struct pacc *v, size_t count,
             const struct ids *uses, struct err *err);

/* ---- files ---- */

enum pfile_flags {
	PFILE_CACHE = 1,
	PFILE_LOCK = 2,
	PFILE_MIXED = 4,
	PFILE_WRITTEN = 8,  /* some access may write */
	PFILE_HIDDEN = 16,  /* some access that may write counts as no write, or is through an alias */
	PFILE_SPILLED = 32, /* readers are in list, too */
	PFILE_MORE = 64,    /* versions are in more, too */
	PFILE_KEPT = 128,   /* some access is not dropped */
	PFILE_SEMAPHORE = 256,
	PFILE_REPORTED = 512, /* some access was told of by another log */
	PFILE_EXACT = 1024,   /* of some access that may write it is known when its bytes moved */
};
struct pkey {
	int64_t time;
	uint64_t session, seq; /* session: row */
};
struct pfp {
	uint64_t size;
	int64_t mtime;
};
struct pfile {
	uint64_t kind, flags;
	uint64_t domain; /* row, 0: absent */
	uint64_t ino, gen;
	uint64_t path; /* row: identity of an absent file; the latest path of one whose names do not count */
	struct pkey kind_key, path_key, group_key;
	uint64_t group;  /* row, 0 none */
	uint64_t within; /* of an object of an HDF5 file: that file's row, 0 none */
	uint64_t nversion;
	/* The name it shows: that which it has, else which it had last. */
	uint64_t shown_dir; /* row of the directory, 0 none */
	struct buf shown;   /* the last component */
	bool named;         /* it has it still */
	struct ids paths;   /* rows of all it was ever named by */
	VEC(struct pfp) fps;
};
void pfile_release(struct pfile *f);
/* ret's arrays are used again; with an arena, they are made there, to stay as they are. 0, -ENOTRECOVERABLE, -ENOMEM.
 * */
int pfile_get(struct store *s, struct str info, struct pfile *ret, struct arena *arena);
/* Only what identifies it. */
int pfile_identity(struct str info, struct pfile *ret);
/* Only what it is and what it is called. */
struct pfile_brief {
	uint64_t kind, path, shown_dir, within; /* as in pfile */
	struct str shown;                       /* in info */
};
int pfile_brief(struct str info, struct pfile_brief *ret);
/* All of a file's info. */
void pfile_put(struct store *s, struct buf *out, const struct pfile *f);

/* ---- versions ---- */

#define VERSIONS_INLINE 32 /* in the file's row; the rest in rows of more, as many each */

enum pver_flags {
	PVER_ORIGIN = 0, /* 2 bits */
	PVER_UNOBSERVED = 2,
	PVER_FP = 3,
	PVER_RANGE = 4,     /* of several writes */
	PVER_NEVER = 5,     /* has not ended */
	PVER_GENS = 6,      /* 2 bits: 0, 1, 2 = many */
	PVER_DERS = 8,      /* 2 bits: 0, 1, 2 = many */
	PVER_HOLLOW = 11,   /* somebody wrote it, and its size is 0 */
	PVER_NOW = 12,      /* of an unobserved one: its times were set since it was found */
	PVER_REPORTED = 10, /* session is a number, not a row: another log told of its write */
};
struct pgen {
	uint64_t exec;
	uint32_t part; /* of the execution, 0 its own */
	bool must, has_bytes;
	uint8_t via, api;
	uint16_t mode;
	int64_t lo, hi, over; /* over: as in struct ggen */
	uint64_t count, bytes;
};
struct pder {
	uint64_t version; /* row */
	bool must;
	uint8_t via;
};
struct pver {
	uint64_t flags, k, session, seq; /* session: row; with PVER_REPORTED its number */
	uint32_t fp;                     /* index + 1, 0 none; of an unobserved one that which it was found with */
	uint32_t now;                    /* of an unobserved one whose times were set since: the fingerprint it has now */
	int64_t start, end;
	VEC(struct pgen) gens;
	VEC(struct pder) ders;
};
void pver_release(struct pver *v);
/* How the version came into being, as it is stored. */
static inline unsigned pver_origin(const struct pver *v)
{
	return v->flags & 3;
}
/* How the version came into being. */
static inline enum origin pver_known_origin(const struct pver *v)
{
	return pver_origin(v) == 0 ? ORIGIN_OBSERVED : pver_origin(v) == 1 ? ORIGIN_UNOBSERVED : ORIGIN_EXTERNAL;
}
/* Its fingerprint, index + 1, 0 none: as its times were set last. */
static inline uint32_t pver_print(const struct pver *v)
{
	return v->now ? v->now : v->fp;
}
/* The number of the session whose event began its first write. */
static inline uint64_t pver_session(struct store *s, const struct pver *v)
{
	const struct ssession *session = v->flags >> PVER_REPORTED & 1 ? NULL : store_session(s, v->session);
	return v->flags >> PVER_REPORTED & 1 ? v->session : session ? session->number : 0;
}
/* The next version of a run of them; `file` is its row, *t the start of the one before (store.base at first). 1, 0 at
 * the end, -ENOTRECOVERABLE, -ENOMEM. */
int pver_next(struct cur *c, uint64_t file, int64_t *t, struct pver *ret);
/* Appends a version. */
void pver_put(struct buf *out, uint64_t file, int64_t *t, const struct pver *v);

/* Column rd: which executions have accesses that used version n (0: none). */
struct prd {
	uint64_t exec;
	uint32_t n;
};
int prd_next(struct cur *c, struct prd *last, struct prd *ret); /* *last starts zeroed. 1, 0, -ENOTRECOVERABLE */

void prd_put(struct buf *out, struct prd *last, const struct prd *v);

/* ---- names ---- */

enum ppath_flags {
	PPATH_PLAIN = 1,   /* one file, one host, and only beginnings: the name is the earliest of them */
	PPATH_SPILLED = 2, /* facts are in path_fact, too */
	PPATH_MUTE = 4,    /* plain, but of a file whose names do not count: no name */
	PPATH_LAST = 8,    /* the time of its last fact follows the flags */
	PPATH_ENDED = 16,  /* names that have ended are in path_name, too */
};
struct pname_fact {
	uint64_t session, seq, op, file, other; /* other: of a rename, the path's row */
	int64_t time;
	bool is_old; /* this path is the rename's old one */
};
/* 1, 0 at the end, PACK_DAMAGED. */
/* Reads the next fact about a name of a packed list. 1, 0 at the end, PACK_DAMAGED (-ENOTRECOVERABLE). */
int pname_fact_next(struct store *s, struct cur *c, struct pname_fact *ret);

void pname_fact_put(struct store *s, struct buf *out, const struct pname_fact *f);
struct pname {
	uint64_t host, file; /* host: dict */
	int64_t from, to;
	bool linked; /* as in struct gname */
};
/* Reads the next name of a packed list. 1, 0 at the end, -ENOTRECOVERABLE. */
int pname_next(struct store *s, struct cur *c, struct pname *ret);

void pname_put(struct store *s, struct buf *out, const struct pname *n);
/* What stands before the facts in their column: the flags, and the time of the last of them (TIME_NONE: not told). */
uint64_t path_facts_begin(struct store *s, struct cur *c, int64_t *ret_last);
/* The names of a path that are in its row, from its columns facts and names: calls say for each. */
int path_names(struct store *s, struct str facts, struct str names, int (*say)(void *arg, const struct pname *n),
               void *arg);

/* ---- processes ---- */

/* What one session told of a process: column info is the identity, then sections. */
struct pproc {
	uint64_t boot, pidns, pid; /* boot: dict */
	int64_t started;
};
struct pproc_section {
	uint64_t session;
	struct str body;
};
/* Reads what identifies a process. */
int pproc_get(struct store *s, struct cur *c, struct pproc *ret);
void pproc_put(struct store *s, struct buf *out, const struct pproc *p);
/* Reads the next part of a process, what one session told of it. */
int pproc_section_next(struct cur *c, struct pproc_section *ret);

struct pproc_fork {
	uint64_t seq, parent, run; /* rows, 0 none */
	int64_t time, forked;
};
struct pproc_exec {
	uint64_t n, seq, exe, script, cwd, env, uid, gid, run;
	int64_t time;
	struct str argv; /* packed list */
};
struct pproc_exit {
	uint64_t seq, ending, code, known, figure[8];
	int64_t time;
};
struct pproc_link {
	uint64_t seq, n, other, sure, via; /* n: own execution; other: the other's row */
	int64_t time;
};
struct pproc_gap {
	uint64_t seq, n, reason, count, text;
	int64_t time, from;
};
enum pproc_kind { PPROC_FORK = 1, PPROC_EXEC, PPROC_EXIT, PPROC_LINK, PPROC_GAP };
/* One fact of a section. */
struct pproc_fact {
	enum pproc_kind kind;
	union {
		struct pproc_fork fork;
		struct pproc_exec exec;
		struct pproc_exit exit;
		struct pproc_link link;
		struct pproc_gap gap;
	};
};
/* Steps through a section's facts; *t starts as store.base. 1, 0, -ENOTRECOVERABLE. */
int pproc_fact_next(struct cur *c, int64_t *t, struct pproc_fact *ret);
/* Appends a fact; *t is the time of the one before. */
void pproc_fact_put(struct buf *out, int64_t *t, const struct pproc_fact *f);

/* The first string of such a list: its number, where it is one of the store's words or paths (the low bits say which),
 * else 0 and the text itself, in `packed`; empty where there is none. 0 or -ENOTRECOVERABLE. */
int plist_first(struct str packed, uint64_t *ret_number, struct str *ret_text);
/* A packed list of strings, to encoded strings (as the events have them): appended to out. 0, -ENOTRECOVERABLE,
 * -ENOMEM. */
int plist_expand(struct store *s, struct str packed, struct buf *out, size_t *ret_count);

#endif
