#!/bin/sh
# The worker is killed: another one takes up the processes that live and records what they do from then on, in the same run.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

D=$T/w

# The worker below $1; not the number $2. Waits for it.
worker()
{
	i=0
	while [ $i -lt 1500 ]; do
		for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
			[ "$(cat "/proc/$c/comm" 2>/dev/null)" = stemma-worker ] && [ "$c" != "${2:-}" ] && echo "$c" && return
		done
		i=$((i + 1))
		sleep 0.02
	done
}

await()
{ # FILE: until it is there
	i=0
	while [ ! -e "$1" ] && [ $i -lt 1500 ]; do
		i=$((i + 1))
		sleep 0.02
	done
}

# Waits until the record has as many gaps of the kind recorder_died with a beginning as $1: so often another has taken over.
taken()
{
	i=0
	while [ $i -lt 600 ]; do
		events "$T/home" "$T/events"
		[ "$(grep -c '"k":"gap".*"reason":7\b.*a new recorder' "$T/events")" -ge "$1" ] && return
		i=$((i + 1))
		sleep 0.02
	done
}

begin()
{ # OPTIONS -- COMMAND...: in a fresh folder, as $p
	fresh "$D"
	rm -rf "${T:?}/home"
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run "$@") >"$T/got" 2>"$T/err" &
	p=$!
}

# made FILE FROM...: the record says that it was made from these, surely or perhaps.
made()
{
	of=$1
	shift
	(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" lineage --all "$of") >"$T/lineage" 2>&1
	for from; do
		grep -q "$from@" "$T/lineage" || {
			echo "$of is not made from $from:" >>"$T/why"
			head -20 "$T/lineage" >>"$T/why"
		}
	done
}

cat >"$T/half.sh" <<'END'
# Before: read, held open, a child that waits, a pipe between two.
read -r line <in
exec 4<in2 5>held
(
	read -r other <page
	until [ -e go ]; do sleep 0.02; done
	echo "$other" >by-child
) &
{ until [ -e go ]; do sleep 0.02; done; cat x; } | sort >piped &
echo >ready
until [ -e go ]; do sleep 0.02; done
# After.
echo "$line" >by-value
cat <&4 >by-descriptor
echo end >&5
sort x >late
cat late >later
wait
exit 7
END
for o in --level=default --count; do
	case $o in
	--count) begin --count -- sh "$T/half.sh" ;;
	*) begin -- sh "$T/half.sh" ;;
	esac
	name=${o#--}
	w=$(worker $p)
	await "$D/ready"
	kill -9 "$w"
	next=$(worker $p "$w")
	taken 1
	: >"$D/go"
	wait $p
	status=$?
	[ -n "$next" ] && [ $status = 7 ] && [ ! -s "$T/err" ]
	result $? "$name: another worker comes, and the command ends as always" "$T/err"
	: >"$T/why"
	events "$T/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	made by-value in
	made by-child page
	made by-descriptor in2
	made late x
	made later late x
	made piped x
	[ ! -s "$T/why" ]
	result $? "$name: what is made after it comes from what was read before it" "$T/why"
	[ "$(grep -c '"k":"gap".*"reason":7\b' "$T/events")" = 2 ] && grep -q '"k":"gap".*"reason":7\b.*"from":[0-9]' "$T/events"
	result $? "$name: the record says from when to when nobody watched" "$T/events"
	[ "$(grep -c '"k":"run_end".*"code":7\b' "$T/events")" = 1 ] && [ "$(grep -c '"k":"session_end"' "$T/events")" = 1 ]
	result $? "$name: it ends in good order" "$T/events"
	# A process is told of once: its number goes on.
	grep '"k":"process"' "$T/events" | sed 's/.*"pid":\([0-9]*\).*"started":\([0-9]*\).*/\1 \2/' | sort | uniq -d >"$T/twice"
	[ ! -s "$T/twice" ]
	result $? "$name: no process is told of twice" "$T/twice"
	STEMMA_HOME=$T/home "$STEMMA" fsck >"$T/fsck" 2>&1
	result $? "$name: the log is found whole" "$T/fsck"
done

# Each time that it comes back. Not before there is a command: killed then, it is not followed, and the run says that it is not recorded.
begin -- sh -c ': >ready; for i in 1 2 3; do until [ -e go$i ]; do sleep 0.02; done; sort x >made$i; : >done$i; done; exit 4'
w=$(worker $p)
await "$D/ready"
for k in 1 2 3; do
	kill -9 "$w"
	w=$(worker $p "$w")
	taken $k
	: >"$D/go$k"
	await "$D/done$k"
done
wait $p
status=$?
: >"$T/why"
made made1 x
made made2 x
made made3 x
[ $status = 4 ] && [ ! -s "$T/why" ]
result $? "killed three times, it comes back three times" "$T/why"

# Killed again and again it comes back later each time, and the job does not suffer.
begin -- sh -c ': >ready; i=0; while [ ! -e stop ]; do i=$((i + 1)); cat x >copy; done; cmp x copy; exit 6'
w=
await "$D/ready"
for _ in $(seq 40); do
	for c in $(cat "/proc/$p/task/$p/children" 2>/dev/null); do
		[ "$(cat "/proc/$c/comm" 2>/dev/null)" = stemma-worker ] && kill -9 "$c" && w="$w $c"
	done
	sleep 0.05
done
: >"$D/stop"
wait $p
status=$?
echo "killed:$w, status $status" >>"$T/got"
# shellcheck disable=SC2086 # words
[ $status = 6 ] && [ "$(echo $w | wc -w)" -ge 2 ] && [ "$(echo $w | wc -w)" -le 10 ]
result $? "killed again and again, it comes back ever later" "$T/got"

# Signals to the recorder reach the command as before, and its end is told.
begin -- sh -c 'trap "echo term >termed; exit 9" TERM; echo >ready; while :; do sleep 0.02; done'
w=$(worker $p)
await "$D/ready"
kill -9 "$w"
taken 1
kill -TERM $p
wait $p
[ $? = 9 ] && [ -e "$D/termed" ]
result $? "SIGTERM reaches the command" "$T/err"
begin -- sh -c 'echo >ready; until [ -e go ]; do sleep 0.02; done; kill -KILL $$'
w=$(worker $p)
await "$D/ready"
kill -9 "$w"
taken 1
: >"$D/go"
wait $p
status=$?
events "$T/home" "$T/events"
[ $status = 137 ] && grep -q '"k":"run_end".*"ending":2.*"code":9\b' "$T/events"
result $? "a command that a signal kills" "$T/events"

# What outlives the command is recorded to its end.
begin -- sh -c '(until [ -e go ]; do sleep 0.02; done; sort x >orphan; echo >ended) </dev/null >/dev/null 2>&1 & echo >ready; until [ -e over ]; do sleep 0.02; done; exit 5'
w=$(worker $p)
await "$D/ready"
kill -9 "$w"
taken 1
: >"$D/over"
wait $p
status=$?
: >"$D/go"
await "$D/ended"
i=0
while ! { events "$T/home" "$T/events" && grep -q '"k":"session_end"' "$T/events"; } && [ $i -lt 600 ]; do
	i=$((i + 1))
	sleep 0.05
done
: >"$T/why"
made orphan x
[ $status = 5 ] && [ ! -s "$T/why" ] && grep -q '"k":"session_end"' "$T/events"
result $? "processes that outlive the command are recorded to their end" "$T/why"

# Code that opens without a stop belongs to the worker that put it in: what is opened later is seen, or said to be missing.
export STEMMA_INJECT=always
begin -- "$PYTHON" -S -c '
import os, time
def read(name):
    return open(name, "rb").read()
for i in range(300):
    read("in")
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
data = read("x")
open("out", "wb").write(data)'
unset STEMMA_INJECT
w=$(worker $p)
await "$D/ready"
kill -9 "$w"
taken 1
: >"$D/go"
wait $p
status=$?
events "$T/home" "$T/events"
: >"$T/why"
grep -q '"reason":1\b.*code of a killed recorder' "$T/events" || made out x
[ $status = 0 ] && [ ! -s "$T/why" ]
result $? "opens by code of the dead worker are seen, or said to be missing" "$T/why"

# What had confined itself shares no memory with the next worker either: that does not know of it, and a Landlock domain does
# not show in /proc. Where there is no Landlock, root is confined by chroot.
cat >"$T/confined.py" <<'END'
import ctypes, os, re, struct, time
libc = ctypes.CDLL(None)
def raw(number, *args):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
def shared():
    return set(re.findall(r'(\d+)\s+/memfd:stemma', open('/proc/self/maps').read()))
def confine():
    attr = ctypes.create_string_buffer(struct.pack('Q', 1 << 6))  # MAKE_CHAR: all else stays allowed
    libc.prctl(38, *[ctypes.c_ulong(a) for a in (1, 0, 0, 0)])
    fd = raw(444, ctypes.addressof(attr), 8, 0)
    if fd >= 0 and raw(446, fd, 0) == 0:
        os.close(fd)
    elif os.getuid() == 0:
        os.chroot('/')
    else:
        open('cannot', 'w').close()
def look(who):
    for i in range(800):
        os.close(os.open(f'f{i % 400}', os.O_RDONLY))
    if shared() - before:  # what it has of the dead worker's, nobody else has
        open('shared-' + who, 'w').close()
confine()
for i in range(400):
    open(f'f{i}', 'w').close()
before = shared()
open('ready', 'w').close()
while not os.path.exists('go'):
    time.sleep(0.02)
look('itself')
pid = os.fork()
if pid == 0:
    look('child')
    os._exit(0)
os.waitpid(pid, 0)
END
begin -- "$PYTHON" -S "$T/confined.py"
w=$(worker $p)
await "$D/ready"
kill -9 "$w"
taken 1
: >"$D/go"
wait $p
status=$?
(cd "$D" && find . -name "shared-*") >"$T/shared"
if [ -e "$D/cannot" ]; then
	skip_ "what had confined itself shares no memory with the next worker" "no Landlock"
else
	[ $status = 0 ] && [ ! -s "$T/shared" ]
	result $? "what had confined itself shares no memory with the next worker" "$T/shared"
fi
finish
