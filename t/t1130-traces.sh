#!/bin/sh
# diff --trace, on traces made from text: where two of them part is what the text says, in both orders.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
SPECTEXT=$(dirname "$EVTEXT")/stemma-spectext
[ -x "$SPECTEXT" ] || {
	echo "Bail out! no stemma-spectext at $SPECTEXT"
	exit 1
}

cat >integ.c <<'END'
#include "integ.h"
double tol;
int integrate(double d, void (*f)(void))
{
	step();
	for (int i = 0; i < n; i++) {
		step();
		if (d < tol)
			break;
		d = slope(d);
	}
	if (d > 1)
		report();
	else
		warn();
	f();
	return 0;
}
END
cat >spec.text <<END
file $T/work/integ.c
function main 20
entry 0 0 - -> 1
call 21 2 integrate -> 2
syscall 22 2 exit -> 3
return 23 1 -
function integrate 3
entry 0 0 - -> 1
syscall 5 2 step -> 2
decision 6 20 icmp_slt_i32 -> 3=0=true 6=1=false
syscall 7 3 step -> 4
decision 8 9 fcmp_olt_double -> 6=0=true 5=1=false
call 10 7 slope -> 2
decision 12 8 fcmp_ogt_double -> 7=0=true 8=1=false
syscall 13 3 report -> 9
syscall 15 3 warn -> 9
indirect 16 2 slope,other -> 10
return 17 2 -
function slope 30
entry 0 0 - -> 1
decision 31 2 switch_i32 -> 2=0=case_1 3=1=case_2 4=2=default
syscall 32 3 one -> 4
syscall 33 3 two -> 4
return 34 1 -
function other 40
entry 0 0 - -> 1
syscall 41 2 write -> 2
return 42 1 -
END
sed 's/31 2 switch/31 2 icmp_eq_i32/; s/ 4=2=default//; s/^syscall 33 3 two/syscall 33 3 three/' spec.text >spec2.text
sed 's/^\(call\|syscall\|decision\|return\|indirect\) [0-9]* [0-9]*/\1 0 0/' spec.text >spec3.text
"$SPECTEXT" spec <spec.text >p.spec && "$SPECTEXT" spec <spec2.text >q.spec && "$SPECTEXT" spec <spec3.text >bare.spec || {
	echo 'Bail out! no specification could be made'
	exit 1
}

# made NAME [OPTION...]: a trace from standard input, of p.spec
made() { n=$1 && shift && "$SPECTEXT" trace "${of:-p.spec}" "$@" >"$n"; }
# run_of TURNS LAST REPORT CALLED [SLOPE]: integrate() with so many whole turns, ended by the loop's end (`end`) or by the
# break (`break`), then report (0) or warn (1), then the function called
run_of()
{
	printf 'enter main\ncall 1\nenter integrate\ncall 1\nrepeat %s\ndecide 2 0 signed 1 9\ncall 3\ndecide 4 1 real 0.5 0.001\ncall 5\nenter slope\ndecide 1 %s\ncall %s\nleave\ndone\n' "$1" "${5:-0}" $((${5:-0} + 2))
	if [ "$2" = break ]; then
		printf 'decide 2 0 signed 1 9\ncall 3\ndecide 4 0 real 0.00097 0.001\n'
	else
		printf 'decide 2 1 signed 9 9\n'
	fi
	if [ "$3" = 0 ]; then printf 'decide 6 0\ncall 7\n'; else printf 'decide 6 1\ncall 8\n'; fi
	printf 'call 9\nenter %s\n' "$4"
	if [ "$4" = slope ]; then printf 'decide 1 0\ncall 2\n'; else printf 'call 1\n'; fi
	printf 'leave\nleave\ncall 2\nend exit\n'
}

# parts LINE KIND A B: the first divergence of a and b, in both orders: its line, its kind, and what each side did next, as
# jq finds it in the side's object
parts()
{
	[ "${with-p.spec}" ] && s="--spec ${with-p.spec}" || s=
	# shellcheck disable=SC2086 # it is an option and its argument, or nothing
	cmd 1 diff --trace $s --json a b && json ".threads[0].divergences[0] | [.place.line, .kind, (.a | $5), (.b | $5)] == [$1, \"$2\", $3, $4]" &&
		cmd 1 diff --trace $s --json b a && json ".threads[0].divergences[0] | [.place.line, .kind, (.a | $5), (.b | $5)] == [$1, \"$2\", $4, $3]"
}
# both N: so many divergences in both orders, and the same lines
both()
{
	cmd 1 diff --trace --spec p.spec --json a b && json ".threads[0].divergences_total == $1" && jq '[.threads[0].divergences[].place.line]' "$out" >"$T/lines" &&
		cmd 1 diff --trace --spec p.spec --json b a && json ".threads[0].divergences_total == $1" && jq '[.threads[0].divergences[].place.line]' "$out" | cmp - "$T/lines" 2>>"$err"
}

run_of 3 end 0 other | made a operands
cp a b
cmd 0 diff --trace --spec p.spec a b && says "$out" 'no control difference in' 'the same data in 7 decisions' && cmd 0 diff --trace --spec p.spec --json a b && json '.threads[0] | .verdict == "same" and .partial == false and .divergences == [] and .operands'
check 'the same'
run_of 3 end 1 other | made b operands
parts 12 decision '"true"' '"false"' .at.outcome && both 1
check 'if and else'
cmd 1 diff --trace --spec p.spec a b && says "$out" 'integrate() at integ.c:12: A took true, B false' '> ' '12      if (d > 1)' 'main() integ.c:21 > integrate()' 'meet again    integrate() at integ.c:16, after 1 | 1 steps'
check 'and in words, with the source'
sed 's/fcmp_ogt/?fcmp_ult/' spec.text | "$SPECTEXT" spec >old.spec && sed 's/^syscall 15/syscall 13/' spec.text | sed 's/fcmp_ogt/?fcmp_ogt/' | "$SPECTEXT" spec >line.spec
for of in old.spec line.spec; do
	run_of 3 end 0 other | made ${of%.spec}.a operands && run_of 3 end 1 other | sed 's/decide 6 1/decide 6 1 real 0.5 1/' | made ${of%.spec}.b operands
done
unset of
cmd 1 diff --trace --spec old.spec old.a old.b && says "$out" 'integrate() at integ.c:12: A took the path to integ.c:13, B the path to integ.c:15' 'not recorded | !(0.5 >= 1)' && cmd 1 diff --trace --spec old.spec --json old.a old.b && json '.threads[0].divergences[0] | [.a.at.way, .b.at.way] == [0, 1] and (.a.at | has("outcome") | not)'
check 'where it is not known what was true in the source: the line it went on at'
cmd 1 diff --trace --spec line.spec line.a line.b && says "$out" 'integrate() at integ.c:12: A took way 0, B way 1'
check 'and its number where lines do not tell'
run_of 3 break 0 other | made b operands
parts 6 decision '"false"' '"true"' .at.outcome
check 'the turn in which one side breaks off and the other has none left'
run_of 7 end 0 other | made b operands
parts 6 turns '"false"' '"true"' .at.outcome && json '.threads[0] | .verdict == "turns" and (.divergences[0].turns | .a == 7 and .b == 3 and .place.line == 6)' && both 1
check 'a different number of turns'
run_of 3 break 0 other | made a operands && run_of 9 break 0 other | made b operands
parts 8 turns '"true"' '"false"' .at.outcome && json '.threads[0].divergences[0].turns | .a == 10 and .b == 4' && both 1 && cmd 1 diff --trace --spec p.spec a b && says "$out" 'integrate() at integ.c:8: A took true, B false' '0.00097 < 0.001 | 0.5 < 0.001' '4 | 10 iterations of the loop at integ.c:6'
check 'a break that comes later, with what was compared'
run_of 3 end 0 other | made a && run_of 3 end 0 slope | made b
parts 16 order '"other"' '"slope"' .next.place.function && cmd 1 diff --trace --spec p.spec a b && says "$out" 'integrate() at integ.c:16: A called other(), B slope()' && both 1
check 'a call through a pointer'
run_of 3 end 0 other 0 | made a && run_of 3 end 0 other 1 | made b
parts 31 decision '"case_1"' '"case_2"' .at.outcome && both 3
check 'a switch, in each of three turns'
cmd 1 diff --trace --spec p.spec a b && says "$out" 'first differs slope() at integ.c:31: A took case_1, B case_2' 'then          slope() at integ.c:31'
check 'and those that follow are told'
run_of 2 end 1 slope 1 | made a && run_of 5 break 0 other 0 | made b && both 5
check 'several at once: the same points in both orders'
cmd 1 diff --trace --spec p.spec --algorithm greedy --json a b && json '.algorithm == "greedy" and .threads[0].divergences[0].place.line == 31' && cmd 2 diff --trace --algorithm best a b && cmd 2 diff --algorithm greedy a b
check 'the greedy way'

# Data
run_of 3 break 0 other | made a operands && run_of 3 break 0 other | sed 's/0\.5 0\.001/0.5 1e-09/' | made b operands
cmd 1 diff --trace --spec p.spec a b && says "$out" 'no control difference, data differs: first in integrate() at integ.c:8: 0.5 < 0.001 | 0.5 < 1e-09' && cmd 1 diff --trace --spec p.spec --json b a && json '.threads[0] | .verdict == "data" and .data.a.operands == [0.5, 1e-09] and .data.b.operands == [0.5, 0.001] and .divergences == []'
check 'equal control, other data'
run_of 3 break 0 other | sed 's/ \(real\|signed\) .*//' | made a && run_of 3 break 0 other | made b && cmd 0 diff --trace --spec p.spec a b && says "$out" 'the data of decisions was not recorded'
check 'without data it says so'

# Ends
printf 'enter main\ncall 1\nenter integrate\ncall 1\ndecide 2 1\ndecide 6 0\ncall 7\nback 1\ncall 2\nend exit\n' | made a && printf 'enter main\ncall 1\nenter integrate\ncall 1\ndecide 2 1\ndecide 6 0\ncall 7\ncall 9\nenter other\ncall 1\nleave\nleave\ncall 2\nend exit\n' | made b
parts 13 order '"leave"' '"at"' .next.event && cmd 1 diff --trace --spec p.spec a b && says "$out" 'integrate() at integ.c:13: A leaves integrate() by a jump, B makes a call at integ.c:16'
check 'a jump out of a function'
printf 'enter main\ncall 1\nenter integrate\ncall 1\nend exit\n' | made a
parts 5 order '"end"' '"at"' .next.event && cmd 1 diff --trace --spec p.spec a b && says "$out" 'A exits, B reaches the decision at integ.c:6' 'never; 0 |'
check 'an exit in the midst'
printf 'enter main\ncall 1\nenter integrate\ncall 1\n' | made a && cmd 1 diff --trace --spec p.spec a b && says "$out" 'A stops, B' "partial       how A's program ended is unknown" && cmd 1 diff --trace --spec p.spec --json a b && json '.threads[0].partial'
check 'one that was killed is partial'
head -c 4100 b >c && cmd 1 diff --trace --spec p.spec --json b c && json '.threads[0] | .partial and .divergences[0].place.line == 20'
check 'and so is one that was cut off'
printf 'enter main\ncall 1\nenter integrate\ncall 1\nsilent 0x1234 77\ndecide 2 1\ncall 2\nend exit\n' | made a lazy && printf 'enter main\ncall 1\nenter integrate\ncall 1\nsilent 0x4321 99\ndecide 2 1\ncall 2\nend exit\n' | made b lazy
cmd 1 diff --trace --spec p.spec a b && says "$out" 'integrate() at integ.c:5: A and B compute different values there'
check 'computing that left no trace but a hash'
printf 'enter main\ncall 1\ngap 1\nend exit\n' | made a && cp a b && cmd 1 diff --trace --spec p.spec a b && says "$out" "not known " "partial       A's trace has 1 gap"
check 'gaps are said'
printf 'enter main\ncall 1\nenter integrate\ncall 99\ncall 1\nend exit\n' | made a && cmd 1 diff --trace --spec p.spec a b && says "$out" "A's trace can be read up to step 3 only: it names a node that its function has not"
check 'what does not fit its specification is not read any further'

# Builds
run_of 3 end 0 other 1 | made a && run_of 3 end 1 other 1 | of=q.spec made b
cmd 1 diff --trace --spec p.spec --spec q.spec --json a b && json '.threads[0] | .build_differs and [.functions_changed[].function] == ["slope"]' && cmd 1 diff --trace --spec p.spec --spec q.spec a b && says "$out" 'the programs themselves differ (build): slope()'
check 'another build is said, with the functions that changed'
cmd 1 diff --trace --spec p.spec --spec q.spec --json a b && json '[.threads[0].divergences[].place.line] | contains([31]) and contains([12])' && jq '[.threads[0].divergences[].place.line]' "$out" >"$T/lines" && cmd 1 diff --trace --spec q.spec --spec p.spec --json b a && jq '[.threads[0].divergences[].place.line]' "$out" | cmp - "$T/lines" 2>>"$err"
check 'and the rest is compared, in both orders'
run_of 3 end 0 other 0 | of=q.spec made b && run_of 3 end 0 other 0 | made a && cmd 1 diff --trace --spec p.spec --spec q.spec a b && says "$out" 'no control difference' 'the programs themselves differ (build)'
check 'the same way through two builds'
cmd 2 diff --trace --spec p.spec a b && says "$err" 'made by different builds, and the specification of the second is unknown' 'hint: '
check 'but not without their specifications'
run_of 3 end 0 other | made a && run_of 3 end 1 other | made b && with='' parts null decision 0 1 .at.way && cmd 1 diff --trace a b && says "$out" 'function 1, node 6: A took way 0, B way 1' "A's specification is unknown"
check 'without a specification numbers stand for names'
run_of 3 end 0 other | of=bare.spec made a && run_of 3 end 1 other | of=bare.spec made b && cmd 1 diff --trace --spec bare.spec a b && says "$out" 'A took true, B false' 's program was built without line numbers (-g)'
check 'without lines'

# Threads and processes
mkdir one two
run_of 3 end 0 other | made one/x pid=10 began=5 exe=/bin/first && run_of 3 end 0 other | made one/y pid=10 began=6 thread=0.0 exe=/bin/first && run_of 1 end 0 other | made one/z pid=11 began=7 exe=/bin/second
run_of 3 end 0 other | made two/z pid=30 began=8 exe=/opt/first && run_of 3 end 1 other | made two/y pid=30 began=9 thread=0.0 exe=/opt/first && run_of 1 end 0 other | made two/x pid=29 began=7 exe=/opt/second
cp p.spec one/
cmd 1 diff --trace --spec p.spec --json one two && json '[.threads[] | [.a.trace, .b.trace, .verdict]] == [["one/x","two/z","same"],["one/y","two/y","control"],["one/z","two/x","same"]]' && cmd 1 diff --trace --spec p.spec one two && says "$out" 'thread 0.0 of' 'integ.c:12' '2 of 3 threads that were compared are the same'
check 'threads by their creation, processes by program and order'
rm two/x && cmd 1 diff --trace --spec p.spec --json one two && json '[.only[] | [.side, .exe]] == [["a", "/bin/second"]]' && cmd 1 diff --trace --spec p.spec two one && says "$out" 'only in B: thread 0 of '
check 'what has no partner'
cmd 1 diff --trace one two --json && json '[.threads[].b.trace] | length == 2'
check 'a specification that lies beside the traces'

mkdir three four
of_first() { printf 'enter %s\nend exit\n' "$1" | sed 's/enter main/enter main\ncall 1/' | made "$2" pid="$3" began="$4" thread="$5" exe=/bin/first; }
of_first main three/a 10 5 0 && of_first slope three/b 10 6 0.0 && of_first other three/c 10 7 0.1 && of_first other three/d 10 8 0.1.0
of_first main four/a 20 5 0 && of_first other four/b 20 6 0.0 && of_first slope four/c 20 7 0.1 && of_first slope four/d 20 8 0.2 && of_first other four/e 20 9 0.0.0
for order in 'three four' 'four three'; do
	# shellcheck disable=SC2086 # words
	cmd 1 diff --trace --spec p.spec --json $order && json '[.threads[] | [.a.thread, .b.thread] | if "'"${order% *}"'" == "three" then . else reverse end] | sort == [["0", "0"], ["0.0", "0.1"], ["0.1", "0.0"], ["0.1.0", "0.0.0"]]' && json '[.only[].thread] == ["0.2"]' || break
done
check 'threads by the function that they begin in, below their creators'
mkdir five six
for r in 0 1 2; do
	run_of $r end 0 other | made five/$r pid=1$r began=$((9 - r)) rank=$r/3 exe=/bin/first && run_of $r end 0 other | made six/$r pid=2$r began=$r rank=$r/3 exe=/bin/first
done
run_of 9 end 0 other | made six/3 pid=23 began=0 rank=3/4 exe=/bin/first
cmd 1 diff --trace --spec p.spec --json five six && json '([.threads[] | [.a.rank, .b.rank, .verdict]] | sort == [[0, 0, "same"], [1, 1, "same"], [2, 2, "same"]]) and (.only | length) == 1' && cmd 1 diff --trace --spec p.spec --json --rank 1:2 six five && json '[.threads[] | [.a.rank, .b.rank, .divergences[0].turns.a, .divergences[0].turns.b]] == [[1, 2, 1, 2]]' && cmd 2 diff --trace --spec p.spec --rank 3 six five && says "$err" "there is no trace of rank 3 in 'five'"
check 'ranks with their like'

# Messages: kind 1 is a send, 2 a receive, 17 a Bcast; then flags, rank, size, peer, tag, bytes
# with_message TEXT...: a run in which these came of the first step
with_messages()
{
	run_of 1 end "${2:-0}" other | while read -r line; do
		echo "$line"
		[ "$line" != 'call 3' ] || printf '%b' "$1"
	done
}
# message A B WORDS: in both orders; WORDS have the sides parted by |
message()
{
	with_messages "$1" | made a && with_messages "$2" "${4:-0}" | made b && cmd 1 diff --trace --spec p.spec --json a b && json ".threads[0].message.text == \"$3: integrate() at integ.c:7\"" && json ".threads[0].verdict == \"$([ "${4:-0}" = 0 ] && echo data || echo control)\"" &&
		cmd 1 diff --trace --spec p.spec --json b a && jq -S '.threads[0].message | [.a, .b]' "$out" >"$T/back" && cmd 1 diff --trace --spec p.spec --json a b && jq -S '.threads[0].message | [.b, .a]' "$out" | cmp - "$T/back" 2>>"$err"
}
# alike A B: these are the same
alike() { with_messages "$1" | made a && with_messages "$2" | made b && cmd 0 diff --trace --spec p.spec --json a b && json ".threads[0] | .messages_same == ${3:-1} and (has(\"message\") | not)" && cmd 0 diff --trace --spec p.spec b a; }
message 'message 2 8 2 4 0 7 4\n' 'message 2 8 2 4 1 7 4\n' 'rank 2 receives from 0 tag 7 | from 1 tag 7' && message 'message 2 9 2 4 0 7 4\n' 'message 2 9 2 4 1 7 4\n' 'rank 2 receives from 0 tag 7 | from 1 tag 7, of any source'
check 'a receive from another one'
message 'message 1 8 2 4 0 7 4\n' 'message 1 8 2 4 0 8 4\n' 'rank 2 sends to 0 tag 7 | to 0 tag 8' 1
check 'another tag, before another way'
message 'message 17 8 2 4 0 -1 4\n' 'message 17 8 2 4 1 -1 4\n' 'rank 2 in MPI_Bcast, root 0 | root 1' && message 'message 17 8 2 4 0 -1 4\n' 'message 17 8 2 5 0 -1 4\n' 'rank 2 in MPI_Bcast, root 0 among 4 | root 0 among 5'
check 'another root, and among others'
message 'message 1 8 2 4 0 7 4\n' 'message 1 8 2 4 0 7 8\n' 'rank 2 sends to 0 tag 7, 4 B | to 0 tag 7, 8 B' && message 'message 2 8 2 4 0 7 4\n' 'message 2 4 2 4 -1 -1 0\n' 'rank 2 receives from 0 tag 7, 4 B | cancelled a receive'
check 'more of it, and one that was cancelled'
message 'message 2 8 2 4 0 7 4\nmessage 2 8 2 4 1 7 4\n' 'message 2 8 2 4 0 7 4\n' 'rank 2 receives from 1 tag 7 | no message' && message '' 'message 2 8 2 4 0 7 4\n' 'no message | rank 2 receives from 0 tag 7'
check 'one more of a call'
alike 'message 1 8 2 4 3 7 4\n' 'message 1 8 1 4 2 7 4\n' && alike 'message 1 8 3 4 0 7 4\n' 'message 1 8 0 4 1 7 4\n' && alike 'message 1 8 3 4 0 7 4\n' 'message 1 8 1 4 0 7 4\n' && message 'message 1 8 3 4 0 7 4\n' 'message 1 8 1 4 3 7 4\n' 'rank 3 sends to 0 tag 7 | rank 1 sends to 3 tag 7'
check 'of two ranks: the neighbour, or the same one'
alike 'message 2 8 2 4 0 7 4\n' 'message 2 0 2 4 0 7 0\n' && alike 'message 0 8 2 4 0 7 4\n' '' 0
check 'what is not known does not differ; one that was not written to its end is none'
with_messages 'message 2 8 2 4 0 7 4\n' | made a && printf 'enter main\ncall 1\nenter integrate\ncall 1\ndecide 2 0\ncall 3\n' | made b && cmd 1 diff --trace --spec p.spec --json a b && json '.threads[0] | .partial and (has("message") | not)' && cmd 1 diff --trace --spec p.spec --json b a && json '.threads[0] | has("message") | not'
check 'a program that was killed while it waited for one'

# The page; what cannot be read
run_of 3 end 0 other | made a && run_of 3 end 1 other | made b && cmd 1 diff --trace --spec p.spec --html a b && says "$out" 'A took true, B false' '<mark>   12  ' 'if (d &gt; 1)' && ! grep -q '<script' "$out"
check 'as a page'
cmd 2 diff --trace --spec p.spec a nothing && says "$err" "'nothing' is not a file or folder" && cmd 2 diff --trace a && cmd 2 diff --trace --spec integ.c a b && says "$err" 'integ.c' && printf 'ab\0\1' >bytes && cmd 2 diff --trace --spec p.spec a bytes && says "$err" "'bytes' is not a trace" && mkdir empty && cmd 2 diff --trace empty empty && says "$err" 'contains no trace'
check 'what is no trace'
finish
