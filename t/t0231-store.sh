#!/bin/sh
# A record that cannot be kept harms the record, not the command; and nothing already recorded.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

for place in /proc/nowhere "$T/file/x" /dev/null/x; do
	: >"$T/file"
	out=$(STEMMA_HOME=$place "$STEMMA" run -- sh -c 'echo out; exit 7' 2>"$T/err")
	echo "$? $out" >"$T/got"
	# 125: stemma's own failure, and then the command has not been started.
	grep -q -e '^7 out$' -e '^125 $' "$T/got" && [ -s "$T/err" ]
	result $? "a store at ${place##*/} that cannot be made" "$T/got"
done

# Only this user may look into a record.
(umask 0 && STEMMA_HOME=$T/private "$STEMMA" run -- true)
find "$T/private" -perm /077 >"$T/why"
[ ! -s "$T/why" ]
result $? "a record is private, whatever the umask" "$T/why"
(umask 0777 && STEMMA_HOME=$T/strict "$STEMMA" run -- true && STEMMA_HOME=$T/strict "$STEMMA" run -- true) 2>"$T/why"
[ ! -s "$T/why" ] && events "$T/strict" "$T/events" && [ "$(grep -c '"k":"session_end"' "$T/events")" = 2 ]
result $? "a umask that takes all rights away" "$T/why"

# A store that was written, and cannot be now.
STEMMA_HOME=$T/ro "$STEMMA" run -- true
events "$T/ro" "$T/events"
was=$(wc -l <"$T/events")
if [ "$(id -u)" != 0 ]; then
	chmod -R a-w "$T/ro"
	out=$(STEMMA_HOME=$T/ro "$STEMMA" run -- sh -c 'echo out; exit 7' 2>"$T/err")
	echo "$? $out" >"$T/got"
	chmod -R u+w "$T/ro"
	events "$T/ro" "$T/events"
	[ "$(cat "$T/got")" = "7 out" ] && [ -s "$T/err" ] && [ "$(wc -l <"$T/events")" = "$was" ]
	result $? "a store that is read-only" "$T/got"
elif unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && STEMMA_HOME=$1 "$2" run -- sh -c "echo out; exit 7"' \
		- "$T/ro" "$STEMMA" >"$T/got" 2>"$T/err"
	echo "$?" >>"$T/got"
	events "$T/ro" "$T/events"
	[ "$(paste -sd, "$T/got")" = "out,7" ] && [ -s "$T/err" ] && [ "$(wc -l <"$T/events")" = "$was" ]
	result $? "a store on a file system that is read-only" "$T/got"

	# A disk that is full from the start, and one that fills up. The record holds what had room, and can be read.
	for size in 4k 64k 200k; do
		unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o size=$4 none "$1" || exit 77
			STEMMA_HOME=$1 "$2" run -- sh -c "i=0; while [ \$i -lt 400 ]; do i=\$((i + 1)); cat /dev/null >/dev/null; done; echo out; exit 7"
			echo $? && cp -r "$1" "$3"' - "$T/small" "$STEMMA" "$T/full.$size" $size >"$T/got" 2>"$T/err"
		if [ $? = 77 ]; then
			skip_ "a store on a disk of $size" "tmpfs cannot be mounted here"
			continue
		fi
		{
			[ "$(paste -sd, "$T/got")" = "out,7" ] || cat "$T/got"
			[ -z "$(find "$T/full.$size" -name '*.stl')" ] || events "$T/full.$size" "$T/events" || grep -v -e torn -e '^no log$' "$T/events.err"
			[ -s "$T/err" ] || [ "$size" != 4k ] || echo "the user is not told"
		} >"$T/why"
		[ ! -s "$T/why" ]
		result $? "a store on a disk of $size" "$T/why"
	done
	# The room comes back while the command runs: the record goes on, whole or saying how much is missing. Where it needs more
	# room than there is that is said, and how the run ended.
	for size in 1000k 40k; do
		unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o size=$4 none "$1" || exit 77
			head -c $((${4%k} - 10))k /dev/zero >"$1/ballast"
			STEMMA_HOME=$1 "$2" run -- sh -c "i=0; while [ \$i -lt 200 ]; do i=\$((i + 1)); cat /dev/null >/dev/null; done
				rm $1/ballast; cat /dev/null >/dev/null; exit 7"
			echo $?
			cp -r "$1" "$3"' - "$T/small" "$STEMMA" "$T/again$size" $size >"$T/got" 2>"$T/err"
		if [ $? = 77 ]; then
			skip_ "a disk that has $size again" "tmpfs cannot be mounted here"
			continue
		fi
		events "$T/again$size" "$T/events"
		[ ! -s "$T/events.err" ] && [ "$(cat "$T/got")" = 7 ] && case $size in
		1000k)
			grep -q '"k":"run_end"' "$T/events" &&
				{ grep -q '"k":"gap".*"reason":1\b' "$T/events" || tail -1 "$T/events" | grep -q "\"seq\":$(wc -l <"$T/events"),"; }
			;;
		40k) tail -3 "$T/events" | grep -q '"k":"gap".*"reason":1\b' && tail -1 "$T/events" | grep -q '"k":"session_end"' && [ "$(wc -l <"$T/events")" -gt 1000 ] ;;
		esac
		status=$?
		{
			echo "status $(cat "$T/got"), $(wc -l <"$T/events") events, the last: $(tail -n 1 "$T/events")"
			cat "$T/events.err"
		} >>"$T/err"
		result $status "a disk that has $size again" "$T/err"
	done
else
	skip_ "a store that is read-only" "root is kept from nothing, and mount namespaces are not allowed here"
fi
# Root of a user namespace is the user that it is outside, whose folder for locks it shares.
if [ "$(id -u)" != 0 ] && unshare -Ur true 2>/dev/null; then
	env -u XDG_RUNTIME_DIR STEMMA_HOME="$T/space" unshare -Ur "$STEMMA" run -- sh -c 'echo in; exit 3' >"$T/got" 2>"$T/err"
	status=$?
	[ $status = 3 ] && [ "$(cat "$T/got")" = in ] && [ ! -s "$T/err" ] && events "$T/space" "$T/events" && grep -q '"k":"run_end"' "$T/events"
	result $? "root of a user namespace" "$T/err"
else
	skip_ "root of a user namespace" "we are root, or user namespaces are not allowed here"
fi

# A host whose name begins with a dot, is empty, or has odd bytes: what is recorded there is found. So is what lies in a folder of
# that name from before. SPACES: options of unshare for names of hosts.
spaces=-u
[ "$(id -u)" = 0 ] || spaces=-Uru
if unshare $spaces true 2>/dev/null; then
	for name in .hidden . .. '' 'a b' '.snapshot' '-x' '%2Ehidden'; do
		rm -rf "$T/named"
		unshare $spaces sh -c '"$4" -c "import socket, sys; socket.sethostname(sys.argv[1])" "$1" 2>/dev/null || exit 77
			[ "$(cat /proc/sys/kernel/hostname)" = "$1" ] || exit 77
			STEMMA_HOME=$2 "$3" run -- sh -c "echo out; exit 7"' - "$name" "$T/named" "$STEMMA" $PYTHON >"$T/got" 2>"$T/err"
		status=$?
		if [ $status = 77 ]; then
			skip_ "a host named '$name'" "no host can be named so here"
			continue
		fi
		[ $status = 7 ] && [ "$(cat "$T/got")" = out ] && [ ! -s "$T/err" ] &&
			[ "$(STEMMA_HOME=$T/named "$STEMMA" log --json 2>>"$T/err" | grep -c '"command"')" = 1 ] && STEMMA_HOME=$T/named "$STEMMA" fsck >>"$T/err" 2>&1
		result $? "a host named '$name'" "$T/err"
	done
	rm -rf "$T/named"
	STEMMA_HOME=$T/named "$STEMMA" run -- sh -c 'exit 7' 2>"$T/err"
	for host in "$T/named/logs"/*; do mv "$host" "$T/named/logs/.old"; done
	rm -f "$T/named"/index*
	STEMMA_HOME=$T/named "$STEMMA" log >"$T/got.log" 2>>"$T/err"
	STEMMA_HOME=$T/named "$STEMMA" fsck >"$T/got" 2>&1 || cat "$T/got" >>"$T/err"
	STEMMA_HOME=$T/taken "$STEMMA" import "$T/named" >"$T/got" 2>&1 || cat "$T/got" >>"$T/err"
	STEMMA_HOME=$T/taken "$STEMMA" log >"$T/got.import" 2>>"$T/err"
	grep -q "exit 7" "$T/got.log" && grep -q "exit 7" "$T/got.import" && [ ! -s "$T/err" ]
	result $? "a folder of a host that begins with a dot is read" "$T/err"
else
	skip_ "hosts with odd names" "no host can be named here"
fi
finish
