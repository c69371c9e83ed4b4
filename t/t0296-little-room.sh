#!/bin/sh
# Little room for processes (ulimit -u, pids.max): the command can start as many as without stemma. Limits that a process
# inherits are the command's, unchanged.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
# Forks until it cannot, 60 at most, and says how many that were; and the limit that it has.
cat >forks.py <<'END'
import os, resource, signal
n = []
while len(n) < 60:
    try:
        pid = os.fork()
    except BlockingIOError:
        break
    if pid == 0:
        signal.pause()
        os._exit(0)
    n.append(pid)
for pid in n:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(len(n), resource.getrlimit(resource.RLIMIT_NPROC))
END
# as.py UID LIMIT COMMAND...: as that user, with so many processes.
cat >as.py <<'END'
import os, resource, sys
uid, limit = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
os.execvp(sys.argv[3], sys.argv[3:])
END
if [ "$(id -u)" = 0 ]; then
	# A user that nobody else is.
	uid=$((200000 + $$ % 50000))
	mkdir home
	chown $uid home
	chmod 755 "$T"
	STEMMA_HOME=$T/home
	export STEMMA_HOME
	kept=${HOME:-}
	HOME=$T/home # for the configuration
	bad=0
	: >why
	for limit in 3 4 5 6 7 8 9 10 11 12 20 32; do
		$PYTHON as.py $uid $limit $PYTHON -S forks.py >want
		$PYTHON as.py $uid $limit "$STEMMA" run -- $PYTHON -S forks.py >got 2>err
		status=$?
		[ $status = 0 ] && cmp -s want got &&
			[ "$(cat err)" = "stemma: only the run itself is recorded: the user may start only $((limit - 1)) more processes (ulimit -u), which the command may need" ] && continue
		bad=1
		echo "limit $limit: status $status, $(cat got) and not $(cat want): $(cat err)" >>why
	done
	result $bad "ulimit -u from 3 to 32: as many processes as without" why
	$PYTHON as.py $uid 3 $PYTHON -S forks.py >want
	[ "$(cat want)" = "2 (3, 3)" ]
	result $? "(the limit holds here)" want
	$PYTHON as.py $uid 32 "$STEMMA" log >out 2>err
	grep -q 'forks.py' out
	result $? "the record names the run" out
	$PYTHON as.py $uid 32 "$STEMMA" show @ >out 2>err
	grep -q 'capture=the user may start only 31 more' out
	result $? "and says why nothing follows" out
	$PYTHON as.py $uid 100 "$STEMMA" run -- $PYTHON -S forks.py >got 2>err
	[ "$(cat got)" = "60 (100, 100)" ] && [ ! -s err ] && $PYTHON as.py $uid 100 "$STEMMA" show @ | grep -q 'forks.py' &&
		! $PYTHON as.py $uid 100 "$STEMMA" show @ | grep -q 'capture='
	result $? "with room for 100 it is recorded" err
	unset STEMMA_HOME
	HOME=$kept
	# A job's control group.
	group=
	for c in /sys/fs/cgroup/pids /sys/fs/cgroup; do
		own=$(sed -n 's/^[0-9]*:pids:\(.*\)/\1/p' /proc/self/cgroup)
		[ -e "$c${own:-/}/cgroup.procs" ] && mkdir "$c${own:-/}/t0296-$$" 2>/dev/null || continue
		[ -w "$c${own:-/}/t0296-$$/pids.max" ] && group=$c${own:-/}/t0296-$$ && break
		rmdir "$c${own:-/}/t0296-$$"
	done
	if [ -n "$group" ]; then
		bad=0
		: >why
		for limit in 4 8 12 30; do
			echo $limit >"$group/pids.max"
			# shellcheck disable=SC2016
			sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" $PYTHON -S forks.py >want
			# shellcheck disable=SC2016
			STEMMA_HOME=$T/group sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" "$STEMMA" run -- $PYTHON -S forks.py >got 2>err
			status=$?
			[ $status = 0 ] && cmp -s want got && grep -q "^stemma: only the run itself is recorded: only $((limit - 1)) more .*pids.max" err && continue
			bad=1
			echo "limit $limit: status $status, $(cat got) and not $(cat want): $(cat err)" >>why
		done
		result $bad "pids.max from 4 to 30: as many processes as without" why
		rmdir "$group"
	else
		skip_ "pids.max" "no control group for processes can be made here"
	fi
else
	skip_ "ulimit -u" "other processes of this user come and go"
fi

# What the command inherits, and what it may do with it.
for limits in '-n 40' '-t 7' '-f 5000' '-v 4000000' '-c 0' '-St 3' '-Sn 50' '-Sf 100'; do
	(ulimit $limits && exec sh -c 'ulimit -Sa; ulimit -Ha') >want
	(ulimit $limits && STEMMA_HOME=$T/limits exec "$STEMMA" run -- sh -c 'ulimit -Sa; ulimit -Ha') >got 2>err
	[ -s want ] && cmp -s want got
	result $? "ulimit $limits is the command's" err
done
finish
