#!/bin/sh
# --limit processes: where calls can be stopped there are never more than the limit, by what the programs count of themselves
# (tests/prog/p-limit.c); and who stays within it is not disturbed: shells with handlers, threads that start programs at once.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export STEMMA_HOME="$T/record"
cd "$T" || exit 1
export P_LIMIT_TRUTH="$T/truth"

truth()
{ # NUMBER: that one of what the program said, from 0
	od -An -t d8 -v -w8 truth | sed -n "$(($1 + 1))p" | tr -d ' '
}
held()
{ # NAME EXPRESSION-OF-PYTHON COMMAND...: of the summary d, of born, most
	name=$1 claim=$2
	shift 2
	head -c 64 /dev/zero >truth
	rm -f used.json
	# shellcheck disable=SC2086
	"$STEMMA" run $OPTIONS --summary used.json -- "$PROGS/p-limit" "$@" >out 2>err </dev/null
	status=$?
	{
		echo "status $status, born $(truth 1), most together $(truth 7)"
		cat err
	} >why
	[ $status = 124 ] && grep -q '^stemma: the command was stopped: processes reached 20, the limit is 20, and more were requested$' err &&
		$PYTHON -c 'import json, sys
d = json.load(open("used.json"))
born, most = int(sys.argv[1]), int(sys.argv[2])
peak = d["processes_concurrent_peak"]
print(peak, d["limits_exceeded"])
sys.exit(not (peak["value"] <= 20 and d["limits_exceeded"][0]["peak"] == 20 and ('"$claim"')))' "$(truth 1)" "$(truth 7)" >>why 2>&1
	result $? "$name ($mode)" why
}

# Which ways there are to stop calls.
modes=
for mode in complete/notify tree/notify complete/trace; do
	"$STEMMA" run --capture="${mode%/*}" --transport="${mode#*/}" -- true >/dev/null 2>err && [ ! -s err ] && modes="$modes $mode"
done
[ -n "$modes" ] || skip_ "no more than the limit" "no call can be stopped here"
for mode in $modes; do
	ways="--capture=${mode%/*} --transport=${mode#*/}"
	OPTIONS="$ways --limit processes=20 --grace 0"
	# The command itself is one of the 20.
	held "children that stay" "born == 19" forks 200
	held "processes that make processes and end" "2 <= most <= 19" bomb 200
	# A fork that is refused fails as at a limit of the kernel's, and the command has its grace.
	OPTIONS="$ways --limit processes=20 --grace 0.3s --orphans=kill"
	held "... with a grace" "2 <= most <= 19" bomb 100

	# 200 children one after the other, a handler for the end of each, and a program's output in between. Not by $(...): bash 5.2
	# reads a handler and a command's text with one parser, and says "unexpected EOF" where the one comes during the other.
	cat >many.sh <<'END'
trap : CHLD
i=0
while [ $i -lt "$1" ]; do
	i=$((i + 1))
	x=`echo $i`
	(exit 0) &
done
wait
echo done $x
END
	for shell in sh bash; do
		if ! command -v $shell >/dev/null; then
			skip_ "$shell ($mode)" "there is none"
			continue
		fi
		# shellcheck disable=SC2086
		"$STEMMA" run $ways --limit processes=210 -- $shell many.sh 200 >out 2>err
		status=$?
		echo "status $status" >>err
		[ $status = 0 ] && [ "$(cat out)" = "done 200" ] && [ "$(cat err)" = "status 0" ]
		result $? "$shell with a handler of SIGCHLD never lacks a process ($mode)" err
	done
	# As many as there may be, again and again: none of it is refused.
	cat >threads.py <<'END'
import subprocess
import threading
threads = [threading.Thread(target=lambda: [subprocess.run(['true'], check=True) for _ in range(10)]) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('done')
END
	# shellcheck disable=SC2086
	"$STEMMA" run $ways --limit processes=9 -- "$PYTHON" threads.py >out 2>err
	status=$?
	echo "status $status" >>err
	[ $status = 0 ] && [ "$(cat out)" = done ] && [ "$(cat err)" = "status 0" ]
	result $? "8 threads that start programs, within a limit of 9 ($mode)" err
done

# Where nothing can be stopped it is held by looking, and the figures have what there was.
mode=off
head -c 64 /dev/zero >truth
"$STEMMA" run --capture=off --limit processes=20 --grace 0 --summary used.json -- "$PROGS/p-limit" bomb 200 >out 2>err </dev/null
status=$?
echo "status $status, most together $(truth 7)" >>err
[ $status = 124 ] && grep -q '^stemma: the command was stopped: processes reached [0-9]*, the limit is 20$' err &&
	$PYTHON -c 'import json; e = json.load(open("used.json"))["limits_exceeded"][0]; assert e["peak"] > 20, e' 2>>err
result $? "by looking alone ($mode)" err
"$STEMMA" doctor --quick --json >out 2>err
can=$(jq -r '.checks[] | select(.name == "control groups") | .text' out)
echo "$can; $modes" >>err
case $modes in
*complete/notify*) [ "${can##*; }" = "--limit processes is never exceeded" ] ;;
*) [ "${can##*; }" = "--limit processes is enforced by sampling only" ] || [ -n "$modes" ] ;;
esac
result $? "the doctor says which it is" err
finish
