/* Function traces: read to their end, held against a small specification, and made again from their events. */
#include "spec/trace/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Two functions of four nodes: entry, a decision, a call, return. */
static void make(struct spec *s)
{
	static struct spec_edge edges[] = {{1, 0, ""}, {2, 0, "true"}, {3, 1, "false"}, {1, 0, ""}};
	static struct spec_node nodes[8];
	static struct spec_function functions[] = {{.name = "a", .n_nodes = 4},
	                                           {.name = "b", .first_node = 4, .n_nodes = 4}};
	static const uint8_t kinds[] = {SPEC_ENTRY, SPEC_DECISION, SPEC_CALL, SPEC_RETURN}, first[] = {0, 1, 3, 4},
	                     count[] = {1, 2, 1, 0};
	for (int i = 0; i < 8; i++)
		nodes[i] = (struct spec_node){
		    .kind = kinds[i % 4], .name = "", .condition = "", .first_edge = first[i % 4], .n_edges = count[i % 4]};
	*s = (struct spec){
	    .functions = functions, .n_functions = 2, .nodes = nodes, .n_nodes = 8, .edges = edges, .n_edges = 4};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct trace *t, *again;
	struct trace_event e, f;
	struct err err = {0};
	struct spec s;
	struct buf b = {0};
	uint64_t events = 0;
	make(&s);
	/* Words are read where they lie: as in a file, at an address of theirs. */
	void *copy = malloc(n ? n : 1);
	memcpy(copy, data, n);
	if (trace_open_bytes(copy, n, &err, &t) == 0) {
		s.id = trace_info(t)->spec;
		trace_fits(t, &s, NULL);
		trace_rewind(t);
		trace_put_header(&b, trace_info(t));
		while (trace_next(t, NULL, &e) == 1) {
			assert(trace_position(t) * 4 <= n);
			events++;
			trace_put(&b, &e);
		}
		trace_put_end(&b, trace_info(t)->end);
		assert(trace_open_bytes(b.p, b.n, NULL, &again) == 0);
		assert(trace_info(t)->rank == trace_info(again)->rank && trace_info(t)->ranks == trace_info(again)->ranks);
		trace_rewind(t);
		while (trace_next(t, NULL, &e) == 1) {
			assert(trace_next(again, NULL, &f) == 1);
			assert(e.kind == f.kind && e.node == f.node && e.outcome == f.outcome && e.hash == f.hash &&
			       e.depth == f.depth && e.function == f.function && e.type == f.type && e.a.u == f.a.u &&
			       e.b.u == f.b.u);
			assert(e.kind != TRACE_MESSAGE || (e.message.kind == f.message.kind && e.message.flags == f.message.flags &&
			                                   e.message.rank == f.message.rank && e.message.size == f.message.size &&
			                                   e.message.peer == f.message.peer && e.message.tag == f.message.tag &&
			                                   e.message.bytes == f.message.bytes));
			events--;
		}
		assert(events == 0);
		trace_close(again);
		trace_close(t);
	}
	buf_release(&b);
	free(copy);
	return 0;
}
