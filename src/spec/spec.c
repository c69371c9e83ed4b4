#include "spec/spec.h"

#include "base/hash.h"
#include "spec/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "STMSPEC1"
enum { HEAD = 24 + 4 + SPEC_BUILD_ID_MAX };

const char *spec_kind_name(unsigned kind)
{
	static const char *const names[SPEC_KINDS] = {"entry", "return", "call", "syscall", "decision", "epsilon"};
	return kind < SPEC_KINDS ? names[kind] : "?";
}

const struct spec_edge *spec_outcome(const struct spec *s, const struct spec_node *n, uint32_t outcome)
{
	for (uint32_t i = 0; i < n->n_edges; i++)
		if (spec_edge(s, n, i)->outcome == outcome)
			return spec_edge(s, n, i);
	return NULL;
}

/* NULL is no error. */
void spec_free(struct spec *s)
{
	if (!s)
		return;
	free(s->producer);
	free(s->files);
	free(s->functions);
	free(s->nodes);
	free(s->edges);
	free(s->targets);
	free(s->gaps);
	free(s->unexamined);
	free(s->strings);
	free(s);
}

/* ---- writing ---- */

/* Strings once each, in the order they are met: offsets in the table. */
struct strings {
	struct buf bytes;
	struct place {
		uint64_t hash;
		size_t at; /* 0: empty slot, as the empty string never needs one */
	} * slot;
	size_t mask, n;
};

/* Makes the table of strings larger. false: no memory; it is as it was. */
static bool strings_grow(struct strings *t)
{
	size_t size = t->slot ? (t->mask + 1) * 2 : 1024;
	struct place *slot = calloc(size, sizeof(*slot));
	if (!slot)
		return false;
	for (size_t i = 0; t->slot && i <= t->mask; i++)
		if (t->slot[i].at) {
			size_t k = t->slot[i].hash & (size - 1);
			while (slot[k].at)
				k = (k + 1) & (size - 1);
			slot[k] = t->slot[i];
		}
	free(t->slot);
	t->slot = slot;
	t->mask = size - 1;
	return true;
}

/* Writes a string as its place among the strings, where it stands once; 0: empty. out->failed: no memory. */
static void encode_string(struct strings *t, struct buf *out, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	if (n == 0) {
		buf_varint(out, 0);
		return;
	}
	if ((!t->slot || t->n * 2 > t->mask) && !strings_grow(t)) {
		out->failed = true;
		return;
	}
	uint64_t h = hash_bytes(s, n);
	size_t k = h & t->mask;
	for (; t->slot[k].at; k = (k + 1) & t->mask)
		if (t->slot[k].hash == h && strcmp(t->bytes.p + t->slot[k].at, s) == 0) {
			buf_varint(out, t->slot[k].at);
			return;
		}
	size_t at = t->bytes.n;
	buf_add(&t->bytes, s, n + 1);
	if (t->bytes.failed) {
		out->failed = true;
		return;
	}
	t->slot[k] = (struct place){h, at};
	t->n++;
	buf_varint(out, at);
}

/* Texts by their numbers, targets by their distances; a file by its number plus 1, 0 for none. */
static void encode_node(const struct spec *s, const struct spec_node *n, struct strings *t, struct buf *b)
{
	buf_varint(b, n->kind);
	buf_varint(b, n->flags);
	buf_varint(b, n->file == SPEC_NONE ? 0 : (uint64_t)n->file + 1);
	buf_varint(b, n->line);
	buf_varint(b, n->column);
	encode_string(t, b, n->kind == SPEC_DECISION ? n->words : n->name);
	encode_string(t, b, n->condition);
	buf_varint(b, n->n_targets);
	for (uint32_t i = 0, last = 0; i < n->n_targets; i++) {
		uint32_t target = s->targets[n->first_target + i];
		buf_varint(b, target - last);
		last = target;
	}
	buf_varint(b, n->n_edges);
	for (uint32_t i = 0; i < n->n_edges; i++) {
		const struct spec_edge *e = spec_edge(s, n, i);
		buf_varint(b, e->to);
		buf_varint(b, e->outcome);
		encode_string(t, b, e->label);
	}
}

/* 4 bytes, which need not be aligned. */
static void store_le32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

/* 8 bytes, which need not be aligned. */
static void store_le64(unsigned char *p, uint64_t v)
{
	store_le32(p, (uint32_t)v);
	store_le32(p + 4, (uint32_t)(v >> 32));
}

/* 4 bytes, which need not be aligned. */
static uint32_t load_le32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* 8 bytes, which need not be aligned. */
static uint64_t load_le64(const unsigned char *p)
{
	return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

int spec_write(const struct spec *s, struct buf *out, uint64_t *ret_id)
{
	struct strings t = {0};
	struct buf rest = {0}, body = {0};
	buf_char(&t.bytes, '\0');
	encode_string(&t, &rest, s->producer);
	buf_varint(&rest, s->main == SPEC_NONE ? 0 : (uint64_t)s->main + 1);
	buf_varint(&rest, s->n_files);
	for (uint32_t i = 0; i < s->n_files; i++)
		encode_string(&t, &rest, s->files[i]);
	buf_varint(&rest, s->n_gaps);
	for (uint32_t i = 0; i < s->n_gaps; i++)
		encode_string(&t, &rest, s->gaps[i]);
	buf_varint(&rest, s->n_functions);
	for (uint32_t i = 0; i < s->n_functions; i++) {
		const struct spec_function *f = &s->functions[i];
		encode_string(&t, &rest, f->name);
		buf_varint(&rest, f->flags);
		buf_varint(&rest, f->file == SPEC_NONE ? 0 : (uint64_t)f->file + 1);
		buf_varint(&rest, f->line);
		buf_varint(&rest, f->n_nodes);
	}
	for (uint32_t i = 0; i < s->n_nodes; i++)
		encode_node(s, &s->nodes[i], &t, &rest);
	uint64_t figures[sizeof(s->stats) / sizeof(uint64_t)];
	memcpy(figures, &s->stats, sizeof(figures));
	buf_varint(&rest, sizeof(figures) / sizeof(figures[0]));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		buf_varint(&rest, figures[i]);
	buf_varint(&rest, s->n_unexamined);
	for (uint32_t i = 0; i < s->n_unexamined; i++)
		encode_string(&t, &rest, s->unexamined[i]);
	buf_varint(&body, t.bytes.n);
	buf_str(&body, buf_view(&t.bytes));
	buf_str(&body, buf_view(&rest));
	bool failed = t.bytes.failed || rest.failed || body.failed;
	if (!failed) {
		unsigned char head[HEAD] = MAGIC;
		*ret_id = hash_bytes(body.p, body.n);
		store_le64(head + 8, body.n);
		store_le64(head + 16, *ret_id);
		store_le32(head + 24, s->n_build_id);
		memcpy(head + 28, s->build_id, s->n_build_id);
		buf_add(out, head, sizeof(head));
		buf_str(out, buf_view(&body));
		failed = out->failed;
	}
	free(t.slot);
	buf_release(&t.bytes);
	buf_release(&rest);
	buf_release(&body);
	return failed ? -ENOMEM : 0;
}

/* ---- reading ---- */

struct reader {
	const unsigned char *p, *end;
	const char *strings;
	size_t n_strings;
	bool bad, no_memory;
};

/* Reads a number. 0 and r->bad at the end of the bytes. */
static uint64_t decode_number(struct reader *r)
{
	uint64_t v = 0;
	if (!r->bad && !varint_get(&r->p, r->end, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

/* Reads a number below a limit. 0 and r->bad for a larger one. */
static uint32_t decode_number_below(struct reader *r, uint64_t limit)
{
	uint64_t v = decode_number(r);
	if (v >= limit)
		r->bad = true;
	return r->bad ? 0 : (uint32_t)v;
}

/* A count of things of at least one byte each, of size bytes in memory: room for them, or NULL. */
static void *decode_array(struct reader *r, size_t size, uint32_t *ret_n)
{
	uint64_t n = decode_number(r);
	*ret_n = 0;
	if (r->bad || n > (uint64_t)(r->end - r->p) || n >= UINT32_MAX - 1) {
		r->bad = true;
		return NULL;
	}
	void *p = calloc(n ? n : 1, size);
	if (!p)
		r->bad = r->no_memory = true;
	else
		*ret_n = (uint32_t)n;
	return p;
}

/* Points into the specification; "" if it is bad. */
static const char *decode_string(struct reader *r)
{
	return r->strings + decode_number_below(r, r->n_strings);
}

/* Reads the number of a file. SPEC_NONE: none. */
static uint32_t decode_file(struct reader *r, const struct spec *s)
{
	uint32_t v = decode_number_below(r, (uint64_t)s->n_files + 1);
	return v ? v - 1 : SPEC_NONE;
}

/* Room for need elements. false: no memory; it is as it was. */
static bool grow_array(void **v, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return true;
	size_t want = *cap ? *cap * 2 : 256;
	while (want < need)
		want *= 2;
	void *p = reallocarray(*v, want, size);
	if (!p)
		return false;
	*v = p;
	*cap = want;
	return true;
}

/* The node's targets and edges: their number is bounded by the bytes that are left. */
static void read_lists(struct reader *r, struct spec *s, struct spec_node *n, uint32_t n_nodes, size_t *targets_cap,
                       size_t *edges_cap)
{
	uint64_t k = decode_number(r);
	n->first_target = s->n_targets;
	if (k > (uint64_t)(r->end - r->p) || s->n_targets + k >= UINT32_MAX)
		r->bad = true;
	else if (!grow_array((void **)&s->targets, targets_cap, s->n_targets + k, sizeof(*s->targets)))
		r->bad = r->no_memory = true;
	for (uint64_t i = 0, last = 0; i < k && !r->bad; i++) {
		uint64_t d = decode_number(r);
		if ((i && !d) || d >= s->n_functions || last + d >= s->n_functions)
			r->bad = true;
		else
			s->targets[s->n_targets++] = (uint32_t)(last += d);
	}
	n->n_targets = s->n_targets - n->first_target;
	k = decode_number(r);
	n->first_edge = s->n_edges;
	if (k > (uint64_t)(r->end - r->p) || s->n_edges + k >= UINT32_MAX)
		r->bad = true;
	else if (!grow_array((void **)&s->edges, edges_cap, s->n_edges + k, sizeof(*s->edges)))
		r->bad = r->no_memory = true;
	for (uint64_t i = 0; i < k && !r->bad; i++) {
		struct spec_edge e = {.to = decode_number_below(r, n_nodes)};
		e.outcome = decode_number_below(r, UINT32_MAX);
		e.label = decode_string(r);
		s->edges[s->n_edges++] = e;
	}
	n->n_edges = s->n_edges - n->first_edge;
}

/* The text that all strings lie in: it begins and ends with a NUL. */
static void read_strings(struct reader *r, struct spec *s)
{
	uint64_t n = decode_number(r);
	if (r->bad || n == 0 || n > (uint64_t)(r->end - r->p) || r->p[0] || r->p[n - 1]) {
		r->bad = true;
		return;
	}
	if (!(s->strings = malloc(n))) {
		r->bad = r->no_memory = true;
		return;
	}
	memcpy(s->strings, r->p, n);
	r->p += n;
	r->strings = s->strings;
	r->n_strings = n;
}

/* A list of strings; NULL where reading has failed. */
static const char **decode_strings(struct reader *r, uint32_t *ret_n)
{
	const char **v = r->bad ? NULL : decode_array(r, sizeof(*v), ret_n);
	for (uint32_t i = 0; v && i < *ret_n && !r->bad; i++)
		v[i] = decode_string(r);
	return v;
}

/* r->bad: it is none. */
static void read_functions(struct reader *r, struct spec *s)
{
	s->functions = r->bad ? NULL : decode_array(r, sizeof(*s->functions), &s->n_functions);
	for (uint32_t i = 0; i < s->n_functions && !r->bad; i++) {
		struct spec_function *f = &s->functions[i];
		f->name = decode_string(r);
		f->flags = (uint16_t)decode_number_below(r, 1 << 16);
		f->file = decode_file(r, s);
		f->line = decode_number_below(r, UINT32_MAX);
		f->first_node = s->n_nodes;
		f->n_nodes = decode_number_below(r, (uint64_t)SPEC_NODES_MAX + 1);
		if (f->n_nodes == 0 || f->n_nodes > (uint64_t)(r->end - r->p) || s->n_nodes > UINT32_MAX - 1 - f->n_nodes)
			r->bad = true;
		else
			s->n_nodes += f->n_nodes;
	}
}

/* The k-th node of a function; the first one, and no other, is where it is entered. */
static void read_node(struct reader *r, struct spec *s, struct spec_node *node, uint32_t k)
{
	node->kind = (uint8_t)decode_number_below(r, SPEC_KINDS);
	node->flags = (uint16_t)decode_number_below(r, 1 << 16);
	node->file = decode_file(r, s);
	node->line = decode_number_below(r, UINT32_MAX);
	node->column = decode_number_below(r, UINT32_MAX);
	node->name = node->words = "";
	*(node->kind == SPEC_DECISION ? &node->words : &node->name) = decode_string(r);
	node->condition = decode_string(r);
	if ((node->kind == SPEC_ENTRY) != (k == 0))
		r->bad = true;
}

/* Stops at the first bad one: r->bad. */
static void read_nodes(struct reader *r, struct spec *s)
{
	size_t targets_cap = 0, edges_cap = 0;
	for (uint32_t i = 0; i < s->n_functions; i++)
		for (uint32_t k = 0; k < s->functions[i].n_nodes && !r->bad; k++) {
			struct spec_node *node = &s->nodes[s->functions[i].first_node + k];
			read_node(r, s, node, k);
			if (!r->bad)
				read_lists(r, s, node, s->functions[i].n_nodes, &targets_cap, &edges_cap);
		}
}

/* Figures of later versions are passed over, and those that an earlier one did not have are 0. */
static void read_figures(struct reader *r, struct spec *s)
{
	uint64_t figures[sizeof(s->stats) / sizeof(uint64_t)] = {0};
	uint64_t n = decode_number(r);
	for (uint64_t i = 0; i < n && !r->bad; i++) {
		uint64_t v = decode_number(r);
		if (i < sizeof(figures) / sizeof(figures[0]))
			figures[i] = v;
	}
	memcpy(&s->stats, figures, sizeof(figures));
}

/* Behind the head; r->bad: it is none. */
static void read_body(struct reader *r, struct spec *s)
{
	read_strings(r, s);
	if (r->bad)
		return;
	s->producer = strdup(decode_string(r));
	uint64_t main_function = decode_number(r);
	s->files = decode_strings(r, &s->n_files);
	s->gaps = decode_strings(r, &s->n_gaps);
	read_functions(r, s);
	if (main_function > s->n_functions || s->n_nodes > (uint64_t)(r->end - r->p))
		r->bad = true;
	s->main = main_function ? (uint32_t)main_function - 1 : SPEC_NONE;
	if (r->bad)
		return;
	if (!s->producer || !(s->nodes = calloc(s->n_nodes ? s->n_nodes : 1, sizeof(*s->nodes)))) {
		r->bad = r->no_memory = true;
		return;
	}
	read_nodes(r, s);
	read_figures(r, s);
	if (!r->bad && r->p != r->end) /* those from before this was written end here */
		s->unexamined = decode_strings(r, &s->n_unexamined);
	if (r->p != r->end)
		r->bad = true;
}

int spec_read(const void *p, size_t n, struct err *err, struct spec **ret)
{
	const unsigned char *b = p;
	if (n < HEAD || memcmp(b, MAGIC, 7) != 0) {
		err_set(err, 0, "the file is not a specification");
		return -EBADMSG;
	}
	if (b[7] != MAGIC[7]) {
		err_set(err, 0, "the specification is of a later version");
		return -EBADMSG;
	}
	uint64_t size = load_le64(b + 8);
	uint32_t id = load_le32(b + 24);
	if (size > n - HEAD || id > SPEC_BUILD_ID_MAX || hash_bytes(b + HEAD, size) != load_le64(b + 16)) {
		err_set(err, 0, "the specification is damaged");
		return -EBADMSG;
	}
	struct spec *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ENOMEM, "cannot read the specification");
	struct reader r = {.p = b + HEAD, .end = b + HEAD + size};
	s->id = load_le64(b + 16);
	s->n_build_id = id;
	memcpy(s->build_id, b + 28, id);
	read_body(&r, s);
	if (r.bad) {
		spec_free(s);
		if (r.no_memory)
			return err_set(err, ENOMEM, "cannot read the specification");
		err_set(err, 0, "the specification is damaged");
		return -EBADMSG;
	}
	*ret = s;
	return 0;
}

int spec_load(const char *path, struct err *err, struct spec **ret)
{
	struct objects_bytes file;
	int rc = objects_map(path, err, &file);
	if (rc < 0)
		return rc;
	struct str bytes = {file.p, file.n};
	if (objects_is_elf(bytes)) {
		struct str section;
		rc = objects_section(bytes, SPEC_SECTION, &section);
		if (rc < 0) {
			err_set(err, 0, "'%s' has no specification", path);
			err_hint(err, "build it with stemma cc --spec");
			rc = -ENODATA;
		} else
			bytes = section;
	}
	if (rc >= 0) {
		struct err why = {0};
		rc = spec_read(bytes.p, bytes.n, &why, ret);
		if (rc < 0)
			err_set(err, 0, "'%s': %s", path, why.text);
	}
	/* What is embedded cannot know the build-id. */
	if (rc == 0 && !(*ret)->n_build_id) {
		int k = objects_build_id(str_n(file.p, file.n), (*ret)->build_id);
		(*ret)->n_build_id = k > 0 ? (uint32_t)k : 0;
	}
	objects_unmap(&file);
	return rc < 0 ? rc : 0;
}
