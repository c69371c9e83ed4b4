#!/bin/sh
# Where make keeps its tokens is no data, in each of the three ways in which it tells of it; any other pipe that a program was handed may be.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkfifo tokens && echo secret >secret && echo in >in
# As make: a pipe, or a named one, and two jobs one after the other that are handed it.
cat >make.py <<'END_PY'
import os, subprocess, sys
how = sys.argv[1]
a, b = (os.open('tokens', os.O_RDWR), -1) if how == 'fifo' else os.pipe()
said = {'fifo': ' -j2 --jobserver-auth=fifo:%s/tokens' % os.getcwd(), 'auth': ' -j2 --jobserver-auth=%d,%d -- A=1' % (a, b),
        'fds': '-j --jobserver-fds=%d,%d' % (a, b), 'nothing': ' -j2'}[how]
for job in (['cp', 'secret', 'one'], ['cp', 'in', 'two']):
    subprocess.run(job, env=dict(os.environ, MAKEFLAGS=said), pass_fds=[fd for fd in (a, b) if fd >= 0], check=True)
END_PY
for how in '' --capture=safe; do
	for form in fifo auth fds nothing; do
		via=sync
		[ $form != nothing ] || via=descriptor
		# A pipe that carried nothing is no input, which --capture=safe cannot tell.
		wants=0
		[ $form != nothing ] || [ -n "$how" ] || wants=1
		# shellcheck disable=SC2086 # options
		cmd 0 run $how -- $PYTHON -B -S -E make.py $form && cmd 0 lineage --all two && { grep -qE "^   ├─ \\? (fifo tokens|pipe) .* via $via\$" "$out"; [ $? = $wants ]; } &&
			{ [ $via != sync ] || { cmd 0 lineage two && says "$out" 'in@{1}' && says_not "$out" secret && says_not "$out" stream; }; }
		check "make says $form${how:+, $how}"
	done
done

# Most jobs are told of the pipe and not handed it: what they have at these numbers is their own.
if command -v make >/dev/null; then
	printf 'all: three four\nthree: in\n\tx=`cat in`; echo $$x >three\nfour: three\n\twhile read l; do echo $$l; done <three | cat >four\n' >Makefile
	for how in '' --exact --capture=safe; do
		rm -f three four
		# shellcheck disable=SC2086 # options
		cmd 0 run $how -- make -s -j2 && cmd 0 lineage three && says "$out" 'in@{1}' && cmd 0 lineage four && says "$out" 'in@{1}'
		check "a job of make that is not handed it has a pipe of its own at its number${how:+, $how}"
	done
else
	skip "a job of make with a pipe of its own" "there is no make"
fi
finish
