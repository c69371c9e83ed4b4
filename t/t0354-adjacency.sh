#!/bin/sh
# The edges that lie beside the index: private, whole or not used, gone with what they were made of; the same answers always.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export STEMMA_ADJACENCY=all

edges=$STEMMA_HOME/index.db.edges
make_history()
{ # FIRST LAST: runs, each of which reads what the one before it wrote
	history <<END
for i in range($1, $2 + 1):
    h = History('01%024d' % i, argv=['step', str(i)], start=1000 * i)
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['step', str(i)], exe='/opt/step')
    h.read(p, h.file('/w/%d' % i, ino=100 + i)); h.write(p, h.file('/w/%d' % (i + 1), ino=101 + i), size=i + 1); h.exit(p); h.end()
    h.save(home, evtext, 'log%d' % i)
END
}
answers()
{ # FILE
	{
		"$STEMMA" lineage --json /w/9
		"$STEMMA" lineage --json --all /w/9
		"$STEMMA" lineage --json --down /w/1
		"$STEMMA" why --json /w/9
		"$STEMMA" find --json 'into /w/9'
	} >"$1" 2>"$err"
}
same()
{ # the answers are those that the index gives
	answers "$T/with"
	STEMMA_ADJACENCY=off answers "$T/without"
	cmp "$T/with" "$T/without" >>"$err" 2>&1 && [ -s "$T/with" ] && cmp "$T/first" "$T/with" >>"$err" 2>&1
}
segments() { find "$edges" -type f 2>/dev/null | sort; }
files() { find "$edges" -name 'files-*' | head -n 1; }

make_history 1 8
STEMMA_ADJACENCY=off answers "$T/first" && [ ! -e "$edges" ] && says "$T/first" '"executions"' '/w/1'
check 'nothing is made where it is switched off'
rm -rf "$STEMMA_HOME"/index*
cmd 0 index && [ "$(segments | wc -l)" = 2 ] && same
check 'a segment of files and one of processes are made; answers are the same'
[ "$(stat -c %a "$edges")" = 700 ] && [ "$(segments | xargs stat -c %a | sort -u)" = 600 ] && [ -z "$(find "$edges" -name '*.new')" ]
check 'they are private, and nothing half-made is left'
cmd 0 fsck && says "$err" 'no problems found'
check 'fsck finds them as the rows are'

segments >"$T/before"
make_history 9 9
STEMMA_ADJACENCY=off cmd 0 index && segments | cmp - "$T/before" && rm "$T/first" && STEMMA_ADJACENCY=off answers "$T/first" && cp "$T/first" "$T/nine" && same && says "$T/first" '/w/10'
check 'what was indexed since is read from the index, and the segments stay as they are'
cmd 0 fsck && make_history 10 10 && cmd 0 index && STEMMA_ADJACENCY=off answers "$T/first" && same && [ "$(segments | wc -l)" = 2 ] && ! segments | cmp -s - "$T/before" && cmd 0 fsck
check 'and then others take their place'

# Damage: a bit of each part, an end, nothing at all, another segment's bytes. The same answers; and it is made again.
"$PYTHON" -B - "$edges" >"$out" 2>"$err" <<'END'
import os, sys
print(min(os.path.getsize(os.path.join(sys.argv[1], n)) for n in os.listdir(sys.argv[1])))
END
size=$(cat "$out")
damaged=0 dropped=0
for at in 0 9 20 40 60 70 75 100 120 $((size / 2)) $((size - 9)) $((size - 1)); do
	for f in $(segments); do
		cp "$f" "$T/whole"
		"$PYTHON" -B -c "
import sys
p, at = sys.argv[1], int(sys.argv[2])
b = bytearray(open(p, 'rb').read()); b[at] ^= 4; open(p, 'wb').write(b)" "$f" "$at"
		damaged=$((damaged + 1))
		same || break 2
		[ -e "$f" ] || dropped=$((dropped + 1))
		cp "$T/whole" "$f"
		chmod 600 "$f"
	done
done
[ $damaged = 24 ] && same
check 'a bit that is other, anywhere: the same answers'
[ $dropped -gt 0 ]
check 'a segment is taken away when its rows are found damaged: so it was read'
for what in cut empty longer other link fifo folder foreign; do
	rm -rf "$STEMMA_HOME"/index*
	cmd 0 index
	f=$(files)
	case $what in
	cut) truncate -s -1 "$f" ;;
	empty) : >"$f" ;;
	longer) echo >>"$f" ;;
	other) cp "$(find "$edges" -name 'processes-*')" "$f" ;;
	link) mv "$f" "$T/elsewhere" && ln -s "$T/elsewhere" "$f" ;;
	fifo) rm "$f" && mkfifo "$f" ;;
	folder) rm "$f" && mkdir "$f" ;;
	foreign) mv "$edges" "$T/edges" && ln -s "$T/edges" "$edges" ;;
	esac
	STEMMA_ADJACENCY=off answers "$T/first" && same || break
	rm -rf "$T/edges" "$edges"
done
check "a segment that is $what, or worse: the same answers"

rm -rf "$STEMMA_HOME"/index*
cmd 0 index
cp -r "$edges" "$T/old"
make_history 11 11
cmd 0 index --rebuild
cp -p "$T/old"/* "$edges"/
STEMMA_ADJACENCY=off answers "$T/first" && same && cmd 0 fsck
check 'segments of another index count for nothing, whatever they are called'

segments >"$T/before"
cmd 0 forget "@" && segments >"$T/after" && ! grep -qxFf "$T/before" "$T/after"
check 'forget leaves no segment of what was there before'
cmd 0 index && STEMMA_ADJACENCY=off answers "$T/first" && same && cmd 0 fsck && says_not "$T/first" '/w/12'
check 'and what was forgotten is in no answer'
finish
