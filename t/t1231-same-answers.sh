#!/bin/sh
# A hundred questions about a recorded demo: the command, HTTP and Python give the same answers, and pages where there are any.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

small()
{ # a pipeline of what every machine has, recorded twice with one input edited between
	mkdir -p demo/reads demo/work demo/results && cd demo || exit 1
	for s in B7 EAS1 EAS5; do seq 1 300 | sed "s/\$/ $s/" >reads/$s.txt; done
	echo 7 >targets.txt
	cat >pipeline.sh <<'END'
#!/bin/sh
for s; do
	sort -r reads/$s.txt >work/$s.sorted
	grep -f targets.txt work/$s.sorted | cut -d' ' -f1 | sort -n >results/$s.txt
done
cat results/*.txt >work/all.txt
mv work/all.txt results/summary.txt
END
	chmod +x pipeline.sh
	"$STEMMA" run -q -- ./pipeline.sh B7 EAS1 EAS5 && echo 8 >targets.txt && sleep 0.1 && "$STEMMA" run -q -- ./pipeline.sh EAS1
}
if command -v bwa samtools bcftools >/dev/null 2>&1 && BUILD=$BUILD DEMO_OUT=$T/demo "$here/examples/variants/demo.sh" >"$out" 2>"$err" </dev/null; then
	STEMMA_HOME=$T/demo/record
	demo=$T/demo
else
	demo=$T/work/demo
	(small) >"$out" 2>"$err" || {
		echo "1..0 # SKIP nothing can be recorded here: $(tail -n 1 "$err")"
		exit 0
	}
fi
export STEMMA_HOME
echo "# $("$STEMMA" log --json 2>/dev/null | jq '.runs | length') runs in $demo"
cat >"$T/questions.py" <<'END'
import itertools
def questions(demo):
    """(name, words of the command, target, what Python says of it)"""
    runs = [r['id'] for r in told('log', '--json')['runs']]
    files = []
    for run in runs:
        used = told('show', '--json', run)['things'][0]['used']
        for e in told('find', '--json', 'run ' + run)['entities'] + used:
            name = e['path'] + '@{%d}' % e['version']
            if e['kind'] == 'regular' and name not in files:
                files.append(name)
    files.sort()
    print(len(runs), 'runs,', len(files), 'versions')
    made = [f for f in files if f.startswith(demo)]
    some = lambda n, of: [of[k * len(of) // n] for k in range(n)]
    for f in some(32, made):
        yield ['why', '--all', '--json', f], 'why?all=1&file=' + quoted(f), lambda r, f=f: {'format': 1, 'answers': [r.why(f)]}
    for f in some(16, made):
        yield ['lineage', '--json', f], 'lineage?file=' + quoted(f), lambda r, f=f: r.lineage(f)
    for f in some(8, made):
        yield ['lineage', '--certain', '--json', f], 'lineage?certain=1&file=' + quoted(f), lambda r, f=f: r.lineage(f, certain=True)
    for f in some(10, made):
        yield ['lineage', '--down', '--json', f], 'lineage?down=1&file=' + quoted(f), lambda r, f=f: r.lineage(f, down=True)
    for f in some(4, made):
        yield ['lineage', '--stages', '--json', f], 'lineage?stages=1&file=' + quoted(f), lambda r, f=f: r.lineage(f, stages=True)
    for f in some(4, made):
        yield ['lineage', '--all', '--depth', '2', '--json', f], 'lineage?all=1&depth=2&file=' + quoted(f), lambda r, f=f: r.lineage(f, all=True, depth=2)
    for f in some(6, made):
        for what, key in (("used '%s'" % f, 'entities'), ("runs that made '%s'" % f, 'runs')):
            yield ['find', '--json', what], 'find?limit=10000&q=' + quoted(what), lambda r, what=what, key=key: (key, r.find(what))
    for what, key in (('execs that exe sort', 'executions'), ('exit ok', 'entities'), ("path '*EAS1*'", 'entities'), ('runs that exit 0', 'runs')):
        yield ['find', '--json', what], 'find?limit=10000&q=' + quoted(what), lambda r, what=what, key=key: (key, r.find(what))
    yield ['log', '--json'], 'runs', lambda r: {'format': 1, 'runs': r.runs()}
    yield ['log', '--json', '-n', '1'], 'runs?limit=1', lambda r: {'format': 1, 'runs': r.runs(1)}
    for run in runs[:2]:
        yield ['show', '--json', run], 'run/' + run, lambda r, run=run: {'format': 1, 'things': r.show(run)}
    yield ['diff', '--json', runs[1], runs[0]], 'diff?a=%s&b=%s' % (runs[1], runs[0]), lambda r: r.diff(runs[1], runs[0])
    for a, b in itertools.islice(zip(made, made[1:]), 2):
        yield ['diff', '--json', a, b], 'diff?a=%s&b=%s' % (quoted(a), quoted(b)), lambda r, a=a, b=b: r.diff(a, b)
    for query in ('SELECT ?made ?label { ?v prov:wasGeneratedBy ?x ; stemma:path ?made . ?x rdfs:label ?label } ORDER BY ?made ?label',
                  'SELECT (COUNT(DISTINCT ?v) AS ?n) { ?v prov:wasGeneratedBy ?x }', 'ASK { ?v prov:wasGeneratedBy/prov:used ?w }'):
        yield query, 'sparql?query=' + quoted(query), lambda r, query=query: r.sparql(query)
END
have_sparql=yes
"$STEMMA" sparql --no-index 'ASK {}' 2>&1 | grep -q 'built without' && have_sparql=
{
	echo "sys.path.insert(0, here + '/bindings/python')"
	echo "os.environ['STEMMA_COMMAND'] = stemma"
	echo "os.environ.setdefault('STEMMA_LIBRARY', os.path.join(os.path.dirname(stemma), '../lib/libstemma.so.0'))"
	echo "from stemma.record import Record, _term"
	echo "exec(open(T + '/questions.py').read())"
	cat <<END
n = on_page = 0
record = Record(home)
def page_says(command, want):
    """1; the page of the same question holds the same things."""
    import base64
    page = 'compare?a=%s&b=%s' % tuple(map(quoted, command[-2:])) if command[0] == 'diff' else 'file?file=' + quoted(command[-1])
    a = s.get(page)
    assert a.status == 200, (page, a.status)
    d = json.loads(re.search(rb'<script type="application/json" id="data">(.*?)</script>', a.body, re.S).group(1))
    ids = base64.b64decode(d['ids'])
    name = lambda i: ('v' if i < d['files']['rows'] else 'x') + ids[12 * i:12 * i + 12].hex()
    sure = lambda one: one['certainty'] == 'must'
    if command[0] == 'why':
        [one] = want['answers']
        for key in ('makers', 'inputs'):
            assert sorted((name(m['node']), m['sure']) for m in d['why'][key]) == sorted((m['id'], sure(m)) for m in one[key]), (page, key)
    elif command[0] == 'lineage':
        outside = set(d['outside'])
        nodes = {name(i) for i in range(d['files']['rows'] + d['executions']['rows']) if i not in outside}
        assert nodes == {e['id'] for e in want['entities'] + want['executions']}, page
        assert {(name(f), name(t)) for f, t in edges_of(d)} == {(e['from'], e['to']) for e in want['edges'] if e['from'] in nodes and e['to'] in nodes}, page
    else:
        told = d['against']['diff']
        assert {k: told[k] for k in want if k in told and k != 'format'} == {k: want[k] for k in want if k in told and k != 'format'} and len(set(want) & set(told)) > 3, (page, sorted(want), sorted(told))
    return 1
def edges_of(d):
    column = lambda c: c if isinstance(c, list) else spread(c, d['edges']['rows'])
    at, out = 0, []
    for f, t, how in zip(*(column(d['edges'][c]) for c in ('from', 'to', 'how'))):
        at += f
        if d['hows'][how]['lineage']:
            out.append((at, t))
    return out
def spread(c, rows):
    v, at = [c['else']] * rows, 0
    for step, value in zip(c['at'], c['values']):
        at += step
        v[at] = value
    return v
for command, target, ask in questions('$demo'):
    n += 1
    if isinstance(command, str):
        if not '$have_sparql': continue
        want = json.loads(subprocess.run([stemma, 'sparql', '--format', 'json', command], stdout=subprocess.PIPE).stdout)
        a = s.get(target)
        got = a.json()
        said = got['boolean'] if 'boolean' in got else [{k: _term(v) for k, v in row.items()} for row in got['results']['bindings']]
    else:
        want = told(*command)
        a = s.get('api/v1/' + target)
        got = said = a.json()
        got.pop('next', None)  # of a page of HTTP alone
    assert a.status == 200 and got == want, ('HTTP', command, a.status, json.dumps(got)[:1500], json.dumps(want)[:1500])
    if command[0] == 'why' or command[:2] == ['lineage', '--json'] or command[0] == 'diff':
        on_page += page_says(command, want)
    answer = ask(record)
    if isinstance(answer, tuple):  # Python gives the rows alone
        said, answer = said[answer[0]], answer[1]
    assert answer == said, ('Python', command, str(answer)[:1500], str(said)[:1500])
print(n, 'questions,', on_page, 'of them on pages, too')
assert n == 100 and on_page >= 50, (n, on_page)
END
} >"$T/same"
serving <"$T/same"
check '100 questions: the command, HTTP and Python say the same, and the pages of files and comparisons'
sed 's/^/# /' "$out"
finish
