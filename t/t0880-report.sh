#!/bin/sh
# stemma report: the data of the page is that of the other commands, nothing hostile can leave it, the page loads nothing, and it says
# what is missing. What a browser makes of it is in t0881.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# reader TEXT...: Python with the page at "$T/page" read as r, and the JSON of a command, if there is one, as j
reader()
{
	{
		echo "import json, os, re, sys; sys.path.insert(0, '$here/t'); from report_data import *"
		echo "r = Report('$T/page'); j = json.load(open('$T/json')) if os.path.exists('$T/json') else None"
		cat
	} >"$T/reader.py"
	$PYTHON -B "$T/reader.py" >"$out" 2>>"$err"
}
page() { cmd 0 report -o "$T/page" "$@"; }

# Two runs: what one made the other uses; a pipe, a program that counts to another, one that failed, many files.
history <<'END'
def leave(p, **f): h.add('exit', p=p, ending=1, known=sum(1 << b for b in (1, 4)), **f)
h = History('01HZZZZZZZZZZZZZZZZZZZAAAA', argv=['./first.sh'], user='ann', host='h1')
p = h.process(); h.exec(p, ['sh', './first.sh'], exe='/usr/bin/sh', script='/w/first.sh', env=['LANG=C', 'OMP_NUM_THREADS=4'])
a = h.process(p); h.exec(a, ['sort', 'in.txt'], exe='/usr/bin/sort')
h.read(a, h.file('/w/in.txt', size=30), bytes_read=30); h.write(a, h.file('/w/mid.txt'), size=30, bytes_written=30); leave(a, cpu=5 * 10**6, rss=4096)
b = h.process(p); h.exec(b, ['uniq', 'mid.txt'], exe='/usr/bin/uniq')
h.read(b, h.file('/w/mid.txt')); h.write(b, h.file('/w/out.txt'), size=10); h.add('exit', p=b, ending=1)
c = h.process(p); h.exec(c, ['grep', 'nothing', 'in.txt'], exe='/usr/bin/grep'); h.read(c, h.file('/w/in.txt')); h.exit(c, code=1)
h.exit(p); h.end(); h.save(home, evtext)
k = History('01HZZZZZZZZZZZZZZZZZZZBBBB', argv=['fit', 'out.txt'], user='bob', host='h2', start=1000, labels=['sample=B7'])
p = k.process(); k.exec(p, ['fit', 'out.txt'], exe='/usr/bin/fit')
k.files['/w/out.txt'] = 77; k.add('file', num=77, kind=REGULAR, domain=1, ino=h_ino if (h_ino := [l['ino'] for l in h.lines if l['k'] == 'file' and l['path'] == '/w/out.txt'][0]) else 0, path='/w/out.txt')
k.read(p, k.file('/w/out.txt')); k.read(p, k.file('/w/par.cfg', size=3), sure=0); k.write(p, k.file('/w/fit.dat'), size=8)
k.exit(p); k.end(); k.save(home, evtext)
END
cmd 0 lineage --json /w/fit.dat && cp "$out" "$T/json" && page /w/fit.dat && [ ! -s "$out" ]
check 'a page of a file is made'
reader <<'END'
mine = {i for k, i in enumerate(r.ids) if k not in set(r.raw['outside'])}
theirs = {e['id'] for e in j['entities'] + j['executions']}
assert mine == theirs, (mine ^ theirs)
types = {'used', 'wasGeneratedBy', 'wasDerivedFrom', 'wasInformedBy'}
mine = sorted((t, a, b, 'must' if how['sure'] else 'may', how['via']) for t, a, b, how, _ in r.edges())
theirs = sorted((e['type'], e['from'], e['to'], e['certainty'], e['via']) for e in j['edges'] if e['type'] in types)
assert mine == theirs, (mine, theirs)
made = {e['from'] for e in j['edges'] if e['type'] in ('wasGeneratedBy', 'wasDerivedFrom')}
assert r.sources() == {e['id'] for e in j['entities']} - made
assert {p for i, p in zip(r.ids, r.paths()) if i in r.sources()} >= {b'/w/in.txt', b'/w/par.cfg'}
END
check 'it has the files, programs, edges and sources of lineage --json'
reader <<'END'
from datetime import datetime, timezone
base = int(r.raw['base'])
def ns(text): return int(datetime.strptime(text[:19], '%Y-%m-%dT%H:%M:%S').replace(tzinfo=timezone.utc).timestamp()) * 10**9 + int(text[20:29])
by = {e['id']: e for e in j['entities'] + j['executions']}
for i, path in enumerate(r.paths()):
    e = by[r.ids[i]]
    assert path == e['path'].encode() and r.column('files', 'n')[i] == e['version'] and r.column('files', 'size')[i] == e['size'], e
    assert r.raw['kinds'][str(r.column('files', 'kind')[i])] == e['kind'] and bool(r.column('files', 'current')[i]) == e['current'], e
    assert base + 1000 * r.column('files', 'mtime')[i] == ns(e['mtime']), e
for k in range(r.raw['executions']['rows']):
    e = by[r.ids[r.n_files + k]]
    col = lambda name: r.column('executions', name)[k]
    assert [a.decode() for a in r.list(col('argv'))] == e['argv'] and r.string(col('user')).decode() == e['user'] and r.string(col('host')).decode() == e['host'], e
    assert base + 1000 * col('start') == ns(e['start']) and base + 1000 * (col('start') + col('span')) == ns(e['end']) and col('pid') == e['pid'], e
    assert r.string(r.column('runs', 'id')[col('run')]).decode() == e['run'] and r.string(col('exe')).decode() == e['exe'] and col('code') == e['exit']['status'], e
[sort] = [k for k in range(r.raw['executions']['rows']) if r.list(r.column('executions', 'argv')[k])[0] == b'sort']
assert r.column('executions', 'cpu')[sort] == 5000 and r.column('executions', 'rss')[sort] == 4096
[uniq] = [k for k in range(r.raw['executions']['rows']) if r.list(r.column('executions', 'argv')[k])[0] == b'uniq']
assert r.column('executions', 'cpu')[uniq] is None and r.column('executions', 'rss')[uniq] is None
counted = {(t, a, b): r.column('edges', 'bytes')[k] for t, a, b, _, k in r.edges()}
assert sorted(v for v in counted.values() if v is not None) == [30, 30], counted
END
check 'and what is known of each; what is not known is null, not 0'
cmd 0 why --json /w/fit.dat && cp "$out" "$T/json" && reader <<'END'
[a] = j['answers']
assert [r.ids[m['node']] for m in r.raw['why']['makers']] == [m['id'] for m in a['makers']]
assert [(r.ids[m['node']], m['sure'], m.get('role')) for m in r.raw['why']['inputs']] == [(m['id'], m['certainty'] == 'must', m.get('role')) for m in a['inputs']]
assert len(a['inputs']) == 2 and r.raw['subject']['run']['id'] == '01HZZZZZZZZZZZZZZZZZZZBBBB' and r.raw['subject']['run']['labels'] == {'sample': 'B7'}
[par] = [i for i, p in enumerate(r.paths()) if p == b'/w/par.cfg']
assert r.raw['unsure'] == [par], r.raw['unsure']
END
check 'makers and inputs are those of why; what is only possible is marked'

cmd 0 show --json 01HZZZZZZZZZZZZZZZZZZZAAAA && cp "$out" "$T/json" && page 01HZZZZZZZZZZZZZZZZZZZAAAA && reader <<'END'
[t] = j['things']
execs = {e['id'] for e in t['executions']}
assert {i for i in r.ids if i[0] == 'x'} == execs, 'the executions are those of show'
mine = {r.paths()[n] for n in r.raw['subject']['roots']}
assert mine == {g['path'].encode() for g in t['generated']} == {b'/w/mid.txt', b'/w/out.txt'}, mine
assert {u['id'] for u in t['used']} <= set(r.ids)
[grep] = [k for k in range(r.raw['executions']['rows']) if r.list(r.column('executions', 'argv')[k])[:1] == [b'grep']]
assert r.n_files + grep in r.raw['outside'] and r.column('executions', 'code')[grep] == 1
used = [(a, b, how) for t_, a, b, how, _ in r.edges() if a == r.ids[r.n_files + grep]]
assert len(used) == 1 and not used[0][2]['lineage'], 'what made nothing stands beside the lineage, with what it read'
first = r.list([e for e in r.column('executions', 'env') if e is not None][0])
assert first == [b'LANG=C', b'OMP_NUM_THREADS=4'], first
assert r.raw['subject']['run']['user'] == 'ann' and r.raw['complete'] is True and r.raw['gaps'] == []
END
check 'a page of a run: all its executions, what it made and used, its environment'
cp "$T/page" "$T/again" && page 01HZZZZZZZZZZZZZZZZZZZAAAA && cmp "$T/page" "$T/again" && cmd 0 report 01HZZZZZZZZZZZZZZZZZZZAAAA && cmp "$out" "$T/again"
check 'equal records give equal pages, to a file or standard output'
page --nodes 3 /w/fit.dat && reader <<'END'
assert r.n == 3 and r.raw['left_out'] > 0 and r.raw['complete'] is False
assert all(r.ids.index(a) < 3 and r.ids.index(b) < 3 for _, a, b, _, _ in r.edges())
END
check '--nodes: the nearest, and how many are left out'
cmd 2 report && cmd 2 report /w/fit.dat /w/out.txt && cmd 2 report --nodes x /w/fit.dat && cmd 1 report /w/none && says "$err" '/w/none' &&
	cmd 2 report "$(jq -r '.things[0].executions[0].id' "$T/json")" && says "$err" 'report takes a run or a file'
check 'what it cannot make a page of'
cmd 125 report -o "$T/no/such/page" /w/fit.dat && says "$err" 'cannot create' && mkdir "$T/dir" && cd "$T/dir" && cmd 0 report -o page /w/fit.dat && [ "$(ls)" = page ] && cd "$T/work"
check 'where it cannot write; nothing is left beside the page'

# ---- the page itself ----

cmd 0 report -o "$T/page" /w/fit.dat && $PYTHON -B - "$T/page" >"$out" 2>"$err" <<'END'
import base64, hashlib, re, sys
page = open(sys.argv[1], encoding='utf-8', newline='').read()
[policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
rules = dict(rule.split(' ', 1) for rule in policy.split('; '))
digest = lambda text: "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
[script] = re.findall(r'<script>(.*?)</script>', page, re.S)
[style] = re.findall(r'<style>(.*?)</style>', page, re.S)
assert rules == {'default-src': "'none'", 'script-src': digest(script), 'style-src': digest(style), 'base-uri': "'none'", 'form-action': "'none'"}, rules
assert page.count('<script') == 2 and page.count('</script') == 2, 'one script, one data'
for word in ('innerHTML', 'outerHTML', 'insertAdjacent', 'document.write', 'eval(', 'Function(', 'setTimeout("', 'fetch(', 'XMLHttp', 'import(', 'localStorage', 'cookie'):
    assert word not in script, word
assert re.findall(r'https?://[^\s\'"]*', script) == ['http://www.w3.org/2000/svg'], 'a name, not an address'
rest = page.replace(script, '').replace(style, '')
assert not re.search(r'\s(src|srcset|on[a-z]+|style)=', re.sub(r'id="data">.*?</script>', '', rest, flags=re.S)), 'nothing is loaded, no handler'
assert 'url(' not in style and '@import' not in style
assert len(script) < 80000, len(script)
END
check 'the policy allows its one script and style by their hashes, and they load nothing'

# ---- names are hostile ----

rm -rf "$STEMMA_HOME"
cat >"$T/names.py" <<'END'
names = [b'<img src=x onerror=document.title="RAN">', b'</script><script>document.title="RAN"</script>', b'<!--<script>', b']]>-->', b'&lt;b&gt;&amp;', b'"\'`${document.title="RAN"}',
         '\u202egnp.exe\u202c'.encode(), '\u2066\u200f\u061c\u2028\u2029\ufeff'.encode(), b'a\nb\tc\rd\x1b]0;x\x07\x7f', b'\xff\xfe\x80', b'\xc3\xa9\xff', '\u0085\u009b'.encode(), b'__proto__', b'constructor', b'\\x1b\\u003c', b'javascript:alert(1)', b'=cmd', '\U0001f600 \u05d0\u05d1'.encode()]
END
history <<END
exec(open('$T/names.py').read())
h = History('01HZZZZZZZZZZZZZZZZZZZCCCC', argv=['run'] + names, user='<b>ann</b>', host='</script>', cwd=b'/w/<i>\xff', labels=[n.split(b'=')[0] .decode('latin-1')+ '=' + n.decode('latin-1') for n in names])
p = h.process(); h.exec(p, ['tool'] + names, exe='/usr/bin/tool', env=[b'<E' + n[:3] + b'=' + n for n in names], cwd=b'/w/<i>\xff')
for n in names:
    h.read(p, h.file(b'/w/<i>\xff/' + n, size=3))
    h.write(p, h.file(b'/w/<i>\xff/' + n + b'.out'), size=4)
h.exit(p); h.end(); h.save(home, evtext)
END
page 01HZZZZZZZZZZZZZZZZZZZCCCC && "$STEMMA" note @ '</script><img src=x onerror=document.title="RAN">' >"$out" 2>"$err" && page 01HZZZZZZZZZZZZZZZZZZZCCCC && reader <<END
exec(open('$T/names.py').read())
data = r.text
unsafe = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff<>&]')
assert not unsafe.search(data), unsafe.search(data)
assert not unsafe.search(re.sub('[<>&\t]', '', r.page)), 'nor anywhere else'
assert {b'/w/<i>\xff/' + n for n in names} | {b'/w/<i>\xff/' + n + b'.out' for n in names} <= set(r.paths())
assert r.list(r.column('executions', 'argv')[0]) == [b'tool'] + names, r.list(r.column('executions', 'argv')[0])
assert '</script><img' in json.dumps(r.raw['subject']['run']['notes'])
END
check 'hostile names stand in the data alone, escaped, and are exactly what they were'

# ---- what is missing ----

rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZDDDD', argv=['work'])
p = h.process(); h.exec(p, ['work'], exe='/usr/bin/work'); h.read(p, h.file('/w/a', size=1)); h.write(p, h.file('/w/b'), size=2)
h.add('gap', p=p, reason=2, count=1, text='io_uring'); h.exit(p); h.end(); h.save(home, evtext)
END
page @ && reader <<'END'
[g] = r.raw['gaps']
assert r.raw['complete'] is False and g['reason'] == 'io_uring' and g['executions'] == 1 and r.ids[g['first']][0] == 'x' and 'io_uring' in g['meaning'], g
k = g['first'] - r.n_files
assert r.raw['gap_sets'][r.column('executions', 'gaps')[k]] == ['io_uring']
END
check 'a gap is said, and whose it is'
page /w/b && reader <<'END'
assert r.raw['complete'] is False and [g['reason'] for g in r.raw['gaps']] == ['io_uring']
END
check 'of a file, too'
rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01HZZZZZZZZZZZZZZZZZZZEEEE', argv=['true'])
p = h.process(); h.exec(p, ['true'], exe='/usr/bin/true'); h.exit(p); h.end(); h.save(home, evtext)
END
page @ && reader <<'END'
assert r.raw['subject']['roots'] == [] and r.raw['executions']['rows'] >= 1 and r.raw['files']['rows'] == 0
END
check 'a run that made nothing'

# ---- ten thousand ----

rm -rf "$STEMMA_HOME"
history <<'END'
def leave(p, **f): h.add('exit', p=p, ending=1, known=sum(1 << b for b in (1, 2, 3, 4, 5, 6)), **f)
h = History('01HZZZZZZZZZZZZZZZZZZZFFFF', argv=['make', '-j8', 'all'])
top = h.process(); h.exec(top, ['make', '-j8', 'all'], exe='/usr/bin/make', env=['LANG=C.UTF-8', 'PATH=/usr/bin:/bin'])
for i in range(3333):
    p = h.process(top); h.exec(p, ['sort', '-k2,2', '-o', 'build/part%d/sorted-%05d.txt' % (i % 50, i), 'data/part%d/measure-%05d.csv' % (i % 50, i)], exe='/usr/bin/sort')
    h.read(p, h.file('/w/build/part%d/sorted-%05d.txt' % ((i - 50) % 50, i - 50)) if i >= 50 else h.file('/w/data/part%d/measure-%05d.csv' % (i % 50, i), size=20000 + i))
    for k in range(4): h.read(p, h.file('/w/data/part%d/measure-%05d.csv' % (k, (i * 7 + k) % 50), size=20000))
    h.write(p, h.file('/w/build/part%d/sorted-%05d.txt' % (i % 50, i)), size=20000 + i); leave(p, cpu=12345678 + i, user=12000000, system=345678, rss=4200000 + i, rchar=20000 + i, wchar=20000 + i)
h.exit(top); h.end(); h.save(home, evtext)
END
page @ && reader <<'END'
assert 10000 <= r.n <= 10300, r.n
print(r.n, 'nodes', len(r.edges()), 'edges', len(r.page.encode()), 'bytes')
assert len(r.page.encode()) < 2 * 10**6, len(r.page.encode())
END
check "10,000 files and programs in less than 2 MB: $(cat "$out")"
finish
