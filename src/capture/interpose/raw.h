/* raw.h - calls to the kernel that go past the C library and every library before it. -errno. */
#ifndef STEMMA_CAPTURE_INTERPOSE_RAW_H
#define STEMMA_CAPTURE_INTERPOSE_RAW_H

#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;
	__asm__ volatile("syscall"
	                 : "=a"(ret)
	                 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#else
#error "how are system calls made here?"
#endif

/* Makes a system call without arguments; as raw6. */
static inline long raw0(long nr)
{
	return raw6(nr, 0, 0, 0, 0, 0, 0);
}
/* Makes a system call with one argument; as raw6. */
static inline long raw1(long nr, long a)
{
	return raw6(nr, a, 0, 0, 0, 0, 0);
}
/* Makes a system call with three arguments; as raw6. */
static inline long raw3(long nr, long a, long b, long c)
{
	return raw6(nr, a, b, c, 0, 0, 0);
}

#endif
