#!/bin/sh
# Opens without a stop: every file that the program says it opened is in the record, as that process's, and none else; results
# are what they are without a recorder; and the code was used, unless that is what the case forbids.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

needs_code

# said.py EVENTS TRUTH FOLDER: what is missing, what is too much. Processes are known by their pid.
cat >"$T/said.py" <<'PY'
import json, os, sys
files, pids, seen, absent, gaps = {}, {}, set(), set(), []
traps = reads = writing = 0
begun, until = {}, 0
for line in open(sys.argv[1], errors='surrogateescape'):
    e = json.loads(line)
    k = e['k']
    if k == 'file':
        files[e['num']] = (e['kind'], e.get('ino', 0), e.get('path', ''))
    elif k == 'process':
        pids[e['p']] = e['pid']
    elif k == 'access' and os.path.basename(files[e['file']][2]) == 'out':
        writing = e['seq']
    elif k == 'access_end' and e['access'] == writing:
        until = e['until']
    elif k == 'access' and e['mode'] & 1 and not e['mode'] & 128:
        kind, ino, path = files[e['file']]
        reads += os.path.dirname(path) == sys.argv[3]
        begun.setdefault(os.path.basename(path), e['t'])
        (seen if kind in (1, 2, 3) else absent).add((pids.get(e['p']), ino if kind in (1, 2, 3) else path, e.get('sure', 0)))
    elif k == 'gap':
        gaps.append(e)
    elif k == 'run_end':
        traps = e.get('traps', 0)
folder = sys.argv[3]
inside = {ino for kind, ino, path in files.values() if kind == 1 and os.path.dirname(path).startswith(folder)}
seen_any = {(p, i) for p, i, _ in seen}
sure = {(p, i) for p, i, s in seen if s}
absent = {(p, i) for p, i, _ in absent}
lost = sum(g.get('count', 0) or 1 for g in gaps if g['reason'] == 1)
truth, none, n = set(), set(), 0
for line in open(sys.argv[2]):
    n += 1
    pid, ino, path = line.rstrip('\n').split(' ', 2)
    if int(ino):
        truth.add((int(pid), int(ino)))
    else:
        none.add((int(pid), path))
missing = truth - seen_any
bad = 0
# Names that changed while a file was opened: said to be lost, or there.
allowed = {'renames': lost, 'garbles': 400 if lost or any(g['reason'] == 1 for g in gaps) else 0}.get(sys.argv[4], 0)
if len(missing) > allowed:
    bad = 1
    print('not in the record:', sorted(missing)[:10], len(missing), 'of', len(truth), 'gaps', gaps[:5])
if sys.argv[4] not in ('renames', 'waits', 'garbles', 'links') and truth - sure:
    bad = 1
    print('only possible:', sorted(truth - sure)[:10], len(truth - sure))
if none - absent:
    bad = 1
    print('absent, and not in the record:', sorted(none - absent)[:10])
more = {(p, i) for p, i in seen_any if i in inside} - truth
if more and sys.argv[4] not in ('renames', 'garbles'):  # a stop has always been able to see the next one
    bad = 1
    print('not opened, and in the record:', sorted(more)[:10])
if sys.argv[4] not in ('renames', 'waits', 'garbles', 'links') and gaps and [g for g in gaps if g['reason'] == 1]:
    bad = 1
    print('gaps:', gaps[:5])
most, start = float(sys.argv[5]), int(sys.argv[6])
if n and traps - start > most * n:
    bad = 1
    print(f'{traps} stops for {n} opens')
# What it read while it held its output is an input of that, what it read after it had closed it is none.
if sys.argv[4] == 'holds':
    wrong = [f for f, t in begun.items() if f[0] == 'f' and f[1:].isdigit() and (t < until) != (int(f[1:]) < 350)]
    if wrong or not until:
        bad = 1
        print('on the wrong side of the end of what it wrote:', until, sorted(wrong)[:10], len(wrong))
# What is opened again while nothing else happens is one access, whose opens are counted.
if sys.argv[4] == 'again' and traps < n / 4 and reads > 4 * len(truth):
    bad = 1
    print(f'{reads} accesses of {len(truth)} files')
sys.exit(bad)
PY

# p-opens of which kind; with --count
kind=
count=
# opens INJECT CASE STOPS: at most that many stops an open. On a busy machine the code may not get there in time: tried again.
opens()
{
	for try in 1 2 3 4; do
		opens_once "$@"
		{ [ -s "$T/why" ] && ! grep -q -v 'stops for' "$T/why"; } || break
	done
	[ ! -s "$T/why" ]
	result $? "$1: ${kind:+$kind }$2${count:+ --count}" "$T/why"
}

# From outside of the run: the folder it works in gets another name, and another folder its name.
move()
{
	n=0
	while [ ! -d "$D/ready" ] && [ $n -lt 3000 ]; do
		n=$((n + 1))
		sleep 0.02
	done
	mv "$D/sub0" "$D/sub4"
	mkdir "$D/sub0"
	i=0
	while [ $i -lt 400 ]; do
		: >"$D/sub0/s$i"
		i=$((i + 1))
	done
	mkdir "$D/go"
}

opens_once()
{
	D=$T/o/d
	rm -rf "$T/o"
	mkdir -p "$D/sub" "$D/sub0" "$D/sub1" "$D/sub2" "$D/sub3"
	i=0
	while [ $i -lt 400 ]; do
		echo $i >"$D/f$i"
		i=$((i + 1))
	done
	for i in 0 1 2 3; do echo $i >"$D/sub$i/same"; done
	[ "$2" != moved ] || move &
	STEMMA_INJECT=$1 STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run ${count:+--count} -- "$PROGS/p-opens$kind" "$2" "$D" 9>"$T/o/truth" >"$T/o/out" 2>&1
	status=$?
	wait
	want=0
	case $2 in killed | relative) want=137 ;; esac
	: >"$T/why"
	[ $status = $want ] || { echo "status $status"; cat "$T/o/out"; } >>"$T/why"
	[ -s "$T/o/truth" ] || echo "the program said nothing" >>"$T/why"
	events "$T/o/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON "$T/said.py" "$T/events" "$T/o/truth" "$D" "$2" "$3" "$start" >>"$T/why" 2>&1
}

# Stops of a program that opens nothing by itself. Its loader looks for each library in each folder of LD_LIBRARY_PATH.
stops_of_start()
{
	rm -rf "$T/o"
	STEMMA_INJECT=off STEMMA_HOME=$T/o/home "$STEMMA" run -- "$PROGS/p-opens" >/dev/null 2>&1
	events "$T/o/home" "$T/events"
	start=$(sed -n 's/.*"k":"run_end".*"traps":\([0-9]*\).*/\1/p' "$T/events")
	start=${start:-0}
}

# What the code saves shows in the number of stops; without notification or ptrace there is one an open.
saves=2
"$STEMMA" doctor --quick >"$T/doctor" 2>&1
if grep -q '^user notification *ok' "$T/doctor" && grep -q '^ptrace *ok' "$T/doctor"; then
	saves=
fi
stops_of_start
for c in $("$PROGS/p-opens"); do
	case $c in
	many | killed | relative) most=0.4 ;;
	flood | computes) most=0.05 ;;
	again | holds) most=0.2 ;;
	signals) most=0.5 ;;
	*) most=1000 ;;
	esac
	injects="always auto off"
	thorough || injects=always
	for inject in $injects; do
		m=${saves:-$most}
		[ $inject != off ] || m=1000
		[ $inject != auto ] || [ $c = flood ] || [ $c = computes ] || [ $c = again ] || m=1000
		opens $inject "$c" "$m"
	done
done

# Environment modules make long library paths. What the loader opens is not the program's.
was=${LD_LIBRARY_PATH:-}
long=$was
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
	long=$long${long:+:}/opt/module$i/lib
done
LD_LIBRARY_PATH=$long
export LD_LIBRARY_PATH
stops_of_start
opens always many "${saves:-0.4}"
LD_LIBRARY_PATH=$was
[ -n "$was" ] || unset LD_LIBRARY_PATH
stops_of_start

# Static programs, stripped ones and such that may lie anywhere, and those of musl; with the code that counts, too, which lies there
# first.
kinds='-bare -musl -musl-bare'
[ -z "$SLOW" ] || kinds='-static -bare -pie -pie-named -musl -musl-static -musl-bare'
for kind in $kinds; do
	if [ ! -x "$PROGS/p-opens$kind" ]; then
		skip_ "p-opens$kind" "not built: the tool chain for it is not here"
		continue
	fi
	cases='many spawns'
	case $kind in *musl*) cases='many spawns cancelled forbids prctl' ;; esac
	[ -z "$SLOW" ] || cases=$("$PROGS/p-opens")
	for c in $cases; do
		case $c in
		many | killed | relative) most=0.4 ;;
		flood | computes) most=0.05 ;;
		signals) case $kind in -musl*) most=1000 ;; *) most=0.5 ;; esac ;; # of musl none with handlers is given it
		*) most=1000 ;;
		esac
		opens always "$c" "${saves:-$most}"
	done
	count=yes
	opens always many "${saves:-0.4}"
	count=
done
kind=

# A real one, which is given its files as arguments.
busybox=$(command -v busybox)
if [ -z "$busybox" ]; then
	skip_ "a static shell's tools" "there is no busybox here"
else
	D=$T/o/d
	rm -rf "$T/o"
	mkdir -p "$D"
	i=0
	while [ $i -lt 800 ]; do
		echo $i >"$D/f$i"
		i=$((i + 1))
	done
	"$busybox" md5sum "$D"/f* >"$T/o/plain"
	for try in 1 2 3 4; do
		rm -rf "$T/o/home"
		: >"$T/why"
		STEMMA_INJECT=always STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run -- "$busybox" md5sum "$D"/f* >"$T/o/out" 2>"$T/o/err" || cp "$T/o/err" "$T/why"
		cmp "$T/o/plain" "$T/o/out" >>"$T/why" 2>&1
		events "$T/o/home" "$T/events" || cat "$T/events.err" >>"$T/why"
		found=$(grep '"k":"file"' "$T/events" | grep -c "$D/f[0-9]*\"")
		[ "$found" = 800 ] || echo "$found files are in the record" >>"$T/why"
		stops=$(sed -n 's/.*"k":"run_end".*"traps":\([0-9]*\).*/\1/p' "$T/events")
		[ -s "$T/why" ] || [ "$stops" -gt ${saves:+100}400 ] || break
	done
	[ "$stops" -le ${saves:+100}400 ] || echo "$stops stops for 800 opens" >>"$T/why"
	[ ! -s "$T/why" ]
	result $? "busybox reads 800 files: $stops stops" "$T/why"
fi

# Six of the same program: the code is there sooner when two have shown that they need it. Stops of a run of six in *stops*.
six()
{
	D=$T/o/d
	rm -rf "$T/o"
	mkdir -p "$D"
	i=0
	while [ $i -lt 400 ]; do
		: >"$D/f$i"
		i=$((i + 1))
	done
	stops=2400
	STEMMA_INJECT=$1 STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run -- sh -c 'for i in 1 2 3 4 5 6; do "$0" holds "$1"; rmdir "$1/stop"; done' \
		"$PROGS/p-opens" "$D" 9>"$T/o/truth" >"$T/why" 2>&1 || return
	events "$T/o/home" "$T/events" || return
	stops=$(sed -n 's/.*"k":"run_end".*"traps":\([0-9]*\).*/\1/p' "$T/events")
	echo "$stops stops for $(grep -c . "$T/o/truth") opens" >>"$T/why"
	[ "$(grep -c . "$T/o/truth")" = 2400 ] && [ "$stops" -le 600 ]
}
if [ -z "$saves" ]; then
	for _ in 1 2 3 4; do
		six auto && break
	done
	auto=$stops
	if [ "$auto" -gt 600 ] && ! six always; then
		skip_ "a program that opens many files is given the code sooner" "a busy machine: it comes too late even where it is always given"
	else
		echo "$auto stops where it is given to those that need it" >>"$T/why"
		[ "$auto" -le 600 ]
		result $? "a program that opens many files is given the code sooner" "$T/why"
	fi
else
	skip_ "a program that opens many files is given the code sooner" "no code can be put into programs here"
fi

# A link to the folder is put on another one, from outside and all the time: a file has the name that leads to it.
cat >"$T/flip.py" <<'PY'
import os, sys
folder, parent = sys.argv[1], os.getppid()
i = 0
while os.getppid() == parent and not os.path.exists(f'{folder}/done'):
    i += 1
    os.symlink(f'v{i % 2}', f'{folder}/new')
    os.rename(f'{folder}/new', f'{folder}/cur')
PY
cat >"$T/named.py" <<'PY'
import json, os, sys
wrong, n = [], 0
for line in open(sys.argv[1], errors='surrogateescape'):
    e = json.loads(line)
    if e['k'] == 'file' and e['kind'] == 1 and os.path.basename(e.get('path', '')).startswith('f') and e['path'].startswith(sys.argv[2]):
        n += 1
        if '/v' in e['path'] and os.stat(e['path']).st_ino != e['ino']:
            wrong.append(e)
print(n, 'files,', len(wrong), 'with a name that is another one\'s', wrong[:3])
sys.exit(bool(wrong) or n < 100)
PY
D=$T/o/d
rm -rf "$T/o"
mkdir -p "$D/v0" "$D/v1"
ln -s v0 "$D/cur"
i=0
while [ $i -lt 400 ]; do
	: >"$D/v0/f$i"
	: >"$D/v1/f$i"
	i=$((i + 1))
done
$PYTHON "$T/flip.py" "$D" &
STEMMA_INJECT=off STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run -- "$PROGS/p-opens" many "$D/cur" 9>"$T/o/truth" >"$T/why" 2>&1
: >"$D/done"
wait
events "$T/o/home" "$T/events" && $PYTHON "$T/named.py" "$T/events" "$D" >>"$T/why" 2>&1
result $? "a folder that is another one meanwhile" "$T/why"

# The logs of all programs of a run are no more than a megabyte for each processor that it may use.
cat >"$T/open.py" <<'PY'
import os, sys
for i in range(1500):
    os.close(os.open('x', os.O_RDONLY))
sys.stdout.write('.')
sys.stdout.flush()
sys.stdin.read()
PY
cat >"$T/crowd.py" <<'PY'
import os, subprocess, sys
many = [subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(16)]
for p in many:
    p.stdout.read(1)
found = used = 0
for p in many:
    where = None
    for line in open(f'/proc/{p.pid}/smaps'):
        if not line[0].isupper():
            where = 'memfd:stemma' in line
            found += where
        elif where and line.startswith('Rss:'):
            used += int(line.split()[1])
for p in many:
    p.stdin.close()
    p.wait()
print(found, used)
PY
if command -v taskset >/dev/null && [ -z "$saves" ]; then
	one=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	mkdir -p "$T/logs"
	: >"$T/logs/x"
	(cd "$T/logs" && STEMMA_INJECT=always STEMMA_HOME=$T/logs/home taskset -c "$one" "$STEMMA" run -- python3 "$T/crowd.py" "$T/open.py") >"$T/why" 2>&1
	read -r programs used <"$T/why"
	echo "$programs programs have the logs, of which $used KiB are used" >>"$T/why"
	[ "$programs" -gt 0 ] && [ "$used" -gt 0 ] && [ "$used" -le 1024 ]
	result $? "no more than a megabyte of logs on one processor" "$T/why"
else
	skip_ "no more than a megabyte of logs on one processor" "taskset is not installed, or no code can be put into programs here"
fi
finish
