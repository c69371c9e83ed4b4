#!/bin/sh
# Another file in the place of a log that is indexed: it is noticed, and answers are those of an index made anew. A log that
# only grew, or was only cut, is not taken for another one.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir "$T/made" "$T/sets"
# A: one run. B: another, of as many bytes. C: two more, and longer. D: less than A. AB: A, and after it B.
history <<END
import shutil
def one(letter, steps, start):
    h = History('01' + letter * 24, argv=['step', letter], start=start)
    p = h.process()
    h.exec(p, ['step', letter], exe='/opt/step')
    for k in range(steps):
        h.write(p, h.file('/w/%s%d' % (letter, k)), size=5)
    h.exit(p)
    h.end()
    return h
def put(name, *histories):
    lines = ''.join(json.dumps(line) + '\\n' for h in histories for line in h.lines)
    subprocess.run([evtext, 'make', '$T/made/' + name], input=lines.encode(), check=True)
put('A', one('A', 4, 100))
put('B', one('B', 4, 101))
put('C', one('C', 9, 200), one('E', 9, 300))
put('D', one('D', 1, 400))
END
cat "$T/made/A" "$T/made/B" >"$T/made/AB"
[ "$(stat -c %s "$T/made/A")" = "$(stat -c %s "$T/made/B")" ] && [ "$(stat -c %s "$T/made/C")" -gt "$(stat -c %s "$T/made/A")" ] &&
	[ "$(stat -c %s "$T/made/D")" -lt "$(stat -c %s "$T/made/A")" ]
check "the logs are of the sizes that are meant"

log=$STEMMA_HOME/logs/h1/2026-01-01/0.stl
mkdir -p "$STEMMA_HOME/logs/h1/2026-01-01"
chmod 700 "$STEMMA_HOME"
begin()
{ # NAME: a record with that log alone, which is indexed
	rm -rf "$STEMMA_HOME"/index* "$log"
	cp "$T/made/$1" "$log"
	cmd 0 index
}
index_inode()
{
	find "$STEMMA_HOME" -name 'index.db' -exec stat -c %i {} +
}
answers()
{ # FILE: all that is known, and what is said of it
	{
		"$STEMMA" log --json
		"$STEMMA" sql "SELECT path, versions FROM file ORDER BY path"
		"$STEMMA" sql "SELECT argv, began, ended FROM execution ORDER BY began"
		"$STEMMA" sql "SELECT count(*) FROM edge"
		"$STEMMA" lineage --json /w/B0
		"$STEMMA" lineage --json /w/C0
	} >"$1" 2>&1
}
as_anew()
{ # the answers are those of an index that is made anew
	answers "$T/now"
	cmd 0 index --rebuild
	answers "$T/anew"
	cmp "$T/now" "$T/anew" >>"$err" 2>&1 && return 0
	diff "$T/now" "$T/anew" >>"$err"
	return 1
}
by_name()
{ # another file takes the name
	cp "$T/made/$1" "$log.part"
	mv "$log.part" "$log"
}
in_place()
{ # the same file gets other bytes, and its old modification time
	touch -r "$log" "$T/when"
	cat "$T/made/$1" >"$log"
	touch -r "$T/when" "$log"
}
by_hand()
{ # removed, and a new one made at the path, which often gets the inode of the old one
	rm "$log"
	cat "$T/made/$1" >"$log"
}

for how in by_name in_place by_hand; do
	for what in B:as_long C:longer D:shorter; do
		begin A && "$how" "${what%:*}" && cmd 0 why "/w/${what%:*}0" && says "$out" "made by step ${what%:*}" && says "$err" '1 recording lacks a part of the log' &&
			cmd 1 why /w/A0 && as_anew
		check "replaced $how, ${what#*:}: its beginning is indexed, the old one's rows are gone, and that is said"
	done
done

begin A && old=$(index_inode) && in_place AB && cmd 0 why /w/B0 && says "$out" 'made by step B' && [ ! -s "$err" ] && cmd 0 why /w/A0 && as_anew
check "grown: what is new is indexed"
begin A && old=$(index_inode) && cat "$T/made/B" >>"$log" && cmd 0 why /w/B0 && [ "$(index_inode)" = "$old" ]
check "... and the index is not made anew"
begin A && old=$(index_inode) && chmod 600 "$log" && touch "$log" && cmd 0 why /w/A0 && [ "$(index_inode)" = "$old" ] && cp "$log" "$log.part" && mv "$log.part" "$log" &&
	cmd 0 why /w/A0 && [ ! -s "$err" ] && [ "$(index_inode)" = "$old" ] && as_anew
check "its mode, its times, or a copy in its place: the index is not made anew"
begin AB && old=$(index_inode) && cp "$T/made/A" "$log" && cmd 0 why /w/B0 && [ ! -s "$err" ] && [ "$(index_inode)" = "$old" ]
check "cut, with the same beginning: what the index knows is not doubted"
begin AB && by_name A && cat "$T/made/C" >>"$log" && cmd 0 why /w/C0 && says "$out" 'made by step C' && as_anew
check "an older copy of the log, to which others were added: all of these are indexed"
begin A && : >"$log" && cmd 0 why /w/A0 && cat "$T/made/C" >"$log" && cmd 0 why /w/C0 && cmd 0 why /w/E0 && [ ! -s "$err" ]
check "emptied, then written anew: from its beginning"

# ---- what rewrites segments itself ----

begin AB && cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && [ ! -s "$err" ] && cmd 0 why /w/B0 && [ ! -s "$err" ] && cmd 1 why /w/A0 && as_anew && says_not "$T/now" lacks
check "forget: nothing counts as lost"
begin AB && cp "$log" "$T/before" && cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cp "$log" "$T/after" && begin AB && cp "$T/after" "$log.part" && mv "$log.part" "$log" &&
	cmd 0 why /w/B0 && says_not "$err" lacks && cmd 1 why /w/A0 && as_anew && says_not "$T/now" lacks
check "... and not for who asks before forget has made the index anew"
finish
