/* unstopped.h - which opens the filter lets pass without a stop: those that only read, made by code in one page that is
 * the same in every program, or marked by it (capture/inline_open). Filter, recorder and that code go by it. */
#ifndef STEMMA_CAPTURE_SECCOMP_UNSTOPPED_H
#define STEMMA_CAPTURE_SECCOMP_UNSTOPPED_H

#include <fcntl.h>

/* Where that code lies in every program that has it, in a page of its own. The kernel gives no program an address there
 * unasked, nor do the shadows of the sanitizers or the heaps of Go, Java and LuaJIT lie there. */
#define OPENS_PAGE 0x2f7374650000ull
#define OPENS_PAGE_SIZE 4096
/* Flags with which an open is not one of these: all that could change a file or make one. */
#define OPENS_FLAGS_NOT (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY) | O_PATH)
/* In a program with threads the call stays where the C library makes it, so that a thread that is cancelled in it is
 * unwound. There an open that only reads is let pass if it has this as its mode, which the kernel does not look at. */
#define OPENS_MODE 0x73746d61u
/* By this mode, with O_PATH and no path, that code asks for a full log to be read; the call fails. No other open with
 * O_PATH is stopped. */
#define OPENS_DRAIN 0x73746d62u

/* The page above the table of a program that counts its bytes, where that is shared (inject/sites.h); one that grows
 * downwards, as the one above a log of opens (inline_open/open_code.h says why). It is there before the program's own
 * code runs, so it lies where ThreadSanitizer, which ends a program that has memory anywhere else when it starts,
 * expects libraries: from 0x7e8000000000 on (compiler-rt, tsan_platform.h). */
#define TABLE_ABOVE 0x7e8174e50000ull

#endif
