#!/bin/sh
# t0160-start.sh - what a start of stemma loads: of the libraries that few commands need none before it is needed; and what
# happens where one is not there.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

names='libsqlite3.so.0 libjansson.so.4 libserd-0.so.0 libm.so.6'

# The loader tells itself what it loads (ld.so(8)); a program of the run tells in a file of its own.
loaded()
{ # ARG...: stemma with these arguments; the libraries that each of its processes loaded are in `loaded`, status in `status`
	rm -f "$T"/ld.*
	LD_DEBUG=files LD_DEBUG_OUTPUT=$T/ld "$STEMMA" "$@" >"$out" 2>"$err"
	status=$?
	cat "$T"/ld.* 2>/dev/null | sed -n 's/.*file=\([^ ]*\).*generating link map.*/\1/p' | sort -u >"$T/loaded"
}

printf 'one\n' >work-file
if ! LC_ALL=C grep -q 'soname":\["libsqlite3' "$STEMMA"; then
	skip 'late libraries' 'they are linked (-Dlate=false)'
elif ! loaded --version || ! [ -s "$T/loaded" ]; then
	skip 'late libraries' 'the loader here does not tell what it loads'
else
	if grep -q 'lib[a-z]*san\.so' "$T/loaded"; then
		names=${names% *} # sanitizers have it with them
	fi
	late=$(echo "$names" | sed 's/ /\\|/g')
	loaded --version && [ $status = 0 ] && grep -q libc "$T/loaded" && ! grep "$late" "$T/loaded"
	check 'no library but the C library for --version'
	loaded run -- cat work-file && [ $status = 0 ] && is "$out" one && ! grep "$late" "$T/loaded"
	check '... nor for a run'
	loaded log && [ $status = 0 ] && says "$out" 'cat work-file' && grep -q libsqlite3 "$T/loaded"
	check 'a question loads what it needs'

	# A library that is none: what a half-done update leaves, the loader refuses.
	mkdir broken
	for name in $names; do
		printf 'none\n' >broken/$name
	done
	with()
	{
		LD_LIBRARY_PATH=$PWD/broken "$STEMMA" "$@" >"$out" 2>"$err"
	}
	with run -- "$(command -v cat)" work-file && is "$out" one && [ ! -s "$err" ]
	check 'a run does not need them'
	cmd 0 log && lines "$out" 3
	check '... and is recorded'
	with log
	[ $? = 125 ] && says "$err" libsqlite3.so.0 && [ ! -s "$out" ]
	check 'a question without SQLite says which library is missing'
	with run --summary sum -- touch began
	[ $? = 125 ] && says "$err" libjansson.so.4 && [ ! -e began ]
	check 'what will be needed after the command is missing before it begins'
	with doctor --quick
	says "$out" 'no serd'
	check 'doctor says so of what is optional'
fi
finish
