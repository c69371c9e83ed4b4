#!/bin/sh
# Files that a program opens by the descriptor of their folder, without a stop (doc/opens.md, By a folder's descriptor): each is in
# the record, sure, and as itself: folders come and go under one number, their files have the same names, they get other names.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

needs_code

# walks.py CASE FOLDER: on descriptor 9 a line `PID INODE PATH` for each open, INODE 0 where there was none; on descriptor 8
# `now` when somebody else is to change names. FOLDER has dN/fM, of the same names in each, and other/fM.
cat >"$T/walks.py" <<'PY'
import os, sys, time
case, top = sys.argv[1:]
FOLDERS, FILES = 10, 40
def say(ino, path):
    os.write(9, f'{os.getpid()} {ino} {path}\n'.encode())
def visit(name, at, path):
    try:
        fd = os.open(name, os.O_RDONLY, dir_fd=at)
    except FileNotFoundError:
        return say(0, path)
    say(os.fstat(fd).st_ino, path)
    os.close(fd)
def opened(path):
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
def folder(i):
    return f'{top}/d{i % FOLDERS}'
def files(at, where, n=FILES):
    for m in range(n):
        visit(f'f{m}', at, f'{where}/f{m}')
def tree(at=None):
    """As a walker of trees does: by a copy of the descriptor, and the number is the next folder's right after."""
    above = opened(top)
    for i in range(FOLDERS):
        first = os.open(f'd{i}', os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
        at = os.dup(first)
        os.close(first)
        files(at, folder(i))
        os.close(at)
    os.close(above)
if case == 'tree':
    tree()
elif case == 'opath':  # as rsync does, for each file anew; such an open is no stop
    for m in range(FILES):
        for i in range(FOLDERS):
            at = os.open(folder(i), os.O_PATH | os.O_DIRECTORY)
            visit(f'f{m}', at, f'{folder(i)}/f{m}')
            os.close(at)
elif case == 'words':
    tree()
    at = opened(folder(0))
    for m in range(FILES):
        visit(f'{folder(1)}/f{m}', at, f'{folder(1)}/f{m}')  # from the root: the descriptor does not matter
        visit(f'../d2/f{m}', at, f'{folder(2)}/f{m}')
        visit(f'absent{m}', at, f'{folder(0)}/absent{m}')
elif case == 'cwd':
    os.chdir(top)
    os.symlink('d5', 'link')
    tree()
    for name, i in (('d3', 3), ('./d4', 4), ('link', 5), ('d6/', 6), ('d1/../d7', 7)):
        at = opened(name)
        files(at, folder(i))
        visit(f'absent-{i}', at, f'{folder(i)}/absent-{i}')
        os.close(at)
    os.chdir('d8')
    at = opened('.')
    files(at, folder(8))
    os.close(at)
    os.chdir('/proc')
    at = opened('self')
    os.close(os.open('status', os.O_RDONLY, dir_fd=at))
    os.close(at)
    at = opened(f'/proc/self/cwd/{os.getpid()}/cwd/..{top}/d9')
    files(at, folder(9))
elif case == 'child':
    tree()
    at = opened(folder(3))
    if os.fork() == 0:
        files(at, folder(3))
        tree()
        os._exit(0)
    os.wait()
    files(at, folder(3))
elif case == 'renames':
    tree()
    for turn in range(6):
        at = opened(folder(turn))
        files(at, folder(turn))
        os.rename(folder(turn), f'{top}/was{turn}')
        os.rename(f'{top}/other{turn}', folder(turn))
        files(at, f'{top}/was{turn}')  # the same folder, whose name another one has
        new = opened(folder(turn))
        files(new, folder(turn))
        files(at, f'{top}/was{turn}')
        os.close(at)
        os.close(new)
elif case == 'removed':
    tree()
    at = opened(folder(0))
    files(at, folder(0))
    for m in range(FILES):
        os.unlink(f'{folder(0)}/f{m}')
    os.rmdir(folder(0))
    os.rename(f'{top}/other0', folder(0))
    visit('f0', at, 'of a folder that is gone')
    files(opened(folder(0)), folder(0))
elif case == 'many':
    tree()
    held, above = [], opened(top)
    for i in range(200):  # more than are known at a time, and some where the one above is in the table
        os.mkdir(f'{top}/m{i}')
        with open(f'{top}/m{i}/f', 'w') as f:
            f.write('m')
    for i in range(200):
        held.append(os.open(f'm{i}', os.O_RDONLY | os.O_DIRECTORY, dir_fd=above))
        visit('f', held[-1], f'{top}/m{i}/f')
    for n in range(3):
        for i, at in enumerate(held):
            visit('f', at, f'{top}/m{i}/f')
elif case == 'outside':
    tree()
    at = opened(folder(0))
    files(at, folder(0))
    time.sleep(0.3)
    files(at, folder(0))
    os.write(8, b'now\n')
    end = time.monotonic() + 20
    while not os.path.exists(f'{top}/go') and time.monotonic() < end:
        for m in range(FILES):
            visit(f'f{m}', at, f'{folder(0)}/f{m}')
        time.sleep(0.001)
    for n in range(5):
        files(at, folder(0))
        time.sleep(0.03)
PY

# held.py EVENTS TRUTH FOLDER CASE STOPS: what is missing, what is too much.
cat >"$T/held.py" <<'PY'
import json, os, sys
folder, case, most = sys.argv[3], sys.argv[4], float(sys.argv[5])
files, pids, sure, maybe, absent, gaps, traps = {}, {}, set(), set(), set(), [], 0
for line in open(sys.argv[1], errors='surrogateescape'):
    e = json.loads(line)
    k = e['k']
    if k == 'file':
        files[e['num']] = (e['kind'], e.get('ino', 0), e.get('path', ''))
    elif k == 'process':
        pids[e['p']] = e['pid']
    elif k == 'access' and e['mode'] & 1 and not e['mode'] & 128:
        kind, ino, path = files[e['file']]
        if kind == 1:
            (sure if e.get('sure') else maybe).add((pids.get(e['p']), ino))
        else:
            absent.add((pids.get(e['p']), path))
    elif k == 'gap' and e['reason'] == 1:
        gaps.append(e)
    elif k == 'run_end':
        traps = e.get('traps', 0)
truth, none, n = set(), set(), 0
for line in open(sys.argv[2]):
    pid, ino, path = line.rstrip('\n').split(' ', 2)
    n += 1
    if int(ino):
        truth.add((int(pid), int(ino)))
    elif path.startswith('/'):
        none.add((int(pid), path))
inside = {i for kind, i, path in files.values() if kind == 1 and path.startswith(folder + '/')}
bad = []
lost = sum(g.get('count', 0) or 1 for g in gaps)
if truth - sure - maybe and not (case == 'outside' and lost):
    bad.append(f'not in the record: {sorted(truth - sure - maybe)[:8]} {len(truth - sure - maybe)} of {len(truth)}')
if {(p, i) for p, i in sure if i in inside} - truth:
    bad.append(f'sure, and not opened: {sorted({(p, i) for p, i in sure if i in inside} - truth)[:8]}')
if case != 'outside' and truth - sure:
    bad.append(f'only possible: {sorted(truth - sure)[:8]}')
if none - absent:
    bad.append(f'absent, and not in the record: {sorted(none - absent)[:8]}')
if case != 'outside' and gaps:
    bad.append(f'gaps: {gaps[:4]}')
if traps > most * n:
    print(f'{traps} stops for {n} opens')
elif bad:
    print(*bad, sep='\n')
sys.exit(bool(bad) or traps > most * n)
PY

# From outside of the run: the folder gets another name, and another folder its name.
swap()
{
	k=0
	while [ ! -s "$T/o/now" ] && [ $k -lt 2000 ]; do
		k=$((k + 1))
		sleep 0.02
	done
	mv "$D/d0" "$D/was0" && mv "$D/other0" "$D/d0"
	sleep 0.1
	mkdir "$D/go"
}

make_tree()
{
	rm -rf "$T/o"
	mkdir -p "$D"
	$PYTHON -S - "$D" <<'PY'
import os, sys
for name in [f'd{i}' for i in range(10)] + [f'other{i}' for i in range(6)]:
    os.mkdir(f'{sys.argv[1]}/{name}')
    for m in range(40):
        with open(f'{sys.argv[1]}/{name}/f{m}', 'w') as f:
            f.write(name)
PY
	: >"$T/o/now"
}

# folders_once CASE STOPS: at most that many stops an open.
folders_once()
{
	D=$T/o/d
	make_tree
	sleep 0.2 # older than any change may hide in
	[ "$1" != outside ] || swap &
	STEMMA_INJECT=always STEMMA_HOME=$T/o/home timeout 60 "$STEMMA" run -- $PYTHON -S "$T/walks.py" "$1" "$D" 9>"$T/o/truth" 8>"$T/o/now" >"$T/o/out" 2>&1
	status=$?
	wait
	: >"$T/why"
	[ $status = 0 ] || { echo "status $status"; cat "$T/o/out"; } >>"$T/why"
	events "$T/o/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON -S "$T/held.py" "$T/events" "$T/o/truth" "$D" "$1" "$2" >>"$T/why" 2>&1
}

"$STEMMA" doctor --quick >"$T/doctor" 2>&1
can=
! { grep -q '^user notification *ok' "$T/doctor" && grep -q '^ptrace *ok' "$T/doctor"; } || can=1
# What a start of Python stops, and hardly more. On a busy machine the code may not get there in time: tried again.
for c in tree opath words cwd child renames removed many outside; do
	case $c in
	tree | opath | child) most=0.4 ;;
	*) most=1000 ;;
	esac
	[ -n "$can" ] || most=1000
	for try in 1 2 3 4; do
		folders_once $c $most
		{ [ -s "$T/why" ] && ! grep -q -v 'stops for' "$T/why"; } || break
	done
	[ ! -s "$T/why" ]
	result $? "$c" "$T/why"
done
finish
