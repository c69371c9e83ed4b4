#!/bin/sh
# The file system of the record stands still. The job goes on, and all that it did meanwhile is in the record when the file
# system goes on again. Every step waits for the one before, not for a time.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
if [ -z "${STEMMA_T_APART:-}" ]; then
	[ "$(id -u)" = 0 ] || { skip_ "a file system that stands still" "only root can freeze one"; finish; }
	for tool in fsfreeze mkfs.ext4 unshare; do
		command -v $tool >/dev/null || { skip_ "a file system that stands still" "$tool is missing"; finish; }
	done
	# What is mounted is gone with the namespace.
	export STEMMA_T_APART=1
	STEMMA=$STEMMA STEMMA_EVTEXT=$EVTEXT STEMMA_PROGS=$PROGS unshare -m sh "$script"
	exit
fi
who=root
STEMMA_T_ONCE=1
mkdir disk w
truncate -s 64M image
if ! { mkfs.ext4 -q -F image && mount -o loop image disk && fsfreeze -f disk && fsfreeze -u disk; } 2>err; then
	skip_ "a file system that stands still" "none can be mounted or frozen here: $(tail -n 1 err)"
	finish
fi
trap 'fsfreeze -u "$T/disk" 2>/dev/null; umount -l "$T/disk"; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

# await FILE: for as long as a slow machine may need.
await()
{
	for _ in $(seq 2400); do
		[ -e "$1" ] && return
		sleep 0.05
	done
	echo "nobody made $1" >>"$T/why"
	return 1
}

cat >job.sh <<'SH'
make()
{
	cat in.$1 >mid.$1
	sort mid.$1 >out.$1
}
cd w || exit 1
i=0
while [ $i -lt 20 ]; do i=$((i + 1)) && make $i; done
: >ready
until [ -e frozen ]; do sleep 0.05; done
while [ $i -lt 40 ]; do i=$((i + 1)) && make $i; done
: >middle
until [ -e on ]; do sleep 0.05; done
while [ $i -lt 60 ]; do i=$((i + 1)) && make $i; done
: >ended
exit 7
SH

# seen.py EVENTS FOLDER FROM TO: each output was written by a process that read what it is made of, and nothing went by.
cat >seen.py <<'PY'
import collections, json, sys
events, folder = [json.loads(line) for line in open(sys.argv[1])], sys.argv[2]
paths = {e['num']: e.get('path') for e in events if e['k'] == 'file'}
read, wrote = collections.defaultdict(set), collections.defaultdict(set)
for e in events:
    if e['k'] == 'access':
        for bit, by in ((1, read), (2, wrote)):
            if e['mode'] & bit:
                by[paths.get(e['file'])].add(e['p'])
for i in range(int(sys.argv[3]), int(sys.argv[4]) + 1):
    for source, made in (('in', 'mid'), ('mid', 'out')):
        if not read[f'{folder}/{source}.{i}'] & wrote[f'{folder}/{made}.{i}']:
            print(f'{made}.{i}: nobody is known who made it of {source}.{i}')
for e in events:
    if e['k'] == 'gap' and e.get('reason') not in ((7, 8) if sys.argv[5:] else ()):  # recorder_died, exit_unseen
        print('gap:', e)
PY

begin()
{
	rm -rf w
	mkdir w
	for i in $(seq 60); do echo "$i" >w/in.$i; done
	sleep 0.03
	: >why
}

# start OPTION...: the job, recorded on the disk, in the background.
start()
{
	export STEMMA_HOME="$T/disk/home.$1"
	shift
	(
		"$STEMMA" run "$@" -- sh job.sh >out 2>err </dev/null
		echo $? >returned.now
		mv returned.now returned
	) &
}

# check FROM TO [killed]: of the events; killed: the worker was.
check()
{
	for _ in $(seq 1200); do
		events "$STEMMA_HOME" ev 2>/dev/null && tail -n 1 ev | grep -q '"k":"session_end"' && break
		sleep 0.05
	done
	tail -n 1 ev | grep -q '"k":"session_end"' || echo "the record has no end" >>why
	$PYTHON -S seen.py ev "$T/w" "$@" >>why 2>&1
}

# while_frozen WHAT OPTION...
while_frozen()
{
	what=$1
	shift
	begin
	rm -f returned
	start "a$#.${1:-}" "$@"
	await w/ready
	fsfreeze -f disk
	: >w/frozen
	await w/middle
	: >w/on
	# It is thawed because the job has ended, so the job did not wait for that.
	await w/ended
	fsfreeze -u disk
	await returned && [ "$(cat returned)" = 7 ] || echo "status $(cat returned)" >>why
	check 1 60
	unknown=0
	for i in 1 20 21 40 41 60; do
		"$STEMMA" lineage "w/out.$i" 2>&1 | grep -q "in\.$i\b" || unknown=$((unknown + 1))
	done
	[ $unknown = 0 ] || echo "$unknown outputs are not known to be made of their inputs" >>why
	[ ! -s why ]
	result $? "$what: the job ends while the record's disk stands still, and all of it is recorded" why
}
while_frozen "as is usual"
while_frozen "with counts" --count
while_frozen "by ptrace" --transport=trace

# Who waits for the run is told when the disk does not go on.
begin
rm -f returned
start b
await w/ready
fsfreeze -f disk
: >w/frozen
: >w/on
await returned && [ "$(cat returned)" = 7 ] || echo "status $(cat returned)" >>why
grep -q 'not complete yet' err || cat err >>why
fsfreeze -u disk
check 1 60
[ ! -s why ]
result $? "stemma run returns while the disk stands still, says so, and the record is completed" why

# The worker is killed while the disk stands still: what it had in memory is in the record afterwards.
begin
rm -f returned
start c
await w/ready
fsfreeze -f disk
: >w/frozen
await w/middle
worker=
for p in /proc/[0-9]*; do
	[ "$(cat "$p/comm" 2>/dev/null)" = stemma-worker ] && { tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep -qx "STEMMA_HOME=$STEMMA_HOME" &&
		worker=${p#/proc/}
done
kill -9 "$worker" 2>>why
: >w/on
await w/ended
fsfreeze -u disk
await returned && [ "$(cat returned)" = 7 ] || echo "status $(cat returned)" >>why
check 1 40 killed
grep -q '"k":"gap".*the recorder was killed' ev || echo "nothing says that the recorder was killed" >>why
[ ! -s why ]
result $? "the worker is killed while the disk stands still: what it had seen is in the record" why
finish
