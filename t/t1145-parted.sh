#!/bin/sh
# examples/parted, the pipeline of the paper's Fig. 1: from outputs that differ to the line in the module.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cp "$here"/examples/parted/* . && cd "$T/work" || exit 1
for p in simulate select integrate analyse report; do
	"$STEMMA" cc --operands gcc -g $p.c -o $p -lm >"$out" 2>"$err" || break
done
mkdir traces && STEMMA_TRACE=$PWD/traces ./simulate parameters.txt series.txt
if ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
rm -rf traces series.txt
line=$(grep -n 'small enough' integrate.c | cut -d : -f 1)
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi

cmd 0 run --trace -- ./pipeline.sh && [ -s sum.txt ] && sed -i 's/0\.8/0.9/' parameters.txt && cmd 0 run --trace -- ./pipeline.sh && [ ! -e sum.txt ]
check 'the pipeline, and the pipeline with another parameter: an output is gone'
cmd 1 diff --json && json '.first_cause | .rung == "inputs" and (.subject | endswith("parameters.txt"))' && json '[.rungs[] | select(.name == "outputs").differences[] | select(.subject | endswith("sum.txt")).kind] == ["removed"]'
check 'the parameters are the first cause, and the sum is the output that is gone'
cmd 1 diff --json && json "[.rungs[] | select(.name == \"lines\").differences[] | select(.subject == \"integrate\") | [.name, (.a | startswith(\"took true (\")), (.b | startswith(\"took false (\"))]] == [[\"settles() at integrate.c:$line\", true, true]]"
check 'the rung lines: in integrate, at the line that was made to differ'
cmd 1 diff --json && json '[.rungs[] | select(.name == "lines").differences[].subject] | index("simulate") == null and index("select") == null'
check 'and not in the modules before it, whose data alone differs'
cmd 1 diff && says "$out" "lines         integrate  settles() at integrate.c:$line"
check 'on one screen'
cmd 1 diff --trace @~1 @ && says "$out" "settles() at integrate.c:$line: A took true, B false" ' < 0.001 | ' && cmd 1 diff --trace --json @ @~1 && json "[.threads[] | select(.a.exe | endswith(\"/integrate\")).divergences[0] | [.place.line, .a.at.outcome, .b.at.outcome]] == [[$line, \"false\", \"true\"]]"
check 'the trace says what was compared, in both orders'
cmd 1 diff --html && says "$out" "settles() at integrate.c:$line" && cmd 1 diff --trace --html @~1 @ && says "$out" 'small enough'
check 'as pages'
cmd 0 run --trace -- ./pipeline.sh && cmd 0 diff --trace @~1 @ && says "$out" 'threads that were compared are the same' && cmd 0 diff --json && json '[.rungs[] | select(.name == "lines").differences[]] == []' || cmd 1 diff --json && json '[.rungs[] | select(.name == "lines").differences[]] == []'
check 'the same again: no line'
cmd 0 run -- ./pipeline.sh && cmd 2 diff --trace @~1 @ && says "$err" " '@'" 'stemma run --trace'
check 'a run without traces'
finish
