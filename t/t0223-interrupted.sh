#!/bin/sh
# Signals that come while a call is stopped: what the program gets from it is what it gets without a recorder.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export STEMMA_HOME="$T/home"

# steady NAME TIMES COMMAND: the shell command, recorded so often, says nothing and succeeds. dash, Debian's sh, has a handler for
# SIGCHLD without SA_RESTART: a fork of its own that is interrupted by a child's death is an error to it.
steady()
{
	if ! command -v dash >/dev/null; then
		skip_ "$1" "no dash here"
		return
	fi
	: >"$T/why"
	for i in $(seq "$2"); do
		timeout 60 "$STEMMA" run ${MODE:-} -- dash -c "$3" >>"$T/why" 2>&1 || echo "run $i: status $?" >>"$T/why"
	done
	[ ! -s "$T/why" ]
	result $? "$1" "$T/why"
}

for MODE in "" "-c tree"; do
	steady "children die while others are forked ${MODE:+($MODE)}" 20 \
		'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true & done; wait'
	steady "a long pipeline ${MODE:+($MODE)}" 20 'true | true | true | true | true | true | true | cat'
	steady "many pipelines ${MODE:+($MODE)}" 1 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); true | true | true | cat; done'
done

# Stopped, and continued by somebody who knows nothing of stemma: so is what stands before it.
for MODE in "" --count --capture=safe --transport=trace; do
	rm -f "$T/number"
	# shellcheck disable=SC2086,SC2016 # none or one word
	timeout -k 1 60 "$STEMMA" run $MODE -- sh -c 'echo $$ >"$1"; kill -STOP $$; exit 3' - "$T/number" >"$T/why" 2>&1 &
	p=$!
	i=0
	while ! grep -q '^State:.*[Tt]' "/proc/$(cat "$T/number" 2>/dev/null)/status" 2>/dev/null && [ $i -lt 1000 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	# What looks stopped may be so for a moment, by the recorder, before it stops itself.
	while kill -CONT "$(cat "$T/number")" 2>/dev/null && [ $i -lt 2000 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	wait $p
	[ $? = 3 ]
	result $? "stopped and continued ${MODE:+($MODE)}" "$T/why"
done

# Programs whose handlers lack SA_RESTART. Where a result cannot be repaired, on other architectures, calls may be interrupted.
if [ "$(uname -m)" = x86_64 ]; then
	program p-signal
	# Shells whose open and chdir do not try again.
	steady "a shell that opens and changes its directory" 3 \
		"cd $T; mkdir -p sub; i=0; while [ \$i -lt 200 ]; do i=\$((i+1)); /bin/true & cd sub; cd ..; echo \$i >f; done; wait"
else
	skip_ "p-signal" "only on x86-64"
fi

finish
