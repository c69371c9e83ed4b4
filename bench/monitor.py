#!/usr/bin/env python3
"""monitor.py BUILD [--work NAME]... - how right `stemma run --summary` is and what it costs, beside its peers.

The tables 3 and 4 of the monitoring paper (Juve et al., WORKS 2015), scaled to a machine of today: works that know what
they use (bench/monitor_work.c), under each monitor, one after the other. Shown are the errors of the figures against
what the work says of itself, and the CPU time of the whole command, monitor and all, against the same work without;
ratios are made within a round. Prints Markdown, as doc/OVERHEAD.md holds it. About five minutes.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from overhead import Failed, adopt_orphans, machine, run

GB = 1 << 30


class Work:
    """cost: whether its CPU time is compared; figure: what its error is shown of."""

    def __init__(self, kind, name, command, figure, rounds):
        self.kind = kind
        self.name = name
        self.command = command
        self.figure = figure
        self.rounds = rounds


def make_works(tool, tmp, shm):
    report = os.path.join(tmp, 'report')
    file = os.path.join(shm, 'file')
    works = []
    for exponent, rounds in ((6, 7), (7, 5), (8, 2)):
        works.append(Work('cpu', f'10^{exponent} turns', [tool, report, 'cpu', str(10**exponent)], 'cpu', rounds))
    for gib, rounds in ((1, 3), (2, 2), (4, 1), (8, 1)):
        if available() > (gib + 2) * GB:
            works.append(Work('memory', f'{gib} GiB', [tool, report, 'memory', str(gib * 1024)], 'resident', rounds))
        else:
            print(f'memory of {gib} GiB is left out: so much is not free', file=sys.stderr)
    for mib, rounds in ((1, 7), (100, 7), (1024, 3)):
        works.append(Work('io', f'{mib} MiB, 4 KiB', [tool, report, 'io', file, str(mib), '4'], 'read', rounds))
    for kib in (8, 16, 32):
        works.append(Work('buffer', f'1024 MiB, {kib} KiB', [tool, report, 'io', file, '1024', str(kib)], 'read', 1))
    loop = 'i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done'
    works.append(Work('true', '500 × /bin/true', ['dash', '-c', loop], 'processes', 3))
    works.append(Work('start', '/bin/true alone', ['/bin/true'], 'processes', 15))
    return works, report


def available():
    with open('/proc/meminfo', encoding='ascii') as lines:
        for line in lines:
            if line.startswith('MemAvailable:'):
                return int(line.split()[1]) * 1024
    return 0


# ---- the monitors --------------------------------------------------------------------------------------------------


class Monitor:
    """figures(): what it says of the run before, by the name of the work's figure: (value, low, high)."""

    def __init__(self, name, command, figures, env=None, rounds=None):
        self.name = name
        self.rounds = rounds  # fewer for one that takes many times as long
        self.command = command
        self.figures = figures
        self.env = {**os.environ, **(env or {})}


def stemma_figures(path):
    names = {'cpu': ('cpu_time', 1e9), 'resident': ('memory_resident_peak', 1), 'read': ('bytes_read', 1),
             'written': ('bytes_written', 1), 'processes': ('processes_total', 1)}

    def figures():
        with open(path, encoding='utf-8') as f:
            summary = json.load(f)
        found = {}
        for name, (figure, unit) in names.items():
            v = summary[figure]
            if 'absent' not in v:
                found[name] = tuple(v.get(key, v['value']) * unit for key in ('value', 'low', 'high'))
        return found
    return figures


def resource_monitor_figures(path):
    def figures():
        with open(path + '.summary', encoding='utf-8') as f:
            summary = json.load(f)
        names = {'cpu': ('cpu_time', 1e9), 'resident': ('memory', 1 << 20), 'read': ('bytes_read', 1 << 20),
                 'written': ('bytes_written', 1 << 20), 'processes': ('total_processes', 1)}
        return {name: (summary[field][0] * unit,) * 3 for name, (field, unit) in names.items()}
    return figures


def time_figures(path):
    def figures():
        with open(path, encoding='utf-8') as f:
            text = f.read()
        seconds = sum(float(re.search(what + r' time \(seconds\): ([\d.]+)', text)[1]) for what in ('User', 'System'))
        memory = int(re.search(r'Maximum resident set size \(kbytes\): (\d+)', text)[1]) * 1024
        return {'cpu': (seconds * 1e9,) * 3, 'resident': (memory,) * 3}
    return figures


def make_monitors(stemma, tmp):
    summary = os.path.join(tmp, 'summary.json')
    env = {'STEMMA_HOME': os.path.join(tmp, 'record')}
    usage = subprocess.run([stemma, 'run', '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    by_level = b'--level' in usage
    level = {2: '--level=2' if by_level else '--capture=tree', 3: '--level=3' if by_level else '--exact'}
    monitors = [Monitor(f'stemma, {name}', [stemma, 'run', *option, '--summary', summary, '--'],
                        stemma_figures(summary), env, rounds)
                for name, option, rounds in (('level 2', [level[2]], None), ('level 2 with files', [], None),
                                             ('level 3', [level[3]], None))]
    if shutil.which('resource_monitor'):
        out = os.path.join(tmp, 'theirs')
        monitors.append(Monitor('resource_monitor', ['resource_monitor', '--interval=1', '--without-disk-footprint', '-O', out, '--'],
                                resource_monitor_figures(out)))
    else:
        print('resource_monitor is left out: it is not there (coop-computing-tools)', file=sys.stderr)
    if os.access('/usr/bin/time', os.X_OK):
        out = os.path.join(tmp, 'time')
        monitors.append(Monitor('time -v', ['/usr/bin/time', '-v', '-o', out], time_figures(out)))
    else:
        print('time -v is left out: it is not there (time)', file=sys.stderr)
    return monitors


# ---- measuring -----------------------------------------------------------------------------------------------------


def truth_of(work, report, ending):
    if work.figure == 'processes':
        return {'processes': 501 if work.kind == 'true' else 1}
    with open(report, encoding='ascii') as f:
        truth = json.load(f)
    truth['cpu'] += ending
    return truth


def ending_cost(tool, report):
    """ns that the work uses after it has looked at its clock: (middle, largest) of some runs."""
    costs = []
    for _ in range(15):
        _, cpu = run([tool, report, 'cpu', '1000'])
        with open(report, encoding='ascii') as f:
            costs.append(cpu * 1e9 - json.load(f)['cpu'])
    return statistics.median(costs), max(costs)


class Result:
    def __init__(self):
        self.errors = []  # of the work's figure, as parts of the truth
        self.exact = 0    # runs whose truth is known without an error of its own
        self.outside = 0  # of those, where it was outside the bounds
        self.other = {}   # errors of other figures that the work knows
        self.overhead = []  # CPU time, as parts of that without
        self.longer = []    # (CPU, elapsed) seconds more
        self.failed = None


def measure(work, monitors, report, ending, say):
    """[CPU seconds without a monitor], [truths], {monitor: Result}."""
    plain, truths, results = [], [], {monitor.name: Result() for monitor in monitors}
    run(work.command)  # pages and caches as they are from then on
    for number in range(work.rounds):
        say(f'{work.name}: round {number + 1} of {work.rounds}')
        for monitor in monitors:
            result = results[monitor.name]
            if result.failed or monitor.rounds and number >= monitor.rounds:
                continue
            # The same work without, right before: a slow spell of the machine meets both.
            bare_wall, bare = run(work.command)
            plain.append(bare)
            try:
                wall, cpu = run([*monitor.command, *work.command], env=monitor.env)
            except Failed as failed:
                result.failed = str(failed)
                continue
            result.overhead.append(cpu / bare - 1)
            result.longer.append((cpu - bare, wall - bare_wall))
            truth = truth_of(work, report, ending)
            truths.append(truth[work.figure])
            figures = monitor.figures()
            for name in {work.figure, 'written' if work.figure == 'read' else work.figure}:
                if name not in figures:
                    continue
                value, low, high = figures[name]
                error = value / truth[name] - 1
                if name == work.figure:
                    result.errors.append(error)
                    result.exact += name != 'cpu'
                    result.outside += name != 'cpu' and not low * (1 - 1e-9) <= truth[name] <= high * (1 + 1e-9)
                elif round(error, 9):
                    result.other.setdefault(name, []).append(error)
    return plain, truths, results


def percent(value, digits=2):
    text = f'{value * 100:+.{digits}f}'
    return '0' if not float(text) else f'{text} %'


def largest(values):
    return max(values, key=abs)


def error_cell(result):
    if result.failed:
        return f'fails: {result.failed}'
    if not result.errors:
        return '–'
    middle, worst = statistics.median(result.errors), largest(result.errors)
    text = percent(middle, 3)
    if percent(worst, 3) != text:
        text += f' (at worst {percent(worst, 3)})'
    if any(result.other.values()):
        text += ', ' + ', '.join(f'{name} {percent(largest(errors), 3)}' for name, errors in result.other.items())
    return text


def cost_cell(work, result):
    if result.failed:
        return f'fails: {result.failed}'
    cpu, wall = (statistics.median(values) * 1e3 for values in zip(*result.longer))
    if work.kind == 'start':
        return f'{cpu:.1f} ms, elapsed {wall:.1f} ms'
    text = percent(statistics.median(result.overhead), 1)
    if len(result.overhead) >= 3:
        low, _, high = statistics.quantiles(result.overhead, n=4, method='inclusive')
        text += f' ({low * 100:+.1f} … {high * 100:+.1f})'
    return text + (f', {cpu:.1f} ms' if abs(cpu) < 20 else '')


def show_size(work, truths):
    middle = statistics.median(truths)
    return {'cpu': f'{middle / 1e9:.3f} s', 'processes': f'{middle:.0f} processes'}.get(
        work.figure, f'{middle:.0f} B')


TARGETS = {  # of the error
    'cpu': '≤ 1 %; ≤ 0.1 % from 1 s up', 'memory': '≤ 0.1 %', 'io': '0', 'buffer': '0', 'true': '0', 'start': '0'}


def head(columns):
    print('|' + '|'.join(f' {column} ' for column in columns) + '|')
    print('|---' * len(columns) + '|')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('build')
    parser.add_argument('--work', action='append', help='only these: cpu, memory, io, buffer, true, start')
    options = parser.parse_args()
    build = os.path.realpath(options.build)
    stemma = os.path.join(build, 'src', 'cmd', 'stemma')
    tool = os.path.join(build, 'bench', 'monitor_work')

    def say(text):
        if sys.stderr.isatty():
            print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)

    adopt_orphans()
    tmp = tempfile.mkdtemp(prefix='stemma-bench-')
    shm = tempfile.mkdtemp(prefix='stemma-bench-', dir='/dev/shm') if os.access('/dev/shm', os.W_OK) else tmp
    try:
        os.chdir(shm)
        works, report = make_works(tool, tmp, shm)
        monitors = make_monitors(stemma, tmp)
        ending, most = ending_cost(tool, report)
        measured = []
        for work in works:
            if not options.work or work.kind in options.work:
                measured.append((work, *measure(work, monitors, report, ending, say)))
        say('')
        print(f'{machine()}.\n')
        print('Error of the figure: middle of the rounds (the worst). Of `io` works that of the bytes read, and that of the '
              f'bytes written where it is not 0. The end of a process, {ending / 1e3:.0f} µs of CPU time that it cannot count itself, '
              f'is added to what it says (at most {most / 1e3:.0f} µs in 15 runs).\n')
        head(['work', 'truth', *(monitor.name for monitor in monitors), 'target'])
        for work, _, truths, results in measured:
            cells = ' | '.join(error_cell(results[monitor.name]) for monitor in monitors)
            print(f'| {work.kind}: {work.name} | {show_size(work, truths) if truths else ""} | {cells} | {TARGETS[work.kind]} |')
        outside = sum(result.outside for *_, results in measured for name, result in results.items() if 'stemma' in name)
        count = sum(result.exact for *_, results in measured for name, result in results.items() if 'stemma' in name)
        print(f'\nOf {count} figures of stemma (CPU time apart) {outside} had the truth outside of their bounds; one without bounds says that it is exact.\n')
        print('CPU time of the whole command more than that of the work alone, in pairs: middle (quartiles); in ms where that is little.\n')
        head(['work', 'alone', *(monitor.name for monitor in monitors)])
        for work, plain, _, results in measured:
            cells = ' | '.join(cost_cell(work, results[monitor.name]) for monitor in monitors)
            print(f'| {work.kind}: {work.name} | {statistics.median(plain):.3f} s | {cells} |')
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        shutil.rmtree(shm, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
