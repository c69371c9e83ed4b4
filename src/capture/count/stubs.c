#include "capture/inject/asmb.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct counted_row) == 64, "the code shifts by 6");
static_assert(sizeof(struct counted_entry) == 128, "the code shifts by 7");
static_assert(offsetof(struct counted_entry, kind) == 8 && offsetof(struct counted_entry, fd) == 12 &&
                  offsetof(struct counted_entry, value) == 16 && offsetof(struct counted_entry, row) == 24,
              "as the code has it");
static_assert(offsetof(struct counted_entry, tid) == 88 && offsetof(struct counted_entry, flying) == 92 &&
                  offsetof(struct counted_entry, to) == 96,
              "as the code has it");
static_assert(offsetof(struct counted_table, row) == 64, "behind one cache line");

#define DELTA(a) ((a)->table + offsetof(struct counted_table, delta))

#define CONSTANTS 24 /* at the code's beginning: where rows, entries and the calls under way are */
#define AT_ROWS 0
#define AT_LOG 8
#define AT_FLYING 16
#define CLONE_THREADS 0x10000 /* CLONE_THREAD */
#define LOCK 0xf0

struct counting {
	struct asmb to;
	uint32_t tid; /* where the thread pointer has the thread's number */
	uint64_t table;
	bool made; /* the call has been made: what it gave is in rax */
};

#define EMIT(a, ...) ASMB(&(a)->to, __VA_ARGS__)

/* A conditional jump, by its short form's opcode, whose target comes later. */
static size_t jump_ahead(struct counting *a, unsigned char opcode)
{
	EMIT(a, 0x0f, (unsigned char)(opcode + 0x10), 0, 0, 0, 0);
	return a->to.s->n;
}

static size_t jump_ahead_always(struct counting *a)
{
	EMIT(a, 0xe9, 0, 0, 0, 0);
	return a->to.s->n;
}

static void patch_stub_jump(struct counting *a, size_t from) /* 0: there is none */
{
	uint32_t d = (uint32_t)(a->to.s->n - from);
	if (from)
		memcpy(a->to.s->code + from - 4, &d, sizeof(d));
}

/* Adds where the rows or the entries are to r11, or to rax. */
static void add_place(struct counting *a, bool r11, unsigned at)
{
	const uint64_t from[2] = {a->to.code + at, DELTA(a)};
	for (int i = 0; i < 2; i++) {
		if (r11)
			EMIT(a, 0x4c, 0x03, 0x1d); /* add from(%rip),%r11 */
		else
			EMIT(a, 0x48, 0x03, 0x05);
		asmb_displacement(&a->to, from[i]);
	}
}

/* Has a thread been made? Jumps ahead if not. */
static size_t unless_threads(struct counting *a)
{
	EMIT(a, 0x80, 0x3d); /* cmpb $0,threads(%rip), whose lowest byte that is not 0 is the third: CLONE_THREAD */
	int64_t d = (int64_t)(a->table + offsetof(struct counted_table, threads) + 2 - (a->to.code + a->to.s->n + 5));
	a->to.far |= d != (int32_t)d;
	asmb_u32(&a->to, (uint32_t)d);
	EMIT(a, 0);
	return jump_ahead(a, 0x74); /* je */
}

/* Takes the next entry: its address in r11, its number in ecx. Taken by one instruction, so that a signal's handler
 * that comes between takes another; locked where another thread may. */
static void take_entry(struct counting *a, unsigned kind, bool single)
{
	EMIT(a, 0x41, 0xbb, 1, 0, 0, 0); /* mov $1,%r11d */
	if (!single)
		EMIT(a, LOCK);
	EMIT(a, 0x44, 0x0f, 0xc1, 0x1d); /* xadd %r11d,pos(%rip) */
	asmb_displacement(&a->to, a->table + offsetof(struct counted_table, pos));
	EMIT(a, 0x44, 0x89, 0xd9); /* mov %r11d,%ecx */
	EMIT(a, 0x41, 0x81, 0xe3); /* and $,%r11d */
	asmb_u32(&a->to, COUNTED_LOG - 1);
	EMIT(a, 0x41, 0xc1, 0xe3, 7); /* shl $7,%r11d */
	add_place(a, true, AT_LOG);
	EMIT(a, 0x41, 0xc7, 0x43, 8); /* movl $kind,8(%r11) */
	asmb_u32(&a->to, kind);
	if (!a->tid || single)
		return;
	size_t none = unless_threads(a);
	EMIT(a, 0x41, 0x89, 0x4b, 4);    /* mov %ecx,4(%r11) */
	EMIT(a, 0x64, 0x8b, 0x0c, 0x25); /* mov %fs:tid,%ecx */
	asmb_u32(&a->to, a->tid);
	EMIT(a, 0x41, 0x89, 0x4b, 88); /* mov %ecx,88(%r11) */
	EMIT(a, 0x41, 0x8b, 0x4b, 4);  /* mov 4(%r11),%ecx */
	patch_stub_jump(a, none);
}

static void finish_entry(struct counting *a)
{
	EMIT(a, 0xff, 0xc1);       /* inc %ecx */
	EMIT(a, 0x41, 0x89, 0x0b); /* mov %ecx,(%r11) */
}

/* Copies the row of the descriptor in eax into the entry, and before it how many calls are under way there; eax, ecx
 * are lost, the number is kept in the entry. */
static void copy_row(struct counting *a)
{
	EMIT(a, 0x41, 0x89, 0x4b, 4); /* mov %ecx,4(%r11) */
	EMIT(a, 0x89, 0xc1);          /* mov %eax,%ecx */
	EMIT(a, 0xc1, 0xe0, 2);       /* shl $2,%eax */
	add_place(a, false, AT_FLYING);
	EMIT(a, 0x8b, 0x00);           /* mov (%rax),%eax */
	EMIT(a, 0x41, 0x89, 0x43, 92); /* mov %eax,92(%r11) */
	EMIT(a, 0x89, 0xc8);           /* mov %ecx,%eax */
	EMIT(a, 0xc1, 0xe0, 6);        /* shl $6,%eax */
	add_place(a, false, AT_ROWS);
	for (unsigned char i = 0; i < 64; i += 8) {
		EMIT(a, 0x48, 0x8b, 0x48, i);                       /* mov i(%rax),%rcx */
		EMIT(a, 0x49, 0x89, 0x4b, (unsigned char)(24 + i)); /* mov %rcx,24+i(%r11) */
	}
	EMIT(a, 0x41, 0x8b, 0x4b, 4); /* mov 4(%r11),%ecx */
}

/* The place of a descriptor's row, or of its calls under way, in r11, which has its number. */
static void emit_row_address(struct counting *a, unsigned at)
{
	EMIT(a, 0x41, 0x81, 0xfb); /* cmp $,%r11d */
	asmb_u32(&a->to, COUNTED_FDS);
	EMIT(a, 0x72, 6, 0x41, 0xbb); /* jb over: mov $,%r11d */
	asmb_u32(&a->to, COUNTED_FDS);
	EMIT(a, 0x41, 0xc1, 0xe3, at == AT_ROWS ? 6 : 2); /* shl $,%r11d */
	add_place(a, true, at);
}

static void emit_register_load(struct counting *a, unsigned reg) /* mov reg,%r11d */
{
	EMIT(a, (unsigned char)(reg >= 8 ? 0x45 : 0x41), 0x89, (unsigned char)(0xc3 | (reg & 7) << 3));
}

/* Emits an addition to a counter of the row in r11. */
static void add_to_row(struct counting *a, unsigned char off, bool single)
{
	if (!single)
		EMIT(a, LOCK);
	EMIT(a, 0x49, 0xff, 0x43, off); /* incq off(%r11) */
	if (!single)
		EMIT(a, LOCK);
	EMIT(a, 0x49, 0x01, 0x43, (unsigned char)(off + 8)); /* add %rax,off+8(%r11) */
}

static void emit_count(struct counting *a, unsigned reg, unsigned char off, bool single)
{
	emit_register_load(a, reg);
	emit_row_address(a, AT_ROWS);
	add_to_row(a, off, single);
}

/* One more call of the descriptor in r11d under way, or one less. */
static void emit_flying(struct counting *a, bool begins)
{
	emit_row_address(a, AT_FLYING);
	EMIT(a, LOCK, 0x41, 0xff, begins ? 0x03 : 0x0b); /* incl, decl (%r11) */
}

static void fly_both(struct counting *a, const struct site *t, bool begins)
{
	const uint8_t reg[2] = {t->from, t->to};
	for (int i = 0; i < 2 && !t->single; i++)
		if (reg[i] != SITE_NONE) {
			emit_register_load(a, reg[i]);
			emit_flying(a, begins);
		}
}

/* The entry of a close of edi, which loses eax and ecx. */
static void close_entry(struct counting *a, bool single)
{
	take_entry(a, SITE_CLOSE, single);
	EMIT(a, 0x41, 0x89, 0x7b, 12); /* mov %edi,12(%r11) */
	EMIT(a, 0x89, 0xf8);           /* mov %edi,%eax */
	copy_row(a);
	finish_entry(a);
}

/* The entry of an open with its result in rax, which stays. */
static void open_entry(struct counting *a, bool single)
{
	take_entry(a, SITE_OPEN, single);
	EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
	EMIT(a, 0x48, 0x3d);           /* cmp $,%rax: a failure is no descriptor either */
	asmb_u32(&a->to, COUNTED_FDS);
	size_t none = jump_ahead(a, 0x73);
	copy_row(a);
	EMIT(a, 0x49, 0x8b, 0x43, 16); /* mov 16(%r11),%rax */
	patch_stub_jump(a, none);
	finish_entry(a);
}

/* Emits what counts on the way of threads; where it goes on from there. */
static void thread_body(struct counting *a, const struct site *t, uint64_t base)
{
	size_t out;
	switch (t->kind) {
	case SITE_BEGIN:
		EMIT(a, 0x89, 0x7c, 0x24, (unsigned char)(t->slot + 8)); /* mov %edi,slot+8(%rsp): it was called */
		emit_register_load(a, 7);
		emit_flying(a, true);
		break;
	case SITE_DONE:
		EMIT(a, 0x8b, 0x4c, 0x24, t->slot); /* mov slot(%rsp),%ecx */
		EMIT(a, 0x48, 0x85, 0xc0);          /* test %rax,%rax */
		out = jump_ahead(a, 0x78);          /* js */
		emit_count(a, 1, (unsigned char)((t->positional ? 32 : 0) + (t->to != SITE_NONE ? 16 : 0)), false);
		patch_stub_jump(a, out);
		emit_register_load(a, 1);
		emit_flying(a, false);
		EMIT(a, 0x48, 0x83, 0xc4, t->frame, 0xc3); /* add $,%rsp; ret */
		return;
	case SITE_SHUT:
		EMIT(a, 0x81, 0xff); /* cmp $,%edi */
		asmb_u32(&a->to, COUNTED_FDS);
		out = jump_ahead(a, 0x73); /* jae */
		close_entry(a, false);
		patch_stub_jump(a, out);
		break;
	default:
		EMIT(a, 0x48, 0x98); /* cltq */
		open_entry(a, false);
		break;
	}
	asmb_jump(&a->to, base + t->target);
}

/* Jumps to behind the entry, where the call makes none; 0: there is none. */
struct skips {
	size_t first, second;
};

static size_t skip_negative(struct counting *a)
{
	EMIT(a, 0x48, 0x85, 0xc0);  /* test %rax,%rax */
	return jump_ahead(a, 0x78); /* js */
}

static size_t skip_not_zero(struct counting *a)
{
	EMIT(a, 0x48, 0x85, 0xc0);
	return jump_ahead(a, 0x75); /* jne */
}

/* Where edi is no descriptor that is counted. */
static size_t skip_high_edi(struct counting *a)
{
	EMIT(a, 0x81, 0xff); /* cmp $,%edi */
	asmb_u32(&a->to, COUNTED_FDS);
	return jump_ahead(a, 0x73); /* jae */
}

/* Another thread may get the number at once: its open is to come later in the log. So with threads the entry comes
 * before the call. */
static size_t emit_close_first(struct counting *a, const struct site *t)
{
	size_t alone = unless_threads(a), high = skip_high_edi(a);
	close_entry(a, false);
	patch_stub_jump(a, high);
	EMIT(a, 0xb8); /* mov $,%eax */
	asmb_u32(&a->to, (uint32_t)t->nr);
	EMIT(a, 0x0f, 0x05);
	size_t done = jump_ahead_always(a);
	patch_stub_jump(a, alone);
	return done;
}

static void emit_moved(struct counting *a, const struct site *t)
{
	size_t failed = skip_negative(a);
	if (t->from != SITE_NONE)
		emit_count(a, t->from, t->positional ? 32 : 0, t->single);
	if (t->to != SITE_NONE)
		emit_count(a, t->to, t->positional ? 48 : 16, t->single);
	patch_stub_jump(a, failed);
	fly_both(a, t, false);
}

static size_t emit_closed(struct counting *a, const struct site *t)
{
	size_t failed = skip_not_zero(a), high = skip_high_edi(a);
	close_entry(a, t->single);
	EMIT(a, 0x31, 0xc0); /* xor %eax,%eax */
	patch_stub_jump(a, failed);
	return high;
}

/* The entry of a call by the descriptor in edi, with its result. */
static void result_entry(struct counting *a, unsigned kind, bool single)
{
	take_entry(a, kind, single);
	EMIT(a, 0x41, 0x89, 0x7b, 12); /* mov %edi,12(%r11) */
	EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
	finish_entry(a);
}

/* The code that enters a dup2 into the log: which one, what was counted of the one that it closes. */
static void emit_dup2(struct counting *a, const struct site *t, struct skips *k)
{
	k->first = skip_negative(a);
	EMIT(a, 0x81, 0xfe); /* cmp $,%esi */
	asmb_u32(&a->to, COUNTED_FDS);
	k->second = jump_ahead(a, 0x73);
	take_entry(a, t->kind, t->single);
	EMIT(a, 0x41, 0x89, 0x7b, 12); /* the old one */
	EMIT(a, 0x49, 0x89, 0x43, 16);
	EMIT(a, 0x89, 0xf0); /* mov %esi,%eax */
	copy_row(a);
	finish_entry(a);
	EMIT(a, 0x89, 0xf0);
}

/* Counts F_DUPFD and F_DUPFD_CLOEXEC as a dup; of all other commands it goes past, by a jump that is added to k. */
static void emit_fcntl(struct counting *a, const struct site *t, struct skips *k)
{
	EMIT(a, 0x85, 0xf6);                   /* test %esi,%esi: F_DUPFD */
	size_t dup = jump_ahead(a, 0x74);      /* je */
	EMIT(a, 0x81, 0xfe, 0x06, 0x04, 0, 0); /* cmp $F_DUPFD_CLOEXEC,%esi */
	k->second = jump_ahead(a, 0x75);       /* jne */
	patch_stub_jump(a, dup);
	k->first = skip_negative(a);
	result_entry(a, SITE_DUP, t->single);
}

static void emit_splice(struct counting *a, const struct site *t, struct skips *k)
{
	k->first = skip_negative(a);
	take_entry(a, t->kind, t->single);
	EMIT(a, 0x41, 0x89, 0x7b, 12);
	EMIT(a, 0x49, 0x89, 0x43, 16);
	EMIT(a, 0x41, 0x89, (unsigned char)(0x43 | t->to << 3), 96); /* mov to,96(%r11) */
	finish_entry(a);
}

/* Two descriptors, where the call has put them. */
static void emit_pair(struct counting *a, const struct site *t, struct skips *k)
{
	k->first = skip_not_zero(a);
	take_entry(a, t->kind, t->single);
	if (t->from >= 8)
		EMIT(a, 0x49, 0x8b, (unsigned char)(t->from & 7)); /* mov (from),%rax */
	else
		EMIT(a, 0x48, 0x8b, t->from);
	EMIT(a, 0x49, 0x89, 0x43, 16);
	finish_entry(a);
	EMIT(a, 0x31, 0xc0); /* xor %eax,%eax */
}

static void emit_map(struct counting *a, const struct site *t, struct skips *k)
{
	EMIT(a, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff); /* cmp $-4095,%rax */
	k->first = jump_ahead(a, 0x73);
	EMIT(a, 0x41, 0xf7, 0xc2, 0x20, 0, 0, 0); /* test $MAP_ANONYMOUS,%r10d */
	k->second = jump_ahead(a, 0x75);
	take_entry(a, t->kind, t->single);
	EMIT(a, 0x45, 0x89, 0x43, 12); /* mov %r8d,12(%r11) */
	EMIT(a, 0x49, 0x89, 0x73, 16); /* mov %rsi,16(%r11) */
	finish_entry(a);
}

static void emit_made(struct counting *a, const struct site *t, struct skips *k)
{
	k->first = skip_negative(a);
	take_entry(a, t->kind, t->single);
	EMIT(a, 0x49, 0x89, 0x43, 16);
	finish_entry(a);
}

/* What is done behind the call, with its result in rax. */
static void emit_after_call(struct counting *a, const struct site *t, struct skips *k)
{
	switch (t->kind) {
	case SITE_MOVE:
		emit_moved(a, t);
		break;
	case SITE_OPEN:
		open_entry(a, t->single);
		break;
	case SITE_CLOSE:
		k->second = emit_closed(a, t);
		break;
	case SITE_DUP2:
		emit_dup2(a, t, k);
		break;
	case SITE_FCNTL:
		emit_fcntl(a, t, k);
		break;
	case SITE_SPLICE:
		emit_splice(a, t, k);
		break;
	case SITE_MADE:
		emit_made(a, t, k);
		break;
	case SITE_PIPE:
	case SITE_PAIR:
		emit_pair(a, t, k);
		break;
	case SITE_DUP:
		k->first = skip_negative(a);
		result_entry(a, t->kind, t->single);
		break;
	case SITE_RANGE:
		k->first = skip_not_zero(a);
		take_entry(a, t->kind, t->single);
		finish_entry(a);
		break;
	case SITE_MAP:
		emit_map(a, t, k);
		break;
	default:
		break;
	}
}

static void emit_stub_body(struct counting *a, const struct site *t, uint16_t *ret_after)
{
	struct skips k = {0, 0};
	if (t->kind == SITE_MOVE)
		fly_both(a, t, true);
	if (t->kind == SITE_CLOSE && !t->single)
		k.first = emit_close_first(a, t);
	if (!a->made)
		EMIT(a, 0x0f, 0x05);
	emit_after_call(a, t, &k);
	patch_stub_jump(a, k.first);
	patch_stub_jump(a, k.second);
	*ret_after = (uint16_t)a->to.s->n;
	asmb_bytes(&a->to, t->bytes + 2, t->taken - 2); /* what stood there: the comparison */
}

/* One that makes any call: each that the others know is counted as there. */
enum { RDX = 2, RSI = 6, RDI = 7, R10 = 10, SOME = 1, CANCEL = 2 };
static const struct any {
	int nr;
	uint8_t kind, from, to, positional;
	uint8_t of; /* SOME, CANCEL: stubs of these make it, too */
} any_calls[] = {
    {0, SITE_MOVE, RDI, SITE_NONE, 0, SOME | CANCEL},
    {1, SITE_MOVE, SITE_NONE, RDI, 0, SOME | CANCEL},
    {3, SITE_CLOSE, SITE_NONE, SITE_NONE, 0, SOME | CANCEL},
    {17, SITE_MOVE, RDI, SITE_NONE, 1, CANCEL},
    {18, SITE_MOVE, SITE_NONE, RDI, 1, CANCEL},
    {19, SITE_MOVE, RDI, SITE_NONE, 1, SOME | CANCEL},
    {20, SITE_MOVE, SITE_NONE, RDI, 1, SOME | CANCEL},
    {295, SITE_MOVE, RDI, SITE_NONE, 1, CANCEL},
    {296, SITE_MOVE, SITE_NONE, RDI, 1, CANCEL},
    {327, SITE_MOVE, RDI, SITE_NONE, 1, CANCEL},
    {328, SITE_MOVE, SITE_NONE, RDI, 1, CANCEL},
    {40, SITE_MOVE, RSI, RDI, 1, CANCEL},
    {326, SITE_MOVE, RDI, RDX, 1, CANCEL},
    {275, SITE_SPLICE, RDI, RDX, 0, CANCEL},
    {276, SITE_SPLICE, RDI, RSI, 0, CANCEL},
    {2, SITE_OPEN, SITE_NONE, SITE_NONE, 0, SOME | CANCEL},
    {85, SITE_OPEN, SITE_NONE, SITE_NONE, 0, 0},
    {257, SITE_OPEN, SITE_NONE, SITE_NONE, 0, SOME | CANCEL},
    {32, SITE_DUP, SITE_NONE, SITE_NONE, 0, SOME},
    {33, SITE_DUP2, SITE_NONE, SITE_NONE, 0, SOME},
    {292, SITE_DUP2, SITE_NONE, SITE_NONE, 0, SOME},
    {72, SITE_FCNTL, SITE_NONE, SITE_NONE, 0, SOME},
    {436, SITE_RANGE, SITE_NONE, SITE_NONE, 0, 0},
    {9, SITE_MAP, SITE_NONE, SITE_NONE, 0, SOME},
    {22, SITE_PIPE, RDI, SITE_NONE, 0, 0},
    {293, SITE_PIPE, RDI, SITE_NONE, 0, 0},
    {53, SITE_PAIR, R10, SITE_NONE, 0, 0},
    {41, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
    {43, SITE_MADE, SITE_NONE, SITE_NONE, 0, CANCEL},
    {288, SITE_MADE, SITE_NONE, SITE_NONE, 0, CANCEL},
    {284, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
    {290, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
    {283, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
    {289, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
    {294, SITE_MADE, SITE_NONE, SITE_NONE, 0, 0},
};
enum { ANY_CALLS = sizeof(any_calls) / sizeof(any_calls[0]) };

static struct site any_site(const struct site *t, const struct any *call)
{
	struct site one = *t;
	one.nr = call->nr;
	one.kind = call->kind;
	one.from = call->from;
	one.to = call->to;
	one.positional = call->positional;
	return one;
}

/* The number is in eax. of: which calls; 0: all. Others are made as they were. */
static void any_body(struct counting *a, const struct site *t, uint64_t base, unsigned of)
{
	size_t to[ANY_CALLS] = {0};
	for (size_t i = 0; i < ANY_CALLS; i++) {
		if (of && !(any_calls[i].of & of))
			continue;
		EMIT(a, 0x3d); /* cmp $,%eax */
		asmb_u32(&a->to, (uint32_t)any_calls[i].nr);
		to[i] = jump_ahead(a, 0x74); /* je */
	}
	EMIT(a, 0x0f, 0x05);
	asmb_bytes(&a->to, t->bytes + 2, t->taken - 2);
	asmb_jump(&a->to, base + t->offset + t->taken);
	for (size_t i = 0; i < ANY_CALLS; i++) {
		uint16_t after;
		if (!to[i])
			continue;
		const struct site one = any_site(t, &any_calls[i]);
		patch_stub_jump(a, to[i]);
		emit_stub_body(a, &one, &after);
		asmb_jump(&a->to, base + t->offset + t->taken);
	}
}

/* The function that makes every call in which a thread can be cancelled: number and arguments as a function has them,
 * the last one on the stack. It is called from here, and what it did is counted when it comes back. */
static void emit_stub_cancel_body(struct counting *a, const struct site *t, uint64_t base)
{
	size_t to[ANY_CALLS] = {0};
	for (size_t i = 0; i < ANY_CALLS; i++) {
		if (!(any_calls[i].of & CANCEL))
			continue;
		EMIT(a, 0x81, 0xff); /* cmp $,%edi */
		asmb_u32(&a->to, (uint32_t)any_calls[i].nr);
		to[i] = jump_ahead(a, 0x74); /* je */
	}
	asmb_jump(&a->to, base + t->target);
	for (size_t i = 0; i < ANY_CALLS; i++)
		patch_stub_jump(a, to[i]);
	EMIT(a, 0x57, 0x56, 0x52, 0x51);      /* push %rdi, %rsi, %rdx, %rcx */
	EMIT(a, 0x41, 0x50, 0x41, 0x51);      /* push %r8, %r9 */
	EMIT(a, 0xff, 0x74, 0x24, 6 * 8 + 8); /* push: the last argument; the stack is aligned again */
	EMIT(a, 0xe8);                        /* call */
	asmb_displacement(&a->to, base + t->target);
	EMIT(a, 0x48, 0x8d, 0x64, 0x24, 8); /* lea 8(%rsp),%rsp */
	EMIT(a, 0x41, 0x58, 0x41, 0x5a);    /* pop %r8, %r10: from here on as at a call */
	EMIT(a, 0x5a, 0x5e, 0x5f, 0x59);    /* pop %rdx, %rsi, %rdi, %rcx */
	for (size_t i = 0; i < ANY_CALLS; i++) {
		if (!(any_calls[i].of & CANCEL))
			continue;
		EMIT(a, 0x81, 0xf9); /* cmp $,%ecx */
		asmb_u32(&a->to, (uint32_t)any_calls[i].nr);
		to[i] = jump_ahead(a, 0x74);
	}
	EMIT(a, 0xc3);
	a->made = true;
	for (size_t i = 0; i < ANY_CALLS; i++) {
		uint16_t after;
		if (!to[i])
			continue;
		struct site one = any_site(t, &any_calls[i]);
		one.taken = 2; /* nothing stood behind it */
		patch_stub_jump(a, to[i]);
		emit_stub_body(a, &one, &after);
		EMIT(a, 0xc3);
	}
	a->made = false;
}

/* Where the number has been guessed: another call is made as it was. */
static void guessed_body(struct counting *a, const struct site *t, uint64_t base, uint16_t *ret_after)
{
	EMIT(a, 0x3d); /* cmp $,%eax */
	asmb_u32(&a->to, (uint32_t)t->nr);
	size_t other = jump_ahead(a, 0x75); /* jne */
	emit_stub_body(a, t, ret_after);
	asmb_jump(&a->to, base + t->offset + t->taken);
	patch_stub_jump(a, other);
	EMIT(a, 0x0f, 0x05);
	asmb_bytes(&a->to, t->bytes + 2, t->taken - 2);
}

/* Emits an entry of the log for a call that returns a descriptor: no entry for a failure or a descriptor from
 * COUNTED_FDS on; then the bytes that the jump replaced. */
static void logged_body(struct counting *a, const struct site *t)
{
	EMIT(a, 0x48, 0x3d); /* cmp $,%rax */
	asmb_u32(&a->to, COUNTED_FDS);
	size_t out = jump_ahead(a, 0x73); /* jae */
	take_entry(a, SITE_LOGGED, t->single);
	EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
	copy_row(a);
	EMIT(a, 0x49, 0x8b, 0x43, 16); /* mov 16(%r11),%rax */
	finish_entry(a);
	patch_stub_jump(a, out);
	asmb_bytes(&a->to, t->bytes + 2, t->taken - 2);
}

/* Emits an entry of the log before a call that makes a process or a thread, whose flags are at hand. */
static void mark_body(struct counting *a, const struct site *t)
{
	if (t->before)
		asmb_bytes(&a->to, t->bytes, t->taken);
	take_entry(a, SITE_MARK, false);
	if (t->nr == 435)
		EMIT(a, 0x48, 0x8b, 0x07); /* mov (%rdi),%rax: struct clone_args */
	else if (t->nr == 56)
		EMIT(a, 0x48, 0x89, 0xf8); /* mov %rdi,%rax */
	else
		EMIT(a, 0x31, 0xc0);
	EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
	finish_entry(a);
	EMIT(a, 0x25); /* and $,%eax */
	asmb_u32(&a->to, CLONE_THREADS);
	size_t none = jump_ahead(a, 0x74); /* je */
	EMIT(a, 0x89, 0x05);               /* mov %eax,threads(%rip) */
	asmb_displacement(&a->to, a->table + offsetof(struct counted_table, threads));
	patch_stub_jump(a, none);
	EMIT(a, 0xb8); /* mov $,%eax */
	asmb_u32(&a->to, (uint32_t)t->nr);
}

/* The stub of one site. */
static void emit_stub(struct counting *a, const struct site *t, uint64_t base, uint16_t *ret_after)
{
	if (t->kind == SITE_ANY || t->kind == SITE_SOME) {
		any_body(a, t, base, t->kind == SITE_SOME ? SOME : 0);
	} else if (t->kind == SITE_CANCEL) {
		emit_stub_cancel_body(a, t, base);
	} else if (t->kind > SITE_LOGGED && t->kind < SITE_MADE) {
		thread_body(a, t, base);
	} else {
		if (t->kind == SITE_MARK)
			mark_body(a, t);
		else if (t->guessed)
			guessed_body(a, t, base, ret_after);
		else
			emit_stub_body(a, t, ret_after);
		asmb_jump(&a->to, base + t->offset + t->taken);
	}
}

/* The stub for an open there that has been made without a stop. Where it lies; 0: the site has none. */
static uint16_t emit_logged_stub(struct counting *a, const struct site *t, uint64_t base)
{
	const uint16_t at = (uint16_t)a->to.s->n;
	if (t->kind == SITE_CANCEL) {
		struct site one = *t;
		one.taken = 2; /* nothing stood behind it */
		logged_body(a, &one);
		EMIT(a, 0xc3);
		return at;
	}
	if (t->kind != SITE_OPEN)
		return 0;
	logged_body(a, t);
	asmb_jump(&a->to, base + t->offset + t->taken);
	return at;
}

void stubs_move(struct stubs *stubs, uint64_t table)
{
	const uint64_t constants[3] = {table + offsetof(struct counted_table, row),
	                               table + offsetof(struct counted_table, entry),
	                               table + offsetof(struct counted_table, flying)};
	static_assert(AT_ROWS == 0 && AT_LOG == 8 && AT_FLYING == 16 && CONSTANTS == sizeof(constants), "as written here");
	memcpy(stubs->code, constants, sizeof(constants));
}

int stubs_make(const struct sites *s, uint64_t base, uint64_t code, uint64_t table, struct stubs *ret)
{
	enum { COMPARED = 11 }; /* bytes that compare the number, where it is guessed */
	struct counting a = {.to = {.s = ret, .code = code}, .tid = s->tid, .table = table};
	stubs_move(ret, table);
	ret->n = CONSTANTS;
	for (size_t i = 0; i < s->n; i++) {
		const struct site *t = &s->site[i];
		while (ret->n % 16 && !a.to.far)
			EMIT(&a, 0xcc);
		ret->at[i] = (uint16_t)ret->n;
		ret->after[i] = 0;
		emit_stub(&a, t, base, &ret->after[i]);
		ret->call[i] = (uint16_t)(ret->at[i] + (t->guessed ? COMPARED : 0));
		ret->logged[i] = emit_logged_stub(&a, t, base);
		int64_t d = (int64_t)(code + ret->at[i] - (base + t->offset + 5));
		a.to.far |= d != (int32_t)d;
	}
	return a.to.far ? -ERANGE : 0;
}

void stubs_jump(const struct site *site, uint64_t base, uint64_t code, uint16_t at, unsigned char ret[SITE_BYTES])
{
	uint32_t d = (uint32_t)(code + at - (base + site->offset + 5));
	ret[0] = site->kind == SITE_BEGIN || site->kind == SITE_SHUT ? 0xe8 : 0xe9;
	memcpy(ret + 1, &d, 4);
	memcpy(ret + 5, site->bytes + 5, SITE_BYTES - 5);
	if (site->taken > 5)
		memset(ret + 5, 0x90, site->taken - 5u);
}
