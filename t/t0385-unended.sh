#!/bin/sh
# A recording without an end: it goes on still, its recorder was killed, or its log was cut at the end of a frame before it was
# indexed. Every answer that rests on it says so, as text and as JSON; none that does not does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
def one(letter, start, reads, writes, ends):
    h = History('01' + letter * 24, argv=['step', letter], start=start)
    p = h.process()
    h.exec(p, ['step', letter], exe='/opt/step')
    for path, ino in reads:
        h.read(p, h.file(path, ino=ino))
    for path, ino in writes:
        h.write(p, h.file(path, ino=ino), size=1)
    h.exit(p)
    if ends:
        h.end()
    h.save(home, evtext, letter)
one('A', 0, [('/w/in', 10)], [('/w/cut', 11)], False)
one('B', 100, [('/w/cut', 11)], [('/w/after', 12)], True)
one('C', 200, [('/w/in', 10)], [('/w/apart', 13)], True)
END
a=01AAAAAAAAAAAAAAAAAAAAAAAA b=01BBBBBBBBBBBBBBBBBBBBBBBB c=01CCCCCCCCCCCCCCCCCCCCCCCC
sentence='the recording has no end: it continues, or was cut off'

cmd 0 why /w/cut && says "$out" 'record incomplete' && cmd 0 why --json /w/cut && json '.answers[0].makers[0].completeness == ["unended"]'
check "why"
cmd 0 show $a && says "$out" "$sentence" && cmd 0 show --json $a && json '.things[0].completeness == ["unended"]'
check "show"
cmd 0 lineage /w/cut && says "$out" "$sentence" && cmd 0 lineage /w/after && says "$out" "$sentence" && cmd 0 lineage --json /w/after && json '[.executions[] | .completeness[]] == ["unended"]'
check "lineage, of what came from it too"
cmd 0 stat $a && says "$out" "the record is incomplete: more may have been read" && cmd 0 stat --json $a && json '.unseen == ["unended"]'
check "stat"
cmd 0 find path '/w/*' && says "$err" "1 of these are from runs that still continue" && cmd 0 find --json path '/w/*' && json '[.entities[] | select(.completeness == ["unended"]).path] == ["/w/cut"]' &&
	cmd 0 find --runs used /w/in && says "$err" "1 of these are from runs that still continue" && cmd 0 find --json --runs used /w/in && json '[.runs[] | select(.completeness == ["unended"]).id] == ["'$a'"]' &&
	cmd 0 find --execs used /w/in && says "$err" "1 of these are from runs that still continue" && cmd 0 find --json --execs used /w/in && json '[.executions[] | select(.completeness == ["unended"]).run] == ["'$a'"]'
check "find: files, runs and executions"
cmd 1 diff $a $c && says "$out" "the record of A is incomplete: $sentence" && cmd 1 diff --json $a $c && json '.a.completeness == ["unended"] and .b.completeness == []'
check "diff"
cmd 0 sql "SELECT reason FROM gap" && sed 1d "$out" >"$T/n" && is "$T/n" unended && cmd 0 export -f prov-json /w/cut && says "$out" unended && cmd 0 log && says "$out" '?'
check "sql, export, log"
cmd 0 show $c && says_not "$out" 'no end' && cmd 0 lineage /w/apart && says_not "$out" 'no end' && cmd 0 stat $c && says_not "$out" 'could be seen' && cmd 0 find made /w/apart && [ ! -s "$err" ] &&
	cmd 1 diff $b $c && says_not "$out" 'no end' && cmd 0 why /w/apart && says_not "$out" incomplete
check "nothing is said of recordings that end"
# A gap of a whole session is of what was made then, and not of what was made later by who lived on.
history <<'END'
h = History('01GGGGGGGGGGGGGGGGGGGGGGGG', argv=['./loop'], start=90000)
p = h.process(); h.exec(p, ['./loop'], exe='/w/loop')
h.write(p, h.file('/w/gap-before', size=5))
began = h.now
during = h.write(p, h.file('/w/gap-during', size=5))
h.add('gap', reason=1, count=7, at=h.now, text='events of files: lost', **{'from': began + SECOND})
h.now += 100 * SECOND
h.write(p, h.file('/w/gap-after', size=5))
h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 why /w/gap-during && says "$out" 'record incomplete' && cmd 0 why /w/gap-after && says_not "$out" incomplete && cmd 0 why /w/gap-before && says_not "$out" incomplete
check 'a gap marks what was made in it'
finish
