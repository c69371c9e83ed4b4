#!/bin/sh
# forget: what is forgotten is in no byte of the record, what is not is as it was; again, in the middle of, from a copy.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

make_history()
{
	chmod -R u+w "$STEMMA_HOME" 2>/dev/null; rm -rf "$STEMMA_HOME" "$HOME/.cache"
	history <<'END'
for i, letter in enumerate('ABCD'):
    h = History('01' + letter * 24, argv=['step', letter, 'arg-of-' + letter], start=1000 * i, host='h1', cwd='/dir-of-' + letter)
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['step', 'arg-of-' + letter], exe='/opt/step-' + letter, env=['CFLAGS=-DENV_OF_' + letter])
    h.read(p, h.file('/w/%d' % i, ino=100 + i))
    h.read(p, h.file('/w/secret-of-' + letter, ino=200 + i))
    h.read(p, h.file('/w/absent-of-' + letter, kind=ABSENT))
    h.read(p, h.file('/w/shared', ino=99))
    h.write(p, h.file('/w/%d' % (i + 1), ino=101 + i), size=i + 1)
    h.add('gap', p=p, reason=2, text='gap-of-' + letter)
    h.exit(p); h.end()
    h.save(home, evtext, letter)
END
	(cd "$STEMMA_HOME/logs/h1/2026-01-01" && cat B.stl >>A.stl && mv A.stl AB.stl && rm B.stl && chmod 600 ./*)
}
# Everything that is said of a run, but for what others did before.
tell() { "$STEMMA" show --all --json "$1" | jq -S 'del(.things[].inputs)'; }
nowhere() # WORD: in no file of the record or the home, not as text, in any case of index and log
{
	! LC_ALL=C grep -rlaF -e "$1" "$STEMMA_HOME" "$HOME" >"$out" 2>/dev/null && ! holds "$1"
}
segments() { find "$STEMMA_HOME" -name '*.stl*' | sort; }

make_history
cmd 0 note BBBB 'note-of-B' && cmd 0 note AAAA 'note-of-A' && cmd 0 index --rebuild && cmd 0 log && lines "$out" 5
tell DDDD >"$T/D" && tell AAAA >"$T/A" && cmd 0 sql --csv 'SELECT pub FROM version' && sort "$out" >"$T/pubs"
cmd 0 forget --dry-run BBBB && says "$out" '01BBBBBBBBBBBBBBBBBBBBBBBB' && says "$out" 'would remove ' && cmd 0 log && lines "$out" 5 && ! nowhere arg-of-B
check 'a dry run says it and does nothing'
cmd 0 forget BBBB && says "$out" '01BBBBBBBBBBBBBBBBBBBBBBBB' && says "$out" 'removed ' && cmd 0 log && lines "$out" 4 && says_not "$out" arg-of-B && cmd 1 show BBBB
check 'a run is forgotten'
bad=
for w in arg-of-B /dir-of-B secret-of-B absent-of-B gap-of-B step-B ENV_OF_B note-of-B; do nowhere $w || bad="$bad $w"; done
echo "there:$bad" >"$out"; [ -z "$bad" ]
check 'no byte of it is left'
for w in arg-of-A arg-of-C /w/shared note-of-A; do nowhere $w && bad="$bad $w"; done
echo "gone:$bad" >"$out"; [ -z "$bad" ]
check 'this search would find it'
tell DDDD | cmp - "$T/D" >>"$err" && tell AAAA | cmp - "$T/A" >>"$err" && cmd 0 sql --csv 'SELECT pub FROM version' && sort "$out" >"$T/now" && [ "$(comm -13 "$T/pubs" "$T/now" | wc -l)" -le 2 ] && cmd 0 fsck
check 'the others are as they were, with their ids'
find "$STEMMA_HOME" -name '*.stl' -exec "$EVTEXT" dump {} + >"$out" 2>"$err" && grep '"k":"tombstone"' "$out" >"$T/tombs" && [ "$(grep -c . "$T/tombs")" -ge 1 ] && grep -q '"run":"01BBBBBBBBBBBBBBBBBBBBBBBB"' "$T/tombs" && grep -q '"hi":[1-9]' "$T/tombs"
check 'a tombstone stands'
segments >"$T/before" && cmd 0 forget BBBB && says "$err" 'was forgotten' && cmd 0 forget 01BBBBBBBBBBBBBBBBBBBBBBBB && segments | cmp - "$T/before" && cmd 0 log && lines "$out" 4
check 'again: nothing more happens'
cmd 1 forget EEEE && cmd 1 forget /w/nosuch && cmd 2 forget && cmd 1 forget '@~9' && cmd 2 forget '/w/1@{1}'
check 'what is not there cannot be forgotten, nor a version alone'
[ "$(find "$STEMMA_HOME" -name '*.stl' ! -perm 600 | wc -l)" = 0 ]
check 'the segments are for the owner alone'

make_history
cp -r "$STEMMA_HOME/logs" "$T/copy" && cmd 0 forget AAAA DDDD && cmd 0 log && lines "$out" 3 && mkdir -p "$STEMMA_HOME/logs/other/day" && cp "$T/copy/h1/2026-01-01/AB.stl" "$STEMMA_HOME/logs/other/day/x.stl" && cmd 0 log && lines "$out" 3 && says_not "$out" arg-of-A && cmd 0 index --rebuild && cmd 0 log && lines "$out" 3
check 'a copy of the log that comes later brings nothing back'
cmd 1 fsck && says "$out" 'were forgotten' && cmd 0 forget AAAA && cmd 0 fsck && nowhere arg-of-A && ! nowhere arg-of-B
check 'fsck tells of it, and it can be taken out'
rm -rf "$T/copy"

make_history
cmd 0 log && cp "$STEMMA_HOME/index.db" "$T/index.db" && cmd 0 forget BBBB && cp "$T/index.db" "$STEMMA_HOME/index.db" && cmd 0 log && lines "$out" 4 && says_not "$out" arg-of-B && nowhere arg-of-B && cmd 0 fsck
check 'an index elsewhere that knows the run is made anew'

make_history
cmd 0 lineage /w/4 && says "$out" /w/0 && cmd 0 forget --dry-run /w/secret-of-B && says "$out" '/w/secret-of-B' && cmd 0 forget /w/secret-of-B && nowhere secret-of-B && cmd 1 why /w/secret-of-B && cmd 0 lineage /w/4 && says "$out" /w/0 && cmd 0 log && lines "$out" 5 && cmd 0 fsck
check 'a file is forgotten, and nothing else'
cmd 0 forget /w/1 && cmd 0 lineage /w/4 && says_not "$out" '/w/0' && says_not "$out" '/w/1' && nowhere /w/1 && cmd 0 fsck
check 'a file between others'
cmd 0 sql --csv 'SELECT pub FROM version' && sort "$out" >"$T/now" && comm -13 "$T/pubs" "$T/now" >"$out" && lines "$out" 0
check 'ids of other versions are as they were'
history <<'END'
h = History('01' + 'E' * 24, argv=['cat', '/w/private', 'x'], start=9000, host='h1')
p = h.process(); h.exec(p, ['cat', '/w/private', '--in=/w/private', 'x'], exe='/opt/cat', env=['CFLAGS=/w/private'])
h.read(p, h.file('/w/private', ino=500)); h.exit(p); h.end(); h.save(home, evtext, 'E')
END
cmd 0 forget /w/private && ! nowhere /w/private && cmd 0 show EEEE && says "$out" /w/private
check 'arguments stay unless it is asked for'
history <<'END'
h = History('01' + 'F' * 24, argv=['cat', '/w/private2', 'x'], start=9500, host='h1')
p = h.process(); h.exec(p, ['cat', '/w/private2', '--in=/w/private2', 'stays'], exe='/opt/cat', env=['CFLAGS=/w/private2'])
h.read(p, h.file('/w/private2', ino=501)); h.exit(p); h.end(); h.save(home, evtext, 'F')
END
cmd 0 forget --redact-arguments /w/private2 && nowhere /w/private2 && cmd 0 show --json FFFF && json '.things[0].executions[] | select(.argv[0] == "cat") | .argv == ["cat", "***", "--in=***", "stays"]' && cmd 0 fsck
check 'then they go, too'
history <<'END'
h = History('01' + 'G' * 24, argv=['sh', '-c', 'cat private3 <sub/private3.bak'], start=9700, host='h1', cwd='/w')
p = h.process(); h.exec(p, ['cat', 'private3', './private3', '--in=../w/private3', '-oprivate3', 'private3.', 'a;private3;b', 'private3.bak', 'private3/x', 'my-private3', 'stays'], exe='/opt/cat', env=['CFLAGS=private3'])
h.read(p, h.file('/w/private3', ino=502)); h.exit(p); h.end(); h.save(home, evtext, 'G')
END
cmd 0 forget --redact-arguments /w/private3 && cmd 0 show --json GGGG && json '.things[0].command == ["sh", "-c", "***"]' && json '.things[0].executions[] | select(.argv[0] == "cat") | .argv == ["cat", "***", "***", "--in=***", "***", "***", "***", "private3.bak", "private3/x", "my-private3", "stays"]' && cmd 0 show --json --all GGGG && ! grep -q CFLAGS=private3 "$out"
check 'also where they say only the name'

# Event by event, against a filter that knows only the text of the logs.
cat >"$T/filter.py" <<'END'
import json, sys
paths, numbers, gone, out = set(sys.argv[1:]), set(), set(), []
for line in sys.stdin:
    e = json.loads(line)
    s, k = e['session'], e['k']
    if k == 'file' and e.get('path') in paths:
        numbers.add((s, e['num']))
    mine = (s, e.get('num') if k == 'file' else e.get('file')) in numbers and k in ('file', 'state', 'access', 'name', 'note')
    if k == 'access' and mine:
        gone.add((s, e['seq']))
    if mine or (k == 'access_end' and (s, e['access']) in gone):
        continue
    for f in ('exe', 'script'):
        if k == 'exec' and (s, e.get(f)) in numbers:
            del e[f]
    out.append(json.dumps(e, sort_keys=True))
print('\n'.join(sorted(out)))
END
dump() { find "$STEMMA_HOME/logs" -name '*.stl' -exec "$EVTEXT" dump {} + | grep -v "$(find "$STEMMA_HOME/logs" -name '*.stl' -exec "$EVTEXT" dump {} + | sed -n 's/.*"session":"\([0-9a-f]*\)".*"mode":"keeping".*/\1/p' | paste -sd'|' | sed 's/|/\\|/g; s/^$/none/')"; }
make_history
dump | $PYTHON "$T/filter.py" /w/shared /opt/step-C >"$T/want" && cmd 0 forget /w/shared /opt/step-C && dump | $PYTHON "$T/filter.py" >"$T/now" && diff "$T/want" "$T/now" >"$out" && [ "$(wc -l <"$T/now")" -gt 60 ] && cmd 0 fsck
check 'the logs hold just the other events, with their numbers'

make_history
history <<'END'
h = History('01' + 'G' * 24, argv=['outer'], start=9000, host='h1')
p = h.process(); h.exec(p, ['outer-shell'], exe='/opt/sh'); h.read(p, h.file('/w/outer-in', ino=600))
h.add('run', id='01' + 'H' * 24, outer='01' + 'G' * 24, argv=['inner'], cwd='/w', user='ann', group='lab', uid=1000, gid=1000)
q = h.process(p); h.exec(q, ['inner-cmd'], exe='/opt/inner', run='01' + 'H' * 24)
h.read(q, h.file('/w/inner-in', ino=601)); h.read(q, h.file('/w/both', ino=602)); h.write(q, h.file('/w/inner-out', ino=603), size=1)
h.exit(q); h.add('run_end', id='01' + 'H' * 24, ending=1)
h.read(p, h.file('/w/both')); h.write(p, h.file('/w/outer-out', ino=604), size=2); h.exit(p); h.end(); h.save(home, evtext, 'G')
END
cp -r "$STEMMA_HOME" "$T/nested"
cmd 0 why --json /w/inner-out && jq -S '.answers[0].makers[0].id' "$out" >"$T/maker" && cmd 0 forget GGGG && cmd 0 log && says "$out" inner && nowhere /w/outer-in && nowhere outer-shell && nowhere /w/outer-out && cmd 0 why /w/inner-out && says "$out" inner-cmd && says "$out" /w/inner-in && cmd 0 why --json /w/inner-out && jq -S '.answers[0].makers[0].id' "$out" | cmp - "$T/maker" && cmd 0 index --rebuild --json && json '.unknown_refs == 0' && cmd 0 fsck
check 'the outer of two runs: the inner one stays whole'
rm -rf "$STEMMA_HOME" && cp -r "$T/nested" "$STEMMA_HOME" && cmd 0 forget HHHH && nowhere inner-cmd && nowhere /w/inner-in && nowhere /w/inner-out && cmd 0 why /w/outer-out && says "$out" outer-shell && says "$out" /w/both && cmd 0 index --rebuild --json && json '.unknown_refs == 0' && cmd 0 fsck
check 'the inner of two runs: the outer one stays'
rm -rf "$STEMMA_HOME" && cp -r "$T/nested" "$STEMMA_HOME" && cmd 0 forget HHHH GGGG && nowhere inner && nowhere outer- && cmd 0 fsck
check 'both'

make_history
printf 'arg-of-B in bytes that are no frame' >>"$STEMMA_HOME/logs/h1/2026-01-01/AB.stl"
cmd 0 forget BBBB && says "$err" 'damaged bytes of the rewritten logs were removed' && nowhere arg-of-B && cmd 0 log && lines "$out" 4 && cmd 0 fsck
check 'damaged bytes of such a segment go, too'
make_history
printf 'STL7\040\0\0\0' >>"$STEMMA_HOME/logs/h1/2026-01-01/AB.stl" && head -c 80 /dev/zero >>"$STEMMA_HOME/logs/h1/2026-01-01/AB.stl" && printf 'STL' >>"$STEMMA_HOME/logs/h1/2026-01-01/AB.stl"
cmd 0 forget BBBB && says "$err" '1 frame of a newer version of stemma could not be read' && grep -qa STL7 "$STEMMA_HOME/logs/h1/2026-01-01/AB.stl" && nowhere arg-of-B
check 'blocks of a newer stemma stay'

# Slots: a run that is being recorded is not disturbed.
rm -rf "$STEMMA_HOME"
if "$STEMMA" run -- true 2>"$err" && [ "$(find "$STEMMA_HOME" -name '*.stl' | wc -l)" = 1 ]; then
	"$STEMMA" run -- sh -c 'echo arg-of-first' >/dev/null
	mkfifo "$T/fifo"
	"$STEMMA" run -- sh -c "echo \$\$ >$T/pid; read x <$T/fifo; echo second >$T/work/second" 2>>"$err" &
	pid=$!
	while [ ! -s "$T/pid" ]; do sleep 0.05; done
	cmd 125 forget '@~1' && says "$err" 'is being recorded into' && says "$err" 'hint: ' && ! nowhere arg-of-first
	check 'not while a run is being recorded there'
	echo >"$T/fifo"
	wait $pid
	cmd 0 forget '@~1' && nowhere arg-of-first && cmd 0 why "$T/work/second" && says "$out" 'sh -c'
	check 'when it has ended'

	# Killed at any moment: the old or the new segment, and nothing else; the next one ends it.
	k=0 killed=0 bad=
	for i in 1 2 3 4 5 6 7 8; do "$STEMMA" run -- sh -c "echo arg-of-k$i" >/dev/null; done
	"$STEMMA" index >/dev/null
	while [ $k -lt 40 ]; do
		k=$((k + 1))
		"$STEMMA" run -- sh -c "echo arg-of-victim$k" >/dev/null 2>&1
		id=$("$STEMMA" log --json -n 1 | jq -r '.runs[0].id')
		cp -r "$STEMMA_HOME/logs" "$T/old"
		"$STEMMA" forget "$id" >/dev/null 2>&1 &
		pid=$!
		sleep "0.0$((k * 7919 % 5))$((k * 104729 % 10))"
		kill_child 9 $pid && killed=$((killed + 1))
		wait $pid 2>/dev/null
		for f in $(cd "$T/old" && find . -name '*.stl'); do
			cmp -s "$T/old/$f" "$STEMMA_HOME/logs/$f" && continue
			LC_ALL=C grep -qaF "arg-of-victim$k" "$STEMMA_HOME/logs/$f" && bad="$bad half:$k"
			"$EVTEXT" dump "$STEMMA_HOME/logs/$f" 2>&1 >/dev/null | grep -q . && bad="$bad damaged:$k"
			for i in 1 2 3 4 5 6 7 8; do LC_ALL=C grep -qaF "arg-of-k$i" "$STEMMA_HOME/logs/$f" || bad="$bad lost:$k"; done
		done
		"$STEMMA" forget "$id" >>"$T/again" 2>&1 || bad="$bad again:$k"
		[ "$(find "$STEMMA_HOME/logs" -type f ! -name '*.stl' | wc -l)" = 0 ] || bad="$bad left:$k"
		LC_ALL=C grep -rqaF "arg-of-victim$k" "$STEMMA_HOME" && bad="$bad there:$k"
		rm -rf "$T/old"
	done
	echo "killed $killed of $k; bad:$bad" >"$out"
	[ -z "$bad" ] && [ $killed -ge 5 ] && cmd 0 log && [ "$(grep -c 'arg-of-k' "$out")" = 8 ] && cmd 0 fsck
	check 'killed at any moment'
else
	skip 'not while a run is being recorded there' "nothing can be recorded here: $(head -n 1 "$err")"
	skip 'killed at any moment' 'as before'
fi
finish
