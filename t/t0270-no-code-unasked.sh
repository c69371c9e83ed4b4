#!/bin/sh
# Who opens few files is given no code, whatever the run leaves possible: counting is a wish (--count), and never done unasked
# (doc/decisions/counting-unasked.md). A program with code of the recorder's has memory that it may execute and that is no file's.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# code FILE: how many such mappings are in these lines of /proc/PID/maps. The kernel's own bear a name in brackets.
code()
{
	awk 'NF == 5 && $2 ~ /x/ { n++ } END { print n + 0 }' "$1"
}

# Pipes with two writers, a FIFO and descriptors that are handed on, all of which stay possible; and many short programs.
cat >many.sh <<'EOF'
exec 3>>inherited
{ cat /proc/self/maps & cat /proc/self/maps & wait; } | cat >>maps
mkfifo fifo
cat /proc/self/maps >fifo &
cat fifo >>maps
wait
cat >>maps <<IN
$(cat /proc/self/maps)
IN
i=0
while [ $i -lt 200 ]; do
	cat /proc/self/maps >>maps
	i=$((i + 1))
done
EOF
cmd 0 run -q -- sh many.sh
check "pipes with two writers, a FIFO, 200 short programs"
[ "$(grep -c '\[stack\]' maps)" -ge 204 ]
check "204 programs have told of their memory"
[ "$(code maps)" -eq 0 ]
check "none of them has code of the recorder's"

# The same question has another answer where counting is asked for: else it would be none.
rm -f maps
if [ "$(uname -m)" = x86_64 ] && "$STEMMA" doctor 2>/dev/null | grep -q 'user notification *ok'; then
	cmd 0 run -q --count -- sh -c 'cat /proc/self/maps >>maps; cat /proc/self/maps >>maps'
	[ "$(code maps)" -ge 1 ]
	check "with --count they have"
else
	count=$((count + 1))
	echo "ok $count # SKIP code is put into programs on x86-64 and under user notification only"
fi

finish
