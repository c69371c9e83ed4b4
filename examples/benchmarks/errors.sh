#!/bin/sh
# errors.sh - table 1 of the benchmark paper: ten runs of each of six programs, a claim of what they gave, and the trust
# in it as it is and with each kind of error in it. Works in an empty folder; STEMMA and jq are needed.
#
#     sh errors.sh [FOLDER]      the table is printed as Markdown; RUNS says how many runs (10)
#
# The last three errors are in what the run was made with and not in the claim: another version of the input, the
# program made anew from another source, another library; the old claim is judged against one run with them.
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
STEMMA=${STEMMA:-stemma}
RUNS=${RUNS:-10}
work=${1:-$(mktemp -d)}
mkdir -p "$work"
cd "$work"
export STEMMA_HOME="${STEMMA_HOME:-$work/record}"
cp "$here"/*.c "$here"/data.h "$here"/Makefile .
make -s CC="${CC:-cc}" >make.log 2>&1

# judge NAME CLAIM [RUN]: a cell of the table, T; with a star where it is 1 and not reproducible all the same.
judge()
{
	"$STEMMA" trust ${3:+"$3"} --claim "$2" --json >"$1.json" 2>"$1.err" || true
	jq -r 'if .judged then (.trust * 1000 | round / 1000 | tostring)
		+ (if .trust == 1 and .reproducible == false then "*" else "" end) else "?" end' "$1.json"
}

printf '| program | as it was | changed result | changed parameter | missing input | wrong input | stale binary | other library |\n'
printf '|---|---|---|---|---|---|---|---|\n'
one()
{
	name=$1
	data=$2
	shift 2
	"$STEMMA" bench run -n "$RUNS" -- "./$name" "$@" "$data" >"$name.txt" 2>"$name.log"
	"$STEMMA" trust bench: --report >"$name.claim"
	printf '| %s | %s' "$name" "$(judge "$name.correct" "$name.claim")"

	jq '(.results | keys[0]) as $k | .results[$k] = 12345' "$name.claim" >"$name.result"
	printf ' | %s' "$(judge "$name.changed-result" "$name.result")"
	jq '(.parameters | keys[0]) as $k | .parameters[$k] = 0.0080' "$name.claim" >"$name.parameter"
	printf ' | %s' "$(judge "$name.changed-parameter" "$name.parameter")"
	jq '.inputs = {}' "$name.claim" >"$name.input"
	printf ' | %s' "$(judge "$name.missing-input" "$name.input")"

	mv "$data" kept
	./generate 2 "${data%.txt}" >"$data"
	"$STEMMA" bench run -n 1 -- "./$name" "$@" "$data" >>"$name.txt" 2>>"$name.log"
	mv kept "$data"
	printf ' | %s' "$(judge "$name.wrong-input" "$name.claim" bench:)"

	mv "$name" kept
	sed 's/^int main(/static const char *volatile other = "made anew";\n&/; s/^{$/&/' "$name.c" >other.c
	printf 'const char *made_anew(void)\n{\n\treturn other;\n}\n' >>other.c
	${CC:-cc} -O1 -o "$name" other.c ./libdata.so -Wl,-rpath,"\$ORIGIN" -lm
	"$STEMMA" bench run -n 1 -- "./$name" "$@" "$data" >>"$name.txt" 2>>"$name.log"
	mv kept "$name"
	printf ' | %s' "$(judge "$name.stale-binary" "$name.claim" bench:)"

	mv libdata.so kept
	${CC:-cc} -O1 -fPIC -shared -Wl,-soname,libdata.so -o libdata.so data.c
	"$STEMMA" bench run -n 1 -- "./$name" "$@" "$data" >>"$name.txt" 2>>"$name.log"
	mv kept libdata.so
	printf ' | %s |\n' "$(judge "$name.other-library" "$name.claim" bench:)"
}

one kmeans points.txt -k 4 -s 7
one fuzzy points.txt -k 4 -m 2.0
one apriori baskets.txt -s 0.0075
one eclat baskets.txt -s 0.0075
one dbscan points.txt -e 0.35 -m 5
one dtree points.txt -d 4
