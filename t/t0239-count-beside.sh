#!/bin/sh
# --count of programs that load libraries while they run, have pipes and sockets of their own, make calls by syscall(), or share
# their work among OpenMP's threads: what the log says of a file is what the calls returned.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"
# shellcheck source=tests/prog/count.sh
. "$(dirname "$0")/../tests/prog/count.sh"

needs_count

for c in $("$PROGS/p-beside"); do
	case $c in
	loaded) counted p-beside $c in:read in:written out:read out:written ;;
	crowd) counted p-beside $c in0:read in1:read in0:written in1:written ;;
	elsewhere | child) counted p-beside $c in:read in:written ;;
	called) counted p-beside $c out:written ;;
	*) counted p-beside "$c" in:read in:written out:written ;;
	esac
done

# Between all kinds of things: what is said is true, and where it is a file it is said.
CHECK_SUMS=check_moves.py
for c in $("$PROGS/p-moves"); do
	case $c in
	sendfiles | splices) counted p-moves "$c" in:read in:written out:written ;;
	mapped) counted p-moves $c in:written ;;
	*) counted p-moves "$c" ;;
	esac
done
kinds='bare musl'
thorough && kinds='bare pie musl musl-bare'
for kind in $kinds; do
	if [ -x "$PROGS/p-moves-$kind" ]; then
		for c in $("$PROGS/p-moves"); do
			case $c in
			sendfiles | splices) counted "p-moves-$kind" "$c" in:read in:written out:written ;;
			mapped) counted "p-moves-$kind" $c in:written ;;
			*) counted "p-moves-$kind" "$c" ;;
			esac
		done
	else
		skip_ "p-moves-$kind" "not built: the compiler makes no such programs"
	fi
done
CHECK_SUMS=

if [ -x "$PROGS/p-omp" ]; then
	counted p-omp loop in0:read in7:read in0:written out3:written out7:written
	counted p-omp tasks in0:read in7:read in0:written out3:written out7:written
	counted p-omp shared in:read in:written out:written
else
	skip_ "OpenMP's threads" "not built: the compiler has no OpenMP"
fi

# Interpreters, by whose own account a file is read and written whole. What they load they load while they run.
D=$T/real
# scripted NAME PROGRAM SCRIPT; without a program the script's first line says which.
scripted()
{
	if [ "$2" ] && ! command -v "$2" >/dev/null; then
		skip_ "$1" "$2 is not installed"
		return
	fi
	for _ in 1 2 3 4 5; do
		rm -rf "$D"
		mkdir -p "$D"
		seq 30000 >"$D/in"
		printf '%s\n' "$3" >"$D/script"
		chmod +x "$D/script"
		(cd "$D" && STEMMA_HOME=$D/home "$STEMMA" run --count -- ${2:+"$2"} ./script) >"$T/why" 2>&1 || break
		STEMMA_HOME=$D/home "$STEMMA" stat --tsv @ >"$T/tsv" 2>>"$T/why"
		awk -F'\t' -v n="$(wc -c <"$D/in")" '
			$6 == "mmap" { next }
			$4 ~ /\/in$/ && $5 == "read" { if ($9 == "?") r = "?"; else if (r != "?") r += $9 }
			$4 ~ /\/out$/ && $5 == "write" { if ($9 == "?") w = "?"; else if (w != "?") w += $9 }
			END {
				if (r == "") r = "?"
				if (w == "") w = "?"
				if (r != n || w != n) print "read " r ", written " w ", it was " n
				exit (r == n || r == "?") && (w == n || w == "?") ? r == n && w == n ? 0 : 2 : 1
			}' "$T/tsv" >>"$T/why"
		[ $? = 2 ] || break
	done
	[ ! -s "$T/why" ] && cmp "$D/in" "$D/out" >"$T/why" 2>&1
	result $? "$1" "$T/why"
}
# Through a child's pipe, too.
scripted "python with extension modules" "$PYTHON" 'import _ctypes, subprocess
a = open("in", "rb", buffering=0).read(50000)
import decimal, json, hashlib
b = subprocess.run(["tail", "-c", "+50001", "in"], stdout=subprocess.PIPE).stdout
import bz2, socket
with open("out", "wb") as f:
    f.write(a + b)'
scripted "perl with extension modules" perl 'use POSIX; use List::Util;
open(my $f, "<", "in"); my @lines = <$f>; close $f;
require Storable; require Data::Dumper; my $seq = `seq 30000`;
open(my $g, ">", "out"); print $g @lines; close $g; $seq eq join("", @lines) or die;'
scripted "node" node 'const fs = require("fs"), zlib = require("zlib");
fs.writeFileSync("out", zlib.gunzipSync(zlib.gzipSync(fs.readFileSync("in"))));'
scripted "bash with commands for values" bash 'x=$(cat in)
y=$(echo "$x" | tail -n 1)
[ "$y" = 30000 ] && printf "%s\n" "$x" >out'
scripted "a script that is run itself" "" '#!/bin/sh
while read -r x; do echo "$x"; done <in >out'
# The algebra library of R may start threads while it is loaded; a program that has threads then is not counted.
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS
scripted "R" Rscript 'f <- file("in", "r", raw = TRUE)
x <- readLines(f)
close(f)
writeLines(x, "out")'
finish
