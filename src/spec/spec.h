/* spec.h - the specification of a program: for each function that can reach a system call, a graph of what happens in
 * it, as far as it is recorded: entry, returns, call sites, calls of library functions that reach system calls, and the
 * decisions between them. After Nakamura et al., "Provenance-based Workflow Diagnostics Using Program Specification",
 * section III.A; doc/spec.md says what differs.
 *
 * Functions are numbered from 0, nodes from 0 in their function (node 0 is the entry); traces go by these numbers. A
 * struct spec is read-only once it is made; it owns all that it points to, release it with spec_free. Any number of
 * threads may read one. Reading believes nothing: what spec_read accepts has every index in its range.
 *
 * On disk: doc/format/spec.md. */
#ifndef STEMMA_SPEC_SPEC_H
#define STEMMA_SPEC_SPEC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define SPEC_NONE UINT32_MAX
#define SPEC_SECTION ".stemma.spec"  /* of a program: its specification, as in a file */
#define SPEC_BITCODE ".stemma.bc"    /* of an object: its bitcode; the linker leaves it out */
#define SPEC_BUILD_ID_MAX 64         /* bytes */
#define SPEC_NODES_MAX (1u << 17)    /* of a function: what a word of a trace can name */
#define SPEC_OUTCOMES_MAX (1u << 12) /* of a decision, likewise */

enum spec_kind {
	SPEC_ENTRY,
	SPEC_RETURN,   /* also the end of an exception's way through the function */
	SPEC_CALL,     /* of functions of the program that can reach a system call: targets */
	SPEC_SYSCALL,  /* of a library function that can reach one, or of one that nothing is known of (SPEC_UNKNOWN) */
	SPEC_DECISION, /* its edges have outcomes */
	SPEC_EPSILON,  /* nothing happens here; kept because removing it would add edges. Traces never name it */
	SPEC_KINDS
};

enum {
	SPEC_INDIRECT = 1,       /* call through a pointer */
	SPEC_UNKNOWN = 2,        /* of a call: it may also end in functions that the specification does not have */
	SPEC_NORETURN = 4,       /* of a call: does not come back; of a function likewise */
	SPEC_CALLBACK = 8,       /* of a call: a library function that may call the targets */
	SPEC_TWICE = 16,         /* of a call: may come back more than once (setjmp, vfork) */
	SPEC_LOOP = 32,          /* of a decision: at least one outcome leads back to it through a loop's head */
	SPEC_UNRECORDED = 64,    /* of a decision: has too many outcomes for a trace; a gap */
	SPEC_INEXACT_LINE = 128, /* the compiler gave no line; it is that of what stands before */
	SPEC_SOURCE_TRUTH = 256, /* of a decision: true and false are the source's; else those of `condition` alone */
};

struct spec_edge {
	uint32_t to;       /* node */
	uint32_t outcome;  /* of a decision, from 0; else 0. Outcomes of a branch: 0 true, 1 false */
	const char *label; /* "true", "false", "case 3, 4", "default", "goto 2"; "" where there is one way only */
};

struct spec_node {
	uint8_t kind; /* enum spec_kind */
	uint16_t flags;
	uint32_t file;                /* SPEC_NONE: not known */
	uint32_t line, column;        /* from 1; 0 not known */
	const char *name;             /* of a call: what is called, as the linker knows it; "" through a pointer */
	const char *condition;        /* of a decision: how it is decided, "slt i32", "switch i32", "fcmp olt double", ""; a
	                               * comparison holds for outcome 0 */
	const char *words;            /* of a decision: the condition as the source has it, "d < tol"; "" not known */
	uint32_t first_edge, n_edges; /* in spec->edges */
	uint32_t first_target, n_targets; /* in spec->targets: functions, ascending */
};

struct spec_function {
	const char *name; /* as the linker knows it; of a static function FILE:NAME is not made: names may occur twice */
	uint16_t flags;
	uint32_t file, line;
	uint32_t first_node, n_nodes; /* in spec->nodes */
};

/* What the reduction did: the paper's Table I and Fig. 12. "before" is the graph of all that has a line in LLVM's
 * form of the program, a node for each instruction. */
struct spec_stats {
	uint64_t functions, functions_kept;
	uint64_t instructions, nodes; /* before, after; without decisions and epsilon nodes: nodes - decisions - epsilons */
	uint64_t edges, edges_kept;   /* between instructions; between nodes */
	uint64_t back_edges, back_edges_kept;
	uint64_t recursive;                            /* functions that can come back to themselves */
	uint64_t calls, syscalls, decisions, epsilons; /* nodes by kind */
	uint64_t branches;                             /* of the functions that were kept: all that there were */
	uint64_t indirect, indirect_unresolved;
	uint64_t paper_edges;       /* edges if Algorithm 1 were followed to the letter */
	uint64_t epsilon_edges;     /* edges if decisions were not kept, but epsilon nodes */
	uint64_t modules, no_lines; /* of bitcode; of these, without lines */
};

struct spec {
	char *producer; /* "stemma 0.1.0, LLVM 14" */
	unsigned char build_id[SPEC_BUILD_ID_MAX];
	uint32_t n_build_id; /* bytes, 0 not known (the one embedded in a program never knows it) */
	uint64_t id;         /* hash of all but the build-id: what traces are made with */
	const char **files;  /* as the compiler was told them, absolute where its folder is known */
	uint32_t n_files;
	struct spec_function *functions;
	uint32_t n_functions;
	uint32_t main; /* function, SPEC_NONE: none (a library) */
	struct spec_node *nodes;
	uint32_t n_nodes;
	struct spec_edge *edges;
	uint32_t n_edges;
	uint32_t *targets;
	uint32_t n_targets;
	const char **gaps; /* what could not be told, in words; n_gaps 0: all was */
	uint32_t n_gaps;
	/* Functions of the program that are in no graph, as they reach no system call: what they decide is in no trace. Of
	 * specifications from before they were listed there are none, though stats counts some. */
	const char **unexamined;
	uint32_t n_unexamined;
	struct spec_stats stats;
	char *strings; /* that the names are in */
};

/* A node of a function. */
static inline const struct spec_node *spec_node(const struct spec *s, uint32_t function, uint32_t node)
{
	return &s->nodes[s->functions[function].first_node + node];
}
/* The i-th edge of a node. */
static inline const struct spec_edge *spec_edge(const struct spec *s, const struct spec_node *n, uint32_t i)
{
	return &s->edges[n->first_edge + i];
}
/* "" where it is not known. */
static inline const char *spec_file(const struct spec *s, uint32_t file)
{
	return file < s->n_files ? s->files[file] : "";
}
/* Where the outcome leads, as an edge; NULL there is none. */
const struct spec_edge *spec_outcome(const struct spec *s, const struct spec_node *n, uint32_t outcome);
/* "call", "decision", ... */
const char *spec_kind_name(unsigned kind);

/* Bytes of a file. 0, -EBADMSG (with a sentence: not one, damaged, of a later version) or -ENOMEM. */
int spec_read(const void *p, size_t n, struct err *err, struct spec **ret);
/* Reads the specification in a file: that, or an ELF program that has one in it. 0; -ENODATA: a program without; as
 * spec_read. */
int spec_load(const char *path, struct err *err, struct spec **ret);
/* Appends the bytes of a file; id is that of what is written. 0 or -ENOMEM. */
int spec_write(const struct spec *s, struct buf *out, uint64_t *ret_id);
void spec_free(struct spec *s);

#endif
