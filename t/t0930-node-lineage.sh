#!/bin/sh
# The demo's pipeline, run by an ordinary user without `stemma run` while stemmad sees all of the node, has the lineage that
# it has with it, certainty aside; and what a kill of the daemon under load leaves. Needs root, and a kernel that lets it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
export STEMMA_NODE_SOCKET="$T/run/socket"
daemon=
hidden= # a script that hides processes from the program that is its arguments
trap 'kill_child 9 $daemon; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
answers()
{
	"$DAEMON" --stats
}
# shellcheck disable=SC2120 # none needs a setting yet
start()
{ # OPTION...
	# shellcheck disable=SC2086 # options of a machine where all is slow
	${hidden:+unshare -m sh "$hidden"} "$DAEMON" --keep=all ${own:+--user "$own"} -o "base=$T/base" -o "run=$T/run" ${NODE_OPTIONS:-} "$@" 2>>"$T/daemon" &
	daemon=$!
	i=0
	until answers >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -gt 1200 ] || ! kill -0 "$daemon" 2>/dev/null && return 1
		sleep 0.05
	done
}
stop()
{ # SIGNAL
	kill "-$1" "$daemon" && wait "$daemon" 2>/dev/null
	daemon=
	return 0
}
user()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/nobody" STEMMA_HOME="$T/nobody/record" "$@"
}

[ "$(id -u)" = 0 ] || nothing "needs root"
# A sanitizer takes more memory and time than the daemon may have: less would be recorded for that alone.
grows=8192 # KiB
if grep -q -e __asan_init -e __tsan_init "$DAEMON"; then
	grows=131072
	NODE_OPTIONS="-o max_memory=2G -o max_cpu=1000 ${NODE_OPTIONS:-}"
	echo "# with a sanitizer the daemon may have 2 GiB and all processors, and grow by $grows KiB"
fi
# The daemon is neither root nor who is watched.
own=
for name in stemmad daemon; do
	[ -n "$own" ] || ! id "$name" >/dev/null 2>&1 || own=$name
done
[ -x "$DAEMON" ] || nothing "stemmad was not built"
if ! user test -r "$here/t/lib.sh" || ! user test -x "$STEMMA"; then
	nothing "the build folder is not for other users to read"
fi
chmod 711 "$T" "$T/home"
mkdir -m 755 "$T/a" "$T/b" "$T/nobody"
if ! start; then
	kill -0 "$daemon" 2>/dev/null && nothing "stemmad is too slow here to answer after a minute and $i tries"
	nothing "stemmad cannot trace here: $(tail -1 "$T/daemon")"
fi
uid=$(awk '/^Uid:/ { print $2 }' "/proc/$daemon/status")
helper=$(for p in $(ps -o pid= --ppid "$daemon"); do [ "$(cat "/proc/$p/comm")" != stemmad-helper ] || echo "$p"; done)
[ -n "$own" ] && [ "$uid" != 0 ] && [ "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$helper/status")" = "$uid $uid $uid $uid" ]
own_user=$?
grep -q 'files:' "$T/daemon" && nothing "no files are seen here: $(grep 'files:' "$T/daemon")"
if [ -n "$own" ]; then
	[ $own_user = 0 ]
	check "the daemon and its helper are user $own"
else
	count=$((count + 1))
	echo "ok $count - the daemon is a user of its own # SKIP there is neither a user stemmad nor daemon"
fi

if command -v bwa >/dev/null && command -v samtools >/dev/null && command -v bcftools >/dev/null; then
	for d in a b; do
		"$here/examples/variants/get-data" "$T/$d" >/dev/null 2>"$err" &&
			cp "$here/examples/variants/pipeline.sh" "$here/examples/variants/summarise.py" "$T/$d"
	done
	chown -R 65534:65534 "$T/a" "$T/b" "$T/nobody"
	(cd "$T/a" && user ./pipeline.sh B7 EAS1) 2>>"$err" && (cd "$T/a" && user "$STEMMA" --node lineage --json results/summary.tsv) >"$T/a.json" 2>>"$err" &&
		(cd "$T/b" && user "$STEMMA" run -q -- ./pipeline.sh B7 EAS1 && user "$STEMMA" lineage --json results/summary.tsv) >"$T/b.json" 2>>"$err" &&
		"$PYTHON" "$here/t/node_compare.py" "$T/a.json" "$T/a" "$T/b.json" "$T/b" >"$out" 2>>"$err"
	check "the demo's pipeline without stemma run: the lineage is the same"
	n=$(sed -n 's/ in both//p' "$out")
	[ "${n:-0}" -ge 40 ]
	check "... and it is that of all of the pipeline"
	(cd "$T/a" && user "$STEMMA" --node why results/B7.vcf) >"$out" 2>"$err" && says "$out" 'made by bcftools mpileup' && says "$out" 'by nobody@'
	check "why"
	(cd "$T/a" && COLUMNS=9999 user "$STEMMA" --node log) >"$out" 2>"$err" && says "$out" 'pipeline.sh B7 EAS1'
	check "log"
else
	for what in lineage whole why log; do
		count=$((count + 1))
		echo "ok $count - the demo's pipeline: $what # SKIP bwa, samtools or bcftools is not installed"
	done
fi

chown 65534:65534 "$T/nobody"
cat >"$T/nobody/job.sh" <<'END'
#!/bin/sh
cd "$HOME"
echo one >made.tmp
mv made.tmp made
sed s/one/two/ made >edited
x=$(cat edited)
echo "$x" >last
END
user sh "$T/nobody/job.sh" && user "$STEMMA" --node lineage "$T/nobody/last" >"$out" 2>"$err" && says "$out" 'cat edited' && says "$out" 'sed s/one/two/ made' &&
	says "$out" 'nobody/made@{1}' && ! grep -q 'made.tmp@' "$out"
check "redirections, a rename, a pipe into a variable"
COLUMNS=9999 user "$STEMMA" --node log --all >"$out" 2>"$err" && says "$out" "sh $T/nobody/job.sh" && ! grep -q 'setpriv' "$out"
check "log: a job that setpriv began is called by what setpriv became"

cat >"$T/nobody/loop.py" <<'END'
for k in range(12):
    with open("i%d" % k) as f:
        x = f.read()
    with open("n%d" % k, "w") as f:
        f.write(x)
END
for k in 0 1 2 3 4 5 6 7 8 9 10 11; do
	echo $k >"$T/nobody/i$k"
done
(cd "$T/nobody" && user "$PYTHON" loop.py) && for k in 0 3 6 9 11; do
	user "$STEMMA" --node lineage --certain --json "$T/nobody/n$k" && echo
done >"$out" 2>"$err" && "$PYTHON" - "$out" <<'END' >>"$err"
import json, os, sys
decoder, text, wrong = json.JSONDecoder(), open(sys.argv[1]).read().strip(), []
for k in (0, 3, 6, 9, 11):
    got, end = decoder.raw_decode(text)
    text = text[end:].strip()
    names = {os.path.basename(e.get("path") or "") for e in got["entities"]}
    sure = {int(n[1:]) for n in names if n[:1] == "i" and n[1:].isdigit()}
    if sure != set(range(k + 1)):
        wrong.append("n%d is surely of %s" % (k, sorted(sure)))
print("\n".join(wrong))
sys.exit(bool(wrong))
END
check "a loop within a few ms: each output is surely of what was read before it, and of nothing later"

# ---- killed under load, started again ----

load()
{
	i=0
	while [ $i -lt 100 ]; do
		cat "$T/nobody/made" >"$T/load$i" || echo "load $i failed"
		i=$((i + 1))
	done
}
load >"$T/failed" 2>&1 &
worker=$!
sleep 0.3
stop KILL
wait $worker
[ ! -s "$T/failed" ] && [ "$(cat "$T"/load*/dev/null 2>/dev/null; find "$T" -maxdepth 1 -name 'load*' | wc -l)" = 100 ]
check "killed under load: nobody was stopped or made to fail"
start && user sh "$T/nobody/job.sh" && user "$STEMMA" --node lineage "$T/nobody/last" >"$out" 2>"$err" && says "$out" "nobody/job.sh" &&
	user "$STEMMA" --node sql "SELECT text FROM gap WHERE reason = 'recorder_died'" >"$out" 2>>"$err" && says "$out" 'was killed'
check "started again: it records, and says from when to when it was not there"

# ---- many processes ----

before=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
user sh -c 'i=0; while [ $i -lt 1500 ]; do (:) & i=$((i + 1)); [ $((i % 100)) = 0 ] && wait; done; wait'
answers >"$out" && after=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status") && echo "memory: $before KiB before, $after KiB after" >"$err" && [ "$((after - before))" -lt $grows ] && grep -q '^lost        0 of processes' "$out"
check "1,500 processes in a burst: none is lost, and memory stays bounded"
stop TERM

# ---- representative executions ----

if start -o keep=representative && command -v bash >/dev/null; then
	rm -f "$T/nobody/last"
	printf 'sh "$HOME/job.sh"\ncp "$HOME/last" "$HOME/copy"\nexit\n' | user bash --norc -i >"$out" 2>"$err"
	user "$STEMMA" --node lineage "$T/nobody/copy" >"$out" 2>>"$err" && says "$out" 'cp ' && says "$out" 'job.sh' &&
		user "$STEMMA" --node sql "SELECT count(*) AS n FROM execution WHERE argv LIKE 'sed s/one/two/%' AND began > (SELECT max(ended) FROM gap WHERE reason = 'lost')" >"$out" 2>>"$err" && lines "$out" 2 && says "$out" 0
	check "from a shell: what the user started is kept, what that started counts to it"
	if ! cmd 0 granularity access --user nobody && says "$err" "cannot load the programs"; then
		count=$((count + 1))
		echo "ok $count - granularity access # SKIP $(head -n 1 "$err")"
	else
		user sh -c 'cat "$HOME/last" | cat >"$HOME/counted"' && user "$STEMMA" --node why "$T/nobody/counted" >"$out" 2>"$err" &&
			says "$out" "counted@{1}: made by" && user "$STEMMA" --node sql "SELECT io.bytes FROM io JOIN file f ON f.id = io.file WHERE f.path LIKE '%/counted' AND direction = 'write'" >"$out" 2>>"$err" &&
			sed 1d "$out" | tr -d ' ' >"$T/n" && is "$T/n" 4
		check "granularity access: bytes are counted while it is on"
		cmd 0 granularity open --user nobody
		check "and off again"
	fi
	stop TERM
fi

# ---- where processes are hidden from other users ----

printf 'mount -t proc -o hidepid=2 proc /proc && exec "$@"\n' >"$T/hide"
if [ -n "$own" ] && unshare -m sh "$T/hide" setpriv --reuid 65534 --regid 65534 --clear-groups test ! -e /proc/1/stat 2>"$err"; then
	mkfifo "$T/nobody/go"
	printf 'read x <"$HOME/go"\necho "$x" >"$HOME/waited"\n' >"$T/nobody/waits.sh"
	chmod 666 "$T/nobody/go"
	user sh "$T/nobody/waits.sh" &
	waits=$!
	hidden="$T/hide"
	if start; then
		echo yes >"$T/nobody/go"
		wait $waits
		user sh -c 'cat "$HOME/waited" >"$HOME/hidden"'
		user "$STEMMA" --node lineage "$T/nobody/hidden" >"$out" 2>"$err" && says "$out" ' cat ' && says "$out" 'nobody/waited@{1}' && says "$out" 'waits.sh' && answers >"$out" && ! grep -q ' 0.0 MiB$' "$out"
		check "hidepid=2: what runs, and what ran before the daemon, is seen as ever"
		stop TERM
	else
		kill $waits
		false
		check "hidepid=2: it starts"
	fi
else
	count=$((count + 1))
	echo "ok $count - hidepid=2 # SKIP no user of its own, or processes cannot be hidden here: $(head -n 1 "$err")"
fi
finish
