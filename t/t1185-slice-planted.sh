#!/bin/sh
# Slices of programs with planted dependences, whose truths were written before the analysis was run on them
# (t/slices-planted): none may be taken for impossible, neither in the whole program nor in its parts alone.
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
planted=$here/t/slices-planted
CLANGXX=$(command -v "$(echo "$CLANG" | sed 's/clang/clang++/')")

# The flags that the source needs; 1: its library is not there.
flags_of()
{
	case $1 in
	*-hdf5*) pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5 2>/dev/null ;;
	*-mpi*) pkg-config --cflags ompi-c 2>/dev/null ;;
	*.cc) [ -n "$CLANGXX" ] ;;
	esac
}

# All sources in folder $1, to slices below $2. Those that cannot be compiled here are left out of $2/truths.tsv.
slices_below()
{
	mkdir -p "$2"
	grep -v '^#' "$1/truths.tsv" >"$2/truths.tsv"
	for f in "$1"/*.c "$1"/*.cc; do
		name=$(basename "${f%.c*}")
		compiler=$CLANG
		case $f in *.cc) compiler=$CLANGXX ;; esac
		if ! flags=$(flags_of "$f"); then
			echo "# left out, as its library or compiler is not installed: $name"
			grep -v "^$name	" "$2/truths.tsv" >"$2/fewer" || true
			mv "$2/fewer" "$2/truths.tsv"
			continue
		fi
		# shellcheck disable=SC2086 # flags are several words
		"$compiler" -w -g -O2 -Xclang -disable-llvm-passes $flags -emit-llvm -c "$f" -o p.bc || return 1
		cmd 0 slice --json p.bc || return 1
		cp "$out" "$2/$name.json"
	done
}

compared()
{
	$PYTHON "$here/t/slices/check.py" "$2/truths.tsv" "$1" "$2" >"$T/compared"
	status=$?
	sed 's/^/# /' "$T/compared"
	return $status
}

# The number behind the word in what was compared.
counted()
{
	sed -n "s/^\(.* \)*$1 \([0-9]*\).*/\2/p" "$T/compared"
}

slices_below "$planted" whole
check "each program has a slice"
compared "$planted" whole
check "no planted dependence is taken for impossible"
[ "$(counted dependences)" -ge 160 ] && [ "$(counted proved)" -ge 30 ]
check "independences are proved, too"

mkdir parts
$PYTHON "$planted/split.py" "$planted/truths.tsv" "$planted" parts && slices_below "$PWD/parts" alone
check "each part has a slice"
compared "$PWD/parts" alone
check "none in a part alone, where nothing else forbids"
[ "$(counted dependences)" -ge 160 ] && [ "$(counted proved)" -ge 10 ]
check "independences are proved there, too"

finish
