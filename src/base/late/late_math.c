/* The functions of libm that are used, as late.h has it. One that is used and not here is not found by the linker. */
#include "base/late/late.h"

#include <math.h>

LATE(late_math, double, ceil, (double a), (a))
LATE(late_math, double, floor, (double a), (a))
LATE(late_math, double, fmax, (double a, double b), (a, b))
LATE(late_math, double, log, (double a), (a))
LATE(late_math, double, log10, (double a), (a))
LATE(late_math, double, pow, (double a, double b), (a, b))
LATE(late_math, long double, powl, (long double a, long double b), (a, b))
LATE(late_math, double, round, (double a), (a))
LATE(late_math, double, sqrt, (double a), (a))
LATE(late_math, long double, sqrtl, (long double a), (a))
