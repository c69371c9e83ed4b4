#!/bin/sh
# Who is killed right behind its first calls has them in the record nevertheless.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

TIMES=60
mkdir "$T/d"
i=0
while [ $i -lt $TIMES ]; do
	: >"$T/d/f$i"
	i=$((i + 1))
done

# gone.py EVENTS FOLDER TIMES: each program that was given files has opened these, and that it began is known for sure; each file
# was given to one.
cat >"$T/gone.py" <<'PY'
import json, sys
events, folder, times = [json.loads(line) for line in open(sys.argv[1])], sys.argv[2], int(sys.argv[3])
paths = {e['num']: e.get('path') for e in events if e['k'] == 'file'}
words = {e['p']: e['argv'] for e in events if e['k'] == 'exec' and len(e['argv']) > 1 and e['argv'][0].endswith('/p-gone')}
read = {}  # by its last program
for e in events:
    if e['k'] == 'exec':
        read[e['p']] = set()
    if e['k'] == 'access' and e.get('sure'):
        read.setdefault(e['p'], set()).add(paths.get(e['file']))
seen = {argv[1] for argv in words.values()}
bad = [f'{name}: no program was given it' for name in (f'{folder}/f{i}' for i in range(times)) if name not in seen]
bad += [f'{name} was not read by the program that was given it' for proc, argv in words.items() for name in argv[1:]
        if name not in read.get(proc, ())]
bad += [f'{proc}: not ended by a signal' for proc in words
        if not any(e['k'] == 'exit' and e['p'] == proc and e.get('ending') == 2 and e.get('code') == 9 for e in events)]
bad += [str(e) for e in events if e['k'] == 'gap' and 'exec' in e.get('text', '')]
for line in bad[:20]:
    print(line)
PY

# gone NAME SCRIPT: with the folder and the number of its files as arguments.
gone()
{
	rm -rf "${T:?}/home"
	(cd "$T/d" && export STEMMA_HOME="$T/home" PROGS && exec timeout -k 5 300 "$STEMMA" run -- sh -c "$2" sh "$T/d" $TIMES) >"$T/out" 2>"$T/err" </dev/null
	status=$?
	{
		[ $status = 0 ] || echo "status $status"
		events "$T/home" "$T/events" || cat "$T/events.err"
		$PYTHON -S "$T/gone.py" "$T/events" "$T/d" $TIMES
	} >"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "$1" "$T/why"
}

# shellcheck disable=SC2016 # the script's own
loop='i=0; while [ $i -lt $2 ]; do "$PROGS"/p-gone "$1/f$i" ARGS; i=$((i + 1)); done; exit 0'
gone "killed when it has opened its first file" "$(echo "$loop" | sed 's| ARGS||')"
gone "killed when it has opened a file, another was not there" "$(echo "$loop" | sed 's|ARGS|"$1/no$i"|')"
gone "killed, several at once" "$(echo "$loop" | sed 's| ARGS;| \&|; s|exit 0|wait; exit 0|')"
finish
