#!/bin/sh
# stemma serve: the SPARQL 1.1 Protocol. Queries by GET and both ways of POST; results as the client accepts them, and those of
# `stemma sparql`; the description of the service; bombs end, and others are answered meanwhile.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"
if "$STEMMA" sparql --data /dev/null 'ASK {}' 2>&1 | grep -q 'built without'; then
	echo '1..0 # SKIP this stemma was built without serd and PCRE2'
	exit 0
fi

history <<'END'
for k, word in enumerate(('ONE', 'TWO')):
    h = History('01AAAAAAAAAAAAAAAAAAAAA' + word, argv=['./all.sh', str(k)], start=k * 1000)
    sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh', str(k)], exe='/usr/bin/dash', script='/w/all.sh')
    a = h.process(sh); h.exec(a, ['sort', '-k%d' % (k + 1), 'in'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/in', size=9)); h.write(a, h.file('/w/mid'), size=9); h.exit(a)
    b = h.process(sh); h.exec(b, ['uniq', '-c', 'mid'], exe='/usr/bin/uniq')
    h.read(b, h.file('/w/mid', size=9)); h.write(b, h.file('/w/out%d' % k), size=4); h.exit(b)
    h.exit(sh); h.end(); h.save(home, evtext)
END
cat >"$T/asked.py" <<'END'
SELECT = 'SELECT ?made ?label { ?v prov:wasGeneratedBy ?x ; stemma:path ?made . ?x rdfs:label ?label } ORDER BY ?made ?label'
ASK = 'ASK { ?v stemma:path "/w/out1" }'
CONSTRUCT = 'CONSTRUCT { ?a prov:wasDerivedFrom ?b } WHERE { ?a prov:wasGeneratedBy/prov:used ?b }'
FORM = 'application/x-www-form-urlencoded'
def command(query, form):
    return subprocess.run([stemma, 'sparql', '--format', form, query], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
def same(a, query, form):
    want = command(query, form)
    assert a.status == 200 and len(want) > 20, (a.status, a.body, want)
    if form == 'turtle':
        assert sorted(a.body.splitlines()) == sorted(want.splitlines()), (a.body, want)
    else:
        assert a.body == want, (a.body, want)
END
asking()
{
	{
		echo 'exec(open(T + "/asked.py").read())'
		cat
	} >"$T/asking"
	serving "$@" <"$T/asking"
}

asking <<'END'
for query, form, kind in ((SELECT, 'json', 'application/sparql-results+json'), (ASK, 'json', 'application/sparql-results+json'), (CONSTRUCT, 'turtle', 'text/turtle'),
                          ('DESCRIBE ?v { ?v stemma:path "/w/out1" }', 'turtle', 'text/turtle')):
    for a in (s.get('sparql?query=' + quoted(query)), s.get('sparql', 'POST', body=query.encode(), Content_Type='application/sparql-query'),
              s.get('sparql', 'POST', body=query.encode(), Content_Type='application/sparql-query; charset=utf-8'),
              s.get('sparql', 'POST', body=b'query=' + quoted(query).encode(), Content_Type=FORM)):
        same(a, query, form)
        assert a.headers['content-type'] == kind, a.headers
a = s.get('sparql?query=' + quoted(ASK))
b = s.get('sparql?query=' + quoted(ASK), If_None_Match=a.headers['etag'])
assert b.status == 304 and not b.body
END
check 'GET, a query posted directly, a form: the results are those of the command'
asking <<'END'
for accept, form, kind in (('text/csv', 'csv', 'text/csv'), ('text/tab-separated-values', 'tsv', 'text/tab-separated-values'), ('application/sparql-results+xml', 'xml', 'application/sparql-results+xml'),
                           ('application/xml', 'xml', 'application/xml'), ('application/json', 'json', 'application/json'), ('*/*', 'json', 'application/sparql-results+json'),
                           ('text/*', 'csv', 'text/csv'), ('text/csv;q=0.1, application/sparql-results+xml;q=0.5', 'xml', 'application/sparql-results+xml'),
                           ('text/csv;q=0, */*;q=0.1', 'json', 'application/sparql-results+json'), ('application/pdf, TEXT/CSV ; q=0.3', 'csv', 'text/csv'),
                           ('text/csv;q=0.5,text/tab-separated-values;q=0.50,application/*;q=0.499', 'csv', 'text/csv')):
    a = s.get('sparql?query=' + quoted(SELECT), Accept=accept)
    same(a, SELECT, form)
    assert a.headers['content-type'] == kind, (accept, a.headers)
for query, accept in ((SELECT, 'text/turtle'), (ASK, 'text/csv'), (CONSTRUCT, 'application/sparql-results+json'), (SELECT, 'image/png, application/*;q=0')):
    assert s.get('sparql?query=' + quoted(query), Accept=accept).status == 406, (query, accept)
assert s.get('sparql?query=' + quoted(CONSTRUCT), Accept='application/n-triples').headers['content-type'] == 'application/n-triples'
a = s.get('sparql')
assert a.status == 200 and a.headers['content-type'] == 'text/turtle' and b'sd:Service' in a.body and b'SPARQL11Query' in a.body
open(T + '/service.ttl', 'wb').write(a.body)
assert s.get('sparql', Accept='image/png').status == 406
said = subprocess.run([stemma, 'sparql', '--data', T + '/service.ttl', '--format', 'csv', 'SELECT (COUNT(?f) AS ?n) { ?s a <http://www.w3.org/ns/sparql-service-description#Service> ; <http://www.w3.org/ns/sparql-service-description#resultFormat> ?f }'], stdout=subprocess.PIPE).stdout
assert said.split() == [b'n', b'6'], said
END
check 'the type is what the client would have; the service is described'
asking <<'END'
for target, how, status in (('sparql?query=', {}, 400), ('sparql?query=SELECT', {}, 400), ('sparql?query=' + quoted('INSERT DATA { <a> <b> <c> }'), {}, 400), ('sparql?update=x', {}, 400),
                            ('sparql?query=' + quoted(ASK) + '&default-graph-uri=x', {}, 400), ('sparql?query=' + quoted(ASK) + '&named-graph-uri=x', {}, 400),
                            ('sparql', dict(method='POST', body=b'x', Content_Type='text/plain'), 415), ('sparql', dict(method='POST', body=b'x'), 415),
                            ('sparql', dict(method='POST', body=b'update=x', Content_Type=FORM), 400), ('sparql', dict(method='POST', body=b'DELETE {} WHERE {}', Content_Type='application/sparql-query'), 400),
                            ('sparql', dict(method='POST', body=b'ASK{}\0', Content_Type='application/sparql-query'), 400), ('sparql', dict(method='PUT', body=b'x'), 405),
                            ('sparql?query=' + quoted('SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }'), {}, 400)):
    a = s.get(target, **how)
    assert a.status == status == a.json()['status'] and a.json()['detail'], (target, how, a.status, a.body)
with s.connect() as c:
    c.sendall(s.request('sparql', 'POST', Content_Type='application/sparql-query', Content_Length=1 << 30))
    try:
        c.sendall(b'x' * (8 << 20))
        got = c.recv(100)
    except OSError:
        got = b''
    assert not got or b' 413 ' in got, got
assert s.get('sparql', 'POST', token=False, body=ASK.encode(), Content_Type='application/sparql-query').status == 401
assert s.get('sparql', 'POST', body=ASK.encode(), Content_Type='application/sparql-query', Origin='http://evil.example').status == 403
END
check 'what makes no sense has a status and a sentence'
asking --timeout 2s --memory 64M <<'END'
bombs = ['SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }', 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }',
         'SELECT * { ' + '{' * 1000 + ' ?a ?b ?c ' + '}' * 1000 + ' }', 'SELECT * { ?a (prov:used|^prov:used|prov:wasGeneratedBy|^prov:wasGeneratedBy)* ?b . ?c (prov:used|^prov:used)* ?d . ?e (prov:used|^prov:used)* ?f . ?g ?h ?i }']
with ThreadPoolExecutor(4) as pool:
    asked = [pool.submit(s.get, 'sparql', 'POST', body=q.encode(), Content_Type='application/sparql-query') for q in bombs]
    for k in range(20):
        assert s.get('api/v1/why?file=/w/out1').status == 200
    got = [a.result() for a in asked]
assert {a.status for a in got} <= {400, 503, 504, 507} and got[2].status == 400, [(a.status, a.body[:100]) for a in got]
s.until(lambda: s.get('sparql?query=' + quoted(ASK)).status == 200)
END
check 'bombs end with an error, and stop no other question'
asking <<'END'
count = 'sparql?query=' + quoted('SELECT (COUNT(?r) AS ?n) { ?r stemma:path "/w/later" ; prov:wasGeneratedBy ?x }')
assert s.get(count, Accept='text/csv').body.split() == [b'n', b'0']
code = ("import sys; sys.path.insert(0, '%s/t'); from history import *; home, evtext = '%s', '%s'\n"
        "h = History('01AAAAAAAAAAAAAAAAAAAAANEW', argv=['new'], start=1000000)\n"
        "p = h.process(); h.exec(p, ['new'], exe='/usr/bin/new'); h.write(p, h.file('/w/later'), size=3); h.exit(p); h.end(); h.save(home, evtext)"
        % (here, home, os.environ.get('STEMMA_EVTEXT') or os.path.join(os.path.dirname(stemma), '../../tests/stemma-evtext')))
subprocess.run([sys.executable, '-B', '-c', code], check=True)
s.until(lambda: s.get(count, Accept='text/csv').body.split() == [b'n', b'1'])
subprocess.run([stemma, 'forget', '01AAAAAAAAAAAAAAAAAAAAANEW'], check=True, stdout=subprocess.DEVNULL)
s.until(lambda: s.get(count, Accept='text/csv').body.split() == [b'n', b'0'])
END
check 'the dataset is that of the record as it is now'
finish
