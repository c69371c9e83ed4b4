# shellcheck shell=sh disable=SC2034,SC2154
# spec.sh - for the tests of specifications and traces (sourced after lib.sh).
#
#   needs_llvm          ends the script, skipping all, where stemma was built without LLVM
#   traces PROG ARG...  runs PROG with traces in $T/tr; its status
#   shown PROG          all of them as lines, in order of their threads' names, in $out; 0 if each fits PROG

SPECTRACE=${spectrace:-$BUILD/tests/stemma-spectrace}
CLANG=

needs_llvm()
{
	"$STEMMA" doctor --quick 2>/dev/null | grep '^specifications' >"$T/doctor"
	grep -q ' ok ' "$T/doctor" || {
		echo "1..0 # SKIP $(sed 's/^specifications *[a-z]* *//' "$T/doctor")"
		exit 0
	}
	major=$(sed -n 's/.*LLVM \([0-9]*\).*/\1/p' "$T/doctor")
	CLANG=$(command -v "clang-$major") || CLANG=clang
}

traces()
{
	rm -rf "$T/tr"
	mkdir "$T/tr"
	STEMMA_TRACE="$T/tr" timeout -k 5 60 "$@" >"$T/said" 2>&1 </dev/null
}

shown()
{
	: >"$out"
	status=0
	for f in "$T"/tr/*.trace; do
		[ -e "$f" ] || {
			echo "no trace was left" >>"$err"
			return 1
		}
		"$SPECTRACE" "$1" "$f" >"$T/one" || status=1
		name=$(sed -n 's/^#thread \([^ ]*\) .*/\1/p' "$T/one")
		mv "$T/one" "$T/one.$name,$(basename "$f")"
	done
	cat "$T"/one.* >>"$out"
	rm -f "$T"/one.*
	return $status
}
