/* doc.h - a PROV document in memory: what the readers make, what is checked against PROV-CONSTRAINTS and imported.
 *
 * Every string is a word of the document, once; 0 is none. Names are whole IRIs, blank ones "_:" and a label. Memory:
 * about 70 bytes a statement and 16 an attribute besides the words. Limits (struct doc_limits) hold for hostile
 * documents; a reader that meets one, or anything it cannot make sense of, says where and gives no document. Only of
 * documents that PROV-IO's tools wrote, which are often torn, it gives what it could read, and says how much it could
 * not. */
#ifndef STEMMA_IMPORT_DOC_H
#define STEMMA_IMPORT_DOC_H

#include "base/err.h"
#include "event/event.h"
#include "graph/intern.h"

#define PROV_NS "http://www.w3.org/ns/prov#"
#define XSD_NS "http://www.w3.org/2001/XMLSchema#"

enum doc_kind {
#define ARG(role, property, type)
#define KIND(name, need, time, a, b, c, d, e, direct, qualified) DOC_##name,
#include "import/kinds.def"
#undef KIND
#undef ARG
	DOC_KINDS
};
#define DOC_ARGS 5
struct doc_kind_words {
	const char *name;
	unsigned need, times;
	struct {
		const char *role, *property;
		char type;
	} arg[DOC_ARGS];
	const char *direct, *qualified;
};
extern const struct doc_kind_words doc_kinds[DOC_KINDS];

struct doc_attr {
	uint32_t name, value;
	uint32_t type; /* of a literal, 0 a string; PROV_NS "QUALIFIED_NAME": the value is a name */
};
struct doc_statement {
	enum doc_kind kind;
	uint32_t id;            /* 0: a relation without */
	uint32_t arg[DOC_ARGS]; /* 0: not told */
	uint32_t bundle;        /* the bundle it stands in, 0 the document itself */
	int64_t start, end;     /* start: also the time of a relation; TIME_NONE */
	uint32_t first_attr, n_attr;
	uint32_t place; /* a line of the document; of PROV-JSON a word, a JSON pointer */
};

struct doc_limits {
	uint64_t bytes;      /* of the document */
	uint64_t statements; /* and of triples */
	uint64_t attributes;
};

struct doc {
	struct interner words;
	VEC(struct doc_statement) st;
	VEC(struct doc_attr) attrs;
	bool pointers;         /* places are JSON pointers */
	bool provio;           /* written by PROV-IO's tools: what cannot be read of it is passed over and counted */
	uint64_t skipped;      /* parts, of a statement at least, that could not be read */
	uint64_t unread_times; /* times that are none */
	uint32_t skipped_line; /* the line of the first part */
	struct doc_limits limits;
};

/* Of three numbers, for tables: all bits of each count. */
static inline uint32_t doc_hash(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint32_t)hash_mix(hash_mix(a, b), c);
}

/* Begins an empty document. */
void doc_init(struct doc *d);
void doc_release(struct doc *d);

/* The text of a word of the document. */
static inline struct str doc_str(const struct doc *d, uint32_t word)
{
	return intern_get(&d->words, word);
}
uint32_t doc_intern(struct doc *d, struct str s); /* VEC_NONE without memory */
/* A new statement, the last one; its attributes are those that doc_attr adds until the next. NULL without memory or
 * where a limit is met. doc_attr: false in the same cases. */
struct doc_statement *doc_add(struct doc *d, enum doc_kind kind, uint32_t place);
bool doc_attr(struct doc *d, uint32_t name, uint32_t value, uint32_t type);
/* "line 12" or "/used/_:r1": appended. */
void doc_place(const struct doc *d, const struct doc_statement *st, struct buf *out);
/* Appends a statement as text, as PROV-N would have it, names shortened: used(x1, v2). Appended. */
void doc_print(const struct doc *d, const struct doc_statement *st, struct buf *out);

/* Reads a time: xsd:dateTime to ns since 1970; without a zone it is UTC. False: it is none, or outside of what 64
 * bits of ns hold. */
bool doc_time(struct str s, int64_t *ret);

/* Reads PROV-N; name is for messages. 0 or -errno. */
int doc_read_provn(struct doc *d, const char *name, const void *p, size_t n, struct err *err);
/* Does it begin as PROV-N does? */
bool doc_is_provn(const void *p, size_t n);
/* Reads PROV-JSON and PROV-JSONLD. 0, -EFBIG, -EBADMSG, -ENOMEM, reported. d has what was read before the error. */
int doc_read_json(struct doc *d, const char *name, const void *p, size_t n, struct err *err);
/* Reads PROV-O in Turtle or N-Triples. -ENOSYS where this was left out when stemma was built. */
int doc_read_rdf(struct doc *d, const char *name, const void *p, size_t n, struct err *err);
bool doc_has_rdf(void);
/* One of them, by what the bytes begin with. 0; -EINVAL: it is none of them, or cannot be read; -ENOMEM; with a
 * sentence. */
int doc_read(struct doc *d, const char *name, const void *p, size_t n, struct err *err);

/* The document in a file, or on standard input ("-"); its bytes are left in ret, which the caller releases. 0; -EFBIG;
 * -errno; with a sentence. */
int doc_load(struct doc *d, const char *path, struct buf *ret, struct err *err);
/* What an export of the source would say, without attributes. */
struct prov_source;
int doc_from_source(struct doc *d, struct prov_source *p, struct err *err);

#endif
