#!/bin/sh
# stemma watch goes on where a look fails, and where the user has no instance of inotify left.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

until_in() # FILE WORDS: for half a minute at most
{
	n=0
	while ! grep -q -- "$2" "$1" 2>/dev/null && [ $n -lt 600 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	cp "$1" "$out" 2>/dev/null
	grep -q -- "$2" "$1"
}

echo 1 >in.txt
cmd 0 run -- cat in.txt
cmd 1 find 'from in.txt'
: >"$T/told.err"
"$STEMMA" watch 'from in.txt' >"$T/told" 2>"$T/told.err" &
watcher=$!
until_in "$T/told.err" 'watching'
# Something stands where the index was, so it can neither be read nor made.
rm -f "$STEMMA_HOME"/index.db*
mkdir "$STEMMA_HOME/index.db"
cmd 0 run -- sh -c 'cat in.txt >a.txt'
sleep 0.5
kill -0 $watcher
check 'a look that fails does not end it'
rmdir "$STEMMA_HOME/index.db"
cmd 0 run -- sh -c 'cat in.txt >b.txt'
until_in "$T/told" 'b.txt@{1}' && [ "$(grep -c 'a.txt@{1}  by cat in.txt' "$T/told")" = 1 ]
check 'and what was not told of then is told of later, once'
kill -INT $watcher
wait $watcher
check 'SIGINT ends it with 0'

limit='echo 0 >/proc/sys/user/max_inotify_instances'
if unshare -Ur sh -c "$limit" 2>"$err"; then
	: >"$T/none.err"
	# shellcheck disable=SC2016 # by the shell inside
	unshare -Ur sh -c "$limit"' && exec "$0" watch -n 1 "from in.txt"' "$STEMMA" >"$T/none" 2>"$T/none.err" &
	watcher=$!
	until_in "$T/none.err" 'watching'
	cmd 0 run -- sh -c 'cat in.txt >c.txt'
	until_in "$T/none" 'c.txt@{1}' && wait $watcher
	check 'without inotify it looks by itself'
else
	count=$((count + 1))
	echo "ok $count - without inotify it looks by itself # SKIP no user namespace can be made here"
fi
finish
