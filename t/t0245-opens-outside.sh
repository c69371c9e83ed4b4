#!/bin/sh
# A file that a program opens again and again without a stop is looked at less and less often (doc/opens.md, When files are
# looked at). What others than the run do to it in between: each version that the program says it has read is in the record, none
# as sure before it was read, and the record says that it does not know what was in between. What the run itself does is exact.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

needs_code

# reads.py CASE FOLDER: opens FOLDER/in/f and FOLDER/still all the time. On descriptor 9 a line `INODE SIZE FIRST LAST OPENS` for each
# version of f that it has read, INODE 0 where there was none; times are taken before the first and behind the last open. When
# it has read for a while it says so on descriptor 8, or changes f itself.
cat >"$T/reads.py" <<'PY'
import os, sys, time
case, folder = sys.argv[1:]
path = f'{folder}/in/f'
said, order = {}, []
def look():
    t = time.time_ns()
    try:
        fd = os.open(path, os.O_RDONLY)
        st = os.fstat(fd)
        key = (st.st_ino, st.st_size)
        os.close(fd)
    except FileNotFoundError:
        key = (0, 0)
    if key not in said:
        said[key] = [t, 0, 0]
        order.append(key)
    v = said[key]
    v[1] = time.time_ns()
    v[2] += 1
    os.close(os.open(f'{folder}/still', os.O_RDONLY))
def read_for(seconds, until=lambda: False):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        for i in range(20):
            look()
        time.sleep(0.001)
read_for(0.5)
if case == 'own':
    with open(path, 'w') as f:
        f.write('written by the run')
elif case == 'child':
    if os.fork() == 0:
        os.write(os.open(path, os.O_WRONLY), b'written by the run')
        os._exit(0)
elif case != 'still':
    os.write(8, b'now\n')
    read_for(20, lambda: len(said) > (1 if case != 'moved' else 1 + ((0, 0) in said)))
read_for(0.3)
if case in ('own', 'child', 'still'):
    read_for(0.3)
for k in order:
    os.write(9, b'%d %d %d %d %d\n' % (*k, *said[k]))
PY

# versions.py EVENTS TRUTH FOLDER CASE
cat >"$T/versions.py" <<'PY'
import json, os, sys
folder, case = sys.argv[3:]
GRAIN = 30_000_000
files, size, accesses, ends, gaps, traps = {}, {}, [], {}, [], 0
for line in open(sys.argv[1], errors='surrogateescape'):
    e = json.loads(line)
    k = e['k']
    if k == 'file' and e['kind'] in (1, 5) and e.get('path', '').startswith(folder + '/'):
        files[e['num']] = (e.get('ino', 0), os.path.basename(e['path']))
    elif k == 'state':
        size[e['file']] = e.get('size', 0)
    elif k == 'access' and e['file'] in files and e['mode'] & 1:
        accesses.append((*files[e['file']], size.get(e['file']), e['t'], e.get('sure', 0), e['seq']))
    elif k == 'access_end':
        ends[e['access']] = e.get('count', 1) or 1
    elif k == 'gap' and e['reason'] == 1:
        gaps.append(e.get('text', '') or str(e))
    elif k == 'run_end':
        traps = e.get('traps', 0)
truth = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
versions = [t for t in truth if t[0]]
opens = 2 * sum(t[4] for t in truth)
mine = [a for a in accesses if a[1] != 'still']
bad = []
for ino, length, first, last, n in versions:
    if not [a for a in mine if a[0] == ino and a[2] == length]:
        bad.append(f'read and not in the record: inode {ino}, {length} bytes')
for ino, name, length, t, sure, seq in mine:
    v = [x for x in truth if x[:2] == (ino, length)]
    if sure and not (v and v[0][2] - GRAIN <= t <= v[0][3] + GRAIN):
        bad.append(f'sure, and not read then: inode {ino}, {length} bytes at {t}: {v}')
exact = case in ('own', 'child', 'still')
if case != 'removed' and not [a for a in mine if a[4] and (a[0], a[2]) == versions[-1][:2]]:
    bad.append('the last version is nowhere sure')
if exact and gaps:
    bad.append(f'gaps: {gaps}')
if exact and [a for a in mine if not a[4]]:
    bad.append('only possible, and only the run has changed it')
early = 'no word of what may have been there in between'
if not exact and not gaps:
    bad.append(early)
if not exact and not [a for a in mine if not a[4]] and len(truth) == len(versions):
    bad.append('nothing that is only possible')
if case == 'still':
    # Each open is counted once, whenever it was looked at.
    for name, want in (('f', truth[0][4]), ('still', truth[0][4])):
        got = sum(ends.get(a[5], 1) for a in accesses if a[1] == name)
        if got != want:
            bad.append(f'{got} opens of {name}, {want} were made')
if len(versions) != (1 if case in ('still', 'removed') else 2):
    bad.append(f'the program has read {len(versions)} versions')
if traps > opens / 20:
    print(f'{traps} stops for {opens} opens')
elif bad == [early]:
    print(early)
elif bad:
    print(*bad, mine, gaps, truth, sep='\n')
sys.exit(bool(bad) or traps > opens / 20)
PY

# From outside of the run, when the program has read for a while.
act()
{
	n=0
	while [ ! -s "$T/o/now" ] && [ $n -lt 2000 ]; do
		n=$((n + 1))
		sleep 0.02
	done
	case $1 in
	written) echo "some more" >>"$D/in/f" ;;
	replaced) mv "$D/new" "$D/in/f" ;;
	linked) ln -s g "$D/link" && mv -T "$D/link" "$D/in/f" ;;
	moved) mv "$D/in" "$D/was" && mv "$D/other" "$D/in" ;;
	removed) rm "$D/in/f" ;;
	esac
}

outside_once()
{
	D=$T/o/d
	rm -rf "$T/o"
	mkdir -p "$D/in" "$D/other"
	echo one >"$D/in/f"
	echo "another one" >"$D/in/g"
	echo "of another folder" >"$D/other/f"
	echo "a new one" >"$D/new"
	: >"$D/still"
	[ "$1" != linked ] || { mv "$D/in/f" "$D/in/e" && ln -s e "$D/in/f"; }
	: >"$T/o/now"
	sleep 0.2 # older than any change may hide in
	case $1 in still | own | child) ;; *) act "$1" & ;; esac
	STEMMA_INJECT=always STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run -- $PYTHON "$T/reads.py" "$1" "$D" 9>"$T/o/truth" 8>"$T/o/now" >"$T/o/out" 2>&1
	status=$?
	wait
	: >"$T/why"
	[ $status = 0 ] || { echo "status $status"; cat "$T/o/out"; } >>"$T/why"
	events "$T/o/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON "$T/versions.py" "$T/events" "$T/o/truth" "$D" "$1" >>"$T/why" 2>&1
}

# On a busy machine the code may not get there in time, nor the recorder look often enough to wait longer: tried again.
"$STEMMA" doctor --quick >"$T/doctor" 2>&1
can=
! { grep -q '^user notification *ok' "$T/doctor" && grep -q '^ptrace *ok' "$T/doctor"; } || can=1
cases="still written own"
! thorough || cases="still written replaced linked moved removed own child"
for c in $cases; do
	if [ -z "$can" ]; then
		skip_ "$c" "no code can be put into programs here"
		continue
	fi
	for try in 1 2 3 4; do
		outside_once $c
		{ [ -s "$T/why" ] && ! grep -q -v -e 'stops for' -e '^no word' "$T/why"; } || break
	done
	[ ! -s "$T/why" ]
	result $? "$c" "$T/why"
done
finish
