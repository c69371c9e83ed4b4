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
# And not on what it read when it had closed it, though the clock has not moved since.
mkdir loop
cd loop || exit 1
for i in 1 2 3 4 5 6; do echo $i >in$i; done
cat >loop.py <<'PY'
for i in range(1, 7):
    with open('in%d' % i) as f, open('out%d' % i, 'w') as g:
        g.write(f.read())
PY
for how in "-t notify" "-t trace" "--exact"; do
	rm -f out*
	# shellcheck disable=SC2086 # words
	"$STEMMA" run -q $how -- $PYTHON loop.py >../log 2>&1
	result $? "$how: a loop over files" ../log
	: >../wrong
	for i in 1 2 3 4 5; do
		"$STEMMA" lineage --json out$i >../got 2>&1
		grep -q "/in$i\"" ../got || echo "out$i lacks in$i" >>../wrong
		! grep -q "/in$((i + 1))\"" ../got || echo "out$i has in$((i + 1))" >>../wrong
	done
	[ ! -s ../wrong ]
	result $? "$how: what was read later is no input" ../wrong
done
cd ..
finish
