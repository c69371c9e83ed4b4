/* outputs.h - the files that a run left, and what is known of their bytes.
 *
 * What a run told digests of (`--digest`) and what the record saw it write, each file once. A file of the second kind
 * counts where it had its name when the run had ended, is no system file, and is regular. Its digest is the one that a
 * run told of the same version, else that of the file where it still is as recorded (content.h).
 *
 * Cost: 10 us a version that the run made, and the reading of the files that have no digest. */
#ifndef STEMMA_TRUST_OUTPUTS_H
#define STEMMA_TRUST_OUTPUTS_H

#include "trust/witness.h"

enum output_by {
	OUTPUT_BY_DIGEST, /* the record has one */
	OUTPUT_BY_BYTES,  /* of the file as it lies: it still is as recorded */
	OUTPUT_BY_PRINTED,
	OUTPUT_BY_SIZE,
	OUTPUT_BY_NAME,
};
const char *output_by_name(enum output_by by);

struct output {
	char *name, *path;        /* name: relative to the working directory of the run, where it lies below */
	char digest[DIGEST_TEXT]; /* "" not known */
	enum output_by by;        /* what is known of it; not PRINTED */
	uint64_t size;            /* where it is by DIGEST, BYTES or SIZE; 0 else */
	store_id file;            /* 0 not known */
	bool told;                /* the run told of it */
	bool sure;                /* it is certain that it was written, under this name */
	bool written, opened;     /* an execution of the run did so; opened: by itself */
	bool renamed;             /* it has another name since: this one is what it is called now */
};
struct outputs {
	struct output *v;
	size_t n, cap;
	/* The record says which files the run made. False: only processes were recorded, or digests told. */
	bool seen;
};

/* Finds the outputs of a run: files, with digests or sizes. 0 or -errno. Release ret in any case. */
int outputs_of(struct store *s, store_id run, const struct witness_options *o, struct outputs *ret);
void outputs_release(struct outputs *o);
/* The output of that name, NULL. */
const struct output *outputs_find(const struct outputs *o, const char *name);
/* One that was renamed since and has the bytes of `like`, NULL. */
const struct output *outputs_find_renamed(const struct outputs *o, const struct output *like);
/* It was handed to the command open, as by a shell's redirection, and the command did not open it. */
bool output_is_handed(const struct output *x);

#endif
