/* index.h - one run of the indexer: from new frames to changed rows. Private to the store.
 *
 * The new sessions' facts go into a graph; what they touch is found in the store; files whose versions the new accesses
 * could change (`slow`) get all their old accesses loaded into the graph, too, and are resolved again; files that can
 * only gain uses (`fast`) are not. Then the rows are written. A session that has not ended is gone on with where the
 * last indexing stood (ix_open.c). Where that cannot be, since frames were missing, it is read whole and what the store
 * knew of it is replaced, so that it gives what one reading would. */
#ifndef STEMMA_STORE_INDEX_INDEX_H
#define STEMMA_STORE_INDEX_INDEX_H

#include "graph/collect.h"
#include "graph/facts.h"
#include "graph/graph.h"
#include "store/pack.h"

#define GACCESS_OLD 4096 /* a flag of gaccess here: it was in the store */

/* A file row that was there. */
struct ix_row {
	struct pfile f; /* its arrays are in the arena, and so are these */
	struct buf ver, rd;
	uint32_t first_fp; /* its fingerprints in the graph, VEC_NONE not yet */
	bool gathered;     /* its executions are loaded */
};
/* Beside each file of the graph. */
struct ix_file {
	uint64_t id;
	uint32_t row;            /* in ix.rows, VEC_NONE: new */
	bool slow, fast, source; /* source: its old accesses are wanted for a cache (B14) */
	bool old_touched;        /* an old access to it is replaced, or its end may change */
	bool kind_changed;
	bool named;           /* gained a name */
	bool version_changed; /* the rows of its versions are to be written though it is fast */
};

struct ix_section {
	uint64_t session;
	uint32_t n, first, count; /* in ix.paccs */
	bool replaced;            /* its session was read again */
};
/* A process row that was there and is loaded. */
struct ix_loaded {
	uint64_t id;
	uint32_t proc;           /* in the graph */
	struct buf info;         /* in the arena */
	struct id_hash accesses; /* of its packed accesses, as they were */
	struct {
		struct ix_section *v;
		size_t n;
	} sections;   /* in the arena */
	bool touched; /* the new sessions, or the replaced ones, tell of it */
	bool linked;  /* its accesses are in the graph as far as wanted */
	bool changed;
};

/* Which file a segment's path was when it was read. The frames at its ends tell that even where file times do not. */
struct ix_mark {
	uint64_t head;      /* checksum of the frame at its beginning, 0: there was none */
	uint64_t tail, sum; /* the last frame that is indexed: where it lies, and its checksum; sum 0: there is none */
	uint64_t ino;
	int64_t changed; /* ctime, ns; from before it was read */
};
struct ix_segment {
	uint64_t id;
	char *path;
	uint64_t done, from; /* indexed up to; before this time */
	uint64_t size;
	int64_t written; /* mtime, ns */
	struct ix_mark mark;
	bool changed, is_new;
	bool touched; /* it is not as it was when it was read, or is read for the first time */
};
struct ix_place {
	uint64_t segment, from, to; /* row; a run of one session's frames */
};
/* What the store knows of a session beside its facts. */
struct ix_session {
	uint64_t id; /* row */
	bool old, reloaded;
	bool goes_on;                /* it is gone on with: what the store knows of it stays */
	bool holes;                  /* when last read, events were missing before others: what those said may change */
	struct ids processes, paths; /* rows it told of, when last read */
	VEC(struct ix_place) places;
	struct ix_listed {
		uint64_t n;
		struct buf pack; /* in the arena */
	} gaps, notes;       /* of a session that is gone on with: those that it has */
};

/* Rows of the table open_session that were read last. */
#define OPEN_BLOCKS 256
struct ix_open_block {
	uint64_t session, block;
	uint8_t kind; /* enum open_kind of ix_open.c */
	bool loaded;
	struct buf pack;
};
/* What a session without an end told of, to be kept for when it goes on. */
struct ix_given {
	uint32_t session; /* in the graph */
	uint8_t kind;     /* enum open_kind */
	uint64_t number;
	uint32_t index; /* in the graph, by kind */
	uint32_t exec,
	    run; /* of a process; of a state its fingerprint, 0; of an access where it stands in open.accesses_kept */
};
/* An access that an earlier indexing wrote without an end, and that is in the graph again. */
struct ix_reopened {
	uint32_t session, access; /* in the graph */
	uint64_t seq;
};

struct ix_path {
	uint64_t id; /* 0: not looked up */
	bool is_new;
	uint32_t loaded; /* in ix.paths, VEC_NONE */
};
struct ix_loaded_path {
	uint32_t node;
	struct buf facts, names;     /* in the arena, like new_facts */
	uint64_t flags;              /* enum ppath_flags, as they were */
	bool dirty, taken;           /* to be replayed; its old facts, or (appended) its open names are in the graph */
	bool full;                   /* it is to be replayed from all its facts */
	bool appended;               /* all new facts come after its old ones: it is replayed from its open names */
	int64_t last;                /* time of its last fact in the store; TIME_NONE not known */
	int64_t first_new, last_new; /* of the new facts; first_new: TIME_NEVER none */
	bool write;
	struct buf new_facts;
	size_t first_name, nname; /* result, in ix.path_names */
};
struct ix_pair {
	uint64_t a, b;
};
struct ix_pairs {
	struct ix_pair *v;
	size_t n, cap;
};
struct ix_nodes {
	uint32_t *v;
	size_t n, cap;
};
/* A directory was renamed, some time: nodes. */
/* Its ends are in the lists of their nodes: end 2 * place is old, end 2 * place + 1 is to; kept as one more, 0: none.
 */
struct ix_move {
	uint32_t old, to;
	uint32_t next[2]; /* the next end at the same node */
};

/* What is there must be made anew: something was forgotten. */
#define IX_ANEW (-EKEYREVOKED)
/* The same: another file is in the place of a segment. What that told of counts as lost. */
#define IX_REPLACED (-EREMCHG)
/* A session that was gone on with refers to what was not kept: it is to be read whole (ix_parts.whole). */
#define IX_WHOLE (-ERESTART)

/* Sessions with so many events are indexed together: about 70 MB. */
#define INDEX_EVENTS 500000

/* What one call of store_index has indexed, part by part. */
struct ix_parts {
	struct ix_pairs read; /* sessions, and the last seq that was met; sorted */
	bool more;            /* there are frames that were left for the next part */
	struct ids whole;     /* sessions that cannot be gone on with; sorted */
};

struct ix {
	struct ix_parts *parts;
	bool continues;   /* the index has only a part of what the logs had */
	bool has_objects; /* that the store has objects of HDF5 files */
	struct store *s;
	struct err *err;
	struct graph g;
	struct collect w;
	const struct store_index_options *o;
	struct ids *tombstones; /* sessions that do not count; what is found more is added */
	struct store_index_stats stats;
	bool fresh; /* the store was empty: nothing to look up */
	const struct damage_rows
	    *before; /* DAMAGE_SESSION: how far each session was known by the index that this one replaces */

	VEC(struct ix_segment) segments;
	VEC(struct ix_session) sessions; /* beside g.sessions; the first n_new are read now */
	size_t n_new;
	struct map session_rows;   /* row -> g session */
	VEC(struct ix_file) files; /* beside g.files */
	VEC(struct ix_row) rows;
	struct map file_rows;    /* row -> g file */
	VEC(uint64_t) procs;     /* beside g.procs: rows */
	VEC(uint32_t) loaded_of; /* beside g.procs: in ix.loaded, VEC_NONE */
	VEC(struct ix_loaded) loaded;
	struct map loaded_rows; /* process row -> ix.loaded */
	VEC(struct pacc) paccs;
	struct ids old_uses;
	VEC(uint64_t) domains;     /* beside g.domains: rows */
	VEC(uint64_t) words;       /* beside g.words: dict rows, 0 unknown */
	VEC(struct ix_path) nodes; /* beside g.paths */
	struct map node_rows;      /* path row -> node */
	VEC(struct ix_loaded_path) paths;
	VEC(struct ix_move) moves;
	VEC(uint32_t) move_end;             /* by node: the first end of a move there */
	struct map move_pairs;              /* old and to -> its place */
	struct ix_pairs named, named_paths; /* (g file, path row) of names found now; the other way round; both sorted */
	VEC(struct gname) path_names;
	VEC(struct key_entry) new_keys[KEY_VERSION + 1];
	struct key_cursor cursor;
	struct block_cursor file_blocks, process_blocks;
	uint64_t next_session, next_run, next_file, next_path, next_process, next_dict, next_segment;
	uint64_t first_new_process; /* rows from here on are new */
	size_t new_pfacts, new_xfacts, new_exits, new_links,
	    new_gaps;                                   /* the graph's facts up to here are the new sessions' */
	struct map run_words;                           /* word -> run row */
	struct ids void_runs, void_processes, met_runs; /* ix_counts.c */
	struct ids void_sessions;                       /* ... whose gaps are other ones now */
	struct ix_pairs run_list, child_list, derived_list, note_list; /* to be added to the lists */
	VEC(uint32_t) element_counts;                                  /* how often a word is an element of a list */
	VEC(uint32_t) fp_index;                   /* beside g.fps: index in its file's list + 1, 0 not given yet */
	struct table fp_table;                    /* (file, size, mtime) -> the fp that has an index */
	VEC(uint32_t) fp_count;                   /* beside g.files: how many its list has */
	VEC(uint32_t) fp_next, fp_first, fp_last; /* the lists, in order */
	VEC(uint32_t) fp_file;                    /* beside g.fps: whose list it is in */
	struct ix_pairs attached;                 /* (execution, version) known of the touched processes */
	struct ix_pairs reported_paths;           /* (new session, path row) */
	struct {
		struct ids going_on; /* numbers of the sessions that are gone on with, sorted */
		struct ids lacking;  /* those that it turned out cannot be */
		uint64_t session;    /* row of the one that is read */
		uint64_t since;      /* its events up to here were read before */
		int rc;              /* the first error */
		struct facts_earlier earlier;
		struct collect_sessions sessions;
		struct map files, processes;      /* row -> in the graph */
		struct map rows_of_processes;     /* in the graph -> in process_rows */
		VEC(struct ix_pair) process_rows; /* in the graph, row */
		VEC(struct ix_reopened) accesses; /* after ix_open_read: sorted */
		VEC(struct ix_given) given;
		struct buf accesses_kept; /* of given */
		struct ix_open_block block[OPEN_BLOCKS];
	} open;             /* ix_open.c */
	size_t event_files; /* g.files up to here were spoken of by the new sessions */
	struct arena arena; /* rows as they were */
	VEC(struct ix_section) sections_read;
	struct buf b1, b2, b3;
};

/* Unless it is said otherwise the following return 0 or -errno, with a sentence in ix.err. */

/* ---- ix_scan.c ---- */

/* Are all segments as they were when they were read? 1, 0, -errno. */
int ix_is_current(struct ix *x);
/* Finds the segments and gathers the frames of all sessions that are to be read. 1: there is something new; 0: nothing;
 * IX_REPLACED. */
int ix_scan(struct ix *x);
/* Writes the row of a segment. 0, -errno with a sentence. */
int ix_put_segment(struct ix *x, const struct ix_segment *s);

/* ---- ix_parts.c ---- */

/* How many events a part has, about. */
uint64_t ix_part_events(const struct ix *x);
/* Takes out the frames of sessions that are known already, and of those that are left for the next part; adds the
 * places where the others were met before. */
int ix_take_part(struct ix *x);

/* ---- ix_open.c, ix_earlier.c ---- */

/* Before the events are read. */
void ix_open_begin(struct ix *x);
/* After that. IX_WHOLE, with the sessions in x->parts->whole. */
int ix_open_read(struct ix *x);
/* Can the session, whose row that is, be gone on with? */
int ix_can_go_on(struct ix *x, uint64_t session, uint64_t row, bool *ret);
/* Was it found in this call that the session has to be read whole? */
bool ix_must_be_whole(const struct ix *x, uint64_t session);
/* Is the session of that number gone on with? */
bool ix_goes_on(const struct ix *x, uint64_t session);
/* Where the access stands in the graph, if it came back there; VEC_NONE. session: in the graph. */
uint32_t ix_reopened(const struct ix *x, uint32_t session, uint64_t seq);
/* The rows of open sessions. */
int ix_write_open(struct ix *x);
void ix_open_release(struct ix *x);

/* ---- ix_ids.c ---- */

/* Rows for all that the new sessions speak of: found in the store, or given. 0, -errno with a sentence. */
int ix_ids(struct ix *x);
/* Finds a file by its row. *ret: the file of that row, loaded if it is not known. 0, -errno with a sentence. */
int ix_file_of(struct ix *x, uint64_t row, uint32_t *ret);
/* Finds a path by its row. *ret: the path of that row, read if it is not known; VEC_NONE: there is none. 0, -errno.
 */
int ix_node_of(struct ix *x, uint64_t row, uint32_t *ret);

/* Finds a path by its name in a folder. *ret: the path of that name below parent, VEC_NONE: there is none. 0,
 * -errno. */
int ix_node_find(struct ix *x, uint32_t parent, struct str base, uint32_t *ret);
/* The row of a word, which is made where there is none; 0 for the empty word. */
int ix_interned(struct ix *x, uint32_t word, uint64_t *ret);
/* Remembers that the row is to be found by the hash; ix_write writes it. 0 or -ENOMEM. */
int ix_add_key(struct ix *x, enum key_kind kind, uint32_t hash, uint64_t id);
int ix_new_nodes(struct ix *x); /* rows for paths that have none yet */
/* Gives the arrays beside the graph's their lengths. 0, -ENOMEM, reported. */
int ix_sync(struct ix *x);
/* The hashes of public ids; the identity is appended to b. */
struct id_hash ix_file_hash(struct ix *x, uint32_t file, struct buf *b);
struct id_hash ix_exec_hash(struct ix *x, uint32_t exec, struct buf *b);

/* ---- ix_sessions.c ---- */

/* A session's column info: its host into *g; its places, gaps and notes into *ret. Either may be NULL. */
int ix_session_info(struct ix *x, struct str info, struct gsession *g, struct ix_session *ret);
/* Rows for the new sessions: found in the store, or given. */
/* Rows for the new sessions: found in the store, or given. 0, -errno with a sentence. */
int ix_find_sessions(struct ix *x);
/* Brings a session of the store into the graph. *ret: its number there. 0, -errno with a sentence. */
int ix_session_of(struct ix *x, uint64_t row, uint32_t *ret);
/* The row of a session by its number; 0 where it is not in the graph. */
uint64_t ix_session_row(const struct ix *x, uint64_t number);
/* Keys of the store as keys of the graph, and back: sessions by row, sessions by number. */
int ix_gkey(struct ix *x, const struct pkey *k, struct gkey *ret);
struct pkey ix_pkey(const struct ix *x, const struct gkey *k);

/* ---- ix_load.c ---- */

/* What a process's packed accesses are known by, to see whether they have changed. */
struct id_hash ix_accesses_hash(struct str packed);

/* Loads the processes that the new sessions, or the replaced ones, tell of, with the files of their accesses. 0, -errno
 * with a sentence. */
int ix_load_touched(struct ix *x);
/* Brings all old accesses to slow files into the graph; what caches follow from that become slow, too. 0, -errno with a
 * sentence. */
int ix_load_slow(struct ix *x);
/* graph.caches, of the cache files that are to be resolved, sorted. */
int ix_add_caches(struct ix *x);

/* ---- ix_names.c ---- */

/* What each path names now, where that may have changed: ix.path_names, named and named_paths. 0, -errno with a
 * sentence. */
int ix_names(struct ix *x);

/* ---- ix_paths.c ---- */

/* The rows of paths that are new or changed, and the lists of what lies below each directory. 0, -errno with a
 * sentence. */
int ix_write_names(struct ix *x);

/* ---- ix_files.c ---- */

/* Joins what the store knows of the files that the new sessions speak of with what those say. 0, -errno with a
 * sentence. */
int ix_merge_files(struct ix *x);
/* Which files are fast and which are slow; the uses of the fast ones' new reads. 0, -errno with a sentence. */
int ix_choose(struct ix *x);
/* Does some name at the path, as found now, name the file? */
int ix_names_file(struct ix *x, uint32_t node, uint32_t file, bool *ret);

/* ---- ix_runs.c ---- */

/* All rows that the indexing changed. 0, -errno with a sentence. */
int ix_write(struct ix *x);
/* The row of the run with that ULID, which is made where there is none; 0 for the empty word. */
int ix_run_row(struct ix *x, uint32_t word, uint64_t *ret);

/* ---- ix_counts.c ---- */

/* What is kept of how much a process's runs did holds no more; info: the part of its row. 0, -errno. */
int ix_void_process(struct ix *x, struct str info);
/* Notes that the counts of all runs are void that touched the file; rd: the part of its row that names its readers.
 * 0, -errno. x->void_processes gets them. */
int ix_void_readers(struct ix *x, uint64_t file, struct str rd, bool spilled, uint64_t versions);
/* Forgets what does not hold, and counts the runs that were met now. When all rows are written. 0, -errno with a
 * sentence. */
int ix_count_runs(struct ix *x);

/* ---- ix_write.c, ix_proc.c, ix_calls.c, ix_summaries.c, ix_reported.c, ix_builds.c ---- */

/* The rows of files that are new, or of which something changed. 0, -errno with a sentence. */
int ix_write_files(struct ix *x);

int ix_write_processes(struct ix *x);
/* The calls that the new sessions tell of, in place of those of sessions that are read again. 0, -errno with a
 * sentence. */
int ix_write_calls(struct ix *x);

/* Summaries of the new sessions, in place of those of sessions that are read again. 0, -errno with a sentence. */
int ix_write_summaries(struct ix *x);
/* What others told of runs and files, in place of that of sessions that are read again. 0, -errno with a sentence. */
int ix_write_reported(struct ix *x);

/* Writes the builds of the new sessions. */
int ix_write_builds(struct ix *x);

/* ---- ix_damage.c ---- */

/* Remembers what the index that is there knows of each session; all: not only what is missing. 0, -errno with a
 * sentence. */
int ix_damage_before(struct store *s, bool all, struct damage_rows *ret, struct err *err);
bool ix_damage_is_new(struct ix *x); /* do the segments have other damage than the index knows? */
/* Of the segments that were read now, and of the sessions. 0, -errno with a sentence. */
int ix_write_damage(struct ix *x);

/* ---- ix_lists.c ---- */

/* Appends the packed form of a list, which the word holds. 0, -ENOMEM, reported. */
int ix_list(struct ix *x, uint32_t word, struct buf *out);
/* How often each word is an element of a list: ix.element_counts. Before ix_list. 0, -ENOMEM, reported. */
int ix_count_list_elements(struct ix *x);
/* The index (from 1) of a fingerprint in its file's list, to which it is added where it is not in it. */
int ix_fp_index(struct ix *x, uint32_t file, const struct gfp *fp, uint32_t *ret);
/* Gives every access's fingerprints an index. 0, -ENOMEM, reported. */
int ix_fps(struct ix *x);

/* The first of sorted pairs with a at least that. */
static inline size_t ix_pairs_from(const struct ix_pair *v, size_t n, uint64_t a)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v[mid].a < a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- ix_pairs.c ---- */

/* Appends a pair. */
int ix_pairs_add(struct ix *x, struct ix_pairs *v, uint64_t a, uint64_t b);
/* By a, then b; each once. */
void ix_pairs_sort(struct ix_pairs *v);
/* Adds them to the lists of that kind: a is the row that the list belongs to. Sorts v. 0 or -errno. */
int ix_pairs_write(struct ix *x, struct ix_pairs *v, enum list_kind kind);

/* Is the session of that row read now? Then what the store has of it is replaced. */
static inline bool ix_is_reloaded(const struct ix *x, uint64_t session)
{
	uint32_t i = map_get(&x->session_rows, session);
	return i != VEC_NONE && i < x->n_new && !x->sessions.v[i].goes_on;
}

/* Reports that there is no memory. -ENOMEM. */
static inline int ix_oom(struct ix *x)
{
	return err_set(x->err, 12, "cannot index");
}
/* A copy in the arena, as a buf that is not to grow or be released; failed without memory. */
static inline struct buf ix_keep(struct ix *x, struct str s)
{
	char *p = s.n ? arena_take(&x->arena, s.n) : NULL;
	if (p)
		memcpy(p, s.p, s.n);
	return (struct buf){p, p ? s.n : 0, p ? s.n : 0, s.n && !p};
}
/* Grows such a buf. */
static inline bool ix_append(struct ix *x, struct buf *b, struct str s)
{
	if (b->n + s.n > b->cap) {
		size_t cap = (b->n + s.n) * (b->cap ? 2 : 1);
		char *p = arena_take(&x->arena, cap);
		if (!p)
			return false;
		if (b->n)
			memcpy(p, b->p, b->n);
		b->p = p;
		b->cap = cap;
	}
	if (s.n)
		memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
	return true;
}

#endif
