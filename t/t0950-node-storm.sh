#!/bin/sh
# The daemon in storms: killed again and again under load, 10,000 processes at once, a million files, suspended,
# hammered. What happened is known from those who did it (tests/nodeload.c): it is in the record, or in the interval of
# a gap. Needs root; some minutes.
nodeload=${STEMMA_NODELOAD:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
LOAD=${nodeload:-$BUILD/tests/stemma-nodeload}
KILLS=${NODE_KILLS:-20}
export STEMMA_NODE_SOCKET="$T/run/socket"
daemon=
load=
trap 'kill_child 9 $daemon $load; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
answers()
{
	"$DAEMON" --stats
}
start()
{ # OPTION...
	"$DAEMON" -o "base=$T/base" -o "run=$T/run" "$@" 2>>"$T/daemon" &
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
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/nobody" "$@"
}
memory()
{
	awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status"
}

[ "$(id -u)" = 0 ] || nothing "needs root"
[ -x "$DAEMON" ] || nothing "stemmad was not built"
user test -x "$LOAD" || nothing "the build folder is not for other users to read"
chmod 711 "$T" "$T/home"
mkdir -m 755 "$T/nobody" && chown 65534:65534 "$T/nobody"
start --keep=all || nothing "stemmad cannot trace here: $(tail -1 "$T/daemon")"
grep -q 'files:' "$T/daemon" && nothing "no files are seen here: $(grep 'files:' "$T/daemon")"

# ---- SIGKILL at random moments ----

setpriv --reuid 65534 --regid 65534 --clear-groups "$LOAD" marks "$T/nobody" 100000 >"$T/truth" 2>"$T/failed" &
load=$!
k=0
while [ $k -lt "$KILLS" ]; do
	sleep "$($PYTHON -c 'import random; print(random.choice([0.05, 0.3, 1.2, 2.5]) * random.random())')"
	stop KILL
	start --keep=all || break
	k=$((k + 1))
done
[ $k = "$KILLS" ] && kill -0 $load
check "killed $k times under load, started again each time"
sleep 1
kill $load
wait $load 2>/dev/null
load=
[ ! -s "$T/failed" ]
check "nobody who was watched was made to fail"
stop TERM
start --keep=all
user "$STEMMA" --node sql --json "SELECT DISTINCT f.path AS path FROM version v JOIN file f ON f.id = v.file WHERE v.origin = 'observed' AND f.path LIKE '%/nobody/mark%'" >"$T/seen" 2>"$err" &&
	user "$STEMMA" --node sql --json "SELECT began, ended, reason FROM gap" >"$T/gaps" 2>>"$err"
$PYTHON - "$T/truth" "$T/seen" "$T/gaps" >"$out" 2>>"$err" <<'END'
import json, sys
def rows(path):
    d = json.load(open(path))
    return d['rows'] if isinstance(d, dict) else d
def value(r, name, i): return r[name] if isinstance(r, dict) else r[i]
seen = {int(value(r, 'path', 0).rsplit('mark', 1)[1]) for r in rows(sys.argv[2])}
gaps = [(int(value(r, 'began', 0)), int(value(r, 'ended', 1))) for r in rows(sys.argv[3])
        if value(r, 'began', 0) is not None and value(r, 'ended', 1) is not None]
lines = [l.split() for l in open(sys.argv[1]) if l.count(' ') == 2 and l.endswith('\n')]
missing = []
for i, a, b in lines:
    if int(i) not in seen and not any(f <= int(b) and int(a) <= u for f, u in gaps):
        missing.append((int(i), int(a), int(b)))
print(len(lines), 'made,', sum(int(l[0]) in seen for l in lines), 'recorded,', len(gaps), 'gaps,', len(missing), 'silently missing')
for m in missing[:10]:
    near = [(f, u) for f, u in gaps if abs(f - m[1]) < 20e9 or abs(u - m[1]) < 20e9]
    print('missing', m, [(round((f - m[1]) / 1e9, 3), round((u - m[1]) / 1e9, 3)) for f, u in near], file=sys.stderr)
sys.exit(bool(missing) or len(lines) < 100 or not any(int(l[0]) in seen for l in lines))
END
check "what was made is in the record or in the interval of a gap: $(cat "$out")"

# ---- 10,000 processes at once ----

before=$(memory)
user "$LOAD" bomb 10000 >"$T/n" 2>"$err"
check "$(cat "$T/n") processes at once, none made to fail"
sleep 1
answers >"$out" && after=$(memory) && echo "memory: $before KiB, then $after KiB" >"$err" && [ "$((after - before))" -lt 10240 ]
check "... the daemon's memory stays bounded: $before KiB, then $after KiB"
i=0
until live=$(answers | sed -n 's/^processes *\([0-9]*\) live.*/\1/p') && later=$(memory) && [ "${live:-10000}" -lt 5000 ] && [ "$((later - before))" -lt 4096 ]; do
	i=$((i + 1))
	[ $i -gt 600 ] && break
	sleep 0.1
done
echo "$live are live, $before KiB, then $later KiB" >"$err"
[ $i -le 600 ]
check "... and goes back when they are over, be their ends lost: $live are live, $later KiB"
# Each is known: as a process of the record, or counted in what was lost.
user "$STEMMA" --node sql "SELECT count(DISTINCT pid || ' ' || began) AS n FROM execution WHERE n = 0" >"$out" 2>"$err"
told=$(sed 1d "$out" | tr -d ' ')
lost=$(user "$STEMMA" --node sql "SELECT ifnull(sum(count), 0) AS n FROM gap" 2>>"$err" | sed 1d | tr -d ' ')
[ "$((told + lost))" -ge "$(cat "$T/n")" ]
check "... each is in the record or counted as lost: $told told, $lost lost"

# ---- a million files ----

mkdir "$T/nobody/million" && chown 65534:65534 "$T/nobody/million"
before=$(memory)
user "$LOAD" files "$T/nobody/million" "${NODE_FILES:-1000000}" 2>"$err"
check "${NODE_FILES:-1000000} files made and removed, nobody made to fail"
sleep 2
answers >"$out" && after=$(memory) && echo "memory: $before KiB, then $after KiB" >"$err" && [ "$((after - before))" -lt 16384 ]
check "... the daemon's memory stays bounded: $before KiB, then $after KiB"

# ---- suspended ----

kill -STOP "$daemon"
user timeout 60 "$LOAD" files "$T/nobody/million" 30000 2>"$err"
check "30,000 files while the daemon is suspended: nobody waits for it"
kill -CONT "$daemon"
i=0
until answers >/dev/null 2>&1 || [ $i -gt 200 ]; do
	i=$((i + 1))
	sleep 0.1
done
user "$LOAD" marks "$T/nobody/million" 0.2 >/dev/null
user "$STEMMA" --node sql "SELECT count(*) AS n FROM gap WHERE reason IN ('lost', 'limit')" >"$out" 2>"$err" && [ "$(sed 1d "$out" | tr -d ' ')" -gt 0 ]
check "... what it lost meanwhile it says"
stop TERM

# ---- too much memory, and enough again ----

echo 'max_memory = 1M' >"$T/conf"
start --config "$T/conf" -o max_cpu=1000 -o max_events=10000000
stepped()
{ # WORDS: a step was said since
	i=0
	until tail -n "+$((before + 1))" "$T/daemon" | grep -q "granularity $1"; do
		i=$((i + 1))
		[ $i -gt 1200 ] && return 1
		sleep 0.1
	done
}
before=$(wc -l <"$T/daemon")
stepped "down to processes: the daemon's memory"
check "more memory than it may have: it sees processes only"
echo 'max_memory = 1G' >"$T/conf"
kill -HUP "$daemon"
mkdir "$T/nobody/again" && chown 65534:65534 "$T/nobody/again"
stepped "up to access: quiet" && user "$LOAD" marks "$T/nobody/again" 1 >"$T/truth" && user "$STEMMA" --node sql "SELECT path FROM file WHERE path LIKE '%/nobody/again/mark%'" >"$out" 2>"$err" && [ "$(wc -l <"$out")" -gt 1 ]
check "... with enough again, files too"
stop TERM
finish
