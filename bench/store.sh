#!/bin/sh
# store.sh BUILD [SEED [SCALE]] - index the generated logs and ask of them; prints a table. SCALE 10 makes a tenth.
set -eu

build=$1
seed=${2:-1}
scale=${3:-1}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/stemma-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$build/bench/stemma-bench-generate" "$dir" "$seed" "$scale"
logs=$(du -ck "$dir"/main/logs/*/*/*.stl "$dir"/late/logs/*/*/*.stl | tail -n 1 | cut -f 1)
events=$(sed -n 's/^events=//p' "$dir/facts")
echo "Logs made with seed $seed: $events events, $((logs / 1024)) MiB, $((logs * 1024 / events)) bytes an event."
echo
"$build/bench/stemma-bench-store" "$dir"
