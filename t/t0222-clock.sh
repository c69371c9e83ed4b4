#!/bin/sh
# What a program wrote depends on what it read before, however late the clock of file times is: many short programs at
# once, each of which reads one file and writes one.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export STEMMA_HOME="$T/home"
count=100
rm -rf in out
mkdir in out
i=0
while [ $i -lt $count ]; do
	i=$((i + 1))
	echo "$i" >"in/$i"
done
ls in >names
for transport in notify trace; do
	rm -f out/*
	"$STEMMA" run -q -t $transport -- sh -c 'xargs -P 8 -I "{}" sh -c "sort in/{} >out/{}" <names' >log 2>&1
	result $? "$transport: $count programs, eight at once" log
	"$STEMMA" index >/dev/null 2>&1
	: >missed
	while read -r name; do
		"$STEMMA" lineage --json --no-index "out/$name" 2>&1 | grep -q "/in/$name\"" || echo "$name" >>missed
	done <names
	[ ! -s missed ]
	result $? "$transport: each result has its input" missed
done
finish
