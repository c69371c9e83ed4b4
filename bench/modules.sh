#!/bin/sh
# modules.sh BUILD [PACKAGE...] - specifications and function traces of real programs, from Debian's source packages: what is kept of
# them, what tracing costs, and what it tells beside a diff of the names of system calls. Markdown on standard output.
# shellcheck disable=SC2034,SC2154 # of and for t/lib.sh
BUILD=$(cd "$1" && pwd) || exit 2
shift
wanted=" $* "
sources=${STEMMA_DEBIAN_SOURCES:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/../t/lib.sh"
# shellcheck source=t/spec.sh
. "$here/t/spec.sh"
# shellcheck source=t/modules.sh
. "$here/t/modules.sh"

needs_llvm
export LC_ALL=C
plain_cc=$CLANG # what is traced is clang's code, too: the difference is the tracing
while read -r package programs; do
	case $wanted in
	'  ' | *" $package "*) ;;
	*) continue ;;
	esac
	# shellcheck disable=SC2086 # words
	source_of "$package" && built "$package" $programs || echo "$package: left out, ${why:-it cannot be built}"
done <<'END'
coreutils src/rm src/uniq src/b2sum src/sort src/cat
bzip2 bzip2
sed sed/sed
grep src/grep
minimap2 minimap2
bwa bwa
lua5.4 -C src lua
END
"$PYTHON" -B "$here/bench/modules.py" "$STEMMA" "$T"
