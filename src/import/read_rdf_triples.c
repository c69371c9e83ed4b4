/* read_rdf_triples.c - the triples of a document in Turtle or N-Triples, by serd. */
#include "import/doc.h"
#include "import/provio.h"

#include <errno.h>

#ifdef HAVE_SERD

#include "import/read_rdf.h"

#include <stdlib.h>

/* serd follows nested brackets by calling itself, as deep as the document says. Its C stack is measured where it asks
 * for the next byte: 128 KiB are some hundred levels, more than any document that somebody means. */
#define STACK_MAX (128 * 1024)

static size_t next_byte(void *buf, size_t size, size_t n, void *arg)
{
	struct rdf_reader *r = arg;
	const char *here = __builtin_frame_address(0);
	(void)size;
	if (here < r->bottom ? r->bottom - here > STACK_MAX : here - r->bottom > STACK_MAX)
		r->deep = true;
	if (r->p == r->end || r->deep || r->failed || !n)
		return 0;
	r->line += *r->p == '\n';
	*(char *)buf = *r->p++;
	return 1;
}

static int stream_error(void *arg)
{
	const struct rdf_reader *r = arg;
	return r->deep || r->failed;
}

/* serd gives its message as a format and what goes into it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static SerdStatus keep_first_syntax_error(void *arg, const SerdError *e)
{
	struct rdf_reader *r = arg;
	if (r->why) /* the first one counts */
		return SERD_SUCCESS;
	if (vasprintf(&r->why, e->fmt, *e->args) < 0)
		r->why = NULL;
	else
		r->why[strcspn(r->why, "\n")] = '\0';
	r->why_line = e->line;
	r->why_column = e->col;
	return SERD_SUCCESS;
}
#pragma GCC diagnostic pop

static SerdStatus set_rdf_base(void *arg, const SerdNode *uri)
{
	return serd_env_set_base_uri(((struct rdf_reader *)arg)->env, uri);
}

static struct prefix *find_prefix(struct rdf_reader *r, struct str name)
{
	uint32_t i = map_get(&r->prefix, hash_str(name));
	struct prefix *p = i == VEC_NONE ? NULL : &r->prefixes.v[i];
	return p && p->iri != VEC_NONE && str_eq(doc_str(r->d, p->name), name) ? p : NULL;
}

static SerdStatus set_prefix(void *arg, const SerdNode *name, const SerdNode *uri)
{
	struct rdf_reader *r = arg;
	struct str s = str_n((const char *)name->buf, name->n_bytes);
	uint64_t h = hash_str(s);
	uint32_t at = map_get(&r->prefix, h);
	struct prefix *p = at == VEC_NONE ? NULL : &r->prefixes.v[at];
	bool whole = uri->type == SERD_URI && serd_uri_string_has_scheme(uri->buf);
	if (!whole || (p && !str_eq(doc_str(r->d, p->name), s))) {
		if (p && str_eq(doc_str(r->d, p->name), s))
			p->iri = VEC_NONE;
		return serd_env_set_prefix(r->env, name, uri);
	}
	if (!p && !((p = vec_add(&r->prefixes)) && map_set(&r->prefix, h, (uint32_t)(r->prefixes.n - 1))))
		goto failed;
	p->name = doc_intern(r->d, s);
	p->iri = doc_intern(r->d, str_n((const char *)uri->buf, uri->n_bytes));
	if (p->name != VEC_NONE && p->iri != VEC_NONE)
		return SERD_SUCCESS;
failed:
	r->failed = true;
	return SERD_ERR_INTERNAL;
}

/* The word of a whole name, PROV-IO's ones in their one form. */
static uint32_t intern_name(struct rdf_reader *r, struct str s)
{
	struct buf b = {0};
	bool other = provio_name(s, &b);
	uint32_t w = b.failed ? VEC_NONE : doc_intern(r->d, other ? buf_view(&b) : s);
	buf_release(&b);
	return w;
}

static uint32_t intern_node(struct rdf_reader *r, const SerdNode *n)
{
	struct buf b = {0};
	uint32_t w;
	if (n->type == SERD_BLANK) {
		buf_printf(&b, "_:%s", (const char *)n->buf);
		w = b.failed ? VEC_NONE : doc_intern(r->d, buf_view(&b));
	} else if (n->type == SERD_CURIE) {
		SerdChunk prefix, rest;
		const char *colon = memchr(n->buf, ':', n->n_bytes);
		struct prefix *known =
		    colon ? find_prefix(r, str_n((const char *)n->buf, (size_t)(colon - (const char *)n->buf))) : NULL;
		if (known) {
			struct str iri = doc_str(r->d, known->iri);
			prefix = (SerdChunk){(const uint8_t *)iri.p, iri.n};
			rest = (SerdChunk){(const uint8_t *)colon + 1, n->n_bytes - (size_t)(colon + 1 - (const char *)n->buf)};
		} else if (serd_env_expand(r->env, n, &prefix, &rest) != SERD_SUCCESS) {
			buf_release(&b);
			if (!r->why && asprintf(&r->why, "the prefix of '%.100s' is not declared", (const char *)n->buf) < 0)
				r->why = NULL;
			r->why_line = r->line;
			r->failed = true;
			return 0;
		}
		buf_add(&b, prefix.buf, prefix.len);
		buf_add(&b, rest.buf, rest.len);
		w = b.failed ? VEC_NONE : intern_name(r, buf_view(&b));
	} else if (n->type == SERD_URI && !serd_uri_string_has_scheme(n->buf)) {
		SerdNode whole = serd_env_expand_node(r->env, n);
		w = doc_intern(r->d, whole.buf ? str_n((const char *)whole.buf, whole.n_bytes)
		                               : str_n((const char *)n->buf, n->n_bytes));
		serd_node_free(&whole);
	} else if (n->type == SERD_URI)
		w = intern_name(r, str_n((const char *)n->buf, n->n_bytes));
	else
		w = doc_intern(r->d, str_n((const char *)n->buf, n->n_bytes));
	buf_release(&b);
	if (w == VEC_NONE)
		r->failed = true;
	return w;
}

static SerdStatus append_triple(void *arg, SerdStatementFlags flags, const SerdNode *graph, const SerdNode *s,
                                const SerdNode *p, const SerdNode *o, const SerdNode *type, const SerdNode *lang)
{
	struct rdf_reader *r = arg;
	(void)flags;
	(void)graph;
	(void)lang;
	struct triple *t = r->failed || r->t.n >= r->d->limits.statements ? NULL : vec_add(&r->t);
	if (!t) {
		r->failed = true;
		return SERD_ERR_INTERNAL;
	}
	*t = (struct triple){.line = r->line, .next = VEC_NONE, .literal = o->type == SERD_LITERAL};
	uint32_t sw = intern_node(r, s), pw = intern_node(r, p), ow = intern_node(r, o);
	t->s = sw;
	t->p = pw;
	t->o = ow;
	t->type = type && type->buf ? intern_node(r, type) : 0;
	if (t->type && str_is(doc_str(r->d, t->type), XSD_NS "string"))
		t->type = 0;
	if (!r->failed && !t->literal && provio_names_class(doc_str(r->d, pw), doc_str(r->d, ow)))
		t->p = r->w_type;
	return r->failed ? SERD_ERR_INTERNAL : SERD_SUCCESS;
}

int rdf_read_triples(struct rdf_reader *r)
{
	SerdReader *reader = serd_reader_new(SERD_TURTLE, r, NULL, set_rdf_base, set_prefix, append_triple, NULL);
	r->env = serd_env_new(NULL);
	if (!reader || !r->env) {
		serd_reader_free(reader);
		return err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	}
	serd_reader_set_strict(reader, true);
	serd_reader_set_error_sink(reader, keep_first_syntax_error, r);
	r->line = 1;
	r->bottom = __builtin_frame_address(0);
	SerdStatus st = serd_reader_start_source_stream(reader, next_byte, stream_error, r, (const uint8_t *)r->name, 1);
	while (st == SERD_SUCCESS && !r->failed && !r->deep && !r->why)
		st = serd_reader_read_chunk(reader);
	serd_reader_end_stream(reader);
	serd_reader_free(reader);
	if (r->deep)
		return err_set(r->err, 0, "%s:%u: brackets are nested too deep", r->name, r->line), -EBADMSG;
	if (r->why)
		return err_set(r->err, 0, "%s:%u:%u: %s", r->name, r->why_line, r->why_column, r->why), -EBADMSG;
	if (r->failed && r->t.n >= r->d->limits.statements)
		return err_set(r->err, 0, "%s:%u: the document is larger than any that is taken", r->name, r->line), -EFBIG;
	if (r->failed)
		return err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	return r->p == r->end ? 0 : (err_set(r->err, 0, "%s:%u: cannot be read", r->name, r->line), -EBADMSG);
}

#endif
