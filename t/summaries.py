"""summaries.py - makes summaries of tasks for the tests of the archive: as JSON, a line each.

    task(command, start, wall=.., memory=.., ...) is one summary as a dictionary; write(tasks, file) writes them.

Figures are given in their unit (s, B, cores). A pair (value, low, high) has bounds, None is absent, and partly(value)
is not complete. Times begin at 2026-01-01T00:00:00Z.
"""

import json

T0 = 1767225600
UNITS = {'memory_resident_peak': 'B', 'bytes_read': 'B', 'bytes_written': 'B', 'disk_footprint_peak': 'B',
         'cores': 'cores', 'cores_peak': 'cores', 'processes_total': 'processes', 'threads_peak': 'threads'}


class partly(float):
    """A value of which a part was not seen."""


def figure(name, value):
    if value is None:
        return {'absent': 'not measured'}
    unit, whole = UNITS.get(name, 's'), not isinstance(value, partly)
    if isinstance(value, tuple):
        value, low, high = value
        return {'value': value, 'unit': unit, 'method': 'made', 'low': low, 'high': high, 'complete': whole}
    if isinstance(value, partly) and unit == 'B':
        value = int(value)
    return {'value': value, 'unit': unit, 'method': 'made', 'complete': whole}


def task(command, start, wall, user='ann', cwd='/w', host=None, label=None, exit_status=0, signal=None, oom=False,
         exceeded=(), run=None, **figures):
    start = round(T0 + start, 9)
    end = {'exit_type': 'normal', 'exit_status': int(exit_status)}
    if exceeded:
        end = {'exit_type': 'limit', 'exit_status': 124}
    elif signal:
        end = {'exit_type': 'signal', 'signal': signal}
    s = {'format': 1, 'command': command, 'cwd': cwd, 'user': user,
         'start': figure('start', start), 'end': figure('end', round(start + wall, 9)),
         'wall_time': figure('wall_time', wall), **end}
    if run:
        s['run'] = run
    if oom:
        s['oom'] = True
    for name, value in figures.items():
        s[name] = figure(name, value)
    if exceeded:
        s['limits_exceeded'] = list(exceeded)
    s['host'] = host or {'name': 'h1', 'cpu': 'Made CPU', 'cores': '4', 'memory': str(8 << 30)}
    s['label'] = label or {}
    return s


def write(tasks, out):
    for t in tasks:
        out.write(json.dumps(t, separators=(',', ':')) + '\n')
