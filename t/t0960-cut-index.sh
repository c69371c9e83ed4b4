#!/bin/sh
# Files of the index that somebody makes shorter while a question reads them: no question ends by a signal, and each answer is
# whole and right.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export STEMMA_ADJACENCY=all

if grep -q -e __tsan_init -e __asan_init "$STEMMA"; then
	echo "1..0 # SKIP a sanitizer's own library must come before the one that cuts files"
	exit 0
fi
history <<'END_OF_HISTORY'
for i in range(1, 9):
    h = History('01%024d' % i, argv=['step', str(i)], start=1000 * i)
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['step', str(i)], exe='/opt/step')
    h.read(p, h.file('/w/%d' % i, ino=100 + i)); h.write(p, h.file('/w/%d' % (i + 1), ino=101 + i), size=i + 1); h.exit(p); h.end()
    h.save(home, evtext, 'log%d' % i)
END_OF_HISTORY
cmd 0 index
cmd 0 lineage --json /w/9
cp "$out" "$T/whole"
cp -r "$STEMMA_HOME" "$T/kept"

# Each question, with the N-th look at such a file as the last one before the file is empty.
cut_at()
{ # WORD N MAY: 0 the answer is whole; 125 or 1 are no answer. Counts cuts in $cuts
	rm -rf "$STEMMA_HOME"
	cp -r "$T/kept" "$STEMMA_HOME"
	echo >"$T/once"
	LD_PRELOAD=$CUT_FILE CUT_NAME=$1 CUT_AT=$2 CUT_ONCE=$T/once "$STEMMA" lineage --json /w/9 >"$out" 2>"$err"
	status=$?
	[ -e "$T/once" ] || cuts=$((cuts + 1))
	[ $status = 0 ] && cmp -s "$out" "$T/whole" && return
	echo "$1, look $2: status $status" >>"$T/wrong"
	cat "$err" >>"$T/wrong"
}
for word in index.db.edges/ index.db-shm index.db; do
	cuts=0
	: >"$T/wrong"
	for n in 1 2 3 4 5 6 7 8; do
		cut_at $word $n
	done
	cp "$T/wrong" "$err"
	[ $cuts -gt 0 ] && [ ! -s "$T/wrong" ]
	check "$word is emptied while it is read, in $cuts ways: the answer is the same"
done

# What has been printed cannot be taken back.
rm -rf "$STEMMA_HOME"
cp -r "$T/kept" "$STEMMA_HOME"
echo >"$T/once"
LD_PRELOAD=$CUT_FILE CUT_NAME=index.db CUT_AT=1 CUT_ONCE=$T/once "$STEMMA" export -f prov-json /w/9 >"$out" 2>"$err"
status=$?
[ ! -e "$T/once" ] && { [ $status = 0 ] || { [ $status = 125 ] && says "$err" 'index'; }; }
check 'an export ends by no signal either'
finish
