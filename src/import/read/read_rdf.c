/* read_rdf.c - PROV-O in Turtle and N-Triples to a document. serd reads the syntax; here triples become statements.
 *
 * A relation is a direct triple (a prov:used e), a qualified node, or both of the same things: then it is the one that
 * tells more. All triples are held, 24 bytes each and the words, for a node may be described before or after it is
 * used. read_rdf_triples.c reads them. */
#include "base/late/late.h"
#include "import/doc.h"

#include "import/provio.h"

#include <errno.h>

#ifdef HAVE_SERD

#include "import/read/read_rdf.h"

#include <stdlib.h>

#define RDF_NS "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define RDFS_NS "http://www.w3.org/2000/01/rdf-schema#"

/* What a property of PROV-O is. */
enum meaning { NOTHING, DIRECT, QUALIFIED, INVERSE, CLASS, TIME };
struct property {
	enum meaning meaning;
	enum doc_kind kind;
	const char *type; /* of a subproperty: the prov:type it adds */
	int which;        /* TIME: 0 start, 1 end, 2 generation, 3 invalidation */
};

/* ---- what properties mean ---- */

static const struct {
	const char *name;
	struct property is;
} others[] = {
    {"hadPrimarySource", {DIRECT, DOC_wasDerivedFrom, "PrimarySource", 0}},
    {"wasQuotedFrom", {DIRECT, DOC_wasDerivedFrom, "Quotation", 0}},
    {"wasRevisionOf", {DIRECT, DOC_wasDerivedFrom, "Revision", 0}},
    {"qualifiedPrimarySource", {QUALIFIED, DOC_wasDerivedFrom, "PrimarySource", 0}},
    {"qualifiedQuotation", {QUALIFIED, DOC_wasDerivedFrom, "Quotation", 0}},
    {"qualifiedRevision", {QUALIFIED, DOC_wasDerivedFrom, "Revision", 0}},
    {"generated", {INVERSE, DOC_wasGeneratedBy, NULL, 0}},
    {"invalidated", {INVERSE, DOC_wasInvalidatedBy, NULL, 0}},
    {"influenced", {INVERSE, DOC_wasInfluencedBy, NULL, 0}},
    {"startedAtTime", {TIME, DOC_activity, NULL, 0}},
    {"endedAtTime", {TIME, DOC_activity, NULL, 1}},
    {"generatedAtTime", {TIME, DOC_wasGeneratedBy, NULL, 2}},
    {"invalidatedAtTime", {TIME, DOC_wasInvalidatedBy, NULL, 3}},
};

/* What a property of PROV-O says; NOTHING for all others, which are attributes. */
static struct property property_of(struct str iri)
{
	const size_t ns = sizeof(PROV_NS) - 1;
	if (!str_starts(iri, str_of(PROV_NS)))
		return (struct property){.meaning = NOTHING};
	struct str name = {iri.p + ns, iri.n - ns};
	for (unsigned k = 0; k < DOC_KINDS; k++) {
		if (doc_kinds[k].direct && str_is(name, doc_kinds[k].direct))
			return (struct property){.meaning = DIRECT, .kind = k};
		if (doc_kinds[k].qualified && str_is(name, doc_kinds[k].qualified))
			return (struct property){.meaning = QUALIFIED, .kind = k};
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (str_is(name, others[i].name))
			return others[i].is;
	return (struct property){.meaning = NOTHING};
}

/* The kind of thing that a class of PROV-O makes its members, DOC_KINDS none. *ret_base: it says nothing beyond that.
 */
static enum doc_kind find_prov_class_kind(struct str iri, bool *ret_base)
{
	static const struct {
		const char *name;
		enum doc_kind kind;
		bool base;
	} classes[] = {{"Entity", DOC_entity, true},       {"Plan", DOC_entity, false},
	               {"Collection", DOC_entity, false},  {"EmptyCollection", DOC_entity, false},
	               {"Bundle", DOC_entity, false},      {"Activity", DOC_activity, true},
	               {"Agent", DOC_agent, true},         {"Person", DOC_agent, false},
	               {"Organization", DOC_agent, false}, {"SoftwareAgent", DOC_agent, false}};
	const size_t ns = sizeof(PROV_NS) - 1;
	*ret_base = false;
	if (str_starts(iri, str_of(PROV_NS)))
		for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
			if (str_is(str_n(iri.p + ns, iri.n - ns), classes[i].name)) {
				*ret_base = classes[i].base;
				return classes[i].kind;
			}
	return provio_kind(provio_class(iri));
}

/* ---- statements ---- */

/* Always -EBADMSG, with the line. */
static int report_bad_triple(struct rdf_reader *r, const struct triple *t, const char *what)
{
	struct str p = doc_str(r->d, t->p), o = doc_str(r->d, t->o);
	return err_set(r->err, 0, "%s:%u: <%.*s> '%.*s': %s", r->name, t->line, (int)(p.n < 100 ? p.n : 100), p.p,
	               (int)(o.n < 100 ? o.n : 100), o.p, what),
	       -EBADMSG;
}

/* Reports that the document is too large, or that there is no memory. -EFBIG where a limit is met, else -ENOMEM. */
static int report_rdf_full(struct rdf_reader *r, uint32_t line)
{
	const struct doc *d = r->d;
	bool limit = d->st.n >= d->limits.statements || d->attrs.n >= d->limits.attributes;
	return err_set(r->err, limit ? 0 : ENOMEM, "%s:%u: %s", r->name, line,
	               limit ? "the document is too large" : "cannot read the document"),
	       limit ? -EFBIG : -ENOMEM;
}

/* PROV-IO's tools write times as they like: one that is none is not known, and counted. -EBADMSG where the document is
 * not PROV-IO's. */
static int take_time(struct rdf_reader *r, const struct triple *t, int64_t *ret)
{
	if (t->literal && doc_time(doc_str(r->d, t->o), ret))
		return 0;
	if (!r->d->provio)
		return report_bad_triple(r, t, "is not a time");
	if (!t->literal || !provio_time(doc_str(r->d, t->o), ret)) {
		*ret = TIME_NONE;
		r->d->unread_times++;
	}
	return 0;
}

/* A literal in the place of a thing: an error of the document (-errno, with its line); in one of PROV-IO's it is
 * counted and passed over (0). */
static int pass_or_refuse_literal(struct rdf_reader *r, const struct triple *t)
{
	if (!r->d->provio)
		return report_bad_triple(r, t, "is a literal where a thing is wanted");
	if (!r->d->skipped++)
		r->d->skipped_line = t->line;
	return 0;
}

/* An attribute of the last statement, with PROV's name for RDF's type, label and location. 0, -errno with a sentence.
 * */
static int add_attr(struct rdf_reader *r, const struct triple *t)
{
	uint32_t name = t->p == r->w_type       ? r->w_prov_type
	                : t->p == r->w_label    ? r->w_prov_label
	                : t->p == r->w_location ? r->w_prov_location
	                                        : t->p;
	return doc_attr(r->d, name, t->o, t->literal ? t->type : r->w_qualified) ? 0 : report_rdf_full(r, t->line);
}

/* Adds a type to the statement that was added last. type: a name of PROV's, or a whole one. 0, -errno with a
 * sentence. */
static int add_type(struct rdf_reader *r, const char *type, uint32_t line)
{
	struct buf b = {0};
	buf_printf(&b, "%s%s", strchr(type, ':') ? "" : PROV_NS, type);
	uint32_t w = b.failed ? VEC_NONE : doc_intern(r->d, buf_view(&b));
	buf_release(&b);
	return doc_attr(r->d, r->w_prov_type, w, r->w_qualified) ? 0 : report_rdf_full(r, line);
}

/* A property of a qualified node: an argument, its time, or an attribute. *ret_attr: it is an attribute, which the
 * caller adds. -EBADMSG, reported: a literal where a thing is wanted. */
static int qualified_property(struct rdf_reader *r, size_t st, const struct triple *t, bool *ret_attr)
{
	const struct doc_kind_words *k = &doc_kinds[r->d->st.v[st].kind];
	struct str p = doc_str(r->d, t->p);
	*ret_attr = false;
	if (t->p == r->w_type) {
		/* prov:Usage and the like say what is known; others are types. */
		*ret_attr = !str_starts(doc_str(r->d, t->o), str_of(PROV_NS));
		return 0;
	}
	if (str_starts(p, str_of(PROV_NS))) {
		const size_t ns = sizeof(PROV_NS) - 1;
		struct str name = {p.p + ns, p.n - ns};
		if (k->times && str_is(name, "atTime"))
			return take_time(r, t, &r->d->st.v[st].start);
		for (unsigned i = 1; i < DOC_ARGS; i++)
			if (k->arg[i].property && (str_is(name, k->arg[i].property) || (i == 1 && str_is(name, "influencer")))) {
				if (t->literal)
					return report_bad_triple(r, t, "is a literal where a thing is wanted");
				r->d->st.v[st].arg[i] = t->o;
				return 0;
			}
	}
	*ret_attr = true;
	return 0;
}

/* The hash of a relation by its two ends. */
static uint32_t ends_hash(enum doc_kind kind, uint32_t a, uint32_t b)
{
	return doc_hash(a, b, kind);
}

/* The relation whose node t->o is, with all that is said of the node. -EBADMSG, reported, where it lacks an argument.
 * */
static int add_qualified(struct rdf_reader *r, const struct triple *t, const struct property *is)
{
	if (t->literal)
		return pass_or_refuse_literal(r, t);
	if (!doc_add(r->d, is->kind, t->line))
		return report_rdf_full(r, t->line);
	size_t st = r->d->st.n - 1;
	r->d->st.v[st].id = t->o;
	r->d->st.v[st].arg[0] = t->s;
	int rc = is->type ? add_type(r, is->type, t->line) : 0;
	bool attr;
	for (uint32_t i = r->first[t->o]; rc == 0 && i != VEC_NONE; i = r->t.v[i].next) {
		rc = qualified_property(r, st, &r->t.v[i], &attr);
		if (rc == 0 && attr)
			rc = add_attr(r, &r->t.v[i]);
	}
	for (unsigned i = 0; rc == 0 && i < doc_kinds[is->kind].need; i++)
		if (!r->d->st.v[st].arg[i])
			rc = report_bad_triple(r, t, "does not say what it is about");
	const struct doc_statement *v = &r->d->st.v[st];
	if (rc == 0 && !table_add(&r->qualified, ends_hash(v->kind, v->arg[0], v->arg[1]), (uint32_t)st))
		rc = report_rdf_full(r, t->line);
	return rc;
}

/* Does a qualified node of the subject tell of this direct triple? */
static bool is_qualified(struct rdf_reader *r, const struct triple *t, const struct property *is)
{
	const struct doc_statement *v = r->d->st.v;
	uint32_t i, hash = ends_hash(is->kind, t->s, t->o);
	for (size_t pos = TABLE_START; (i = table_next(&r->qualified, hash, &pos)) != VEC_NONE;)
		if (v[i].kind == is->kind && v[i].arg[0] == t->s && v[i].arg[1] == t->o)
			return true;
	return false;
}

/* A relation that one triple says in full. 0, -errno with a sentence. */
static int add_direct(struct rdf_reader *r, const struct triple *t, const struct property *is)
{
	if (t->literal)
		return pass_or_refuse_literal(r, t);
	struct doc_statement *st = doc_add(r->d, is->kind, t->line);
	if (!st)
		return report_rdf_full(r, t->line);
	st->arg[is->meaning == INVERSE] = t->s;
	st->arg[is->meaning != INVERSE] = t->o;
	return is->type ? add_type(r, is->type, t->line) : 0;
}

/* Adds an instant. When something began or ended, without what began it: a relation with a time alone. 0, -errno
 * with a sentence. */
static int add_instant(struct rdf_reader *r, const struct triple *t, const struct property *is)
{
	int64_t at;
	int rc = take_time(r, t, &at);
	struct doc_statement *st = rc == 0 ? doc_add(r->d, is->kind, t->line) : NULL;
	if (!st)
		return rc < 0 ? rc : report_rdf_full(r, t->line);
	st->arg[0] = t->s;
	st->start = at;
	return 0;
}

/* Is it what a program did with one kind of call? */
static bool is_call_activity(const struct rdf_reader *r, uint32_t subject)
{
	for (uint32_t i = r->first[subject]; i != VEC_NONE; i = r->t.v[i].next)
		if (r->t.v[i].p == r->w_type && provio_is_call(provio_class(doc_str(r->d, r->t.v[i].o))))
			return true;
	return false;
}

/* Takes a time of an activity. call: of PROV-IO, whose tool writes times as it likes. What is no time is passed over
 * there. 0, -errno with a sentence. */
static int take_activity_time(struct rdf_reader *r, const struct triple *t, bool call, int64_t *to)
{
	int64_t at;
	if (!call || r->d->provio)
		return take_time(r, t, to);
	if (t->literal && doc_time(doc_str(r->d, t->o), &at))
		*to = at;
	return 0;
}

/* Is it a setting as PROV-IO tells it, which is of no class: a name with a value? */
static bool is_bare_setting(const struct rdf_reader *r, uint32_t subject)
{
	bool name = false, value = false;
	for (uint32_t i = r->first[subject]; i != VEC_NONE; i = r->t.v[i].next) {
		struct str p = doc_str(r->d, r->t.v[i].p);
		if (r->t.v[i].p == r->w_type)
			return false;
		name |= r->t.v[i].literal && str_is(p, PROVIO_NS "Name");
		value |= r->t.v[i].literal && str_is(p, PROVIO_NS "Value");
	}
	return name && value;
}

/* The statement that something is an entity, an activity or an agent, with all that is said of it. 0, -errno with a
 * sentence. */
static int add_element(struct rdf_reader *r, uint32_t subject, enum doc_kind kind, uint32_t line)
{
	if (!doc_add(r->d, kind, line))
		return report_rdf_full(r, line);
	size_t st = r->d->st.n - 1;
	r->d->st.v[st].id = subject;
	bool call = kind == DOC_activity && is_call_activity(r, subject);
	int rc = 0;
	for (uint32_t i = r->first[subject]; rc == 0 && i != VEC_NONE; i = r->t.v[i].next) {
		const struct triple *t = &r->t.v[i];
		bool base = false;
		if (t->p == r->w_type)
			find_prov_class_kind(doc_str(r->d, t->o), &base);
		struct property is = property_of(doc_str(r->d, t->p));
		if (is.meaning == TIME && is.kind == DOC_activity) {
			int64_t *to = is.which ? &r->d->st.v[st].end : &r->d->st.v[st].start;
			rc = kind == DOC_activity ? take_activity_time(r, t, call, to) : 0;
		} else if (is.meaning == NOTHING && !base)
			rc = add_attr(r, t);
	}
	if (rc == 0 && kind == DOC_entity && is_bare_setting(r, subject))
		rc = add_type(r, PROVIO_NS "Configuration", line);
	return rc;
}

/* What a subject is, as bits of enum doc_kind: by its types, and by having an activity's times. */
static unsigned kinds_of_subject(const struct rdf_reader *r, uint32_t s)
{
	unsigned kinds = 0;
	for (uint32_t i = r->first[s]; i != VEC_NONE; i = r->t.v[i].next) {
		bool base;
		enum doc_kind k =
		    r->t.v[i].p == r->w_type ? find_prov_class_kind(doc_str(r->d, r->t.v[i].o), &base) : DOC_KINDS;
		struct property is = property_of(doc_str(r->d, r->t.v[i].p));
		kinds |= k != DOC_KINDS ? 1u << k : 0;
		kinds |= is.meaning == TIME && is.kind == DOC_activity ? 1u << DOC_activity : 0;
	}
	return kinds ? kinds : is_bare_setting(r, s) ? 1u << DOC_entity : 0;
}

/* Everything that the document says of the subject s, as statements. 0, -errno with a sentence. */
static int add_subject(struct rdf_reader *r, uint32_t s)
{
	unsigned kinds = kinds_of_subject(r, s);
	uint32_t line = r->t.v[r->first[s]].line;
	int rc = 0;
	for (unsigned k = DOC_entity; rc == 0 && k <= DOC_agent; k++)
		if (kinds >> k & 1)
			rc = add_element(r, s, k, line);
	/* Qualified ones first: they stand together, behind what the subject is. */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = r->first[s]; rc == 0 && i != VEC_NONE; i = r->t.v[i].next) {
			const struct triple *t = &r->t.v[i];
			struct property is = property_of(doc_str(r->d, t->p));
			if ((is.meaning == QUALIFIED) != (pass == 0))
				continue;
			if (is.meaning == QUALIFIED)
				rc = add_qualified(r, t, &is);
			else if (is.meaning == INVERSE || (is.meaning == DIRECT && !is_qualified(r, t, &is)))
				rc = add_direct(r, t, &is);
			else if (is.meaning == TIME && is.kind != DOC_activity)
				rc = add_instant(r, t, &is);
		}
	return rc;
}

/* Chains the triples of each subject, by r->first and next, and marks the nodes of qualified relations. The arrays have
 * room for the words that are known now. 0, -ENOMEM with a sentence. */
static int link_triples(struct rdf_reader *r)
{
	size_t words = r->d->words.list.n;
	r->first = malloc(words * sizeof(*r->first));
	r->last = malloc(words * sizeof(*r->last));
	r->qualifier = calloc(words, 1);
	if (!r->first || !r->last || !r->qualifier)
		return err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	for (size_t i = 0; i < words; i++)
		r->first[i] = VEC_NONE;
	for (uint32_t i = 0; i < r->t.n; i++) {
		struct triple *t = &r->t.v[i];
		if (r->first[t->s] == VEC_NONE)
			r->first[t->s] = i;
		else
			r->t.v[r->last[t->s]].next = i;
		r->last[t->s] = i;
		if (!t->literal && property_of(doc_str(r->d, t->p)).meaning == QUALIFIED)
			r->qualifier[t->o] = 1;
	}
	return 0;
}

/* N-Triples is Turtle, but for the strictness; its lines begin with whole IRIs or blank nodes and it declares no
 * prefixes. 0, -EFBIG, -EBADMSG, -ENOMEM, and what late_load gives where serd is missing; all reported. */
int doc_read_rdf(struct doc *d, const char *name, const void *p, size_t n, struct err *err)
{
	struct rdf_reader r = {.d = d, .name = name, .err = err, .p = p, .end = (const char *)p + n};
	if (n > d->limits.bytes)
		return err_set(err, 0, "%s: the document is too large", name), -EFBIG;
	int rc = late_load(&late_serd, err);
	if (rc < 0)
		return rc;
	d->provio = provio_wrote(p, n);
	r.w_type = doc_intern(d, str_of(RDF_NS "type"));
	r.w_label = doc_intern(d, str_of(RDFS_NS "label"));
	r.w_prov_type = doc_intern(d, str_of(PROV_NS "type"));
	r.w_prov_label = doc_intern(d, str_of(PROV_NS "label"));
	r.w_location = doc_intern(d, str_of(PROV_NS "atLocation"));
	r.w_prov_location = doc_intern(d, str_of(PROV_NS "location"));
	r.w_qualified = doc_intern(d, str_of(PROV_NS "QUALIFIED_NAME"));
	rc = rdf_read_triples(&r);
	if (rc == 0)
		rc = link_triples(&r);
	size_t words = d->words.list.n; /* statements add words; subjects are below */
	for (uint32_t i = 0; rc == 0 && i < r.t.n; i++) {
		uint32_t s = r.t.v[i].s;
		if (s < words && r.first[s] == i && !r.qualifier[s])
			rc = add_subject(&r, s);
	}
	serd_env_free(r.env);
	map_release(&r.prefix);
	vec_release(&r.prefixes);
	free(r.why);
	vec_release(&r.t);
	table_release(&r.said);
	table_release(&r.qualified);
	free(r.first);
	free(r.last);
	free(r.qualifier);
	return rc;
}

/* Whether the library is there. */
bool doc_has_rdf(void)
{
	return late_load(&late_serd, NULL) == 0;
}

#else

int doc_read_rdf(struct doc *d, const char *name, const void *p, size_t n, struct err *err)
{
	(void)d;
	(void)p;
	(void)n;
	return err_set(err, 0, "%s: this stemma was built without serd and cannot read Turtle or N-Triples", name), -ENOSYS;
}

/* Built without: never. */
bool doc_has_rdf(void)
{
	return false;
}

#endif
