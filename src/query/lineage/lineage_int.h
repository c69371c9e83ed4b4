/* lineage_int.h - what the parts of a walk share: what it knows of its nodes and edges, and the calls between lineage.c
 * (its levels), lineage_versions.c and lineage_execs.c (from a node on), lineage_reach.c (what it has come to),
 * lineage_class.c (what is folded) and lineage_result.c (what it gives). What is known to have come from some of what
 * its maker used: lineage_copies.c (objects), lineage_scripts.c (copied scripts), lineage_copiers.c (cp, git checkout).
 */
#ifndef STEMMA_QUERY_LINEAGE_LINEAGE_INT_H
#define STEMMA_QUERY_LINEAGE_LINEAGE_INT_H

#include "base/map.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/lineage/lineage.h"
#include "query/objects.h"
#include "query/submit/submit.h"

/* A moment that bounds what is followed, by the clock of a host; host 0: by any clock, skew already allowed for. */
struct lineage_bound {
	int64_t t;
	uint32_t host;
};

/* What the walk knows of a node besides the result. */
struct lineage_state {
	struct lineage_bound pending; /* best it was reached with; what it was expanded with, once it was */
	/* Of an execution: what of it is sure to come before (down: after) the edges by which it was reached: from versions
	 * of objects of HDF5 files, and from others. */
	struct lineage_bound settled[2];
	struct lineage_bound informed; /* ... by which it was reached along wasInformedBy, whatever part of it that was */
	uint32_t ways;  /* list in walk.ways of the parts of it by which it was reached; `settled` is its own, part 0 */
	uint8_t queued; /* in which queues, enum lineage_place */
	bool reached;   /* false: only folded, so not in the result */
	bool expanded;
	bool root;
	uint8_t class; /* enum version_class, of versions, once classified */
	bool observed;
	bool derived;      /* a version, come to by a version */
	bool housekeeping; /* an attribute that HDF5 or netCDF keep for themselves */
	bool empty;        /* nobody's content is in it, and was none that somebody got (doc/graph.md, "Lineage") */
	bool unread;       /* left out, unless it is reached otherwise: who opened it may not have read it */
	bool no_script;    /* an execution, known to have run none */
	bool whole;        /* an execution, reached by more than what it copied (down: by more than what may be copied) */
	bool partly;       /* an execution, reached by an object that it copied: also what said what is copied counts */
	bool tree;         /* up: an execution, a checkout: files of a work folder do not count */
	uint8_t copier;    /* enum lineage_copier, of an execution */
	bool copied;       /* an engine's copy of a script whose source is known */
	uint32_t arrivals; /* list in walk.arrivals, until it is classified */
	uint32_t omitted;  /* place in walk.omitted, 0 none */
};

/* An object that an execution made as a copy of another. */
struct lineage_copy {
	store_id copy, original; /* files */
	bool moved;              /* as reads and writes of one memory, not by one call */
	bool contested;          /* of the first pair of a copy: it was told in ways that cannot both be */
	uint32_t next;           /* the next one of the same execution and original, from 1; 0 the last */
	uint32_t also;           /* of the same execution and copy, likewise */
};
/* A version that an execution used or made. */
struct lineage_touched {
	store_id file;
	struct edge e;
};
struct lineage_copies {
	store_id exec; /* whose `touched` is: what it used, what it made, each by file; 0 none */
	VEC(struct lineage_touched) touched[2];
	struct idmap runs; /* those that were asked for */
	struct idmap by;   /* hash of execution and copy, or original -> place in pairs, from 1 */
	VEC(struct lineage_copy) pairs;
	struct edges got, from, readers, made;
	store_id renamer;     /* whose `renamed` is, 0 none */
	struct idmap renamed; /* objects that it gave another name -> 1 it did nothing else to them, 0 it did */
};

/* One of several edges that are filed by one key. */
struct lineage_chained {
	struct edge e;
	uint32_t next; /* from 1; 0 the last */
};
/* An engine's copies of scripts. */
struct lineage_scripts {
	struct idmap execs;     /* those that `uses` has the edges of */
	struct idmap by_name;   /* hash of execution and base name -> place in uses, from 1 */
	struct idmap copies_of; /* down: version of a script -> place in copies, from 1 */
	VEC(struct lineage_chained) uses, copies;
	struct edges got, sources;
};

/* Of which program is it known which of what it read is in what it wrote (copiers.def, checkouts.def)? */
enum lineage_copier {
	LINEAGE_COPIER_unknown, /* not asked yet */
	LINEAGE_COPIER_none,
	LINEAGE_COPIER_file,    /* what it had open when it made the file */
	LINEAGE_COPIER_checkout /* of files of a work folder, nothing of these */
};
#define LINEAGE_COPIED 8 /* executions whose data are kept at a time: those of one level may take turns */
struct lineage_copied {
	store_id exec;                 /* 0 none */
	struct edges used, made;       /* data alone, by start */
	VEC(uint32_t) again;           /* places in used: those of several opens */
	struct idmap used_at, made_at; /* by version, places from 1 */
};
struct lineage_copiers {
	struct idmap by_command; /* enum lineage_copier by the number of a command, by its name alone */
	struct lineage_copied of[LINEAGE_COPIED];
	size_t next; /* of `of`, the one that is used next */
	struct edges sources, copies;
};

/* An execution that others count to is reached by way of some of these: what another one did is only possible. */
struct lineage_way {
	uint32_t part, next; /* next: 0 at the end */
	bool object;         /* from versions of objects of HDF5 files */
	struct lineage_bound bound;
};

/* Edges that a node left out at its last expansion. Few nodes do. */
struct lineage_omitted {
	uint32_t count[OMIT_COUNT];
};

/* A version is classified when it is expanded, where its row is at hand anyway, and not when it is come to: until then
 * it is not known which of the edges that lead to it count. */
struct lineage_arrival {
	uint32_t edge, next; /* next: 0 at the end */
	struct lineage_bound bound;
};

#define LINEAGE_GONE ((enum lineage_edge_type)UINT8_MAX)

enum lineage_place {
	IN_NEAR = 1,
	IN_FAR = 2
}; /* a version is in one queue at a time: one bit does for both of theirs */

struct lineage_queue {
	uint32_t *v;
	size_t n, cap;
	enum lineage_place place;
};

struct lineage_walk {
	struct store *s;
	const struct lineage_options *o;
	struct table seen; /* nodes by id */
	struct lineage_node *nodes;
	struct lineage_state *states;
	size_t n_nodes, cap_nodes;
	struct lineage_edge *edges; /* of type LINEAGE_GONE: it does not count */
	size_t n_edges, cap_edges;
	uint32_t free_edges; /* where only nodes are asked for: those that are done with, by `from`; place + 1, 0 none */
	struct lineage_arrival *arrivals; /* from 1 on */
	size_t n_arrivals, cap_arrivals;
	struct lineage_way *ways; /* from 1 on */
	size_t n_ways, cap_ways;
	uint32_t free_arrivals;          /* list of those that are done with */
	struct lineage_omitted *omitted; /* from 1 on */
	size_t n_omitted, cap_omitted;
	struct lineage_queue now, next; /* versions of this level and the next one */
	struct lineage_queue near,
	    far; /* executions: those behind a stream of this level, which lead to this level, and the rest */
	struct lineage_queue *versions, *execs; /* where what is come to goes: now and near, or next and far */
	struct edges got;
	uint32_t depth;
	bool cut;
	struct objects objects;
	struct lineage_copies copies;
	struct lineage_scripts scripts;
	struct lineage_copiers copiers;
	struct submit_edges *submits;
	struct idmap servers;         /* file of a server's address -> place in `served` */
	struct lineage_bound *served; /* the best bound that its connections were followed with */
	size_t cap_served;
	struct idmap hosts; /* hash of the name -> number from 1; used with a skew only */
};

/* ---- lineage_reach.c ---- */

/* The node of a version, or of an execution, made if there is none. 0, -E2BIG or -ENOMEM. It may move all nodes and
 * states. */
int lineage_node_of(struct lineage_walk *w, store_id id, bool exec, uint32_t *ret);
/* Finds a node of the walk. False: there is none; none is made. */
bool lineage_find_node(const struct lineage_walk *w, store_id id, bool exec, uint32_t *ret);
/* The nodes that edges lead to are looked up one after the other; what each look-up waits for comes meanwhile. */
void lineage_prefetch_targets(const struct lineage_walk *w, const struct edges *e, bool exec);
/* Node i is in the result, at that depth, if it was not yet. */
void lineage_mark_reached(struct lineage_walk *w, uint32_t i, uint32_t depth);
/* Puts node i into the queue q unless it is there. 0 or -ENOMEM. */
int lineage_enqueue(struct lineage_walk *w, struct lineage_queue *q, uint32_t i);
/* Execution i is come to by more than what it copied: all of it counts. 0 or -ENOMEM. */
int lineage_reach_whole(struct lineage_walk *w, uint32_t i);
/* Execution i is come to by an object that it copied: what it was told to do by counts. 0 or -ENOMEM. */
int lineage_reach_partly(struct lineage_walk *w, uint32_t i);
/* Notes that the walk came to an execution for the work folder that it wrote. Up: execution i, a checkout, is come
 * to; of what it read, files of a work folder do not count. 0 or -ENOMEM. */
int lineage_reach_tree(struct lineage_walk *w, uint32_t i);
/* Execution i was reached by way of a part of it, from a version of an object or another one, with what surely comes in
 * time for that. 0 or -ENOMEM. */
int lineage_settle_part(struct lineage_walk *w, uint32_t i, uint32_t part, bool object, struct lineage_bound bound);
/* The end of the edges from the k-th on that lead to one thing. */
size_t lineage_run_end(const struct edges *e, size_t k);
/* Counts an edge, or what it leads to, that the node left out. 0 or -ENOMEM. */
int lineage_record_omission(struct lineage_walk *w, uint32_t node, enum lineage_omit why);
/* Node i is about to be followed on; what an earlier time of that found does not count any more. */
void lineage_begin_expansion(struct lineage_walk *w, uint32_t i);
/* Classifies a version that is about to be expanded, and takes back the edges to it that do not count. 0 or -errno. */
int lineage_classify_expanded(struct lineage_walk *w, uint32_t i);
/* Goes along the edge e from `node` to a version. 0 or -errno. */
int lineage_to_version(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                       struct lineage_bound bound);
/* Goes along the edge e from `node` to an execution. *ret: its node, VEC_NONE where it is not followed. 0 or -errno. */
int lineage_to_exec(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                    struct lineage_bound bound, uint32_t *ret);

/* ---- lineage_versions.c, lineage_execs.c ---- */

/* Goes along all edges of version, or execution, i that the walk follows, with the best bound it was reached with. 0 or
 * -errno. */
int lineage_expand_version(struct lineage_walk *w, uint32_t i);
/* Follows the edges of an execution. -errno, or 0. */
int lineage_expand_exec(struct lineage_walk *w, uint32_t i);

/* ---- lineage_time.c ---- */

/* The time that allows least: nothing is worse. */
int64_t lineage_worst_time(const struct lineage_walk *w);
/* Betters *b by `by`; false if that already allows as much. */
bool lineage_improve(const struct lineage_walk *w, struct lineage_bound *b, struct lineage_bound by);
/* May the walk follow an edge that holds over [lo, hi] at an execution of `host`, and with which bound does it go on?
 */
bool lineage_passes(const struct lineage_walk *w, struct lineage_bound b, uint32_t host, int64_t lo, int64_t hi,
                    struct lineage_bound *ret);
/* The number of an execution's host; 0 where clocks are taken as one. 0 or -errno. */
int lineage_exec_host(struct lineage_walk *w, store_id exec, uint32_t *ret);

/* What the walk makes of edges from one thing to several parts of one execution, which are one edge of it. */
struct lineage_run {
	struct edge e;
	struct lineage_bound bound;
	size_t n; /* of those that it may follow */
};

void lineage_run_add(const struct lineage_walk *w, struct lineage_run *run, const struct edge *e,
                     struct lineage_bound bound);
/* Where the bound of a part of execution i is kept; NULL without memory, or, where none is made, if there is none. It
 * moves when another one is made. */
struct lineage_bound *lineage_part_bound(struct lineage_walk *w, uint32_t i, uint32_t part, bool object, bool make);
/* Is e, of execution i, sure and of a part by which i was reached? Else it is made possible, or folded, too. So it is
 * where e leads to an object (`object`), and i was reached from objects alone: what is computed may have come from all.
 * *ret: where it is sure and only that is followed, the bound with which it goes on. */
void lineage_settle(struct lineage_walk *w, uint32_t i, uint32_t host, bool object, struct edge *e,
                    struct lineage_bound *ret);
/* Is it a version of an object of an HDF5 file? 1, 0, -errno. */
int lineage_is_object(struct lineage_walk *w, store_id version);

/* ---- lineage_messages.c ---- */

/* Surely before the last write of what execution i is walked from: when a file was closed is only known to be no later
 * than some moment, and messages follow each other in less time than that. t: when the first message came. 1 also where
 * that is no file, or its time is not known; 0; -errno. */
int lineage_message_in_time(struct lineage_walk *w, uint32_t i, int64_t t);

/* Of the edges from execution i, to what it used or made: takes out those to what carries messages of MPI alone, where
 * it told of these. 0 or -errno. */
int lineage_drop_transport(struct lineage_walk *w, uint32_t i, struct edges *got);
/* Of the edges from version i, to who made or used it: takes out those to such ranks, where it is such a thing. 0 or
 * -errno. */
int lineage_drop_ranks(struct lineage_walk *w, uint32_t i, struct edges *got);

/* ---- lineage_class.c ---- */

/* Finds out what version node i is, once. 0 or -errno. */
int lineage_classify(struct lineage_walk *w, uint32_t i);
/* Is version node i, classified, to be folded where the walk comes to it by e from node `other`, an execution or, by
 * derivation, a version? *ret_omit says why, or is OMIT_COUNT. 0 or -errno. */
int lineage_judge(struct lineage_walk *w, uint32_t i, const struct edge *e, uint32_t other,
                  enum lineage_omit *ret_omit);

/* ---- lineage_servers.c ---- */

/* A version of a socket's address where somebody only connected, to a server that nobody saw. */
struct lineage_connection {
	store_id version, exec; /* exec: whose it is */
	int64_t lo, hi;
};

/* Is the version a connection, and by which address? 1, 0 or -errno. */
int lineage_server_of(struct lineage_walk *w, store_id version, store_id *ret);
/* The n-th version of the address (from 1; n must not be past the last). 1 it is a connection, 0 none, -errno. Both use
 * w->got. */
int lineage_connection_of(struct lineage_walk *w, store_id server, uint64_t n, struct lineage_connection *ret);

/* ---- lineage_copies.c ---- */

/* The edges by which the execution used what it made the version from, as a copy; none: it is no copy, or that is not
 * known. 0 or -errno; *ret is good until the next of these calls. */
int lineage_copy_of(struct lineage_walk *w, store_id version, store_id exec, struct edges **ret);
/* The versions that executions made from this one, as copies: edges to them, in ret. 0 or -errno. */
int lineage_copies_from(struct lineage_walk *w, store_id version, struct edges *ret);
/* Is the version one of an object that the execution only gave another name? It came from the version before, and from
 * nothing else that the execution used. 1, 0, -errno. */
int lineage_is_renamed(struct lineage_walk *w, store_id version, store_id exec);
/* Is the version, which the execution used with that mode, its program or script, that says what is copied? 1, 0,
 * -errno. */
int lineage_is_program(struct lineage_walk *w, store_id exec, store_id version, uint16_t mode);
/* Is the version one of a file that has objects which the execution used? It is read beside them, so what was copied
 * from these may have come from it, too. 1, 0, -errno. */
int lineage_is_holder_of_used(struct lineage_walk *w, store_id exec, store_id version);
void lineage_copies_release(struct lineage_copies *c);

/* ---- lineage_scripts.c ---- */

/* The edges by which the one maker of an engine's copy of a script used what it is a copy of, in w->scripts.sources
 * until the next of these calls; none: that is not known, or the version is no such copy. *ret_made: the edge to its
 * maker, where there are any. 0 or -errno. */
int lineage_script_sources(struct lineage_walk *w, store_id version, struct edge *ret_made);
/* Finds out whether version node i, of VERSION_SCRIPT, has sources that are known; down, files it with them. 0, -errno.
 */
int lineage_script_classify(struct lineage_walk *w, uint32_t i);
/* Adds copies of a script. Down: adds to ret, as derived, the copies of the version that the walk has met. 0,
 * -ENOMEM. */
int lineage_scripts_from(struct lineage_walk *w, store_id version, struct edges *ret);
void lineage_scripts_release(struct lineage_scripts *c);

/* ---- lineage_copiers.c ---- */

/* What execution node i is. 0 or -errno. */
int lineage_copier_kind(struct lineage_walk *w, uint32_t i, enum lineage_copier *ret);
/* Of LINEAGE_COPIER_file, the edges by which the execution used what it made the version from; none: all of it counts.
 * *ret is good until the next of these calls. 0 or -errno. */
int lineage_copier_sources(struct lineage_walk *w, store_id version, store_id exec, struct edges **ret);
/* Of LINEAGE_COPIER_file, the edges by which it made what came from the version so. 0 or -errno. */
int lineage_copier_copies(struct lineage_walk *w, store_id version, store_id exec, struct edges *ret);
/* Is the version data of a work folder, and not of git's store? 1, 0, -errno. */
int lineage_is_checked_out(struct lineage_walk *w, store_id version);
void lineage_copiers_release(struct lineage_copiers *c);

/* ---- lineage_result.c ---- */

/* Leaves only what was reached, and each edge once; in place: the nodes and edges of w are *ret's then. 0 or -ENOMEM.
 */
int lineage_compact(struct lineage_walk *w, struct lineage *ret);

#endif
