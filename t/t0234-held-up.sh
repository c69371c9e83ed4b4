#!/bin/sh
# A file system that is served by a process of the run itself: whoever records must not wait for it while it waits for whoever
# records. The command goes on, and what went by meanwhile is said to be lost.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
# A file `hello` by the kernel's own protocol (linux/fuse.h). Before each answer it opens and closes a file of another file system.
cat >serve.py <<'PY'
import ctypes, os, struct, sys, time

mount, backing, ready = sys.argv[1:4]
asked, answer_from = sys.argv[4:] if len(sys.argv) > 4 else (None, None)
fd = os.open('/dev/fuse', os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f'fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}'
if libc.mount(b'test', mount.encode(), b'fuse', 6, options.encode()) < 0:
    sys.exit('mount: ' + os.strerror(ctypes.get_errno()))
text = b'hello from afar\n'


def attr(node):
    mode, size, links = (0o40755, 0, 2) if node == 1 else (0o100644, len(text), 1)
    return struct.pack('<6Q10I', node, size, 1, 0, 0, 0, 0, 0, 0, mode, links, os.getuid(), os.getgid(), 0, 4096, 0)


open(ready, 'w').close()
while True:
    try:
        request = os.read(fd, 1 << 17)
    except OSError:  # it was unmounted
        break
    length, code, unique, node = struct.unpack('<IIQQ', request[:24])
    body, error, answer = request[40:length], 0, b''
    if code != 26:
        open(backing).close()
    if code == 26:  # INIT
        answer = struct.pack('<4I2H2I2H8I', 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, *[0] * 8)
    elif code == 1:  # LOOKUP: nothing of it is kept, so each use of the name asks again
        if body == b'hello\0':
            while asked and not os.path.exists(answer_from):
                open(asked, 'w').close()
                time.sleep(0.02)
            answer = struct.pack('<4Q2I', 2, 1, 0, 0, 0, 0) + attr(2)
        else:
            error = -2
    elif code == 3:  # GETATTR
        answer = struct.pack('<QII', 0, 0, 0) + attr(node)
    elif code in (14, 27):  # OPEN, OPENDIR
        answer = struct.pack('<QII', 0, 0, 0)
    elif code == 15:  # READ
        at, size = struct.unpack('<8xQI', body[:20])
        answer = text[at:at + size]
    elif code in (2, 42):  # FORGET: no answer
        continue
    elif code not in (18, 25, 29):  # RELEASE, FLUSH, RELEASEDIR
        error = -38
    os.write(fd, struct.pack('<IiQ', 16 + len(answer), error, unique) + answer)
PY
cat >job.sh <<'SH'
mkdir -p m
echo backing >backing
$PYTHON serve.py "$PWD/m" "$PWD/backing" "$PWD/ready" 2>served &
i=0
until [ -e ready ]; do
	i=$((i + 1))
	[ $i -lt 600 ] && kill -0 $! 2>/dev/null || exit 77
	sleep 0.05
done
for i in 1 2 3; do cat m/hello; done >out
cat out
umount m
wait
sort backing >last
exit 3
SH
export PYTHON
apart="unshare -m"
[ "$(id -u)" = 0 ] || apart="unshare -Urm"

rm -f ready
timeout -k 1 120 $apart sh job.sh >plain 2>err
status=$?
if [ $status != 3 ]; then
	skip_ "a file system of the run's own" "none can be served here: $(cat served err 2>/dev/null | tail -n 1)"
	finish
fi
# recorded WHAT OPTION...: the command, recorded so, ends as it did without, and what went by meanwhile is said
recorded()
{
	what=$1
	shift
	export STEMMA_HOME="$T/home.$#.${1:-}"
	rm -f ready out last
	timeout -k 1 120 $apart "$STEMMA" run "$@" -- sh job.sh >recorded 2>err
	status=$?
	[ $status = 3 ] || echo "status $status" >>err
	[ $status = 3 ] && cmp plain recorded >>err 2>&1
	result $? "$what: the command ends as it does without" err
	events "$STEMMA_HOME" events
	if grep '"k":"session"' events | grep -q 'complete/\(notify\|trace\|exact\)'; then
		grep -q '"k":"gap".*"reason":1\b.*a file system did not answer' events
		result $? "$what: what went by unrecorded is said" events
	fi
	tail -n 1 events | grep -q '"k":"session_end"' && "$STEMMA" why last >why 2>&1 && grep -q sort why
	result $? "$what: the record goes on" why
}

recorded "as is usual"
recorded "by ptrace" --transport=trace
recorded "with the bytes" --exact

# One that a process outside of the run serves, and that answers only when another process of the run has got on.
cat >outer.sh <<'SH'
mkdir -p m
$PYTHON serve.py "$PWD/m" "$PWD/backing" "$PWD/ready" "$PWD/asked" "$PWD/answer" 2>served &
server=$!
i=0
until [ -e ready ]; do
	i=$((i + 1))
	[ $i -lt 600 ] && kill -0 $server 2>/dev/null || exit 77
	sleep 0.05
done
timeout -k 1 100 "$@" sh inner.sh
status=$?
kill $server
wait $server 2>/dev/null
umount m
exit $status
SH
cat >inner.sh <<'SH'
cat m/hello >out &
until [ -e asked ]; do sleep 0.05; done
sort backing >last
: >answer
wait
cat out
exit 3
SH
# others WHAT OPTION...
others()
{
	what=$1
	shift
	export STEMMA_HOME="$T/others.$#.${1:-}"
	rm -f ready asked answer out last
	timeout -k 1 120 $apart sh outer.sh "$STEMMA" run "$@" -- >recorded 2>err
	status=$?
	[ $status = 3 ] || echo "status $status" >>err
	[ $status = 3 ] && [ "$(cat recorded)" = 'hello from afar' ]
	result $? "$what: who does not use a file system that keeps silent goes on" err
	events "$STEMMA_HOME" events
	tail -n 1 events | grep -q '"k":"session_end"' && grep -q '"k":"gap".*"reason":1\b.*a file system did not answer' events
	result $? "$what: and what went by unrecorded is said" events
}
others "as is usual"
others "by ptrace" --transport=trace
others "with the bytes" --exact
finish
