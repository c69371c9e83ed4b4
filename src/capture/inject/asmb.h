/* asmb.h - puts the bytes of injected code together, x86-64. Internal to capture.
 *
 * What does not fit, and what is too far from where it is to lie, is remembered in `far`: asked once, at the end. */
#ifndef STEMMA_CAPTURE_INJECT_ASMB_H
#define STEMMA_CAPTURE_INJECT_ASMB_H

#include "capture/inject/sites.h"

struct asmb {
	struct stubs *s; /* behind whose bytes the next ones go */
	uint64_t code;   /* where its first byte is to lie */
	bool far;
};

void asmb_bytes(struct asmb *a, const void *p, size_t n);
void asmb_u32(struct asmb *a, uint32_t v);
/* The displacement of an operand that ends the instruction here. */
void asmb_displacement(struct asmb *a, uint64_t target);
void asmb_jump(struct asmb *a, uint64_t target);
#define ASMB(a, ...) asmb_bytes(a, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

#endif
