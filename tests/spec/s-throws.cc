/* s-throws N - what is C++'s own. Calls that end by an exception, and calls that might: several share a landing pad. */
#include <cstdio>
#include <cstdlib>
#include <iostream>

__attribute__((noinline)) static int twice(int n)
{
	return n * 2; /* reaches nothing and throws nothing, which the compiler is not told */
}

__attribute__((noinline)) static void odd(int n)
{
	if (n % 2)
		throw n;
	puts("even");
}

struct guard {
	~guard()
	{
		puts("guard");
	}
};

static void step(int n)
{
	try {
		guard g;
		int m = twice(n);
		odd(n);
		if (twice(m) > 8)
			odd(n / 2);
	} catch (int) {
		puts("odd");
	}
	puts("end");
}

static void say(int n)
{
	for (int i = 0; i < n; i++)
		if (n > 5)
			std::cout << "much"; /* by libstdc++'s own code, though the header has it, too */
}

int main(int argc, char **argv)
{
	step(argc > 1 ? atoi(argv[1]) : 0);
	say(argc > 1 ? atoi(argv[1]) : 0);
}
