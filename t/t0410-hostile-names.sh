#!/bin/sh
# Files and arguments with hostile names: what commands and exports print of them has no raw control characters, no marks of
# direction and no formulas, and independent programs can read it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
rm -rf "$STEMMA_HOME"

# The names are made here, from the bytes and from Unicode's list of what has no shape.
cat >"$T/names.py" <<'E2'
import os, subprocess, sys
stemma, work = sys.argv[1:]
every = bytes(c for c in range(1, 256) if c != 47)
marks = ''.join(map(chr, [0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a), 0x85, 0x9b, 0xfeff])).encode()
names = [every[i:i + 60] for i in range(0, len(every), 60)]
names += [marks, '\u202e'.encode(), b'\x1b]0;title\x07', b"=cmd|' /C calc'!A0", b'+1+1', b'-2+3', b'@SUM(A1)', b'\t=1', b'\r=1', b'a\nb\n', b'"quoted"', b"it's", b'<i>&amp;</i>',
          b'$(id)`id`', b'\\x1b', b'}{][', b'%s%n', b'*?', b'a' * 255, b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xc0\xaf']
os.chdir(work)
for i, name in enumerate(names):
    if name in (b'.', b'..'):
        continue
    if b'/' in name:  # an argument only
        subprocess.run([stemma, 'run', '-q', '--', 'true', name])
        continue
    with open(b'./' + name, 'w') as f:
        f.write(str(i))
    long = b'/'.join([b'./.'] * 1300) + b'/' + name  # 4 KB
    subprocess.run([stemma, 'run', '-q', '--', 'sh', '-c', 'cat "$1" "$2" >"$3"', name, b'./' + name, long[:4000], b'./' + name + b'.o' if len(name) < 250 else b'./o', name], check=False,
                   stderr=subprocess.DEVNULL)
E2
$PYTHON "$T/names.py" "$STEMMA" "$T/work" >"$out" 2>"$err"
[ ! -s "$err" ] && cmd 0 log --json && json 'length > 20 or (.runs | length) > 20'
check 'they are recorded'

cat >"$T/clean.py" <<'E2'
import csv, io, json, os, re, sys
kind, top = sys.argv[1:]
unsafe = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
paths = [os.path.join(d, f) for d, _, files in os.walk(top) for f in files] if os.path.isdir(top) else [top]
for path in paths:
    data = open(path, 'rb').read()
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        sys.exit('%s: no UTF-8: %s' % (path, e))
    m = unsafe.search(text)
    if m:
        sys.exit('%s: %r in %r' % (path, m.group(), text[max(0, m.start() - 40):m.end() + 20]))
    if kind == 'json':
        json.loads(text)
    if kind == 'jsonl':
        [json.loads(line) for line in text.splitlines() if line]
    if kind == 'tsv' and (path.endswith('tsv') or os.path.isfile(top)):
        for line in text.split('\n'):
            for cell in line.split('\t'):
                if cell[:1] in ('=', '@', '\r') or cell[:1] and cell[:1] in '+-' and not re.fullmatch('[+-]?[0-9.]+(e[+-]?[0-9]+)?', cell):
                    sys.exit('%s: a formula: %r' % (path, cell))
    if kind == 'csv' and path.endswith('csv') or kind == 'csv' and os.path.isfile(top):
        for row in csv.reader(io.StringIO(text, newline=''), strict=True):
            for cell in row:
                if cell[:1] in ('=', '@', '\t', '\r') or cell[:1] and cell[:1] in '+-' and not re.fullmatch('[+-]?[0-9.]+(e[+-]?[0-9]+)?', cell):
                    sys.exit('%s: a formula: %r' % (path, cell))
E2
clean() { $PYTHON "$T/clean.py" "$1" "$2" 2>>"$err"; }

i=0
for run in @ @~3 @~8 @~12 @~18 @~21 @~24; do
	for question in "show $run" "show --all $run" "stat $run" "lineage $run" "diff $run @~1" "log -n 30"; do
		# shellcheck disable=SC2086 # words
		"$STEMMA" $question >"$out" 2>"$err"
		clean text "$out" || i=1
		# shellcheck disable=SC2086
		"$STEMMA" $question --json >"$out" 2>/dev/null
		[ ! -s "$out" ] || { clean json "$out" && jq -e . "$out" >"$T/jq" 2>>"$err"; } || i=1
		[ $i = 0 ] || break 2
	done
	"$STEMMA" stat --tsv "$run" >"$out" 2>"$err"
	question='stat --tsv'
	clean tsv "$out" || i=1
	"$STEMMA" diff --html "$run" @~1 >"$out" 2>"$err"
	clean text "$out" || i=1
	[ $i = 0 ] || break
done
[ $i = 0 ]
check "commands' answers ($question)"
for f in "$T"/work/*; do
	for question in why lineage find; do
		"$STEMMA" $question "$f" >"$out" 2>"$T/err2"
		{ clean text "$out" && clean text "$T/err2"; } || break 2
	done
	i=2
done
[ $i = 2 ] && clean text "$out"
check 'answers about such files'
for table in run execution file name; do
	cmd 0 sql --csv "SELECT * FROM $table" && clean csv "$out" && cmd 0 sql --json "SELECT * FROM $table" && clean json "$out" &&
		cmd 0 sql --jsonl "SELECT * FROM $table" && clean jsonl "$out" && cmd 0 sql "SELECT * FROM $table" && clean text "$out" || break
	i=3
done
[ $i = 3 ]
check 'tables'
# The archive's table has the programs, commands, labels and sets of others' summaries.
cat >"$T/tasks.py" <<'E2'
import sys; sys.path.insert(0, sys.argv[1])
from summaries import *
words = ['=1+1', '@SUM(A1)', '+1+1', '-2+3', "=cmd|' /C calc'!A0", '\t=1', '\r=1', '\x1b]0;title\x07', '\u202etxt.exe', '\u2066\u200f\ufeff', '\x9b31m', 'a,"b"\nc', '-5', '1e-3', '']
write([task([word or 'a', word], i, 1, user=word or 'u', label={'sample': word}, cpu_time=2) for i, word in enumerate(words)], sys.stdout)
E2
$PYTHON -B "$T/tasks.py" "$here/t" >"$T/tasks.jsonl" 2>"$err" && [ ! -s "$err" ] && cmd 0 archive --submit "$T/tasks.jsonl" --describe '=HYPERLINK("x")' && says "$out" '15 of 15' &&
	for by in program command shape user label:sample set; do
		cmd 0 archive --csv --by "$by" wall_time cpu_time && clean csv "$out" && cmd 0 archive --json --by "$by" wall_time && clean json "$out" &&
			cmd 0 archive --by "$by" wall_time && clean text "$out" || break
		i=4
	done
[ $i = 4 ] && cmd 0 archive --csv --by label:sample wall_time && says "$out" "'=1+1,wall_time,s,1" && says "$out" '-5,wall_time,s,1' && ! grep -q "'-5" "$out"
check "the archive's tables"
"$STEMMA" export --formats >"$T/formats" 2>/dev/null
# shellcheck disable=SC2013 # words
for format in $(sed 's/[ ,].*//' "$T/formats"); do
	rm -rf "$T/made"
	"$STEMMA" export -f "$format" -o "$T/made" >"$out" 2>"$err" || {
		skip "export: $format" "$(head -n 1 "$err" | cut -c 1-100)"
		continue
	}
	case $format in
	*csv*) kind=csv ;;
	tsv) kind=tsv ;;
	*json) kind=json ;;
	*) kind=text ;;
	esac
	case $format in
	resource-monitor) jq -e . "$T/made" >"$T/jq" 2>>"$err"
		check "export: $format (JSON; cctools' reader knows no escapes of other characters)" && continue ;;
	png | pdf | *zip) skip "export: $format" 'no text' && continue ;;
	esac
	clean $kind "$T/made" && case $format in
	turtle | ntriples) command -v rapper >/dev/null || exit 0; rapper -q -i "$format" "$T/made" >/dev/null 2>>"$err" ;;
	svg) ! command -v xmllint >/dev/null || xmllint --noout "$T/made" 2>>"$err" ;;
	esac
	check "export: $format"
done

# Ids of runs: a program says that a run begins inside of its own, under a name of its choice; a log that was received has one.
cat >"$T/nested.py" <<'E2'
import os
for name in (b'A' * 18 + b'\x1b[31mRED', b'A' * 18 + b'\xe2\x80\xae\x1b]0;\x07', b'../' * 8 + b'..'):
    try:
        os.open(b'/.stemma/run/' + name + b'/0/0/0', os.O_RDWR)
    except OSError as e:
        print(e.errno)
E2
rm -rf "$STEMMA_HOME"
cmd 0 run -q -- $PYTHON "$T/nested.py" && is "$out" "2
2
2" && cmd 0 log --json && json '.runs | length == 1'
check 'a run begins inside another only under an id'
history <<'END'
for i, name in enumerate(('A' * 18 + '\x1b[31mRED', 'A' * 18 + '\xe2\x80\xae\x1b]0;', '../' * 8 + '..', 'B' * 20 + '> .\n<a')):
    h = History(name, argv=['made', str(i)], start=i)
    p = h.process(pid=400 + i); h.exec(p, ['made', str(i)], exe='/usr/bin/made')
    h.write(p, h.file('/w/out%d' % i), size=3)
    h.exit(p); h.end(); h.save(home, evtext)
END
raw=
for words in log 'log --json' 'show @' 'stat' 'diff @ @~1' trust 'forget -n @' 'lineage /w/out1' 'export -f prov-n' 'export -f turtle' 'export -f prov-json' 'export -f dot' 'sql --csv SELECT*FROM(run)'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" $words >"$T/said" 2>&1
	clean text "$T/said" || raw="$raw, $words"
	grep -q '\.\./\.\.\|B>' "$T/said" && raw="$raw, $words"
done
[ -z "$raw" ]
check "ids of runs that are none are not printed${raw:+: not so$raw}"
# Ids of plans: in a plan, in the seals of its steps, and in a run's label. --verify says "NOT SOUND", for nothing here has a right hash.
rm -rf "$STEMMA_HOME"
history <<'END'
names = ['A' * 20 + '\x1b[2JZ', 'A' * 22 + '\xe2\x80\xae', 'A' * 18 + '\x1b]0;x\x07Z', '../' * 8 + '..']
for i, name in enumerate(names):
    h = History('01JD8W3B6ZQ4N7T5V2X9Y0M1K%d' % i, argv=['made'], start=i, labels=['bench=' + name])
    p = h.process(pid=400 + i); h.exec(p, ['made'], exe='/usr/bin/made'); h.exit(p); h.end(); h.save(home, evtext)
    k = History(host='evil\x1b[2J', session=77 + i, start=i)
    k.lines[0]['mode'] = 'keeping'
    k.add('plan', id=name, runs=3, warmup=1, argv=['made'], cwd='/w')
    for number, step in enumerate((1, 2, 3)):
        k.add('seal', chain='evil\x1b[2J', number=number + 1, hash='0' * 32, why=2, plan=name, step=step, repetition=int(step == 2), run=name if step == 2 else '',
              key='\x1b[2J', signature='\x1b[2J')
    k.add('session_end'); k.save(home, evtext)
END
raw=
for words in 'trust --verify' 'trust --verify --json' 'trust --head' trust 'trust --json' 'bench --list' log 'show --json @' 'info --json'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" $words >"$T/said" 2>&1
	clean text "$T/said" || raw="$raw, $words"
	grep -q '\.\./\.\.' "$T/said" && [ "$words" != 'show --json @' ] && raw="$raw, $words"
	[ "$words" != 'trust --verify' ] || grep -q '^bench:00000000: ' "$T/said" || raw="$raw, no plan is named"
done
[ -z "$raw" ]
check "ids of plans that are none are not printed${raw:+: not so$raw}"
finish
