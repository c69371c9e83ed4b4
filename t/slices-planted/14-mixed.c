/* Pointers of mixed origin: an object or a constant, an object or what a function returned, sums of two addresses, marks in low bits. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#define FIXED ((int *)0x20000000)
static int here, there, near_by, far_off;
struct item {
	int value;
	uintptr_t link;
};
struct outer {
	int head;
	int inner;
};
int main(int argc, char **argv)
{
	(void)argc;
	/* -- */
	mmap(FIXED, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	int *p = atoi(argv[1]) ? &here : FIXED;
	*p = atoi(argv[2]);
	int *q = getenv("WHICH") ? &there : FIXED;
	printf("%d\n", *q); /* OUT fixed */
	printf("%d\n", here); /* OUT here */
	/* -- */
	struct item a = {1, 0}, b = {2, 0}, c = {3, 0};
	b.link = (uintptr_t)&a ^ (uintptr_t)&c;
	struct item *next = (struct item *)(b.link ^ (uintptr_t)&a);
	next->value = atoi(argv[3]);
	printf("%d\n", c.value); /* OUT list */
	/* -- */
	uintptr_t marked = (uintptr_t)&near_by | 1;
	*(int *)(marked & ~(uintptr_t)1) = atoi(argv[4]);
	printf("%d\n", near_by); /* OUT marked */
	/* -- */
	struct outer o = {0, 0};
	int *in = &o.inner;
	((struct outer *)((char *)in - offsetof(struct outer, inner)))->head = atoi(argv[5]);
	printf("%d\n", o.head); /* OUT outer */
	/* -- */
	uintptr_t distance = (uintptr_t)&far_off - (uintptr_t)&near_by;
	*(int *)((uintptr_t)&near_by + distance) = atoi(argv[6]);
	printf("%d\n", far_off); /* OUT distance */
	return 0;
}
