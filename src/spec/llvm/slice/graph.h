/* graph.h - what flows where in a program: nodes are values and variables, objects are what pointers may point to.
 *
 * Node 0 is nothing: what has no node. All of one process's life; without memory the process ends. */
#ifndef STEMMA_SPEC_LLVM_SLICE_GRAPH_H
#define STEMMA_SPEC_LLVM_SLICE_GRAPH_H

#include "base/map.h"
#include "spec/llvm/program.h"
#include "spec/llvm/slice/slice.h"

/* Which objects a node may point to, by its type: a number may be a part of a pointer, if it has 8 bits; a pointer is
 * no descriptor. */
enum node_holds { HOLDS_ALL, HOLDS_POINTERS, HOLDS_DESCRIPTORS, HOLDS_NOTHING };

struct node {
	uint64_t *points; /* bits, of objects; NULL none */
	uint64_t *done;   /* those that the solver has looked at */
	uint32_t flows;   /* the first in s->flows; VEC_NONE none */
	uint32_t accesses, takers;
	uint32_t same; /* the node that it has become one with, itself else */
	uint8_t holds;
	bool queued;
	bool computed; /* it is the value of an instruction that can be reached */
};

enum object_kind {
	OBJECT_MEMORY,
	OBJECT_FUNCTION,
	OBJECT_STREAM,     /* a FILE, or what else stands for something opened; a pointer */
	OBJECT_DESCRIPTOR, /* the same, a number */
	OBJECT_UNKNOWN,    /* what libraries have: it may be a function */
	OBJECT_ELSEWHERE,  /* what lies at an address that is a constant, or was made of text */
	OBJECT_BYTES       /* none: the pointer may be made of bytes that were read */
};

/* in, out, position: nodes of streams and descriptors: what is read from it, what is written, and where. */
struct object {
	uint8_t kind;
	bool standard; /* input, output, errors: no file that the program reads again */
	uint32_t content;
	uint32_t in, out, position;
	const char *file; /* constant name; NULL not known */
	uint32_t of;      /* node of the handle that it is another name of; 0 none */
	uint32_t size;    /* of memory that was asked for: node of how much; 0 */
	bool environment; /* a variable of the environment */
	bool odd;         /* it may be anything that the program has: arguments, memory, descriptors */
	uint32_t function;
};

struct flow {
	uint32_t to, next;
	bool points; /* pointers go along */
};

/* A load or a store; by next: of the same pointer. */
struct access {
	uint32_t pointer, value, next;
	bool store, points;
};

/* Calls whatever function the node points to. */
struct taker {
	uint32_t call, next;
	bool callback;
};

enum stream_way {
	STREAM_READ,
	STREAM_PUT_BACK,
	STREAM_WRITE,
	STREAM_WRITTEN,
	STREAM_SEEK,
	STREAM_POSITION,
	STREAM_STATE
};
/* Between the stream that `handle` points to and a node. */
struct stream_use {
	uint32_t handle, node;
	uint8_t way;
	bool maybe; /* where it points to no stream, there is none; else it may be any */
};

/* An address that becomes a number (a), the distance of two, a comparison of two for being the same; bytes that are
 * written (a is what they may point to), or read, of the call `node`. */
enum address_way { ADDRESS_NUMBER, ADDRESS_DISTANCE, ADDRESS_COMPARED, ADDRESS_WRITTEN, ADDRESS_READ };
struct address {
	uint32_t a, b, node;
	uint8_t way;
};

struct call {
	LLVMValueRef inst;  /* NULL: of a library function through a pointer */
	uint32_t function;  /* that it stands in; of a library function through a pointer: that one */
	uint32_t effects;   /* node: whether it is made */
	uint32_t ends;      /* node: whether it comes back */
	uint32_t result;    /* node */
	uint32_t callee;    /* node of the pointer, 0: known */
	uint32_t *argument; /* nodes */
	uint32_t n_arguments, n_fixed;
	bool may_end, always_ends;
	bool unresolved;
	bool later;       /* what it is given to call is called at another time */
	uint32_t deep;    /* node: all that is reached from its arguments; 0 none is needed */
	uint32_t decides; /* node: what decides how often it calls, and with what; 0: what decides whether it is made */
	VEC(uint32_t) targets; /* functions */
	VEC(uint32_t) called_back;
};

struct slice_function {
	LLVMValueRef value;
	const char *name;
	bool defined, taken, reachable, may_end;
	uint32_t object;
	uint32_t *parameter; /* nodes */
	uint32_t n_parameters;
	uint32_t result, extra; /* extra: object with the arguments behind `...` */
	uint32_t control;       /* node: whether it is called */
	uint32_t ends;          /* node: whether it comes back */
	uint32_t stub;          /* call: of a library function through a pointer; VEC_NONE */
	VEC(uint32_t) calls;
};

struct place {
	const char *file;
	uint32_t line, column;
};

struct input {
	const char *kind, *name; /* name: "" where it is not known */
	struct place at;
	uint32_t node;
	uint32_t function; /* VEC_NONE: of the program */
	bool used;
};

struct output {
	const char *name; /* what is called */
	struct place at;
	uint32_t node, call;
	uint32_t handle; /* node of the stream or descriptor; 0: it has none */
	bool maybe;      /* where that points to no stream it is no output */
	bool buffered;   /* what goes to a stream is lost where the program ends otherwise than by exit */
};

struct reason {
	const char *what;
	struct place at;
	uint32_t function; /* counts where that can be reached; VEC_NONE always */
};

struct slice {
	LLVMModuleRef module;
	VEC(struct node) nodes;
	VEC(struct object) objects;
	VEC(struct flow) flows;
	VEC(struct access) accesses;
	VEC(struct taker) takers;
	VEC(struct stream_use) streams;
	VEC(struct call) calls;
	VEC(struct slice_function) functions;
	VEC(struct input) inputs;
	VEC(struct output) outputs;
	VEC(struct reason) reasons;
	VEC(struct address) addresses;
	VEC(uint32_t) closed; /* nodes of handles that are closed */
	VEC(uint32_t) queue;
	struct map node_of, function_of, call_of;
	struct map copied;    /* flows that the solver found */
	struct map variables; /* hash of a name -> node of a state, or object */
	struct map apart;     /* loads of one argument of main */
	uint64_t *holds[4];
	size_t words; /* of a set of objects */
	bool solving;
	/* hidden.c: has it pipes, wide characters, other rounding; does it move to other folders, and in files;
	 * does it open something? */
	bool pipes, wide, rounds, moves, seeks, opens;
	bool inside_streams;                    /* code looks into a FILE, as macros do */
	bool writes_pointers;                   /* it may; known after it is solved */
	bool told_bytes;                        /* a pointer that may be made of bytes is among the reasons */
	uint32_t descriptor[3], any_descriptor; /* nodes of the constants 0, 1, 2 and of all others */
	uint32_t standard[3];                   /* objects: streams */
	uint32_t any_file;                      /* object: a descriptor of which nothing is known: what is read from all */
	uint32_t touched;                       /* object: the same, where something is done to all */
	uint32_t unknown, elsewhere, bytes;     /* objects */
	uint32_t environment;                   /* object: the array; 0: the program has not looked at it */
	uint32_t exceptions;                    /* node */
	uint32_t abnormal;                      /* node: whether it ends otherwise than by exit */
	uint32_t at_any_time;                   /* node: whether something else than the code ends it */
};

/* ---- nodes and flows (graph.c) ---- */

/* Makes a node of the graph: something that holds data, pointers or descriptors. */
uint32_t graph_node(struct slice *s, enum node_holds holds);
/* What a value of the type may hold. */
enum node_holds graph_type_holds(LLVMTypeRef t);
/* Makes an object: memory, a function, a stream or a descriptor. */
uint32_t graph_object(struct slice *s, enum object_kind kind);
/* A stream or descriptor with its nodes. file: as in the object. */
uint32_t graph_stream(struct slice *s, enum object_kind kind, const char *file);
void graph_points(struct slice *s, uint32_t node, uint32_t object);
/* Data flows; with graph_copy pointers, too. */
void graph_flow(struct slice *s, uint32_t from, uint32_t to);
void graph_copy(struct slice *s, uint32_t from, uint32_t to);
/* Notes a load or a store for the solver: value gets what pointer points to, or the reverse. points: pointers go
 * along. Nothing where pointer is node 0, or the value of a load is. */
void graph_load(struct slice *s, uint32_t pointer, uint32_t value, bool points);
void graph_store(struct slice *s, uint32_t value, uint32_t pointer, bool points);
void graph_take(struct slice *s, uint32_t node, uint32_t call, bool callback);
struct stream_use *graph_stream_use(struct slice *s, uint32_t handle, uint32_t node, enum stream_way way);
/* After it is solved: does it point to something of which something is known; to something of that kind; to a stream?
 */
bool graph_points_anywhere(const struct slice *s, uint32_t node);
bool graph_points_to_kind(const struct slice *s, uint32_t node, enum object_kind kind);
bool graph_points_to_stream(const struct slice *s, uint32_t node);
/* The node of a state, or an object, that has a name: "errno". */
uint32_t graph_variable(struct slice *s, const char *name);
uint32_t graph_static(struct slice *s, const char *name);
/* All that can be reached from where the node points to, itself included: a node that points to all of it. */
uint32_t graph_deep(struct slice *s, uint32_t node);
/* kind, name: live as long as the program. Its node. */
uint32_t graph_input(struct slice *s, const char *kind, const char *name, LLVMValueRef at, uint32_t function);
void graph_reason(struct slice *s, const char *what, const char *name, LLVMValueRef at, uint32_t function);
struct place graph_place(LLVMValueRef inst);
void graph_solve(struct slice *s);

/* ---- one node for many (cycles.c), used by graph_solve ---- */

/* The node that it is a part of. What is asked of a node is asked of that. */
uint32_t graph_same(const struct slice *s, uint32_t node);
/* What the node points to; NULL nothing. */
const uint64_t *graph_set(const struct slice *s, uint32_t node);
void graph_queue(struct slice *s, uint32_t node);
void graph_join_cycles(struct slice *s);

/* ---- from the bitcode (build.c, call.c) ---- */

/* Builds the graph of the whole program. */
void build_program(struct slice *s);
/* The node of a value, which is made if it is new. */
uint32_t build_value(struct slice *s, LLVMValueRef v);
/* The array of the environment and its texts, made once: the object of the array. */
uint32_t build_environment(struct slice *s);
void build_call(struct slice *s, LLVMValueRef inst, uint32_t function);
/* One more function that the call may call: found by the solver. */
void call_target(struct slice *s, uint32_t call, uint32_t function, bool callback);
/* The text of a constant string; NULL: not known. */
const char *build_constant_text(LLVMValueRef v);
/* Past casts and aliases. */
LLVMValueRef build_bare(LLVMValueRef v);
const char *build_name(LLVMValueRef v);

/* ---- library functions (library.c) ---- */

/* What its row says. False: there is none. at: NULL, or the instruction. */
bool library_apply(struct slice *s, uint32_t call, const char *name);
/* Is there one, or is it of those of the C++ library that are known? */
bool library_knows(const char *name);
/* Does the function with that name read or write what its argument i points to? False where it has no row. */
bool library_follows(const char *name, unsigned i, unsigned n_fixed);
/* Is the variable of a library known? Then its object is made. */
bool library_variable(struct slice *s, LLVMValueRef v, uint32_t node);

/* ---- states that no argument names (hidden.c) ---- */

/* Before all else: what the program uses of them. */
void hidden_find(struct slice *s);
/* Does the name stand for memory, arguments, or what is open? */
bool hidden_is_odd_name(const char *name);
/* After it is solved; the first before control_program. */
void hidden_find_pointers(struct slice *s);
void hidden_flows(struct slice *s);

/* ---- control and reach (control.c, reach.c) ---- */

/* Adds the flows of control of the whole program. */
void control_program(struct slice *s);
/* Writes the slices of all outputs as JSON. */
void reach_write(struct slice *s, struct buf *ret);

#endif
