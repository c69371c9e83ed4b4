/* imported.h - a PROV document as what the record knows: executions, files, versions and accesses (private to the
 * import).
 *
 * What stemma exported says by its attributes which process, file, version or run a statement is about, so it joins
 * what is there. What others wrote becomes things of their own: an entity a file of the domain "prov:" with one
 * version, an activity a process of the boot "prov", each by the hash of its IRI. Strings are words of the document. */
#ifndef STEMMA_IMPORT_IMPORTED_H
#define STEMMA_IMPORT_IMPORTED_H

#include "import/doc.h"
#include "import/forgotten.h"
#include "import/provio.h"
#include "prov/prov.h"

struct imported_run {
	uint32_t st; /* statement */
	struct str ulid;
	bool emitted;
};
struct imported_activity {
	uint32_t word, st; /* its name; its statement, VEC_NONE none */
	bool own;
	uint32_t process; /* in processes */
	uint64_t n;
	int64_t start, end;   /* TIME_NONE unknown */
	uint32_t first, last; /* in accesses */
	uint32_t next;        /* of the process, by n */
	struct str name;      /* what its program is called, where that is all that is known */
	uint32_t calls;       /* of PROV-IO: those that belong to no access, VEC_NONE */
};
struct imported_process {
	struct str boot;
	uint64_t pidns, pid;
	int64_t started;
	uint32_t first;        /* activity, by n */
	uint32_t parent;       /* process */
	int64_t forked, until; /* of the fork */
	uint32_t session, number;
	uint8_t state; /* while sessions are written: 1 being, 2 done */
};
struct imported_file {
	struct str domain, path;
	uint64_t ino, gen;
	unsigned kind;
	bool network;
	uint32_t within; /* of an object of an HDF5 file: that file; VEC_NONE */
	int64_t seen;    /* the last that is known of it */
};
struct imported_version {
	uint32_t word, file;
	bool own, by_event;
	uint64_t session, seq; /* of its first write, by_event */
	bool unobserved_size;  /* it has a fingerprint */
	uint64_t size;
	int64_t mtime, start, end;
	uint32_t writes, reads; /* how many accesses */
	bool changes, untimed;  /* of PROV-IO: what is written and read changes; some of it has no time */
};
struct imported_access {
	uint32_t activity, version, st, next; /* next of the activity */
	bool write, must, foreign;
	uint8_t via, api;
	uint16_t mode;
	int64_t lo, hi; /* hi TIME_NONE: not ended */
	uint64_t count, bytes;
	bool has_bytes, dropped; /* dropped: it follows from another */
	uint32_t state;          /* the version whose fingerprint it saw when it began, VEC_NONE */
	bool first;              /* it is the event of the version's identity */
	bool closes;             /* of the writes, the last: its end has the version's fingerprint */
	uint32_t calls;          /* of PROV-IO, VEC_NONE */
	int64_t last;            /* ... when the last of them ended, TIME_NONE */
};
#define PROVIO_NO_API 255
struct imported_io { /* an activity of PROV-IO: one kind of call of a program */
	uint32_t st;
	enum provio_class class;
	uint32_t whose;   /* word of the activity that stands for the program; itself where there is none */
	uint32_t version; /* word of the version that it read or made, 0 not told */
	bool counted;     /* its figures were taken: with the first object that it is about */
	/* What it says itself, read once: */
	uint8_t api;  /* term ioapi, PROVIO_NO_API */
	int8_t write; /* -1: its class says it */
	bool open;    /* it is called open... */
};
struct imported_call {                /* ... on one object, as figures */
	uint32_t activity, file, version; /* VEC_NONE: not told */
	uint8_t api;                      /* term ioapi */
	bool write;
	uint64_t calls, failed, bytes, largest, spent, size[10];
	int64_t first, last;
	uint32_t next; /* of its access or activity */
};
struct imported_app_event { /* what a run's programs said, or of what lies in an HDF5 file */
	uint32_t st;
	enum provio_class class; /* Type or one of those behind it */
	uint32_t nth;            /* of several values of a setting, from 0 */
	uint32_t activity;       /* who, VEC_NONE */
	struct str ulid;         /* of the run; "": another program's, of the document */
	int64_t at;
};
struct imported_provio {
	struct map io;      /* word -> ios */
	struct map program; /* word of an agent -> word of the activity that stands for it */
	struct map thing;   /* word of an object or program -> statement */
	struct map outer;   /* member -> what it is a member of */
	struct map whole;   /* version -> object */
	struct map class;   /* word of an object or program -> enum provio_class */
	struct map label;   /* ... -> word of what it is called */
	struct map file;    /* word of an object -> its file */
	struct map related; /* words that relations are about, of a document of its tools */
	struct table pairs; /* accesses that were made for calls */
	VEC(struct imported_io) ios;
	VEC(struct imported_call) calls;
};
struct imported_note {
	struct str run;     /* ULID; or: */
	uint32_t file;      /* VEC_NONE */
	struct str version; /* public id; "": none that is known any more */
	struct str text, user, host;
	int64_t time;
};
struct imported_link {
	uint32_t a, b; /* activities */
	uint8_t via;
	bool must;
	int64_t at;
};

struct imported {
	const struct doc *d;
	const char *name; /* of the document, for messages */
	struct err *err;
	int64_t now;                                   /* of the import: what has no times at all had happened by then */
	uint32_t attr[ATTR_COUNT], base64[ATTR_COUNT]; /* words, VEC_NONE where the document has none */
	uint32_t w_type, w_label, w_location;
	struct map activity, version, file_of; /* by word */
	struct map run;                        /* by word */
	const struct forgotten *gone;          /* what the record forgot */
	struct map forgotten;                  /* by word: activities that are part of that */
	struct table process_table, file_table;
	VEC(struct imported_run) runs;
	VEC(struct imported_activity) activities;
	VEC(struct imported_process) processes;
	VEC(struct imported_file) files;
	VEC(struct imported_version) versions;
	VEC(struct imported_access) accesses;
	VEC(struct imported_link) links;
	VEC(struct imported_note) notes;
	VEC(struct imported_app_event) app_events;
	uint32_t user;     /* a person the document names, of foreign activities */
	uint64_t passed;   /* statements that the record has no place for */
	uint64_t left_out; /* statements about what was forgotten */
	bool foreign;      /* some activity or entity is not stemma's own */
	bool provio;       /* it has words of PROV-IO's vocabulary */
	struct imported_provio io;
	struct arena text; /* decoded base64 */
};

#define FOREIGN_DOMAIN "prov:"

/* ---- imported_attrs.c: what a statement says ---- */

/* The value of an attribute, by word (VEC_NONE: no statement has it); 0 none. */
uint32_t imported_get(const struct imported *t, const struct doc_statement *st, uint32_t name);
/* The value of an attribute, the exact bytes; "" none. imported_count: false: it is not there, or no number, and *ret
 * stays. */
struct str imported_text(struct imported *t, const struct doc_statement *st, enum prov_attr attr);
bool imported_count(const struct imported *t, const struct doc_statement *st, enum prov_attr attr, uint64_t *ret);
bool imported_time(const struct imported *t, const struct doc_statement *st, enum prov_attr attr, int64_t *ret);
/* A list, as encoded strings in ret; how many. -EBADMSG with a sentence where it is none. */
long imported_list(struct imported *t, const struct doc_statement *st, enum prov_attr attr, struct buf *ret);
/* Has it this prov:type? */
bool imported_is(const struct imported *t, const struct doc_statement *st, const char *type);
/* The number of a name in a set, from 0 to last; none where it is not in it. */
unsigned imported_term(enum term_set set, struct str name, unsigned last, unsigned none);
/* What a run's name stands for; "" where it is none. */
struct str imported_ulid(struct str name);
int imported_wrong(struct imported *t, const struct doc_statement *st, const char *what);
int imported_oom(struct imported *t);

/* ---- imported_entities.c: statement `at` into what it is about; the things of names, made where they are not there
 * ---- */

/* Once for each name. 0, or as imported_wrong and imported_oom. */
int imported_take_entity(struct imported *t, uint32_t at);

int imported_take_program(struct imported *t, uint32_t at);
/* Those of forgotten runs are left out. 0, or as imported_wrong and imported_oom. */
int imported_take_activity(struct imported *t, uint32_t at);

/* The activity of that word, made as a foreign one where it is none yet. VEC_NONE: no memory. */
uint32_t imported_activity_of(struct imported *t, uint32_t word); /* VEC_NONE without memory; so the others */
/* The activity that stands for one of another program's document, named by its IRI, as a process of its own. VEC_NONE:
 * no memory. */
uint32_t imported_foreign(struct imported *t, uint32_t word, struct str iri);

/* The version of that word, made as a foreign one where it is none yet. VEC_NONE: no memory. */
uint32_t imported_version_of(struct imported *t, uint32_t word);
/* By identity, of absent ones by path; made where it is new. VEC_NONE: no memory. */
uint32_t imported_find_file(struct imported *t, const struct imported_file *like);

/* Has a version's file versions as a regular file has? */
bool imported_regular(const struct imported *t, uint32_t version);

/* ---- imported_relations.c: after all things ---- */

/* The statement `at`, if it is a relation; one of what was forgotten counts as left out, one that cannot be taken as
 * passed. 0 then, too. */
int imported_take_relation(struct imported *t, uint32_t at);
/* Derivations, when all other relations are taken. 0, -ENOMEM, reported. */
int imported_take_derivations(struct imported *t);

int imported_find_version(struct imported *t, uint32_t word, uint32_t *ret);
/* At the end of its activity's chain; counted with its version. NULL: no memory. Valid until the next one is added. */
struct imported_access *imported_add_access(struct imported *t, uint32_t activity, uint32_t version, bool write,
                                            uint32_t st);

/* ---- imported_provio.c: documents in PROV-IO's vocabulary; all of them do nothing to others ---- */

/* Before all things: which activities are calls, and whose. */
int imported_provio(struct imported *t);
void imported_provio_release(struct imported *t);
/* PROVIO_none, too, for any statement where the document is not PROV-IO's. */
enum provio_class imported_class(const struct imported *t, const struct doc_statement *st);
/* The call that a name stands for, NULL none. */
/* Is it an activity of PROV-IO's tools that nobody did with anything? Each is a call there; without a program and an
 * object the record has no place for it. */
bool imported_is_stray_call(const struct imported *t, const struct doc_statement *st);
struct imported_io *imported_io(struct imported *t, uint32_t word);
/* The entity `word` is the object `of`, or a version of it. Adds a version of the object's file and makes `word` its
 * name. -ENOMEM, reported. */
int imported_take_object(struct imported *t, uint32_t word, uint32_t of);
/* A call used (or made) an entity. 0 also where nothing is taken: stemma's own activities, and what is no version,
 * which counts as passed. The access gets the call's start. */
int imported_take_used(struct imported *t, uint32_t at, struct imported_io *io, uint32_t entity, bool write);
/* After all relations: what objects were created, read, written, ... by. Statements that name unknown calls count as
 * passed, those of forgotten ones as left out. 0, -ENOMEM. */
int imported_take_calls(struct imported *t);
/* After imported_order: accesses that nothing says the time of may have been at any time since. */
void imported_open_ends(struct imported *t);
/* After imported_identify: the figures come to their accesses. 0, -ENOMEM. Sorts t->io.calls, whose indices change. */
int imported_attach_calls(struct imported *t);

/* ---- imported_app.c ---- */

/* After all things. 0, -ENOMEM. */
int imported_take_app_events(struct imported *t);
/* The event that it is, without what refers to others; lists are what its lists stand in. False: it says nothing. */
bool imported_fill_app_event(struct imported *t, const struct imported_app_event *s, struct buf lists[3],
                             struct event *ev);

/* ---- imported_identify.c: after imported_order ---- */

/* Drops uses that follow from other accesses. false: no memory. What is dropped leaves its activity's chain, but stays
 * in t->accesses. */
bool imported_drop_uses(struct imported *t);
/* Finds which accesses are which in the rules of the graph. 0, -ENOMEM, reported: marks which accesses make and
 * which close a version, and which states a file had. */
int imported_identify(struct imported *t);

/* ---- the whole ---- */

/* What the document tells of. 0, -errno with a sentence. */
int imported_collect(struct imported *t);
/* Times for what has none, so that what was used was made before. -EBADMSG where things go in a circle. */
int imported_order(struct imported *t);
/* The events, as frames. hash: of the document; *ret_host: where it comes from. imported_release: what was imported;
 * the document stays. -ENOMEM, -E2BIG, reported. Must come last: it changes t's files and activities as it places them.
 * */
int imported_events(struct imported *t, uint64_t hash, struct buf *ret, struct str *ret_host);
void imported_release(struct imported *t);

#endif
