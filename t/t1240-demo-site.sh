#!/bin/sh
# make demo-site does what doc/site.md says: a lineage over three hosts, two readers of a database, and the lineage asked there by a fourth host; and nothing that it started stays.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir "$T/demo"
if ! TMPDIR=$T/demo BUILD=$BUILD "$here/examples/site/demo.sh" >"$out" 2>"$err" && grep -q '^demo-site: ' "$out"; then
	if grep -q '^demo-site: the collector' "$out"; then
		false
		check 'the collector gets all'
	else
		skip 'the demo' "$(sed -n 's/^demo-site: //p' "$out")"
	fi
	finish
	exit
fi
says "$out" '@node1' && says "$out" '@node2' && says "$out" '@node3' && says "$out" 'mean@{1}' && says "$out" 'seq 1 500'
check 'a lineage over three hosts'
sed -n '/^ann:/,$p' "$out" | grep -c '^ node[123] ' | grep -qx 3 && sed -n '/^eve:/,$p' "$out" | grep -q '(0 rows)'
check 'one reader sees the runs, the other none'
lineage() # the lines of it below that one
{
	sed -n "/^.*$1/,\$p" "$out" | sed -n '/^mean@/,/^$/p' | sed '/^$/q'
}
lineage 'Asked at the collector' >"$T/collector" && lineage 'A fourth host' >"$T/fourth" && [ "$(wc -l <"$T/fourth")" -gt 3 ] && cmp "$T/collector" "$T/fourth" >>"$err" 2>&1
check 'a fourth host has the same lineage from the database'
[ -z "$(ls "$T/demo")" ] && ! ps -eo args | grep -F "$T/demo" | grep -qv grep
check 'nothing stays'
finish
