#!/bin/sh
# What a program holds while it does other things. Files that it writes: each file that it read before it wrote has its part in
# them, however they are held meanwhile and however quietly the others were opened. Locks, leases, signals and ends of pipes: as
# without a recorder, which looks at the same descriptors.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# outputs.py CASE FOLDER: on descriptor 9 a line "OUTPUT INPUT" for each input that was read before the last write. Writes
# are a while after what is read: file times have the grain of the kernel's tick.
cat >"$T/outputs.py" <<'PY'
import mmap, os, sys, threading, time
case, folder = sys.argv[1:3]
os.chdir(folder)
done = []


def read(a, b):
    for i in range(a, b):
        fd = os.open(f'{folder}/f{i}', os.O_RDONLY)
        assert os.read(fd, 100)
        os.close(fd)
        done.append(i)


def new(name, flags=os.O_RDWR | os.O_CREAT | os.O_TRUNC):
    return os.open(f'{folder}/{case}.{name}', flags, 0o644)


def write(fd, name='out'):
    time.sleep(0.03)
    assert os.write(fd, b'x') == 1
    os.write(9, ''.join(f'{case}.{name} f{i}\n' for i in done).encode())
    os.close(fd)


if case == 'other':
    read(380, 400)
    write(new('out'))
    sys.exit()
read(0, 60)
if case == 'held':
    out = new('out')
    read(60, 300)
    write(out)
elif case == 'each':
    out = new('out')
    for i in range(60, 200):
        read(i, i + 1)
        os.write(out, b'x')
    write(out)
elif case == 'again':
    for i in range(60, 200, 10):
        read(i, i + 10)
        write(new('out', os.O_RDWR | os.O_CREAT | os.O_APPEND))
elif case == 'copied':
    out = new('out')
    os.dup2(out, 500)
    os.close(out)
    read(60, 300)
    write(500)
elif case == 'number':
    # Its number is above one that comes and goes with what is read.
    null = os.open('/dev/null', os.O_RDONLY)
    out = new('out')
    read(60, 100)
    os.close(null)
    read(100, 300)
    write(out)
elif case == 'mapped':
    out = new('out')
    os.ftruncate(out, 4096)
    m = mmap.mmap(out, 4096)
    os.close(out)
    read(60, 300)
    m[0] = 1
    read(300, 330)
    time.sleep(0.03)
    m[1] = 1
    os.write(9, ''.join(f'{case}.out f{i}\n' for i in done).encode())
elif case == 'handed':
    out = new('out')
    go, begin = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(begin)
        os.read(go, 1)
        read(60, 200)
        write(out)
        os._exit(0)
    os.close(out)
    os.close(begin)
    assert os.waitpid(pid, 0)[1] == 0
elif case == 'child':
    out = new('out')
    read(60, 200)
    pid = os.fork()
    if pid == 0:
        write(out)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
elif case == 'renamed':
    os.close(new('out'))
    out = new('part')
    read(60, 200)
    os.rename(f'{case}.part', f'{case}.out')
    read(200, 300)
    write(out)
elif case == 'two':
    first = new('out')
    read(60, 130)
    second = new('more')
    read(130, 200)
    write(first)
    read(200, 260)
    write(second, 'more')
elif case == 'emptied':
    out = new('out')
    os.write(out, b'abc')
    read(60, 130)
    os.ftruncate(out, 0)
    read(130, 300)
    write(out)
elif case == 'thread':
    out = new('out')
    read(60, 100)
    t = threading.Thread(target=read, args=(100, 200))
    t.start()
    t.join()
    read(200, 260)
    write(out)
PY
cat >"$T/inputs.py" <<'PY'
import re, sys
truth = {}
for line in open(sys.argv[1]):
    out, name = line.split()
    truth.setdefault(out, set()).add(name)
seen = {name: set(re.findall(r'/d/(f\d+)"', open(f'{sys.argv[2]}/{name}.json').read())) for name in truth}
bad = len(truth) != 14
if bad:
    print('outputs:', sorted(truth))
for out, names in truth.items():
    missing, foreign = names - seen[out], {n for n in seen[out] if (int(n[1:]) >= 380) != (out == 'other.out')}
    if missing or foreign:
        bad = True
        print(out, 'lacks', len(missing), 'of', len(names), sorted(missing)[:5], 'has of another', sorted(foreign)[:5])
sys.exit(bad)
PY
cases="other held each again copied number mapped handed child renamed two emptied thread"
# outputs INJECT
outputs()
{
	O=$T/o
	rm -rf "$O"
	mkdir -p "$O/d" "$O/lineage"
	i=0
	while [ $i -lt 400 ]; do
		echo $i >"$O/d/f$i"
		i=$((i + 1))
	done
	sleep 0.03
	# shellcheck disable=SC2016 # the inner shell's
	STEMMA_INJECT=$1 STEMMA_HOME=$O/home timeout 120 "$STEMMA" run -- sh -c 'for c in $3; do "$0" -S -E "$1" "$c" "$2" || exit; done' \
		$PYTHON "$T/outputs.py" "$O/d" "$cases" 9>"$O/truth" >"$T/why" 2>&1 || echo "status $?" >>"$T/why"
	for name in $(cut -d ' ' -f 1 "$O/truth" | sort -u); do
		STEMMA_HOME=$O/home "$STEMMA" lineage --json --all "$O/d/$name" >"$O/lineage/$name.json" 2>>"$T/why"
	done
	$PYTHON "$T/inputs.py" "$O/truth" "$O/lineage" >>"$T/why" 2>&1 && [ ! -s "$T/why" ]
	result $? "$1: what is read while an output is held" "$T/why"
}
outputs always
if thorough; then
	outputs off
else
	skip_ "off: what is read while an output is held" "root has done it"
fi

# held.py FOLDER: what comes of what it holds while programs begin and end with it, the same each time.
cat >"$T/locks.py" <<'PY'
import errno, fcntl, os, signal, struct, subprocess, sys
os.chdir(sys.argv[1])
got = []
signal.signal(signal.SIGIO, lambda *a: got.append('SIGIO'))
signal.signal(signal.SIGUSR1, lambda *a: got.append('SIGUSR1'))


def held(path, flags):
    fd = os.open(path, flags | os.O_CREAT, 0o644)
    os.set_inheritable(fd, True)
    return fd


def programs(n):
    for _ in range(n):
        subprocess.run(['true'], close_fds=False, check=True)


def attempt(call, *args):
    try:
        r = call(*args)
        return r if isinstance(r, int) else 0
    except OSError as e:
        return errno.errorcode[e.errno]


exclusive = struct.pack('hhqqixxxx', fcntl.F_WRLCK, 0, 0, 0, 0)
F_OFD_SETLK = 37
own, open_file, whole = (held(name, os.O_RDWR) for name in ('own', 'open', 'whole'))
print('locks', attempt(fcntl.fcntl, own, fcntl.F_SETLK, exclusive), attempt(fcntl.fcntl, open_file, F_OFD_SETLK, exclusive),
      attempt(fcntl.flock, whole, fcntl.LOCK_EX))
programs(4)
pid = os.fork()
if pid == 0:
    for name in 'own', 'open':
        print(name, attempt(fcntl.fcntl, os.open(name, os.O_RDWR), fcntl.F_SETLK, exclusive))
    print('whole', attempt(fcntl.flock, os.open('whole', os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)

# What a program leaves is free when it has been waited for.
late = 0
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        fcntl.flock(held('left', os.O_RDWR), fcntl.LOCK_EX)
        os.execvp('true', ['true'])
    os.waitpid(pid, 0)
    fd = os.open('left', os.O_RDWR)
    late += attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) != 0
    os.close(fd)
print('left locked', late)

for kind, flags in (fcntl.F_RDLCK, os.O_RDONLY), (fcntl.F_WRLCK, os.O_RDWR):
    fd = held('lease', flags)
    programs(1)
    asked = attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, kind)
    programs(3)
    print('lease', kind, asked, attempt(fcntl.fcntl, fd, fcntl.F_GETLEASE), got)
    os.close(fd)

folder = os.open('.', os.O_RDONLY)
os.set_inheritable(folder, True)
asked = attempt(fcntl.fcntl, folder, 10, signal.SIGUSR1), attempt(fcntl.fcntl, folder, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
programs(3)
os.close(held('made', os.O_RDWR))
print('notice', asked, got)

r, w = os.pipe()
os.set_inheritable(r, True)
fcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)
programs(3)
print('owner', fcntl.fcntl(r, fcntl.F_GETOWN) == os.getpid())
fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) & ~os.O_ASYNC)
os.close(w)
# A program that has been run can be written, and one that has been written can be run.
busy = 0
for _ in range(10):
    fd = held('program', os.O_WRONLY)
    os.write(fd, b'#!/bin/sh\n')
    os.fchmod(fd, 0o755)
    programs(1)
    os.close(fd)
    busy += attempt(subprocess.run, ['./program']) != 0
    os.close(os.open('program', os.O_WRONLY))
print('busy', busy)
PY
for i in plain recorded; do
	rm -rf "$T/l"
	mkdir -p "$T/l/d"
	[ $i = plain ] && set -- || set -- "$STEMMA" run --
	STEMMA_HOME=$T/l/home timeout 120 "$@" $PYTHON -S -E "$T/locks.py" "$T/l/d" >"$T/$i" 2>&1 || echo "status $?" >>"$T/$i"
done
{
	grep -q '^locks 0 0 0$' "$T/plain" && grep -q '^busy 0$' "$T/plain" && diff "$T/plain" "$T/recorded"
} >"$T/why" || cat "$T/plain" >>"$T/why"
[ ! -s "$T/why" ]
result $? "locks, leases and signals of what is held" "$T/why"
events "$T/l/home" "$T/events" && ! grep '"k":"gap".*"reason":1\b' "$T/events" >"$T/why"
result $? "... and programs were looked at" "$T/why"
finish
