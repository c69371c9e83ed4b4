# shellcheck shell=sh
# kill.sh - signals that meet nobody else (sourced by t/lib.sh and tests/prog/lib.sh). Numbers of processes come round every
# 32,768 processes, and a full run of the tests has many times as many.
#
#   kill_child SIGNAL PID...   to those of the processes that are children of this shell. Who was waited for is none; not even
#                              the shell says when that was, since it waits for all children whenever it waits for one.

kill_child()
{
	kill_signal=$1
	shift
	for kill_pid; do
		kill_stat=$(cat "/proc/$kill_pid/stat" 2>/dev/null)
		kill_stat=${kill_stat##*) }
		kill_stat=${kill_stat#? }
		[ "${kill_stat%% *}" != $$ ] || kill "-$kill_signal" "$kill_pid" 2>/dev/null
	done
}
