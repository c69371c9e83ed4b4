/* told.h - a PROV document as what the record knows: executions, files, versions and accesses (private to the import).
 *
 * What stemma exported says by its attributes which process, file, version or run a statement is about, so it joins
 * what is there. What others wrote becomes things of their own: an entity a file of the domain "prov:" with one
 * version, an activity a process of the boot "prov", each by the hash of its IRI. Strings are words of the document. */
#ifndef STEMMA_IMPORT_TOLD_H
#define STEMMA_IMPORT_TOLD_H

#include "import/doc.h"
#include "import/forgotten.h"
#include "import/provio.h"
#include "prov/prov.h"

struct told_run {
	uint32_t st; /* statement */
	struct str ulid;
	bool emitted;
};
struct told_activity {
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
struct told_process {
	struct str boot;
	uint64_t pidns, pid;
	int64_t started;
	uint32_t first;        /* activity, by n */
	uint32_t parent;       /* process */
	int64_t forked, until; /* of the fork */
	uint32_t session, number;
	uint8_t state; /* while sessions are written: 1 being, 2 done */
};
struct told_file {
	struct str domain, path;
	uint64_t ino, gen;
	unsigned kind;
	bool network;
	uint32_t within; /* of an object of an HDF5 file: that file; VEC_NONE */
	int64_t seen;    /* the last that is known of it */
};
struct told_version {
	uint32_t word, file;
	bool own, by_event;
	uint64_t session, seq; /* of its first write, by_event */
	bool unseen_size;      /* it has a fingerprint */
	uint64_t size;
	int64_t mtime, start, end;
	uint32_t writes, reads; /* how many accesses */
	bool changes, untimed;  /* of PROV-IO: what is written and read changes; some of it has no time */
};
struct told_access {
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
struct told_io { /* an activity of PROV-IO: one kind of call of a program */
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
struct told_call {                    /* ... on one object, as figures */
	uint32_t activity, file, version; /* VEC_NONE: not told */
	uint8_t api;                      /* term ioapi */
	bool write;
	uint64_t calls, failed, bytes, largest, spent, size[10];
	int64_t first, last;
	uint32_t next; /* of its access or activity */
};
struct told_saying { /* what a run's programs said, or of what lies in an HDF5 file */
	uint32_t st;
	enum provio_class class; /* Type or one of those behind it */
	uint32_t activity;       /* who, VEC_NONE */
	struct str ulid;         /* of the run; "": another program's, of the document */
	int64_t at;
};
struct told_provio {
	struct map io;      /* word -> ios */
	struct map program; /* word of an agent -> word of the activity that stands for it */
	struct map thing;   /* word of an object or program -> statement */
	struct map outer;   /* member -> what it is a member of */
	struct map whole;   /* version -> object */
	struct map class;   /* word of an object or program -> enum provio_class */
	struct map label;   /* ... -> word of what it is called */
	struct map file;    /* word of an object -> its file */
	struct table pairs; /* accesses that were made for calls */
	VEC(struct told_io) ios;
	VEC(struct told_call) calls;
};
struct told_note {
	struct str run;     /* ULID; or: */
	uint32_t file;      /* VEC_NONE */
	struct str version; /* public id; "": none that is known any more */
	struct str text, user, host;
	int64_t time;
};
struct told_link {
	uint32_t a, b; /* activities */
	uint8_t via;
	bool must;
	int64_t at;
};

struct told {
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
	VEC(struct told_run) runs;
	VEC(struct told_activity) activities;
	VEC(struct told_process) processes;
	VEC(struct told_file) files;
	VEC(struct told_version) versions;
	VEC(struct told_access) accesses;
	VEC(struct told_link) links;
	VEC(struct told_note) notes;
	VEC(struct told_saying) sayings;
	uint32_t user;     /* a person the document names, of foreign activities */
	uint64_t passed;   /* statements that the record has no place for */
	uint64_t left_out; /* statements about what was forgotten */
	bool foreign;      /* some activity or entity is not stemma's own */
	bool provio;       /* it has words of PROV-IO's vocabulary */
	struct told_provio io;
	struct arena text; /* decoded base64 */
};

#define FOREIGN_DOMAIN "prov:"

/* ---- told_attrs.c: what a statement says ---- */

/* The value of an attribute, by word (VEC_NONE: no statement has it); 0 none. */
uint32_t told_get(const struct told *t, const struct doc_statement *st, uint32_t name);
/* The value of an attribute, the exact bytes; "" none. */
struct str told_text(struct told *t, const struct doc_statement *st, enum prov_attr attr);
bool told_count(const struct told *t, const struct doc_statement *st, enum prov_attr attr, uint64_t *ret);
bool told_time(const struct told *t, const struct doc_statement *st, enum prov_attr attr, int64_t *ret);
/* A list, as encoded strings in ret; how many. -EBADMSG with a sentence where it is none. */
long told_list(struct told *t, const struct doc_statement *st, enum prov_attr attr, struct buf *ret);
/* Has it this prov:type? */
bool told_is(const struct told *t, const struct doc_statement *st, const char *type);
/* The number of a name in a set, from 0 to last; none where it is not in it. */
unsigned told_term(enum term_set set, struct str name, unsigned last, unsigned none);
/* What a run's name stands for; "" where it is none. */
struct str told_ulid(struct str name);
int told_wrong(struct told *t, const struct doc_statement *st, const char *what);
int told_oom(struct told *t);

/* ---- told_things.c: statement `at` into what it is about; the things of names, made where they are not there ---- */

int told_take_entity(struct told *t, uint32_t at);
int told_take_program(struct told *t, uint32_t at);
int told_take_activity(struct told *t, uint32_t at);
uint32_t told_activity_of(struct told *t, uint32_t word); /* VEC_NONE without memory; so the others */
uint32_t told_foreign(struct told *t, uint32_t word, struct str iri);
uint32_t told_version_of(struct told *t, uint32_t word);
uint32_t told_find_file(struct told *t, const struct told_file *like);

/* Has a version's file versions as a regular file has? */
bool told_regular(const struct told *t, uint32_t version);

/* ---- told_relations.c: after all things ---- */

int told_take_relation(struct told *t, uint32_t at);
/* Derivations, when all other relations are taken. */
int told_take_derivations(struct told *t);

int told_find_version(struct told *t, uint32_t word, uint32_t *ret);
struct told_access *told_add_access(struct told *t, uint32_t activity, uint32_t version, bool write, uint32_t st);

/* ---- told_provio.c: documents in PROV-IO's vocabulary; all of them do nothing to others ---- */

/* Before all things: which activities are calls, and whose. */
int told_provio(struct told *t);
void told_provio_release(struct told *t);
enum provio_class told_class(const struct told *t, const struct doc_statement *st);
/* The call that a name stands for, NULL none. */
struct told_io *told_io(struct told *t, uint32_t word);
/* The entity `word` is the object `of`, or a version of it. */
int told_take_object(struct told *t, uint32_t word, uint32_t of);
/* A call used (or made) an entity. */
int told_take_used(struct told *t, uint32_t at, struct told_io *io, uint32_t entity, bool write);
/* After all relations: what objects were created, read, written, ... by. */
int told_take_calls(struct told *t);
/* After told_order: accesses that nothing says the time of may have been at any time since. */
void told_open_ends(struct told *t);
/* After told_settle: the figures come to their accesses. */
int told_attach_calls(struct told *t);

/* ---- told_said.c ---- */

/* After all things. */
int told_take_sayings(struct told *t);
/* The event that it is, without what refers to others; lists are what its lists stand in. False: it says nothing. */
bool told_saying(struct told *t, const struct told_saying *s, struct buf lists[3], struct event *ev);

/* ---- told_settle.c: after told_order ---- */

/* Drops uses that follow from other accesses. */
bool told_drop_uses(struct told *t);
int told_settle(struct told *t);

/* ---- the whole ---- */

/* What the document tells of. 0, -errno with a sentence. */
int told_collect(struct told *t);
/* Times for what has none, so that what was used was made before. -EBADMSG where things go in a circle. */
int told_order(struct told *t);
/* The events, as frames. hash: of the document; *ret_host: where it comes from. */
int told_events(struct told *t, uint64_t hash, struct buf *ret, struct str *ret_host);
void told_release(struct told *t);

#endif
