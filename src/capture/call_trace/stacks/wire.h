/* wire.h - what the recorder and the unwinder (stemma-stacks) tell each other, over a socket that keeps messages whole
 * (SOCK_SEQPACKET). One asks, the other answers; in between the answering side may ask for memory.
 *
 * recorder                                  unwinder
 * ASK_STACK, registers and stack bytes  ->
 *                                       <-  REPLY_WANTS, an address              any number of times
 * ASK_MEMORY, the bytes, or fewer       ->
 *                                       <-  REPLY_MODULE                         those that were not named before
 *                                       <-  REPLY_STACK, or REPLY_LOST with the question's number
 * ASK_GONE, a process is over           ->                                     (no answer)
 *
 * REPLY_LOST also comes when the process that answers has died between two questions, or has not taken the last one
 * yet: its number is then another one's. What numbers modules have begins anew with it.
 *
 * Both sides are on one machine and of one build, so structures go as they lie in memory. The unwinder reads programs'
 * files, which anybody may have made, and so is not trusted: whatever it says is checked by who gets it. */
#ifndef STEMMA_CAPTURE_CALL_TRACE_STACKS_WIRE_H
#define STEMMA_CAPTURE_CALL_TRACE_STACKS_WIRE_H

#include <stdint.h>
#include <sys/types.h>

enum {
	STACK_FRAMES = 256,    /* the innermost ones, of one stack */
	STACK_MODULES = 65536, /* of one run */
	STACK_BYTES = 8192,    /* that go along with the question; what lies deeper is asked for */
	STACK_REGISTERS = 34,
	STACK_WORDS = 1024,
	STACK_MESSAGE = 65536,
	STACK_PAGE = 4096, /* memory is asked for by these */
};

enum stack_ask { ASK_STACK, ASK_MEMORY, ASK_GONE };
struct stack_question {
	uint32_t kind;
	int32_t pid, tid;
	uint32_t n;            /* bytes behind this */
	uint64_t number;       /* of the question, from 1 */
	uint64_t image, state; /* of the process: another number, another program; other mappings */
	uint64_t at;           /* where the bytes lie; of ASK_STACK: from the stack pointer up */
	uint64_t pc;
	uint64_t registers[STACK_REGISTERS]; /* by DWARF's numbers */
};

enum stack_reply { REPLY_WANTS, REPLY_MODULE, REPLY_STACK, REPLY_LOST };
/* Why a stack ends where it does. */
enum stack_end { STACK_WHOLE, STACK_EARLY /* how to go on is not known */, STACK_DEEP /* more frames than are kept */ };
enum stack_flag { FRAME_INTERRUPTED = 1 /* by a signal, before this instruction; else the address is behind a call */ };
struct stack_frame {
	uint32_t module, flags;
	uint64_t offset; /* as addresses are in the module's file */
};
struct stack_answer {
	uint32_t kind;
	uint32_t n; /* frames, innermost first; bytes of a module's text */
	uint32_t module, end;
	uint64_t at, number;
	/* Of a stack, what it was found by: where these words of the question's bytes are the same, and these registers (a
	 * bit each), the stack pointer, the program counter and what is mapped, the stack is. 0 words: that is not known.
	 */
	uint32_t words, registers;
	/* Of a stack its frames, and offsets of words, 32 bits each; of a module its identity, a space, its path: the
	 * build-id in hex, or SIZE.TIME of the file, or - */
};
#define STACK_ANONYMOUS UINT32_MAX /* the module of code that is of no file; the offset is 0 */

/* Which registers go where: by DWARF's numbers, out of what PTRACE_GETREGSET gives. */
#if defined(__x86_64__)
#define STACK_SUPPORTED 1
#define STACK_POINTER 7
#define STACK_USED 17
#elif defined(__aarch64__)
#define STACK_SUPPORTED 1
#define STACK_POINTER 31
#define STACK_USED 32
#else
#define STACK_SUPPORTED 0
#define STACK_POINTER 0
#define STACK_USED 0
#endif

#endif
