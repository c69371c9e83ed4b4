/* prov.h - the record as a stream of PROV statements: what every export writes.
 *
 * A source walks what was selected, as often as a format asks and in whatever parts, always in the same order. Nothing
 * of a statement lives longer than the call that gives it. Memory: the selection (8 bytes a thing; nothing when it is
 * the whole record), one file's versions and its notes. Cost: the store's own calls, about 2 us a statement.
 *
 * Local names: f, v, x and hex digits as in doc/format/store.md for files, versions, executions; r and the ULID for
 * runs; u... users, p... programs; b... builds, b....N their files; v....N the Nth write of a chain of appends (the
 * last is v... itself).
 *
 * Times. PROV-CONSTRAINTS wants a generation not after any use and, along a derivation, one after the other; the record
 * has intervals. A generation's time is the end of the write, but not after the end of the first use and before
 * the generation of the next version; where that lies before the write began it is left out. A use's time is its end.
 */
#ifndef STEMMA_PROV_PROV_H
#define STEMMA_PROV_PROV_H

#include "base/err.h"
#include "query/lineage/lineage.h"
#include "store/store.h"

enum prov_kind {
	PROV_agent,
	PROV_entity,
	PROV_activity,
	PROV_wasGeneratedBy,
	PROV_used,
	PROV_wasDerivedFrom,
	PROV_wasInformedBy,
	PROV_wasAssociatedWith,
	PROV_actedOnBehalfOf,
	PROV_specializationOf,
	PROV_KINDS
};
#define PROV_BIT(kind) (1u << (kind))
#define PROV_ALL ((1u << PROV_KINDS) - 1)
/* Beside the kinds: what an execution generated comes with it, after what it used, as whole versions and without times.
 */
#define PROV_OUTPUTS (1u << PROV_KINDS)
/* Also builds: activities that no run knows, in the same kinds. */
#define PROV_BUILDS (1u << (PROV_KINDS + 1))
extern const char *const prov_kind_name[PROV_KINDS];

enum prov_attr {
#define ATTR(name, type, of, meaning) ATTR_##name,
#include "prov/attrs.def"
#undef ATTR
	ATTR_COUNT
};
enum attr_type { TYPE_text, TYPE_list, TYPE_count, TYPE_time, TYPE_flag, TYPE_name };
extern const struct attr_words {
	const char *name, *base64; /* base64: the attribute that has the exact bytes */
	enum attr_type type;
	const char *of, *meaning; /* of: which kinds of statement have it */
} attr_words[ATTR_COUNT];

struct prov_value {
	enum prov_attr attr;
	struct str text;     /* text, name */
	struct strlist list; /* list */
	uint64_t count;      /* count, flag */
	int64_t time;        /* time */
};

#define PROV_VALUES 48
struct prov_statement {
	enum prov_kind kind;
	struct str id;              /* agent, entity, activity: its local name; a relation has none */
	struct str subject, object; /* relations, as PROV names them: activity used entity, derived from source, ... */
	struct str third;           /* actedOnBehalfOf: the activity, may be empty */
	int64_t start, end;         /* activity; a use's or a generation's time is start. TIME_NONE: not known */
	const char *type; /* Execution, Run, Build, BuildFile, File, Version, Stream, User, Program: in stemma's namespace;
	                     NULL none */
	struct str label; /* for people */
	struct prov_value v[PROV_VALUES];
	size_t n;
	/* The store's ids. what: the execution, version, file or run, or a relation's subject; other: the file of a
	 * version, the run of an execution, a relation's object; 0 none. */
	store_id what, other;
};

struct prov_select {
	const store_id *versions; /* whose lineage; n_versions */
	size_t n_versions;
	const store_id *runs;
	size_t n_runs;
	const store_id *execs;
	size_t n_execs;
	struct lineage_options lineage; /* direction, depth, all, fork, certain hold for all selections */
	int64_t since, until;           /* executions that overlap it, versions that were written in it; TIME_NONE none */
};

/* How PROV names the ends of a relation, and the second class of an agent. */
struct prov_roles {
	const char *subject, *object, *third;
};
extern const struct prov_roles prov_roles[PROV_KINDS];
const char *prov_agent_class(const struct prov_statement *st);
/* A value of a statement; NULL where it has none. */
const struct prov_value *prov_find(const struct prov_statement *st, enum prov_attr attr);

struct prov_source;
/* With nothing named: the whole record. 0, -errno with a sentence. */
int prov_open(struct store *s, const struct prov_select *o, struct err *err, struct prov_source **ret);
void prov_close(struct prov_source *p);
struct store *prov_store(struct prov_source *p);
const struct prov_select *prov_selection(const struct prov_source *p);

/* Gives all statements of the kinds (bits) to emit, which returns 0 to go on, and may ask the store for runs, files and
 * versions, but not for executions. 0, what emit returned, or -errno. */
int prov_walk(struct prov_source *p, unsigned kinds, int (*emit)(void *arg, const struct prov_statement *st),
              void *arg);
/* Is it in the selection? */
bool prov_has_version(struct prov_source *p, store_id id);
bool prov_has_exec(struct prov_source *p, store_id id);

#endif
