/* imported_app.c - what a document in PROV-IO's vocabulary says of runs: types, configurations and metrics, and of
 * stemma's own the shapes and parts of what lies in HDF5 files. Of a run that the record has it says nothing new. */
#include "import/imported.h"

#include "export/export.h"

#include <jansson.h>
#include <stdlib.h>

#define VALUES_MAX 1024 /* of one setting: each is looked for among all that is said of it */

/* The word of an IRI. VEC_NONE: the document does not have it. */
static uint32_t find_iri(const struct imported *t, const char *iri)
{
	return intern_find(&t->d->words, str_of(iri));
}

/* A word; 0: the statement has no such attribute. */
static uint32_t find_iri_value(const struct imported *t, const struct doc_statement *st, const char *iri)
{
	return imported_get(t, st, find_iri(t, iri));
}

/* The document's, "" if the statement has no such attribute. */
static struct str find_iri_text(const struct imported *t, const struct doc_statement *st, const char *iri)
{
	return doc_str(t->d, find_iri_value(t, st, iri));
}

/* The nth value of a property, from 0; "" where there are fewer. */
static struct str find_nth_text(const struct imported *t, const struct doc_statement *st, const char *iri, uint32_t nth)
{
	uint32_t name = find_iri(t, iri);
	for (uint32_t i = 0; i < st->n_attr; i++) {
		const struct doc_attr *a = &t->d->attrs.v[st->first_attr + i];
		if (a->name == name && nth-- == 0)
			return doc_str(t->d, a->value);
	}
	return str_of("");
}

/* The first of two properties that says something. */
static struct str find_first_text(const struct imported *t, const struct doc_statement *st, const char *a,
                                  const char *b)
{
	struct str s = find_iri_text(t, st, a);
	return s.n ? s : find_iri_text(t, st, b);
}

/* Adds a setting, tag or metric that the document tells of. nth: of PROV-IO's values of one setting. 0, also for
 * what is left out; -ENOMEM. */
static int append_app_event(struct imported *t, uint32_t at, enum provio_class class, uint32_t nth)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t by = find_iri_value(t, st, PROVIO_NS "by"), of = find_iri_value(t, st, PROVIO_NS "ofRun");
	struct str ulid = of ? imported_ulid(doc_str(t->d, of)) : str_of("");
	if ((of && map_get(&t->forgotten, of) != VEC_NONE) || (by && map_get(&t->forgotten, by) != VEC_NONE) ||
	    forgotten_run(t->gone, ulid))
		return t->left_out++, 0;
	if (forgotten_here(t->gone, ulid))
		return 0; /* the run's own log says it */
	struct imported_app_event *s = vec_add(&t->app_events);
	if (!s)
		return imported_oom(t);
	*s = (struct imported_app_event){.st = at,
	                                 .class = class,
	                                 .nth = nth,
	                                 .ulid = ulid,
	                                 .at = TIME_NONE,
	                                 .activity = by ? map_get(&t->activity, by) : VEC_NONE};
	doc_time(find_iri_text(t, st, PROVIO_NS "at"), &s->at);
	return 0;
}

/* A setting, once for each value that PROV-IO's tool gave it, and what came of it, which that tool says with it.
 * stemma's own says the same in PROV-IO's words beside its own. 0, -ENOMEM. */
static int append_setting_events(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	bool own = find_iri_value(t, st, PROVIO_NS "ofRun") != 0;
	int rc = append_app_event(t, at, PROVIO_Configuration, 0);
	if (own || rc < 0)
		return rc;
	const uint32_t values = find_iri_value(t, st, PROV_NS "value") ? VEC_NONE : find_iri(t, PROVIO_NS "Value");
	uint32_t nth = 0;
	for (uint32_t i = 0; rc == 0 && values != VEC_NONE && i < st->n_attr; i++) {
		if (t->d->attrs.v[st->first_attr + i].name != values || !nth++)
			continue;
		if (nth > VALUES_MAX)
			t->passed++;
		else
			rc = append_app_event(t, at, PROVIO_Configuration, nth - 1);
	}
	if (rc == 0 && find_first_text(t, st, PROVIO_NS "hasAccuracy", PROVIO_NS "Quality").n)
		rc = append_app_event(t, at, PROVIO_Metrics, 0);
	return rc;
}

int imported_take_app_events(struct imported *t)
{
	int rc = 0;
	for (uint32_t i = 0; t->provio && rc == 0 && i < t->d->st.n; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		enum provio_class class = st->kind == DOC_entity ? imported_class(t, st) : PROVIO_none;
		if (class == PROVIO_Configuration)
			rc = append_setting_events(t, i);
		else if (class >= PROVIO_Type)
			rc = append_app_event(t, i, class, 0);
	}
	return rc;
}

/* Numbers and names, as a JSON array; what is none gives an empty list. */
static struct strlist parse_iri_list(const struct imported *t, const struct doc_statement *st, const char *iri,
                                     struct buf *b)
{
	struct str s = find_iri_text(t, st, iri);
	json_error_t why;
	json_t *v = s.n ? json_loadb(s.p, s.n, 0, &why) : NULL;
	size_t n = 0;
	buf_reset(b);
	for (size_t i = 0; i < json_array_size(v); i++) {
		json_t *item = json_array_get(v, i);
		if (!json_is_string(item))
			continue;
		buf_varint(b, json_string_length(item));
		buf_str(b, str_n(json_string_value(item), json_string_length(item)));
		n++;
	}
	json_decref(v);
	return (struct strlist){.count = n, .raw = buf_view(b)};
}

/* Reads a number of a statement. False: it is not there, or no number. */
static bool parse_iri_count(const struct imported *t, const struct doc_statement *st, const char *iri, uint64_t *ret)
{
	struct str s = find_iri_text(t, st, iri);
	char text[24], *end;
	if (!s.n || s.n >= sizeof(text) || s.p[0] == '-')
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	*ret = strtoull(text, &end, 10);
	return !*end;
}

/* Reads a number. NAN: the text is no number, or longer than 63 bytes. */
static double real_of(struct str s)
{
	char text[64], *end;
	double nan = __builtin_nan("");
	if (!s.n || s.n >= sizeof(text))
		return nan;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	double v = strtod(text, &end);
	return *end ? nan : v;
}

/* Fills a metric from either of two vocabularies' forms. A number that is none becomes NaN or 0 as real_of says. */
static void fill_metric_event(const struct imported *t, const struct doc_statement *st, enum provio_class is,
                              struct event *ev)
{
	struct event_app_metric *m = &ev->app_metric;
	struct str s;
	char step[24], *end;
	ev->kind = EVENT_app_metric;
	if (is == PROVIO_Metrics) {
		m->name = find_first_text(t, st, PROV_NS "label", PROVIO_NS "Name");
		s = find_first_text(t, st, PROV_NS "value", PROVIO_NS "Value");
	} else {
		s = find_iri_text(t, st, PROVIO_NS "hasAccuracy");
		m->name = str_of(s.n ? "accuracy" : "quality");
		s = s.n ? s : find_iri_text(t, st, PROVIO_NS "Quality");
	}
	double v = real_of(s);
	memcpy(&m->number, &v, sizeof(v));
	s = find_iri_text(t, st, PROVIO_NS "step");
	if (s.n && s.n < sizeof(step)) {
		memcpy(step, s.p, s.n);
		step[s.n] = '\0';
		m->step = strtoll(step, &end, 10);
		m->stepped = !*end;
	}
}

/* Fills value and version of a setting; of a list of them the nth. */
static void fill_setting(const struct imported *t, const struct imported_app_event *s, const struct doc_statement *st,
                         struct event_app_word *ret)
{
	bool own = find_iri_value(t, st, PROVIO_NS "ofRun") != 0; /* its Version may be the run */
	ret->value = find_iri_text(t, st, PROV_NS "value");
	ret->value = ret->value.n || own ? ret->value : find_nth_text(t, st, PROVIO_NS "Value", s->nth);
	ret->version = find_iri_text(t, st, PROVIO_NS "version");
	ret->version = ret->version.n || own ? ret->version : find_iri_text(t, st, PROVIO_NS "Version");
}

bool imported_fill_app_event(struct imported *t, const struct imported_app_event *s, struct buf lists[3],
                             struct event *ev)
{
	const struct doc_statement *st = &t->d->st.v[s->st];
	struct str path = find_iri_text(t, st, PROVIO_NS "path"), kind;
	switch (s->class) {
	case PROVIO_Type:
	case PROVIO_Configuration:
		ev->kind = EVENT_app_word;
		ev->app_word.said = s->class == PROVIO_Type ? TERM_said_type : TERM_said_config;
		ev->app_word.name = find_first_text(t, st, PROV_NS "label", PROVIO_NS "Name");
		if (s->class == PROVIO_Configuration)
			fill_setting(t, s, st, &ev->app_word);
		return ev->app_word.name.n != 0;
	case PROVIO_Metrics:
		fill_metric_event(t, st, imported_class(t, st), ev);
		return ev->app_metric.name.n != 0;
	case PROVIO_Shape:
		kind = imported_text(t, st, ATTR_fileKind);
		ev->kind = EVENT_h5_object;
		ev->h5_object.run = s->ulid;
		ev->h5_object.path = path;
		ev->h5_object.kind = imported_term(SET_kind, kind, TERM_kind_softlink, 0);
		ev->h5_object.type = find_iri_text(t, st, PROVIO_NS "elementType");
		ev->h5_object.shape = parse_iri_list(t, st, PROVIO_NS "shape", &lists[0]);
		ev->h5_object.most = parse_iri_list(t, st, PROVIO_NS "most", &lists[1]);
		return s->ulid.n && path.n && ev->h5_object.kind;
	case PROVIO_Part:
		ev->kind = EVENT_h5_part;
		ev->h5_part.run = s->ulid;
		ev->h5_part.path = path;
		ev->h5_part.write = str_is(find_iri_text(t, st, PROVIO_NS "direction"), "write");
		ev->h5_part.from = parse_iri_list(t, st, PROVIO_NS "from", &lists[0]);
		ev->h5_part.to = parse_iri_list(t, st, PROVIO_NS "to", &lists[1]);
		ev->h5_part.field = parse_iri_list(t, st, PROVIO_NS "fields", &lists[2]);
		if (s->activity != VEC_NONE) {
			const struct imported_activity *x = &t->activities.v[s->activity];
			ev->h5_part.n = x->n;
			ev->h5_part.pid = t->processes.v[x->process].pid;
			ev->h5_part.started = (uint64_t)t->processes.v[x->process].started;
		}
		return s->ulid.n && path.n && parse_iri_count(t, st, PROVIO_NS "count", &ev->h5_part.calls) &&
		       parse_iri_count(t, st, PROVIO_NS "elements", &ev->h5_part.elements);
	default:
		return false;
	}
}
