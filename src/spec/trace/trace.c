#include "spec/trace/trace.h"

#include "base/io.h"
#include "base/vec.h"
#include "spec/trace/trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace {
	void *map; /* of trace_open */
	size_t map_size;
	const uint32_t *words;
	uint64_t n, at, taken; /* taken: back, up to at */
	struct trace_info info;
	struct trace_library libraries[TRACE_LIBRARIES_TOLD];
	uint32_t n_libraries;
};

/* Texts are cut where i has no room. -EBADMSG: it is none. */
static int read_info(const struct trace_header *h, struct trace_info *i)
{
	if (h->build_id_bytes > SPEC_BUILD_ID_MAX || h->end > TRACE_STOPPED)
		return -EBADMSG;
	i->spec = h->spec;
	i->n_build_id = h->build_id_bytes;
	memcpy(i->build_id, h->build_id, h->build_id_bytes);
	i->pid = h->pid;
	i->tid = h->tid;
	i->started = h->started;
	i->began = h->began;
	i->lazy = h->flags & TRACE_LAZY;
	i->operands = h->flags & TRACE_OPERANDS;
	i->turned = h->flags & TRACE_TURNED;
	i->end = (enum trace_end)h->end;
	if (h->rank < h->ranks) {
		i->rank = h->rank;
		i->ranks = h->ranks;
	}
	memcpy(i->thread, h->thread, sizeof(i->thread) - 1);
	memcpy(i->exe, h->exe, sizeof(i->exe) - 1);
	return 0;
}

int trace_open_bytes(const void *p, size_t n, struct err *err, struct trace **ret)
{
	struct trace_header h;
	if (n < sizeof(h) || memcmp(p, TRACE_MAGIC, 7) != 0) {
		err_set(err, 0, "the file is not a function trace");
		return -EBADMSG;
	}
	memcpy(&h, p, sizeof(h));
	if (h.magic[7] != TRACE_MAGIC[7]) {
		err_set(err, 0, "the trace is of a later version");
		return -EBADMSG;
	}
	struct trace *t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, ENOMEM, "cannot read the trace");
	/* A page that was lost when the machine went down, or a copy that ended early: what is there is read. */
	uint64_t words = h.next >= h.first ? (h.next - h.first) / sizeof(uint32_t) : 0;
	t->words = (const uint32_t *)((const char *)p + sizeof(h));
	t->n = (n - sizeof(h)) / sizeof(uint32_t);
	if (words < t->n)
		t->n = words;
	if (read_info(&h, &t->info) < 0 || h.next < h.first || (h.next - h.first) % sizeof(uint32_t)) {
		free(t);
		err_set(err, 0, "the trace is damaged");
		return -EBADMSG;
	}
	t->n_libraries = h.n_libraries < TRACE_LIBRARIES_TOLD ? h.n_libraries : TRACE_LIBRARIES_TOLD;
	memcpy(t->libraries, h.libraries, sizeof(t->libraries));
	for (uint32_t i = 0; i < t->n_libraries; i++) {
		struct trace_library *l = &t->libraries[i];
		l->path[sizeof(l->path) - 1] = '\0';
		if (l->build_id_bytes > sizeof(l->build_id))
			l->build_id_bytes = 0;
	}
	if (words > t->n)
		t->info.end = TRACE_CUT; /* how it ended is not in it */
	*ret = t;
	return 0;
}

/* The file may be a gigabyte of nothing behind what its header counts: only that is read. A copy, as it may be written
 * on, or cut, while we look. *ret is the caller's. -EBADMSG, -errno with a sentence. */
int trace_open(const char *path, struct err *err, struct trace **ret)
{
	struct trace_header h;
	struct err why = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? io_pread(fd, &h, sizeof(h), 0) : -EINVAL;
	if (n < 0) {
		close(fd);
		return err_set(err, (int)-n, "cannot read '%s'", path);
	}
	uint64_t size = (uint64_t)n;
	if (size == sizeof(h) && h.next > h.first) {
		size += h.next - h.first;
		if (size > (uint64_t)st.st_size)
			size = (uint64_t)st.st_size;
	}
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	n = p == MAP_FAILED ? -ENOMEM : io_pread(fd, p, size, 0);
	close(fd);
	int rc = n < 0 ? err_set(err, (int)-n, "cannot read '%s'", path) : trace_open_bytes(p, (size_t)n, &why, ret);
	if (rc < 0) {
		if (p != MAP_FAILED)
			munmap(p, size ? size : 1);
		err_set(err, 0, "'%s': %s", path, why.text);
		return rc;
	}
	(*ret)->map = p;
	(*ret)->map_size = size ? size : 1;
	return 0;
}

/* NULL is no error. */
void trace_close(struct trace *t)
{
	if (!t)
		return;
	if (t->map)
		munmap(t->map, t->map_size);
	free(t);
}

/* It lives as long as t. */
const struct trace_info *trace_info(const struct trace *t)
{
	return &t->info;
}

uint32_t trace_libraries(const struct trace *t, const struct trace_library **ret)
{
	*ret = t->libraries;
	return t->n_libraries;
}

uint64_t trace_position(const struct trace *t)
{
	return t->at;
}

uint64_t trace_clock(const struct trace *t)
{
	return t->at + t->taken;
}

/* The next event is the first one again. */
void trace_rewind(struct trace *t)
{
	t->at = t->taken = 0;
}

/* Always -EBADMSG; nothing more is read then. */
static int report_damaged(struct trace *t, struct err *err)
{
	err_set(err, 0, "the trace is damaged at word %llu", (unsigned long long)t->at);
	t->at = t->n;
	return -EBADMSG;
}

/* The lower half first. */
static uint64_t load_pair(const uint32_t *w)
{
	return w[0] | (uint64_t)w[1] << 32;
}

int trace_next(struct trace *t, struct err *err, struct trace_event *e)
{
	enum trace_type type = TRACE_NO_OPERANDS;
	uint64_t operand[2] = {0};
	while (t->at < t->n) {
		const uint32_t *w = t->words + t->at;
		uint64_t left = t->n - t->at;
		uint32_t value = *w & TRACE_VALUE;
		*e = (struct trace_event){.kind = (enum trace_kind)(*w >> TRACE_SHIFT)};
		if (type && *w >> TRACE_SHIFT != TRACE_W_DECIDE)
			return report_damaged(t, err);
		switch (*w >> TRACE_SHIFT) {
		case TRACE_W_ENTER:
			e->function = value;
			break;
		case TRACE_W_LEAVE:
			break;
		case TRACE_W_CALL:
			e->node = value;
			break;
		case TRACE_W_DECIDE:
			e->node = value >> TRACE_OUTCOME_BITS;
			e->outcome = value & ((1u << TRACE_OUTCOME_BITS) - 1);
			e->type = type;
			e->a.u = operand[0];
			e->b.u = operand[1];
			break;
		case TRACE_W_SILENT:
			if (left < TRACE_SILENT_WORDS)
				return report_damaged(t, err);
			e->hash = load_pair(w + 1);
			e->words = load_pair(w + 3);
			e->has_data = value == TRACE_SILENT_DATA;
			if (value > TRACE_SILENT_DATA || (e->has_data && left < TRACE_SILENT_DATA_WORDS))
				return report_damaged(t, err);
			e->data = e->has_data ? load_pair(w + TRACE_SILENT_WORDS) : 0;
			t->taken += e->words - (e->has_data ? TRACE_SILENT_DATA_WORDS : TRACE_SILENT_WORDS);
			t->at += e->has_data ? TRACE_SILENT_DATA_WORDS - 1 : TRACE_SILENT_WORDS - 1;
			break;
		case TRACE_W_BACK:
			e->depth = value;
			break;
		case TRACE_W_MORE: {
			uint32_t what = value >> 16, n = value & 0xffff;
			if (n >= left)
				/* cut in the middle of one: whole up to here */
				return t->at = t->n, 0;
			if (what == TRACE_MORE_GAP && n >= 1) {
				e->kind = TRACE_GAP;
				e->why = w[1] == TRACE_WHY_FULL || w[1] == TRACE_WHY_SPACE ? (enum trace_why)w[1] : TRACE_WHY_OTHER;
				t->at += 1 + n;
				return 1;
			}
			if (what == TRACE_MORE_MESSAGE && n == TRACE_MESSAGE_WORDS && w[n] & 0xff) {
				e->kind = TRACE_MESSAGE;
				e->message = (struct trace_message){.kind = w[n] & 0xff,
				                                    .flags = w[n] >> 8 & 0xff,
				                                    .rank = (int32_t)w[1],
				                                    .size = (int32_t)w[2],
				                                    .peer = (int32_t)w[3],
				                                    .tag = (int32_t)w[4],
				                                    .bytes = load_pair(w + 5)};
				t->at += 1 + n;
				return 1;
			}
			if (what >= TRACE_SIGNED && what <= TRACE_POINTER) {
				if (n != 2 && n != 4)
					return report_damaged(t, err);
				type = (enum trace_type)what;
				operand[0] = load_pair(w + 1);
				operand[1] = n == 4 ? load_pair(w + 3) : 0;
			}
			t->at += 1 + n;
			continue;
		}
		default:
			return report_damaged(t, err);
		}
		t->at++;
		return 1;
	}
	return 0;
}

/* ---- does it fit ---- */

struct frame {
	uint32_t function, node;
	bool open; /* where it goes on is not known: something was taken back */
};

/* An open frame may lead anywhere. */
static bool edge_leads_to(const struct spec *s, const struct frame *f, uint32_t node)
{
	if (f->open)
		return true;
	const struct spec_node *n = spec_node(s, f->function, f->node);
	for (uint32_t i = 0; i < n->n_edges; i++)
		if (spec_edge(s, n, i)->to == node)
			return true;
	return false;
}

/* Reports where a trace does not fit its specification. -EBADMSG with a sentence; at: in words. */
static int does_not_fit(struct err *err, uint64_t at, const char *what)
{
	err_set(err, 0, "the trace does not fit its specification at word %llu: %s", (unsigned long long)at, what);
	return -EBADMSG;
}

/* The outcome's own edge: the node after a decision must be the one that it leads to. -EBADMSG with a sentence.
 * *outcome: of the decision before, SPEC_NONE; changed for the next. */
static int fits_node(const struct spec *s, struct frame *f, const struct trace_event *e, uint64_t at, struct err *err,
                     uint32_t *outcome)
{
	if (e->node >= s->functions[f->function].n_nodes)
		return does_not_fit(err, at, "there is no such node");
	const struct spec_node *n = spec_node(s, f->function, e->node);
	bool call = n->kind == SPEC_CALL || n->kind == SPEC_SYSCALL;
	if (e->kind == TRACE_CALL ? !call : n->kind != SPEC_DECISION)
		return does_not_fit(err, at, "the node is of another kind");
	if (e->kind == TRACE_DECIDE && !spec_outcome(s, n, e->outcome) && e->outcome >= SPEC_OUTCOMES_MAX)
		return does_not_fit(err, at, "there is no such outcome");
	if (*outcome != SPEC_NONE && !f->open) {
		const struct spec_edge *edge = spec_outcome(s, spec_node(s, f->function, f->node), *outcome);
		if (!edge || edge->to != e->node)
			return does_not_fit(err, at, "the decision before leads elsewhere");
	} else if (!edge_leads_to(s, f, e->node))
		return does_not_fit(err, at, "no edge leads there");
	f->node = e->node;
	f->open = false;
	*outcome = e->kind == TRACE_DECIDE ? e->outcome : SPEC_NONE;
	return 0;
}

int trace_fits(struct trace *t, const struct spec *s, struct err *err)
{
	struct frame *stack = NULL;
	size_t depth = 0, cap = 0;
	uint32_t outcome = SPEC_NONE; /* of the decision that came last, if that is the last event */
	struct trace_event e;
	int rc;
	if (t->info.spec != s->id) {
		err_set(err, 0, "the trace was made with another specification");
		return -EBADMSG;
	}
	trace_rewind(t);
	for (;;) {
		uint64_t at = t->at;
		rc = trace_next(t, err, &e);
		if (rc <= 0)
			break;
		if (e.kind == TRACE_MESSAGE)
			continue;
		if (e.kind == TRACE_ENTER) {
			if (e.function >= s->n_functions) {
				rc = does_not_fit(err, at, "there is no such function");
				break;
			}
			if (!vec_has_room(stack, depth, cap)) {
				rc = err_set(err, ENOMEM, "cannot check the trace");
				break;
			}
			/* A signal's handler may come in between a decision and where it leads. */
			if (depth && outcome != SPEC_NONE)
				stack[depth - 1].open = true;
			stack[depth++] = (struct frame){.function = e.function};
		} else if (e.kind == TRACE_BACK) {
			if (e.depth > depth) {
				rc = does_not_fit(err, at, "it goes back to a frame that is not there");
				break;
			}
			/* In the frame itself it goes on behind a call that came back twice, or where an exception is caught. */
			if (e.depth < depth && e.depth)
				stack[e.depth - 1].open = true;
			depth = e.depth;
			if (depth)
				stack[depth - 1].open = true;
		} else if (e.kind == TRACE_SILENT) {
			if (depth)
				stack[depth - 1].open = true;
		} else if (e.kind == TRACE_LEAVE) {
			if (depth == 0) {
				rc = does_not_fit(err, at, "more frames end than began");
				break;
			}
			depth--;
		} else if (e.kind == TRACE_CALL || e.kind == TRACE_DECIDE) {
			if (depth == 0) {
				rc = does_not_fit(err, at, "it is in no function");
				break;
			}
			rc = fits_node(s, &stack[depth - 1], &e, at, err, &outcome);
			if (rc < 0)
				break;
			continue;
		}
		outcome = SPEC_NONE;
	}
	free(stack);
	return rc;
}

/* ---- making one ---- */

/* Appends a word of a trace. */
static void append_trace_word(struct buf *out, uint32_t w)
{
	buf_add(out, &w, sizeof(w));
}

/* The lower half first. */
static void append_trace_pair(struct buf *out, uint64_t v)
{
	append_trace_word(out, (uint32_t)v);
	append_trace_word(out, (uint32_t)(v >> 32));
}

void trace_put_header(struct buf *out, const struct trace_info *i)
{
	struct trace_header h = {.magic = TRACE_MAGIC,
	                         .spec = i->spec,
	                         .pid = i->pid,
	                         .tid = i->tid,
	                         .started = i->started,
	                         .began = i->began,
	                         .flags = (i->lazy ? TRACE_LAZY : 0u) | (i->operands ? TRACE_OPERANDS : 0u) |
	                                  (i->turned ? TRACE_TURNED : 0u),
	                         .build_id_bytes = i->n_build_id,
	                         .rank = i->rank,
	                         .ranks = i->ranks};
	memcpy(h.build_id, i->build_id, sizeof(h.build_id));
	memcpy(h.thread, i->thread, sizeof(h.thread));
	memcpy(h.exe, i->exe, sizeof(h.exe));
	buf_add(out, &h, sizeof(h));
}

void trace_put(struct buf *out, const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_ENTER:
		append_trace_word(out, TRACE_WORD(TRACE_W_ENTER, e->function));
		break;
	case TRACE_LEAVE:
		append_trace_word(out, TRACE_WORD(TRACE_W_LEAVE, 0));
		break;
	case TRACE_CALL:
		append_trace_word(out, TRACE_WORD(TRACE_W_CALL, e->node));
		break;
	case TRACE_DECIDE:
		if (e->type) {
			append_trace_word(out, TRACE_WORD(TRACE_W_MORE, (uint32_t)e->type << 16 | 4));
			append_trace_pair(out, e->a.u);
			append_trace_pair(out, e->b.u);
		}
		append_trace_word(out, TRACE_WORD(TRACE_W_DECIDE, e->node << TRACE_OUTCOME_BITS | e->outcome));
		break;
	case TRACE_SILENT:
		append_trace_word(out, TRACE_WORD(TRACE_W_SILENT, e->has_data ? TRACE_SILENT_DATA : 0));
		append_trace_pair(out, e->hash);
		append_trace_pair(out, e->words);
		if (e->has_data)
			append_trace_pair(out, e->data);
		break;
	case TRACE_BACK:
		append_trace_word(out, TRACE_WORD(TRACE_W_BACK, e->depth));
		break;
	case TRACE_GAP:
		append_trace_word(out, TRACE_WORD(TRACE_W_MORE, TRACE_MORE_GAP << 16 | 1));
		append_trace_word(out, (uint32_t)e->why);
		break;
	case TRACE_MESSAGE:
		append_trace_word(out, TRACE_WORD(TRACE_W_MORE, TRACE_MORE_MESSAGE << 16 | TRACE_MESSAGE_WORDS));
		append_trace_word(out, (uint32_t)e->message.rank);
		append_trace_word(out, (uint32_t)e->message.size);
		append_trace_word(out, (uint32_t)e->message.peer);
		append_trace_word(out, (uint32_t)e->message.tag);
		append_trace_pair(out, e->message.bytes);
		append_trace_word(out, e->message.kind | (uint32_t)e->message.flags << 8);
		break;
	}
}

void trace_put_end(struct buf *out, enum trace_end end)
{
	struct trace_header h;
	if (out->failed || out->n < sizeof(h))
		return;
	memcpy(&h, out->p, sizeof(h));
	h.first = sizeof(h);
	h.next = out->n;
	h.end = end;
	memcpy(out->p, &h, sizeof(h));
}
