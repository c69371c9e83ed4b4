"""prov_sets.py [--related] FILE... - nodes and edges of documents in PROV-N or PROV-JSONLD, by small readers of their own: a line each,
sorted, once. A node is its kind, its name and its types; an edge its kind and its two ends, with when and how sure, as far as
the notation tells. --related: no entities that no other edge than a specialization is about. Knows as much of the notations as stemma writes."""

import json
import re
import sys

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|%%|[()\[\],=;]|[^\s()\[\],=;"\']+', re.S)
KINDS = {'Entity': 'entity', 'Activity': 'activity', 'Agent': 'agent', 'Generation': 'wasGeneratedBy', 'Usage': 'used',
         'Derivation': 'wasDerivedFrom', 'Communication': 'wasInformedBy', 'Association': 'wasAssociatedWith',
         'Delegation': 'actedOnBehalfOf', 'Specialization': 'specializationOf'}
ENDS = {'wasGeneratedBy': ('entity', 'activity'), 'used': ('activity', 'entity'), 'wasDerivedFrom': ('generatedEntity', 'usedEntity'),
        'wasInformedBy': ('informed', 'informant'), 'wasAssociatedWith': ('activity', 'agent'),
        'actedOnBehalfOf': ('delegate', 'responsible'), 'specializationOf': ('specificEntity', 'generalEntity')}
SAID = ('stemma:certainty', 'stemma:via')


def of_provn(text):
    words = TOKEN.findall(text[text.index('\n\n'):text.rindex('endDocument')])
    at = 0
    while at < len(words):
        kind, args, types, said = words[at], [], [], {}
        at += 2  # and its bracket
        while words[at] != ')':
            if words[at] == '[':
                while words[at] != ']':
                    name, value = words[at + 1], words[at + 3]
                    at += 4
                    if words[at] == '%%':
                        at += 2
                    if name == 'prov:type':
                        types.append(value.strip("'"))
                    if name in SAID:
                        said[name] = value.strip('"')
            elif words[at] != ',':
                args.append(words[at])
            at += 1
        at += 1
        if kind in ENDS:
            yield (kind, args[0], args[1]) + tuple(said.get(s, '') for s in SAID)
        else:
            yield (kind, args[0]) + tuple(sorted(types))


def of_jsonld(text):
    def plain(v):
        v = v[0] if isinstance(v, list) else v
        return v.get('@value', v.get('@id', '')) if isinstance(v, dict) else v or ''

    for o in json.loads(text)['@graph']:
        kind = KINDS[o['@type']]
        if kind in ENDS:
            yield (kind, o[ENDS[kind][0]], o[ENDS[kind][1]]) + tuple(plain(o.get(s)) for s in SAID)
        elif 'type' in o:  # else a direct relation
            yield (kind, o['@id']) + tuple(sorted(o['type']))


def related(lines):
    about = {end for x in lines if x[0] in ENDS and x[0] != 'specializationOf' for end in x[1:3]}
    about |= {x[2] for x in lines if x[0] == 'specializationOf' and x[1] in about}
    return [x for x in lines if not (x[0] in ('entity', 'specializationOf') and x[1] not in about)]


arguments = [a for a in sys.argv[1:] if a != '--related']
for path in arguments:
    with open(path, encoding='utf-8') as f:
        document = f.read()
    found = list((of_jsonld if document[0] == '{' else of_provn)(document))
    for line in sorted({' '.join(x) for x in (related(found) if '--related' in sys.argv else found)}):
        print(line)
