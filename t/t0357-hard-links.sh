#!/bin/sh
# A file of several names is shown by the one by which the program opened it: what package managers link into their environments, and
# snapshots of `cp -al` (doc/graph.md, "Names").
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir store one two snapshots deep
echo lib >store/lib.py
ln store/lib.py one/lib.py
ln store/lib.py two/lib.py
printf '#!/bin/sh\ncat store/lib.py\n' >store/tool
chmod +x store/tool
ln store/tool one/tool

# opened OUT NAMES: what lineage and why call the inputs of it that have the words lib.py, in text and JSON
opened()
{
	want=$2
	"$STEMMA" lineage "$1" | grep -o '[a-z/]*lib.py@{1}' | sort | tr '\n' ' ' >"$T/lineage"
	"$STEMMA" lineage --json "$1" | jq -r --arg work "$T/work/" '. as $all | .edges[] | select(.type == "used") | .to as $to |
		(.opened_as // ($all.entities[] | select(.id == $to).path)) // "" | ltrimstr($work) | select(endswith("lib.py")) + "@{1}"' | sort | tr '\n' ' ' >"$T/edges"
	"$STEMMA" why "$1" | grep -o 'from .*' | grep -o '[a-z/]*lib.py@{1}' | sort | tr '\n' ' ' >"$T/why"
	"$STEMMA" why --json "$1" | jq -r --arg work "$T/work/" '.answers[].inputs[] | .opened_as // .path // "" | ltrimstr($work) |
		select(endswith("lib.py")) + "@{1}"' | sort | tr '\n' ' ' >"$T/inputs"
	cat "$T/lineage" "$T/edges" "$T/why" "$T/inputs" >"$out"
	for answer in lineage edges why inputs; do
		[ "$(cat "$T/$answer")" = "$want " ] || return 1
	done
}

cmd 0 run -q -- sh -c 'cat one/lib.py >out1; cat two/lib.py >out2; cat store/lib.py >out3; cd one && cat lib.py >../out4'
check "a run opens one file by its three names"
opened out1 'one/lib.py@{1}'
check "the first name"
opened out2 'two/lib.py@{1}'
check "the second one"
opened out3 'store/lib.py@{1}'
check "the third one"
opened out4 'one/lib.py@{1}'
check "a name in the working directory"
cmd 0 run -q -- sh -c 'cp -al store snapshots/a; cat snapshots/a/lib.py >out5'
opened out5 'snapshots/a/lib.py@{1}'
check "a snapshot of links is made: a name in it"
cmd 0 run -q -- sh -c 'mv snapshots/a snapshots/b; cat snapshots/b/lib.py >out6; cat one/lib.py >out7'
check "its folder is renamed"
"$STEMMA" lineage out5 >"$out" && says_not "$out" 'snapshots/a/lib.py@' &&
	"$STEMMA" lineage --json out5 | jq -e --arg name "$T/work/snapshots/a/lib.py" '[.edges[] | select(.opened_as == $name)] | length == 1' >"$err"
check "a name that the file has no more is in the JSON only"
opened out6 'snapshots/b/lib.py@{1}'
check "a name in the renamed folder"
opened out7 'one/lib.py@{1}'
check "and the old name again"
cmd 0 run -q -- sh -c 'ln store/lib.py deep/lib.py; cat one/lib.py >out8; rm deep/lib.py; cat two/lib.py >out9'
check "a name comes and goes"
opened out8 'one/lib.py@{1}' && opened out9 'two/lib.py@{1}'
check "another name is not taken for the one that was opened"
# An execution that opens it by two names is shown by the first.
cmd 0 run -q -- sh -c 'cat two/lib.py one/lib.py >out10'
opened out10 'two/lib.py@{1}'
check "by two names: the first"

cmd 0 run -q -- sh -c 'cat store/lib.py | sort | sed s/l/L/ >moved.new; mv moved.new moved; cat moved >out11'
"$STEMMA" lineage --json out11 | jq -e '[.edges[].opened_as | select(. != null)] == []' >"$out"
check "a file that was renamed has one name after the other: no other is told"
execution=$("$STEMMA" lineage --json out2 | jq -r '.executions[] | select(.argv == ["cat", "two/lib.py"]).id')
cmd 0 show "$execution" && says "$out" 'two/lib.py@{1}'
check "show of the program says the name"
cmd 0 show --json "$execution" && jq -e --arg name "$T/work/two/lib.py" '[.. | objects | select(.opened_as == $name)] | length == 1' "$out" >"$T/said"
check "its JSON, too"
# The index is made from the logs again, and says the same.
cmd 0 index --rebuild
opened out1 'one/lib.py@{1}' && opened out2 'two/lib.py@{1}' && opened out7 'one/lib.py@{1}'
check "the same from an index that was made anew"

finish
