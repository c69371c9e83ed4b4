#!/bin/sh
# Function traces of programs whose way is known: each case is a shape of control flow in tests/spec/s-shapes.c, and what
# the trace must say of it is written here by hand, from the source. Left out of the comparison: what main itself decides
# on its way to the case, and what out() does inside.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
source=$here/tests/spec/s-shapes.c
cp "$source" s.c
"$STEMMA" cc --trace gcc -O2 s.c -o s -pthread 2>"$err" && "$STEMMA" cc --operands gcc -O2 s.c -o so -pthread 2>>"$err" && [ ! -s "$err" ] &&
	gcc -O2 s.c -o plain -pthread
check "builds"

# Of $out: the case's own function and below, without lines, an event a word.
way()
{
	sed -e '/^ *out($/,/^ *)out$/d' "$out" | awk '
		/^#/ || /^ [0-9]+ decide/ { next }
		/^main\($/ || /^\)main$/ { next }
		{ sub(/^ */, ""); if ($1 ~ /^[0-9]+$/) $1 = ""; gsub(/^ +| +$/, ""); gsub(/decide /, "?"); gsub(/call /, ""); gsub(/ /, "_"); printf "%s%s", sep, $0; sep = " " }
		END { print "" }'
}

# CASE: what must be seen
expect()
{
	what=$1
	want=$2
	# shellcheck disable=SC2086 # words
	traces ./s $what
	shown s && got=$(way) && [ "$got" = "$want" ] || {
		echo "got:  $got" >>"$err"
		echo "want: $want" >>"$err"
		false
	}
	check "$what"
}

expect "branch 3" "branch branch( ?true out )branch"
expect "branch 1" "branch branch( ?false out )branch"
expect "loop 2" "loop loop( ?true out ?true out ?false )loop"
expect "loop 0" "loop loop( ?false )loop"
expect "choose 1" "choose choose( ?case_1 out out )choose"
expect "choose 2" "choose choose( ?case_2 out )choose"
expect "choose 9" "choose choose( ?default out )choose"
expect "recurse 2" "recurse recurse( ?false recurse recurse( ?false recurse recurse( ?true )recurse out )recurse out )recurse"
expect "early 0" "early early( ?false out ?true )early"
expect "early 5" "early early( ?false out ?false out )early"
expect "indirect 0" "indirect indirect( * ping( out )ping )indirect"
expect "indirect 1" "indirect indirect( * pong( out )pong )indirect"
expect "jump 2" "jump jump( _setjmp back_2 ?true out deep deep( ?true deep deep( ?true deep deep( ?false longjmp back_2 ?false out )jump"
expect "sort 2" "sort sort( qsort compare( ?true out )compare )sort"
expect "threads" "threads threads( pthread_create pthread_join pthread_create pthread_join )threads thread( out )thread thread( out )thread"
expect "signals" "signals signals( signal raise on_signal( out )on_signal out )signals"
expect "silent 3" "out"
finish_case=$(grep -c . "$out")
[ "$finish_case" -gt 3 ]
check "what nothing depends on leaves nothing"

# A case's whole output, threads with their names.
traces ./s threads && shown s && [ "$(grep '^#thread' "$out" | cut -d' ' -f2 | tr '\n' ' ')" = "0 0.0 0.1 " ]
check "threads are named by their creator and its count"

traces ./s forks && shown s && grep -q 'decide true' "$out" && [ "$(ls "$T/tr" | wc -l)" = 2 ] &&
	[ "$(grep -c '_exit$' "$out")" = 1 ] && [ "$(grep -c 'call waitpid' "$out")" = 1 ]
check "the child of a fork has a trace of its own, with the frames it began in"

for end in "0 exit exit 3" "1 _exit cut 4" "2 abort cut 134" "3 execl cut 0" "5 kill cut 137"; do
	# shellcheck disable=SC2086 # words
	set -- $end
	traces ./s ends "$1"
	got=$?
	shown s && [ $got = "$4" ] && [ "$(grep -v '^#' "$out" | tail -n 1 | sed 's/.* //')" = "$2" ] && grep -q "^#end $3, fits" "$out"
	check "the last thing before an end by $2"
done
traces ./s ends 4
got=$?
shown s && [ $got = 139 ] && [ "$(grep -v '^#' "$out" | tail -n 1 | sed 's/^ *[0-9]* //')" = "decide case 4" ]
check "the last thing before a fault"

# Taken back: silent frames, one record for all that stand together; the same events give the same hash.
traces ./s lazy 1000 && shown s && way >/dev/null && [ "$(grep -c "^ *silent" "$out")" -ge 1 ] && [ "$(wc -l <"$out")" -lt 400 ] && grep -q ')lazy' "$out"
check "frames that reached nothing are taken back"
words=$(awk '/^#/ { next } /silent/ { n += $NF; next } { n++ } END { print n }' "$out")
export STEMMA_TRACE_MODE=full
traces ./s lazy 1000
unset STEMMA_TRACE_MODE
shown s && echo "lazy $words, full $(grep -cv '^#' "$out")" >>"$err" && ! grep -q "^ *silent" "$out" && [ "$(grep -cv '^#' "$out")" = "$words" ]
check "and counted: there are as many where all is kept"
[ "$(grep -c 'maybe($' "$out")" = 1000 ]
check "full: each call is there"

cat >hash.py <<'END'
# The words of the full trace that a silent record stands for, hashed by the rule of doc/format/trace.md.
import glob, struct, sys
def words(folder):
    data = open(glob.glob(folder + '/*.trace')[0], 'rb').read(1 << 20)
    following, first = struct.unpack_from('<QQ', data, 8)
    return struct.unpack_from('<%dI' % ((following - first) // 4), data, 4096)
lazy, full = words(sys.argv[1]), words(sys.argv[2])
i = k = found = 0
while i < len(lazy):
    if lazy[i] >> 29 == 5:
        h = 0
        count = lazy[i + 3] | lazy[i + 4] << 32
        for w in full[k:k + count]:
            h = (h + w + 1) * 0x9e3779b97f4a7c15 % 2 ** 64
        assert h == lazy[i + 1] | lazy[i + 2] << 32, i
        found, i, k = found + 1, i + 5, k + count
    else:
        assert lazy[i] == full[k], i
        i, k = i + 1, k + 1
assert found and k == len(full)
END
mv "$T/tr" "$T/full"
traces ./s lazy 1000
$PYTHON hash.py "$T/tr" "$T/full" 2>>"$err"
check "and hashed, word by word"
mv "$T/full" "$T/tr.full"

# What operands say is what the source compares.
traces ./so compares 4 && shown so && grep -q 'decide true (1, 1.5)' "$out" && grep -q 'decide false (4, 3000000000)' "$out" && grep -q 'decide false (4, -7)' "$out"
check "operands: real, unsigned, signed"
traces ./so compares -7 && shown so && grep -q 'decide true (-1.75, 1.5)' "$out" && grep -q 'decide true (4294967289, 3000000000)' "$out" &&
	grep -q 'decide true (-7, -7)' "$out"
check "and of negative numbers"

# Exceptions. A call that reaches nothing is a decision where it may throw; it shares its landing pad with those that do.
throws_odd="odd( ?true __cxa_throw back_2"
end="guard( puts )guard"
if command -v g++ >/dev/null; then
	cp "$here/tests/spec/s-throws.cc" .
	for o in -O0 -O2; do
		"$STEMMA" cc --trace g++ -g $o s-throws.cc -o x 2>"$err" && [ ! -s "$err" ] && g++ $o s-throws.cc -o x.plain &&
			"$STEMMA" spec x >"$out" 2>"$err" && [ ! -s "$err" ]
		check "C++ builds, $o, and all of it has lines"
		for case in "1 step( ? odd $throws_odd $end ?true puts puts )step" "2 step( ? odd odd( ?false puts )odd ? ?false $end puts )step" \
			"6 step( ? odd odd( ?false puts )odd ? ?true odd $throws_odd $end ?true puts puts )step" \
			"8 step( ? odd odd( ?false puts )odd ? ?true odd odd( ?false puts )odd $end puts )step"; do
			n=${case%% *}
			./x.plain "$n" >"$T/plain.out"
			STEMMA_TRACE_MODE=full traces ./x "$n" && cmp -s "$T/plain.out" "$T/said" && shown x &&
				got=$(sed -e 's/_ZL4stepi/step/;s/_ZL3oddi/odd/;s/_ZN5guardD2Ev/guard/' "$out" |
					awk '/step\($/ { on = 1 } on && !/ call guard/ { sub(/decide /, "?"); sub(/call /, ""); if ($1 ~ /^[0-9]+$/) $1 = ""
						gsub(/^ +| +$/, ""); gsub(/ /, "_"); printf "%s%s", sep, $0; sep = " " } /\)step$/ { exit }') &&
				[ "$got" = "${case#* }" ] || {
				echo "got:  $got" >>"$err"
				echo "want: ${case#* }" >>"$err"
				false
			}
			check "exceptions, $o, $n"
		done
		traces ./x 8 && shown x && [ "$(grep -c 'call _ZStlsI' "$out")" = 8 ]
		check "what writes by a library's copy of a template is kept, $o"
	done
else
	skip "exceptions" "no g++"
fi

# The program is what it was.
same=0
cases="branch_1 loop_3 choose_2 recurse_3 jump_3 sort_2 threads signals forks lazy_50 ends_0 ends_1 ends_2 silent_1"
for c in $cases; do
	# shellcheck disable=SC2046 # words
	set -- $(echo "$c" | tr _ ' ')
	./plain "$@" >"$T/plain.out" 2>&1
	direct=$?
	traces ./s "$@"
	[ $? = $direct ] && cmp -s "$T/plain.out" "$T/said" && ./s "$@" >"$T/off.out" 2>&1
	[ $? = $direct ] && cmp -s "$T/plain.out" "$T/off.out" && same=$((same + 1))
done
[ $same = 14 ]
check "results, output and status are those of the program without, traced and not"

# Limits.
traces sh -c 'ulimit -f 100; ./s loop 1000' && [ "$(grep -c turn "$T/said")" = 1000 ]
check "a limit on the size of files ends no program"
traces sh -c 'ulimit -v 200000; ./s loop 1000' && [ "$(grep -c turn "$T/said")" = 1000 ]
check "nor does one on address space"
STEMMA_TRACE=$T/nowhere ./s loop 3 >"$out" 2>&1 && lines "$out" 3
check "nor a folder that is not there"
export STEMMA_TRACE_BYTES=1048576 STEMMA_TRACE_MODE=full
traces ./s lazy 1000000
got=$?
unset STEMMA_TRACE_BYTES STEMMA_TRACE_MODE
[ $got = 0 ] && shown s && grep -q '^#gap 1' "$out" && grep -q '^#end stopped' "$out" && says "$T/said" "that one" big
check "a trace that is full says so, and the program goes on"

# No lock that somebody else holds: a constructor waits for a thread; children of a program whose threads begin and end.
cat >begins.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stop;
static int twice(int x)
{
	return 2 * x;
}
static void *work(void *p)
{
	*(int *)p = twice(*(int *)p);
	return p;
}
static int in_thread(int x)
{
	pthread_t t;
	return pthread_create(&t, NULL, work, &x) || pthread_join(t, NULL) ? -1 : x;
}
__attribute__((constructor)) static void begin(void)
{
	printf("%d\n", in_thread(4));
	fflush(stdout);
}
static void *threads(void *p)
{
	while (!stop)
		in_thread(1);
	return p;
}
int main(void)
{
	pthread_t t;
	int status, good = 0;
	pthread_create(&t, NULL, threads, NULL);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(in_thread(3));
		good += waitpid(pid, &status, 0) == pid && status == 6 << 8;
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("%d\n", good);
	return 0;
}
C
"$STEMMA" cc --trace gcc -O1 begins.c -o begins -pthread 2>"$err" && traces ./begins && printf '8\n100\n' | cmp - "$T/said" 2>>"$err"
check "a constructor that waits for a thread, and children of a program whose threads come and go"
[ -z "$(find "$T/tr" -name '*.trace' ! -perm 400)" ]
check "traces are read-only: nobody cuts one by mistake under the program"
finish
