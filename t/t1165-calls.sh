#!/bin/sh
# stemma run --trace-calls: the system calls of a program as it is, thread by thread, and where two such traces part. The
# truth is what tests/spec/calls.c says that it called and what came of it.
# shellcheck disable=SC2154 # of lib.sh
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

"$STEMMA" run --trace-calls -- true >"$out" 2>"$err"
if [ -s "$err" ]; then
	echo "1..0 # SKIP $(head -1 "$err")"
	exit 0
fi
gcc -g -O1 "$here/tests/spec/calls.c" -o calls -pthread 2>"$err"
check "builds"

run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}

# The traces of the last run as lines `THREAD NAME FD RESULT`; of a child of fork, child. Clones of threads and processes are
# told apart by the program alone, and it says both ways to clone as one.
traced()
{
	for f in "$STEMMA_HOME/trace/$(run_of)"/*.calls; do
		name=$(sed -n 's/^thread //p' "$f")
		# Of the processes the first is the command.
		[ "$(sed -n 's/^process \([0-9]*\) .*/\1/p' "$f")" = "$first" ] || name=child
		sed -n "s/^c /$name /p" "$f" | sed 's/ clone3 / clone /'
	done
}

# What the command has called is what it says, thread by thread.
as_it_says()
{
	rm -f truth
	TRUTH=truth "$STEMMA" run --trace-calls=calls -- ./calls "$@" >"$out" 2>"$err"
	got=$?
	first=$(cat "$STEMMA_HOME/trace/$(run_of)"/*.calls | sed -n 's/^process \([0-9]*\) \([0-9]*\) \([0-9]*\)$/\3 \1/p' | sort -n | sed -n '1s/.* //p')
	# execve comes last in the trace and before the last write in what the program says, as does the end.
	sort -s -k1,1 truth | awk '$2 == "exit_group" || $2 == "execve" { held = $0; next } { print } held { print held; held = "" } END { if (held) print held }' >want
	traced | sort -s -k1,1 >is
	[ "$got" = "$ends" ] && { diff want is || { cat truth; false; }; } >>"$err"
}
ends=7
echo abc >in
as_it_says open in read 4 2 read 4 9 read 4 9 close 4
check "opens, reads to the end, closes"
as_it_says open gone close 77 stat gone unlink gone stat in
check "what fails, with its error"
as_it_says anon creat new write 4 5 anon mmap 4 rename new newer unlink newer dup 4
check "memory, the time and fstat are in no trace"
as_it_says alarm
check "a read that signals interrupt is one"
as_it_says thread open in thread read 4 1 . close 4 . thread stat in . stat in
check "threads, by who made them" && grep -q '^0\.0\.0 read 4 1$' is && grep -q '^0\.1 newfstatat - 0$' is
check "which has them all"
as_it_says fork open in read 4 9 . open in
check "a child of fork"
ends=0
as_it_says open in exec && [ "$(grep -l '^e exec$' "$STEMMA_HOME/trace/$(run_of)"/*.calls | wc -l)" = 1 ]
check "up to another program"

cat >killed.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	open("in", O_RDONLY);
	raise(SIGKILL);
}
END
gcc killed.c -o killed
"$STEMMA" run --trace-calls -- ./killed >"$out" 2>"$err"
[ $? = 137 ] && [ "$(tail -1 "$STEMMA_HOME/trace/$(run_of)"/*.calls)" = "e killed 9" ]
check "up to a signal"

# Where two part. What they write differs with the numbers of processes, so it goes nowhere.
TRUTH=/dev/null
export TRUTH
rec()
{
	"$STEMMA" run --quiet --trace-calls -- ./calls "$@" >"$out" 2>"$err"
}
rec open in read 4 9 read 4 9 close 4
rec open in read 4 9 close 4
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "first differs after call 3, read() of descriptor 4, file in" &&
	says "$out" "A calls read() of descriptor 4, file in: nothing more, B calls close() of descriptor 4, file in" && says "$out" "at close() of descriptor 4, file in, after 1 | 0 steps"
check "another call"
"$STEMMA" diff --trace @ @~1 >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "first differs after call 3" "A calls close() of descriptor 4, file in, B calls read()"
check "the sides turned round"
cmd 1 diff --trace --json && [ "$(jq -r '.threads[0] | "\(.of) \(.verdict) \(.divergences[0].a.next.call | "\(.number) \(.name) \(.descriptor) \(.path) \(.result)")"' "$out")" = "calls control 4 read 4 in 0" ]
check "as JSON"
rec open in stat in
rec open in stat gone
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "A calls newfstatat() of in, B calls newfstatat() of gone: No such file or directory"
check "another result"
echo abcd >other
rec open in read 4 99
rec open other read 4 99
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "no control difference, data differs: first in call 2, openat(): in | other"
check "the same calls of another file"
rec open in read 4 99
"$STEMMA" diff --trace @~2 @ >"$out" 2>"$err"
[ $? = 0 ] && says "$out" "no difference in 5 calls"
check "no difference"
mkdir elsewhere
cp in elsewhere
(cd elsewhere && "$STEMMA" run --quiet --trace-calls -- ../calls open in read 4 99)
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 0 ] && says "$out" "no difference in 5 calls"
check "in another folder: none either"
rec thread stat in . thread stat in .
rec thread stat in . thread stat gone .
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "thread 0.1" "at the beginning: A calls newfstatat() of in, B calls newfstatat() of gone"
check "of the thread that did"

# What is asked for wrongly, and traces that are none.
cmd 2 run --trace-calls --transport=notify -- true && says "$err" "--trace-calls needs ptrace"
check "what does not go together"
cmd 0 run --trace-calls=nobody -- true && says "$err" "no calls were traced" && [ ! -e "$STEMMA_HOME/trace/$(run_of)" ]
check "no such program"
whole=$(ls "$STEMMA_HOME/trace/$("$STEMMA" log --json -n 2 | jq -r '.runs[1].id')"/*.calls | head -1)
sed 's/^c /x /' "$whole" >empty.calls
sed '12s/^.*$/c read four 4/' "$whole" >bad.calls
head -c "$(($(wc -c <"$whole") - 3))" "$whole" >cut.calls
printf 'stemma-calls 1\nexe x\\xzz\n' >head.calls
sed '1s/.*/stemma-calls 2/' "$whole" >later.calls
cmd 1 diff --trace empty.calls "$whole" && says "$out" "A exits, B calls"
check "nothing in it"
cmd 1 diff --trace "$whole" bad.calls && says "$out" "B's trace can be read up to step 2 only: line 12 is damaged"
check "damaged: up to there"
cmd 1 diff --trace "$whole" cut.calls || [ "$got" = 0 ] && says "$out" "how B's program ended is unknown"
check "cut"
cmd 2 diff --trace "$whole" head.calls && says "$err" "line 2 is damaged"
check "no head"
cmd 2 diff --trace "$whole" later.calls && says "$err" "of a later version"
check "of a later version"

# What a shell forks is told apart by what it becomes; the number of a process in /proc is no difference.
cat >forks.sh <<'END'
sort in.txt | sed s/a/b/ | cat - /proc/self/comm | wc -l >out.txt
grep -c 1 out.txt >/dev/null
uniq in.txt >/dev/null
true
END
echo a >in.txt
for i in 1 2 3; do
	cmd 0 run -q --trace-calls -- sh forks.sh && run_of >"id.$i"
done
pairs='[.threads[] | [.a.became, .b.became]] | map(select(.[0] != null)) | sort'
cmd 0 sql 'SELECT 1' && for i in 2 3; do
	"$STEMMA" diff --trace --json "$(cat id.1)" "$(cat id.$i)" >"$out" 2>>"$err"
	json "($pairs | length) >= 6 and ($pairs | all(.[0] == .[1])) and .only == []" || break
done && json '.threads[] | select(.a.exe | endswith("/cat")) | .verdict == "same"'
check "what a shell forks, by what it becomes; its own folder in /proc"
finish
