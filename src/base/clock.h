/* clock.h - a clock of the kernel as one number: nanoseconds, or whole milliseconds; 0 of a clock that there is not. */
#ifndef STEMMA_BASE_CLOCK_H
#define STEMMA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clock's time in ns. */
static inline int64_t clock_now_ns(clockid_t clock)
{
	struct timespec now = {0};
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The clock's time in ms. */
static inline int64_t clock_now_ms(clockid_t clock)
{
	return clock_now_ns(clock) / 1000000;
}

#endif
