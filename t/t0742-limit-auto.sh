#!/bin/sh
# --limit auto: limits from what tasks like it have used; none where too little is known; what is unlike them is said.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export STEMMA_HOME="$T/home"
seq 2000 >in
"$STEMMA" run --limit auto -- sort in >out 2>err
[ $? = 0 ] && grep -q '^stemma: no limits from history: ' err && [ -s out ]
result $? "nothing is known yet: it runs, and that is said" err
mkfifo fifo
exec 7<>fifo
i=0
bad=0
while [ $i -lt 21 ]; do
	i=$((i + 1))
	"$STEMMA" run -- sort in >out 2>err || { bad=1; break; }
done
result $bad "a history is made" err
"$STEMMA" run --limit auto -- sort in >out 2>err
[ $? = 0 ] && grep -q '^stemma: limits from 2[0-9] earlier runs of such commands: memory=64M,wall=60s$' err
result $? "limits from the history" err
# A task that goes astray: the same program and shape of arguments, and a hundred times the memory.
"$STEMMA" run --limit auto,wall=0.2s --grace 0.1s -- sort in /dev/stdin >out 2>err <"$T/fifo"
[ $? = 124 ] && grep -q '^stemma: the command was stopped: wall ' err
result $? "others may stand beside it" err
$PYTHON - >big <<'PY'
import random
random.seed(1)
for _ in range(600000):
    print(random.getrandbits(400))
PY
"$STEMMA" run --limit auto --grace 1s -- sort big >out 2>err
status=$?
[ $status = 124 ] && grep -q '^stemma: the command was stopped: memory ' err
result $? "what goes astray is stopped" err
"$STEMMA" run --limit auto --limit memory=100G -- sort big >out 2>err
[ $? = 0 ] && grep -q '^stemma: memory_resident_peak is .*; [0-9]* similar tasks had ' err
result $? "a limit that is given comes before; what is unlike the others is said" err
"$STEMMA" run --quiet --limit auto -- sort in >out 2>err
[ $? = 0 ] && [ ! -s err ]
result $? "quiet" err
finish
