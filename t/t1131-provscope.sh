#!/bin/sh
# ProvScope's formats: specifications as JSON, traces of functions (.ftr), their paths, and where two of them part.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# The program of the paper's Fig. 2 and 3: F opens, reads, then writes or reads again, and closes.
cat >fig2.json <<'END'
[{"function name": "main",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "F"}, {"id": 2, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}]},
 {"function name": "F",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "open"},
            {"id": 2, "type": "funcCall", "label": "read"}, {"id": 3, "type": "funcCall", "label": "write"},
            {"id": 4, "type": "funcCall", "label": "read"}, {"id": 5, "type": "funcCall", "label": "read"},
            {"id": 6, "type": "funcCall", "label": "close"}, {"id": 7, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}, {"src": 1, "dst": 4}, {"src": 2, "dst": 3}, {"src": 3, "dst": 6},
            {"src": 4, "dst": 5}, {"src": 5, "dst": 6}, {"src": 6, "dst": 7}]}]
END
# The right one of Fig. 4: one read, and the branch behind it.
cat >fig4.json <<'END'
[{"function name": "main",
  "nodes": [{"id": "e", "type": "ePoint"}, {"id": "f", "type": "funcCall", "label": "F"}, {"id": "r", "type": "retCall"}],
  "edges": [{"src": "e", "dst": "f"}, {"src": "f", "dst": "r"}]},
 {"function name": "F",
  "nodes": [{"id": "c", "type": "funcCall", "label": "close"}, {"id": "o", "type": "funcCall", "label": "open"},
            {"id": "x", "type": "funcCall", "label": "read"}, {"id": "w", "type": "funcCall", "label": "write"},
            {"id": "y", "type": "funcCall", "label": "read"}, {"id": "r", "type": "retCall"}, {"id": "e", "type": "ePoint"}],
  "edges": [{"src": "e", "dst": "o"}, {"src": "o", "dst": "x"}, {"src": "x", "dst": "w"}, {"src": "x", "dst": "y"},
            {"src": "w", "dst": "c"}, {"src": "y", "dst": "c"}, {"src": "c", "dst": "r"}]}]
END
# ftr WORD...: a trace; WORD enters and leaves at once, +WORD enters, /WORD leaves
ftr()
{
	for w; do
		case $w in
		+*) echo "${w#+}" ;;
		/*) echo "$w" ;;
		*) printf '%s\n/%s\n' "$w" "$w" ;;
		esac
	done
}
# parted SPEC FUNCTION NODE A B: a.ftr and b.ftr part there, and these are called next, in both orders
parted()
{
	cmd 1 diff --trace --spec "$1" --json a.ftr b.ftr && json ".threads[0].divergences[0] | [.place.function, .place.node, .a.next.place.name, .b.next.place.name] == [\"$2\", $3, \"$4\", \"$5\"]" &&
		cmd 1 diff --trace --spec "$1" --json b.ftr a.ftr && json ".threads[0].divergences[0] | [.place.function, .place.node, .a.next.place.name, .b.next.place.name] == [\"$2\", $3, \"$5\", \"$4\"]"
}

ftr +main +F open read write close /F /main >a.ftr
ftr +main +F open read read close /F /main >b.ftr
# Fig. 4: the same traces part at the open, or at the read, by the specification.
parted fig2.json F 1 read read && json '.threads[0].divergences[0] | .a.next.place.node != .b.next.place.node'
check 'Fig. 4, left: they part behind open, at reads that are not the same'
parted fig4.json F 3 write read && json '.threads[0].divergences_total == 1 and .threads[0].partial == false'
check 'Fig. 4, right: they part behind the read'
cmd 1 diff --trace --spec fig4.json a.ftr b.ftr && says "$out" 'F(), node 3: A calls write(), node 4, B calls read(), node 5' 'main() > F()' 'meet again    F(), node 1, after 1 | 1 steps'
check 'in words'
cp a.ftr b.ftr && cmd 0 diff --trace --spec fig2.json a.ftr b.ftr && says "$out" 'no control difference'
check 'the same'

# Fig. 6 (b): F is called four times, each time from one of two places. Which, only the whole path tells, or nothing does.
cat >fig6.json <<'END'
[{"function name": "main",
  "nodes": [{"id": 0, "type": "ePoint"},
            {"id": 1, "type": "funcCall", "label": "F"}, {"id": 2, "type": "funcCall", "label": "F"},
            {"id": 3, "type": "funcCall", "label": "F"}, {"id": 4, "type": "funcCall", "label": "F"},
            {"id": 5, "type": "funcCall", "label": "G"}, {"id": 6, "type": "funcCall", "label": "H"}, {"id": 7, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 0, "dst": 2}, {"src": 1, "dst": 3}, {"src": 1, "dst": 4}, {"src": 2, "dst": 3},
            {"src": 2, "dst": 4}, {"src": 3, "dst": 5}, {"src": 4, "dst": 6}, {"src": 5, "dst": 7}, {"src": 6, "dst": 7}]},
 {"function name": "F",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "read"}, {"id": 2, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}]}]
END
ftr +main +F read /F +F read /F G /main >a.ftr && ftr +main +F read /F +F read /F H /main >b.ftr
parted fig6.json main 1 F F && json '.threads[0].partial and ([.threads[0].notes[] | select(test("2 of 6 calls more than one path"))] | length == 1) and ([.threads[0].notes[] | select(test("diverge in main\\(\\) after its call 1 at the latest, after 0 at the earliest: 2 \\| 2 paths match"))] | length == 1)'
check 'what is ambiguous is said, and not guessed earlier than it must be'

# Loops: turns, and a trace of calls that the specification knows nothing of
cat >loop.json <<'END'
[{"function name": "main",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "step"}, {"id": 2, "type": "funcCall", "label": "end"},
            {"id": 3, "type": "funcCall"}, {"id": 4, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 1}, {"src": 1, "dst": 2}, {"src": 2, "dst": 3}, {"src": 3, "dst": 4}]}]
END
ftr +main step step step end x /main >a.ftr && ftr +main step step step step step end x /main >b.ftr
cmd 1 diff --trace --spec loop.json --json a.ftr b.ftr && json '.threads[0] | .verdict == "turns" and .divergences_total == 1 and (.divergences[0].turns | .a == 3 and .b == 5)'
check 'turns of a loop'
ftr +main step end y /main >b.ftr && ftr +main step end x /main >a.ftr && cmd 1 diff --trace --spec loop.json a.ftr b.ftr && says "$out" 'main(), node 3: A called x(), B y()'
check 'a call without a label may be of any function'
ftr +main end step x /main >b.ftr && cmd 1 diff --trace --spec loop.json a.ftr b.ftr && says "$out" 'in 1 of 2 calls no path of the specification matches'
check 'a trace that is no path'
ftr +main step end +x step >b.ftr && cmd 1 diff --trace --spec loop.json a.ftr b.ftr
check 'a trace that ends in the midst'
ftr +main step +end +x /main >b.ftr && cmd 0 diff --trace --spec loop.json a.ftr b.ftr && says "$out" '0 | 2 calls have no end in the traces; where they ended is taken from the specification' && says_not "$out" 'no path'
check 'returns by a jump, which a trace does not show: the specification says where they were'
cat >jump.json <<'END'
[{"function name": "main",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "F"}, {"id": 2, "type": "funcCall", "label": "F"},
            {"id": 3, "type": "funcCall", "label": "last"}, {"id": 4, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}, {"src": 2, "dst": 3}, {"src": 3, "dst": 4}]},
 {"function name": "F",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "G"}, {"id": 2, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}]},
 {"function name": "G",
  "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "funcCall", "label": "read"}, {"id": 2, "type": "funcCall", "label": "write"},
            {"id": 3, "type": "retCall"}],
  "edges": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}, {"src": 1, "dst": 3}, {"src": 2, "dst": 3}]}]
END
ftr +main +F +G read write /G /F +F +G read /G /F last /main >a.ftr && ftr +main +F +G read write +F +G read last /main >b.ftr && cmd 0 diff --trace --spec jump.json a.ftr b.ftr && says "$out" '0 | 4 calls have no end' 'no control difference' && says_not "$out" 'no path'
check '... several at once'
ftr +main +F +G read +F +G read write last /main >b.ftr && cmd 1 diff --trace --spec jump.json a.ftr b.ftr && says "$out" 'G(), node 1: A calls write(), node 2, B returns from G()' 'main() > F() > G()'
check '... and what differs beside them'
ftr +main +F +G write last /main >b.ftr && cmd 1 diff --trace --spec jump.json a.ftr b.ftr && ftr +main +F last /main >b.ftr && cmd 1 diff --trace --spec jump.json a.ftr b.ftr && says "$out" 'no path of the specification matches'
check 'what the specification does not allow stays what it is'
ftr +main step end x /main >a.ftr
printf 'main\r\n\r\n  step \n/step\r\nend\n/end\nx\n/x\n/main' >b.ftr && cmd 0 diff --trace --spec loop.json a.ftr b.ftr
check 'blanks and ends of lines do not count'
ftr +main step /step /step >b.ftr && cmd 1 diff --trace --spec loop.json a.ftr b.ftr && says "$out" "B's trace can be read up to step" 'line 4 leaves a function that was not entered'
check 'damage is said'

# What cannot be read
cmd 2 diff --trace a.ftr b.ftr && says "$err" 'contains function names only; the paths between them require a specification' '--spec FILE'
check 'without a specification'
wrong=0
for bad in '[' '[]' '{"function name": "main"}' '[{"nodes": []}]' '[{"function name": "f", "nodes": []}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "retCall"}], "edges": []}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "ePoint"}, {"id": 1, "type": "ePoint"}], "edges": []}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "ePoint"}, {"id": 0, "type": "retCall"}], "edges": []}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "ePoint"}], "edges": [{"src": 0, "dst": 9}]}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "branch"}], "edges": []}]' \
	'[{"function name": "f", "nodes": [{"id": 0, "type": "ePoint"}]}, {"function name": "f", "nodes": [{"id": 0, "type": "ePoint"}]}]'; do
	echo "$bad" >bad.json
	cmd 2 diff --trace --spec bad.json a.ftr b.ftr && says "$err" 'bad.json' && continue
	wrong=1
	break
done
[ $wrong = 0 ]
check 'specifications that are none are named'
finish
