#!/bin/sh
# stemma report in a browser: the page shows what it holds, by mouse, keys and address, loads nothing and executes nothing of the record, fits
# narrow screens, and is light or dark as is wished. The data itself is in t0880.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for chromium in chromium chromium-browser google-chrome none; do command -v $chromium >/dev/null 2>&1 && break; done
if [ $chromium = none ]; then
	echo '1..0 # SKIP there is no Chromium'
	exit 0
fi
cat >"$T/works.py" <<END
import sys; sys.path.insert(0, '$here/t')
from browser import *
with Browser('$chromium', '$T/profile', wait=60) as b:
    b.open('data:text/html,<title>works</title>')
    sys.exit(b.eval('document.title') != 'works')
END
if ! $PYTHON -B "$T/works.py" >"$out" 2>"$err"; then
	echo "1..0 # SKIP Chromium cannot be driven here: $(tail -n 1 "$err")"
	exit 0
fi
# browse FILE: Python with the browser b and the page FILE open in it
browse()
{
	{
		echo "import json, os, re, sys; sys.path.insert(0, '$here/t'); from browser import *; from report_data import *"
		echo "url, here, T = 'file://$1', '$here', '$T'"
		echo "def texts(selector): return b.eval('Array.from(document.querySelectorAll(' + json.dumps(selector) + '), (e) => e.textContent)')"
		echo "with Browser('$chromium', '$T/profile') as b:"
		echo "    b.open(url)"
		sed 's/^/    /'
	} >"$T/browse.py"
	$PYTHON -B "$T/browse.py" >"$out" 2>"$err"
}

history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZAAAA', argv=['./first.sh'], user='ann', host='h1')
p = h.process(); h.exec(p, ['sh', './first.sh'], exe='/usr/bin/sh', script='/w/first.sh', env=['LANG=C', 'OMP_NUM_THREADS=4'])
a = h.process(p); h.exec(a, ['sort', '-o', 'mid.txt', 'in.txt'], exe='/usr/bin/sort')
h.read(a, h.file('/w/in.txt', size=30)); h.write(a, h.file('/w/mid.txt'), size=30); h.exit(a)
b = h.process(p); h.exec(b, ['uniq', 'mid.txt'], exe='/usr/bin/uniq')
h.read(b, h.file('/w/mid.txt')); h.read(b, h.file('/w/may.cfg', size=4), sure=0); h.write(b, h.file('/w/out.txt'), size=10); h.exit(b)
c = h.process(p); h.exec(c, ['grep', 'nothing', 'in.txt'], exe='/usr/bin/grep'); h.read(c, h.file('/w/in.txt')); h.add('gap', p=c, reason=2, count=1); h.exit(c, code=1)
h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 report -o "$T/run.html" @ && cmd 0 report -o "$T/file.html" /w/out.txt && cmd 0 lineage /w/out.txt && grep -o '[^ ─├└│?]*@{1}\|sort .* in.txt\|uniq mid.txt' "$out" | sort -u >"$T/tree" && browse "$T/file.html" <<'END'
names = [re.match(r'(\?possible )?(.*)', t)[2] for t in texts('[role=treeitem] bdi')]
want = {l.rstrip('\n').split('/')[-1].strip() for l in open(T + '/tree')}
assert {n.split('/')[-1] for n in names} == want and len(want) == 6, (names, want)
levels = b.eval("Array.from(document.querySelectorAll('[role=treeitem]'), (e) => [e.querySelector('bdi').textContent, Number(e.getAttribute('aria-level'))])")
assert ['out.txt@{1}', 1] in levels and ['uniq mid.txt', 2] in levels and ['mid.txt@{1}', 3] in levels and ['in.txt@{1}', 5] in levels, levels
assert b.eval("document.title") == 'out.txt@{1} - stemma report'
[may] = [t for t in texts('[role=treeitem]') if 'may.cfg' in t]
assert 'possible' in may and not [t for t in texts('[role=treeitem]') if 'mid.txt@' in t and 'possible' in t]
assert not b.said, b.said
assert {a.split(':')[0] for a in b.asked} <= {'file', 'about', 'data'} and len([a for a in b.asked if a.startswith('file')]) == 1, b.asked
END
check 'the tree is that of stemma lineage; nothing is loaded, no error, no violation of the policy'
browse "$T/run.html" <<'END'
head = b.eval("document.getElementById('complete').textContent")
assert head.startswith('Not complete') and 'io_uring' in head and 'grep nothing in.txt' in head, head
place = b.eval("[document.getElementById('complete'), document.getElementById('overview')].map((e) => e.getBoundingClientRect().top)")
assert place[0] < place[1]
over = b.eval("document.getElementById('overview').textContent")
for word in ('./first.sh', 'ann', 'h1:/w', 'Results (1) out.txt@{1}', '/usr/bin/sort', '01HZZZZZZZZZZZZZZZZZZZAAAA', 'ended well (0)'):
    assert word in over, (word, over)
rows = texts('#programs tbody tr')
assert len(rows) == 4 and [r for r in rows if 'grep nothing in.txt' in r and 'exit 1' in r], rows
assert 'OMP_NUM_THREADS' in texts('#settings tbody tr')[-1] and len(texts('#files tbody tr')) == 5, texts('#files tbody tr')
END
check 'the top says what is missing; overview, tables and settings'
browse "$T/run.html" <<'END'
b.eval("document.querySelector('#programs thead th:nth-child(1) button').click()")
b.until("document.querySelector('#programs th[aria-sort]').textContent.startsWith('Command')")
first = texts('#programs tbody tr th')
assert first == sorted(first) and 'programs=command' in b.eval('location.hash'), first
b.eval("document.getElementById('q').focus()")
b.type('MID sort')
b.until("location.hash.includes('q=MID')")
assert texts('.hits bdi') == ['sort -o mid.txt in.txt'], texts('.hits bdi')
b.until("document.querySelectorAll('#programs tbody tr').length === 1")
b.click('#reset')
b.until("document.querySelector('[role=tree]') !== null")
for select, value, want in (('sure', 'no', {'may.cfg@{1}'}), ('of', 'source', {'in.txt@{1}', 'may.cfg@{1}', 'first.sh@{1}'}), ('of', 'failed', {'grep nothing in.txt'})):
    b.eval(f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.getElementById('{select}'))")
    b.until(f"location.hash.includes('{select}={value}') && document.querySelector('.hits') !== null")
    assert set(texts('.hits bdi')) == want, (select, texts('.hits bdi'))
    b.eval("document.getElementById('reset').click()")
    b.until("document.querySelector('[role=tree]') !== null")
b.open(url + '#from=2026-01-01T00:00:20&to=2026-01-01T00:00:40')
inside = texts('.hits bdi')
assert inside and len(inside) < 9, inside
assert not b.said, b.said
END
check 'search, filters and sorting, and the address follows'
browse "$T/file.html" <<'END'
b.eval("document.querySelector('[role=treeitem]').focus()")
at = lambda: b.eval("document.activeElement.querySelector('bdi').textContent")
count = lambda: b.eval("document.querySelectorAll('[role=treeitem]').length")
assert at() == 'out.txt@{1}' and b.eval("document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length") == 1
all_ = count()
b.key('ArrowDown')
assert at() == 'uniq mid.txt'
b.key('ArrowLeft')
b.until(f"document.querySelectorAll('[role=treeitem]').length < {all_}")
assert at() == 'uniq mid.txt' and count() == 2 and b.eval("document.activeElement.getAttribute('aria-expanded')") == 'false'
b.until("location.hash.includes('open=')")
b.key('ArrowRight')
b.until(f"document.querySelectorAll('[role=treeitem]').length === {all_}")
b.key('End')
last = at()
b.key('Home')
assert at() == 'out.txt@{1}' and last != 'out.txt@{1}'
b.key('ArrowDown')
b.key('Enter')
b.until("!document.getElementById('details').hidden")
details = b.eval("document.getElementById('details').textContent")
for word in ('uniq mid.txt', '/usr/bin/uniq', 'ann@h1', 'Used (', 'Made (1)', 'LANG=C', 'Process'):
    assert word in details or word == 'LANG=C', (word, details)
address = b.eval('location.href')
b.key('Escape')
b.until("document.getElementById('details').hidden")
assert at() == 'uniq mid.txt'
b.open(address)
assert b.eval("document.getElementById('details').textContent") == details, 'the address shows the same'
b.eval("document.getElementById('fold').click()")
b.until("document.querySelectorAll('[role=treeitem]').length === 1")
b.eval("document.getElementById('unfold').click()")
b.until(f"document.querySelectorAll('[role=treeitem]').length === {all_}")
b.eval("Array.from(document.querySelectorAll('[role=treeitem] bdi')).find((e) => e.textContent === 'mid.txt@{1}').click()")
b.until("document.getElementById('details').textContent.includes('/w/mid.txt')")
assert not b.said, b.said
END
check 'keys fold, unfold, open and close; the address shows the same'
browse "$T/run.html" <<'END'
seen = {}
for dark in (False, True):
    b.scheme(dark)
    for width in (360, 1440):
        b.size(width, 800)
        b.open(url + '#at=overview')
        wide = b.eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide[0] <= wide[1], (dark, width, wide)
        seen[dark] = b.eval("['backgroundColor', 'color'].map((k) => getComputedStyle(document.body)[k])")
assert seen[False] != seen[True] and seen[False][0] == 'rgb(255, 255, 255)', seen
def light(c):
    v = [int(n) / 255 for n in re.findall(r'\d+', c)[:3]]
    return sum(k * (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4) for k, x in zip((0.2126, 0.7152, 0.0722), v))
pairs = """Array.from(document.querySelectorAll('.dim, .note, a, .maybe, .bad, .good, .state, th button, dt, .kind'), (e) => {
    let back = e; while (back && getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
    return [e.className || e.tagName, getComputedStyle(e).color, back ? getComputedStyle(back).backgroundColor : 'rgb(255, 255, 255)']; })"""
for dark in (False, True):
    b.scheme(dark)
    for what, a, back in b.eval(pairs):
        x, y = sorted((light(a), light(back)))
        assert (y + 0.05) / (x + 0.05) >= 4.5, ('contrast', dark, what, a, back)
b.size(1440, 900)
b.scheme(False)
assert b.eval("Array.from(document.querySelectorAll('input, select')).every((e) => e.labels.length)"), 'each field has a label'
assert b.eval("Array.from(document.querySelectorAll('table')).every((e) => e.caption && e.querySelectorAll('thead th[scope=col]').length)")
assert b.eval("['header', 'nav', 'main', 'footer', 'aside'].every((t) => document.querySelectorAll(t).length === 1)") and b.eval("document.documentElement.lang") == 'en'
ids = b.eval("Array.from(document.querySelectorAll('[id]'), (e) => e.id)")
assert len(ids) == len(set(ids))
paper = len(b.call('Page.printToPDF')['data'])
assert paper > 10000 and b.eval("document.querySelectorAll('[role=treeitem]').length") > 3
END
check 'light and dark, 360 and 1440 pixels, contrast, labels, landmarks; it can be printed'

# ---- of two runs ----

rm -rf "$STEMMA_HOME"
cmd 0 run -q -- sh -c 'echo b >a.txt; echo a >>a.txt' && cmd 0 run -q -- sh -c 'sort a.txt >b.txt; cat b.txt /etc/hostname >c.txt' && cmd 0 show --json @ && [ "$(jq '.things[0].used | length' "$out")" -gt 0 ]
if [ $? != 0 ]; then
	skip 'inputs of a run' 'nothing can be recorded here'
else
	jq -r '.things[0].used[] | .path' "$out" | sort >"$T/used" && cmd 0 report -o "$T/two.html" @ && browse "$T/two.html" <<'END'
rows = b.eval("Array.from(document.querySelectorAll('#files tbody tr'), (r) => [r.querySelector('a').textContent, r.children[1].textContent])")
roles = {name.split('@')[0].split('/')[-1]: role for name, role in rows}
assert roles['a.txt'] == 'input' and roles['c.txt'] == 'result' and roles['b.txt'] == 'between', roles
used = {l.strip().split('/')[-1] for l in open(T + '/used')}
assert {n for n, r in roles.items() if r == 'input'} == used, (roles, used)
assert any(t.startswith('a.txt@') for t in texts('#overview .pair li bdi'))
END
	check 'inputs of a run are those of show, whoever made them'
fi

# ---- names are hostile ----

rm -rf "$STEMMA_HOME"
cat >"$T/names.py" <<'END'
names = [b'<img src=x onerror="document.title=1;window.RAN=1">', b'</script><script>window.RAN=1</script>', b'<!--<script>', b'"><svg onload=window.RAN=1>', b'a\nb\tc\x1b]0;x\x07', '\u202egnp.exe\u202c'.encode(), '\u2066\u200f\u2028\ufeff'.encode(), b'\xff\xfe', b'__proto__', b'javascript:window.RAN=1']
END
history <<END
exec(open('$T/names.py').read())
h = History('01HZZZZZZZZZZZZZZZZZZZCCCC', argv=['run'] + names, user='<b>ann</b>', host='</script><img src=x onerror=window.RAN=1>')
p = h.process(); h.exec(p, ['tool'] + names, exe='/usr/bin/tool', env=[b'E=' + n for n in names])
for n in names:
    h.read(p, h.file(b'/w/' + n, size=3)); h.write(p, h.file(b'/w/' + n + b'.out'), size=4)
h.exit(p); h.end(); h.save(home, evtext)
END
"$STEMMA" note @ '<img src=x onerror=window.RAN=1>' >"$out" 2>"$err" && cmd 0 report -o "$T/hostile.html" @ && browse "$T/hostile.html" <<'END'
exec(open(T + '/names.py').read())
count = b.eval("document.querySelectorAll('*').length")
for fragment in ('', '#q=img', '#open=all&at=files', '#node=<img src=x onerror=window.RAN=1>', '#q=<img src=x onerror=window.RAN=1>&files=<b>&stage=x&open=</script>&at=__proto__'):
    b.open(url + fragment)
    b.eval("Array.from(document.querySelectorAll('#files tbody a')).forEach((a) => a.click())")
    assert b.eval("typeof window.RAN") == 'undefined' and b.eval("document.querySelectorAll('img, iframe, object, embed, link, base, main > :not(#resources, #picture) svg, svg script, svg image, svg use, svg foreignObject').length") == 0, fragment
    assert b.eval("document.querySelectorAll('script').length") == 2 and b.eval("document.querySelectorAll('b, i').length") == 0, fragment
    assert b.eval("Array.from(document.querySelectorAll('*')).every((e) => Array.from(e.attributes).every((a) => !a.name.startsWith('on') && !/javascript:/.test(a.value)))"), fragment
    shown = b.eval("Array.from(document.body.children).filter((e) => e.tagName !== 'SCRIPT').map((e) => e.textContent).join('')")
    assert not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]', shown), fragment
    assert not [s for s in b.said if 'Refused' in s or 'Error' in s], b.said
b.open(url)
names_shown = set(texts('#files tbody th bdi'))
for want in ('<img src=x onerror="document.title=1;window.RAN=1">@{1}', '</script><script>window.RAN=1</script>.out@{1}', 'a\\nb\\tc\\x1b]0;x\\x07@{1}', '\\xe2\\x80\\xaegnp.exe\\xe2\\x80\\xac@{1}', '\\xff\\xfe@{1}', '__proto__@{1}'):
    assert want in names_shown or want.split('/')[-1] in {n.split('/')[-1] for n in names_shown}, (want, names_shown)
assert len(b.eval("Array.from(document.querySelectorAll('#settings tbody tr'), (e) => e.textContent)")) >= len(names)
assert {a.split(':')[0] for a in b.asked} <= {'file', 'about', 'data'}, b.asked
END
check 'hostile names are shown as the commands write them, and nothing of them is executed or loaded'

# ---- large ----

rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZFFFF', argv=['make'])
top = h.process(); h.exec(top, ['make'], exe='/usr/bin/make')
for i in range(700):
    p = h.process(top); h.exec(p, ['step', str(i)], exe='/usr/bin/step')
    h.read(p, h.file('/w/f%d' % i, size=None if i else 1)); h.write(p, h.file('/w/f%d' % (i + 1)), size=2); h.exit(p)
h.exit(top); h.end(); h.save(home, evtext)
END
cmd 0 report -o "$T/large.html" /w/f700 && browse "$T/large.html" <<'END'
assert b.eval("document.querySelectorAll('[role=treeitem]').length") <= 10, 'it starts folded'
b.open(url + '#open=all')
n = b.eval("document.querySelectorAll('[role=treeitem]').length")
assert 10 < n <= 300, n
cmd = "Array.from(document.querySelectorAll('#programs tbody tr')).length"
assert b.eval(cmd) <= 100
END
check 'a large lineage starts folded, and rows come by the hundred'
browse "$T/large.html" <<'END'
options = texts('#stage option')
assert len(options) == 701 and options[0] == 'all' and options[1].startswith('target '), options[:3]
b.open(url + '#stage=5')
hits = texts('.hits bdi')
assert len(hits) == 2 and hits[0].startswith('f') and hits[1].startswith('step '), hits
END
check 'stages of a workflow can be chosen'
cmd 0 report --nodes 9 -o "$T/cut.html" /w/f700 && browse "$T/cut.html" <<'END'
assert 'left out of this page' in b.eval("document.getElementById('complete').textContent")
b.open(url + '#of=source')
assert texts('.hits bdi') == [], 'a file whose maker is left out is no input'
b.open(url + '#open=all')
assert 'who made it is left out' in texts('[role=treeitem]')[-1], texts('[role=treeitem]')
END
check 'what is left out is said where it is missing'
finish
