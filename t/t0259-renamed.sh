#!/bin/sh
# Names that change while they are opened (races.h, opens_late.h): what a program got is in the record, and nothing else is
# there for sure; no part is said to be unseen.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

PROGS=${PROGS:-$BUILD/tests/prog}
N=${1:-60}
cp "$PROGS/p-rename" . || exit 1
touch other

# race HOW OPENS: with how names are changed; how often something else is opened before
race()
{
	rm -rf "$STEMMA_HOME" P q r out*
	printf q >Q
	printf r >R
	ln Q P
	"$STEMMA" run -q -- ./p-rename "$1" "$N" "$2" >"$out" 2>"$err" || return 1
	$PYTHON - "$STEMMA" "$N" >"$out" 2>"$err" <<'END_PY'
import json, os, subprocess, sys
stemma, n = sys.argv[1], int(sys.argv[2])
inode = {str(os.stat(name).st_ino): name for name in 'QR'}
wrong, possible = [], 0
for i in range(n):
    out = 'out%d' % i
    with open(out) as f:
        got = f.read().upper()
    answer = json.loads(subprocess.run([stemma, 'lineage', '--json', '--all', out], check=True, stdout=subprocess.PIPE).stdout)
    what = {e['id']: inode[e['inode']] for e in answer['entities'] if e.get('inode') in inode}
    used = {(what[e['to']], e['certainty']) for e in answer['edges'] if e['type'] == 'used' and e['to'] in what}
    if got != '-' and got not in {w for w, _ in used}:
        wrong.append('%s got %s, which is not there: %s' % (out, got, used))
    if any(w != got and c == 'must' for w, c in used):
        wrong.append('%s got %s, and not for sure: %s' % (out, got, used))
    possible += any(c == 'may' for _, c in used)
print('\n'.join(wrong) or '%d of %d only possible' % (possible, n))
sys.exit(bool(wrong))
END_PY
}
whole()
{ # no gap but those of programs that were killed
	cmd 0 sql --csv "SELECT DISTINCT reason, text FROM gap WHERE reason IN ('lost', 'unsettled')" && [ "$(wc -l <"$out")" -le 1 ]
}
for how in link rename elsewhere; do
	race $how 0
	check "$how, each open a stop: what was got is there, and nothing else is sure"
	whole
	check "... and nothing is said to be unseen"
	STEMMA_INJECT=always race $how 60
	check "$how, opens without a stop"
	whole
	check "... and nothing is said to be unseen"
done
race elsewhere 0 && says "$out" "0 of $N only possible"
check 'other names that change blur nothing'
finish
