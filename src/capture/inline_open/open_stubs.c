/* The stubs near a library, by which its opens come to the code of open_code.c. */
#include "capture/inline_open/open_code.h"

#include "capture/inject/asmb.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__)

/* The process's own page into %r11. */
static void own_address(struct asmb *a) /* movabs $,%r11 */
{
	uint64_t own = OPENS_OWN;
	ASMB(a, 0x49, 0xbb);
	asmb_bytes(a, &own, sizeof(own));
}

/* A short jump whose target comes later. */
static size_t emit_forward_jump(struct asmb *a, unsigned char opcode)
{
	ASMB(a, opcode, 0);
	return a->s->n;
}

/* A jump of one byte ahead, which ends at `from`, leads here. Too far for it: a->far. */
static void patch_open_jump(struct asmb *a, size_t from)
{
	size_t d = a->s->n - from;
	a->far |= d > 127;
	a->s->code[from - 1] = (unsigned char)d;
}

/* The address of the process's log to %r11; a short jump, if it has none. */
static size_t no_log(struct asmb *a)
{
	own_address(a);
	ASMB(a, 0x4d, 0x8b, 0x1b);         /* mov (%r11),%r11 */
	ASMB(a, 0x4d, 0x85, 0xdb);         /* test %r11,%r11 */
	return emit_forward_jump(a, 0x74); /* je */
}

/* Addresses, at the beginning of the stubs. */
enum head { HEAD_CODE, HEAD_OWN, HEAD_PREPARE, HEAD_DONE, HEAD_SHUT, HEAD_THREAD, HEADS };
static const enum opens_routine routine_of[HEADS] = {[HEAD_CODE] = OPENS_CODE,
                                                     [HEAD_PREPARE] = OPENS_PREPARE,
                                                     [HEAD_DONE] = OPENS_DONE,
                                                     [HEAD_SHUT] = OPENS_SHUT,
                                                     [HEAD_THREAD] = OPENS_THREAD};

/* Calls one of the addresses at the head of the stub. */
static void emit_head_call(struct asmb *a, enum head which)
{
	ASMB(a, 0xff, 0x15); /* call *(%rip) */
	asmb_u32(a, (uint32_t)(8u * which - (a->s->n + 4)));
}

/* Emits a call of the code whose address is at the head of the stub. */
static void call_code(struct asmb *a)
{
	emit_head_call(a, HEAD_CODE);
}

/* The call, made by the code: path and flags are in rsi and rdx. */
static void made_call(struct asmb *a)
{
	ASMB(a, 0xbf, 0x9c, 0xff, 0xff, 0xff); /* mov $AT_FDCWD,%edi */
	ASMB(a, 0xb8, 0x01, 0x01, 0, 0);       /* mov $257,%eax */
	call_code(a);
}

/* Writes the code that opens a file and logs it without a stop. call: where it is made, if not here; made: where it
 * goes on if it was. threads: those may have logs. */
static void open_body(struct asmb *a, uint64_t call, uint64_t made_at, bool threads)
{
	ASMB(a, 0xb8, 0x01, 0x01, 0, 0); /* mov $257,%eax */
	ASMB(a, 0xf7, 0xc2);             /* test $,%edx */
	asmb_u32(a, OPENS_FLAGS_NOT);
	size_t slow1 = emit_forward_jump(a, 0x75); /* jne */
	size_t none = no_log(a);
	ASMB(a, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp),%rsp: what may lie below the stack stays */
	call_code(a);
	size_t both = a->s->n;
	ASMB(a, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 128(%rsp),%rsp */
	ASMB(a, 0x4d, 0x85, 0xdb);
	size_t made = emit_forward_jump(a, 0x75); /* jne */
	patch_open_jump(a, slow1);
	if (!threads)
		patch_open_jump(a, none);
	const size_t slow = a->s->n;
	asmb_jump(a, call);
	if (threads) { /* it may be one of several, with a log of its own, in which no folders are known */
		patch_open_jump(a, none);
		ASMB(a, 0x83, 0xff, 0x9c); /* cmp $AT_FDCWD,%edi */
		ASMB(a, 0x75, (unsigned char)(slow - (a->s->n + 2)));
		ASMB(a, 0x48, 0x8d, 0x64, 0x24, 0x80);
		emit_head_call(a, HEAD_THREAD);
		ASMB(a, 0xeb, (unsigned char)(both - (a->s->n + 2)));
	}
	patch_open_jump(a, made);
	asmb_jump(a, made_at);
}

/* Writes the code of open_body for musl, whose number and arguments are those of open(path, flags); its bytes are
 * what stands before the call. */
static void musl_body(struct asmb *a, uint64_t call, uint64_t made_at)
{
	asmb_bytes(a, SITES_LARGE, LARGE_BYTES);
	ASMB(a, 0x83, 0xf8, 2);                    /* cmp $2,%eax */
	size_t slow1 = emit_forward_jump(a, 0x75); /* jne */
	ASMB(a, 0xf7, 0xc6);                       /* test $,%esi */
	asmb_u32(a, OPENS_FLAGS_NOT);
	size_t slow2 = emit_forward_jump(a, 0x75);
	size_t slow3 = no_log(a);
	ASMB(a, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp),%rsp */
	ASMB(a, 0x57, 0x56, 0x52);             /* push %rdi, %rsi, %rdx */
	ASMB(a, 0x48, 0x89, 0xf2);             /* mov %rsi,%rdx */
	ASMB(a, 0x48, 0x89, 0xfe);             /* mov %rdi,%rsi */
	made_call(a);
	ASMB(a, 0x5a, 0x5e, 0x5f);                      /* pop %rdx, %rsi, %rdi */
	ASMB(a, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 128(%rsp),%rsp */
	ASMB(a, 0x4d, 0x85, 0xdb);
	size_t made = emit_forward_jump(a, 0x75);
	ASMB(a, 0xb8, 2, 0, 0, 0); /* mov $2,%eax */
	patch_open_jump(a, slow1);
	patch_open_jump(a, slow2);
	patch_open_jump(a, slow3);
	asmb_jump(a, call);
	patch_open_jump(a, made);
	asmb_jump(a, made_at);
}

/* The function of musl's that makes every call in which a thread can be cancelled: number and arguments as a function
 * has them. made_at: where it goes on; 0: it returns. A thread that is to be cancelled is, by the function. */
static void emit_open_cancel_body(struct asmb *a, const struct site *t, uint64_t slow_at, uint64_t made_at)
{
	ASMB(a, 0x83, 0xff, 2);                   /* cmp $2,%edi: open */
	size_t open = emit_forward_jump(a, 0x74); /* je */
	ASMB(a, 0x81, 0xff, 1, 1, 0, 0);
	size_t slow1 = emit_forward_jump(a, 0x75);
	ASMB(a, 0x83, 0xfe, 0x9c); /* cmp $AT_FDCWD,%esi */
	size_t slow2 = emit_forward_jump(a, 0x75);
	ASMB(a, 0x57, 0x56, 0x52, 0x51); /* push %rdi, %rsi, %rdx, %rcx */
	ASMB(a, 0x48, 0x89, 0xd6);       /* mov %rdx,%rsi */
	ASMB(a, 0x48, 0x89, 0xca);       /* mov %rcx,%rdx */
	size_t both = emit_forward_jump(a, 0xeb);
	patch_open_jump(a, open);
	ASMB(a, 0x57, 0x56, 0x52, 0x51);
	patch_open_jump(a, both);
	ASMB(a, 0xf7, 0xc2); /* test $,%edx */
	asmb_u32(a, OPENS_FLAGS_NOT);
	size_t undo1 = emit_forward_jump(a, 0x75), undo2 = 0;
	if (t->slot) {
		ASMB(a, 0x64, 0x4c, 0x8b, 0x1c, 0x25, 0, 0, 0, 0); /* mov %fs:0,%r11 */
		ASMB(a, 0x41, 0x83, 0x7b, t->slot, 0);             /* cmpl $0,slot(%r11) */
		undo2 = emit_forward_jump(a, 0x75);
	}
	size_t undo3 = no_log(a);
	made_call(a);
	ASMB(a, 0x4d, 0x85, 0xdb);
	size_t undo4 = emit_forward_jump(a, 0x74);
	ASMB(a, 0x48, 0x8d, 0x64, 0x24, 4 * 8); /* lea 32(%rsp),%rsp */
	if (made_at)
		asmb_jump(a, made_at);
	else
		ASMB(a, 0xc3);
	patch_open_jump(a, undo1);
	if (undo2)
		patch_open_jump(a, undo2);
	patch_open_jump(a, undo3);
	patch_open_jump(a, undo4);
	ASMB(a, 0x59, 0x5a, 0x5e, 0x5f); /* pop %rcx, %rdx, %rsi, %rdi */
	patch_open_jump(a, slow1);
	patch_open_jump(a, slow2);
	asmb_jump(a, slow_at);
}

/* A short jump if the thread can be cancelled anywhere, or (bits) is to be cancelled. */
static size_t emit_cancelled(struct asmb *a, uint32_t cancel, unsigned char bits)
{
	ASMB(a, 0x64, 0x4c, 0x8b, 0x1c, 0x25, 0x10, 0, 0, 0); /* mov %fs:0x10,%r11 */
	ASMB(a, 0x41, 0xf6, 0x83);                            /* testb $,cancel(%r11) */
	asmb_u32(a, cancel);
	ASMB(a, bits);
	return emit_forward_jump(a, 0x75); /* jne */
}

/* An argument to the register number reg, of rsi and rdx. */
static void emit_place(struct asmb *a, struct framed_place p, unsigned reg, bool wide)
{
	const unsigned char rex = (wide ? 8 : 0) | (p.reg != SITE_NONE && p.reg >= 8 ? 1 : 0);
	if (rex)
		ASMB(a, 0x40 | rex);
	if (p.reg == SITE_NONE)
		ASMB(a, 0x8b, (unsigned char)(0x44 | reg << 3), 0x24, p.at); /* mov at(%rsp),%reg */
	else
		ASMB(a, 0x8b, (unsigned char)(0xc0 | reg << 3 | (p.reg & 7))); /* mov %from,%reg */
}

enum { RDX = 2, RSI = 6, RDI = 7, CANCELLED = 8, ANYWHERE = 2 };

/* Instead of the call of the function by which the time begins in which the thread can be cancelled: prepares, marks
 * the call by its mode, and calls that function as if it had been called there. */
static void emit_framed_begin(struct asmb *a, const struct framed_open *f, uint32_t cancel, uint64_t base)
{
	size_t slow[4], n = 0;
	slow[n++] = emit_cancelled(a, cancel, ANYWHERE | CANCELLED);
	emit_place(a, f->flags, RDX, false);
	ASMB(a, 0xf7, 0xc2); /* test $,%edx */
	asmb_u32(a, OPENS_FLAGS_NOT);
	slow[n++] = emit_forward_jump(a, 0x75);
	if (!f->here) {
		emit_place(a, f->folder, RDI, false);
		ASMB(a, 0x83, 0xff, 0x9c); /* cmp $AT_FDCWD,%edi */
		slow[n++] = emit_forward_jump(a, 0x75);
	}
	emit_place(a, f->path, RSI, true);
	ASMB(a, 0x49, 0x89, 0xe0); /* mov %rsp,%r8 */
	emit_head_call(a, HEAD_PREPARE);
	ASMB(a, 0x4d, 0x85, 0xdb); /* test %r11,%r11 */
	slow[n++] = emit_forward_jump(a, 0x74);
	ASMB(a, 0xc7, 0x44, 0x24, f->mode); /* movl $OPENS_MODE,mode(%rsp) */
	asmb_u32(a, OPENS_MODE);
	for (size_t i = 0; i < n; i++)
		patch_open_jump(a, slow[i]);
	ASMB(a, 0x4c, 0x8d, 0x1d); /* lea (%rip),%r11: behind the call */
	asmb_displacement(a, base + f->begin + LOAD_BYTES);
	ASMB(a, 0x41, 0x53); /* push %r11 */
	asmb_jump(a, base + f->begins);
}

/* Emits what stands behind the call of the one that ends it, with the result in eax. */
static void emit_framed_end(struct asmb *a, const struct framed_open *f, uint32_t cancel, uint64_t base)
{
	size_t out = emit_cancelled(a, cancel, ANYWHERE);
	ASMB(a, 0x89, 0xc2);                      /* mov %eax,%edx */
	ASMB(a, 0x83, 0xf8, 0xff);                /* cmp $-1,%eax */
	size_t made = emit_forward_jump(a, 0x75); /* jne */
	ASMB(a, 0x48, 0x8b, 0x0d);                /* mov error(%rip),%rcx */
	asmb_displacement(a, base + f->error);
	ASMB(a, 0x64, 0x8b, 0x11); /* mov %fs:(%rcx),%edx */
	ASMB(a, 0xf7, 0xda);       /* neg %edx */
	patch_open_jump(a, made);
	emit_place(a, f->path, RSI, true);
	ASMB(a, 0x49, 0x89, 0xe0); /* mov %rsp,%r8 */
	emit_head_call(a, HEAD_DONE);
	patch_open_jump(a, out);
	asmb_jump(a, base + f->back);
}

bool opens_wants(const struct site *t)
{
	return (t->kind == SITE_OPEN && (t->nr == 257 || t->nr == 2) && t->loaded) ||
	       (t->kind == SITE_CANCEL && t->loaded) || t->kind == SITE_MARK;
}

/* The offset from which it is jumped. */
uint64_t opens_from(const struct site *t)
{
	return t->kind != SITE_OPEN ? t->offset : t->offset - (t->nr == 2 ? LARGE_BYTES : LOAD_BYTES);
}

void opens_before(const struct site *t, unsigned char ret[LOAD_BYTES])
{
	static const unsigned char load[LOAD_BYTES] = {0xb8, 1, 1}; /* 257 */
	memcpy(ret, t->nr == 2 ? (const unsigned char *)SITES_LARGE : load, LOAD_BYTES);
}

int opens_stubs(const struct sites *s, uint64_t base, uint64_t code, const struct stubs *counted, uint64_t counted_code,
                struct stubs *ret)
{
	struct asmb a = {.s = ret, .code = code};
	uint64_t head[HEADS];
	const bool threads = !counted && s->nframed && s->cancel;
	for (int i = 0; i < HEADS; i++)
		head[i] = i == HEAD_OWN ? OPENS_OWN : opens_routine_at(routine_of[i]);
	ret->n = 0;
	asmb_bytes(&a, head, sizeof(head));
	memset(ret->framed, 0, sizeof(ret->framed));
	for (size_t i = 0; i < s->n; i++) {
		const struct site *t = &s->site[i];
		ret->at[i] = 0;
		if (!opens_wants(t))
			continue;
		while (ret->n % 16 && !a.far)
			ASMB(&a, 0xcc);
		ret->at[i] = (uint16_t)ret->n;
		if (t->kind == SITE_MARK) {
			own_address(&a);
			ASMB(&a, 0x49, 0xc7, 0x03, 0, 0, 0, 0); /* movq $0,(%r11) */
			if (threads)
				emit_head_call(&a, HEAD_SHUT);
			if (counted) {
				asmb_jump(&a, counted_code + counted->at[i]);
			} else {
				asmb_bytes(&a, t->bytes, t->taken);
				asmb_jump(&a, base + t->offset + t->taken);
			}
		} else if (t->kind == SITE_CANCEL) {
			emit_open_cancel_body(&a, t, counted ? counted_code + counted->at[i] : base + t->target,
			                      counted ? counted_code + counted->logged[i] : 0);
		} else {
			const uint64_t call = base + t->offset, made = counted ? counted_code + counted->logged[i] : call + 2;
			if (t->nr == 2)
				musl_body(&a, call, made);
			else
				open_body(&a, call, made, threads);
		}
		int64_t d = (int64_t)(code + ret->at[i] - (base + opens_from(t) + 5));
		a.far |= d != (int32_t)d;
	}
	for (size_t i = 0; threads && i < s->nframed; i++) {
		ret->framed[i][0] = (uint16_t)ret->n;
		emit_framed_begin(&a, &s->framed[i], s->cancel, base);
		ret->framed[i][1] = (uint16_t)ret->n;
		emit_framed_end(&a, &s->framed[i], s->cancel, base);
	}
	return a.far ? -ERANGE : 0;
}

#else

bool opens_wants(const struct site *t)
{
	(void)t;
	return false;
}

/* On other processors nothing is jumped from. */
uint64_t opens_from(const struct site *t)
{
	return t->offset;
}

void opens_before(const struct site *t, unsigned char ret[LOAD_BYTES])
{
	(void)t;
	memset(ret, 0, LOAD_BYTES);
}

int opens_stubs(const struct sites *s, uint64_t base, uint64_t code, const struct stubs *counted, uint64_t counted_code,
                struct stubs *ret)
{
	(void)s, (void)base, (void)code, (void)counted, (void)counted_code, (void)ret;
	return -ERANGE;
}

#endif
