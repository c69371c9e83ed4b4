#!/bin/sh
# The disk of the node's record, with a user who fills it: shares, rates, the room that stays free, and what is written
# down of what was not kept or was removed. The tracer is a false one. Several users need root.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/daemon.sh
. "$here/t/daemon.sh"

if ! is_root; then
	echo "1..0 # SKIP needs root to be several users"
	exit 0
fi
chmod 711 "$T/home"
busy=1000 idle=1001
old()
{ # UID DAY KIB: a folder of that day, of so many KiB, that nobody writes to
	mkdir -p "$T/base/users/$1/logs/$(hostname)/$2"
	head -c $(($3 * 1024)) /dev/zero >"$T/base/users/$1/logs/$(hostname)/$2/old.stl"
}
days()
{ # UID: the old ones that are there
	(cd "$T/base/users/$1/logs/$(hostname)" && find . -name old.stl | sort | sed 's|^\./\([^/]*\)/.*|\1|' | tr '\n' ' ')
}
flood()
{ # UID FIRST N: so many files made by that user's shell
	awk -v uid="$1" -v from="$2" -v n="$3" -v pid=$((100 + $1 % 100)) 'BEGIN {
		for (i = from; i < from + n; i++) printf "file lo=%d hi=%d pid=%d uid=%d ops=create,open,closew path=/flood/of/files/with/a/long/name/%d-%d-%d ino=%d size=9 mtime=%d nexec=1\n", 1000 + i, 1000 + i, pid, uid, i * 7919 % 65521, i * 104729 % 65519, i, 100000 + i, 1000 + i }' | happens
}

# ---- shares ----

day=$(date -u +%Y-%m)
today=$(date -u +%Y-%m-%d)
for n in 1 2 3 4 5 6; do
	old $busy "$(date -u -d "$today - $((7 - n)) days" +%Y-%m-%d)" 500
done
for n in 1 2 3; do
	old $idle "$(date -u -d "$today - $((20 - n)) days" +%Y-%m-%d)" 500
done
head -c 600000 /dev/zero >"$T/index"
mkdir -p -m 700 "$T/base/users/$busy/index" && cp "$T/index" "$T/base/users/$busy/index/index.db"
before=$(find "$T/base/users/$idle" -type f -exec sha256sum {} + | sort)
start -o max_size=8M -o user_size=2M
kept=$(days $busy)
[ "$(find "$T/base/users/$idle" -name old.stl -exec sha256sum {} + | sort)" = "$before" ] && [ "$(echo "$kept" | wc -w)" -lt 4 ] && [ "$(echo "$kept" | wc -w)" -ge 2 ] &&
	[ "${kept##* "$(date -u -d "$today - 1 days" +%Y-%m-%d)" }" = "" ] && [ ! -e "$T/base/users/$busy/index/index.db" ]
check "above the share the oldest of that user go, the index counted; another's older ones stay"
rm -f "$T/base/users/$busy/logs/$(hostname)/"*/old.stl
ask $busy 0 sql "SELECT text FROM gap WHERE reason = 'limit' ORDER BY began" && says "$out" "($(date -u -d "$today - 6 days" +%Y-%m-%d)) were removed: this user's share" && lines "$out" $((6 - $(echo "$kept" | wc -w) + $(head -n 1 "$out" | grep -c '^text$\|^TEXT$')))
check "... each that went is a gap of that user"
stop TERM
# All together: who has most loses, though everybody is below the largest share.
rm -rf "$T/base"
for n in 1 2 3 4 5 6; do
	old $busy "$(date -u -d "$today - $((7 - n)) days" +%Y-%m-%d)" 500
	old 1002 "$(date -u -d "$today - $((7 - n)) days" +%Y-%m-%d)" 500
done
old $idle "$(date -u -d "$today - 40 days" +%Y-%m-%d)" 900
start -o max_size=4M -o user_size=4M
[ "$(days $idle)" = "$(date -u -d "$today - 40 days" +%Y-%m-%d) " ] && [ "$(days $busy | wc -w)" -lt 6 ] && [ "$(days 1002 | wc -w)" -lt 6 ] && [ "$(days $busy | wc -w)" -ge 2 ]
check "above the limit of all, those lose who have most; a quiet user's oldest log stays"
stop TERM

# ---- a rate ----

rm -rf "$T/base"
start -o max_size=40M -o user_size=2M
{ login $busy; login $idle; } | happens
held()
{
	grep -q "log of user $busy: recording pauses for .* KiB a second" "$T/daemon"
}
n=0 made=0
while [ $n -lt 30 ] && ! held; do
	flood $busy $((n * 4000)) 4000
	program $idle $((3000 + n)) "idle$n" "/h/idle$n" $((5000 + n)) | happens
	made=$((made + 4000))
	n=$((n + 1))
	sleep 0.3
done
flood $busy $((n * 4000)) 4000
made=$((made + 4000))
held
check "who writes faster than the share may fill is held, and the journal names the user"
ask $idle 0 log && told=0 && i=0
while [ $i -lt $n ]; do
	ask $idle 0 why "/h/idle$i" && says "$out" "made by idle$i" && told=$((told + 1))
	i=$((i + 1))
done
[ $told = $n ] && ! grep -q "user $idle" "$T/daemon" && ask $idle 0 sql 'SELECT text FROM gap' && lines "$out" "$(grep -c '^text$\|^TEXT$' "$out")"
check "... all of another user's programs of that time are there, and no gap"
ask $busy 0 sql "SELECT 'count ' || sum(count) FROM gap WHERE reason = 'limit'"
lost=$(sed -n 's/^count //p' "$out")
ask $busy 0 sql "SELECT 'files ' || count(DISTINCT path) FROM file WHERE path LIKE '/flood/%'"
kept=$(sed -n 's/^files //p' "$out")
echo "made $made, kept $kept, events lost $lost" >>"$err"
[ "${kept:-0}" -gt 0 ] && [ "${lost:-0}" -gt 0 ] && [ $((kept + lost)) -ge $made ] && [ "$(du -sk "$T/base/users/$busy/logs" | cut -f 1)" -lt 2048 ]
check "... what is not kept of the one is counted in gaps, at once, and the logs are below the share"
back()
{
	program $busy 4000 back /h/back 6000 | happens
	ask $busy 0 why /h/back && says "$out" 'made by back'
}
wait_for back
check "... and is recorded again later"
stop TERM

# ---- too many events ----

rm -rf "$T/base" "$T/fifo.set"
: >"$T/daemon"
start -o max_events=200
{ login $busy; login $idle; } | happens
passed()
{
	grep -q "files of user $busy are not recorded for now" "$T/daemon"
}
n=0
while [ $n -lt 60 ] && ! passed; do
	flood $busy $((n * 3000)) 3000
	sleep 0.4
	n=$((n + 1))
done
passed && grep -q "^pass 0 $busy 1$" "$T/fifo.set" && ! grep -q 'granularity down' "$T/daemon"
check "one user's events are too many: of that one openings and closes are not recorded, and of the others as before"
flood $busy 500000 3000
program $idle 5000 spared /h/spared 7000 | happens
ask $idle 0 why /h/spared && says "$out" 'made by spared' && ask $idle 0 sql 'SELECT text FROM gap' && lines "$out" "$(grep -c '^text$\|^TEXT$' "$out")"
check "... another's record has no gap"
ask $busy 0 sql "SELECT 'enough ' || (sum(count) >= 3000) FROM gap WHERE text LIKE '%opens and closes%'" && says "$out" 'enough 1'
check "... the one's has it, with the number, at once"
stop TERM

# ---- the floor, a full disk ----

if ! { mkdir "$T/small" && mount -t tmpfs -o size=64m tmpfs "$T/small" 2>/dev/null; }; then
	for what in floor count full again; do
		skip "the floor of the disk: $what" "needs a file system of its own"
	done
	finish
	exit
fi
small()
{ # OPTION...
	"$DAEMON" -o "base=$T/small/base" -o "run=$T/run" -o max_memory=1G "$@" 2>>"$T/daemon" &
	daemon=$!
	wait_for answers
}
left()
{
	df --output=avail "$T/small" | tail -n 1
}
small
{ login $busy; login $idle; program $idle 200 first /h/first 20; } | happens
ask $idle 0 why /h/first
# The answer's process may write the index to its end after the answer.
was=
until [ "$(left)" = "$was" ]; do
	was=$(left)
	sleep 0.5
done
: >"$T/daemon"
dd if=/dev/zero of="$T/small/fill" bs=1k count=$(($(left) - 700)) 2>/dev/null
noticed()
{ # it looks at the disk each second
	program $idle 210 unseen /h/unseen 21 | happens
	grep -q 'less than .min_free. is free' "$T/daemon"
}
wait_for noticed
before=$(left)
flood $busy 0 20000
program $idle 211 unseen2 /h/unseen2 26 | happens
sleep 1.5
[ "$(left)" -ge $((before - 16)) ] && says "$T/daemon" 'less than `min_free` is free'
check "below the floor of the disk nothing is written, and the journal says so: $(left) KiB are left"
rm "$T/small/fill"
there()
{
	program $idle 220 later /h/later 22 | happens
	ask $idle 0 why /h/later && says "$out" 'made by later'
}
wait_for there
ask $idle 0 sql "SELECT 'gap ' || count || ' ' || text FROM gap WHERE reason = 'lost'" && says "$out" ' not recorded: the disk' && ! says "$out" 'gap 0 '
check "... what was not kept is a gap with its number, when there is room again"
stop TERM
dd if=/dev/zero of="$T/small/fill" bs=1k 2>/dev/null
{ # until nothing at all can be written
	while echo "$T" >"$T/small/f$$" 2>/dev/null && [ -s "$T/small/f$$" ]; do
		cat "$T/small/f$$" >>"$T/small/fill" 2>/dev/null || break
	done
	dd if=/dev/zero bs=64 count=64 >>"$T/small/fill" 2>/dev/null
} 2>/dev/null
"$DAEMON" -o "base=$T/small/base" -o "run=$T/run" -o max_memory=1G 2>>"$T/daemon" &
daemon=$!
wait_for answers
up=$?
{ login $busy; login $idle; program $idle 230 full /h/full 23; } | happens
sleep 2
[ $up = 0 ] && kill -0 "$daemon"
check "a disk that is full when it starts: it runs"
rm -f "$T/small/fill" "$T/small/f$$"
wait_for there
# The gap begins when the daemon before ended, at the latest when this one began.
ask $idle 0 sql "SELECT 'gap' FROM gap WHERE reason IN ('lost', 'recorder_died') AND began <= (SELECT min(g.began) FROM gap g WHERE g.text LIKE '%disk%' OR g.text LIKE '%could not be written%')" && says "$out" gap
check "... and leaves a gap of that time"
stop TERM
umount "$T/small"
finish
