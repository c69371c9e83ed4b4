#!/bin/sh
# Damaged logs and a damaged index: every answer is right or says that it may not be, the first one and all later ones.
#
# t0381-damage.sh [COUNT [SEED]]: so many rounds of the campaign; without, what the ordinary suite has time for.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rounds=${1:-36} seed=${2:-0}
mkdir "$T/logs"
$PYTHON -B "$here/t/damage.py" "$STEMMA" "$EVTEXT" "$T/logs" "$seed" "$rounds" >"$out" 2>"$err"
check "$rounds damaged logs: no answer that differs from the truth is silent"

mkdir "$T/index"
$PYTHON -B "$here/t/damage_index.py" "$STEMMA" "$EVTEXT" "$T/index" "$seed" "$((rounds * 2))" >"$out" 2>"$err"
check "$((rounds * 2)) damaged indexes: every question is answered, and rightly"

history <<'END'
h = History('01' + 'A' * 24, argv=['a'])
p = h.process(); h.exec(p, ['a'], exe='/opt/a'); h.write(p, h.file('/w/a'), size=1); h.exit(p); h.end(); h.save(home, evtext, 'A')
END
cmd 0 index
cmd 0 why --json /w/a && json 'has("record") | not' && [ ! -s "$err" ]
check 'a whole record: nothing is said'
log=$STEMMA_HOME/logs/h1/2026-01-01/A.stl
cp "$log" "$T/A.stl"
truncate -s 200 "$log"
cmd 0 why /w/a && [ ! -s "$err" ]
check 'what the index still knows of a log that was cut is not doubted'
cmd 0 index --rebuild && cmd 1 log --json && json '.runs == [] and .record == ["damaged"]' && says "$err" '1 recording lacks a part of the log'
check 'and a rebuilt index knows that it knew more'
cmd 0 index --rebuild && cmd 0 index && cmd 1 log --no-index && says "$err" '1 recording lacks'
check 'for good'
cp "$T/A.stl" "$log"
cmd 0 log && [ ! -s "$err" ] && cmd 0 why /w/a && cmd 0 fsck
check 'until the log is whole again'
finish
