/* prov_int.h - what the parts of a source share: its selection (prov_select.c), what statements are put together with
 * (prov.c), and who makes them (prov_execs.c, prov_reported.c, prov_files.c). */
#ifndef STEMMA_PROV_PROV_INT_H
#define STEMMA_PROV_PROV_INT_H

#include "base/map.h"
#include "prov/prov.h"
#include "query/idset.h"

#define REPORTED_PARTS 4 /* result, invariant, variant, parameter */
#define LOGGED_PARTS 6   /* configuration, its versions, metric, tag, used, generated */
#define NOTE_PARTS 4     /* of a note: its words, when, who, on which host */

struct prov_source {
	struct store *s;
	struct prov_select o;
	bool everything;
	struct idset versions, execs, files, runs, builds;
	struct idset noted_files, noted_runs; /* of the whole record */
	/* scratch of one statement */
	struct prov_statement st;
	struct buf subject, object, third, label, program;
	struct edges edges, more;
	struct notes notes; /* of the run or file at hand */
	struct buf note[NOTE_PARTS];
	struct buf reported[REPORTED_PARTS]; /* results and properties of the run at hand */
	struct buf logged[LOGGED_PARTS];     /* what its programs told of themselves */
	struct buf run_type;
	store_id named_run; /* whose name stands in run_name: executions of a run stand together */
	struct buf run_name;
	struct map users, programs; /* by hash, by file: the agents that were said */
	int (*emit)(void *arg, const struct prov_statement *st);
	void *arg;
};

/* ---- prov_select.c ---- */

/* Is a version one of those that are exported, whatever it is for? mode: of the access that led to it. 1, 0, -errno. */
int prov_is_exported(struct prov_source *p, const struct version_info *v, const struct file_info *f, uint16_t mode);
bool prov_follows(const struct prov_source *p, const struct edge *e);

/* ---- prov.c: a statement is begun, gets its values and is said ---- */

void prov_begin(struct prov_source *p, enum prov_kind kind);
/* A new value of the statement, with nothing but its name. There is room. */
struct prov_value *prov_value_of(struct prov_source *p, enum prov_attr attr);
/* What is not known is not put. */
void prov_put_text(struct prov_source *p, enum prov_attr attr, struct str s);
void prov_put_list(struct prov_source *p, enum prov_attr attr, const struct strlist *l);
void prov_put_count(struct prov_source *p, enum prov_attr attr, uint64_t n);
void prov_put_time(struct prov_source *p, enum prov_attr attr, int64_t t);
int prov_emit(struct prov_source *p); /* -ENOMEM, or what the receiver gives */
/* Calls do_one for each of a set, or, of the whole record, for each row that sql gives; until one returns not 0. What
 * do_one gave; -EIO. */
int prov_each(struct prov_source *p, const struct idset *set, const char *sql,
              int (*do_one)(struct prov_source *p, store_id id, unsigned kinds), unsigned kinds);
/* Of a time that may be in the future of all times: none. */
int64_t prov_known(int64_t t);
/* A moment of an execution, where it is one. */
int64_t prov_inside(int64_t t, const struct exec_info *x);
/* Names, in b: a letter and a hash of words; a public id, with the number of a part where it is not 0. */
struct str prov_hashed(struct buf *b, char letter, struct str x, struct str y);
struct str prov_named(struct buf *b, const char *text, unsigned part);
/* What identifies a file, whatever its name. */
void prov_put_file(struct prov_source *p, const struct file_info *f);
/* ... and of an object of an HDF5 file, from that file: its generation. */
void prov_put_within(struct prov_source *p, const struct file_info *f, uint64_t outer);
void prov_put_edge(struct prov_source *p, const struct edge *e);
void prov_put_access(struct prov_source *p, const struct edge *e);
/* Whether an edge's version is part of the document; then it is in v. 1, 0, -errno. */
int prov_edge_counts(struct prov_source *p, const struct edge *e, struct version_info *v);

/* Takes up the notes on a run or a file; then those on a version of it become values (0: on the whole). */
int prov_load_notes(struct prov_source *p, enum notes_of of, store_id id);
/* They are in p->notes; prov_load_notes must have been called. */
void prov_put_notes(struct prov_source *p, uint64_t version);

/* ---- prov_reported.c ---- */

/* Results and properties of a run, and what its programs told of themselves, become values. 0 or -errno. */
int prov_put_reported(struct prov_source *p, store_id run);

/* ---- prov_builds.c ---- */

/* The builds of a part of the record: fills builds. -errno. Closes the set. */
int prov_find_builds(struct prov_source *p);
int prov_one_build(struct prov_source *p, store_id id, unsigned kinds);

/* ---- prov_execs.c, prov_files.c: what is to be said of one, and of all agents ---- */

/* Tells of a run. kinds: PROV_BITs of what is told. 0 also where there is no such run. The result of emitting, or
 * -errno. */
int prov_one_run(struct prov_source *p, store_id id, unsigned kinds);

/* Tells of an execution, and of who started it. 0 also where there is no such execution. -errno, or the result of
 * emitting. */
int prov_one_exec(struct prov_source *p, store_id id, unsigned kinds);

/* Tells of the users and programs of all selected executions. 0, -errno, or what the receiver gave. */
int prov_emit_agents(struct prov_source *p);
/* A user, where that agent was not said yet. 0 also for one that was said, or an empty name. */
int prov_emit_user(struct prov_source *p, struct str user, struct str host);
/* Tells of a file and its versions. kinds: as for a run. */
int prov_one_file(struct prov_source *p, store_id id, unsigned kinds);

#endif
