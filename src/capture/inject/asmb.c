#include "capture/inject/asmb.h"

#include <string.h>

/* Appends to the code. What does not fit is left out and sets a->far. */
void asmb_bytes(struct asmb *a, const void *p, size_t n)
{
	if (a->s->n + n > STUBS_SIZE) {
		a->far = true;
		return;
	}
	memcpy(a->s->code + a->s->n, p, n);
	a->s->n += n;
}

/* Little-endian, as this processor has it. */
void asmb_u32(struct asmb *a, uint32_t v)
{
	asmb_bytes(a, &v, sizeof(v));
}

void asmb_displacement(struct asmb *a, uint64_t target)
{
	int64_t d = (int64_t)(target - (a->code + a->s->n + 4));
	a->far |= d != (int32_t)d;
	asmb_u32(a, (uint32_t)d);
}

/* jmp, five bytes. */
void asmb_jump(struct asmb *a, uint64_t target)
{
	ASMB(a, 0xe9);
	asmb_displacement(a, target);
}
