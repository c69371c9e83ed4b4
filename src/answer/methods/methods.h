/* methods.h - what the methods section of a paper says of a file: the programs that made it, in order, with versions
 * and settings, what they read, and where they ran.
 *
 * All of it is from the record, but for the versions of programs: see software/software.h. What is not known stays
 * unknown, and is never left out.
 *
 * Cost: one walk over the lineage, and what lineage, shape and software cost. */
#ifndef STEMMA_ANSWER_METHODS_METHODS_H
#define STEMMA_ANSWER_METHODS_METHODS_H

#include "answer/js.h"
#include "answer/source.h"
#include "base/digest.h"
#include "software/software.h"

enum methods_role {
	METHODS_PROGRAM, /* it made or changed data */
	METHODS_SHELL,   /* a shell, or a launcher: it started others, or opened files for them */
	METHODS_ENGINE,  /* of a workflow: snakemake, make, ... */
	METHODS_ROLES
};
/* "program", ... */
extern const char *const methods_role_name[METHODS_ROLES];

/* Texts with a NUL behind each. */
struct methods_texts {
	struct buf b;
	size_t n;
};
/* The next one, from *pos on; NULL at the end. */
const char *methods_next(const struct methods_texts *t, size_t *pos);

/* Executions of one program with the same settings: their command lines differ in names of files at most. */
struct methods_step {
	enum methods_role role;
	store_id exec;              /* the first that started */
	uint64_t times;             /* executions */
	uint32_t program;           /* in software.files; VEC_NONE: not known */
	uint32_t script;            /* the same */
	int64_t start;              /* of the first */
	bool sure;                  /* that one of them took part */
	struct pubid pub;           /* of the first */
	struct buf name;            /* of the program, as it was called, without folders */
	struct methods_texts words; /* of the command, the program's name first; a name of a file in which they differ is
	                             * "…" and the ending that all have */
	struct methods_texts key;   /* the words, names of files as they count for equality */
	struct methods_texts environment; /* NAME=VALUE, of variables that change results */
};

struct methods_file {
	store_id version;
	bool script; /* a program's text, and no data */
	bool sure;
	bool has_digest; /* recorded */
	struct digest digest;
};

/* A machine as a run described it. */
struct methods_machine {
	struct buf host;
	struct methods_texts about; /* key=value */
};

struct methods {
	struct methods_file file; /* the file that was asked for */
	struct software software;
	VEC(uint32_t) modules; /* packages of the modules that they loaded, in software.packages: by name, each once */
	VEC(struct methods_step) steps;       /* by start; workflow systems that started one of them, too */
	VEC(struct methods_file) inputs;      /* made by nobody that was seen: by path */
	VEC(struct methods_machine) machines; /* each once */
	size_t streams;                       /* sockets and terminals that data came from, whose other end was not seen */
	uint64_t gaps;                        /* bits of term gap, of all executions */
	int64_t start;                        /* of the first step; TIME_NONE */
};

/* The file whose package is told of a step: a script that a package brought, or the program (then of a script of
 * nobody's package the interpreter). NULL: it is not known. */
const struct software_file *methods_step_file(const struct methods *m, const struct methods_step *step);
/* Finds what a methods section says about a version: its steps, inputs, programs and machines. 0, and *ret is to be
 * released; -errno. */
int methods_find(const struct answer_source *a, store_id version, struct methods *ret);
void methods_release(struct methods *m);
/* The answer of `stemma methods --format json`; a new reference. 0 or -errno. */
int methods_json(const struct answer_source *a, const struct methods *m, json_t **ret);

#endif
