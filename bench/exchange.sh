#!/bin/sh
# exchange.sh BUILD [SEED [SCALE]] - what comparing and exporting cost; prints a table. SCALE 4 exports a quarter of the
# generated graph of store.sh. CPU time is user and system together, the middle of three.
set -eu

build=$1
seed=${2:-1}
scale=${3:-4}
stemma=$build/src/cmd/stemma
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/stemma-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# timed FILE COMMAND...: seconds of CPU and kilobytes resident, the middle one of three runs, into $cpu and $rss.
timed()
{
	to=$1
	shift
	: >"$dir/times"
	for _ in 1 2 3; do
		/usr/bin/python3 - "$to" "$@" >>"$dir/times" <<'END'
import os, resource, subprocess, sys
with open(sys.argv[1], "wb") as out:
    subprocess.run(sys.argv[2:], stdout=out, check=False)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f %d" % (u.ru_utime + u.ru_stime, u.ru_maxrss))
END
	done
	cpu=$(sort -n "$dir/times" | sed -n 2p | cut -d ' ' -f 1)
	rss=$(sort -n "$dir/times" | sed -n 2p | cut -d ' ' -f 2)
}

echo "| what | CPU | memory | target |"
echo "|---|---|---|---|"

mkdir "$dir/work"
cat >"$dir/many.sh" <<'END'
i=0
while [ $i -lt 2500 ]; do
	i=$((i + 1))
	/bin/echo $i >o$i
	/bin/cat o$i >p$i
done
END
export STEMMA_HOME="$dir/runs"
(cd "$dir/work" && "$stemma" run -q -- bash "$dir/many.sh" && "$stemma" run -q -- bash "$dir/many.sh")
"$stemma" index >/dev/null
pairs=$("$stemma" diff --no-index --json | jq .paired)
timed /dev/null "$stemma" diff --no-index
echo "| diff of two runs, $pairs executions paired | $cpu s | $((rss / 1024)) MiB | ≤ 1 s |"

"$build/bench/stemma-bench-generate" "$dir/made" "$seed" "$scale"
export STEMMA_HOME="$dir/made/main"
"$stemma" index >/dev/null
timed "$dir/out" "$stemma" export --format ntriples --no-index
triples=$(wc -l <"$dir/out")
ntriples=$cpu
timed "$dir/out" "$stemma" export --format turtle --no-index
echo "| Turtle of $triples triples, $(($(wc -c <"$dir/out") >> 20)) MiB | $cpu s, $(echo "$cpu $triples" | awk '{ printf "%.2f", $1 * 1e6 / $2 }') s a million | $((rss / 1024)) MiB | ≤ 2 s a million, ≤ 10 MiB |"
echo "| the same as N-Triples | $ntriples s | | |"
timed "$dir/out" "$stemma" export --format prov-json --no-index
echo "| PROV-JSON, $(($(wc -c <"$dir/out") >> 20)) MiB | $cpu s | $((rss / 1024)) MiB | |"
