#!/bin/sh
# index and fsck: logs that are late, torn, damaged, newer, copied; an index that is damaged, newer, read-only, or wanted by many.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

make_history()
{
	history <<'END'
for i, letter in enumerate('ABC'):
    h = History('01' + letter * 24, argv=['step', letter], start=1000 * i, host='h%d' % i)
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['step', letter], exe='/opt/step')
    h.read(p, h.file('/w/%d' % i, ino=100 + i)); h.write(p, h.file('/w/%d' % (i + 1), ino=101 + i), size=i + 1); h.exit(p); h.end()
    h.save(home, evtext, 'late' if letter == 'B' else letter)
END
}
logs=$STEMMA_HOME/logs/h1/2026-01-01
everything() { cmd 0 lineage --json /w/3 && jq -S 'del(.omitted, .record, .executions[].completeness)' "$out"; }
make_history
mv "$logs/late.stl" "$T/late.stl"
cmd 0 index && says "$out" 'segments read' && cmd 0 lineage /w/3 && says_not "$out" '/w/1@'
check 'an index is made'
mv "$T/late.stl" "$logs/late.stl"
cmd 0 lineage --no-index /w/3 && says_not "$out" '/w/1@' && cmd 0 index --json && cp "$out" "$T/late-index.json" && cmd 0 lineage /w/3 && says "$out" '/w/0@{1}'
check 'a late log joins the ends; --no-index does not look'
everything >"$T/late.json"
# The late log's program and what it wrote; /w/2 had a version from nowhere, in whose place that is. All others were there.
cp "$T/late-index.json" "$out" && json '.new_versions == 2'
check 'a version is new if it was not there, however many its file had'
cmd 0 index --rebuild --json && json '.format == 1 and .segments == 3 and .events > 20' && everything >"$T/rebuilt.json" && cmp "$T/late.json" "$T/rebuilt.json"
check 'and a rebuilt index says the same'
cmd 0 index --json && json '.new_versions == 0 and .new_executions == 0'
check 'nothing new'
cp "$logs/A.stl" "$logs/again.stl"
everything >"$T/again.json" && cmp "$T/late.json" "$T/again.json"
check 'a log that is there twice changes nothing'
rm "$logs/again.stl" && cmd 0 index --rebuild
cmd 0 fsck && says "$err" 'no problems found' && [ ! -s "$out" ] && cmd 0 fsck --json && json '.findings == []'
check 'fsck finds nothing wrong'

head -c 100 "$logs/C.stl" >>"$logs/A.stl"
cmd 0 index --rebuild && cmd 0 lineage /w/3 && says "$out" '/w/0@{1}'
check 'a torn end: the rest is used'
make_history
size=$(wc -c <"$logs/late.stl")
$PYTHON -c "
import sys
p = sys.argv[1]; b = bytearray(open(p, 'rb').read()); b[len(b) // 2] ^= 4; open(p, 'wb').write(b + open(sys.argv[2], 'rb').read())" "$logs/late.stl" "$logs/C.stl"
cmd 0 index --rebuild --json && json ".skipped_bytes == $size" && cmd 0 lineage /w/3 && says "$out" '/w/2@{1}'
check 'a flipped bit: it is said, and the rest is used'
cmd 1 fsck && says "$out" 'late.stl' && cmd 1 fsck --json && json '(.findings | length) >= 1'
check 'fsck says where'
make_history
printf 'STL7\040\0\0\0' >"$logs/newer.stl"; head -c 80 /dev/zero >>"$logs/newer.stl"; cat "$logs/A.stl" >>"$logs/newer.stl"
: >"$logs/empty.stl"; echo 'no log at all, but long enough to hold a head of a block, at least so it seems' >"$logs/text.stl"; mkdir -p "$logs/folder.stl"; ln -s /nowhere "$logs/link.stl"
cmd 0 index --rebuild --json && json '.newer_frames == 1' && rm -f "$(jq -r .index "$out")" && cmd 0 log && says "$err" '1 frame of the logs from a newer version of stemma was skipped' && says "$err" 'hint: install the newer version' && cmd 1 fsck && says "$out" ': 1 block is of a newer stemma' && everything >"$T/odd.json" && cmp "$T/late.json" "$T/odd.json"
check 'newer, empty, foreign and strange files among the logs'
rm -rf "$logs/newer.stl" "$logs/empty.stl" "$logs/text.stl" "$logs/folder.stl" "$logs/link.stl"
rm "$logs/A.stl" && cmd 0 index --rebuild && cmd 0 lineage /w/3 && says "$out" '/w/1@{1}' && says_not "$out" '/w/0@'
check 'a log that is gone'
make_history

index=$(cmd 0 index --json; jq -r .index "$out")
spoil() { printf 'rubbish rubbish rubbish rubbish rubbish' | dd of="$index" conv=notrunc bs=1 seek="$1" 2>/dev/null; }
[ -f "$index" ] && spoil 0 && cmd 1 fsck && says "$out" 'the index is damaged' && lines "$out" 1 && cmd 125 log --no-index && says "$err" 'hint: stemma index --rebuild' &&
	cmd 0 log && lines "$out" 4 && says "$err" 'the index was damaged and has been rebuilt from the logs' && cmd 0 log && [ ! -s "$err" ]
check 'a damaged index: fsck says so, a question makes it again'
cp "$logs/C.stl" "$T/C.stl"
spoil 20000 && printf x | dd of="$logs/C.stl" conv=notrunc bs=1 seek=100 2>/dev/null && cmd 1 fsck && says "$out" 'the index is damaged' && says "$out" 'C.stl'
check 'with a damaged index fsck still checks the logs'
cp "$T/C.stl" "$logs/C.stl" && spoil 20000 && cmd 0 index --rebuild && cmd 0 fsck && cmd 0 log && lines "$out" 4
check 'index --rebuild mends it, too'
rm -f "$index"* && $PYTHON -c "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE files(id, pack)'); c.execute('PRAGMA application_id = 1398033729'); c.execute('PRAGMA user_version = 999'); c.commit()" "$index"
cmd 125 log && says "$err" 'was made by a newer version of stemma (format 999, this one knows' && says "$err" 'hint: ' && cmd 125 index && cmd 125 log --no-index && cmd 125 fsck
check 'an index of a newer stemma'
rm -f "$index"* && $PYTHON -c "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE files(id, pack)'); c.execute('PRAGMA application_id = 1398033729'); c.execute('PRAGMA user_version = 1'); c.commit()" "$index"
cmd 125 log --no-index && says "$err" 'older version of stemma' && says "$err" 'hint: ' && cmd 0 log && lines "$out" 4 && lines "$err" 1 && says "$err" 'of an older version of stemma has been rebuilt' && cmd 0 fsck && says_not "$err" 'older'
check 'an index of an older stemma is made again'
rm -f "$index"* && cmd 1 log --no-index && says "$err" 'hint: stemma index' && cmd 0 log && lines "$out" 4
check 'an index that is gone is made again, unless told not to look'
cmd 1 log --no-index --store "$T/nosuch"
check 'no record'
rm -f "$index"*
for i in 1 2 3 4 5 6; do "$STEMMA" log >"$T/log$i" 2>&1 & done
wait
other=
for i in 2 3 4 5 6; do cmp "$T/log1" "$T/log$i" || other="$other $i"; done >"$out" 2>&1
[ -z "$other" ] && lines "$T/log1" 4
check 'six at once make one index'
history <<'END'
h = History('01EEEEEEEEEEEEEEEEEEEEEEEE', argv=['many'], start=8000)
small = h.process(); h.exec(small, ['small'], exe='/opt/small'); h.write(small, h.file('/w/small'), size=1); h.exit(small)
p = h.process(); h.exec(p, ['many'], exe='/opt/many')
for i in range(4000):
    h.read(p, h.file('/w/many/%d' % i), bytes_read=1000000 + i)
h.write(p, h.file('/w/sum'), size=1); h.exit(p); h.end(); h.save(home, evtext, 'many')
END
cmd 0 lineage --json /w/sum && json '[.edges[] | select(.type == "used") | .bytes] | sort == [range(1000000; 1004000)]' &&
	cmd 0 lineage --json /w/small && json '[.executions[] | .argv[0]] == ["small"]' && cmd 0 fsck && says "$err" 'no problems found'
check 'a process that read more than a block of rows is kept for, and its neighbour'
rm "$logs/many.stl" && cmd 0 index --rebuild
if [ "$(id -u)" = 0 ]; then
	skip 'a record that cannot be written' 'root may write everything'
else
	history <<'END'
h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['later'], start=9000)
p = h.process(); h.exec(p, ['later'], exe='/opt/later'); h.exit(p); h.end(); h.save(home, evtext)
END
	chmod 500 "$STEMMA_HOME" && chmod 400 "$index"*
	cmd 0 log && lines "$out" 5 && [ "$(find "$HOME/.cache/stemma" -name index.db | wc -l)" = 1 ]
	check 'a record that cannot be written: the index is in the cache'
	chmod a-w "$HOME/.cache/stemma/"*/* "$HOME/.cache/stemma/"*
	cmd 0 log && lines "$out" 5 && says "$err" 'the index cannot be written, so each query makes it again in memory'
	check 'where that cannot be written either, it is made each time'
	chmod -R u+w "$HOME/.cache"
	chmod 700 "$STEMMA_HOME"
fi
finish
