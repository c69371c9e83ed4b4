/* imported_sessions.h - the sessions of the log that an import writes: their frames, and the numbers that processes and
 * files have in them. imported_sessions.c keeps them, imported_processes.c fills them with what processes did,
 * imported_events.c with the rest and puts it together. Not for others: they include imported.h.
 *
 * Sessions belong to the writer. A pointer to one holds until the next session is made. */
#ifndef STEMMA_IMPORT_IMPORTED_SESSIONS_H
#define STEMMA_IMPORT_IMPORTED_SESSIONS_H

#include "event/log_frame.h"
#include "import/imported.h"

struct imported_session {
	struct str host, boot, run, mode;
	uint64_t pidns;
	int64_t began;
	struct log_frames frames;
	uint32_t procs, files, domains;
	struct map file_number;   /* file -> number */
	struct map domain_number; /* word hash -> number */
	struct map shadows;       /* process of another session -> number */
	uint32_t next_key;        /* session with the same hash of its key, VEC_NONE */
	uint32_t next_run;        /* the next session of the same hash of its run, VEC_NONE */
};

struct imported_writer {
	struct imported *t;
	struct buf *out;
	VEC(struct imported_session) sessions;
	struct map by_key;              /* hash of host, boot, namespace and run -> the latest session */
	struct map by_run, by_run_last; /* hash of the run -> its first and latest session */
	struct map first_run;           /* hash of a run's id -> the first of the document's runs */
	uint32_t *next_run;             /* by run: the next one with the same hash */
	struct buf list, list2, text;
	int64_t end;     /* of the latest activity that no run of stemma's made */
	uint32_t *named; /* by file: the session that says its name */
	int error;
};

/* Appends an event to the session; its seq, 0 where it is too large for any log. Errors are kept in w->error. */
uint64_t imported_emit(struct imported_writer *w, struct imported_session *s, const struct event *ev);

/* The session of that host, boot, pid namespace and run, made if there is none. NULL: no memory. */
struct imported_session *imported_session_of(struct imported_writer *w, struct str host, struct str boot,
                                             uint64_t pidns, struct str run);
/* It has an event of that time (TIME_NONE: not known), and begins no later. */
void imported_session_begins(struct imported_session *s, int64_t t);
/* Puts each process into the session of its first execution that says where it was; document: the run of those that no
 * run of stemma's made. 0 or -ENOMEM with a sentence. */
int imported_place_processes(struct imported_writer *w, struct str document);

/* The statement that tells of the activity; NULL none. */
const struct doc_statement *imported_activity_statement(const struct imported *t, const struct imported_activity *a);
/* The run that a statement names, else `document`. */
struct str imported_statement_run(struct imported *t, const struct doc_statement *st, struct str document);
/* A list of words that a statement (NULL: none) has as an attribute. b: room, which the list lies in. *rc: -errno if it
 * was 0. */
struct strlist imported_statement_list(struct imported *t, const struct doc_statement *st, enum prov_attr attr,
                                       struct buf *b, int *rc);

/* The number of the file in the session, declared there if it is not yet. */
uint64_t imported_file_number(struct imported_writer *w, struct imported_session *s, uint32_t file);
/* When each file was seen last, from its accesses. */
void imported_files_observed(struct imported *t);

/* The time of the event that tells of the process, ns. */
int64_t imported_process_time(const struct imported *t, const struct imported_process *p);
/* The exec of the execution, told of the process `proc` of the session. 0 or -errno. */
int imported_emit_exec(struct imported_writer *w, struct imported_session *s, uint64_t proc,
                       const struct imported_activity *a);
/* All processes with what they did: parents before children. 0 or -errno. */
int imported_emit_processes(struct imported_writer *w);

#endif
