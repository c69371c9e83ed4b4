#include "capture/inject/sites.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct counted_row) == 64, "the code shifts by 6");
static_assert(sizeof(struct counted_entry) == 128, "the code shifts by 7");
static_assert(offsetof(struct counted_entry, kind) == 8 && offsetof(struct counted_entry, fd) == 12 &&
                  offsetof(struct counted_entry, value) == 16 && offsetof(struct counted_entry, row) == 24,
              "as the code has it");
static_assert(offsetof(struct counted_table, row) == 64, "behind one cache line");

#define DELTA(a) ((a)->table + offsetof(struct counted_table, delta))

#define CONSTANTS 16 /* at the code's beginning: where rows and entries are */
#define AT_ROWS 0
#define AT_LOG 8

struct asmb {
	struct stubs *s;
	uint64_t code, table;
	bool far;
};

static void bytes(struct asmb *a, const void *p, size_t n)
{
	if (a->s->n + n > STUBS_SIZE) {
		a->far = true;
		return;
	}
	memcpy(a->s->code + a->s->n, p, n);
	a->s->n += n;
}

#define EMIT(a, ...) bytes(a, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

static void word(struct asmb *a, uint32_t v)
{
	bytes(a, &v, sizeof(v));
}

/* The displacement of an operand that ends the instruction here. */
static void relative(struct asmb *a, uint64_t target)
{
	int64_t d = (int64_t)(target - (a->code + a->s->n + 4));
	a->far |= d != (int32_t)d;
	word(a, (uint32_t)d);
}

static void jump(struct asmb *a, uint64_t target)
{
	EMIT(a, 0xe9);
	relative(a, target);
}

/* A conditional jump, by its short form's opcode, whose target comes later. */
static size_t jump_ahead(struct asmb *a, unsigned char opcode)
{
	EMIT(a, 0x0f, (unsigned char)(opcode + 0x10), 0, 0, 0, 0);
	return a->s->n;
}

static void land(struct asmb *a, size_t from) /* 0: there is none */
{
	uint32_t d = (uint32_t)(a->s->n - from);
	if (from)
		memcpy(a->s->code + from - 4, &d, sizeof(d));
}

/* Adds where the rows or the entries are to r11, or to rax. */
static void add_place(struct asmb *a, bool r11, unsigned at)
{
	const uint64_t from[2] = {a->code + at, DELTA(a)};
	for (int i = 0; i < 2; i++) {
		if (r11)
			EMIT(a, 0x4c, 0x03, 0x1d); /* add from(%rip),%r11 */
		else
			EMIT(a, 0x48, 0x03, 0x05);
		relative(a, from[i]);
	}
}

/* Takes the next entry: its address in r11, its number in ecx. Taken by one instruction, so that a signal's handler
 * that comes between takes another. */
static void take_entry(struct asmb *a, unsigned kind)
{
	EMIT(a, 0x41, 0xbb, 1, 0, 0, 0); /* mov $1,%r11d */
	EMIT(a, 0x44, 0x0f, 0xc1, 0x1d); /* xadd %r11d,pos(%rip) */
	relative(a, a->table + offsetof(struct counted_table, pos));
	EMIT(a, 0x44, 0x89, 0xd9); /* mov %r11d,%ecx */
	EMIT(a, 0x41, 0x81, 0xe3); /* and $,%r11d */
	word(a, COUNTED_LOG - 1);
	EMIT(a, 0x41, 0xc1, 0xe3, 7); /* shl $7,%r11d */
	add_place(a, true, AT_LOG);
	EMIT(a, 0x41, 0xc7, 0x43, 8); /* movl $kind,8(%r11) */
	word(a, kind);
}

static void finish_entry(struct asmb *a)
{
	EMIT(a, 0xff, 0xc1);       /* inc %ecx */
	EMIT(a, 0x41, 0x89, 0x0b); /* mov %ecx,(%r11) */
}

/* Copies the row of the descriptor in eax into the entry; eax, ecx are lost, the number is kept in the entry. */
static void copy_row(struct asmb *a)
{
	EMIT(a, 0x41, 0x89, 0x4b, 4); /* mov %ecx,4(%r11) */
	EMIT(a, 0xc1, 0xe0, 6);       /* shl $6,%eax */
	add_place(a, false, AT_ROWS);
	for (unsigned char i = 0; i < 64; i += 8) {
		EMIT(a, 0x48, 0x8b, 0x48, i);                       /* mov i(%rax),%rcx */
		EMIT(a, 0x49, 0x89, 0x4b, (unsigned char)(24 + i)); /* mov %rcx,24+i(%r11) */
	}
	EMIT(a, 0x41, 0x8b, 0x4b, 4); /* mov 4(%r11),%ecx */
}

static void count(struct asmb *a, unsigned reg, unsigned char off)
{
	EMIT(a, (unsigned char)(reg >= 8 ? 0x45 : 0x41), 0x89, (unsigned char)(0xc3 | (reg & 7) << 3)); /* mov reg,%r11d */
	EMIT(a, 0x41, 0x81, 0xfb);                                                                      /* cmp $,%r11d */
	word(a, COUNTED_FDS);
	EMIT(a, 0x72, 6, 0x41, 0xbb); /* jb over: mov $,%r11d */
	word(a, COUNTED_FDS);
	EMIT(a, 0x41, 0xc1, 0xe3, 6); /* shl $6,%r11d */
	add_place(a, true, AT_ROWS);
	EMIT(a, 0x49, 0xff, 0x43, off);                      /* incq off(%r11) */
	EMIT(a, 0x49, 0x01, 0x43, (unsigned char)(off + 8)); /* add %rax,off+8(%r11) */
}

static void body(struct asmb *a, const struct site *t, uint16_t *ret_after)
{
	size_t out = 0, out2 = 0;
	EMIT(a, 0x0f, 0x05);
	switch (t->kind) {
	case SITE_MOVE:
		EMIT(a, 0x48, 0x85, 0xc0); /* test %rax,%rax */
		out = jump_ahead(a, 0x78); /* js */
		if (t->from != SITE_NONE)
			count(a, t->from, t->positional ? 32 : 0);
		if (t->to != SITE_NONE)
			count(a, t->to, t->positional ? 48 : 16);
		break;
	case SITE_OPEN:
		take_entry(a, t->kind);
		EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
		EMIT(a, 0x48, 0x3d);           /* cmp $,%rax: a failure is no descriptor either */
		word(a, COUNTED_FDS);
		out = jump_ahead(a, 0x73);
		copy_row(a);
		EMIT(a, 0x49, 0x8b, 0x43, 16); /* mov 16(%r11),%rax */
		land(a, out);
		out = 0;
		finish_entry(a);
		break;
	case SITE_CLOSE:
		EMIT(a, 0x48, 0x85, 0xc0);
		out = jump_ahead(a, 0x75); /* jne */
		EMIT(a, 0x81, 0xff);       /* cmp $,%edi */
		word(a, COUNTED_FDS);
		out2 = jump_ahead(a, 0x73); /* jae */
		take_entry(a, t->kind);
		EMIT(a, 0x41, 0x89, 0x7b, 12); /* mov %edi,12(%r11) */
		EMIT(a, 0x89, 0xf8);           /* mov %edi,%eax */
		copy_row(a);
		finish_entry(a);
		EMIT(a, 0x31, 0xc0); /* xor %eax,%eax */
		break;
	case SITE_DUP2:
		EMIT(a, 0x48, 0x85, 0xc0);
		out = jump_ahead(a, 0x78);
		EMIT(a, 0x81, 0xfe); /* cmp $,%esi */
		word(a, COUNTED_FDS);
		out2 = jump_ahead(a, 0x73);
		take_entry(a, t->kind);
		EMIT(a, 0x41, 0x89, 0x7b, 12); /* the old one */
		EMIT(a, 0x49, 0x89, 0x43, 16);
		EMIT(a, 0x89, 0xf0); /* mov %esi,%eax */
		copy_row(a);
		finish_entry(a);
		EMIT(a, 0x89, 0xf0);
		break;
	case SITE_DUP:
		EMIT(a, 0x48, 0x85, 0xc0);
		out = jump_ahead(a, 0x78);
		take_entry(a, t->kind);
		EMIT(a, 0x41, 0x89, 0x7b, 12);
		EMIT(a, 0x49, 0x89, 0x43, 16);
		finish_entry(a);
		break;
	case SITE_RANGE:
		EMIT(a, 0x48, 0x85, 0xc0);
		out = jump_ahead(a, 0x75);
		take_entry(a, t->kind);
		finish_entry(a);
		break;
	case SITE_MAP:
		EMIT(a, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff); /* cmp $-4095,%rax */
		out = jump_ahead(a, 0x73);
		EMIT(a, 0x41, 0xf7, 0xc2, 0x20, 0, 0, 0); /* test $MAP_ANONYMOUS,%r10d */
		out2 = jump_ahead(a, 0x75);
		take_entry(a, t->kind);
		EMIT(a, 0x45, 0x89, 0x43, 12); /* mov %r8d,12(%r11) */
		EMIT(a, 0x49, 0x89, 0x73, 16); /* mov %rsi,16(%r11) */
		finish_entry(a);
		break;
	default:
		break;
	}
	land(a, out);
	land(a, out2);
	*ret_after = (uint16_t)a->s->n;
	bytes(a, t->bytes + 2, SITE_BYTES - 2); /* the comparison that stood there */
}

/* A failure is no entry: the other log has not all of them. */
static void logged_body(struct asmb *a, const struct site *t)
{
	EMIT(a, 0x48, 0x3d); /* cmp $,%rax */
	word(a, COUNTED_FDS);
	size_t out = jump_ahead(a, 0x73); /* jae */
	take_entry(a, SITE_LOGGED);
	EMIT(a, 0x49, 0x89, 0x43, 16); /* mov %rax,16(%r11) */
	copy_row(a);
	EMIT(a, 0x49, 0x8b, 0x43, 16); /* mov 16(%r11),%rax */
	finish_entry(a);
	land(a, out);
	bytes(a, t->bytes + 2, SITE_BYTES - 2);
}

int stubs_make(const struct sites *s, uint64_t base, uint64_t code, uint64_t table, struct stubs *ret)
{
	struct asmb a = {.s = ret, .code = code, .table = table};
	uint64_t rows = table + offsetof(struct counted_table, row), log = table + offsetof(struct counted_table, entry);
	ret->n = 0;
	bytes(&a, &rows, sizeof(rows));
	bytes(&a, &log, sizeof(log));
	static_assert(AT_ROWS == 0 && AT_LOG == 8 && CONSTANTS == 16, "as written here");
	for (size_t i = 0; i < s->n; i++) {
		const struct site *t = &s->site[i];
		while (ret->n % 16 && !a.far)
			EMIT(&a, 0xcc);
		ret->at[i] = (uint16_t)ret->n;
		ret->after[i] = ret->logged[i] = 0;
		if (t->kind == SITE_MARK) {
			take_entry(&a, t->kind);
			finish_entry(&a);
			bytes(&a, t->bytes, 5);
		} else {
			body(&a, t, &ret->after[i]);
		}
		jump(&a, base + t->offset + t->taken);
		if (t->kind == SITE_OPEN) {
			ret->logged[i] = (uint16_t)ret->n;
			logged_body(&a, t);
			jump(&a, base + t->offset + t->taken);
		}
		int64_t d = (int64_t)(code + ret->at[i] - (base + t->offset + 5));
		a.far |= d != (int32_t)d;
	}
	return a.far ? -ERANGE : 0;
}

void stubs_jump(const struct site *site, uint64_t base, uint64_t code, uint16_t at, unsigned char ret[SITE_BYTES])
{
	uint32_t d = (uint32_t)(code + at - (base + site->offset + 5));
	ret[0] = 0xe9;
	memcpy(ret + 1, &d, 4);
	memcpy(ret + 5, site->bytes + 5, SITE_BYTES - 5);
	if (site->taken == SITE_BYTES)
		memset(ret + 5, 0x90, SITE_BYTES - 5);
}
