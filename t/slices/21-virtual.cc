// Virtual functions, and an exception that decides.
#include <cstdio>
#include <cstdlib>
struct shape {
	virtual double area() const = 0;
	virtual ~shape() {}
};
struct square : shape {
	double a;
	explicit square(double n) : a(n) {}
	double area() const override { return a * a; }
};
struct unit : shape {
	double area() const override { return 1; }
};
static int parse(const char *s)
{
	int n = atoi(s);
	if (n < 0)
		throw n;
	return n;
}
int main(int argc, char **argv)
{
	(void)argc;
	puts("begin"); // OUT begin
	square q(atof(argv[1]));
	unit u;
	const shape *s = &q;
	printf("%g\n", s->area()); // OUT area
	printf("%g\n", u.area()); // OUT unit
	try {
		printf("%d\n", parse(argv[2])); // OUT parsed
	} catch (int n) {
		printf("bad %d\n", n); // OUT bad
	}
	return 0;
}
