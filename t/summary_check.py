#!/usr/bin/python3
"""summary_check.py FORM OURS THEIRS - hold a summary in a form of others against the same in ours.

FORM is kickstart (THEIRS is YAML: read by PyYAML, held against tests/reference/kickstart_schema.json, then asked for
what Pegasus's monitor takes from it) or resource-monitor (THEIRS is what `cctools-read` printed of it: what cctools'
own reader made of the fields). OURS is the JSON of `run --summary`; its numbers are read as decimals. Ends with 1 and
a line for each difference.
"""

import datetime
import decimal
import json
import os
import sys

D = decimal.Decimal
found = []


def differ(what, want, got):
    if want != got:
        found.append(f'{what}: {got!r}, ours is {want!r}')


def value(ours, name):
    figure = ours[name]
    return None if 'absent' in figure else D(figure['value'])


def cut(number, places):
    """Towards 0, as a record with so many places has it."""
    return number.quantize(D(1).scaleb(-places), rounding=decimal.ROUND_DOWN)


def kickstart(ours, path):
    import jsonschema
    import yaml

    class Loader(yaml.SafeLoader):
        """Pegasus takes dates as text, too."""

    Loader.yaml_implicit_resolvers = {c: [(tag, regexp) for tag, regexp in rules if not tag.endswith(':timestamp')]
                                      for c, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    with open(path, encoding='utf-8') as f:
        text = f.read()
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] not in (' ', '-'):  # Pegasus drops such lines
            found.append(f'line {number} begins with {line[:1]!r}')
    records = yaml.load(text, Loader=Loader)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, '..', 'tests', 'reference', 'kickstart_schema.json'), encoding='utf-8') as f:
        schema = json.load(f)
    # YAML's keys need not be strings, JSON's are
    as_json = json.loads(json.dumps(records))
    for e in jsonschema.Draft7Validator(schema).iter_errors(as_json):
        found.append(f'{"/".join(map(str, e.absolute_path))}: {e.message[:200]}')
    if found:
        return
    differ('records', 1, len(records))
    record = records[0]
    main = record['mainjob']
    since = datetime.datetime.fromisoformat(main['start'])
    differ('start', cut(value(ours, 'start'), 3),
           D(since.replace(microsecond=0).timestamp()) + D(since.microsecond).scaleb(-6))
    differ('duration', cut(value(ours, 'wall_time'), 6), D(str(main['duration'])).quantize(D('0.000001')))
    for key, name in (('utime', 'user_time'), ('stime', 'system_time')):
        differ(key, cut(value(ours, name), 6), D(str(main['usage'][key])).quantize(D('0.000001')))
    for key, name, unit in (('maxrss', 'memory_resident_peak', 1024), ('minflt', 'page_faults_minor', 1)):
        want = value(ours, name)
        differ(key, None if want is None else -(-int(want) // unit), main['usage'].get(key))
    differ('arguments', ours['command'][1:], main['argument_vector'])
    differ('cwd', ours['cwd'], record['cwd'])
    if ours['signal'] is not None:
        differ('signal', ours['signal'], main['status']['signalled_signal'])
        differ('raw', ours['signal'], main['status']['raw'])
    else:
        differ('status', ours['exit_status'], main['status']['regular_exitcode'])
        differ('raw', ours['exit_status'] << 8, main['status']['raw'])
    differ('processes', {p['pid'] for p in ours['processes']}, set(main['procs']))
    first = min(ours['processes'], key=lambda p: D(p['start'])) if ours['processes'] else None
    if first:
        differ('program', first['exe'], main['executable']['file_name'])
        differ('pid', first['pid'], main['pid'])
    for label, text in ours['label'].items():
        if label in ('transformation', 'derivation', 'resource', 'wf-label', 'wf-stamp'):
            differ(label, text, record[label])
    # The monitor walks over these, so they must be there even when empty.
    assert list(record['files']) == []


def resource_monitor(ours, path):
    theirs = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            key, _, text = line.rstrip('\n').partition(' ')
            theirs[key] = text
    rows = (('start', 'start', 1), ('end', 'end', 1), ('wall_time', 'wall_time', 1), ('cpu_time', 'cpu_time', 1),
            ('memory', 'memory_resident_peak', 2**20), ('virtual_memory', 'memory_virtual_peak', 2**20),
            ('swap_memory', 'swap_peak', 2**20), ('bytes_read', 'bytes_read', 2**20),
            ('bytes_written', 'bytes_written', 2**20), ('total_processes', 'processes_total', 1),
            ('disk', 'disk_footprint_peak', 2**20), ('max_concurrent_processes', 'processes_concurrent_peak', 1))
    for key, name, unit in rows:
        want = value(ours, name)
        got = D(theirs[key])
        if want is None:
            differ(key, D(-1), got)  # their word for what was not measured
        elif unit > 1:
            differ(key, int(want), round(got * unit))
        elif abs(got - want) > D('0.000001'):
            differ(key, want, got)
    differ('command', ' '.join(ours['command']), theirs['command'])
    kind = {'limit': 'limits'}.get(ours['exit_type'], ours['exit_type'])
    differ('exit_type', kind, theirs['exit_type'])
    status = ours['exit_status'] if ours['exit_status'] is not None else 128 + ours['signal']
    differ('exit_status', str(status), theirs['exit_status'])
    for limit in ours['limits_exceeded']:
        key = {'memory': 'memory', 'cpu': 'cpu_time', 'wall': 'wall_time'}.get(limit['name'])
        if not key:  # they have none on it
            continue
        got = D(theirs['limit_' + key])
        differ('limit ' + key, D(limit['limit']), D(round(got * 2**20)) if limit['unit'] == 'B' else round(got, 6))


def main():
    form, ours, theirs = sys.argv[1:]
    with open(ours, encoding='utf-8') as f:
        summary = json.load(f, parse_float=D)
    {'kickstart': kickstart, 'resource-monitor': resource_monitor}[form](summary, theirs)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
