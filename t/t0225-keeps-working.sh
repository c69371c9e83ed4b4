#!/bin/sh
# What recorders have broken goes on working, in every mode: the same output, status and standard error as without stemma, and
# the record holds what was read and written.
# shellcheck source=tests/prog/lib.sh disable=SC2086,SC2048 # options and cases are words
. "$(dirname "$0")/../tests/prog/lib.sh"

# A new way to record is a word here and a row in mode().
all="complete inject count trace exact tree"
thorough || all="complete trace"
MODES=${MODES:-$all}

# mode NAME: the options of stemma run, and what may be missing from its record.
mode()
{
	OPTIONS=
	unset STEMMA_INJECT
	case $1 in
	complete) RUN_OPTIONS= ;;
	inject) RUN_OPTIONS= && export STEMMA_INJECT=always ;;
	trace) RUN_OPTIONS=--transport=trace ;;
	count) RUN_OPTIONS=--count ;;
	exact) RUN_OPTIONS=--exact ;;
	tree) RUN_OPTIONS=--capture=tree OPTIONS='--or-gap tree_only' ;;
	esac
}

modes=
for m in $MODES; do
	mode $m
	if STEMMA_HOME=$T/home "$STEMMA" run $RUN_OPTIONS -- true 2>"$T/err" && [ ! -s "$T/err" ]; then
		modes="$modes $m"
	else
		skip_ "$m" "it does not work here: $(head -1 "$T/err")"
	fi
done

# keeps PROG CASE...: the cases of the program, in each mode.
keeps()
{
	prog=$1
	shift
	if [ ! -x "$PROGS/$prog" ]; then
		skip_ "$prog" "not built: the tool chain for it is not here"
		return
	fi
	if ! "$PROGS/$prog" >/dev/null 2>"$T/err"; then
		skip_ "$prog" "it does not run here: $(head -1 "$T/err")"
		return
	fi
	for m in $modes; do
		case " ${NOT:-} " in
		*" $m "*)
			skip_ "$m: $prog $*" "doc/capture.md: not in this mode"
			continue
			;;
		esac
		mode "$m"
		for c in ${*:-$("$PROGS/$prog")}; do
			case " ${ONLY:-$c} " in
			*" $c "*) capture "$m: $prog $c" "$PROGS/$prog" "$c" DIR ;;
			esac
		done
	done
}

# keeps_script NAME NEEDED SCRIPT: a script of sh in each mode; truth lines on standard input. Files that no line tells of may be
# read and written.
keeps_script()
{
	cat >"$T/expect"
	if ! command -v "$2" >/dev/null; then
		skip_ "$1" "no $2 here"
		return
	fi
	for m in $modes; do
		mode "$m"
		case " ${NOT:-} " in
		*" $m "*)
			skip_ "$m: $1" "doc/capture.md: not in this mode"
			continue
			;;
		esac
		OPTIONS="$OPTIONS --open"
		EXPECT=$T/expect capture "$m: $1" /bin/sh -c "$3"
	done
}

keeps p-keep
# How a program was built is nothing to the user it runs for: once is enough.
if [ "$who" != nobody ]; then
	every=$modes
	# Nor to the last way to record: the suite slow has them all.
	[ -n "$SLOW" ] || modes=$(echo "$modes" | tr ' ' '\n' | grep -x -e complete -e inject -e trace | paste -sd ' ')
	for kind in nopie static musl; do
		keeps p-keep-$kind cancel handler-io vfork-table posix-spawn exec-env close-all filter-kills
	done
	# Cancellation and the address sanitizer do not go together, with or without a recorder.
	keeps p-keep-asan threads handler-io posix-spawn dlopen
	keeps p-keep-tsan threads cancel handler-io posix-spawn dlopen exit
	keeps p-keep-cxx
	# The search for leaks is a tracer of the program's own. --exact makes way for it and says so; what comes before is seen.
	NOT=trace keeps p-keep-asan exit
	modes=$every
fi

keeps_script "LD_PRELOAD of the user's own" sh "
	export LD_PRELOAD='$PROGS/keep-preload.so' KEEP_PRELOAD=counts
	cat in >y; sort in in2 >z; unset LD_PRELOAD; cat counts" <<-END
	*@cat read DIR/in
	*@cat write DIR/y
	*@sort read DIR/in
	*@sort read DIR/in2
	*@sort write DIR/z
	*@sort write DIR/counts
	*@cat read DIR/counts
END
# A library that the loader does not find is an error that each program prints.
jemalloc=$(LD_PRELOAD=libjemalloc.so.2 /bin/true 2>&1)
if [ -z "$jemalloc" ]; then
	keeps_script "LD_PRELOAD=libjemalloc" sh 'export LD_PRELOAD=libjemalloc.so.2; sort x >y; cat y' <<-END
		*@sort read DIR/x
		*@sort write DIR/y
		*@cat read DIR/y
	END
else
	skip_ "LD_PRELOAD=libjemalloc" "no libjemalloc.so.2 here"
fi
keeps_script "extension modules of python" python3 "$PYTHON -S -c '
import _ctypes, _json, zlib, sys, os, ctypes
os.environ.clear()
lib = ctypes.CDLL(None)
b = ctypes.create_string_buffer(64)
n = lib.read(lib.open(b\"in\", 0), b, 64)
open(\"y\", \"wb\").write(zlib.compress(b.raw[:n]))
'; cksum y" <<-END
	*@* anyone-read DIR/in
	*@* write DIR/y
	*@cksum read DIR/y
END
if unshare -Urmpf true 2>/dev/null; then
	keeps_script "other namespaces" unshare 'unshare -Urmpf sh -c "echo \$\$; id -u; cat in >y; unshare -m cat in2 >z; sort y z"' <<-END
		*@* allow-gap namespace
		*@* allow-gap mounts
		*@cat read DIR/in
		*@cat write DIR/y
		*@cat read DIR/in2
		*@cat write DIR/z
		*@sort read DIR/y
		*@sort read DIR/z
	END
else
	skip_ "other namespaces" "unshare -Urmpf is not allowed here"
fi
NOT="trace exact" keeps_script "gdb" gdb '
	gdb -nx -batch -iex "set debuginfod enabled off" -ex "run in y >out" -ex "info inferiors" --args cp 2>&1 | sed "s/[0-9a-fx]*[0-9][0-9a-fx]*/N/g"
	cat y' <<-END
	*@cp read DIR/in
	*@cp write DIR/y
	*@cat read DIR/y
END
NOT="trace exact" keeps_script "strace" strace '
	strace -f -o calls sh -c "cat in >y; sort x"; grep -c "execve(" calls; grep -c "exited with 0" calls; cat y' <<-END
	*@sort read DIR/x
	*@cat read DIR/y
	*@strace write DIR/calls
END

# Stemma and the command where nothing fits into /dev/shm.
if unshare -cm --keep-caps true 2>/dev/null; then
	cat >"$T/full-shm" <<-SH
		#!/bin/sh
		exec unshare -cm --keep-caps sh -c 'mount -t tmpfs -o size=4k none /dev/shm && ! head -c 9000 /dev/zero 2>/dev/null >/dev/shm/full && exec "\$0" "\$@"' $STEMMA "\$@"
	SH
	chmod 755 "$T/full-shm"
	plain_stemma=$STEMMA
	STEMMA=$T/full-shm
	keeps_script "a full /dev/shm" sh 'cat in >y; sort x y; ls /dev/shm | grep -cx full >z || :' <<-END
		*@cat read DIR/in
		*@cat write DIR/y
		*@sort read DIR/x
		*@sort read DIR/y
	END
	grep -q '^1$' "$D/z"
	result $? "/dev/shm was the full one" "$D/z"
	STEMMA=$plain_stemma
else
	skip_ "a full /dev/shm" "unshare -cm --keep-caps is not allowed here"
fi

# attached TOOL: comes from outside to a program that is recorded, and goes again. Where stemma is the tracer it is refused; the
# program's end is the same in either case.
attached()
{
	if ! command -v "$1" >/dev/null; then
		skip_ "$1 from outside" "no $1 here"
		return
	fi
	for m in $modes; do
		mode "$m"
		C=$T/attached
		D=$C/d
		rm -rf "$C"
		mkdir -p "$C"
		fresh "$D"
		mkfifo "$D/go"
		: >"$C/truth"
		(cd "$D" && STEMMA_HOME=$C/home exec "$STEMMA" run $RUN_OPTIONS -- "$PROGS/p-keep" +attached "$D") 9>>"$C/truth" >"$C/out" 2>"$C/err" </dev/null &
		run=$!
		for _ in $(seq 600); do
			[ -s "$D/one" ] && break
			sleep 0.05
		done
		pid=$(sed -n 's/^\([0-9]*\)@.*/\1/p;q' "$C/truth")
		if [ "$1" = gdb ]; then
			gdb -nx -batch -iex "set debuginfod enabled off" -p "$pid" -ex 'info threads' -ex detach >"$C/tool" 2>&1
			grep -q '^\* 1 ' "$C/tool"
		else
			timeout -s INT 1 strace -o "$C/calls" -p "$pid" >"$C/tool" 2>&1
			grep -q 'attached$' "$C/tool"
		fi
		came=$?
		echo go >"$D/go"
		wait $run
		status=$?
		: >"$C/why"
		case $m in
		trace | exact) ;;
		*) [ $came = 0 ] || cat "$C/tool" >>"$C/why" ;;
		esac
		[ $status = 0 ] || echo "status $status" >>"$C/why"
		[ "$(cat "$C/out")" = "to the end" ] || echo "it did not say so to the end" >>"$C/why"
		cat "$C/err" >>"$C/why"
		events "$C/home" "$C/events" || cat "$C/events.err" >>"$C/why"
		$PYTHON "$CHECK" --truth "$C/truth" --dir "$D" --ignore "$C/truth" --open --status 0 $OPTIONS "$C/events" >>"$C/why" 2>&1
		[ ! -s "$C/why" ]
		result $? "$m: $1 from outside" "$C/why"
	done
}
attached gdb
attached strace
finish
