#!/bin/sh
# A program that compares addresses does the same each time, wherever the kernel puts it: addresses are no data. Other data where
# nothing reached a system call is told from another way.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >addresses.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct entry { struct entry *next; uintptr_t self; int v; };
static struct entry *table[64];
static int find(struct entry *p, uintptr_t from, int limit)
{
	int n = 0;
	uintptr_t end = (uintptr_t)(table + 64);
	for (; p; p = p->next) {
		if (p->v > limit)
			n++;
		if ((uintptr_t)p >= from && (uintptr_t)p < end)
			n += 2;
		if (p->self - 1 < (uintptr_t)&n) /* one that a structure holds */
			n++;
		switch ((uintptr_t)p % 16) {
		case 0:
			break;
		default:
			puts("not aligned");
		}
		if (n > 100000)
			puts("never");
	}
	return n;
}
int main(int c, char **v)
{
	struct entry *all = NULL;
	int limit = atoi(v[1]), count = atoi(v[2]), sum = 0;
	(void)c;
	for (int i = 0; i < count; i++) {
		struct entry *p = malloc(sizeof(*p));
		p->next = all;
		p->self = (uintptr_t)p;
		p->v = i;
		all = p;
	}
	puts("begin");
	for (int i = 0; i < 4; i++)
		sum += find(all, (uintptr_t)table, limit);
	puts(sum < 0 ? "end" : "END");
	return 0;
}
END
sides()
{
	rm -rf a b
	for side in a b; do
		# shellcheck disable=SC2086 # words
		traces ./addresses $1 && mv "$T/tr" $side || return 1
		shift
	done
}
"$STEMMA" cc --operands gcc -O2 -g -fPIE -pie addresses.c -o addresses 2>"$err" && traces ./addresses 5 50 && shown addresses && says "$out" "silent" "#end exit, fits"
check "builds, and most of it is taken back"
same=0
for turn in 1 2 3 4 5 6; do
	sides "5 50" "5 50" && "$STEMMA" diff --trace a b >"$out" 2>"$err" && same=$((same + 1))
done
[ $same = 6 ] && says "$out" "same          no control difference"
check "the same, six times in other places"
sides "5 50" "6 50" && cmd 1 diff --trace a b && says "$out" "data differs" "a computation without a system call in " "the values were not recorded (use stemma run --trace-full)"
check "other data, the same way: told as data"
cmd 1 diff --trace --json a b && [ "$(jq -r '.threads[0] | "\(.verdict) \(.data.a.event)"' "$out")" = "data silent" ]
check "as JSON"
sides "5 50" "5 51" && cmd 1 diff --trace a b && says "$out" "A and B compute different values there"
check "another way, which was not kept"

# In full each decision is there.
export STEMMA_TRACE_MODE=full
sides "5 50" "5 50" && cmd 0 diff --trace a b && says "$out" "and the same data in"
check "in full: the same"
sides "5 50" "6 50" && cmd 1 diff --trace a b && says "$out" "data differs  no control difference, data differs: first in find() at addresses.c:23: n > 100000: "
check "in full: the decision that saw other data"
finish
