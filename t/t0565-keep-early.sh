#!/bin/sh
# run --keep-inputs: what the command itself changes, replaces or removes is copied before it does, so that the run can be
# repeated. The truth of each copy is the file as it was written before the run.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

# repeated COMMAND: it can be repeated, with the same outputs; the only copy that was not there is that of a.txt as it was.
repeated()
{
	cd "$T" && rm -rf work "$STEMMA_HOME" && mkdir work && cd work || exit 1
	printf 'b\na\n' >a.txt && echo c >c.txt
	digest=$(sha256sum <a.txt | cut -d' ' -f1)
	cmd 0 run -q --keep-inputs -- sh -c "$1" && [ ! -s "$err" ] && cmp -s "$STEMMA_HOME/kept/sha256:$digest" - <<END && cmd 0 rerun @ && says "$out" 'a.txt: kept copy' 'identical: '
b
a
END
}

repeated 'echo x >>a.txt'
check 'a file that is appended to'
repeated 'sed -i s/a/x/ a.txt'
check 'a file that is edited in place'
repeated 'sort a.txt >t; mv t a.txt'
check 'a file in the place of which another one is put'
repeated 'gzip -n a.txt'
check 'a file that is read and removed'
repeated 'sort a.txt >b.txt; echo new >a.txt'
check 'a file that is read and emptied'
repeated 'mv a.txt b.txt; echo x >>b.txt'
check 'a file that is moved and changed'
repeated 'truncate -s 1 a.txt'
check 'a file that is cut'
repeated "$PYTHON -c 'f = open(\"a.txt\", \"r+\"); f.read(); f.write(\"more\"); f.close()'"
check 'a file that is opened to read and to write'
repeated 'for i in 1 2 3; do echo $i >>a.txt; done; cat a.txt c.txt >b.txt'
check 'only the first change counts'
[ "$(find "$STEMMA_HOME/kept" -name '.early.*' | wc -l)" = 0 ] && [ "$(find "$STEMMA_HOME/kept" -type f | wc -l)" = 2 ]
check 'nothing else stays in the record: a copy of each of the two inputs'

cd "$T" && rm -rf work "$STEMMA_HOME" && mkdir work && cd work || exit 1
echo a >a.txt
cmd 0 run -q --keep-inputs -- sh -c 'rm a.txt; echo x >new.txt; echo y >>new.txt; rm new.txt' && [ "$(find "$STEMMA_HOME/kept" -type f | wc -l)" = 0 ]
check 'what nobody read, and what the run made itself, is not copied'
truncate -s 20M big.bin
cmd 0 run --keep-inputs -- sh -c 'cat big.bin >/dev/null; rm big.bin' && says "$err" '1 input could not be kept' && cmd 1 rerun @ && says "$out" 'big.bin: not kept as it was before: the run itself removed it'
check 'a file of more than 16 MiB is not, and that is said'
cmd 0 run -q -- sh -c 'echo x >>a.txt' && [ "$(find "$STEMMA_HOME/kept" -type f 2>/dev/null | wc -l)" = 0 ]
check 'nothing is copied where nobody asked'

# The record lies on a file system of 100 MB beside the work; the bounds are of free room. The job needs what they leave.
work_on_small()
{
	mkdir -p "$T/small" && mount -t tmpfs -o size=100m tmpfs "$T/small" 2>"$T/why" || return 1
	trap 'cd /; umount "$T/small" 2>/dev/null; rm -rf "$T"' EXIT
	mkdir "$T/small/work" && cd "$T/small/work" || exit 1
	STEMMA_HOME=$T/small/record
}
# parts N MIB: files of so many MiB, each with other bytes.
parts()
{
	rm -rf "$STEMMA_HOME" f* && for i in $(seq "$1"); do head -c "$2"M /dev/urandom >"f$i"; done
}
change='for f in f*; do echo x 1<>$f; done'
if work_on_small; then
	parts 4 10
	cmd 0 run --keep-inputs -- sh -c "$change; head -c 28M /dev/zero >result && wc -c <result" && says "$out" 29360128 && says "$err" '4 inputs could not be kept'
	check 'copies leave the job its room: none of more than a tenth of what is free'
	rm -f result && parts 20 1
	cmd 0 run --keep-inputs -- sh -c "$change" && says "$err" 'inputs could not be kept' && n=$(find "$STEMMA_HOME/kept" -type f | wc -l) && [ "$n" -ge 3 ] && [ "$n" -le 8 ] && says "$err" "$((20 - n)) inputs could not"
	check 'all copies together take at most that, and what is kept takes its room once'
	parts 1 1 && head -c 200M /dev/zero >full 2>/dev/null
	truncate -s $(($(stat -c %s full) - 3500000)) full
	cmd 0 run --keep-inputs -- sh -c "cat f1 >/dev/null" && says "$err" '1 input could not be kept' && [ "$(find "$STEMMA_HOME/kept" -type f | wc -l)" = 0 ]
	check 'the last 5 % of the room are left alone also when the run has ended'
else
	skip 'copies leave the job its room' "no tmpfs can be mounted: $(head -n 1 "$T/why")"
fi
cd "$T" && umount "$T/small" 2>/dev/null
finish
