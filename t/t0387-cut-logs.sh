#!/bin/sh
# A log that was cut before anybody asked. Within a block: every answer says that the record is damaged, as soon as nobody can
# still be writing there. At the end of a block: the recordings that lack their end say so, and those that have it are whole.
# What can be known, and what not, is in doc/RELIABILITY.md.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

log=$STEMMA_HOME/logs/h1/2026-01-01/0.stl
history <<END
from damage import frames
logs = []
for i, letter in enumerate('AB'):
    h = History('01' + letter * 24, argv=['step', letter], start=100 * i)
    p = h.process()
    h.exec(p, ['step', letter], exe='/opt/step')
    h.read(p, h.file('/w/in', ino=10))
    h.write(p, h.file('/w/' + letter, ino=11 + i), size=1)
    h.exit(p)
    h.end()
    logs.append(h.lines)
a, b = logs
# Blocks of both in turn; the last one of A, with its end, lies before the last one of B.
lines = a[:3] + b[:4] + a[3:-1] + b[4:-2] + a[-1:] + b[-2:]
os.makedirs('${log%/*}')
os.chmod(home, 0o700)
subprocess.run([evtext, 'make', '$log'], input=''.join(json.dumps(line) + '\\n' for line in lines).encode(), check=True)
data = open('$log', 'rb').read()
with open('$T/ends', 'w') as f:
    f.writelines('%d\\n' % to for _, to in frames(data))
END
cp "$log" "$T/whole"
size=$(stat -c %s "$T/whole")
torn='the logs are damaged'
forget_index()
{
	rm -rf "$STEMMA_HOME"/index* "$HOME"/.cache
}
cut_log()
{ # BYTES [old]: the log is so long, and nobody has asked yet
	forget_index
	head -c "$1" "$T/whole" >"$log"
	[ "${2:-}" != old ] || touch -d '-1 hour' "$log"
}
one_says()
{ # ARG...: what the command said
	"$STEMMA" "$@" >"$T/said" 2>&1
	grep -q "$torn" "$T/said" || echo "$*: silent" >>"$T/silent"
}
everything_says()
{
	: >"$T/silent"
	one_says why /w/A
	one_says why --json /w/A
	one_says lineage /w/A
	one_says lineage --down /w/in
	one_says find made /w/A
	one_says log
	one_says show @
	one_says stat @
	one_says diff @~1 @
	one_says export -f prov-json @
	one_says sql 'SELECT path FROM file'
	cat "$T/silent" >>"$err"
	[ ! -s "$T/silent" ]
}

cut_log "$size" old && cmd 0 log --json && json '(.runs | length) == 2 and (has("record") | not)' && [ ! -s "$err" ]
check 'whole: nothing is said'

bad=''
n=$size
while [ "$n" -gt 7 ]; do
	n=$((n - 7))
	cut_log "$n" old
	"$STEMMA" log --json >"$out" 2>"$err"
	if grep -qx "$n" "$T/ends"; then
		! grep -q "$torn" "$err" || bad="$bad $n"
	else
		grep -q "$torn" "$err" && grep -q '"damaged"' "$out" || bad="$bad $n"
	fi
done
[ -z "$bad" ] || echo "wrong where it was cut at $bad" >>"$err"
[ -z "$bad" ]
check 'cut at any byte within a block: that is said, and never where it was cut behind one'

cut_log $((size - 5)) old && everything_says && everything_says
check 'the first answer says it, and each later one'
cut_log $((size - 30)) && cmd 0 log && says_not "$err" "$torn" && cmd 0 index && touch -d '-1 hour' "$log" && everything_says && cmd 0 log --json && json '.record == ["damaged"]'
check 'what may still be written is not doubted; later it is, though nothing has changed but the time'
tail -c 30 "$T/whole" >>"$log" && cmd 0 log --json && json '(.runs | length) == 2 and (has("record") | not)' && [ ! -s "$err" ] && cmd 0 fsck
check 'and the rest was written: nothing is damaged any more'
cut_log $((size - 30)) old && everything_says && end=$(awk -v n=$((size - 30)) '$1 < n { e = $1 } END { print e }' "$T/ends") && truncate -s "$end" "$log" &&
	cmd 0 log && says_not "$err" "$torn" && cmd 0 why --json /w/B && json '.answers[0].makers[0].completeness == ["unended"]'
check 'and the writer has taken back what it could not write whole'

last=$(sed -n '$=' "$T/ends")
whole_a=true
for end in $(sed -n "1,$((last - 1))p" "$T/ends"); do
	cut_log "$end" old
	cmd 0 log --json && json '[.runs[] | select(.counts_complete) | select(.end == null)] == []' || whole_a=false
done
[ $whole_a = true ]
check 'cut behind any block: no recording without an end counts as whole'
cut_log "$(sed -n "$((last - 1))p" "$T/ends")" old && cmd 0 why --json /w/A && json '.answers[0].makers[0].completeness == []' && cmd 0 show --json 01BBBBBBBBBBBBBBBBBBBBBBBB &&
	json '.things[0].completeness == ["unended"]' && cmd 0 log && [ ! -s "$err" ]
check 'without its last block: who lacks it has no end, and who has all does not lack anything'
finish
