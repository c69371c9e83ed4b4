/* read.h - how the calls of store.h read rows. Private to the store. */
#ifndef STEMMA_STORE_READ_H
#define STEMMA_STORE_READ_H

#include "store/pack.h"

/* An execution as its process's row tells of it. */
struct view_exec {
	uint32_t n;
	bool reported; /* an exec event reported it */
	struct gkey_row {
		int64_t time;
		uint64_t session, seq; /* session: its number */
	} key;
	uint64_t session; /* row of the fact that holds */
	int64_t start, end;
	uint64_t own_gaps; /* bit 1<<reason of the gaps that name it */
	struct pproc_exec fact;
	/* Of a view that is told, in the place of the rest: the number of the name that it was called by (0: it has none,
	 * or the text itself), and the edges of what it used, and behind them of what it made. */
	uint64_t command, uses_n, outputs_n;
	const char *touched;
};
struct view_fork {
	struct gkey_row key;
	uint64_t session;
	struct pproc_fork fact;
};
struct view_gap {
	uint64_t session;
	struct pproc_gap fact;
};
/* A process row, decoded and settled as doc/graph.md says. */
struct process_view {
	uint64_t id; /* 0: none is loaded */
	bool told;   /* by a segment (adjacency/adjacency.h): what store_informed goes by is there, and no more */
	struct buf info;
	struct pproc p;
	VEC(struct view_exec) execs; /* by n; 0 is always there */
	VEC(struct view_fork) forks;
	VEC(struct pproc_link) links;
	VEC(struct view_gap) gaps;
	VEC(uint64_t) sessions; /* rows of those that tell of it */
	bool exited;
	struct gkey_row exit_key;
	struct pproc_exit exit;
};

struct run_counts {
	uint64_t run, inputs, outputs, executions, gaps;
	uint64_t data_used, data_made; /* of inputs and outputs those that are data, where `extra` counts */
	uint64_t extra;                /* hash of the user's own prefixes; 0 none */
};

/* Blocks met in a view are kept, by block modulo their number: a walk asks several things of a row, and meets its
 * neighbours. Those of more than BLOCK_WHOLE bytes are not: of them the row is read alone. */
#define BLOCK_WHOLE 32768
struct block_slot {
	uint64_t block; /* + 1; 0 none */
	char *mem;
	uint32_t cap;
	uint16_t at[BLOCK_ROWS + 1];
};
struct row_reader {
	struct block_slot *slots;    /* while there is a view */
	size_t n_slots;              /* store.view_blocks, or 0 */
	struct sqlite3_blob *blob;   /* in a view: a block is found without a statement */
	struct block_cursor outside; /* without a view, and for what is not kept */
	uint64_t alone;              /* the row that is in it, 0 none */
};
/* A directory's whole path; it never changes. */
struct dir_text {
	uint64_t id;
	uint32_t at, n; /* in reader.dirs */
};

/* Who started a run: asked of each execution of it. */
struct run_user {
	uint64_t run; /* 0 none */
	bool known;
	uint64_t uid, gid, user, group; /* user, group: dict */
};

/* The first access of an execution to a file. */
struct first_open {
	store_id file;
	uint64_t session, seq; /* session: row */
	int64_t start;
};

/* What the calls keep between them. */
struct reader {
	struct row_reader rows[BLOCK_TABLES];
	struct map dir_map; /* row -> dir_list */
	VEC(struct dir_text) dir_list;
	struct buf dirs;
	struct process_view a, b;
	struct process_view told_a, told_b; /* as a and b, for who asks for edges alone */
	struct run_user user;               /* in a view */
	struct pver ver;
	uint64_t ver_id; /* which version ver is, 0 not known */
	struct pfile file;
	struct buf run_text, run_lists, exec_text, brief_text, exec_lists, file_text, sort_text, identity;
	struct ids ids, uses;
	VEC(struct run_counts) counts;
	/* Of which files an execution opened which first: who is asked for one is asked for many. */
	struct {
		store_id exec;            /* 0: none */
		VEC(struct first_open) v; /* by file */
	} opened;
	/* In a view, what an execution used: who goes through the files of one that read many asks for it again and again.
	 */
	struct {
		store_id exec; /* 0: none */
		bool sorted;   /* edges, by what they lead to */
		struct edges edges;
	} used;
};
struct reader *store_reader(struct store *s); /* NULL without memory */

/* The parts of a row's pack. They stay until another row of the table is asked for.
 * 1, 0, -errno. */
int read_file_row(struct store *s, uint64_t id, struct str ret[FILE_PARTS]);
int read_process_row(struct store *s, uint64_t id, struct str ret[PROCESS_PARTS]);
/* Reads a process and its executions. 1 found, 0 not, -errno. The view may hold that process already. */
int read_process(struct store *s, uint64_t id, struct process_view *v);
/* Reads a process for who asks for edges alone: v may hold no more than what is told with them. As read_process. */
int read_process_edges(struct store *s, uint64_t id, struct process_view *v);
void process_view_release(struct process_view *v);
/* Execution n; NULL: there is none. */
const struct view_exec *view_exec(const struct process_view *v, uint32_t n);
/* The execution that was current at t. */
const struct view_exec *view_exec_at(const struct process_view *v, int64_t t);
/* The row of its run, or of that of the fork it came from; 0 none. */
uint64_t view_run(const struct process_view *v, const struct view_exec *e);
/* Appends how an access of the process moved its bytes. 0 or -errno. */
int read_calls(struct store *s, uint64_t process, const struct pacc_section *sec, const struct pacc *a,
               struct ios *ret);

/* Reads within a transaction of this handle that writes no rows of files and processes any more: as in a view. 0,
 * -errno. */
int read_rows_begin(struct store *s, unsigned blocks);
void read_rows_end(struct store *s);

/* Steps through the accesses of one execution, over all sections of its process's row. */
struct access_reader {
	struct store *s;
	struct cur row;
	uint32_t n; /* of the execution */
	bool inside;
	struct pacc_section section; /* that the access is of */
	struct pacc_reader accesses;
};
/* The row stays until another process's is asked for. 1; 0: there is no such process; -errno. */
static inline int access_reader_begin(struct access_reader *r, struct store *s, uint64_t exec)
{
	struct str part[PROCESS_PARTS];
	int rc = store_reader(s) ? read_process_row(s, exec_process(exec), part) : -ENOMEM;
	*r = (struct access_reader){.s = s, .n = exec_n(exec)};
	if (rc == 1)
		r->row = cur_of(part[PROCESS_ACC]);
	return rc;
}
/* Uses of several versions are in s->reader->uses until the next section. 1, 0 at the end, -errno. */
static inline int access_reader_next(struct access_reader *r, struct pacc *ret)
{
	for (;;) {
		int rc = r->inside ? pacc_next(&r->accesses, ret) : 0;
		if (rc != 0)
			return rc;
		r->inside = false;
		rc = pacc_section_next(&r->row, &r->section);
		if (rc != 1)
			return rc;
		if (r->section.n != r->n)
			continue;
		r->s->reader->uses.n = 0;
		pacc_begin(&r->accesses, r->s, &r->section, &r->s->reader->uses);
		r->inside = true;
	}
}

/* A file by its row; ret's memory is used again. 1, 0, -errno. */
int read_stored_file(struct store *s, uint64_t id, struct pfile *ret);
/* A version into ret, whose memory is used again; *ret_file (may be NULL) gets its file. 1, 0, -errno. */
int read_version(struct store *s, uint64_t id, struct pver *ret, struct pfile *ret_file);
/* Calls say for each version of a file, in order, until it returns other than 0. v is used for them. 0, 1: say ended
 * it, -errno. */
int read_versions(struct store *s, uint64_t file, struct pver *v,
                  int (*say)(void *arg, uint32_t n, const struct pver *v), void *arg);
/* All executions attached to version n of a file (0: those with accesses that used none), each once, appended. */
int read_attached(struct store *s, uint64_t file, uint64_t n, struct ids *out);
/* The row of a path. 1, 0, -errno. */
int read_path_id(struct store *s, struct str path, uint64_t *ret);
/* A run, with its counts only if asked: they look at all its executions. 1, 0, -errno; texts are valid until the next
 * call. */
int store_run_info(struct store *s, store_id id, bool counts, struct run_info *ret);
/* A session's row into info, and a place in it: its gaps, then its notes (ix_runs.c). 1 found, 0, -errno. */
int read_session_rest(struct store *s, uint64_t session, struct buf *info, struct cur *ret, uint64_t *ret_run);
/* The rows of the sessions that tell of a run; free ret->v. 1, 0, -errno. */
int read_run_sessions(struct store *s, store_id run, struct ids *ret);
/* The next gap of a session's row; c->bad: it is cut off. */
struct pproc_gap read_session_gap(struct store *s, struct cur *c);
/* The gaps of an execution, but for what is to be said of the sessions that tell of it, which changes with what else
 * the logs hold: that the other says, bits as well. */
uint64_t read_lasting_gaps(struct store *s, const struct process_view *v, const struct view_exec *e);
uint64_t read_session_state(struct store *s, uint64_t session);
/* All gaps that concern the execution: its own, its sessions', and their state. */
uint64_t read_gaps(struct store *s, const struct process_view *v, const struct view_exec *e);
/* The gaps of a whole session. */
int read_session_gaps(struct store *s, uint64_t session, int (*say)(void *arg, uint64_t run, const struct pproc_gap *g),
                      void *arg);
/* Who reads names: say for each; enough (may be NULL) whether those that ended at t or before can be left out. */
struct name_reader {
	int (*say)(void *arg, const struct pname *n);
	bool (*enough)(void *arg, int64_t t);
	void *arg;
};
/* The names of the path of that row that are in it, and then those that ended at `since` or later (and perhaps some
 * others), the last first. As read_names. say may not ask for names. 0, -errno with a sentence; 1: the reader has
 * enough. */
int read_names_since(struct store *s, uint64_t path, int64_t since, const struct name_reader *to, struct err *err);
/* Calls say for each name that the path of that row ever had. What say returned where that is not 0, 0, or -errno. */
int read_names(struct store *s, uint64_t path, int (*say)(void *arg, const struct pname *n), void *arg,
               struct err *err);
/* Appends the files that anything was told of at the path of that row, whether it names them or not; unsorted. 0 or
 * -errno. */
int read_files_told_at(struct store *s, uint64_t path, struct ids *out);
/* Appends the path that a file shows: *ret_named whether it has it still. 0 or -errno. */
int read_file_path(struct store *s, const struct pfile *f, struct buf *out, bool *ret_named);
/* Appends the path of a file as read_path does, from the brief form. 0, -ENOMEM, -errno. */
int read_brief_path(struct store *s, const struct pfile_brief *f, struct buf *out);
/* Hashes of public ids. f may be NULL: it is read. 1, 0, -errno. */
int hash_of_file(struct store *s, uint64_t id, const struct pfile *f, struct id_hash *ret);
/* 1, 0: there is none; -errno. */
int hash_of_version(struct store *s, uint64_t id, struct id_hash *ret);

/* 1, 0: there is none; -errno. */
int hash_of_exec(struct store *s, uint64_t id, struct id_hash *ret);
/* The number of its pid namespace, which is kept as a word. */
uint64_t read_pidns(struct store *s, const struct pproc *p);
/* Appends a version's identity for a hash. */
void identity_of_version(struct store *s, const struct pfile *f, const struct pver *v, struct buf *out);

/* ---- edges.c ---- */

/* One of the executions that made a version, as an edge. */
struct edge edge_of_gen(const struct pgen *g);

/* ---- summaries.c ---- */

/* The summary of that row, if there is one: what each returned, 0 or -errno. */
int read_summary(struct store *s, uint64_t id, int (*each)(void *arg, const struct summary_info *), void *arg);

/* ---- reported.c ---- */

/* The event of that row, if there is one. */
int read_reported(struct store *s, uint64_t id, struct reported_list *ret);
/* The one that is this event. */
int read_reported_by_seq(struct store *s, uint64_t session, uint64_t seq, struct reported_list *ret);
/* ---- builds.c ---- */

/* Under which what a build made is filed: 'd' digest, 'i' build-id, 'n' note. */
uint64_t build_key(char kind, struct str s);
/* What the content_key of a digest event is, by its digest. */
uint64_t content_key(struct str digest);
/* What a build_key of kind m is of. */
struct str build_stamp(uint64_t room[2], uint64_t size, int64_t mtime);

#endif
