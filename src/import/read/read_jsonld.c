/* read_jsonld.c - PROV-JSONLD (W3C member submission, 2024) to a document.
 *
 * An object of @graph is a statement: its @type is PROV's name for it, its keys are those of PROV-JSON without prov:. A
 * direct relation, prov:used on an activity, is a statement where no object says the same with more. Objects that say
 * nothing but such relations make no second statement of their subject. */
#include "base/hash.h"
#include "import/read/read_json.h"

#include <errno.h>
#include <stdio.h>

#define RDFS_NS "http://www.w3.org/2000/01/rdf-schema#"
#define GRAPH_DEPTH 2 /* the document and its bundles */

static const struct {
	const char *type;
	enum doc_kind kind;
} classes[] = {{"Entity", DOC_entity},
               {"Activity", DOC_activity},
               {"Agent", DOC_agent},
               {"Generation", DOC_wasGeneratedBy},
               {"Usage", DOC_used},
               {"Communication", DOC_wasInformedBy},
               {"Start", DOC_wasStartedBy},
               {"End", DOC_wasEndedBy},
               {"Invalidation", DOC_wasInvalidatedBy},
               {"Derivation", DOC_wasDerivedFrom},
               {"Attribution", DOC_wasAttributedTo},
               {"Association", DOC_wasAssociatedWith},
               {"Delegation", DOC_actedOnBehalfOf},
               {"Influence", DOC_wasInfluencedBy},
               {"Alternate", DOC_alternateOf},
               {"Specialization", DOC_specializationOf},
               {"Mention", DOC_mentionOf},
               {"Membership", DOC_hadMember}};

struct direct {
	enum doc_kind kind;
	uint32_t subject, object, bundle, place;
};

struct jsonld {
	struct json_reader *r;
	VEC(struct direct) direct;
	uint32_t w_label, w_type, w_location;
};

/* The kind of statement that a type means: prov:Usage or Usage; DOC_KINDS: neither. */
static enum doc_kind find_kind(const char *type)
{
	const char *name = type && strncmp(type, "prov:", 5) == 0 ? type + 5 : type;
	for (size_t i = 0; name && i < sizeof(classes) / sizeof(*classes); i++)
		if (strcmp(name, classes[i].type) == 0)
			return classes[i].kind;
	return DOC_KINDS;
}

/* The first of its types that PROV names. */
static enum doc_kind kind_of_object(const json_t *body)
{
	const json_t *type = json_object_get(body, "@type");
	if (json_is_string(type))
		return find_kind(json_string_value(type));
	for (size_t i = 0; i < json_array_size(type); i++) {
		enum doc_kind kind = find_kind(json_string_value(json_array_get(type, i)));
		if (kind != DOC_KINDS)
			return kind;
	}
	return DOC_KINDS;
}

/* The kind of relation that a property of an element is, DOC_KINDS none. */
static enum doc_kind find_direct(const char *key)
{
	for (unsigned k = DOC_wasGeneratedBy; strncmp(key, "prov:", 5) == 0 && k < DOC_KINDS; k++)
		if (doc_kinds[k].direct && strcmp(key + 5, doc_kinds[k].direct) == 0)
			return k;
	return DOC_KINDS;
}

/* A name, as a text or as {"@id": name}; NULL: it is none. */
static const char *name_in(json_t *v)
{
	json_t *id = json_is_object(v) ? json_object_get(v, "@id") : v;
	return json_string_value(id);
}

/* ---- values ---- */

/* {"@value": ..., "@type": ...}, {"@id": ...}, a text, a number, true or false. names: a text is a name, too. */
static int read_value(struct jsonld *l, const struct json_scope *s, uint32_t name, json_t *v, bool names)
{
	struct json_reader *r = l->r;
	json_t *value = json_is_object(v) ? json_object_get(v, "@value") : v;
	json_t *type = json_is_object(v) ? json_object_get(v, "@type") : NULL;
	char number[40];
	uint32_t t = 0;
	if (!value || (names && json_is_string(value))) {
		const char *id = name_in(v);
		int rc = id ? json_expand_name(r, s, id, &t) : json_report_bad(r, "is not a value of PROV-JSONLD", NULL);
		return rc < 0 ? rc : doc_attr(r->d, name, t, r->w_qualified) ? 0 : json_report_full(r);
	}
	if (type && !json_is_string(type))
		return json_report_bad(r, "is not a value of PROV-JSONLD", NULL);
	int rc = type ? json_expand_name(r, s, json_string_value(type), &t) : 0;
	if (rc < 0)
		return rc;
	if (t && str_is(doc_str(r->d, t), XSD_NS "string"))
		t = 0;
	if (json_is_string(value))
		return json_add_attribute(r, name, str_n(json_string_value(value), json_string_length(value)), t);
	if (!json_print_scalar(value, number, sizeof(number)))
		return json_report_bad(r, "is not a value of PROV-JSONLD", NULL);
	if (!t)
		t = doc_intern(r->d, str_of(json_is_integer(value)   ? XSD_NS "integer"
		                            : json_is_boolean(value) ? XSD_NS "boolean"
		                                                     : XSD_NS "double"));
	return json_add_attribute(r, name, str_of(number), t);
}

/* Calls one for the value, or for each of a list of values. 0, or what one gives. */
static int for_each_value(struct jsonld *l, json_t *v, int (*one)(struct jsonld *l, void *arg, json_t *v), void *arg)
{
	int rc = 0;
	if (!json_is_array(v))
		return one(l, arg, v);
	for (size_t i = 0; rc == 0 && i < json_array_size(v); i++) {
		size_t at = json_descend_index(l->r, i);
		rc = one(l, arg, json_array_get(v, i));
		if (rc == 0)
			l->r->path.n = at;
	}
	return rc;
}

struct attribute {
	const struct json_scope *s;
	uint32_t name;
	bool names;
};

/* Adds a value of an attribute. arg: the attribute that v is a value of. 0, negative. */
static int add_jsonld_value(struct jsonld *l, void *arg, json_t *v)
{
	const struct attribute *a = arg;
	return read_value(l, a->s, a->name, v, a->names);
}

/* The value, or each of a list, becomes an attribute; label, type and location are PROV's. 0, -errno with a sentence.
 * */
static int read_jsonld_attribute(struct jsonld *l, const struct json_scope *s, const char *key, json_t *v)
{
	struct attribute a = {.s = s};
	int rc = 0;
	if (strcmp(key, "label") == 0)
		a.name = l->w_label;
	else if (strcmp(key, "type") == 0)
		a = (struct attribute){s, l->w_type, true};
	else if (strcmp(key, "location") == 0)
		a.name = l->w_location;
	else if (!strchr(key, ':')) { /* role, value, ...: PROV's own */
		struct buf b = {0};
		buf_printf(&b, PROV_NS "%s", key);
		a.name = b.failed ? VEC_NONE : doc_intern(l->r->d, buf_view(&b));
		buf_release(&b);
		rc = a.name == VEC_NONE ? json_report_full(l->r) : 0;
	} else
		rc = json_expand_name(l->r, s, key, &a.name);
	return rc < 0 ? rc : for_each_value(l, v, add_jsonld_value, &a);
}

/* ---- statements ---- */

struct direct_of {
	const struct json_scope *s;
	struct direct d;
};

/* A for_each_value callback: keeps the relation for add_direct_relations. -EFBIG beyond the limit. */
static int keep_direct(struct jsonld *l, void *arg, json_t *v)
{
	struct direct_of *of = arg;
	const char *name = name_in(v);
	int rc = name ? json_expand_name(l->r, of->s, name, &of->d.object) : json_report_bad(l->r, "is not a name", NULL);
	if (rc < 0)
		return rc;
	struct direct *to = l->direct.n < l->r->d->limits.statements ? vec_add(&l->direct) : NULL;
	if (!to)
		return json_report_full(l->r);
	*to = of->d;
	return 0;
}

/* The place of an argument by its role. DOC_ARGS: the kind has none of that role. */
static unsigned find_argument(enum doc_kind kind, const char *key)
{
	unsigned i = 0;
	while (i < DOC_ARGS && (!doc_kinds[kind].arg[i].role || strcmp(doc_kinds[kind].arg[i].role, key) != 0))
		i++;
	return i;
}

/* Which time of a statement a key has; NULL: it is none. */
static int64_t *time_of_key(struct doc_statement *st, const char *key)
{
	const unsigned times = doc_kinds[st->kind].times;
	if ((times == 1 && strcmp(key, "time") == 0) || (times == 2 && strcmp(key, "startTime") == 0))
		return &st->start;
	return times == 2 && strcmp(key, "endTime") == 0 ? &st->end : NULL;
}

/* An argument, a time, a relation to be added later, or an attribute, as the key and the kind of statement st say. 0,
 * -errno with a sentence. */
static int read_jsonld_key(struct jsonld *l, const struct json_scope *s, size_t st, const char *key, json_t *v)
{
	struct json_reader *r = l->r;
	struct doc_statement *to = &r->d->st.v[st];
	const unsigned role = find_argument(to->kind, key);
	if (role < DOC_ARGS) {
		uint32_t word;
		const char *name = name_in(v);
		int rc = name ? json_expand_name(r, s, name, &word) : json_report_bad(r, "is not a name", NULL);
		if (rc == 0)
			r->d->st.v[st].arg[role] = word;
		return rc;
	}
	if (time_of_key(to, key)) {
		int64_t t;
		int rc = json_read_time(r, v, &t);
		if (rc == 0)
			*time_of_key(&r->d->st.v[st], key) = t;
		return rc;
	}
	enum doc_kind direct = to->kind <= DOC_agent ? find_direct(key) : DOC_KINDS;
	if (direct == DOC_KINDS)
		return read_jsonld_attribute(l, s, key, v);
	struct direct_of of = {s, {direct, to->id, 0, s->bundle, to->place}};
	return for_each_value(l, v, keep_direct, &of);
}

/* Does the object only say what its subject has to do with others? */
static bool says_relations_only(const json_t *body)
{
	const char *key;
	json_t *v;
	bool any = false;
	json_object_foreach((json_t *)body, key, v)
	{
		if (key[0] != '@' && find_direct(key) == DOC_KINDS)
			return false;
		any |= key[0] != '@';
	}
	return any;
}

/* One that says only relations of a thing adds no statement of its own. -EBADMSG, reported. */
static int read_jsonld_statement(struct jsonld *l, const struct json_scope *s, json_t *body)
{
	struct json_reader *r = l->r;
	const char *key, *id = json_string_value(json_object_get(body, "@id"));
	json_t *v;
	const enum doc_kind kind = kind_of_object(body);
	uint32_t word = 0;
	if (kind == DOC_KINDS)
		return json_report_bad(r, "is not a statement of PROV", NULL);
	if (kind <= DOC_agent && !id)
		return json_report_bad(r, "has no name '@id'", NULL);
	int rc = id ? json_expand_name(r, s, id, &word) : 0;
	uint32_t place = rc == 0 ? doc_intern(r->d, buf_view(&r->path)) : VEC_NONE;
	if (rc < 0)
		return rc;
	if (place == VEC_NONE || !doc_add(r->d, kind, place))
		return json_report_full(r);
	const size_t st = r->d->st.n - 1;
	r->d->st.v[st].id = word;
	r->d->st.v[st].bundle = s->bundle;
	const bool repeats = kind <= DOC_agent && says_relations_only(body);
	json_object_foreach(body, key, v)
	{
		if (key[0] == '@')
			continue;
		size_t at = json_descend_key(r, key);
		if ((rc = read_jsonld_key(l, s, st, key, v)) < 0)
			return rc;
		r->path.n = at;
	}
	for (unsigned i = 0; i < doc_kinds[kind].need; i++)
		if (!r->d->st.v[st].arg[i])
			return json_report_bad(r, "lacks", doc_kinds[kind].arg[i].role);
	if (repeats)
		r->d->st.n--; /* it has no attributes */
	return 0;
}

static int read_graph(struct jsonld *l, const struct json_scope *s, json_t *graph, unsigned depth);

/* A bundle, which has an @graph, or a statement. depth: of bundles; more than GRAPH_DEPTH is refused. 0, -errno with a
 * sentence. */
static int read_graph_object(struct jsonld *l, const struct json_scope *s, json_t *body, unsigned depth)
{
	struct json_reader *r = l->r;
	json_t *graph = json_object_get(body, "@graph");
	if (!json_is_object(body))
		return json_report_bad(r, "is not an object", NULL);
	if (!graph)
		return read_jsonld_statement(l, s, body);
	struct json_scope inner = {.outer = (struct json_scope *)s};
	const char *id = json_string_value(json_object_get(body, "@id"));
	if (depth >= GRAPH_DEPTH)
		return json_report_bad(r, "a bundle holds no bundles", NULL);
	int rc = id ? json_expand_name(r, s, id, &inner.bundle) : json_report_bad(r, "a bundle without a name", NULL);
	return rc < 0 ? rc : read_graph(l, &inner, graph, depth + 1);
}

/* Reads a list of statements. 0, negative with where in the document it is wrong. */
static int read_graph(struct jsonld *l, const struct json_scope *s, json_t *graph, unsigned depth)
{
	struct json_reader *r = l->r;
	const size_t from = json_descend_key(r, "@graph");
	if (!json_is_array(graph))
		return json_report_bad(r, "is not a list", NULL);
	for (size_t i = 0; i < json_array_size(graph); i++) {
		size_t at = json_descend_index(r, i);
		int rc = read_graph_object(l, s, json_array_get(graph, i), depth);
		if (rc < 0)
			return rc;
		r->path.n = at;
	}
	r->path.n = from;
	return 0;
}

/* ---- contexts: of them the prefixes ---- */

/* Adds prefixes. Of the context, what ends as a namespace's IRI does. false: no memory. */
static bool add_prefixes(json_t *to, json_t *context)
{
	const char *key;
	json_t *v;
	json_object_foreach(context, key, v)
	{
		const char *iri = json_string_value(v);
		const size_t n = iri ? strlen(iri) : 0;
		if (n && key[0] != '@' && strchr("#/:?", iri[n - 1]) && json_object_set(to, key, v) < 0)
			return false;
	}
	return true;
}

/* A new object that the caller releases; NULL: no memory. */
static json_t *prefixes_of(json_t *context)
{
	json_t *ret = json_object();
	bool ok = ret != NULL;
	for (size_t i = 0; ok && i < json_array_size(context); i++)
		ok = add_prefixes(ret, json_array_get(context, i));
	if (ok && json_is_object(context))
		ok = add_prefixes(ret, context);
	if (ok && !json_object_get(ret, "rdfs")) /* known to every context of PROV's */
		ok = json_object_set_new(ret, "rdfs", json_string(RDFS_NS)) == 0;
	if (!ok) {
		json_decref(ret);
		ret = NULL;
	}
	return ret;
}

/* ---- direct relations that no other statement tells of ---- */

/* Adds relations that elements name directly. Those that the document has not stated in full are added as
 * statements. -EFBIG, -ENOMEM, reported. */
static int add_direct_relations(struct jsonld *l)
{
	struct doc *d = l->r->d;
	struct table told = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && l->direct.n && i < d->st.n; i++)
		if (d->st.v[i].kind > DOC_agent)
			ok = table_add(&told, doc_hash(d->st.v[i].arg[0], d->st.v[i].arg[1], d->st.v[i].kind), i);
	for (size_t k = 0; ok && k < l->direct.n; k++) {
		const struct direct *x = &l->direct.v[k];
		const uint32_t hash = doc_hash(x->subject, x->object, x->kind);
		uint32_t i;
		bool known = false;
		for (size_t pos = TABLE_START; !known && (i = table_next(&told, hash, &pos)) != VEC_NONE;)
			known = d->st.v[i].kind == x->kind && d->st.v[i].arg[0] == x->subject && d->st.v[i].arg[1] == x->object;
		if (known)
			continue;
		struct doc_statement *st = doc_add(d, x->kind, x->place);
		ok = st && table_add(&told, hash, (uint32_t)(d->st.n - 1));
		if (ok) {
			d->st.v[d->st.n - 1].arg[0] = x->subject;
			d->st.v[d->st.n - 1].arg[1] = x->object;
			d->st.v[d->st.n - 1].bundle = x->bundle;
		}
	}
	table_release(&told);
	return ok ? 0 : json_report_full(l->r);
}

int jsonld_read(struct json_reader *r, json_t *all)
{
	struct jsonld l = {.r = r};
	struct json_scope s = {.prefixes = prefixes_of(json_object_get(all, "@context"))};
	json_t *graph = json_object_get(all, "@graph");
	l.w_label = doc_intern(r->d, str_of(PROV_NS "label"));
	l.w_type = doc_intern(r->d, str_of(PROV_NS "type"));
	l.w_location = doc_intern(r->d, str_of(PROV_NS "location"));
	int rc;
	if (!s.prefixes || l.w_label == VEC_NONE || l.w_type == VEC_NONE || l.w_location == VEC_NONE)
		rc = json_report_full(r);
	else if (!graph)
		rc = json_report_bad(r, "has a context and no '@graph'", NULL);
	else
		rc = read_graph(&l, &s, graph, 1);
	if (rc == 0)
		rc = add_direct_relations(&l);
	json_decref(s.prefixes);
	vec_release(&l.direct);
	return rc;
}
