"""export_check.py - hold exports against readers that are not stemma's.

    export_check.py provjson FILE           python3-prov reads it, writes it, reads that: the same records
    export_check.py rdf TURTLE NTRIPLES     rdflib reads both to the same graph
    export_check.py jsonld TURTLE JSONLD    rdflib reads PROV-JSONLD to the triples of Turtle, direct and qualified ones
    export_check.py provn PROVN JSON        PROV-N has the records that python3-prov finds in PROV-JSON
    export_check.py tables DIR EXT JSON     CSV or TSV have what PROV-JSON has; every column is of its type
    export_check.py openlineage FILE JSON   events are as OpenLineage's schema wants them, and say what PROV-JSON says
    export_check.py crate CRATE JSON        a crate (directory or zip) is one, holds what it says, and says what PROV-JSON says
    export_check.py counts TURTLE SQL       SPARQL counts what the tables of `stemma sql` (a file of JSON) have
    export_check.py complete JSON SQL       every edge of the tables is in PROV-JSON, with certainty and way, and no other
    export_check.py times JSON              times obey PROV-CONSTRAINTS
    export_check.py texts JSON TEXT...      each text is the value of some attribute, exact by way of base64

Status 0 and a line of what was found; 77: the reader is not installed; anything else: wrong."""

import base64
import json
import re
import sys

P = 'http://www.w3.org/ns/prov#'
S = 'urn:stemma:ns#'


def fail(text):
    sys.exit('wrong: ' + text)


def load(path):
    with open(path, encoding='utf-8', errors='strict') as f:
        return json.load(f, object_pairs_hook=no_duplicates)


def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        fail('a key stands twice: %s' % [k for k in keys if keys.count(k) > 1][:3])
    return dict(pairs)


def plain(value):
    """The value of a PROV-JSON attribute."""
    return value['$'] if isinstance(value, dict) else value


def local(name):
    return name.split(':', 1)[1]


# ---- readers ----

def provjson(path):
    try:
        from prov.model import ProvDocument
    except ImportError:
        sys.exit(77)
    load(path)
    first = ProvDocument.deserialize(path, format='json')
    text = first.serialize(format='json')
    second = ProvDocument.deserialize(content=text, format='json')
    if set(map(key_of, first.get_records())) != set(map(key_of, second.get_records())):
        fail('python3-prov does not read what it wrote')
    ours, theirs = load(path), json.loads(text)
    for section in ours:
        if section != 'prefix' and len(ours[section]) != len(theirs.get(section, {})):
            fail('%s: %d records, python3-prov has %d' % (section, len(ours[section]), len(theirs.get(section, {}))))
    print(len(first.get_records()), 'records')


def key_of(record):
    attributes = sorted((str(k), str(v)) for k, v in record.attributes)
    return (str(record.get_type()), str(record.identifier) if record.is_element() else '', tuple(attributes))


def graph(path, format):
    try:
        import rdflib
    except ImportError:
        sys.exit(77)
    g = rdflib.Graph()
    g.parse(path, format=format)
    return g


def signature(g):
    """A graph whose blank nodes hang on one subject each: triples with such a node replaced by what it says."""
    import rdflib
    of = {}
    for s, p, o in g:
        if isinstance(s, rdflib.BNode):
            of.setdefault(s, []).append((p.n3(), o.n3()))
    said = {b: '[' + ' '.join(sorted(' '.join(x) for x in v)) + ']' for b, v in of.items()}
    found = sorted((s.n3(), p.n3(), said.get(o, o.n3())) for s, p, o in g if not isinstance(s, rdflib.BNode))
    return found


def rdf(turtle, ntriples):
    # N-Triples is Turtle too; rdflib 6.1's reader of N-Triples takes an escaped backslash before t for a tab.
    a, b = graph(turtle, 'turtle'), graph(ntriples, 'turtle')
    if len(a) != len(b) or signature(a) != signature(b):
        fail('Turtle and N-Triples are two graphs')
    print(len(a), 'triples')


def jsonld(turtle, document):
    import_or_skip('rdflib')
    import rdflib
    a, b = graph(turtle, 'turtle'), graph(document, 'json-ld')
    prov = rdflib.Namespace(P)
    ext = rdflib.Namespace('https://openprovenance.org/ns/provext#')
    for s, _, q in list(b.triples((None, ext.qualifiedSpecialization, None))):
        if (s, prov.specializationOf, b.value(q, ext.generalEntity)) not in b:
            fail('a qualified specialization without its direct one: %s' % s)
        b.remove((s, ext.qualifiedSpecialization, q))
    for s, _, q in list(b.triples((None, prov.qualifiedAssociation, None))):  # they say nothing more
        b.remove((s, prov.qualifiedAssociation, q))
    if signature(a) != signature(b):
        fail('PROV-JSONLD is another graph: %s' % sorted(set(signature(a)) ^ set(signature(b)))[:3])
    print(len(a), 'triples')


def import_or_skip(name):
    try:
        return __import__(name)
    except ImportError:
        sys.exit(77)


TOKEN = re.compile(r"""\s+|(?P<long>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\")|(?P<text>"(?:[^"\\\n\r]|\\[tbnrf"'\\])*")|(?P<name>'[^']*')|
(?P<time>\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d))|(?P<iri><[^>]*>)|(?P<mark>%%|[(),=\[\]-])|(?P<word>[A-Za-z][\w.:-]*)""", re.X | re.S)


def provn_records(text):
    """The records of a document in PROV-N, each as (kind, arguments, sorted attributes)."""
    tokens, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            fail('PROV-N does not go on at %r' % text[at:at + 60])
        at = m.end()
        if m.lastgroup:
            tokens.append((m.lastgroup, m.group()))
    pos = 0

    def take(*want):
        nonlocal pos
        kind, value = tokens[pos]
        if want and value not in want and kind not in want:
            fail('PROV-N: %r, not %s' % (value, want))
        pos += 1
        return value

    def literal():
        kind, value = tokens[pos]
        take('long', 'text', 'name')
        if kind == 'name':
            return ('name', value[1:-1])
        value = value[3:-3] if kind == 'long' else value[1:-1]
        value = re.sub(r'\\(.)', lambda m: {'t': '\t', 'b': '\b', 'n': '\n', 'r': '\r', 'f': '\f'}.get(m.group(1), m.group(1)),
                       value, flags=re.S)
        if tokens[pos][1] == '%%':
            take()
            return (take('word'), value)
        return ('xsd:string', value)

    records = []
    take('document')
    while tokens[pos][1] in ('prefix', 'default'):
        if take() == 'prefix':
            take('word')
        take('iri')
    while tokens[pos][1] != 'endDocument':
        kind, arguments, attributes = take('word'), [], []
        take('(')
        while tokens[pos][1] not in ('[', ')'):
            arguments.append(take('word', 'time', '-'))
            if tokens[pos][1] == ',':
                take()
        if tokens[pos][1] == '[':
            take()
            while tokens[pos][1] != ']':
                name = take('word')
                take('=')
                attributes.append((name, literal()))
                if tokens[pos][1] == ',':
                    take()
            take()
        take(')')
        while arguments and arguments[-1] == '-':
            arguments.pop()
        records.append((kind, tuple(map(moment, arguments)), tuple(sorted((n, (t, moment(v))) for n, (t, v) in attributes))))
    if pos != len(tokens) - 1:
        fail('PROV-N goes on behind its end')
    return sorted(records)


def moment(text):
    """python3-prov has times in microseconds, cut."""
    if re.fullmatch(r'\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+]00:00)', text):
        text = re.sub(r'(Z|[+]00:00)$', '', text)
        return (text + '.' if '.' not in text else text).ljust(26, '0')[:26]
    return text


# What a format without escapes does not carry: controls, marks of direction. (Unicode's own table, not the program's.)
UNSAFE = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]')


def shown(text):
    return UNSAFE.sub('\ufffd', text) if isinstance(text, str) else text


def base64_of(text):
    import base64
    return base64.b64encode(text.encode()).decode()


def provn(notation, document):
    import_or_skip('prov')
    from prov.constants import PROV_N_MAP
    from prov.model import Literal, ProvDocument

    def value(v):
        if hasattr(v, 'localpart'):
            return ('name', str(v))
        if isinstance(v, Literal):
            return (str(v.datatype), moment(v.value))
        if isinstance(v, bool):
            return ('xsd:boolean', str(v).lower())
        return ('xsd:dateTime', moment(v.isoformat())) if hasattr(v, 'isoformat') else ('xsd:string', moment(shown(v)))

    def attributes(r):
        for k, v in r.extra_attributes:
            yield str(k), value(v)
            if str(k).startswith('stemma:') and isinstance(v, str) and shown(v) != v:
                yield str(k) + 'Base64', ('xsd:base64Binary', base64_of(v))

    theirs = []
    for r in ProvDocument.deserialize(document, format='json').get_records():
        arguments = [str(r.identifier)] if r.is_element() else []
        arguments += ['-' if a is None else moment(a.isoformat()) if hasattr(a, 'isoformat') else str(a) for a in r.args]
        while arguments[-1] == '-':
            arguments.pop()
        theirs.append((PROV_N_MAP[r.get_type()], tuple(arguments), tuple(sorted(attributes(r)))))
    with open(notation, encoding='utf-8', errors='strict', newline='') as f:
        ours = provn_records(f.read())
    if ours != sorted(theirs):
        fail('PROV-N: %s' % sorted(set(ours) ^ set(theirs))[:2])
    print(len(ours), 'records')


def rows(path, ext):
    import csv
    with open(path, encoding='utf-8', errors='strict', newline='') as f:
        if ext == 'csv':
            text = f.read()
            if '\n' in text.replace('\r\n', '') and '"' not in text:
                fail('%s: a line ends without a carriage return' % path)
            found = list(csv.reader(text.splitlines(keepends=True), strict=True))
        else:
            unescape = {'\\t': '\t', '\\n': '\n', '\\r': '\r', '\\\\': '\\'}
            found = [[re.sub(r'\\.', lambda m: unescape[m.group()], x) for x in line.split('\t')] for line in f.read().split('\n')[:-1]]
    for r in found:
        if len(r) != len(found[0]):
            fail('%s: %d fields, not %d: %r' % (path, len(r), len(found[0]), r[:3]))
    return [dict(zip(found[0], r)) for r in found[1:]]


def tables(folder, ext, document):
    d, meta = load(document), load(folder + '/csv-metadata.json')
    types = {t['url']: {c['name']: c['datatype'] for c in t['tableSchema']['columns']} for t in meta['tables']}
    number = 0

    def of_type(kind, value):
        if kind == 'integer':
            return int(value)
        if kind == 'dateTime':
            return ns(value)
        if kind == 'boolean':
            return {'true': True, 'false': False}[value]
        return json.loads(value) if kind == 'json' else value

    def attributes(row, url, skip):
        exact = json.loads(row.get('base64') or '{}')
        found = set()
        for name, value in row.items():
            of_type(types[url][name], value) if value else None
            if name in skip or not value or name == 'base64':
                continue
            found.add((name, value))
            if name in exact:
                found.add((name + 'Base64', json.dumps(exact[name], separators=(',', ':')) if isinstance(exact[name], list) else exact[name]))
        return found

    def wanted(thing):
        found = {(k[7:], re.sub('^id:', '', str(plain(v))) if isinstance(v, dict) else str(v).lower() if isinstance(v, bool) else v)
                 for k, v in thing.items() if k.startswith('stemma:')}
        lost = {(k + 'Base64', base64_of(v)) for k, v in found if shown(v) != v}
        return {(k, shown(v)) for k, v in found} | lost

    for kind in ('agent', 'entity', 'activity'):
        url = '%s.%s' % (kind, ext)
        got = {}
        for row in rows('%s/%s' % (folder, url), ext):
            if list(row) != list(types[url]):
                fail('%s: columns' % url)
            got[row['id']] = (attributes(row, url, ('id', 'type', 'name', 'start', 'end')), row['name'], row.get('start', ''), row.get('end', ''))
        want = {local(k): (wanted(v), shown(v.get('prov:label', '')), v.get('prov:startTime', ''), v.get('prov:endTime', '')) for k, v in d[kind].items()}
        if got != want:
            k = [k for k in set(got) | set(want) if got.get(k) != want.get(k)][0]
            fail('%s: %s: %s' % (url, k, set(map(str, got.get(k, ()))) ^ set(map(str, want.get(k, ())))))
        number += len(got)
    url = 'relation.' + ext
    got = sorted((r['type'], r['subject'], r['object'], r['activity'], r['time'], tuple(sorted(attributes(r, url, ('type', 'subject', 'object',
                                                                                                          'activity', 'time')))))
                 for r in rows('%s/%s' % (folder, url), ext))
    ends = {'wasGeneratedBy': ('entity', 'activity'), 'used': ('activity', 'entity'), 'wasDerivedFrom': ('generatedEntity', 'usedEntity'),
            'wasInformedBy': ('informed', 'informant'), 'wasAssociatedWith': ('activity', 'agent'),
            'actedOnBehalfOf': ('delegate', 'responsible', 'activity'), 'specializationOf': ('specificEntity', 'generalEntity')}
    want = sorted((kind, *[local(r['prov:' + e]) for e in names], *([''] * (3 - len(names))), r.get('prov:time', ''), tuple(sorted(wanted(r))))
                  for kind, names in ends.items() for r in d[kind].values())
    if got != want:
        fail('%s: %s' % (url, sorted(set(got) ^ set(want))[:2]))
    print(number + len(got), 'rows')


# What OpenLineage 2-0-2 requires (its specification, "OpenLineage.json", and the facets' own), written from its documentation.
def facet(*required, **properties):
    return {'type': 'object', 'required': ['_producer', '_schemaURL', *required],
            'properties': {'_producer': {'type': 'string', 'format': 'uri'}, '_schemaURL': {'type': 'string', 'format': 'uri'}, **properties}}


TEXT = {'type': 'string'}
RUN_ID = {'type': 'string', 'pattern': '^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'}
DATASET = {'type': 'object', 'required': ['namespace', 'name'],
           'properties': {'namespace': TEXT, 'name': {'type': 'string', 'minLength': 1},
                          'facets': {'additionalProperties': facet(), 'properties': {'version': facet('datasetVersion', datasetVersion=TEXT)}},
                          'outputFacets': {'properties': {'outputStatistics': facet(size={'type': 'integer'})}, 'additionalProperties': facet()}}}
JOB = {'type': 'object', 'required': ['namespace', 'name'], 'properties': {
    'namespace': TEXT, 'name': {'type': 'string', 'minLength': 1},
    'facets': {'additionalProperties': facet(), 'properties': {'jobType': facet('processingType', 'integration', processingType=TEXT)}}}}
EVENT = {'type': 'object', 'required': ['eventTime', 'producer', 'schemaURL', 'run', 'job'], 'properties': {
    'eventTime': {'type': 'string', 'pattern': r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$'},
    'producer': {'type': 'string', 'pattern': '^[a-z]+:'}, 'schemaURL': {'type': 'string', 'pattern': '^https://openlineage.io/spec/2-0-2/'},
    'eventType': {'enum': ['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL', 'OTHER']}, 'job': JOB,
    'run': {'type': 'object', 'required': ['runId'], 'properties': {'runId': RUN_ID, 'facets': {
        'additionalProperties': facet(), 'properties': {
            'parent': facet('run', 'job', run={'type': 'object', 'required': ['runId'], 'properties': {'runId': RUN_ID}}, job=JOB),
            'processing_engine': facet('version', version=TEXT)}}}},
    'inputs': {'type': 'array', 'items': DATASET}, 'outputs': {'type': 'array', 'items': DATASET}}}


def uuid_of(local):
    """By RFC 9562: version 8 of 96 bits, version 7 of a ULID."""
    if local[0] == 'x':
        v = int(local[1:], 16)
        return '%08x-%04x-8%03x-%04x-%012x' % (v >> 64, v >> 48 & 0xffff, v >> 36 & 0xfff, 0x8000 | v >> 22 & 0x3fff, (v & 0x3fffff) << 26)
    v = 0
    for c in local[1:]:
        v = v * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.index(c)
    v = v & ~(0xf << 76) | 7 << 76
    v = v & ~(0b11 << 62) | 0b10 << 62
    h = '%032x' % v
    return '-'.join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def openlineage(path, document):
    jsonschema = import_or_skip('jsonschema')
    d, runs = load(document), {}
    with open(path, encoding='utf-8', errors='strict') as f:
        events = [json.loads(line, object_pairs_hook=no_duplicates) for line in f]
    validator = jsonschema.Draft7Validator(EVENT)
    names = {e['run']['runId']: e['job']['name'] for e in events}
    for e in events:
        for problem in validator.iter_errors(e):
            fail('%s: %s' % ('/'.join(map(str, problem.absolute_path)), problem.message))
        runs.setdefault(e['run']['runId'], []).append(e)
    uses, makes = {}, {}
    for r in d['used'].values():
        uses.setdefault(r['prov:activity'], set()).add(local(r['prov:entity']))
    for r in d['wasGeneratedBy'].values():
        makes.setdefault(r['prov:activity'], set()).add(local(r['prov:entity']).split('.')[0])
    n = 0
    for k, a in d['activity'].items():
        is_run, events = k.startswith('id:r'), runs.pop(uuid_of(local(k)), [])
        if not is_run and 'stemma:argv' not in a and k not in uses and k not in makes:
            if events:
                fail('%s has events' % k)
            continue
        failed = 'stemma:exitSignal' in a or int(plain(a.get('stemma:exitStatus', '0'))) != 0
        want = ['START'] + (['FAIL' if failed else 'COMPLETE'] if 'prov:endTime' in a else [])
        if [e['eventType'] for e in events] != want or [e['eventTime'] for e in events] != [a['prov:startTime'], a.get('prov:endTime')][:len(want)]:
            fail('%s: %s, not %s' % (k, [(e['eventType'], e['eventTime']) for e in events], want))
        versions = [[s['facets']['version']['datasetVersion'] for s in events[-1][side]] for side in ('inputs', 'outputs')]
        if sorted(versions[0]) != sorted(uses.get(k, ())) or sorted(versions[1]) != (sorted(makes.get(k, ())) if len(want) == 2 else []):
            fail('%s: datasets %s' % (k, versions))
        for s in events[-1]['inputs'] + events[-1]['outputs']:
            e = d['entity']['id:' + s['facets']['version']['datasetVersion']]
            if s['name'] != e.get('stemma:path', s['name']) or s['namespace'] != 'file://' + a['stemma:host']:
                fail('dataset %s' % s)
        if not is_run:
            parent = events[0]['run']['facets']['parent']
            if parent['run']['runId'] != uuid_of(local(plain(a['stemma:run']))):
                fail('%s has another parent' % k)
            if parent['job']['name'] != names[parent['run']['runId']]:
                fail('%s: the parent is called %r, not %r' % (k, parent['job']['name'], names[parent['run']['runId']]))
        n += len(events)
    if runs:
        fail('events of what is not there: %s' % list(runs)[:3])
    print(n, 'events')


def crate(path, document):
    import os
    import urllib.parse
    import zipfile
    if path.endswith('.zip'):
        z = zipfile.ZipFile(path)
        if z.testzip():
            fail('the archive is damaged')
        inside = {os.fsencode(n): z.read(n) for n in z.namelist()}
        if len(inside) != len(z.namelist()):
            fail('a name stands twice in the archive')
    else:
        inside = {}
        for folder, _, names in os.walk(os.fsencode(path)):
            for n in names:
                with open(os.path.join(folder, n), 'rb') as f:
                    inside[os.path.relpath(os.path.join(folder, n), os.fsencode(path))] = f.read()
    meta = json.loads(inside.pop(b'ro-crate-metadata.json').decode('utf-8'), object_pairs_hook=no_duplicates)
    graph = {e['@id']: e for e in meta['@graph']}
    if len(graph) != len(meta['@graph']) or meta['@context'] != 'https://w3id.org/ro/crate/1.1/context':
        fail('an entity stands twice')
    descriptor, root = graph['ro-crate-metadata.json'], graph['./']
    if descriptor['about'] != {'@id': './'} or descriptor['conformsTo'] != {'@id': 'https://w3id.org/ro/crate/1.1'} or \
            descriptor['@type'] != 'CreativeWork' or root['@type'] != 'Dataset' or \
            root['conformsTo'] != {'@id': 'https://w3id.org/ro/wfrun/process/0.5'} or not re.match(r'\d{4}-\d\d-\d\dT', root['datePublished']):
        fail('descriptor or root')
    for name in ('name', 'description', 'license', 'hasPart', 'mentions'):
        if name not in root:
            fail('the root has no %s' % name)

    def references(thing):
        if isinstance(thing, dict):
            if set(thing) == {'@id'}:
                yield thing['@id']
            else:
                for v in thing.values():
                    yield from references(v)
        elif isinstance(thing, list):
            for v in thing:
                yield from references(v)

    for e in meta['@graph']:
        for r in references(e):
            if r not in graph and not r.startswith('http://schema.org/') and r != 'https://w3id.org/ro/crate/1.1':
                fail('%s refers to %s, which is not there' % (e['@id'], r))
    ids = lambda name: [r['@id'] for r in root[name]]
    of_type = lambda t: {i for i, e in graph.items() if e['@type'] == t or e['@type'] == [t, 'SoftwareSourceCode']}
    if sorted(ids('hasPart')) != sorted(of_type('File')) or sorted(ids('mentions')) != sorted(of_type('CreateAction')):
        fail('hasPart or mentions')
    for i in of_type('File'):
        if not i.startswith('urn:'):
            name = urllib.parse.unquote_to_bytes(i)
            if name not in inside or len(inside.pop(name)) != int(graph[i]['contentSize']):
                fail('%s is not in the crate as it says' % i)
    if inside:
        fail('in the crate but not told: %s' % list(inside)[:3])
    # The same as PROV-JSON.
    d = load(document)
    version = lambda i: graph[i]['identifier'].split(':')[-1] if i in of_type('File') else i[1:]
    uses, makes, by = {}, {}, {}
    for r in d['used'].values():
        uses.setdefault(local(r['prov:activity']), set()).add(local(r['prov:entity']))
    for r in d['wasGeneratedBy'].values():
        makes.setdefault(local(r['prov:activity']), set()).add(local(r['prov:entity']).split('.')[0])
    for r in d['wasAssociatedWith'].values():
        by.setdefault(local(r['prov:activity']), set()).add('#' + local(r['prov:agent']))
    told = set()
    for i in of_type('CreateAction'):
        a, x = graph[i], i[1:]
        told.add(x)
        thing = d['activity']['id:' + x]
        if a.get('startTime') != thing.get('prov:startTime') or a.get('endTime') != thing.get('prov:endTime'):
            fail('times of %s' % i)
        if {version(r['@id']) for r in a.get('object', ())} != uses.get(x, set()) or {version(r['@id']) for r in a.get('result', ())} != makes.get(x, set()):
            fail('object or result of %s' % i)
        who = {a[n]['@id'] for n in ('agent', 'instrument') if n in a}
        tool = a.get('instrument', {'@id': './'})['@id']
        if graph[tool]['@type'] == ['File', 'SoftwareSourceCode']:  # the script, which it used
            who.discard(tool if {'@id': tool} in a['object'] else '')
        elif graph[tool]['@type'] != 'SoftwareApplication':
            fail('the instrument of %s' % i)
        if who - {'#no-program'} - by.get(x, set()):
            fail('agent or instrument of %s' % i)
        failed = 'stemma:exitSignal' in thing or int(plain(thing.get('stemma:exitStatus', '0'))) != 0
        if 'prov:endTime' in thing and (a['actionStatus']['@id'].endswith('FailedActionStatus') != failed or ('error' in a) != failed):
            fail('status of %s' % i)
    want = {local(k) for k, a in d['activity'].items() if k.startswith('id:x') and ('stemma:argv' in a or local(k) in uses or local(k) in makes)}
    if told != want:
        fail('actions: %s' % sorted(told ^ want)[:3])
    versions = {local(k) for k, e in d['entity'].items() if plain(e['stemma:fileKind']) == 'regular' and not k.startswith('id:f') and '.' not in k}
    if {version(i) for i in of_type('File')} != versions:
        fail('files')
    print(len(told), 'actions,', len(versions), 'files')


def sparql(g, pattern):
    q = 'PREFIX prov: <%s> PREFIX stemma: <%s> SELECT (COUNT(*) AS ?n) WHERE { %s }' % (P, S, pattern)
    return int(next(iter(g.query(q)))[0])


def counts(turtle, sql):
    g, t = graph(turtle, 'turtle'), load(sql)
    files = {f['id']: f for f in t['file']}
    kinds = {v['id']: files[v['file']]['kind'] for v in t['version']}
    edges = {kind: [(e['from_id'], e['to_id']) for e in t['edge'] if e['type'] == kind] for kind in
             ('used', 'wasGeneratedBy', 'wasDerivedFrom', 'wasInformedBy')}
    writers = {}
    for version, _ in edges['wasGeneratedBy']:
        writers[version] = writers.get(version, 0) + 1
    chained = sum(n - 1 for n in writers.values())
    used_files = {v['file'] for v in t['version']}
    want = {
        '?x a stemma:Run': len(t['run']),
        '?x a prov:Activity': len(t['run']) + len(t['execution']),
        '?x a stemma:Execution': len(t['execution']),
        '?x a stemma:File': len(used_files),
        '?x a prov:Entity': len(used_files) + len(t['version']) + chained,
        '?x prov:specializationOf ?y': len(t['version']) + chained,
        '?x prov:used ?y': len(set(edges['used'])),
        '?x prov:qualifiedUsage ?y': len(edges['used']),
        '?x prov:wasGeneratedBy ?y': len(edges['wasGeneratedBy']),
        '?x prov:wasDerivedFrom ?y': len(set(edges['wasDerivedFrom'])) + chained,
        '?x prov:wasInformedBy ?y': len(set(edges['wasInformedBy'])),
        '?x a prov:Person': len({(e['user'], e['host']) for e in t['execution'] if e['user']}),
        '?x a prov:SoftwareAgent': len({f for e in t['execution'] for f in (e['script'], e['exe']) if f}),
        '?x stemma:fileKind "absent" . ?x a stemma:Version': sum(k == 'absent' for k in kinds.values()),
    }
    for pattern, n in want.items():
        if sparql(g, pattern) != n:
            fail('%s: %d, the tables have %d' % (pattern, sparql(g, pattern), n))
    print(sum(want.values()), 'things')


def complete(path, sql):
    d, t = load(path), load(sql)
    v = {x['id']: x['pub'] for x in t['version']}
    x = {e['id']: e['pub'] for e in t['execution']}

    def relations(kind, a, b):
        return sorted((local(r['prov:' + a]), local(r['prov:' + b]), r['stemma:certainty'], r['stemma:via']) for r in d[kind].values()
                      if 'stemma:via' in r)

    def edges(kind, a, b):
        return sorted((a[e['from_id']], b[e['to_id']], e['certainty'], e['via']) for e in t['edge'] if e['type'] == kind)

    used = edges('used', x, v)
    if relations('used', 'activity', 'entity') != used:
        fail('used')
    made = edges('wasGeneratedBy', v, x)
    if sorted((e.split('.')[0], a, c, w) for e, a, c, w in relations('wasGeneratedBy', 'entity', 'activity')) != made:
        fail('wasGeneratedBy')
    within = [r for r in d['wasDerivedFrom'].values() if r['prov:usedEntity'].split('.')[0] == r['prov:generatedEntity'].split('.')[0]]
    derived = [(e.split('.')[0], f, c, w) for e, f, c, w in relations('wasDerivedFrom', 'generatedEntity', 'usedEntity')
               if e.split('.')[0] != f.split('.')[0]]
    if sorted(derived) != edges('wasDerivedFrom', v, v):
        fail('wasDerivedFrom')
    if relations('wasInformedBy', 'informed', 'informant') != edges('wasInformedBy', x, x):
        fail('wasInformedBy')
    # A chain is whole: from its last part, the version itself, back to the first.
    parts = {k for k in d['entity'] if '.' in k}
    if {r['prov:usedEntity'] for r in within} != parts:
        fail('chains of appends')
    entity = {local(k): e for k, e in d['entity'].items()}
    for row in t['version']:
        e = entity[row['pub']]
        if e['stemma:origin'] != row['origin'] or int(plain(e['stemma:versionNumber'])) != row['n'] or \
                (int(plain(e['stemma:size'])) if 'stemma:size' in e else None) != row['size']:
            fail('version %s' % row['pub'])
    activity = {local(k): a for k, a in d['activity'].items()}
    for row in t['execution']:
        a = activity[row['pub']]
        if int(plain(a['stemma:pid'])) != row['pid'] or int(plain(a['stemma:execution'])) != row['n'] or \
                a.get('stemma:cwd', '') != (row['cwd'] or ''):
            fail('execution %s' % row['pub'])
        for name, column in (('prov:startTime', 'began'), ('prov:endTime', 'ended')):
            if (ns(a[name]) if name in a else None) != row[column]:
                fail('times of execution %s' % row['pub'])
    known = set(entity) | set(activity) | {local(k) for k in d['agent']}
    dangling = [r for k, s in d.items() if k not in ('prefix', 'entity', 'activity', 'agent') for r in s.values()
                for n, i in r.items() if n in ENDS and local(i) not in known]
    if dangling:
        fail('what is not there is named: %s' % dangling[:3])
    print(len(used) + len(made) + len(derived), 'relations')


ENDS = {'prov:' + n for n in ('entity', 'activity', 'agent', 'informed', 'informant', 'generatedEntity', 'usedEntity', 'delegate',
                              'responsible', 'specificEntity', 'generalEntity')}


# ---- times ----

def ns(text):
    """xsd:dateTime to ns since 1970, without a library that knows microseconds only."""
    import calendar
    m = re.fullmatch(r'(\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{9})Z', text)
    if not m:
        fail('time %r' % text)
    return calendar.timegm(tuple(map(int, m.groups()[:6]))) * 10**9 + int(m.group(7))


def times(path):
    d = load(path)
    act = {k: (ns(a['prov:startTime']) if 'prov:startTime' in a else None, ns(a['prov:endTime']) if 'prov:endTime' in a else None)
           for k, a in d['activity'].items()}
    gen, n = {}, 0
    for k, (s, e) in act.items():
        if s is not None and e is not None and s > e:
            fail('%s ends before it starts' % k)

    def inside(r, t):
        s, e = act[r['prov:activity']]
        if (s is not None and t < s) or (e is not None and t > e):
            fail('outside of its activity: %s' % r)

    for r in d['wasGeneratedBy'].values():
        if r['prov:entity'] in gen:
            fail('%s is generated twice' % r['prov:entity'])
        gen[r['prov:entity']] = None
        if 'prov:time' in r:
            gen[r['prov:entity']] = t = ns(r['prov:time'])
            inside(r, t)
            n += 1
            if not ns(plain(r['stemma:from'])) <= t or ('stemma:until' in r and t > ns(plain(r['stemma:until']))):
                fail('not a time of the writing: %s' % r)
    first_use = {}
    for r in d['used'].values():
        if 'prov:time' in r:
            t, n = ns(r['prov:time']), n + 1
            inside(r, t)
            e = r['prov:entity']
            first_use[e] = min(t, first_use.get(e, t))
            if gen.get(e) is not None and t < gen[e]:
                fail('%s is used before it is generated' % e)
    # Strictly after all that it came from, along any way, whether those in between have times or not; and a version without a
    # time came to be before it was used.
    came = {}
    for r in d['wasDerivedFrom'].values():
        came.setdefault(r['prov:generatedEntity'], set()).add(r['prov:usedEntity'])
    for e in set(gen) | set(first_use):
        limit = gen.get(e) if gen.get(e) is not None else first_use.get(e)
        seen, todo = set(), list(came.get(e, ()))
        while todo:
            f = todo.pop()
            if f in seen:
                continue
            seen.add(f)
            if limit is not None and gen.get(f) is not None and gen[f] >= limit:
                fail('%s is not older than %s, which came from it' % (f, e))
            todo.extend(came.get(f, ()))
    if not n:
        fail('no times at all')
    print(n, 'times')


# ---- texts ----

def texts(path, *wanted):
    d = load(path)
    have = set()
    for section, things in d.items():
        for thing in things.values() if section != 'prefix' else ():
            for k, v in thing.items():
                v = plain(v)
                if not isinstance(v, str) or k.endswith('Base64'):
                    continue
                exact = thing.get(k + 'Base64')
                if v.startswith('["'):
                    have.update(base64.b64decode(x) for x in json.loads(exact)) if exact else have.update(x.encode() for x in json.loads(v))
                else:
                    have.add(base64.b64decode(exact) if exact else v.encode())
    for w in wanted:
        w = eval("b'''" + w + "'''") if w.startswith('\\x') or '\\' in w else w.encode()
        if w not in have:
            fail('no %r' % w)
    print(len(have), 'texts')


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
