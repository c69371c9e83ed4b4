#!/usr/bin/env python3
"""sbom.py FORMAT DOCUMENT - holds a bill of materials to its format, by rules of our own: cyclonedx (1.5), spdx (2.3).

With SBOM_SCHEMAS=FOLDER also to the published JSON schemas there, bom-1.5.*schema.json (with spdx.* and jsf-0.82.* beside it,
which it refers to) and spdx-2.3.schema.json, by python3-jsonschema. Prints what is wrong and ends with 1; prints "schema" at
the end where one was used.
"""
import glob
import json
import os
import re
import sys

PURL = re.compile(r'pkg:[a-z]+/([A-Za-z0-9._~%-]+/)*[A-Za-z0-9._~%-]+@[A-Za-z0-9._~%:-]+(\?[a-z]+=[A-Za-z0-9._~%:-]+(&[a-z]+=[A-Za-z0-9._~%:-]+)*)?')
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ')
SHA256 = re.compile(r'[0-9a-f]{64}')


def want(condition, *what):
    if not condition:
        sys.exit('sbom.py: ' + ' '.join(str(w) for w in what))


def unique(values, what):
    want(len(values) == len(set(values)), what, 'twice')


def cyclonedx_components(components):
    for c in components:
        yield c
        yield from cyclonedx_components(c.get('components', []))


def check_cyclonedx(d):
    want(d['bomFormat'] == 'CycloneDX' and d['specVersion'] == '1.5' and d['version'] == 1, 'head')
    want(re.fullmatch(r'urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}', d['serialNumber']), 'serial')
    want(TIME.fullmatch(d['metadata']['timestamp']), 'time')
    everything = list(cyclonedx_components([d['metadata']['component']] + d['components']))
    refs = [c['bom-ref'] for c in everything]
    unique(refs, 'bom-ref')
    for c in everything:
        want(c['type'] in ('application', 'library', 'file', 'data') and isinstance(c['name'], str) and c['name'], 'component', c)
        for h in c.get('hashes', []):
            want(h['alg'] == 'SHA-256' and SHA256.fullmatch(h['content']), 'hash', h)
        if c['type'] in ('application', 'library'):
            want(c['version'] and PURL.fullmatch(c['purl']), 'package', c)
            want(c['components'], 'a package without a file', c)
    unique([c['purl'] for c in everything if 'purl' in c], 'purl')
    for dependency in d['dependencies']:
        unique(dependency['dependsOn'], 'dependency')
        want({dependency['ref'], *dependency['dependsOn']} <= set(refs), 'dependency of nothing')
    top = {c['bom-ref'] for c in d['components']}
    want(set(d['dependencies'][0]['dependsOn']) == top, 'the result does not depend on all')


def check_spdx(d):
    want(d['spdxVersion'] == 'SPDX-2.3' and d['dataLicense'] == 'CC0-1.0' and d['SPDXID'] == 'SPDXRef-DOCUMENT' and d['name'], 'head')
    want(re.fullmatch(r'urn:[a-z]+:[^#]+', d['documentNamespace']), 'namespace')
    want(TIME.fullmatch(d['creationInfo']['created']) and d['creationInfo']['creators'], 'creation')
    ids = [p['SPDXID'] for p in d['packages']]
    unique(ids, 'SPDXID')
    for p in d['packages']:
        want(re.fullmatch(r'SPDXRef-[A-Za-z0-9.-]+', p['SPDXID']) and p['name'], 'package', p)
        want(p['downloadLocation'] == 'NOASSERTION' and p['filesAnalyzed'] is False, 'package', p)
        want(p['primaryPackagePurpose'] in ('APPLICATION', 'LIBRARY', 'FILE'), 'purpose', p)
        for c in p.get('checksums', []):
            want(c['algorithm'] == 'SHA256' and SHA256.fullmatch(c['checksumValue']), 'checksum', c)
        if p['primaryPackagePurpose'] != 'FILE':
            want(p['versionInfo'] and PURL.fullmatch(p['externalRefs'][0]['referenceLocator']), 'package', p)
    known = {'SPDXRef-DOCUMENT', *ids}
    for r in d['relationships']:
        want({r['spdxElementId'], r['relatedSpdxElement']} <= known, 'relationship of nothing', r)
        want(r['relationshipType'] in ('DESCRIBES', 'BUILD_TOOL_OF', 'BUILD_DEPENDENCY_OF'), r)
    used = [r['spdxElementId'] for r in d['relationships'] if r['relationshipType'] != 'DESCRIBES']
    want(sorted(used) == sorted(i for i in ids if i != 'SPDXRef-Result-0'), 'not all have a relationship')


def check_schema(kind, d):
    """Whether a published schema was there."""
    folder = os.environ.get('SBOM_SCHEMAS')
    found = folder and glob.glob(os.path.join(folder, 'bom-1.5.*schema.json' if kind == 'cyclonedx' else 'spdx-2.3.schema.json'))
    if not found:
        return False
    import jsonschema
    with open(found[0], encoding='utf-8') as f:
        schema = json.load(f)
    store = {}
    for name in glob.glob(os.path.join(folder, '*.json')):
        with open(name, encoding='utf-8') as f:
            one = json.load(f)
        store[one.get('$id', name)] = one
    resolver = jsonschema.RefResolver(schema.get('$id', ''), schema, store=store)
    errors = list(jsonschema.validators.validator_for(schema)(schema, resolver=resolver).iter_errors(d))
    want(not errors, *(e.message[:300] for e in errors))
    return True


kind, path = sys.argv[1:]
with open(path, encoding='utf-8') as f:
    document = json.load(f)
{'cyclonedx': check_cyclonedx, 'spdx': check_spdx}[kind](document)
if check_schema(kind, document):
    print('schema')
