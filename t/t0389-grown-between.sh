#!/bin/sh
# Sessions whose blocks lie between each other's, as in what a collector writes: the log grows block by block, and somebody asks
# after each. What the index then knows is what an index knows that was made at once.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

log=$STEMMA_HOME/logs/h1/2026-01-01/0.stl
history <<END
import random
from damage import frames
sessions = []
for i, letter in enumerate('ABC'):
    h = History('01' + letter * 24, argv=['step', letter], start=100 * i)
    p = h.process()
    h.exec(p, ['step', letter], exe='/opt/step')
    for k in range(6):
        h.read(p, h.file('/w/in%d' % k, ino=20 + k))
        h.write(p, h.file('/w/%s%d' % (letter, k), ino=100 * (i + 1) + k), size=1)
    h.exit(p)
    h.end()
    sessions.append(h.lines)
lines, rng = [], random.Random(3)
rest = [list(s) for s in sessions]
while any(rest):
    one = rng.choice([r for r in rest if r])
    n = rng.randrange(1, 6)
    lines += one[:n]
    del one[:n]
os.makedirs('${log%/*}')
os.chmod(home, 0o700)
subprocess.run([evtext, 'make', '$log'], input=''.join(json.dumps(line) + '\\n' for line in lines).encode(), check=True)
with open('$T/ends', 'w') as f:
    f.writelines('%d\\n' % to for _, to in frames(open('$log', 'rb').read()))
END
mv "$log" "$T/whole"
answers()
{ # FILE: in any order, which is that in which the index met them
	for question in 'log --json' 'show --json 01AAAAAAAAAAAAAAAAAAAAAAAA' 'show --json 01BBBBBBBBBBBBBBBBBBBBBBBB' 'lineage --json --down /w/in0' 'find --json used /w/in5'; do
		# shellcheck disable=SC2086 # words
		"$STEMMA" $question
	done >"$T/answers" 2>&1
	"$STEMMA" sql 'SELECT path, versions FROM file ORDER BY path' >>"$T/answers" 2>&1
	sed 's/,$//' "$T/answers" | sort >"$1"
}

wrong=''
doubted=''
while read -r end; do
	head -c "$end" "$T/whole" >"$log.part" && cat "$log.part" >"$log" && rm "$log.part"
	answers "$T/grown"
	cp -r "$STEMMA_HOME" "$T/anew"
	rm "$T"/anew/index*
	STEMMA_HOME=$T/anew answers "$T/at-once"
	rm -r "$T/anew"
	cmp -s "$T/grown" "$T/at-once" || wrong="$wrong $end"
	! grep -q 'damaged\|lacks' "$T/grown" || doubted="$doubted $end"
done <"$T/ends"
[ -z "$wrong" ] || {
	echo "not as at once after the bytes$wrong" >>"$err"
	diff "$T/grown" "$T/at-once" >>"$err"
}
[ "$(wc -l <"$T/ends")" -gt 8 ] && [ -z "$wrong" ]
check "asked after each of $(wc -l <"$T/ends") blocks: the answers are those of an index made at once"
[ -z "$doubted" ]
check 'and no recording counts as damaged'
cmd 0 fsck
check 'fsck finds nothing'
finish
