# shellcheck shell=sh
# daemon.sh - the frame of the tests of the daemon with a false tracer, which is told through a FIFO what has happened, so
# that no privilege is needed; several users need root. Sourced after lib.sh by t/t092*.sh and t/t095*.sh.
#
#   start OPTION...            a daemon of its own below $T, in $daemon; what it says is in $T/daemon
#   stop SIGNAL
#   happens                    what its tracer tells, on standard input (tests/trace_text.h); login UID, program UID PID
#                              NAME FILE INO make such lines
#   ask UID STATUS ARG...      stemma --node ARG..., asked by that user, ends so
#   wait_for COMMAND...        until it holds, a minute at most
#   is_root                    whether there can be several users

DAEMON=${STEMMAD_FAKE:-$BUILD/tests/stemmad-fake}
[ -x "$DAEMON" ] || { echo "Bail out! no stemmad-fake at $DAEMON"; exit 1; }
if [ "${#T}" -gt 90 ]; then
	echo "1..0 # SKIP the name of a socket in $T would be too long"
	exit 0
fi
chmod 755 "$T" "$T/home" "$T/work"
mkfifo "$T/fifo"
export STEMMA_FAKE_TRACER="$T/fifo" STEMMA_NODE_SOCKET="$T/run/socket"
export XDG_RUNTIME_DIR="$T/xdg" && mkdir -m 700 "$T/xdg"
daemon=
trap 'kill_child 9 $daemon; [ -z "$daemon" ] || wait "$daemon" 2>/dev/null; umount "$T/small" 2>/dev/null; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
me=$(id -u)

wait_for()
{ # COMMAND...: until it holds, a minute at most
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -gt 1200 ] && { echo "waited in vain for: $*" >>"$err"; return 1; }
		sleep 0.05
	done
}
answers()
{
	"$DAEMON" --stats
}
start()
{ # OPTION...
	# A sanitizer takes more memory than the daemon may have: less would be recorded for that alone.
	"$DAEMON" -o "base=$T/base" -o "run=$T/run" -o max_memory=1G "$@" 2>>"$T/daemon" &
	daemon=$!
	wait_for answers
}
stop()
{ # SIGNAL
	kill "-$1" "$daemon" && wait "$daemon" 2>/dev/null
	daemon=
	return 0
}
happens()
{
	cat >"$T/fifo"
}
login()
{ # UID
	cat <<END
alive t=0 pid=50 ppid=1 exe=/usr/sbin/sshd argv=sshd uid=0 ino=2
alive t=0 pid=$((100 + $1 % 100)) ppid=50 exe=/bin/bash argv=-bash uid=$1 ino=3 cwd=/h
END
}
program()
{ # UID PID NAME FILE INO
	cat <<END
fork t=10 pid=$2 ppid=$((100 + $1 % 100)) uid=$1
exec t=12 pid=$2 uid=$1 exe=/bin/$3 ino=$((4000 + $2)) argv=$3 cwd=/h nexec=1
file lo=13 hi=15 pid=$2 uid=$1 ops=create,open,closew path=$4 ino=$5 size=9 mtime=14 nexec=1
exit t=16 pid=$2 uid=$1 status=0
END
}
ask()
{ # UID STATUS ARG...
	who=$1
	want=$2
	shift 2
	if [ "$who" = "$me" ]; then
		"$STEMMA" --node "$@" >"$out" 2>"$err" </dev/null
	else
		setpriv --reuid "$who" --regid "$who" --clear-groups "$STEMMA" --node "$@" >"$out" 2>"$err" </dev/null
	fi
	got=$?
	[ $got = "$want" ] && return 0
	echo "status $got, not $want, of: stemma --node $*" >>"$err"
	return 1
}
is_root()
{
	[ "$me" = 0 ]
}
