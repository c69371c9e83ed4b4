#!/bin/sh
# stemma report: what the run used. Figures are those of the summary, limits those it was held to, and the series is what was measured.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! "$STEMMA" run -q --summary "$T/sum.json" --series "$T/s.tsv" --interval 50ms --limit memory=2G,wall=1h -- sh -c 'sleep 0.3; sort /etc/passwd >out; sleep 0.2' 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here: $(head -n 1 "$err")"
	exit 0
fi
reader()
{
	{
		echo "import json, re, sys; sys.path.insert(0, '$here/t'); from report_data import *"
		echo "r, T = Report('$T/page'), '$T'"
		cat
	} >"$T/reader.py"
	$PYTHON -B "$T/reader.py" >"$out" 2>>"$err"
}
run=$("$STEMMA" log --json | jq -r '.runs[0].id')
cmd 0 report -o "$T/page" "$run" && reader <<'END'
summary = json.load(open(T + '/sum.json'))
[mine] = r.raw['resources']['summaries']
figures = [k for k, v in summary.items() if isinstance(v, dict) and ('value' in v or 'absent' in v)]
assert len(figures) > 30
for k in figures:
    for part in ('value', 'unit', 'low', 'high', 'complete', 'method', 'absent'):
        assert mine[k].get(part) == summary[k].get(part), (k, part, mine[k], summary[k])
limits = {l['name']: (l['limit'], l['unit']) for l in r.raw['limits']}
assert limits == {'memory': (2 * 2**30, 'B'), 'wall': (3600, 's')} and not any('peak' in l for l in r.raw['limits']), limits
assert r.raw['series'] is None
END
check 'figures are those of the summary, unknown ones with their reasons; limits'
cmd 0 report --series "$T/s.tsv" -o "$T/page" "$run" && reader <<'END'
lines = [l.rstrip('\n').split('\t') for l in open(T + '/s.tsv')]
s = r.raw['series']
assert s['samples'] == len(lines) - 1 >= 3 and list(s['columns']) == lines[0]
for i, name in enumerate(lines[0]):
    want = [None if l[i] == '' else float(l[i]) for l in lines[1:]]
    assert all((a is None) == (b is None) and (a is None or abs(a - b) <= 0.0001) for a, b in zip(s['columns'][name], want, strict=True)), name
END
check 'the series is what was measured; what was not measured is null'
$PYTHON -B - "$T" "$(jq -r '.start.value' "$T/sum.json")" <<'END'
import json, sys
T, start = sys.argv[1], float(sys.argv[2])
head = open(T + '/s.tsv').readline()
names = head.rstrip('\n').split('\t')
def row(i, memory): return {n: {'time': start + i, 'since': i, 'memory_resident': memory, 'bytes_read': 7 * i}.get(n) for n in names}
rows = [row(i / 100, 5000000 + (123456789 if i == 3777 else i % 9)) for i in range(5500)]
open(T + '/long.jsonl', 'w').writelines(json.dumps(r) + '\n' for r in rows)
open(T + '/long.tsv', 'w').writelines([head] + ['\t'.join('' if v is None else str(v) for v in r.values()) + '\n' for r in rows] + ['half a li'])
open(T + '/other.tsv', 'w').writelines([head] + ['\t'.join('' if v is None else str(v) for v in dict(r, time=r['time'] + 3600).values()) + '\n' for r in rows])
open(T + '/words.tsv', 'w').write(head + '\t'.join(['x'] * len(names)) + '\n')
open(T + '/script.tsv', 'w').write(head.replace('cores', '</script><script>') + '\n')
open(T + '/list.jsonl', 'w').write('{"time": [1]}\n[]\n')
open(T + '/wide.tsv', 'w').write('\t'.join('time' for i in range(100)) + '\n')
open(T + '/inf.tsv', 'w').write(head + '\t'.join(['inf'] * len(names)) + '\n')
open(T + '/empty', 'w')
open(T + '/nul', 'wb').write(b'\0' * 5000)
END
for form in long.tsv long.jsonl; do
	cmd 0 report --series "$T/$form" -o "$T/page" "$run" && reader <<'END'
s = r.raw['series']
assert s['samples'] == 5500 and {len(c) for c in s['columns'].values()} == {1000}
assert max(s['columns']['memory_resident']) == 5000000 + 123456789 and set(s['columns']['gpu_memory']) == {None}
at = s['columns']['memory_resident'].index(max(s['columns']['memory_resident']))
assert abs(s['columns']['since'][at] - 37.77) < 0.06 and s['columns']['since'] == sorted(s['columns']['since'])
END
	check "of many samples no peak is lost: $form"
done
bad=
for file in other.tsv words.tsv script.tsv list.jsonl wide.tsv inf.tsv empty nul; do
	rm -f "$T/page"
	cmd 2 report --series "$T/$file" -o "$T/page" "$run" && [ ! -e "$T/page" ] || bad="$bad $file"
done
says "$err" 'is not what stemma run --series writes' && cmd 2 report --series "$T/other.tsv" "$run" && says "$err" 'is of another run' && cmd 125 report --series "$T/none" "$run" && says "$err" 'cannot read' && [ -z "$bad" ] || {
	echo "bad:$bad" >>"$err"
	false
}
check 'a series of another run, and what is none, is refused, and no page is made'
cmd 0 report -o "$T/page" out && reader <<'END'
assert r.raw['resources']['summaries'][0]['run'] == r.raw['subject']['run']['id']
END
check 'of a file: what the run used that made it'
history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZAAAA', argv=['a'])
p = h.process(); h.exec(p, ['a'], exe='/usr/bin/a'); h.write(p, h.file('/w/a.out'), size=10); h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 report -o "$T/page" /w/a.out && reader <<'END'
assert r.raw['resources']['summaries'] == [] and r.raw['limits'] == []
END
check 'of a run without a summary: none, and not zeros'

for chromium in chromium chromium-browser google-chrome none; do command -v $chromium >/dev/null 2>&1 && break; done
if [ $chromium = none ]; then
	skip 'charts' 'there is no Chromium'
else
	cmd 0 report --series "$T/s.tsv" -o "$T/page.html" "$run" && cat >"$T/browse.py" <<END
import sys; sys.path.insert(0, '$here/t')
from browser import *
try:
    b = Browser('$chromium', '$T/profile')
except (EOFError, TimeoutError) as e:
    sys.exit(77)
with b:
    b.open('file://$T/page.html')
    labels = b.eval("Array.from(document.querySelectorAll('#resources svg'), (e) => e.getAttribute('role') + ' ' + e.getAttribute('aria-label'))")
    assert all(l.startswith('img ') and len(l) > 8 for l in labels), labels
    for word in ('Memory over time', 'Processes over time', 'Programs over time', 'Programs at a time'):
        assert [l for l in labels if word in l], (word, labels)
    text = b.eval("document.getElementById('resources').textContent")
    for word in ('memory: 2.0 GiB', 'wall: 1:00:00', 'CPU time', 'Not known ('):
        assert word in text, (word, text)
    paths = b.eval("Array.from(document.querySelectorAll('#resources path'), (e) => e.getAttribute('d'))")
    assert paths and all(p.startswith('M') and 'NaN' not in p and 'Infinity' not in p for p in paths), paths
    bars = b.eval("Array.from(document.querySelectorAll('#resources .bar title'), (e) => e.textContent)")
    assert [t for t in bars if t.startswith('sort /etc/passwd')], bars
    b.eval("document.querySelector('#resources .bar').dispatchEvent(new MouseEvent('click'))")
    b.until("!document.getElementById('details').hidden")
    assert not b.said, b.said
END
	$PYTHON -B "$T/browse.py" >"$out" 2>>"$err"
	browsed=$?
	if [ $browsed = 77 ]; then
		skip 'charts' 'Chromium cannot be driven here'
	else
		[ $browsed = 0 ]
		check 'charts, limits and programs over time in a browser'
	fi
fi
finish
