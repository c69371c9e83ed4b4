/* graph.h - events become files, versions, executions and edges (doc/graph.md), in memory.
 *
 * One struct graph is one indexing: facts are added (from events by facts.h, from an earlier indexing by the store),
 * graph_finish settles what depends on several of them, graph_resolve computes each file's versions and edges, and
 * names_replay the names. The results are arrays here; the store writes them, canon.h prints them.
 *
 * Everything is an array of structs, referred to by 32-bit index (VEC_NONE: none), and owned by the graph. Nothing
 * fails on content: what refers to nothing is counted in unknown_refs and dropped. Out of memory sets `failed`; the
 * functions that return int say -ENOMEM. Pure: no files, no clock, no globals. One thread per graph.
 *
 * Budget: about 100 bytes of memory and 1 µs per access, from event to edge. */
#ifndef STEMMA_GRAPH_GRAPH_H
#define STEMMA_GRAPH_GRAPH_H

#include "base/map.h"
#include "event/event.h"
#include "graph/intern.h"

struct ghost {
	uint32_t name, boot; /* words */
};

struct gsession {
	uint64_t number;
	uint32_t host;
	uint32_t run, tool, mode; /* words */
	uint64_t pidns;
	uint64_t last;  /* greatest seq */
	int64_t began;  /* time of its first event */
	bool described; /* its session event was met */
	bool ended;     /* session_end was met */
	bool holes;     /* seqs are missing below last */
	bool missing;   /* frames are missing below the last one, or could not be decoded (set by collect_feed) */
};

struct gdomain {
	uint32_t name, type; /* words */
	bool network;
};

/* A moment of the record: the order that decides between several events about one thing. */
struct gkey {
	int64_t time;
	uint64_t session, seq; /* session: its number */
};
int gkey_cmp(const struct gkey *a, const struct gkey *b);

struct gfp {
	uint64_t size;
	int64_t mtime; /* TIME_NONE unknown */
};

enum gfile_flags {
	GFILE_CACHE = 1,       /* ever had a name with a component __pycache__ */
	GFILE_LOCK = 2,        /* ever had a name like a lock file's */
	GFILE_MIXED = 4,       /* its events disagree on the kind */
	GFILE_DIRTY = 8,       /* to be resolved by graph_resolve */
	GFILE_SEMAPHORE = 256, /* ever had a name of a POSIX semaphore */
	GFILE_BY_NAME = GFILE_CACHE | GFILE_LOCK | GFILE_SEMAPHORE,
	GFILE_TOLD = 512, /* some access was told of by another log: two of them may be one */
};
struct gfile {
	uint32_t domain; /* VEC_NONE: absent, the path is its identity */
	uint64_t ino, gen;
	uint32_t path;   /* absent: identity; else the latest path seen (by path_key), VEC_NONE none */
	uint32_t group;  /* the file that accesses to it count to (B14), VEC_NONE: itself */
	uint32_t within; /* of an object of an HDF5 file: that file, VEC_NONE */
	struct gkey kind_key, path_key, group_key;
	uint8_t kind;
	uint16_t flags;
	uint32_t state_session, state_fp; /* while facts are read: the last state event of that session */
	uint32_t first_access, naccess;   /* in graph.by_file, sorted by (start, session, seq), after graph_finish */
	uint32_t kept;                    /* of them, those that are not dropped */
	uint32_t twins;                   /* of them, at the end, those that another one stands for */
	uint32_t first_version, nversion; /* after graph_resolve */
	uint64_t tag;                     /* the store's: its row */
};

struct gexec {
	uint32_t proc, n;
	uint32_t next;                  /* of the same process, by n */
	uint32_t fact;                  /* in xfacts: what holds; VEC_NONE for n = 0 */
	int64_t start, end;             /* after graph_finish */
	uint32_t first_access, naccess; /* in graph.by_exec, after graph_finish */
	uint64_t tag;
};
struct gproc {
	uint32_t boot; /* word */
	uint64_t pidns, pid;
	int64_t started;
	uint32_t first_exec; /* by n; execution 0 always exists */
	uint32_t last_exec;
	uint32_t fact, exit; /* in pfacts, exits: what holds, after graph_finish */
	uint64_t tag;
};
/* What one session said of a process. Facts are in the order in which they were added; `key` orders them. */
struct gpfact {
	uint32_t proc, session;
	struct gkey key;
	uint32_t parent; /* process, VEC_NONE */
	int64_t forked;  /* TIME_NONE unknown */
	uint32_t run;    /* word: the run its execution 0 belongs to */
};
struct gxfact {
	uint32_t exec, session;
	struct gkey key;
	uint32_t exe, script;    /* files, VEC_NONE */
	uint32_t argv, cwd, env; /* words; lists as count and strings, encoded */
	uint32_t run;            /* word */
	uint64_t uid, gid;
};
struct gexit {
	uint32_t proc, session;
	struct gkey key;
	uint64_t ending, code, known;
	uint64_t figure[8]; /* cpu user system rss rchar wchar read_bytes write_bytes */
};
struct glink {
	uint32_t from, to; /* executions */
	uint32_t session;
	struct gkey key;
	uint8_t via, sure;
};

enum gaccess_flags {
	GACCESS_UNTIL = 1,      /* an access_end gave its end */
	GACCESS_READS = 2,      /* a read that counts */
	GACCESS_WRITES = 4,     /* a write that counts: its evidence is may or must */
	GACCESS_READ_BYTES = 8, /* bytes_read is known */
	GACCESS_WRITTEN_BYTES = 16,
	GACCESS_GEN_MUST = 32,  /* result: the generation is certain */
	GACCESS_USE_MUST = 64,  /* result: the one use is certain */
	GACCESS_ENDED = 128,    /* an access_end gave evidence */
	GACCESS_ALIAS = 256,    /* made through an alias (B14): its fingerprints are not the file's */
	GACCESS_KEPT = 512,     /* not dropped */
	GACCESS_CREATES = 1024, /* CREATE, TRUNC where they count */
	GACCESS_TRUNCS = 2048,
	/* 4096: the store's */
	GACCESS_TOLD = 8192,     /* its key is another log's, in graph.more */
	GACCESS_TWIN = 16384,    /* another access has its key, and stands for it */
	GACCESS_EXACT = 32768,   /* it is known when its bytes moved, in graph.more */
	GACCESS_IO = 65536,      /* io events tell of its calls */
	GACCESS_OPENED = 131072, /* it created or emptied the file, and is known to have written nothing */
	GACCESS_TIMES = 524288,  /* it set the file's times: what it had before is fps, what after fpe */
	GACCESS_EARLY = 262144,  /* it may have ended before its end: how early, `last` in graph.more says */
};
#define TOLD_WITHOUT_KEY UINT64_MAX /* as session: which event it is was not told; seq is a hash of what it is */
/* What few accesses have: whose event it is, where another log told of it; when the first of its bytes moved and the
 * last (TIME_NONE: none did); with GACCESS_EARLY the earliest end as `last`. */
struct gmore {
	uint64_t session, seq; /* session: its number */
	int64_t first, last;
};
struct gaccess {
	uint64_t seq;
	int64_t start, end; /* as recorded; when its bytes moved, gaccess_span says */
	uint32_t session, exec;
	uint32_t self, file; /* what was accessed; what it counts to, after graph_finish */
	uint32_t fps, fpe;   /* in graph.fps, VEC_NONE none */
	uint32_t count;
	uint32_t more; /* in graph.more, VEC_NONE none */
	uint32_t part; /* of its execution: which of the processes that count to it, 0 its own */
	uint64_t bytes_read, bytes_written;
	uint32_t flags;
	uint16_t mode;
	uint8_t via, api, sure, evidence;
	/* Results: the version number it wrote (0 none) and the via of that edge; the versions it used. One use stands
	 * here, several as a run in graph.uses. */
	uint8_t gen_via, use_via;
	uint32_t gen, nuse, use;
};
struct guse {
	uint32_t version; /* number in its file */
	uint8_t via;
};
/* What one io event says. Of several of one access, api and direction the last holds. */
#define GIO_FIGURES 15
struct gio {
	uint32_t session;
	uint32_t at;     /* in graph.accesses */
	uint64_t access; /* its seq */
	uint32_t api;
	bool write;
	uint64_t figure[GIO_FIGURES]; /* calls failed bytes largest spent size0 ... size9 */
	int64_t first, last;
};

enum gorigin { GORIGIN_OBSERVED, GORIGIN_UNOBSERVED, GORIGIN_EXTERNAL };
struct gversion {
	uint32_t file, n; /* from 1 */
	uint8_t origin;
	bool unobserved; /* a U: its id is its fingerprint and k */
	bool range;      /* of several writes */
	bool has_size;
	bool told; /* its id is of a session that may not be there */
	uint32_t k;
	uint64_t session, seq; /* id, when not unobserved; session: its number */
	uint64_t size;
	int64_t mtime, start, end; /* mtime: as it was set last */
	int64_t found;             /* of a U: the mtime that it was found with, which is in its id */
	uint32_t first_gen, ngen;  /* in graph.gens */
	uint32_t first_der, nder;  /* in graph.ders */
};
struct ggen {
	uint32_t exec, part;
	uint8_t via, api;
	bool must, has_bytes;
	uint16_t mode;
	int64_t lo, hi;
	int64_t over; /* the earliest moment at which all of it may have ended; hi where that is known */
	uint64_t count, bytes;
};
struct gder {
	uint32_t file, n; /* the version it was derived from */
	uint8_t via;
	bool must;
};

/* What happened to a name; seen and the file event's path are one op. */
struct gname_event {
	struct gkey key;
	uint32_t session;
	uint32_t host; /* word: the host's name; names_replay fills it */
	uint32_t file;
	uint32_t path, old; /* paths; old for rename */
	uint8_t op;
};
struct gname {
	uint32_t host, path, file;
	int64_t from, to;
	bool linked; /* a link made it, or a rename of one that a link made: the file had another name */
};

/* The file `source` had, some time, the name of the source that a name of the file `cache` stands for (B14). */
struct gcache {
	uint32_t cache, source;
};

struct grun {
	uint32_t session;
	struct gkey key;
	uint32_t id, outer, argv, cwd, user, group, hostinfo, labels; /* words */
	uint64_t uid, gid;
};
struct grun_end {
	uint32_t session;
	struct gkey key;
	uint32_t id, exec;
	uint64_t ending, code, cpu, traps;
};
struct ggap {
	uint32_t session, exec; /* exec VEC_NONE: the whole session */
	struct gkey key;
	uint64_t reason, count;
	int64_t from;
	uint32_t text;
};
struct gnote {
	uint32_t session;
	struct gkey key;
	uint32_t run, file, text, version, user;
};
/* What a task used, as JSON. */
struct gsummary {
	uint32_t session;
	struct gkey key;
	uint32_t run, text, source, set; /* words */
};
/* An event that is kept as it is, for who asks for its kind (machine, result, seal, digest). */
struct greported {
	uint32_t session;
	struct gkey key;
	uint64_t kind, by;   /* by: hash of what else it is looked for by, 0 none */
	uint32_t file;       /* that it is of: it is looked for by that then; VEC_NONE none */
	uint32_t run, bytes; /* words; the bytes are the event as event_encode makes them, its time relative to 0 */
};
/* What a digest is looked for by: identity and fingerprint of the file. Never 0. */
uint64_t graph_digest_key(const struct event_digest *d);
/* A compiler's command, or a file of it: the event as it is encoded, its time relative to 0. */
struct gbuild {
	uint32_t session;
	struct gkey key;
	uint32_t bytes; /* word */
	bool file;      /* of the build before it */
};
/* A session that was forgotten: where its frames are met, they do not count. */
struct gtombstone {
	uint32_t session; /* that tells of it */
	uint64_t number;
};

struct graph {
	/* options */
	int64_t skew; /* c of B4, ns */
	bool lps;     /* LPS's rule for overlaps */

	struct interner words;
	struct paths paths;
	VEC(struct ghost) hosts;
	VEC(struct gsession) sessions;
	VEC(struct gdomain) domains;
	VEC(struct gfile) files;
	VEC(struct gproc) procs;
	VEC(struct gexec) execs;
	VEC(struct gpfact) pfacts;
	VEC(struct gxfact) xfacts;
	VEC(struct gexit) exits;
	VEC(struct glink) links;
	VEC(struct gaccess) accesses;
	VEC(struct gmore) more;
	VEC(struct gio) ios; /* session by session, in seq order */
	VEC(struct gfp) fps;
	VEC(struct gname_event) name_events;
	VEC(struct gname)
	open_names; /* the store's: that were open before the events, at paths of which older ones are not here */
	VEC(struct grun) runs;
	VEC(struct grun_end) run_ends;
	VEC(struct ggap) gaps;
	VEC(struct gnote) notes;
	VEC(struct gsummary) summaries;
	VEC(struct greported) reported;
	VEC(struct gbuild) builds;    /* of a session in order of seq */
	VEC(struct gtombstone) tombs; /* also those of files, with number 0 */

	/* after graph_finish: accesses by file and by execution */
	uint32_t *by_file, *by_exec;

	/* results */
	VEC(struct gversion) versions;
	VEC(struct ggen) gens;
	VEC(struct gder) ders;
	VEC(struct guse) uses;
	VEC(struct gname) names;
	VEC(struct gcache) caches; /* sorted, each pair once */

	struct table host_table, domain_table, file_table, proc_table, exec_table;
	struct map session_map;
	uint64_t events, unknown_refs;
	bool failed;
};

void graph_release(struct graph *g);
/* Makes room for what that many events usually are, so that large arrays need not move. A hint. */
void graph_expect(struct graph *g, uint64_t events);

/* ---- adding: each finds what is there or adds it; VEC_NONE without memory ---- */

uint32_t graph_host(struct graph *g, uint32_t name, uint32_t boot);
uint32_t graph_session(struct graph *g, uint64_t number);
uint32_t graph_domain(struct graph *g, uint32_t name);
/* domain VEC_NONE: the absent file of path. ret_new may be NULL. */
uint32_t graph_file(struct graph *g, uint32_t domain, uint64_t ino, uint64_t gen, uint32_t path, bool *ret_new);
/* A new process has its execution 0. graph_exec: a process's execution number n, made where it is new; VEC_NONE: no
 * memory, g->failed. */
uint32_t graph_proc(struct graph *g, uint32_t boot, uint64_t pidns, uint64_t pid, int64_t started, bool *ret_new);
uint32_t graph_exec(struct graph *g, uint32_t proc, uint32_t n);

/* Does a file of that kind have names? True where a file's names count (regular files, directories, symbolic links,
 * objects of HDF5 files). */
bool gkind_has_names(unsigned kind);
/* Can names lie below that of a file of that kind? True where names lie below its own, and move with it. */
static inline bool gkind_has_names_below(unsigned kind)
{
	return kind == TERM_kind_directory || kind == TERM_kind_group;
}
/* Does a file of that kind have versions? True where it has versions as a regular file has: that, and what can be
 * written in an HDF5 file, and an extended attribute. */
bool gkind_has_versions(unsigned kind);
/* True of what lies in an HDF5 file, and of an extended attribute of any file: who means HDF5 alone leaves that out. */
static inline bool gkind_is_object(unsigned kind)
{
	return kind >= TERM_kind_group && kind <= TERM_kind_xattr;
}
/* Is a file of that kind a stream? True where its accesses make streams. */
bool gkind_is_stream(unsigned kind);

/* The key of an access: the event that it is, wherever it was told. */
static inline uint64_t gaccess_session(const struct graph *g, const struct gaccess *a)
{
	return a->flags & GACCESS_TOLD ? g->more.v[a->more].session : g->sessions.v[a->session].number;
}
/* The seq of the event that tells of the access. */
static inline uint64_t gaccess_seq(const struct graph *g, const struct gaccess *a)
{
	return a->flags & GACCESS_TOLD ? g->more.v[a->more].seq : a->seq;
}

/* When an access took place: of one whose bytes were counted, of a regular file, from the first to the last of them.
 * Only after graph_finish. */
struct gspan {
	int64_t from, to;
};
struct gspan gaccess_span_exact(const struct graph *g, const struct gaccess *a);
/* When the access was: from its earliest to its latest moment, ns. */
static inline struct gspan gaccess_span(const struct graph *g, const struct gaccess *a)
{
	return a->flags & GACCESS_EXACT ? gaccess_span_exact(g, a) : (struct gspan){a->start, a->end};
}

/* The earliest moment at which it may have ended (doc/graph.md, "How early it may have ended"). Only after
 * graph_finish. */
int64_t gaccess_over(const struct graph *g, const struct gaccess *a);
/* Of two accesses that are one edge, which gives it its via and api: the first, if this is true, else the second. An
 * order of all pairs, so that it does not matter in which order they come. connect is the last of its via: an edge has
 * it only if all its accesses have. */
bool gaccess_names_edge(unsigned via, unsigned api, unsigned other_via, unsigned other_api);

/* ---- settling ---- */

/* Once, after all facts: decides between facts, gives executions and accesses their ends, decides which accesses count,
 * groups and sorts them. Marks no file dirty. 0 or -ENOMEM. */
int graph_finish(struct graph *g);
/* The one execution of proc that was current at t: the last with start <= t, else the first. */
uint32_t graph_exec_at(const struct graph *g, uint32_t proc, int64_t t);

#endif
