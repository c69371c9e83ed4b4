#!/bin/sh
# A recorder that is long at its last work, or is killed while it ends the command: the command's result and what is said stay true.
# And storms of processes that are held to a limit, again and again.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export STEMMA_HOME="$T/record"
cd "$T" || exit 1
cp "$PROGS/p-limit" .
P=$T/p-limit
export P_LIMIT_TRUTH="$T/truth"
head -c 48 /dev/zero >truth

# slowly COMMAND...: run by a recorder whose worker burns 3 s of processor time before it sums up. Two seconds are the keeper's patience
# with a file system that does not answer.
slowly()
{
	rm -f used.json
	SLOW_END=3 LD_PRELOAD=$PROGS/slow-end.so "$STEMMA" run --summary used.json $OPTIONS -- env -u LD_PRELOAD "$@" >out 2>err </dev/null
	status=$?
}

if [ "$(LD_PRELOAD=$PROGS/slow-end.so "$STEMMA" --version 2>&1)" = "$("$STEMMA" --version)" ]; then
	OPTIONS=
	slowly sh -c 'echo on; exit 3'
	[ $status = 3 ] && [ "$(cat out)" = on ] && [ ! -s err ] && grep -q '"exit_status": *3' used.json
	result $? "a worker that works is waited for" err
	OPTIONS="--limit processes=20 --grace 0"
	slowly "$P" forks 200
	[ $status = 124 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^stemma: the command was stopped: processes reached ' err &&
		grep -q '"exit_type": *"limit"' used.json
	result $? "and so is one that has ended the command" err
else
	skip_ "a worker that is long at its last work" "nothing can be preloaded into this build"
fi

# The worker is the command's parent; its limits were exceeded before it was killed.
cat >last.sh <<'END'
trap 'kill -9 $PPID; echo termed; exit 5' TERM
while :; do sleep 0.05; done
END
"$STEMMA" run --limit wall=0.3 --grace 30s --summary used.json -- sh last.sh >out 2>err
status=$?
echo "status $status" >>err
[ $status = 124 ] && [ "$(cat out)" = termed ] && grep -q '^stemma: the command was stopped: wall reached ' err &&
	grep -q 'stemma enforced no limits' err && grep -q '"exit_type": *"limit"' used.json
result $? "a recorder that is killed after it has ended the command" err

storms=${SLOW:+100}
bad=0
: >why
for seed in $(seq "${storms:-4}"); do
	case $((seed % 4)) in
	0) how="processes=60 --capture=tree" ;;
	1) how="processes=20" ;;
	2) how="processes=60 --grace 0.3s --orphans=kill" ;;
	3) how="threads=40 --grace 0" ;;
	esac
	head -c 48 /dev/zero >truth
	# shellcheck disable=SC2086
	"$STEMMA" run --limit $how -- "$P" bomb $((100 + seed * 37 % 200)) >out 2>err </dev/null
	status=$?
	[ $status = 124 ] && ! grep -qv '^stemma: the command was stopped: ' err && continue
	bad=1
	{
		echo "storm $seed ($how): status $status"
		cat err
	} >>why
done
result $bad "${storms:-4} storms" why
finish
