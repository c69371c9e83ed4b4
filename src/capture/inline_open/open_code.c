#include "capture/inline_open/open_code.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(offsetof(struct opens_slot, cell) == 1280 && OPENS_CELL == 64 && OPENS_CELLS == 2048,
              "as the code has it");
static_assert(offsetof(struct opens_slot, stat) == 64 && offsetof(struct opens_slot, folder) == 256 &&
                  offsetof(struct opens_slot, notes) == 24 && OPENS_FOLDERS == 64 && OPENS_MADE == 0x8000,
              "as the code has it");
static_assert(sizeof(struct opens_entry) == 24 && offsetof(struct opens_entry, folder) == 22, "as the code has it");
static_assert(offsetof(struct opens_thread, cell) == 256 && OPENS_THREAD_CELLS == 512, "as the code has it");
static_assert(sizeof(struct opens_thread_entry) == 40 && OPENS_THREADS == 16, "as the code has it");
static_assert(offsetof(struct opens_thread, tid) == 24 && offsetof(struct opens_thread, frame) == 32 &&
                  offsetof(struct opens_thread, flags) == 56 && offsetof(struct opens_thread, stat) == 64,
              "as the code has it");
static_assert(offsetof(struct opens_own, cancel) == 24 && offsetof(struct opens_own, threads) == 32 &&
                  offsetof(struct opens_own, table) == 64 && offsetof(struct opens_own, want) == 320,
              "as the code has it");
static_assert(OPENS_ENTRY_CELLS == 65 && offsetof(struct opens_slot, most) == 20, "as the code has it");

/* Can there be an entry of so many bytes before its path? */
static bool is_entry(const struct opens_entry *e, size_t head, uint32_t cells, uint32_t ring)
{
	return cells <= ring && e->length && e->length <= OPENS_PATH && e->cells <= cells && e->folder <= OPENS_FOLDERS &&
	       e->cells == (head + e->length + OPENS_CELL - 1) / OPENS_CELL;
}

int opens_entry_read(const struct opens_slot *log, uint32_t from, uint32_t pos, struct opens_entry *ret,
                     struct opens_folder_row *ret_made, const unsigned char **ret_path)
{
	const unsigned char *at = log->cell + (size_t)(from % OPENS_CELLS) * OPENS_CELL;
	memcpy(ret, at, sizeof(*ret));
	const bool made = ret->folder & OPENS_MADE;
	const size_t head = sizeof(*ret) + (made ? sizeof(*ret_made) : 0);
	*ret_made = (struct opens_folder_row){0};
	ret->folder &= (uint16_t)~OPENS_MADE;
	if (!is_entry(ret, head, pos - from, OPENS_CELLS))
		return -EBADMSG;
	if (made)
		memcpy(ret_made, at + sizeof(*ret), sizeof(*ret_made));
	*ret_path = at + head;
	return (int)ret->cells;
}

int opens_thread_entry_read(const struct opens_thread *log, uint32_t from, uint32_t pos, struct opens_thread_entry *ret,
                            const unsigned char **ret_path)
{
	const unsigned char *at = log->cell + (size_t)(from % OPENS_THREAD_CELLS) * OPENS_CELL;
	memcpy(ret, at, sizeof(*ret));
	if (!is_entry(&ret->e, sizeof(*ret), pos - from, OPENS_THREAD_CELLS))
		return -EBADMSG;
	*ret_path = at + sizeof(*ret);
	return (int)ret->e.cells;
}

#if defined(__x86_64__)

#define OWN "0x2f7374a50000"
#define OWN_PID "0x2f7374a50008"
static_assert(OPENS_OWN + offsetof(struct opens_own, pid) == 0x2f7374a50008 &&
                  offsetof(struct opens_own, missed) == offsetof(struct opens_own, pid) + 8,
              "as the code has it");

/* openat(folder, path, flags): as at the call, with the log's address in r11. Afterwards as behind the call, and r11
 * is not 0; or r11 is 0, nothing was done, and the caller makes the call himself, where it is stopped. A folder that is
 * not AT_FDCWD is asked what it is before the call, and has to be one that is in the table: r12 is its row + 1. What is
 * opened as a folder is asked, too, and comes into the table (not what may lie in /proc or /dev).
 *
 * An entry is written behind the end, where it does not count; then the end is moved. It needs no lock: one thread uses
 * this log, and a signal's handler that interrupts it here finds it busy and stops. */
__asm__(".pushsection .rodata.opens,\"a\",@progbits\n"
        ".balign 64\n"
        "opens_begin:\n"
        "lock incl 12(%r11)\n" /* busy: seen before gate is looked at */
        "cmpl $1, 12(%r11)\n"  /* a handler that has interrupted this: what is being written is not to be touched */
        "jne 7f\n"
        "cmpl $0, 8(%r11)\n"
        "jne 7f\n"
        "mov (%r11), %ecx\n"
        "sub 4(%r11), %ecx\n"
        "cmp 20(%r11), %ecx\n" /* most */
        "ja 7f\n"
        "push %rbx\n"
        "push %rbp\n"
        "push %rsi\n"
        "push %rdi\n"
        "push %rdx\n"
        "push %r8\n"
        "push %r9\n"
        "push %r10\n"
        "push %r12\n"
        "mov %r11, %rbx\n"
        "xor %r12d, %r12d\n"
        "cmp $-100, %edi\n" /* AT_FDCWD */
        "je 9f\n"
        "mov %rsi, %r8\n"
        "mov $5, %eax\n" /* fstat */
        "lea 64(%rbx), %rsi\n"
        "syscall\n"
        "mov %r8, %rsi\n"
        "test %eax, %eax\n"
        "mov $257, %eax\n"
        "jne 10f\n"
        "mov 64(%rbx), %r8\n" /* st_dev */
        "mov 72(%rbx), %r9\n" /* st_ino */
        "mov %r9d, %r12d\n"
        "and $63, %r12d\n"
        "mov %r12d, %ecx\n"
        "shl $4, %ecx\n"
        "cmp %r8, 256(%rbx,%rcx)\n"
        "jne 10f\n"
        "cmp %r9, 264(%rbx,%rcx)\n"
        "jne 10f\n"
        "inc %r12d\n"
        "9:\n"
        "mov %rax, %rcx\n"
        "mov %rdx, %rbp\n"
        "rdtsc\n"
        "shl $32, %rdx\n"
        "or %rdx, %rax\n"
        "mov %rax, %r8\n"
        "mov %rbp, %rdx\n"
        "mov %rcx, %rax\n"
        "syscall\n"
        "movabs $" OWN_PID ", %r10\n"
        "cmpl $0, (%r10)\n" /* a child that a handler has forked: the log is its parent's */
        "je 6f\n"
        "test %rax, %rax\n"
        "jns 1f\n"
        "cmp $-2, %rax\n" /* ENOENT */
        "je 1f\n"
        "cmp $-20, %rax\n" /* ENOTDIR */
        "jne 5f\n"
        "1:\n"
        "mov (%rbx), %r9d\n" /* pos */
        "mov %r9d, %ecx\n"
        "sub 4(%rbx), %ecx\n"
        "cmp $(2048 - 65), %ecx\n"
        "ja 4f\n"
        "mov %r9d, %edi\n"
        "and $2047, %edi\n"
        "shl $6, %edi\n"
        "lea 1280(%rbx,%rdi), %rdi\n"
        "mov %r8, (%rdi)\n"
        "mov %eax, 8(%rdi)\n"
        "mov %ebp, 12(%rdi)\n"
        "lea 24(%rdi), %r10\n" /* the path's place */
        "test %rax, %rax\n"
        "js 12f\n"
        "test $0x10000, %ebp\n" /* O_DIRECTORY */
        "je 12f\n"
        "cmpl $0, 24(%rbx)\n" /* notes */
        "je 12f\n"
        "cmpb $'/', (%rsi)\n"
        "jne 13f\n"
        "cmpb $'p', 1(%rsi)\n"
        "je 12f\n"
        "cmpb $'d', 1(%rsi)\n"
        "je 12f\n"
        "13:\n"
        "mov %eax, %r8d\n"
        "mov %rsi, %r10\n"
        "push %rdi\n"
        "mov %eax, %edi\n"
        "lea 64(%rbx), %rsi\n"
        "mov $5, %eax\n" /* fstat */
        "syscall\n"
        "pop %rdi\n"
        "mov %r10, %rsi\n"
        "lea 24(%rdi), %r10\n"
        "mov %eax, %ecx\n"
        "mov %r8d, %eax\n"
        "test %ecx, %ecx\n"
        "jne 12f\n"
        "mov 64(%rbx), %rcx\n" /* st_dev */
        "mov 72(%rbx), %rdx\n" /* st_ino */
        "mov %rcx, 24(%rdi)\n"
        "mov %rdx, 32(%rdi)\n"
        "lea 40(%rdi), %r10\n"
        "or $0x8000, %r12d\n"
        "mov %edx, %r8d\n"
        "and $63, %r8d\n"
        "shl $4, %r8d\n"
        "mov %rcx, 256(%rbx,%r8)\n"
        "mov %rdx, 264(%rbx,%r8)\n"
        "12:\n"
        "xor %edx, %edx\n"
        "2:\n"
        "mov (%rsi,%rdx), %cl\n"
        "mov %cl, (%r10,%rdx)\n"
        "inc %edx\n"
        "test %cl, %cl\n"
        "je 3f\n"
        "cmp $4096, %edx\n"
        "jb 2b\n"
        "3:\n"
        "mov %edx, 16(%rdi)\n"
        "sub %edi, %r10d\n"
        "lea 63(%rdx,%r10), %edx\n"
        "shr $6, %edx\n"
        "mov %dx, 20(%rdi)\n"
        "mov %r12w, 22(%rdi)\n"
        "add %r9d, %edx\n"
        "mov %edx, (%rbx)\n"
        "jmp 5f\n"
        "4:\n"
        "incl 16(%rbx)\n"
        "jmp 5f\n"
        "6:\n"
        "incl 8(%r10)\n"
        "jmp 8f\n"
        "10:\n" /* not a folder that is known: nothing is done. In a child as at 6 */
        "movabs $" OWN_PID ", %r10\n"
        "cmpl $0, (%r10)\n"
        "je 11f\n"
        "decl 12(%rbx)\n"
        "11:\n"
        "xor %ebx, %ebx\n"
        "jmp 8f\n"
        "5:\n"
        "decl 12(%rbx)\n"
        "8:\n"
        "mov %rbx, %r11\n"
        "pop %r12\n"
        "pop %r10\n"
        "pop %r9\n"
        "pop %r8\n"
        "pop %rdx\n"
        "pop %rdi\n"
        "pop %rsi\n"
        "pop %rbp\n"
        "pop %rbx\n"
        "ret\n"
        "7:\n"
        "decl 12(%r11)\n"
        "xor %r11d, %r11d\n"
        "ret\n"
        ".popsection\n");

/* Of programs with threads. Each thread has a log of its own, found by the pointer that it has in %fs (of glibc). Two
 * that have the same pointer, which no C library makes, find the log busy, and stop.
 *
 * opens_prepare: before an open of path (rsi) and flags (edx), whose frame is r8. r11: the log, which is busy from then
 * on; or 0, and nothing was done. Changes rax, rcx, r9, r10.
 * opens_done: behind it: edx the descriptor or -errno. If it was prepared by this thread, in this frame, the entry is
 * written. The path can be read, for the kernel has just done so. Changes what a function may, but rax.
 * opens_shut: before a child is made, which may have this thread's memory and pointer. Changes rax, rcx, r11.
 * opens_thread: makes the call itself, for who cannot be cancelled in it; as the code above, but finds its log. */
__asm__(".pushsection .rodata.opens,\"a\",@progbits\n"
        ".balign 16\n"
        "opens_prepare:\n"
        "xor %r9d, %r9d\n"
        "1:\n"
        "mov %fs:0x10, %rax\n"
        "movabs $" OWN ", %r10\n"
        "mov $-256, %rcx\n"
        "2:\n"
        "cmp %rax, 320(%r10,%rcx)\n"
        "je 3f\n"
        "add $16, %rcx\n"
        "jne 2b\n"
        "mov 28(%r10), %ecx\n" /* tid */
        "mov %fs:(%rcx), %ecx\n"
        "mov %ecx, %r11d\n"
        "and $15, %r11d\n"
        "shl $4, %r11d\n"
        "mov %rax, 320(%r10,%r11)\n"
        "mov %rcx, 328(%r10,%r11)\n"
        "xor %r11d, %r11d\n"
        "ret\n"
        "3:\n"
        "mov 328(%r10,%rcx), %r11\n"
        "test %r11, %r11\n"
        "je 9f\n"
        "lock incl 12(%r11)\n" /* busy: seen before gate is looked at */
        "cmpl $1, 12(%r11)\n"
        "jne 7f\n"
        "cmpl $0, 8(%r11)\n" /* gate */
        "jne 7f\n"
        "cmpl $0, 28(%r11)\n" /* shut */
        "jne 7f\n"
        "cmp %rax, 320(%r10,%rcx)\n" /* still its own */
        "jne 7f\n"
        "mov (%r11), %ecx\n"
        "sub 4(%r11), %ecx\n"
        "cmp 20(%r11), %ecx\n" /* most */
        "ja 6f\n"
        "mov 28(%r10), %ecx\n"
        "mov %fs:(%rcx), %ecx\n"
        "mov %ecx, 24(%r11)\n"
        "mov %r8, 32(%r11)\n"
        "mov %rsi, 40(%r11)\n"
        "mov %edx, 56(%r11)\n"
        "mov %edx, %ecx\n"
        "rdtsc\n"
        "shl $32, %rdx\n"
        "or %rdx, %rax\n"
        "mov %rax, 48(%r11)\n"
        "mov %ecx, %edx\n"
        "ret\n"
        "6:\n" /* full: the recorder is asked, once, to read it */
        "lock decl 12(%r11)\n"
        "test %r9d, %r9d\n"
        "jne 9f\n"
        "push %rsi\n"
        "push %rdi\n"
        "push %rdx\n"
        "mov $257, %eax\n"
        "mov $-100, %edi\n"
        "xor %esi, %esi\n"
        "mov $0x200000, %edx\n" /* O_PATH */
        "mov $0x73746d62, %r10d\n"
        "syscall\n"
        "pop %rdx\n"
        "pop %rdi\n"
        "pop %rsi\n"
        "mov $1, %r9d\n"
        "jmp 1b\n"
        "7:\n"
        "lock decl 12(%r11)\n"
        "9:\n"
        "xor %r11d, %r11d\n"
        "ret\n"

        ".balign 16\n"
        "opens_done:\n"
        "push %rax\n"
        "mov %fs:0x10, %rax\n"
        "movabs $" OWN ", %r10\n"
        "mov $-256, %rcx\n"
        "2:\n"
        "cmp %rax, 320(%r10,%rcx)\n"
        "je 3f\n"
        "add $16, %rcx\n"
        "jne 2b\n"
        "jmp 9f\n"
        "3:\n"
        "mov 328(%r10,%rcx), %r9\n"
        "test %r9, %r9\n"
        "je 9f\n"
        "cmpl $0, 12(%r9)\n"
        "je 9f\n"
        "cmp %r8, 32(%r9)\n"
        "jne 9f\n"
        "mov 28(%r10), %ecx\n"
        "mov %fs:(%rcx), %ecx\n"
        "cmp %ecx, 24(%r9)\n"
        "jne 9f\n"
        "mov %edx, %r8d\n"
        "mov (%r9), %r10d\n" /* pos */
        "mov %r10d, %edi\n"
        "and $511, %edi\n"
        "shl $6, %edi\n"
        "lea 256(%r9,%rdi), %rdi\n"
        "xor %eax, %eax\n"
        "xor %edx, %edx\n"
        "test %r8d, %r8d\n"
        "jns 4f\n"
        "cmp $-2, %r8d\n" /* ENOENT */
        "je 5f\n"
        "cmp $-20, %r8d\n" /* ENOTDIR */
        "je 5f\n"
        "jmp 8f\n"
        "4:\n"
        "push %rsi\n"
        "push %rdi\n"
        "mov $5, %eax\n" /* fstat */
        "mov %r8d, %edi\n"
        "lea 64(%r9), %rsi\n"
        "syscall\n"
        "pop %rdi\n"
        "pop %rsi\n"
        "mov %eax, %ecx\n"
        "mov $0, %eax\n"
        "test %ecx, %ecx\n"
        "jne 5f\n"
        "mov 64(%r9), %rax\n"
        "mov 72(%r9), %rdx\n"
        "5:\n"
        "mov %rax, 24(%rdi)\n"
        "mov %rdx, 32(%rdi)\n"
        "mov 48(%r9), %rax\n"
        "mov %rax, (%rdi)\n"
        "mov %r8d, 8(%rdi)\n"
        "mov 56(%r9), %eax\n"
        "mov %eax, 12(%rdi)\n"
        "xor %edx, %edx\n"
        "6:\n"
        "mov (%rsi,%rdx), %cl\n"
        "mov %cl, 40(%rdi,%rdx)\n"
        "inc %edx\n"
        "test %cl, %cl\n"
        "je 7f\n"
        "cmp $4096, %edx\n"
        "jb 6b\n"
        "7:\n"
        "mov %edx, 16(%rdi)\n"
        "add $103, %edx\n" /* 40 + 63 */
        "shr $6, %edx\n"
        "mov %edx, 20(%rdi)\n"
        "add %r10d, %edx\n"
        "mov %edx, (%r9)\n" /* it counts */
        "8:\n"
        "movq $0, 32(%r9)\n"
        "lock decl 12(%r9)\n"
        "9:\n"
        "pop %rax\n"
        "ret\n"

        ".balign 16\n"
        "opens_shut:\n"
        "movabs $" OWN ", %r11\n"
        "cmpl $0, 32(%r11)\n" /* threads */
        "je 9f\n"
        "mov %fs:0x10, %rax\n"
        "mov $-256, %rcx\n"
        "2:\n"
        "cmp %rax, 320(%r11,%rcx)\n"
        "je 3f\n"
        "add $16, %rcx\n"
        "jne 2b\n"
        "ret\n"
        "3:\n"
        "mov 328(%r11,%rcx), %r11\n"
        "test %r11, %r11\n"
        "je 9f\n"
        "movl $1, 28(%r11)\n"
        "9:\n"
        "ret\n"

        ".balign 16\n"
        "opens_thread:\n"
        "movabs $" OWN ", %r11\n"
        "mov 24(%r11), %r11d\n" /* cancel */
        "test %r11d, %r11d\n"
        "je 9f\n"
        "add %fs:0x10, %r11\n"
        "testb $2, (%r11)\n" /* it can be cancelled anywhere: not here */
        "jne 8f\n"
        "push %rsi\n"
        "push %rdi\n"
        "push %rdx\n"
        "push %r8\n"
        "push %r9\n"
        "push %r10\n"
        "mov %rsp, %r8\n"
        "call opens_prepare\n"
        "test %r11, %r11\n"
        "je 7f\n"
        "mov $257, %eax\n"
        "syscall\n"
        "mov %eax, %edx\n"
        "call opens_done\n"
        "mov $1, %r11d\n"
        "jmp 6f\n"
        "7:\n"
        "mov $257, %eax\n"
        "6:\n"
        "pop %r10\n"
        "pop %r9\n"
        "pop %r8\n"
        "pop %rdx\n"
        "pop %rdi\n"
        "pop %rsi\n"
        "ret\n"
        "8:\n"
        "xor %r11d, %r11d\n"
        "9:\n"
        "ret\n"
        "opens_end:\n"
        ".popsection\n");

extern const unsigned char opens_begin[], opens_end[], opens_prepare[], opens_done[], opens_shut[], opens_thread[];
static_assert(OPENS_MODE == 0x73746d61 && OPENS_DRAIN == 0x73746d62 && O_PATH == 0x200000, "as the code has it");

/* Its address in the program's code page. */
uint64_t opens_routine_at(enum opens_routine which)
{
	const unsigned char *const at[OPENS_ROUTINES] = {[OPENS_CODE] = opens_begin,
	                                                 [OPENS_PREPARE] = opens_prepare,
	                                                 [OPENS_DONE] = opens_done,
	                                                 [OPENS_SHUT] = opens_shut,
	                                                 [OPENS_THREAD] = opens_thread};
	return OPENS_PAGE + (uint64_t)(at[which] - opens_begin);
}

size_t opens_code(const void **ret)
{
	*ret = opens_begin;
	return (size_t)(opens_end - opens_begin);
}

#else

size_t opens_code(const void **ret)
{
	*ret = NULL;
	return 0;
}

/* On other processors there is none: 0. */
uint64_t opens_routine_at(enum opens_routine which)
{
	(void)which;
	return 0;
}

#endif
