#!/bin/sh
# The kernel's programs add up what threads used that ended before their process, for 4,096 processes at once. Somebody who has more
# of them makes the sums of others too small: those say so, and nobody's who begins later does.
# shellcheck source=t/node.sh
. "$(dirname "$0")/node.sh"

DEADTHREADS=${STEMMA_DEADTHREADS:-$BUILD/tests/stemma-deadthreads}
if ! "$DEADTHREADS" 4300 true >"$out" 2>"$err" || [ "$(cat "$out")" != 4300 ]; then
	echo "1..0 # SKIP so many processes cannot be made here"
	exit 0
fi
cat >"$T/threads.py" <<'END'
import os, threading
t = [threading.Thread(target=lambda: sum(range(300000))) for i in range(4)]
[x.start() for x in t]
[x.join() for x in t]
print('victim', os.getpid(), flush=True)
END
trace "$PYTHON" "$T/threads.py"
pid=$(sed -n 's/^victim //p' "$out")
[ "$(of "$pid" exit threads)" = 5 ] && [ "$(of "$pid" exit whole)" = 1 ]
result $? 'the threads of a process are counted, and its figures are whole' "$events"

trace "$DEADTHREADS" 4300 "$PYTHON" "$T/threads.py"
pid=$(sed -n 's/^victim //p' "$out")
[ -n "$pid" ] && { [ "$(of "$pid" exit threads)" = 5 ] || [ "$(of "$pid" exit whole)" = 0 ]; }
result $? 'where there is no room for them, its figures are not whole' "$events"
grep -q '^exit .* whole=0' "$events"
result $? '... which did happen' "$events"
trace sh -c "'$DEADTHREADS' 4300 true; exec '$PYTHON' '$T/threads.py'"
pid=$(sed -n 's/^victim //p' "$out")
began=$(of "$pid" exit threads)
[ "$began" = 5 ]
result $? 'who comes after them is counted again' "$events"
finish
