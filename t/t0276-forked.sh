#!/bin/sh
# What a process reads before it forks its child has, and what it reads at once behind the fork its child has not: the kernel tells the
# start of a process by a tick of 10 ms, and the numbers of processes tell the rest. Nor has a child what its parent opened before that tick was over
# written before it was opened.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for name in early late0 late1 late2 late3 late4; do
	echo $name >$name
done
cat >work.py <<'END_PY'
import os, sys
def take(name):
    f = os.open(name, os.O_RDONLY)
    os.read(f, 99)
    os.close(f)
def give(f):
    os.write(f, b'x')
kind, rounds = sys.argv[1], 5
for n in range(rounds):
    out = f'out{n}'
    if kind == 'opened': f = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    if kind == 'read': take('early')
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(w)
        os.read(r, 1) # the end, when the parent has closed it
        if kind == 'opened': take('early')
        else: f = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        give(f)
        os._exit(0)
    os.close(r)
    take(f'late{n}')
    os.close(w)
    os.wait()
END_PY

# sources OPTION...: of each output, whether it came from what was read before, and from what was read behind its own fork
sources()
{
	for n in 0 1 2 3 4; do
		cmd 0 lineage --json "$@" out$n || return
		jq -r --arg work "$T/work/" --arg late late$n '.entities[].path | select(. == ($work + ("early", $late))) | ltrimstr($work)' "$out" | sort | tr '\n' ' ' >>"$T/sources"
		echo >>"$T/sources"
	done
	sort "$T/sources" | uniq -c | tr -s ' ' >"$out"
	rm "$T/sources"
}

if ! [ -r /proc/sys/kernel/ns_last_pid ] || [ "$(cat /proc/sys/kernel/pid_max)" -lt 32768 ]; then
	skip 'the order of forks and reads' 'the kernel does not tell which process number it gave last, or has few of them'
else
	for options in '' --count; do
		# shellcheck disable=SC2086 # none, or one
		cmd 0 run -q $options -- $PYTHON -S work.py read && sources && is "$out" ' 5 early '
		check "all that was read before the fork, and nothing that was read behind it $options"
		sources --certain && is "$out" ' 5 early '
		check "that is certain $options"
		rm out?
		# shellcheck disable=SC2086
		cmd 0 run -q $options -- $PYTHON -S work.py opened && sources --certain && is "$out" ' 5 early '
		check "the child wrote what its parent had opened: from what the child had read $options"
		for n in 0 1 2 3 4; do
			cmd 0 why --json out$n && jq -e --arg work "$T/work/" '.answers[0].inputs | any(.path == $work + "early" and .certainty == "must")' "$out" >/dev/null || break
		done
		check "why names it $options"
		rm out?
	done
fi

finish
