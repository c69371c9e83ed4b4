/* stackwalk.c SEED N - goes through functions a to h at random, and calls rmdir N times with its true stack as the
 * name:
 * "/none/abca" is a called by b called by ... from main. Functions of one size follow one another in the same places of
 * the stack; some have frames of a size that changes. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))
typedef void step(char *end, int depth);
static char path[64] = "/none/";
static volatile int after;
static unsigned state;

static unsigned any(unsigned n)
{
	state = state * 1103515245 + 12345;
	return (state >> 16) % n;
}

APART static void go(char *end, int depth);

#define STEP(letter)                                                                                                   \
	APART static void letter(char *end, int depth)                                                                     \
	{                                                                                                                  \
		*end = #letter[0];                                                                                             \
		end[1] = '\0';                                                                                                 \
		go(end + 1, depth);                                                                                            \
		after++;                                                                                                       \
	}
STEP(a)
STEP(b)
STEP(c)
STEP(d)

#define WIDE_STEP(letter)                                                                                              \
	APART static void letter(char *end, int depth)                                                                     \
	{                                                                                                                  \
		volatile char *room = alloca(any(4) * 32 + 16);                                                                \
		room[0] = #letter[0];                                                                                          \
		*end = room[0];                                                                                                \
		end[1] = '\0';                                                                                                 \
		go(end + 1, depth);                                                                                            \
		after += room[0];                                                                                              \
	}
WIDE_STEP(e)
WIDE_STEP(f)
WIDE_STEP(g)
WIDE_STEP(h)

APART static void go(char *end, int depth)
{
	static step *const steps[] = {a, b, c, d, e, f, g, h};
	if (depth == 0)
		rmdir(path);
	else
		steps[any(8)](end, depth - 1);
	after++;
}

int main(int argc, char **argv)
{
	state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	for (int i = argc > 2 ? atoi(argv[2]) : 1; i > 0; i--)
		go(path + strlen("/none/"), 1 + (int)any(4));
	return 0;
}
