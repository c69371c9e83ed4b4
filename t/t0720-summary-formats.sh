#!/bin/sh
# summary: written as resource_monitor's and kickstart's and read by readers that are not ours; theirs read by ours.
# shellcheck source=t/lib.sh
AS=${STEMMA_SUMMARY_AS:-}
CCTOOLS_READ=${STEMMA_CCTOOLS_READ:-}
. "$(dirname "$0")/lib.sh"
AS=${AS:-$BUILD/tests/stemma-summary-as}
CCTOOLS_READ=${CCTOOLS_READ:-$BUILD/tests/cctools-read}

as()
{ # FORM FROM TO
	"$AS" "$1" <"$2" >"$3" 2>"$err"
}
alike()
{ # FORM NAME: $T/NAME.json in that form, read by others, says the same
	as "$1" "$T/$2.json" "$T/$2.$1" || return 1
	if [ "$1" = resource-monitor ]; then
		"$CCTOOLS_READ" "$T/$2.$1" >"$T/$2.read" 2>"$err" || return 1
		$PYTHON -B "$here/t/summary_check.py" "$1" "$T/$2.json" "$T/$2.read" >"$out" 2>"$err"
	else
		$PYTHON -B "$here/t/summary_check.py" "$1" "$T/$2.json" "$T/$2.$1" >"$out" 2>"$err"
	fi
}

# Summaries of runs.
cmd 0 run --summary "$T/plain.json" -- sh -c 'cat /proc/self/stat; :' && jq -e '.processes | length == 2' "$T/plain.json" >"$out"
check 'a plain one'
cmd 3 run --summary "$T/status.json" -- sh -c 'exit 3'
check 'one that fails'
"$STEMMA" run --summary "$T/signal.json" -- sh -c 'kill -9 $$' >"$out" 2>"$err" </dev/null
[ "$(jq -c '[.exit_type, .signal]' "$T/signal.json")" = '["signal",9]' ]
check 'one that is killed'
cmd 0 run --summary "$T/words.json" -- sh -c : 'a: b' '- c' '#d' 'e "f" \g' "$(printf 'two\nlines')" "$(printf '\t\001\033[1m\177')" '' ' ' 'é' \
	"$(printf '\302\205\342\200\250\357\273\277\357\277\277\360\237\230\200')" "$(printf 'not \377 utf8')" true 1.5 null "it's" '[x]' '{y}' '%z' '\'
check 'one with words that need quotes'
cat >"$T/made.json" <<'END'
{"format": 1, "command": ["work", "x"], "cwd": "/w", "exit_type": "limit", "exit_status": null, "signal": 15,
 "start": {"value": 1795296431.789999999, "unit": "s", "complete": true},
 "end": {"value": 1795309999.000000001, "unit": "s", "complete": true},
 "wall_time": {"value": 13567.210000002, "unit": "s", "complete": true},
 "cpu_time": {"value": 10000000.123456789, "unit": "s", "complete": true},
 "user_time": {"value": 9999999, "unit": "s", "complete": true},
 "system_time": {"value": 1.123456789, "unit": "s", "complete": true},
 "memory_resident_peak": {"value": 8589934593, "unit": "B", "low": 1, "high": 9589934593, "complete": true},
 "memory_virtual_peak": {"absent": "why"}, "swap_peak": {"value": 0, "unit": "B", "complete": true},
 "bytes_read": {"value": 9007199254740, "unit": "B", "complete": true},
 "bytes_written": {"value": 1, "unit": "B", "complete": false},
 "processes_total": {"value": 123456789, "unit": "processes", "complete": true},
 "processes_concurrent_peak": {"absent": "why"}, "page_faults_minor": {"value": 0, "unit": "faults", "complete": true},
 "disk_footprint_peak": {"absent": "why"},
 "limits": {}, "limits_exceeded": [{"name": "memory", "limit": 1073741825, "peak": 8589934593, "unit": "B"},
 {"name": "wall", "limit": 60.5, "peak": null, "unit": "s"}, {"name": "threads", "limit": 4, "peak": 5, "unit": ""}],
 "host": {"name": "node\u0007: 7", "job": "SLURM_JOB_ID=55", "kernel": "6.1", "cores": "24"},
 "label": {"transformation": "a: \"b\"", "wf-label": "1.5", "memory": "512", "command": "no"}, "processes": []}
END

# Straight from the run.
for form in resource-monitor kickstart stemma; do
	cmd 3 run --summary "$T/straight" --summary-format $form --label transformation=t -- sh -c 'exit 3' && as stemma "$T/straight" "$T/back" &&
		jq -e '.exit_status == 3 and .label.transformation == "t" and .wall_time.value > 0 and .memory_resident_peak.value > 100000 and .command[1] == "-c"' "$T/back" >"$out"
	check "run --summary-format $form"
done
# From the record: the same but for the processes, which the record does not have.
id=$(jq -r .run "$T/plain.json")
{ # not by jq, which makes doubles of the numbers
	sed '/^  "processes"/,$d' "$T/plain.json"
	echo '  "processes": []}'
} >"$T/lean.json"
for form in resource-monitor kickstart; do
	cmd 0 export -f $form "$id" && cp "$out" "$T/kept" && as $form "$T/lean.json" "$T/direct" &&
		if [ $form = kickstart ]; then sed -i '/^      file_name:/d' "$T/kept" "$T/direct"; fi && cmp "$T/kept" "$T/direct" >"$err"
	check "export -f $form of one run"
	cmd 0 export -f $form && as stemma "$out" "$T/all" && [ "$(jq -s length "$T/all")" = "$("$STEMMA" log --json | jq '.runs | length')" ]
	check "export -f $form of all"
done
cmd 0 run --label none=x -- true && cmd 0 export -f kickstart && cmd 125 export -f kickstart --since 2031-01-01 && says "$err" 'was measured'
check 'export of nothing'
cmd 2 run --summary "$T/x" --summary-format yaml -- true && says "$err" "summary format 'yaml' is not one of" && cmd 2 run --summary-format kickstart -- true && says "$err" 'needs --summary'
check 'a form that there is not, and a form of nothing'

if $PYTHON -c 'import yaml, jsonschema' 2>"$err"; then
	for name in plain status signal words made; do
		alike kickstart $name
		check "$name as kickstart: YAML of its schema, with the same values"
	done
	as kickstart "$T/plain.json" "$T/two" && as kickstart "$T/made.json" "$T/more" && cat "$T/more" >>"$T/two" && as stemma "$T/two" "$out" &&
		[ "$(jq -c .command[0] "$out" | tr '\n' ' ')" = "$(jq -c '.processes[] | select(.ppid == 0).exe' "$T/plain.json") \"work\" " ]
	check 'several records in one file'
else
	skip 'as kickstart' 'no yaml and jsonschema for Python'
fi

if [ -x "$CCTOOLS_READ" ]; then
	for name in plain status signal made; do
		alike resource-monitor $name
		check "$name as resource-monitor: the same values in cctools' reader"
	done
	as resource-monitor "$T/words.json" "$T/words.rm" && "$CCTOOLS_READ" "$T/words.rm" >"$out"
	check 'words that need quotes, as resource-monitor'
else
	skip 'as resource-monitor' 'stemma was built without the library of cctools'
fi

# A summary of the real one. It says nothing of who was short of time, so a bound is all that can be told of its figures.
if command -v resource_monitor >/dev/null; then
	resource_monitor --interval=1 -O "$T/theirs" -V 'sample: B7' -- sh -c 'dd if=/dev/zero of=x bs=64k count=160; exit 5' >"$out" 2>"$err" </dev/null
	as stemma "$T/theirs.summary" "$T/ours.json" && jq -e -n --slurpfile t "$T/theirs.summary" --slurpfile o "$T/ours.json" '
		$t[0] as $t | $o[0] as $o
		| ([["start", "start", 1], ["end", "end", 1], ["wall_time", "wall_time", 1], ["cpu_time", "cpu_time", 1], ["memory", "memory_resident_peak", 1048576],
			["bytes_written", "bytes_written", 1048576], ["total_processes", "processes_total", 1], ["disk", "disk_footprint_peak", 1048576]]
			| all(. as [$theirs, $ours, $unit] | $o[$ours].value == $t[$theirs][0] * $unit and $o[$ours].method == "resource_monitor"))
		and $o.exit_status == 5 and $o.exit_type == "normal" and $o.label.sample == "B7" and $o.wall_time.complete and ($o.cpu_time.complete | not)
		and $o.user_time.absent and $o.command[0] == "sh"' >"$out" 2>"$err"
	check 'a summary of resource_monitor itself is read'
else
	skip 'a summary of resource_monitor itself' 'there is no resource_monitor'
fi

! as stemma /dev/null "$out" && says "$err" 'this is not a summary of stemma, resource_monitor or kickstart'
check 'nothing is no summary'
finish
