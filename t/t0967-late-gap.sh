#!/bin/sh
# A part of the record of a run is indexed, with a run inside of it; that not all was seen is told only in the part that comes later.
# The run inside is as incomplete then as where both came at once.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

make_history()
{ # PART: 1 the beginning, 2 the gap and the end, 3 both; it is of the whole session, while the inner run was on
	history <<END
OUTER, INNER, OTHER = ('01%024d' % n for n in (7, 8, 9))
h = History(OUTER, argv=['outer'])
p = h.process(); h.exec(p, ['outer'], exe='/opt/outer')
q = h.process(parent=p); h.exec(q, ['inner'], exe='/opt/inner', run=INNER)
h.read(q, h.file('/w/in')); h.write(q, h.file('/w/out'), size=3); h.exit(q)
first = len(h.lines)
h.add('gap', reason=1, **{'from': T0}, text='made up')
h.exit(p); h.end()
lines = h.lines
inner = History(INNER, argv=['inner'], start=10) # which tells of its run alone, for the outer recorder sees its processes
inner.end(p=0)
inner.save(home, evtext, 'inner')
h.lines = {'1': lines[:first], '2': lines[first:], '3': lines}['$1']
h.save(home, evtext, 'part$1')
END
}
look()
{ # FILE: what is said of the inner run
	{
		"$STEMMA" log --json | tr -d ' \n' | grep -o '"id":"01000000000000000000000008".*"counts_complete":[a-z]*'
		"$STEMMA" stat --json 01000000000000000000000008
		"$STEMMA" trust --json 01000000000000000000000008
	} >"$1" 2>>"$err"
}
make_history 3
cmd 0 index && look "$T/whole" && says "$T/whole" '"counts_complete":false'
check 'both at once: what the run inside did is not complete'
rm -rf "${STEMMA_HOME:?}"/*
make_history 1
cmd 0 index && look "$T/first" && says "$T/first" '"outputs":1'
check 'the run inside is counted before the gap is there'
make_history 2
cmd 0 index && look "$T/late" && says "$T/late" '"counts_complete":false' && cmp "$T/whole" "$T/late" >>"$err"
check 'when the gap comes it is not'
cmd 0 fsck && says "$err" 'no problems found'
check 'fsck finds that what is kept is what the rows say'
finish
