#!/bin/sh
# Messages of MPI in function traces: what the trace says is what the program itself wrote down (tests/mpi/messages.c), and
# diff --trace names the first one that differs. Each library that is here, with its own compiler and launcher.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
export HYDRA_LAUNCHER=fork TMPDIR="$T"
names=$(sed -n 's/^MESSAGE(\([0-9]*\), \([a-z]*\),.*/s=^\1 =\2 =;/p; s/^COLLECTIVE(\([0-9]*\), \(.*\))/s=^\1 =\2 =;/p' "$here/src/spec/trace/messages.def")

# sequence PROGRAM TRACE: messages in the program's own words
sequence()
{
	"$SPECTRACE" "$1" "$2" | sed -n 's/^ *message \([0-9]*\) \([0-9]*\) of \([0-9]*\), \([-0-9]*\) tag \([-0-9]*\), \([0-9]*\) B, \([0-9]*\)$/\1 \2 \3 \4 \5 \6 \7/p' | sed "$names" |
		awk '$1 == "send" { print $1, $4, $5, $6; next } $1 == "receive" { print $1, $4, $5, $6, $7 % 8; next } { print $1, $4, $3 }'
}
line_of() { grep -n "@$1 \*/" "$here/tests/mpi/messages.c" | cut -d : -f 1; }
# recorded COMMAND...: with who wrote what in told/
recorded()
{
	rm -rf told && mkdir told && cmd 0 run -q --trace -- timeout 60 "$launch" -n 3 "$@" && sort "$out" >sorted
}
traces_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id' >"$T/id" && echo "$STEMMA_HOME/trace/$(cat "$T/id")"
}

some=
for mpi in openmpi mpich; do
	cc=$(command -v mpicc.$mpi) && launch=$(command -v mpirun.$mpi) || {
		skip "$mpi" "there is no mpicc.$mpi with mpirun.$mpi"
		continue
	}
	rm -rf "$T/work/$mpi" "$STEMMA_HOME"
	mkdir "$T/work/$mpi" && cd "$T/work/$mpi" || exit 1
	cp "$here/tests/mpi/messages.c" . && mkdir told && "$cc" -w -g -O1 -o plain messages.c -pthread >"$out" 2>"$err" && timeout 60 "$launch" -n 3 ./plain all told >"$T/plain" 2>"$err" && [ -s "$T/plain" ] || {
		skip "$mpi" "its programs do not run here: $(head -n 1 "$err")"
		continue
	}
	sort "$T/plain" >"$T/sorted" && cp -r told "$T/work/$mpi/plain.told"
	cmd 0 cc --trace "$cc" -w -g -O1 -o m messages.c -pthread && [ ! -s "$err" ]
	check "$mpi: builds"
	some=1

	recorded ./m all told && cmp sorted "$T/sorted" && diff -r told plain.told >>"$err"
	check "$mpi: results, and what was sent, are those of the program without"
	right=0
	for t in "$(traces_of)"/*.trace; do
		"$SPECTRACE" -q m "$t" >"$T/whole" && says "$T/whole" '#end exit, fits' || continue
		sequence m "$t" >"$T/seq"
		r=$("$SPECTRACE" m "$t" | sed -n 's/^ *message [0-9]* \([0-9]*\) of 3,.*/\1/p' | sort -u)
		[ -n "$r" ] && [ "$(wc -l <"$T/seq")" -gt 300 ] && diff "told/$r" "$T/seq" >>"$err" && right=$((right + 1))
	done
	[ $right = 3 ]
	check "$mpi: each message with its peer, tag and bytes, in its place"
	rm -rf told && mkdir told && timeout 60 "$launch" -n 3 ./m all told threads >"$out" 2>"$err" && sort "$out" | cmp - "$T/sorted" && diff -r told plain.told >>"$err"
	check "$mpi: and not traced"

	recorded ./m threads told threads
	right=0
	for f in told/*.*; do
		t=$(echo "$(traces_of)"/*-"${f##*.}".trace)
		[ -e "$t" ] && sequence m "$t" >"$T/seq" && diff "$f" "$T/seq" >>"$err" && [ "$(wc -l <"$T/seq")" = 600 ] && right=$((right + 1))
	done
	[ $right = 12 ]
	check "$mpi: of threads that share MPI"

	recorded ./m first told 1 && recorded ./m first told 2 && cmd 1 diff --trace --json @~1 @ &&
		json '[.threads[] | [.a.rank, .b.rank]] | sort == [[0, 0], [1, 1], [2, 2]]' &&
		json ".threads[] | select(.a.rank == 0) | [.message.text, .divergences[0].place.line, .message.a.place.line] == [\"rank 0 receives from 1 tag 7 | from 2 tag 7, of any source: first() at messages.c:$(line_of recv)\", $(line_of way), $(line_of recv)]"
	check "$mpi: the first message that differs, before the line that does"
	cmd 1 diff --trace --json @ @~1 && json '.threads[] | select(.a.rank == 0).message | [.a.peer, .b.peer, .a.kind] == [2, 1, "receive"]' && cmd 1 diff --trace @~1 @ && says "$out" 'message       rank 0 receives from 1 tag 7 | from 2 tag 7, of any source' ', rank 0'
	check "$mpi: in the other order, and in words"
	recorded ./m words told 3 && recorded ./m words told 4 && cmd 1 diff --trace --json --rank 0 @~1 @ && json '(.threads | length) == 1 and (.threads[0] | .a.rank == 0 and .verdict == "data" and .message.a.bytes == 12 and .message.b.bytes == 16 and .message.a.any_tag and (.message.text | startswith("rank 0 receives from 1 tag 5, 12 B | from 1 tag 5, 16 B: words() at")))'
	check "$mpi: other bytes, and no other way"
	cmd 1 diff --trace --rank 1 @~1 @ && says "$out" "no control difference, messages differ: first rank 1 sends to 0 tag 5, 12 B | to 0 tag 5, 16 B: words() at messages.c:$(line_of words)"
	check "$mpi: at the sender"
	cmd 1 diff --trace --json @~1 @ && json "[.threads[] | select(.sender) | [.a.rank, .sender.rank, .sender.message_differs, .sender.text]] == [[0, 1, true, \"rank 1 sends to 0 tag 5, 12 B | to 0 tag 5, 16 B: words() at messages.c:$(line_of words)\"]]" && cmd 1 diff --trace @~1 @ && says "$out" 'sender        rank 1 sends to 0 tag 5, 12 B | to 0 tag 5, 16 B'
	check "$mpi: and from the receiver back to it"
	recorded ./m value told 3 && recorded ./m value told 4 && cmd 1 diff --trace --json @ @~1 && json "[.threads[] | select(.sender) | [.a.rank, .sender.rank, .sender.message_differs, .divergences[0].place.line]] == [[0, 1, false, $(line_of got)]]" && json "[.threads[] | select(.sender).sender.text] == [\"rank 1: value() at messages.c:$(line_of put): A took true, B false\"]" && cmd 1 diff --trace @~1 @ && says "$out" 'received      rank 1: value() at'
	check "$mpi: another value in a message of the same size, back to who sent it"
	recorded ./m ring told && cmd 0 diff --trace --rank 0:2 @ @ && says "$out" 'and the same 2 messages' && cmd 0 diff --trace --rank 1:0 --json @ @ && json '.threads[0] | .messages_same == 2 and .a.rank == 1 and .b.rank == 0'
	check "$mpi: two ranks of one run: neighbours are alike"
	cmd 1 diff --trace --rank 1:0 --json @~1 @~1 && json '.threads[0] | .divergences_total > 0'
	check "$mpi: and two that do not do the same"
	cd "$T/work" || exit 1
done
# An MPI of the program's own, which has not all functions, and needs none of ours.
printf '#include <stdio.h>\nint MPI_Init(void *, void *);\nint MPI_Send(void *, int, int, int, int, int);\nint main(void)\n{\n\tint x = 1;\n\tif (MPI_Init(0, 0) == 5 && MPI_Send(&x, 1, 1, 1, 1, 1) == 6)\n\t\tputs("own");\n\treturn 0;\n}\n' >own.c
printf 'int MPI_Init(void *a, void *b)\n{\n\treturn a == b ? 5 : 0;\n}\nint MPI_Send(void *p, int n, int t, int to, int tag, int c)\n{\n\treturn *(int *)p + n + t + to + tag + c;\n}\n' >stubs.c
gcc -c stubs.c && "$STEMMA" cc --trace gcc own.c stubs.o -o own >"$out" 2>"$err"
traces ./own && is "$T/said" own && shown own && says "$out" 'call MPI_Send'
check "stubs in MPI's place: traced without messages"
[ -n "$some" ] || echo '# no MPI could be tested'
finish
