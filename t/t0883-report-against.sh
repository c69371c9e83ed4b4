#!/bin/sh
# stemma report --against: what differs is what stemma diff says, with the lines of the source where programs were traced.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

reader()
{
	{
		echo "import json, re, sys; sys.path.insert(0, '$here/t'); from report_data import *"
		echo "r, T = Report('$T/page.html'), '$T'; j = json.load(open('$T/json'))"
		cat
	} >"$T/reader.py"
	$PYTHON -B "$T/reader.py" >"$out" 2>>"$err"
}
for chromium in chromium chromium-browser google-chrome none; do command -v $chromium >/dev/null 2>&1 && break; done
# browse WHAT: Python with the page open in b, as a check; skipped without a browser
browse()
{
	{
		echo "import re, sys; sys.path.insert(0, '$here/t'); from browser import *"
		echo "try: b = Browser('$chromium', '$T/profile')"
		echo 'except (EOFError, TimeoutError, OSError): sys.exit(77)'
		echo 'with b:'
		echo "    b.open('file://$T/page.html')"
		sed 's/^/    /'
		echo '    assert not b.said, b.said'
	} >"$T/browse.py"
	$PYTHON -B "$T/browse.py" >"$out" 2>"$err"
	browsed=$?
	if [ $browsed = 77 ]; then
		skip "$1" 'no Chromium can be driven here'
	else
		[ $browsed = 0 ]
		check "$1"
	fi
}

history <<'END'
bad = ['<img src=x onerror=window.RAN=1>', '</script><script>window.RAN=1</script>', '\u202eevil', 'a\nb']
inodes = {}
def one(ulid, start, order, sizes, extra):
    h = History(ulid, argv=['./fit.sh', order] + bad, start=start)
    p = h.process(); h.exec(p, ['sh', './fit.sh', order], exe='/usr/bin/sh', script='/w/fit.sh', env=['ORDER=' + order])
    for i, n in enumerate(['in.csv'] + bad):
        ino = inodes.setdefault(n, 500 + i)
        a = h.process(p); h.exec(a, ['sort', order, n], exe='/usr/bin/sort')
        f = h.file('/w/' + n, size=sizes, mtime=T0 + start * SECOND, ino=ino); h.read(a, f); h.write(a, h.file('/w/%d.out' % i, ino=700 + i), size=sizes + i); h.exit(a)
    for i in range(extra):
        h.read(p, h.file('/w/more/%d' % i, size=i + 1))
    h.exit(p); h.end(); h.save(home, evtext)
one('01HZZZZZZZZZZZZZZZZZZZAAAA', 0, '-n', 30, 0)
one('01HZZZZZZZZZZZZZZZZZZZBBBB', 5000, '-rn', 44, 150)
END
cmd 1 diff --json @~1 @ && cp "$out" "$T/json" && cmd 0 report -o "$T/page.html" --against @~1 @ && reader <<'END'
d = r.raw['against']['diff']
assert r.raw['against']['asked'] == '@~1'
for key in ('a', 'b', 'paired', 'files_compared', 'files_same', 'differs', 'first_cause'):
    assert d[key] == j[key], key
assert [g['name'] for g in d['rungs']] == [g['name'] for g in j['rungs']]
for mine, theirs in zip(d['rungs'], j['rungs']):
    assert mine['differences'] == theirs['differences'][:100], mine['name']
    assert mine.get('left_out', {'differences': 0})['differences'] == len(theirs['differences']) - len(mine['differences'])
assert max(len(g['differences']) for g in j['rungs']) > 150 and d['differs'] is True
END
check 'it is the answer of diff --json; of many differences the first hundred, and how many are left out'
browse 'the page says it, and hostile names stay names' <<'END'
text = b.eval("document.getElementById('differences').textContent")
for word in ('Likeliest cause', './fit.sh -rn', 'in.csv', 'only in B', 'more (stemma diff --all)', '<img src=x onerror=window.RAN=1>', '\\xe2\\x80\\xaeevil', 'a\\nb'):
    assert word in text, (word, text[:3000])
assert b.eval('typeof window.RAN') == 'undefined' and b.eval("document.querySelectorAll('img').length") == 0
assert b.eval("Array.from(document.querySelectorAll('#sections a')).some((a) => a.textContent === 'Differences')")
links = b.eval("Array.from(document.querySelectorAll('#differences a'), (a) => a.hash)")
assert links
b.eval("document.querySelector('#differences a').click()")
b.until("!document.getElementById('details').hidden")
END
cmd 1 diff --json '/w/0.out@{1}' '/w/0.out@{2}' && cp "$out" "$T/json" && cmd 0 report -o "$T/page.html" --against '/w/0.out@{1}' '/w/0.out@{2}' && reader <<'END'
assert r.raw['against']['diff']['first_cause'] == j['first_cause'] and r.raw['against']['diff']['a'] == j['a'] and 'traces' not in r.raw['against']
END
check 'of two versions of a file'
cmd 0 report -o "$T/page.html" @ && reader <<'END'
assert r.raw['against'] is None
END
check 'without it nothing is compared'
cmd 0 lineage --json /w/0.out && cp "$out" "$T/lineage" && cmd 2 report --against @ /w/0.out && says "$err" 'of different kinds' && cmd 1 report --against /w/none /w/0.out && says "$err" '/w/none' && cmd 2 report --against "$(jq -r '.executions[0].id' "$T/lineage")" @ && says "$err" 'is an execution'
check 'what it cannot be compared with'

# ---- lines of the source ----

cp "$here"/examples/parted/* . && for p in simulate select integrate analyse report; do
	"$STEMMA" cc --operands gcc -g $p.c -o $p -lm >"$out" 2>"$err" || break
done
mkdir traces && STEMMA_TRACE=$PWD/traces ./simulate parameters.txt series.txt
if ! ls traces/* >/dev/null 2>&1; then
	skip 'lines of the source' 'programs cannot be traced here'
	finish
	exit
fi
rm -rf traces series.txt "$STEMMA_HOME"
line=$(grep -n 'small enough' integrate.c | cut -d : -f 1)
if ! "$STEMMA" run -q --trace -- ./pipeline.sh >"$out" 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	skip 'lines of the source' 'nothing can be recorded here'
	finish
	exit
fi
sed -i 's/0\.8/0.9/' parameters.txt && cmd 0 run --trace -- ./pipeline.sh && cmd 1 diff --trace --json @~1 @ && cp "$out" "$T/json" && cmd 0 report -o "$T/page.html" --against @~1 @ && reader <<END
t = [t for t in r.raw['against']['traces'] if t['program'].endswith('/integrate')]
[theirs] = [t for t in j['threads'] if t['a']['exe'].endswith('/integrate')]
assert len(t) == 1 and t[0]['divergences'][0]['words'].startswith('settles() at integrate.c:$line: A took'), t
assert theirs['divergences'][0]['place']['line'] == $line and t[0]['total'] >= 1
s = t[0]['divergences'][0]['source']
assert s['marked'] == $line and 'small enough' in s['text'].split('\n')[$line - s['first']], s
source = [l.replace('\t', '    ') for l in open('integrate.c').read().split('\n')]
assert source[s['first'] - 1:][:3] == s['text'].split('\n')[:3], s
assert not [t for t in r.raw['against']['traces'] if t['program'].endswith('/simulate')]
lines = [g for g in r.raw['against']['diff']['rungs'] if g['name'] == 'lines'][0]['differences']
assert [i for i in lines if i['subject'] == 'integrate']
END
check 'the line at which a program took another way, with its source'
browse 'and the page shows and marks it' <<END
marks = b.eval("Array.from(document.querySelectorAll('#differences mark'), (e) => e.textContent)")
assert [m for m in marks if m.split()[0] == '$line' and 'small enough' in m], marks
END
mv integrate.c gone.c && cmd 0 report -o "$T/page.html" --against @~1 @ && reader <<'END'
[t] = [t for t in r.raw['against']['traces'] if t['program'].endswith('/integrate')]
assert 'source' not in t['divergences'][0] and t['divergences'][0]['words']
END
check 'a source that is gone: the line alone'
finish
