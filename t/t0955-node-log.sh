#!/bin/sh
# What `stemma --node log` lists, in front of a daemon: login shells, scripts of jobs and what starts ranks, each under its user's name,
# and what is started from them; not the processes that answer questions about the node. Needs root, and a kernel that lets it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
daemon=
trap 'kill_child 9 $daemon; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
answers()
{
	"$DAEMON" --stats >"$out" 2>&1
}
start()
{
	# Others on the machine may do so much that it would record less for that alone.
	"$DAEMON" -o "base=$T/base" -o "run=$T/run" -o max_cpu=1000 -o max_events=10000000 -o max_memory=1G -o ring=4M 2>>"$T/daemon" &
	daemon=$!
	i=0
	until answers; do
		i=$((i + 1))
		[ $i -gt 1200 ] || ! kill -0 $daemon 2>/dev/null && return 1
		sleep 0.05
	done
}
as_nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$T/work" "$@"
}
# settled: all that happened before is told, for the daemon has drained several times since.
settled()
{
	sleep 1
}

[ "$(id -u)" = 0 ] || nothing "needs root"
[ -x "$DAEMON" ] || nothing "stemmad was not built"
setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$STEMMA" || nothing "the build folder is not for other users to read"
command -v su >/dev/null && [ -x /bin/bash ] || nothing "there is no su, or no bash"
# What starts jobs, as the batch system's daemon does: as root, for the user, by another process.
cat >"$T/for_user.c" <<'END'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	if (fork() == 0) {
		if (setgid(65534) == 0 && setuid(65534) == 0)
			execv(argv[1], argv + 1);
		_exit(127);
	}
	wait(NULL);
	return 0;
}
END
mkdir "$T/bin"
${CC:-cc} -o "$T/bin/slurmstepd" "$T/for_user.c" 2>"$err" || nothing "there is no C compiler"
chmod 711 "$T"
chown 65534:65534 "$T/work"
mkdir -m 755 "$T/run"
export STEMMA_NODE_SOCKET="$T/run/socket"
cp /bin/bash "$T/bin/srun"
chmod -R a+rX "$T/bin"
cat >"$T/work/job.sh" <<END
#!/bin/bash
$T/bin/srun -c 'cat in >ranks; true'
wc -l in >counted
END
chmod 755 "$T/work/job.sh"
echo hello >"$T/work/in"
start || nothing "stemmad cannot trace here: $(tail -n 1 "$T/daemon")"

printf 'cd %s\nsort in >sorted\nexit\n' "$T/work" | su -s /bin/bash -l nobody >"$out" 2>&1
su -s /bin/bash -l nobody -c "cd $T/work; head in >heads; true" >>"$out" 2>&1
"$T/bin/slurmstepd" "$T/work/job.sh" >>"$out" 2>&1
settled
as_nobody "STEMMA_NODE_SOCKET=$STEMMA_NODE_SOCKET" "$STEMMA" --node log --json >"$T/log" 2>"$err"
check "a user asks for the log"
commands()
{ # the commands of the log, a line each
	$PYTHON -c 'import json, sys
for r in json.load(open(sys.argv[1]))["runs"]:
    print(r.get("user"), " ".join(r.get("command") or r.get("argv") or []))' "$1"
}
commands "$T/log" >"$T/commands" 2>>"$err"
cp "$T/commands" "$out"
grep -qx 'nobody -bash' "$T/commands"
check "the login shell of su - is there, under the user's name"
grep -q '^nobody -bash -c cd ' "$T/commands"
check "... and one with a command"
grep -qx 'nobody .*job\.sh' "$T/commands"
check "the script of a job is there"
grep -q '^nobody .*srun -c cat in' "$T/commands"
check "srun is there"
[ "$(grep -cx -e 'nobody sort in' -e 'nobody head in' -e 'nobody cat in' -e 'nobody wc -l in' "$T/commands")" = 4 ]
check "what was started from each of them is a run of its own"
"$STEMMA" --node log --all --json >"$T/log" 2>"$err" && commands "$T/log" >"$out" 2>>"$err" && says "$out" 'nobody -bash' && ! grep -e '--answer' "$out" >>"$err"
check "who may see all sees no process that answered"
# A login shell that was there when the daemon came again: what is started from it is still a run of its own.
mkfifo "$T/say"
su -s /bin/bash -l nobody <"$T/say" >"$T/said" 2>&1 &
shell=$!
exec 9>"$T/say"
echo "cd $T/work; echo ready" >&9
i=0
until grep -q ready "$T/said" || [ $i -gt 600 ]; do
	i=$((i + 1))
	sleep 0.05
done
settled
kill_child TERM $daemon
wait $daemon 2>/dev/null
start 9>&-
echo "tail in >tailed; true" >&9
exec 9>&-
wait $shell 2>/dev/null
settled
as_nobody "STEMMA_NODE_SOCKET=$STEMMA_NODE_SOCKET" "$STEMMA" --node log --json >"$T/log" 2>"$err" && commands "$T/log" >"$out" && grep -qx 'nobody tail in' "$out"
check "... after the daemon was started again, too"
finish
