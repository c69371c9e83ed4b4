#!/bin/sh
# find: conditions, how they combine, what they mean for files, runs and executions, mistakes.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
ids = ['01AAAAAAAAAAAAAAAAAAAAAAA%d' % i for i in range(3)]
for i, run in enumerate(ids):
    h = History(run, argv=['./fit.sh', str(i)], user='ann' if i < 2 else 'bob', host='h%d' % i, start=10000 * i)
    h.pids += 100 * i
    sh = h.process(); h.exec(sh, ['sh', './fit.sh', str(i)], exe='/usr/bin/dash', script='/w/fit.sh')
    a = h.process(sh); h.exec(a, ['sort', '-n', 'data.csv'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/data.csv', ino=1, size=5 if i == 0 else 6, mtime=T0 - 5 if i == 0 else T0 + 9000 * SECOND))
    h.read(a, h.file('/usr/lib/libc.so.6', ino=2))
    h.write(a, h.file('/w/sorted', ino=10 + i), size=5); h.exit(a)
    if i:
        h.add('name', op=4, file=h.files['/w/sorted'], path='/w/sorted')
    b = h.process(sh); h.exec(b, ['/opt/fit/fit', '--ini', 'run.ini', 'a b'], exe='/opt/fit/fit')
    h.read(b, h.file('/w/run.ini', ino=3, size=1)); h.read(b, h.file('/w/sorted', ino=10 + i))
    h.write(b, h.file('/w/res ult %d' % i, ino=20 + i), size=1)
    h.exit(b, code=3 if i == 1 else 0) if i < 2 else h.exit(b, code=9, ending=2)
    h.exit(sh, code=1 if i == 1 else 0); h.end(code=1 if i == 1 else 0); h.save(home, evtext)
END
found()
{ # WORDS ARG...: prints exactly these lines
	expected=$1
	shift
	if [ -z "$expected" ]; then
		cmd 1 find "$@" && [ ! -s "$out" ] && says "$err" 'nothing found'
	else
		cmd 0 find "$@" && is "$out" "$expected"
	fi
}
runs()
{ # WHICH ARG...: exactly the runs whose last characters are these
	expected=$1
	shift
	[ -n "$expected" ] || { cmd 1 find --runs "$@"; return; }
	cmd 0 find --runs --jsonl "$@" && [ "$(jq -r '.id[-1:]' "$out" | tr -d '\n')" = "$expected" ]
}
found '/w/res ult 0@{1}
/w/sorted@{1}' 'from /w/data.csv@{1}' && says "$err" 'a file of the expression was later modified outside stemma; what came from the modified file is not listed'
check 'which results hold the old data?'
runs 0 'used /w/data.csv@{1}' && runs 12 'used /w/data.csv@{2}' && runs 012 'used /w/data.csv'
check 'which runs used which version?'
runs 012 'runs that used /w/run.ini@1' && cmd 0 find 'runs that used /w/run.ini@1' && says "$out" 'RUN ' && lines "$out" 4
check 'in words'
cmd 0 find --execs 'execs which used /w/data.csv@{1}' && lines "$out" 2 && says "$out" 'sort -n data.csv'
check 'executions'
cmd 2 find --runs 'files that used x' && cmd 2 find --runs --files 'user ann'
check 'two kinds at once'
runs 01 'user ann' && runs 2 'user bob' && runs '' 'user nobody' && runs 1 'host h1' && runs 012 'host h*' && runs 0 'host [h]0'
check 'user and host'
runs 1 'exit failed' && runs 02 'exit ok' && runs 1 'exit 1' && runs '' 'exit 3' && runs '' 'exit SIGKILL'
check 'exit of a run is its own'
cmd 0 find --execs 'exit failed' && lines "$out" 4 && cmd 0 find --execs 'exit SIGKILL' && lines "$out" 2 && says "$out" 'SIGKILL' && cmd 0 find --execs 'exit KILL' && cmd 0 find --execs exit 3 && lines "$out" 2
check 'exit of executions'
runs 01 'user ann and not host h2' && runs 1 'user ann and not host h0' && runs 2 'not user ann' && runs 02 'user bob or host h0' &&
	runs 0 'user ann (host h0 or host h2)' && runs 12 'not (user ann and host h0)' && runs 02 'not not (user bob or host h0)'
check 'and, or, not, parentheses'
cmd 0 find --execs 'exe sort' && lines "$out" 4 && cmd 0 find --execs 'exe /usr/bin/sort' && lines "$out" 4 && cmd 0 find --execs 'exe fit/fit' && lines "$out" 4 &&
	cmd 0 find --execs 'exe s*t' && lines "$out" 4 && cmd 0 find --execs 'exe fit.sh' && lines "$out" 4 && cmd 1 find --execs 'exe ort'
check 'programs by path, end, pattern and script'
cmd 0 find --execs 'arg "a b"' && lines "$out" 4 && cmd 0 find --execs arg 'a b' && lines "$out" 4 && cmd 0 find --execs 'arg a\ b' && lines "$out" 4 && cmd 0 find --execs "arg 'a b' and exit 0" && lines "$out" 2
check 'arguments with blanks, in quotes or by themselves'
found '/w/res ult 0@{1}' 'made "/w/res ult 0"' && found '/w/res ult 0@{1}' made '/w/res ult 0' && runs 0 made '/w/res ult 0'
check 'made'
found '/w/data.csv@{1}  (replaced since)
/w/run.ini@{1}
/w/sorted@{1}' into '/w/res ult 0'
check 'into'
found '/w/res ult 0@{1}
/w/res ult 1@{1}
/w/res ult 2@{1}' 'path "res*"' && found '/w/run.ini@{1}' 'path *.ini' && found '/w/run.ini@{1}' 'path /w/r*.ini' && runs 012 'path *.csv'
check 'path'
found '' 'path libc*' && found '/usr/lib/libc.so.6@{1}' --all 'path libc*'
check 'system files only with --all'
runs 12 'since 2026-01-01T02:00Z' && runs 0 'before 2026-01-01T02:00' && runs 1 'since 2026-01-01T02:00 before 2026-01-01T05:00+00:00' && runs '' 'since 2027-01-01' && runs 012 'since 2025-12-31 before now' && runs '' 'since 1h'
check 'times'
found '/w/data.csv@{1}  (replaced since)' 'path data.csv before 2026-01-01' && found '/w/res ult 2@{1}' 'path "res*" since 2026-01-01T05:00'
check 'times of files'
runs 1 'run AAA1' && runs 2 'run @' && cmd 1 find 'run ZZZZ' && says "$err" "no run 'ZZZZ'" && cmd 0 find --execs 'run @~2' && lines "$out" 7
check 'runs by their ids'
cmd 1 find 'used /w/nosuch' && says "$err" 'nothing is recorded' && cmd 1 find 'used /w/data.csv@{7}' && says "$err" 'versions of the file are 1 to 2'
check 'files and versions that are not recorded'
cmd 0 find -0 'path "res ult 0"' && [ "$(tr '\0' '|' <"$out")" = '/w/res ult 0|' ] && cmd 0 find -0 --runs 'user bob' && [ "$(tr '\0' '|' <"$out")" = '01AAAAAAAAAAAAAAAAAAAAAAA2|' ]
check '--null'
cmd 0 find --json 'path "res*"' && json '.format == 1 and (.entities | length) == 3 and .entities[0].path == "/w/res ult 0"' &&
	cmd 0 find --json --runs 'user bob' && json '.runs[0].user == "bob"' && cmd 0 find --jsonl --execs 'exe sort' && lines "$out" 3 && jq -es 'all(.argv[0] == "sort" and .format == 1)' "$out" >/dev/null
check 'JSON'
cmd 1 find --json 'user nobody' && json '.entities == []'
check 'nothing found is an empty list'

refused=true
for bad in '' ' ' '(' ')' '()' 'and' 'user' 'used' 'user ann and' 'user ann or' 'not' 'user ann)' '(user ann' 'nonsense x' 'user ann ann' '"user' "'user" 'user "ann' \
	'exit x' 'exit -1' 'exit 1x' 'since x' 'since 2026' 'since 2026-13-01' 'since 2026-01-01T25:00' 'since 2026-01-01T' 'before 9999999999999999999d' 'since 1y' 'files' 'files that' 'and and' 'or'; do
	cmd 2 find "$bad" && lines "$err" 2 && [ ! -s "$out" ] || { refused=false; break; }
done
$refused
check "expressions that are none are refused (the last was '$bad')"
deep=$($PYTHON -c "print('(' * 3000 + 'user ann' + ')' * 3000)") nots=$($PYTHON -c "print('not ' * 3000 + 'user ann')")
many=$($PYTHON -c "print(' or '.join(['user ann'] * 300))") long=$($PYTHON -c "print('user ' + 'x' * 70000)")
cmd 2 find "$deep" && cmd 2 find "$nots" && cmd 2 find "$many" && cmd 2 find "$long"
check 'expressions that are too deep or too long'
$PYTHON - "$STEMMA" >"$out" 2>"$err" <<'END'
import random, subprocess, sys
random.seed(7)
words = ['(', ')', 'and', 'or', 'not', 'user', 'ann', 'used', '/w/data.csv@{1}', 'exit', '3', 'since', '2026-01-01', 'path', '*', '"', "'", '\\', '\xff', '@{', 'run', '@', 'files', 'that']
for _ in range(150):
    args = [random.choice([' ', '']).join(random.choice(words) for _ in range(random.randrange(1, 9))) for _ in range(random.randrange(1, 5))]
    done = subprocess.run([sys.argv[1], 'find', '--no-index', '--'] + args, capture_output=True)
    assert done.returncode in (0, 1, 2), (args, done)
END
check 'words in any order never do harm'

"$STEMMA" run -q -l sample=B7 -l 'lab=north wing' -- sh -c 'echo 1 >b7' && "$STEMMA" run -q -l sample=B8 -- sh -c 'echo 1 >b8' && "$STEMMA" run -q -- sh -c 'echo 1 >none'
cmd 0 find --runs 'label sample=B7' && lines "$out" 2 && says "$out" 'b7' && cmd 0 find --runs label sample && lines "$out" 3 && cmd 0 find --runs "label 'sample=B[78]'" && lines "$out" 3 && cmd 0 find --runs "label 'lab=north wing'" && lines "$out" 2
check 'runs by a label: whole, by its key, by a pattern'
cmd 0 find 'label sample=B8' && is "$out" 'b8@{1}' && cmd 0 find --execs 'label sample=B8 and exe sh' && lines "$out" 2 && cmd 1 find --runs 'label sample=B' && cmd 1 find --runs 'label B7' && cmd 0 find --runs 'label sample and not label sample=B7' && lines "$out" 2 && says "$out" 'b8'
check 'files and executions of such runs'
cmd 2 find 'lable sample' && says "$err" 'conditions are: used made from into exe arg user host in exit since before job label stage run path'
check 'the conditions there are'
# Of the files that had a name one is meant by its version; of another that has a version of that number it is said.
history <<'END'
for i in range(2):  # as sed -i does: another file takes the name
    h = History('01BBBBBBBBBBBBBBBBBBBBBBB%d' % i, argv=['cat'], start=10000 * i)
    a = h.process(); h.exec(a, ['cat', 'x'], exe='/usr/bin/cat')
    h.read(a, h.file('/n/x', ino=50 + i, size=2))
    h.write(a, h.file('/n/made%d' % i, ino=60 + i), size=2)
    h.read(a, h.file('/n/alone', ino=70, size=2)); h.exit(a); h.end(); h.save(home, evtext)
END
cmd 0 find --json 'used /n/x@{1}' && json '[.entities[].path] == ["/n/made1"] and (.namesakes | length) == 1 and .namesakes[0].name == "/n/x@{1}"' &&
	other=$(jq -r '.namesakes[0].version' "$out") && cmd 0 find 'used /n/x@{1}' && is "$out" '/n/made1@{1}' &&
	says "$err" '/n/x@{1} is a version of the latest file with this name' && says "$err" "$(printf '%.16s' "$other")" &&
	cmd 0 find "used $other" && is "$out" '/n/made0@{1}' && [ ! -s "$err" ]
check 'which file was taken is said where an earlier one of the name has a version of that number'
cmd 0 find 'used /n/alone@{1}' && [ ! -s "$err" ] && cmd 0 find 'used /n/x' && [ ! -s "$err" ] && is "$out" '/n/made0@{1}
/n/made1@{1}' && cmd 0 find --json 'used /n/alone@{1}' && json 'has("namesakes") | not'
check 'and nothing where there is none, or all are meant'
# The same of all that takes a version.
for words in 'why' 'lineage' 'show' 'stat' 'export -f prov-json' 'diff /n/alone@{1}'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" $words '/n/x@{1}' >"$out" 2>"$err"
	says "$err" '/n/x@{1} is a version of the latest file with this name' && says "$err" 'hint: an earlier file with this name' "$(printf '%.16s' "$other")" &&
		{ [ "$words" != show ] || { cmd 0 show /n/x && ! grep 'latest file with this name' "$err" && cmd 0 show "$other" && ! grep 'latest file with this name' "$err"; }; }
	check "$words: which file was taken"
done
cmd 0 note '/n/x@{1}' 'of the new one' && says "$err" 'is a version of the latest file with this name' && cmd 0 why /n/made0 && [ ! -s "$err" ]
check 'note: which file was taken'
# Where only the earlier file has a version of that number, it is named.
history <<'END'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['w'], start=30000)
a = h.process(); h.exec(a, ['w'], exe='/usr/bin/w')
h.write(a, h.file('/n/y', ino=80), size=2); h.write(a, h.file('/n/y', ino=80), size=3); h.exit(a); h.end(); h.save(home, evtext)
h = History('01CCCCCCCCCCCCCCCCCCCCCCC1', argv=['w'], start=40000)
a = h.process(); h.exec(a, ['w'], exe='/usr/bin/w')
h.write(a, h.file('/n/y', ino=81), size=3); h.exit(a); h.end(); h.save(home, evtext)
END
cmd 1 why '/n/y@{2}' && says "$err" 'hint: an earlier file with this name also has this version: name that one by its id, v' && ! grep 'latest file with this name' "$err"
check 'a version that only the earlier file has'

# A batch job, and what finds nothing among files.
history <<'END'
h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['sbatched'], start=50000)
a = h.process(); h.exec(a, ['sbatched'], exe='/usr/bin/sbatched', env=['SLURM_JOB_ID=4711'])
h.write(a, h.file('/j/out', ino=90), size=2); h.exit(a, code=3); h.end(code=3); h.save(home, evtext)
END
cmd 0 find 'job 4711' && is "$out" '/j/out@{1}' && cmd 0 find --execs 'job 47*' && says "$out" sbatched && cmd 0 find 'runs job 4711' && says "$out" sbatched
check 'the files, executions and runs of a batch job'
cmd 1 find 'job 12' && says "$err" 'nothing found' && says_not "$err" hint
check 'where nothing is found, and no execution either, no hint leads astray'
history <<'END'
h = History('01EEEEEEEEEEEEEEEEEEEEEEEE', argv=['idle'], start=60000)
a = h.process(); h.exec(a, ['idle'], exe='/usr/bin/idle'); h.exit(a); h.end(); h.save(home, evtext)
END
cmd 1 find 'exe idle' && says "$err" 'nothing found' && says "$err" 'hint: only files were searched; use --execs for executions, --runs for runs'
check 'where executions are meant it says what was looked for'
cmd 1 find --execs 'job 12' && says_not "$err" hint
check 'but not where that was said'
cmd 0 log 'job 4711' && lines "$out" 2 && says "$out" sbatched && cmd 0 log 'user ann and exit failed' && says "$out" sbatched
check 'log of the runs that an expression describes'
cmd 0 log --json 'job 4711' && json '(.runs | length) == 1' && cmd 0 log --jsonl -n 1 'exit ok' && lines "$out" 1
check 'the same as JSON'
cmd 1 log 'job 12' && says "$err" 'no such run is recorded'
check 'where there is none'
cmd 2 log 'files that made x' && cmd 2 log 'lable x'
check 'an expression for something else, and one that is none'
cmd 0 log 'in /w' && says "$out" sbatched && cmd 1 log 'in /wx' && cmd 0 find --execs 'in /w and exe sbatched' && lines "$out" 2
check 'runs and executions in a folder'
finish
