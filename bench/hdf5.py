#!/usr/bin/env python3
"""hdf5.py BUILD - what recording the objects of HDF5 files costs, in the workloads of PROV-IO's paper; as Markdown on standard output.

The cost of a call is the difference of the processor time of a call in a loop with and without `stemma run --hdf5`, the median of
five; the cost of a workload is its calls times that, by kind, held against its processor time. Beside it what the whole tree of
processes took, recorder and all, with and without: the mean of pairs, with its 95 % interval, in processor time and by the clock.
The size is that of the logs, and of the same record in PROV-IO's vocabulary as Turtle.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(sys.argv[1])
stemma = os.path.join(build, 'src/cmd/stemma')
unit = os.path.join(build, 'bench/h5unit')
examples = os.path.join(here, '..', 'examples')
PAIRS = 6
RANKS = '2'
# A million, but where a call takes microseconds, or makes what stays.
LOOPS = {'aread': 10**6, 'dread': 10**6, 'dwrite': 10**6, 'aopen': 10**6, 'dopen': 2 * 10**5, 'fopen': 2 * 10**4, 'acreate': 2 * 10**4,
         'dcreate': 2 * 10**4}
MPI = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'OMPI_MCA_rmaps_base_oversubscribe': '1',
       'OMPI_MCA_btl': 'self,vader', 'OMPI_MCA_btl_vader_single_copy_mechanism': 'none', 'OMPI_MCA_mpi_yield_when_idle': '1'}


def output(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, env={**os.environ, **MPI}).stdout.decode()


def unit_costs(home):
    costs = {}
    print('| a call | alone | added |\n|---|---|---|')
    for what, n in LOOPS.items():
        words = [unit, what, os.path.join(home, 'unit.h5'), str(n)]
        alone, added = [], []
        for _ in range(5):
            alone.append(float(output(*words)))
            added.append(float(output(stemma, 'run', '-q', '--hdf5', '--', *words)) - alone[-1])
        costs[what] = statistics.median(added)
        print(f'| {what}, {n:,} times | {statistics.median(alone):.0f} ns | {costs[what]:.0f} ns |', flush=True)
    return costs


def calls_of_last(n):
    """Calls of HDF5 in the latest n runs, by kind of unit."""
    rows = output(stemma, 'sql', '--csv', f'''SELECT api || ' ' || direction || ' ' || f.kind || ' ' || (f.path LIKE '%//'), sum(calls)
        FROM io JOIN file f ON f.id = io.file JOIN execution x ON x.id = io.execution
        WHERE x.run IN (SELECT id FROM run ORDER BY began DESC LIMIT {n}) AND f.path LIKE '%//%' GROUP BY 1''').replace('\r', '').split('\n')[1:]
    found = {}
    for row in rows:
        if not row:
            continue
        what, calls = row.rsplit(',', 1)
        api, direction, kind, root = what.strip('"').split()
        name = ('aread' if api == 'attr' else f'd{direction}' if api == 'data' else 'dwrite' if api == 'extent' else 'fopen' if root == '1' else
                {'create': {'attribute': 'acreate'}.get(kind, 'dcreate'), 'h5open': {'attribute': 'aopen'}.get(kind, 'dopen')}.get(api, 'fopen'))
        found[name] = found.get(name, 0) + int(calls)
    return found


def timed(commands, before):
    used, t = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for words in commands:
        output(*before, *words)
    t = time.monotonic() - t
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, t


def interval(v):
    return f'{statistics.mean(v):.3f} +- {2.57 * statistics.stdev(v) / len(v)**0.5:.3f}'


def workload(name, commands, costs, target):
    cpu, ratio, wall = [], [], []
    files = [[stemma, 'run', '-q', '--'], [stemma, 'run', '-q', '--hdf5', '--']]
    beside = []
    for i in range(PAIRS + 1):
        alone, plain, with_ = timed(commands, []), timed(commands, files[0]), timed(commands, files[1])
        if i:  # the first warms up
            cpu.append(alone[0])
            ratio.append(with_[0] / alone[0])
            wall.append(with_[1] / alone[1])
            beside.append(with_[0] / plain[0])
    calls = calls_of_last(len(commands))
    def share(kinds):
        return sum(n * costs[k] for k, n in calls.items() if k in kinds) / statistics.median(cpu) / 1e7
    attributes = {'aread', 'aopen', 'acreate'}
    text = f'{sum(n for k, n in calls.items() if k not in attributes)} calls of files, groups and datasets: {share(set(costs) - attributes):.3f} %'
    if any(k in attributes for k in calls):
        text += f'; with {sum(n for k, n in calls.items() if k in attributes)} of attributes: {share(set(costs)):.3f} %'
    print(f'| {name} | {statistics.median(cpu):.2f} s | {text} | {target} | {interval(beside)} | {interval(ratio)} | {interval(wall)} |', flush=True)


def size(home, name, commands):
    os.environ['STEMMA_HOME'] = os.path.join(home, 'size-' + name)
    timed(commands, [stemma, 'run', '-q', '--hdf5', '--'])
    log = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(os.environ['STEMMA_HOME']) for f in fs if f.endswith('.stl'))
    turtle = os.path.join(home, name + '.ttl')
    output(stemma, 'export', '--format', 'provio', '-o', turtle)
    with open(turtle, 'rb') as f:
        text = f.read()
    own = len(text) - text.index(b'@prefix provio:')  # what stands before is PROV's, the same as in any Turtle
    print(f'| {name} | {log:,} | {own:,} | 1/{own / log:.1f} |', flush=True)


def main():
    mpicc, mpirun = 'mpicc.openmpi', 'mpirun.openmpi'
    with tempfile.TemporaryDirectory() as home:
        os.environ['STEMMA_HOME'] = os.path.join(home, 'record')
        costs = unit_costs(home)
        os.chdir(home)
        for what in ('dassa', 'h5bench'):
            output('make', '-s', '-f', os.path.join(examples, what, 'Makefile'), f'MPICC={mpicc}')
        output('./acquire', 'recordings', '16', '64', '30000')
        for d in ('hdf5', 'decimated', 'products'):
            os.mkdir(d)
        with open('settings.txt', 'w', encoding='utf-8') as f:
            f.write('factor 4\n')
        names = [f'{i:03}' for i in range(16)]
        dassa = [[mpirun, '-n', RANKS, './convert', 'hdf5', *(f'recordings/{n}.das' for n in names)],
                 [mpirun, '-n', RANKS, './decimate', 'settings.txt', 'decimated', *(f'hdf5/{n}.h5' for n in names)],
                 [mpirun, '-n', RANKS, './stack', 'products', '4', *(f'decimated/{n}.h5' for n in names)]]
        bench = {p: [mpirun, '-n', RANKS, './h5bench', p, 'p.h5', '5', '65536', '200'] for p in ('write', 'overwrite', 'append', 'read')}
        works = {'DASSA-like': dassa, 'write, read': [bench['write'], bench['read']],
                 'write, overwrite, read': [bench['write'], bench['overwrite'], bench['read']],
                 'write, append, read': [bench['write'], bench['append'], bench['read']]}
        print('\n| workload, 2 ranks | CPU alone | calls x cost / CPU | target | CPU, with / without --hdf5 | CPU, recorded / alone | wall, recorded / alone |\n|---|---|---|---|---|---|---|')
        for name, commands in works.items():
            workload(name, commands, costs, '1 %, 3 % with attributes' if commands is dassa else '0.5 %')
        print('\n| size of the record | log, bytes | Turtle, bytes | |\n|---|---|---|---|')
        for name, commands in works.items():
            size(home, name, commands)


main()
