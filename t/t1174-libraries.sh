#!/bin/sh
# A program and the shared libraries that it loads, each linked to be traced: one story a process, whatever the symbols are that a library
# shows, whoever opens it, with threads and children; also where the program is not traced.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
json() { [ "$(jq "$1" "$out")" = "${2:-true}" ]; }
cat >lib.c <<'END'
#include <stdio.h>
int lib_way(int x)
{
	if (x > 3) { /* line 4 */
		printf("lib big\n");
		return 1;
	}
	printf("lib few\n");
	return 0;
}
END
cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int lib_way(int);
int main(int c, char **v)
{
	int n = atoi(v[1]);
	(void)c;
	printf("start\n");
	for (int i = 0; i < 3; i++)
		if (lib_way(n + i))
			printf("a\n");
	return 0;
}
END
"$STEMMA" cc --trace gcc -O2 -g -fPIC -shared lib.c -o libx.so 2>"$err" && "$STEMMA" cc --trace gcc -O2 -g prog.c -o prog -L. -lx -Wl,-rpath,"$PWD" 2>>"$err" &&
	./prog 1 >"$out" && is "$out" "start
lib few
lib few
lib few"
check "a program with its library runs, untraced"
! { nm -D libx.so && nm -D prog; } 2>>"$err" | grep -i stemma >"$out"
check "and shows none of our symbols"
"$STEMMA" run --trace -q -- ./prog 0 >"$out" && "$STEMMA" run --trace -q -- ./prog 2 >"$out" && [ "$(find "$STEMMA_HOME/trace" -name '*.trace' | wc -l)" = 2 ]
check "one trace of each run"
cmd 1 diff --trace && says "$out" "first differs lib_way() at lib.c:4: A took false, B true" "called        main() prog.c:10 > lib_way()" "then          main() at prog.c:10: A took false, B true"
check "the line of the library, called by the program"
"$STEMMA" run --trace -q -- ./prog 2 >"$out"
cmd 0 diff --trace && says "$out" "same          no control difference" "within libc.so" && says_not "$out" "libx.so"
check "the same: the library was examined"

# Another build of the library alone; the runs before are still told.
sed 's/x > 3/x > 4/' lib.c >lib2.c && mkdir two && cp lib2.c two/lib.c && (cd two && "$STEMMA" cc --trace gcc -O2 -g -fPIC -shared lib.c -o ../libx.so 2>"$err")
cmd 1 diff --trace @~2 @ && says "$out" "first differs lib_way() at lib.c:4"
check "when the library has been built anew"
"$STEMMA" run --trace -q -- ./prog 2 >"$out"
cmd 1 diff --trace && says "$out" "the programs themselves differ (build)" "first differs lib_way() at lib.c:4: A took true, B false"
check "two builds of the library"

# Opened by hand, with a version script, used by threads and a child, calling back.
cat >each.c <<'END'
#include <unistd.h>
int lib_each(int n, int (*f)(int))
{
	int s = 0;
	for (int i = 0; i < n; i++)
		if (f(i)) {
			s += write(1, ".", 1) == 1;
		}
	return s;
}
END
cat >host.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int limit;
static int pick(int i)
{
	if (i == limit) /* line 10 */
		puts("hit");
	return i & 1;
}
static int (*each)(int, int (*)(int));
static void *work(void *p)
{
	each(5, pick);
	return p;
}
int main(int c, char **v)
{
	pthread_t t[3];
	limit = c > 1 ? atoi(v[1]) : 0;
	setbuf(stdout, NULL);
	if (c > 2)
		return puts("closed") < 0;
	void *h = dlopen("./libeach.so", RTLD_NOW | RTLD_LOCAL);
	if (!h)
		return puts(dlerror()) < 0 ? 3 : 2;
	*(void **)&each = dlsym(h, "lib_each");
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	dlclose(h);
	pid_t p = fork();
	if (p == 0) {
		each(3, pick);
		exit(0);
	}
	waitpid(p, NULL, 0);
	work(NULL);
	puts("done");
	return 0;
}
END
printf 'V1 { global: lib_each; local: *; };\n' >each.map
"$STEMMA" cc --trace gcc -O2 -g -fPIC -shared each.c -o libeach.so -Wl,--version-script=each.map 2>"$err" && "$STEMMA" cc --trace gcc -O2 -g host.c -o host -ldl -pthread 2>>"$err" &&
	traces ./host 2 && [ "$(find "$T/tr" -name '*.trace' | wc -l)" = 5 ]
check "opened by hand, behind a version script: a trace a thread, and the child's"
mv "$T/tr" a && traces ./host 3 && mv "$T/tr" b
cmd 1 diff --trace --all a b && [ "$(grep -c "^first differs pick() at host.c:10: A took true, B false" "$out")" = 5 ] && says "$out" "called        work() host.c:17 > lib_each() each.c:6 > pick()" "called        main() host.c:38 > lib_each() each.c:6 > pick()"
check "each thread and the child: through the library and back"
rm -rf b && traces ./host 2 && mv "$T/tr" b && cmd 0 diff --trace a b && says "$out" "5 of 5 threads that were compared are the same"
check "the same twice"
"$STEMMA" run --trace -q -- ./host 9 >"$out" && "$STEMMA" run --trace -q -- ./host 9 closed >"$out"
cmd 1 diff --trace && says "$out" "first differs main() at host.c:25" && says_not "$out" "the programs themselves differ"
check "a library that one side alone opened is no other build"

gcc -g host.c -o plain -ldl -pthread && traces ./plain 2 && [ "$(find "$T/tr" -name '*.trace' | wc -l)" = 5 ] && rm -rf a && mv "$T/tr" a && rm -rf b && traces ./plain 2 && mv "$T/tr" b && cmd 0 diff --trace --all a b && says "$out" "plain, which was not built for tracing"
check "of a program that is not traced its library is"
sed 's/i = 0; i < n/i = 1; i < n/' each.c >other.c && sed 's/libeach/libother/' host.c >host2.c && "$STEMMA" cc --trace gcc -g -fPIC -shared each.c -o libother.so 2>"$err" && gcc -g host2.c -o plain2 -ldl -pthread && traces ./plain2 2 && [ "$(find "$T/tr" -name '*.trace' | wc -l)" = 5 ]
check "without a version script, too"

# More libraries than a trace can tell of.
i=0
: >many.c
libs=
while [ $i -lt 18 ]; do
	printf '#include <stdio.h>\nvoid lib_%d(void) { puts("%d"); }\n' $i $i >l.c
	"$STEMMA" cc --trace gcc -g -fPIC -shared l.c -o libm$i.so 2>"$err" || break
	echo "void lib_$i(void);" >>many.c
	libs="$libs -lm$i"
	i=$((i + 1))
done
{
	echo 'int main(void) {'
	i=0
	while [ $i -lt 18 ]; do
		echo "lib_$i();"
		i=$((i + 1))
	done
	echo 'return 0; }'
} >>many.c
# shellcheck disable=SC2086 # words
"$STEMMA" cc --trace gcc -g many.c -o many -L. $libs -Wl,-rpath,"$PWD" 2>"$err" && ./many >"$out" && lines "$out" 18 && traces ./many && rm -rf a && mv "$T/tr" a && traces ./many && rm -rf b && mv "$T/tr" b && cmd 1 diff --trace a b && says "$out" "not known     whether they are the same" "partial "
check "of too many the rest is not told, and that is not the same"
finish
