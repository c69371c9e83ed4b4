/* Fields of a local structure, and of one behind a pointer. */
#include <stdio.h>
#include <stdlib.h>
struct pair {
	int left, right;
};
static void fill(struct pair *p, int l, int r)
{
	p->left = l;
	p->right = r;
}
int main(int argc, char **argv)
{
	struct pair p, q;
	(void)argc;
	p.left = atoi(argv[1]);
	p.right = 4;
	fill(&q, atoi(argv[2]), p.left);
	printf("%d\n", p.left); /* OUT pleft */
	printf("%d\n", p.right); /* OUT pright */
	printf("%d\n", q.right); /* OUT qright */
	return 0;
}
