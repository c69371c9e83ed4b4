/* Inline assembly: by a register, by an operand in memory, by an address, by a jump. */
#include <stdio.h>
#include <stdlib.h>
static int global, other;
static int jumps(int n)
{
	__asm__ goto("test %0, %0\n\tjnz %l1" : : "r"(n) : "cc" : yes);
	return 0;
yes:
	return 1;
}
int main(int argc, char **argv)
{
	int r = 0, m = 0, through = 0;
	(void)argc;
	/* -- */
	__asm__("mov %1, %0" : "=r"(r) : "r"(atoi(argv[1])));
	printf("%d\n", r); /* OUT register */
	/* -- */
	__asm__("movl %1, %0" : "=m"(m) : "r"(atoi(argv[2])));
	printf("%d\n", m); /* OUT memory */
	/* -- */
	__asm__ volatile("movl %1, (%0)" : : "r"(&through), "r"(atoi(argv[3])) : "memory");
	printf("%d\n", through); /* OUT address */
	/* -- */
	__asm__("addl %1, %0" : "+m"(global) : "r"(atoi(argv[4])));
	printf("%d\n", global); /* OUT global */
	/* -- */
	puts(jumps(atoi(argv[5])) ? "jumped" : "went on"); /* OUT jump */
	/* -- */
	other = atoi(argv[6]);
	int *p = &other, got;
	__asm__("movl (%1), %0" : "=r"(got) : "r"(p), "m"(*p));
	printf("%d\n", got); /* OUT load */
	return 0;
}
