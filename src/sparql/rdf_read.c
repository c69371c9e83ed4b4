/* rdf_read.c - Turtle, N-Triples and TriG by serd, into a dataset. */
#include "sparql/rdf.h"

#include "base/buf.h"

#include <errno.h>
#include <serd/serd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* serd goes into each bracket by a call of itself. */
#define STACK_MAX (128 * 1024)

struct reading {
	struct rdf *r;
	SerdEnv *env;
	rdf_id g;
	uint64_t document; /* its number, for blank nodes */
	struct err *err;
	int rc;
	const char *p; /* the text that is left */
	size_t n;
	const char *bottom; /* of the stack */
};

/* Labels of two documents never meet. 0: no memory. */
static rdf_id take_blank(struct reading *x, const SerdNode *node)
{
	struct buf label = {0};
	buf_printf(&label, "d%llu", (unsigned long long)x->document);
	buf_add(&label, node->buf, node->n_bytes);
	const rdf_id id = label.failed ? 0 : rdf_blank(x->r, buf_view(&label));
	buf_release(&label);
	return id;
}

/* A node that is no literal; 0 where it cannot be made out. */
static rdf_id take_node(struct reading *x, const SerdNode *node)
{
	if (node->type == SERD_BLANK)
		return take_blank(x, node);
	SerdNode full = serd_env_expand_node(x->env, node);
	const rdf_id id = full.buf ? rdf_iri(x->r, str_n((const char *)full.buf, full.n_bytes)) : 0;
	serd_node_free(&full);
	return id;
}

/* Makes the term of an object. 0: no memory. */
static rdf_id take_object(struct reading *x, const SerdNode *o, const SerdNode *type, const SerdNode *lang)
{
	if (o->type != SERD_LITERAL)
		return take_node(x, o);
	const rdf_id t = type && type->buf ? take_node(x, type) : 0;
	const struct str l = lang && lang->buf ? str_n((const char *)lang->buf, lang->n_bytes) : str_n("", 0);
	return rdf_literal(x->r, str_n((const char *)o->buf, o->n_bytes), t, l);
}

/* serd's callback; handle: a struct reading. */
static SerdStatus on_base(void *handle, const SerdNode *uri)
{
	return serd_env_set_base_uri(((struct reading *)handle)->env, uri);
}

/* serd's callback; handle: a struct reading. */
static SerdStatus on_prefix(void *handle, const SerdNode *name, const SerdNode *uri)
{
	return serd_env_set_prefix(((struct reading *)handle)->env, name, uri);
}

/* For serd: an error, and x->rc, where a term is none or there is no memory. */
static SerdStatus on_statement(void *handle, SerdStatementFlags flags, const SerdNode *graph, const SerdNode *subject,
                               const SerdNode *predicate, const SerdNode *object, const SerdNode *type,
                               const SerdNode *lang)
{
	struct reading *x = handle;
	const rdf_id g = graph && graph->buf ? take_node(x, graph) : x->g;
	const struct rdf_quad q = {g, take_node(x, subject), take_node(x, predicate), take_object(x, object, type, lang)};
	(void)flags;
	if (!q.s || !q.p || !q.o) {
		x->rc = x->r->failed ? -ENOMEM : -EBADMSG;
		return SERD_FAILURE;
	}
	rdf_add(x->r, q);
	return SERD_SUCCESS;
}

/* Keeps the first error with its place. */
static SerdStatus on_error(void *handle, const SerdError *e)
{
	struct reading *x = handle;
	char text[256];
	vsnprintf(text, sizeof(text), e->fmt, *e->args);
	text[strcspn(text, "\n")] = '\0';
	if (!x->rc)
		x->rc = err_set(x->err, EBADMSG, "line %u, column %u: %s", e->line, e->col, text);
	return SERD_SUCCESS;
}

/* For serd: 0 at the end, and with x->rc where serd's recursion takes too much of the stack. */
static size_t read_text(void *buf, size_t size, size_t n, void *stream)
{
	struct reading *x = stream;
	const char *here = __builtin_frame_address(0);
	if (here < x->bottom ? x->bottom - here > STACK_MAX : here - x->bottom > STACK_MAX) {
		x->rc = x->rc ? x->rc : (err_set(x->err, 0, "brackets are nested too deep"), -EBADMSG);
		x->n = 0;
	}
	const size_t k = size * n < x->n ? size * n : x->n;
	memcpy(buf, x->p, k);
	x->p += k;
	x->n -= k;
	return k;
}

/* For a stream of memory, which cannot fail. */
static int no_error(void *stream)
{
	(void)stream;
	return 0;
}

int rdf_read(struct rdf *r, struct str text, const char *base, rdf_id g, struct err *err)
{
	SerdNode at = {(const uint8_t *)base, strlen(base), strlen(base), 0, SERD_URI};
	struct reading x = {.r = r, .g = g, .document = ++r->blanks, .err = err, .p = text.p, .n = text.n};
	x.env = serd_env_new(&at);
	x.bottom = __builtin_frame_address(0);
	SerdReader *reader = serd_reader_new(SERD_TRIG, &x, NULL, on_base, on_prefix, on_statement, NULL);
	if (!x.env || !reader) {
		x.rc = err_set(err, ENOMEM, "cannot read '%s'", base);
	} else {
		serd_reader_set_strict(reader, true);
		serd_reader_set_error_sink(reader, on_error, &x);
		/* Byte by byte: so the stack is looked at in each bracket. In pages of 64 bytes serd takes some dots amiss. */
		SerdStatus st = serd_reader_start_source_stream(reader, read_text, no_error, &x, (const uint8_t *)base, 1);
		while (!st && !x.rc)
			st = serd_reader_read_chunk(reader);
		if (st > SERD_FAILURE && !x.rc)
			x.rc = -EBADMSG;
		serd_reader_end_stream(reader);
	}
	if (reader)
		serd_reader_free(reader);
	if (x.env)
		serd_env_free(x.env);
	if (x.rc == 0 && r->failed)
		x.rc = -ENOMEM;
	return x.rc < 0 ? err_set(err, -x.rc, "cannot read '%s'", base) : 0;
}
