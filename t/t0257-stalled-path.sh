#!/bin/sh
# File systems that do not answer. Who touches one waits, and nobody else: the others have done all their work, and it is
# recorded as ever, before the file system may answer. Every step waits for the one before, not for a time.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
stalls=$here/tests/prog/stalls.py
serve=$here/tests/prog/fuse_serve.py
seen=$here/tests/prog/seen_made.py
apart="unshare -m"
[ "$(id -u)" = 0 ] || apart="unshare -Urm"
export PYTHON serve stalls

# await FILE: for as long as a slow machine may need.
cat >await.sh <<'SH2'
await()
{
	for _ in $(seq 2400); do
		[ -e "$1" ] && return
		sleep 0.05
	done
	echo "nobody made $1" >>why
	return 1
}
SH2
. ./await.sh

# serves.sh: for a mount namespace of its own, by `.`: a file system at m that keeps silent when it is asked for anything but its
# root, until there is a file answer; it makes asked when that begins. Before each answer its server opens another file.
cat >serves.sh <<'SH2'
mkdir -p m
echo backing >backing
$PYTHON -B $serve "$PWD/m" "$PWD/backing" "$PWD/ready" "$PWD/asked" "$PWD/answer" 2>served &
server=$!
i=0
until [ -e ready ]; do
	i=$((i + 1))
	[ $i -lt 600 ] && kill -0 $server 2>/dev/null || exit 77
	sleep 0.05
done
SH2

# work.sh: by `.`: forty outputs, each made of an input in two steps.
cat >work.sh <<'SH2'
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	cat in.$i >mid.$i
	sort mid.$i >out.$i
done
SH2

# touch.sh: by `.`: eight processes that ask the file system in ways of their own.
cat >touch.sh <<'SH2'
pids=
ln -sf m/hello link
cat m/hello >got.1 &
pids="$pids $!"
cat link >got.2 &
pids="$pids $!"
$PYTHON -S -c 'open("m/hello").read()' &
pids="$pids $!"
$PYTHON -S -c 'import os; os.rename("m/hello", "m/other")' 2>/dev/null &
pids="$pids $!"
$PYTHON -S -c 'import os; os.unlink("m/hello")' 2>/dev/null &
pids="$pids $!"
$PYTHON -S -c 'import os; os.truncate("m/hello", 0)' 2>/dev/null &
pids="$pids $!"
$PYTHON -S -c 'import os; os.link("m/hello", "m/other")' 2>/dev/null &
pids="$pids $!"
(exec m/hello) 2>/dev/null &
pids="$pids $!"
SH2

cat >inside.sh <<'SH2'
. ./serves.sh
. ./touch.sh
until [ -e asked ]; do sleep 0.05; done
. ./work.sh
: >answer
wait $pids
cat got.1 got.2
umount m
wait $server
exit 3
SH2
cat >touches.sh <<'SH2'
. ./touch.sh
until [ -e asked ]; do sleep 0.05; done
. ./work.sh
: >answer
wait
cat got.1 got.2
exit 3
SH2
cat >outside.sh <<'SH2'
. ./serves.sh
"$@"
status=$?
kill $server
wait $server 2>/dev/null
umount m
exit $status
SH2

# begin HOME: fresh files, and a place for the record.
begin()
{
	rm -rf ready asked answer got.* out.* mid.* served w.* m.* pid why link
	for i in $(seq 40); do echo "$i" >in.$i; done
	sleep 0.03
	: >why
	export STEMMA_HOME="$T/home.$1"
}

# check STATUS [OPTION...]: how the command ended, and what is in the record: every output is known to be made of its input, and
# nothing went by.
check()
{
	[ "$1" = 3 ] || { echo "status $1"; cat err; } >>why
	shift
	[ "$(cat recorded 2>/dev/null)" = "$expected" ] || { echo "another output:"; cat recorded; } >>why
	events "$STEMMA_HOME" ev 2>>why
	tail -n 1 ev | grep -q '"k":"session_end"' || echo "the record has no end" >>why
	$PYTHON -S "$seen" ev "$T" 40 "$@" >>why 2>&1
}

begin none
expected=$(printf 'hello from afar\nhello from afar')
timeout -k 1 120 $apart sh inside.sh >recorded 2>err
status=$?
if [ $status != 3 ]; then
	skip_ "a file system that does not answer" "none can be served here: $(cat served err 2>/dev/null | tail -n 1)"
	finish
fi

begin outside
timeout -k 1 120 $apart sh outside.sh "$STEMMA" run -- sh touches.sh >recorded 2>err
check $? --read "$T/m/hello"
[ ! -s why ]
result $? "served from outside: eight processes wait, the others do not, and all is recorded" why

begin inside
timeout -k 1 120 $apart "$STEMMA" run -- sh inside.sh >recorded 2>err
check $? --read "$T/m/hello" --read "$T/backing"
[ ! -s why ]
result $? "served by a process of the run: eight processes wait, the others do not, and all is recorded" why

# More processes than the recorder has threads for.
cat >flood.sh <<'SH2'
$PYTHON -S - <<'PY' &
import os
for i in range(400):
    if os.fork() == 0:
        open('m/hello').read()
        os._exit(0)
for i in range(400):
    os.wait()
PY
until [ -e asked ]; do sleep 0.05; done
. ./work.sh
: >answer
wait
cat m/hello m/hello
exit 3
SH2
begin flood
timeout -k 1 120 $apart sh outside.sh "$STEMMA" run -- sh flood.sh >recorded 2>err
check $? --possible
[ ! -s why ]
result $? "a flood: 400 processes wait at once, and nobody waits for them" why

# One of those that wait is killed.
cat >killed.sh <<'SH2'
cat m/hello &
until [ -e asked ]; do sleep 0.05; done
kill -9 $!
wait $!
. ./work.sh
: >answer
cat m/hello m/hello
exit 3
SH2
begin killed
timeout -k 1 120 $apart sh outside.sh "$STEMMA" run -- sh killed.sh >recorded 2>err
check $? --read "$T/m/hello" --signaled 9
[ ! -s why ]
result $? "one that waits is killed: it ends at once, and all is recorded" why

# The run ends while one still waits.
cat >ends.sh <<'SH2'
cat m/hello >got.1 &
until [ -e asked ]; do sleep 0.05; done
. ./work.sh
echo hello from afar
echo hello from afar
exit 3
SH2
cat >outlive.sh <<'SH2'
. ./serves.sh
"$@"
status=$?
: >answer
. ./await.sh
await got.done
kill $server
wait $server 2>/dev/null
umount m
exit $status
SH2
sed -i 's/^cat m.hello >got.1 &$/(cat m\/hello >got.1; : >got.done) \&/' ends.sh
begin ends
timeout -k 1 120 $apart sh outlive.sh "$STEMMA" run -- sh ends.sh >recorded 2>err
status=$?
for _ in $(seq 1200); do
	events "$STEMMA_HOME" ev 2>/dev/null && tail -n 1 ev | grep -q '"k":"session_end"' && break
	sleep 0.05
done
check $status --read "$T/m/hello"
[ ! -s why ]
result $? "the command ends while another process waits, and that is recorded when it goes on" why

# The worker is killed while calls wait: those are made.
cat >worker.sh <<'SH2'
. ./touch.sh
until [ -e asked ]; do sleep 0.05; done
. ./work.sh
for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = stemma-worker ] && { tr '\0' '\n' <$p/environ; } 2>/dev/null | grep -qx "STEMMA_HOME=$STEMMA_HOME" &&
		kill -9 ${p#/proc/} && : >w.killed
done
: >answer
wait
cat got.1 got.2
exit 3
SH2
if [ "$(id -u)" = 0 ]; then
	begin worker
	timeout -k 1 120 $apart sh outside.sh "$STEMMA" run -- sh worker.sh >recorded 2>err
	check $? --killed
	[ -e w.killed ] || echo "the worker was not found" >>why
	[ ! -s why ]
	result $? "the worker is killed while calls wait: they are made, and what was seen before is recorded" why
else
	skip_ "the worker is killed while calls wait" "an ordinary user cannot see whose worker it is"
fi

# A page of memory that nobody fills, and a folder that nobody mounts: stalls.py.
for kind in page autofs; do
	cat >kind.sh <<'SH2'
$PYTHON -S $stalls $1 m.1 asked &
stalls=$!
until [ -e asked ] || ! kill -0 $stalls 2>/dev/null; do sleep 0.05; done
. ./work.sh
kill -9 $stalls
wait $stalls
status=$?
[ -e asked ] || exit $status
echo hello from afar
echo hello from afar
exit 3
SH2
	begin $kind
	timeout -k 1 120 $apart sh kind.sh $kind >recorded 2>err
	status=$?
	if [ $status != 3 ]; then
		skip_ "$kind" "$(tail -n 1 err)"
		continue
	fi
	begin $kind
	timeout -k 1 120 $apart "$STEMMA" run -- sh kind.sh $kind >recorded 2>err
	check $?
	[ ! -s why ]
	result $? "stalls.py $kind: only who waits for it waits" why
done
finish
