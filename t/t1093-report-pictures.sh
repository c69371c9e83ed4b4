#!/bin/sh
# Pictures of report: programs over time, who reads what, series; as files, and in the page the lineage and the heat map.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZAAAA', argv=['./all.sh', '<b>&"'])
top = h.process(); h.exec(top, ['sh', './all.sh'], exe='/usr/bin/sh', script='/w/all.sh')
for i in range(50):
    p = h.process(top); h.exec(p, ['sort', '-o', 'mid%d' % i], exe='/usr/bin/sort')
    h.read(p, h.file('/w/raw/in%02d.txt' % i, size=3)); h.read(p, h.file('/w/ref.txt', size=3), sure=int(i != 5)); h.write(p, h.file('/w/mid%d.csv' % i), size=3); h.exit(p, code=int(i == 3))
m = h.process(top); h.exec(m, ['<img src=x>', '\x1b[1m\u202e'], exe='/usr/bin/join')
for i in range(50): h.read(m, h.file('/w/mid%d.csv' % i))
h.read(m, h.file(b'/w/<i>\xff', size=3))
h.write(m, h.file('/w/out'), size=3); h.exit(m); h.exit(top); h.end(); h.save(home, evtext)
END
# looks FILE <PYTHON: with doc, the picture, and its texts
looks()
{
	{
		echo "import json, re, sys, xml.dom.minidom; sys.path.insert(0, '$here/t'); T = '$T'; raw = open('$1', encoding='utf-8').read(); doc = xml.dom.minidom.parseString(raw.encode())"
		echo "said = lambda e: ''.join(c.data for c in e.childNodes if c.nodeType == c.TEXT_NODE)"
		echo "texts = [said(t) for t in doc.getElementsByTagName('text')]; rects = doc.getElementsByTagName('rect')"
		echo "assert not set('\x1b\u202e') & set(raw) and '<img' not in raw and '<i>' not in raw and 'prefers-color-scheme: dark' in raw"
		echo "assert not doc.getElementsByTagName('script') and not [a for e in doc.getElementsByTagName('*') for a in e.attributes.keys() if a.startswith('on') or a == 'href']"
		cat
	} >"$T/looks.py"
	$PYTHON -B "$T/looks.py" >"$out" 2>"$err"
}
cmd 0 report --picture gantt -o "$T/gantt.svg" @ && looks "$T/gantt.svg" <<'END'
bars = [r for r in rects if r.getAttribute('class').startswith('bar')]
assert len(bars) == 52 and sum('failed' in r.getAttribute('class') for r in bars) == 1, len(bars)
assert '52 programs' in texts and 'all.sh' in texts[0] and any('sort -o mid7' in t for t in texts) and any(t.startswith('did not end') for t in texts), texts
x = [float(r.getAttribute('x')) for r in bars]; y = [float(r.getAttribute('y')) for r in bars]
assert x == sorted(x) and y == sorted(y) and len(set(y)) == 52
END
check 'gantt: a bar for each program, in the order of their starts'
cmd 0 report --picture reads -o "$T/reads.svg" @ && looks "$T/reads.svg" <<'END'
cells = [r for r in rects if r.getAttribute('class').startswith('cell')]
assert 'raw/*.txt (50)' in texts and '*.csv (50)' in texts and 'ref.txt' in texts and texts.count('50') >= 3, texts
assert any('sort' == t for t in texts) and max(float(c.getAttribute('fill-opacity')) for c in cells) == 1
END
check 'reads: many files of a folder are a row'
cat >"$T/series.tsv" <<'END'
time	since	cores	memory_resident	bytes_read	processes
1767225601.0	0.0	0.5	1048576	0	1
1767225602.0	1.0	1.5	3145728	4096	3
1767225603.0	2.0		2097152	4096	2
END
cmd 0 report --picture series --series "$T/series.tsv" -o "$T/series.svg" @ && looks "$T/series.svg" <<'END'
curves = [p for p in doc.getElementsByTagName('path') if p.getAttribute('class') == 'curve']
assert len(curves) == 4 and 'Memory' in texts and 'Space on disk' not in texts, texts
assert [len(re.findall('[ML]', c.getAttribute('d'))) for c in curves] == [3, 2, 2, 3]  # what is not known has no point
END
check 'series: a panel for each figure that is known'
cmd 2 report --picture series -o "$T/no.svg" @ && says "$err" '--series FILE' && says_not "$err" 'Invalid argument' && [ ! -e "$T/no.svg" ] && cmd 2 report --picture pie -o "$T/no.svg" @ && says "$err" 'gantt, reads, series' && cmd 2 report --picture gantt --against @ -o "$T/no.svg" @ &&
	cmd 0 report --picture reads -o "$T/file.svg" /w/out && cmd 0 report --picture gantt -o "$T/file.svg" /w/out && [ "$(grep -c "class=\"bar" "$T/file.svg")" -ge 50 ]
check 'what cannot be meant; of a file'
STEMMA_HOME=$T/twice cmd 0 run -- sh -c 'for i in 1 2 3; do echo $i >two; read -r x <two; done; read -r x <two' &&
	STEMMA_HOME=$T/twice cmd 0 find "path two" && lines "$out" 3 && STEMMA_HOME=$T/twice cmd 0 report --picture reads -o "$T/twice.svg" @ && looks "$T/twice.svg" <<'END'
assert 'two' in texts and '1' in texts and not {'2', '3', '4'} & set(texts), texts
END
check 'reads: a program that used three versions of a file is one program'
cmd 0 report -o "$T/page.html" @ && cmd 0 lineage --json /w/out && {
	echo "import json, re, sys; sys.path.insert(0, '$here/t'); from report_data import *; T = '$T'"
	cat <<'END'
raw = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', open(T + '/page.html', encoding='utf-8').read(), re.S)[1])
p, r = raw['picture'], raw['reads']
drawn = [n for b in p['boxes'] if b['kind'] != 'frame' for n in b['nodes']]
assert len(drawn) == len(set(drawn)) and len(drawn) > 100 and len(p['boxes']) < 25, (len(drawn), len(p['boxes']))
assert sum(c[2] for c in r['cells']) == 50 + 50 + 50 + 1 + 1, r  # each use of a file once
assert [f for f in r['files'] if f['name'] == 'raw/*.txt' and f['files'] == 50 and f['readers'] == 50], r
assert not r['left_out_files'] and [g for g in r['programs'] if g['name'] == 'sort' and g['programs'] == 50]
END
} >"$T/page.py" && $PYTHON -B "$T/page.py" >"$out" 2>"$err"
check 'the page has the same: each node in one box, each use in one cell'

for chromium in chromium chromium-browser google-chrome none; do command -v $chromium >/dev/null 2>&1 && break; done
cat >"$T/browse.py" <<END
import json, sys; sys.path.insert(0, '$here/t')
from browser import *
with Browser('$chromium', '$T/profile', wait=60) as b:
    b.open('data:text/html,<title>works</title>')
    if b.eval('document.title') != 'works': sys.exit(7)
    b.open('file://$T/page.html#at=picture')
    b.until("document.querySelectorAll('#picture a').length > 5")
    assert b.eval("document.querySelectorAll('img, i, b, script').length") == 2, 'the two of the page'
    for width in (360, 1440):
        for dark in (False, True):
            b.size(width, 800); b.scheme(dark)
            wide = b.eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1], (width, wide)
    b.eval("document.querySelector('#picture a').focus()")
    b.key('Enter')
    b.until("!document.getElementById('details').hidden")
    name = b.eval("document.querySelector('#picture a title').textContent").split(' and ')[0].split(', ')[0]
    assert name in b.eval("document.getElementById('details-body').textContent"), name
    cells = b.eval("Array.from(document.querySelectorAll('#reads tbody tr'), (r) => [r.querySelector('th').textContent, ...Array.from(r.querySelectorAll('td'), (d) => d.textContent)])")
    assert [c for c in cells if c[0].startswith('raw/*.txt') and '50' in c[1:]], cells
    assert not b.said, b.said
END
if [ $chromium = none ]; then
	skip 'the page in a browser' 'there is no Chromium'
else
	$PYTHON -B "$T/browse.py" >"$out" 2>"$err"
	got=$?
	if [ $got = 7 ] || grep -q "says nothing\|has ended" "$err"; then
		skip 'the page in a browser' "Chromium cannot be driven here: $(tail -n 1 "$err")"
	else
		[ $got = 0 ]
		check 'in a browser: boxes are links to details, by keyboard; light and dark, 360 and 1440 pixels'
	fi
fi
finish
