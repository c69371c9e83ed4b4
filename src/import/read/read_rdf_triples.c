/* read_rdf_triples.c - the triples of a document in Turtle or N-Triples, by serd. */
#include "import/doc.h"
#include "import/provio.h"

#include <errno.h>

#ifdef HAVE_SERD

#include "import/read/read_rdf.h"
#include "import/read/turtle_blocks.h"

#include <stdio.h>
#include <stdlib.h>

/* serd follows nested brackets by calling itself, as deep as the document says. Its C stack is measured where it asks
 * for the next byte: 128 KiB are some hundred levels, more than any document that somebody means. */
#define STACK_MAX (128 * 1024)

/* Gives a byte of the document. For serd: 0 at the end, and after a failure; then on to r->then, if that is set.
 * Sets r->deep where serd's recursion takes too much of the stack. */
static size_t next_byte(void *buf, size_t size, size_t n, void *arg)
{
	struct rdf_reader *r = arg;
	const char *here = __builtin_frame_address(0);
	(void)size;
	if (here < r->bottom ? r->bottom - here > STACK_MAX : here - r->bottom > STACK_MAX)
		r->deep = true;
	if (r->p == r->end && r->then) {
		r->p = r->then;
		r->end = r->then_end;
		r->then = NULL;
	}
	if (r->p == r->end || r->deep || r->failed || !n)
		return 0;
	r->line += *r->p == '\n';
	*(char *)buf = *r->p++;
	return 1;
}

/* Not 0: reading must end, for it is nested too deep or has failed. */
static int stream_error(void *arg)
{
	const struct rdf_reader *r = arg;
	return r->deep || r->failed;
}

/* serd gives its message as a format and what goes into it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* Keeps the first error of syntax. For serd; always a success: the caller reports r->why. */
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

/* serd's callback; arg: a struct rdf_reader. */
static SerdStatus set_rdf_base(void *arg, const SerdNode *uri)
{
	return serd_env_set_base_uri(((struct rdf_reader *)arg)->env, uri);
}

/* Finds a prefix by its name. NULL: it is not declared. */
static struct prefix *find_prefix(struct rdf_reader *r, struct str name)
{
	uint32_t i = map_get(&r->prefix, hash_str(name));
	struct prefix *p = i == VEC_NONE ? NULL : &r->prefixes.v[i];
	return p && p->iri != VEC_NONE && str_eq(doc_str(r->d, p->name), name) ? p : NULL;
}

/* Sets a prefix. For serd: also kept in r->prefixes, so that names are expanded without serd. A prefix of another
 * name with the same hash is left to serd. */
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

/* The word of a node as an absolute IRI or blank node. 0 or VEC_NONE, and r->failed: no memory, or a prefix that is not
 * declared (r->why). */
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
		struct str name =
		    whole.buf ? str_n((const char *)whole.buf, whole.n_bytes) : str_n((const char *)n->buf, n->n_bytes);
		/* The document itself, which has no name here. */
		w = doc_intern(r->d, name.n ? name : str_of("_:document"));
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

/* Was the last triple said before? What PROV-IO's namespace and stemma's both say is one. */
static bool is_said(struct rdf_reader *r)
{
	const uint32_t last = (uint32_t)(r->t.n - 1);
	const struct triple *t = &r->t.v[last];
	struct str p = doc_str(r->d, t->p), o = doc_str(r->d, t->o);
	if (!str_starts(p, str_of(PROVIO_NS)) && (t->literal || !str_starts(o, str_of(PROVIO_NS))))
		return false;
	uint32_t i, hash = doc_hash(hash_mix(t->s, t->p), t->o, t->type);
	for (size_t pos = TABLE_START; (i = table_next(&r->said, hash, &pos)) != VEC_NONE;) {
		const struct triple *other = &r->t.v[i];
		if (i < last && other->s == t->s && other->p == t->p && other->o == t->o && other->type == t->type &&
		    other->literal == t->literal)
			return true;
	}
	r->failed |= !table_add(&r->said, hash, last);
	return false;
}

/* Appends a triple. For serd: an error once a limit of the document is met. A triple that was said before is
 * dropped. */
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
	if (!r->failed && is_said(r))
		r->t.n--;
	return r->failed ? SERD_ERR_INTERNAL : SERD_SUCCESS;
}

/* Makes a parser of Turtle. NULL: no memory. */
static SerdReader *reader_new(struct rdf_reader *r)
{
	SerdReader *reader = serd_reader_new(SERD_TURTLE, r, NULL, set_rdf_base, set_prefix, append_triple, NULL);
	if (reader) {
		serd_reader_set_strict(reader, true);
		serd_reader_set_error_sink(reader, keep_first_syntax_error, r);
	}
	return reader;
}

/* Lets the parser read from the document's bytes. */
static SerdStatus start_reading(struct rdf_reader *r, SerdReader *reader)
{
	return serd_reader_start_source_stream(reader, next_byte, stream_error, r, (const uint8_t *)r->name, 1);
}

/* What no reading on helps against: too deep, too large, no memory. 0: nothing of that. */
static int report_hopeless(struct rdf_reader *r)
{
	if (r->deep)
		return err_set(r->err, 0, "%s:%u: brackets are nested too deep", r->name, r->line), -EBADMSG;
	if (r->failed && r->t.n >= r->d->limits.statements)
		return err_set(r->err, 0, "%s:%u: the document is too large", r->name, r->line), -EFBIG;
	if (r->failed && !r->why)
		return err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	return 0;
}

/* Reads the document from its beginning to its end. -EBADMSG, reported: the document as a whole cannot be read;
 * read_blocks may still help. */
static int read_whole(struct rdf_reader *r)
{
	SerdReader *reader = reader_new(r);
	if (!reader || !r->env) {
		serd_reader_free(reader);
		return err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	}
	SerdStatus st = start_reading(r, reader);
	while (st == SERD_SUCCESS && !r->failed && !r->deep && !r->why)
		st = serd_reader_read_chunk(reader);
	serd_reader_end_stream(reader);
	serd_reader_free(reader);
	int rc = report_hopeless(r);
	if (rc < 0)
		return rc;
	if (r->why)
		return err_set(r->err, 0, "%s:%u:%u: %s", r->name, r->why_line, r->why_column, r->why), -EBADMSG;
	return r->p == r->end ? 0 : (err_set(r->err, 0, "%s:%u: cannot be read", r->name, r->line), -EBADMSG);
}

/* ---- documents that are torn ---- */

/* Begins anew, with nothing that the whole document gave. false: no memory. */
static bool forget_triples(struct rdf_reader *r)
{
	r->t.n = 0;
	table_release(&r->said);
	map_release(&r->prefix);
	r->prefixes.n = 0;
	serd_env_free(r->env);
	r->env = serd_env_new(NULL);
	r->failed = false;
	free(r->why);
	r->why = NULL;
	return r->env != NULL;
}

/* The statements of a block up to the first that cannot be read, which leaves nothing. False: there is such a one. */
static bool read_block(struct rdf_reader *r, SerdReader *reader)
{
	SerdStatus st = start_reading(r, reader);
	size_t whole = r->t.n;
	while (st == SERD_SUCCESS) {
		whole = r->t.n;
		st = serd_reader_read_chunk(reader);
		if (r->failed || r->deep || r->why)
			break;
	}
	serd_reader_end_stream(reader);
	bool read = !r->failed && !r->deep && !r->why && st <= SERD_FAILURE && r->p == r->end && !r->then;
	if (!read)
		r->t.n = whole;
	return read;
}

/* Notes that a part of the document was passed over. block: that could not be read to its end. */
static void count_skipped(struct rdf_reader *r, const struct turtle_block *block)
{
	const bool behind = r->p > block->p && r->p <= block->end && r->p[-1] == '\n';
	if (!r->d->skipped++)
		r->d->skipped_line = r->line - behind;
	r->failed = false;
	free(r->why);
	r->why = NULL;
}

/* Block by block. A reader that met an error is not used again; blank nodes of the next one are others. What cannot be
 * read is counted in r->d->skipped. -ENOMEM, -EFBIG, reported. */
static int read_blocks(struct rdf_reader *r, const char *p, const char *end)
{
	struct turtle_blocks blocks = {p, end, 1};
	struct turtle_block block;
	struct buf subject = {0};
	SerdReader *reader = NULL;
	char prefix[24];
	int rc = forget_triples(r) ? 0 : err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
	while (rc == 0 && turtle_blocks_next(&blocks, &block)) {
		if (!reader && !(reader = reader_new(r))) {
			rc = err_set(r->err, ENOMEM, "%s: cannot read the document", r->name);
			break;
		}
		buf_reset(&subject);
		turtle_block_literal_subject(&block, &subject);
		r->p = subject.n ? subject.p : block.p;
		r->end = subject.n ? subject.p + subject.n : block.end;
		r->then = subject.n ? block.p : NULL;
		r->then_end = block.end;
		r->line = block.line;
		if (!subject.failed && read_block(r, reader))
			continue;
		rc = subject.failed ? err_set(r->err, ENOMEM, "%s: cannot read the document", r->name) : report_hopeless(r);
		count_skipped(r, &block);
		serd_reader_free(reader);
		reader = reader_new(r);
		snprintf(prefix, sizeof(prefix), "after%llu.", (unsigned long long)r->d->skipped);
		if (reader)
			serd_reader_add_blank_prefix(reader, (const uint8_t *)prefix);
	}
	serd_reader_free(reader);
	buf_release(&subject);
	return rc;
}

int rdf_read_triples(struct rdf_reader *r)
{
	const char *p = r->p, *end = r->end;
	struct err whole = {0}, *err = r->err;
	r->env = serd_env_new(NULL);
	r->line = 1;
	r->bottom = __builtin_frame_address(0);
	r->err = &whole;
	int rc = read_whole(r);
	r->err = err;
	if (rc == 0)
		return 0;
	if (rc == -EBADMSG && !r->deep && r->d->provio) {
		int again = read_blocks(r, p, end);
		if (again < 0)
			return again;
		if (r->t.n) /* else what was wrong with the whole document says more */
			return 0;
	}
	if (err)
		*err = whole;
	return rc;
}

#endif
