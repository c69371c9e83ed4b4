#!/usr/bin/env python3
"""app.py BUILD - what annotations cost, and joining the logs of 4,096 ranks; as Markdown on standard output.

Unit costs are processor time of 500,000 calls and more, the median of five; the cost of a workflow is its calls times that, held against the
processor time that it takes; beside it the ratio of the wall times of pairs of runs, with the 95 % interval of its mean. The ranks' logs
are made: each rank reads one file that all read, writes one of its own, tells 20 figures, its rank and its MPI-IO.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '..', 't'))
from history import History  # noqa: E402

build = os.path.abspath(sys.argv[1])
stemma = os.path.join(build, 'src/cmd/stemma')
evtext = os.path.join(build, 'tests/stemma-evtext')
program = os.path.join(build, 'tests/prog/p-app')
RANKS = 4096
PYTHON = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else sys.executable


def output(*words, **env):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, env={**os.environ, **env}).stdout.decode()


def unit(*before, n):
    return statistics.median(float(output(*before, program, 'cost', str(n))) for _ in range(5))


def top_reco(home, epochs=20, pairs=6):
    """The training of examples/top-reco with and without; its processor time."""
    example = os.path.join(here, '..', 'examples', 'top-reco')
    env = {'PYTHONPATH': os.path.join(here, '..', 'bindings', 'python'), 'OPENBLAS_NUM_THREADS': '1',
           'STEMMA_APP_LIBRARY': os.path.join(build, 'src/capture/app/libstemma-app.so.1'), 'PYTHON': PYTHON}
    work = os.path.join(home, 'top')
    output('sh', os.path.join(example, 'run.sh'), work, '1', STEMMA='', **env)
    os.chdir(work)
    with open('config-2.ini', encoding='utf-8') as f:
        text = f.read().replace('epochs = 1\n', f'epochs = {epochs}\n')
    with open('config-2.ini', 'w', encoding='utf-8') as f:
        f.write(text)
    train = [PYTHON, os.path.join(example, 'train.py'), 'config-2.ini', 'train-2.npz', 'test-2.npz', 'm.npz', 'h.txt']
    ratios, cpu = [], []
    for i in range(pairs + 1):
        times = []
        for before in ([], [stemma, 'run', '-q', '--']):
            used, t = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            output(*before, *train, **env)
            times.append(time.monotonic() - t)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            if i and not before:
                cpu.append(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
        if i:  # the first warms up
            ratios.append(times[1] / times[0])
    calls = int(output(stemma, 'sql', '--csv', 'SELECT count(*) + sum(kind = \'activity\') FROM annotation '
                       'WHERE run = (SELECT id FROM run ORDER BY began DESC LIMIT 1)').split()[-1])
    half = 2.57 * statistics.stdev(ratios) / len(ratios)**0.5
    return calls, statistics.median(cpu), statistics.mean(ratios), half


def python_unit(home):
    """Of one call through the Python package, in a run."""
    script = os.path.join(home, 'unit.py')
    with open(script, 'w', encoding='utf-8') as f:
        f.write('import stemma, time\nn = 200000\nt = time.process_time()\nfor i in range(n): stemma.metric("accuracy", 0.5, i)\n'
                'print((time.process_time() - t) / n * 1e9)\n')
    env = {'PYTHONPATH': os.path.join(here, '..', 'bindings', 'python'),
           'STEMMA_APP_LIBRARY': os.path.join(build, 'src/capture/app/libstemma-app.so.1')}
    inside = statistics.median(float(output(stemma, 'run', '-q', '--', PYTHON, script, **env)) for _ in range(5))
    outside = statistics.median(float(output(PYTHON, script, **env)) for _ in range(5))
    return inside, outside


def make_ranks(home):
    for rank in range(RANKS):
        h = History('01%024d' % rank, argv=['./solver'], host=f'node{rank // 64:02}', start=rank % 64, boot=f'boot{rank // 64}')
        p = h.process()
        h.exec(p, ['./solver'], exe='/w/solver', env=[f'PMI_RANK={rank}', f'PMI_SIZE={RANKS}'])
        h.read(p, h.file('/w/mesh.dat', ino=500, size=1 << 20))
        app = h.add('app', run=h.run, pid=101, started=1, image=rank + 1, tool='mpi')
        h.add('mpi_rank', app=app, rank=rank, size=RANKS, level=0, library='made')
        for step in range(20):
            h.add('app_metric', app=app, thread=101, name='residual', number=4602678819172646912, stepped=1, step=step)
        h.add('mpi_io', app=app, path='/w/out.dat', op=4, collective=1, ranks=RANKS, calls=20, bytes=1 << 20, spent=10**9)
        h.write(p, h.file(f'/w/part.{rank}', ino=100000 + rank), size=1 << 20)
        h.exit(p)
        h.end()
        h.save(home, evtext, f'{rank:04}')


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ['STEMMA_HOME'] = os.path.join(home, 'record')
        print('| annotations | measured | target |\n|---|---|---|')
        print(f'| one call, nobody recording | {unit(n=10**8):.2f} ns | 5 ns |')
        one = unit(stemma, 'run', '-q', '--', n=10**6 // 2)
        print(f'| one figure, recorded (500,000 a process) | {one:.0f} ns | 200 ns |')
        inside, outside = python_unit(home)
        print(f'| the same from Python; nobody recording | {inside:.0f} ns; {outside:.0f} ns | |')
        calls, cpu, ratio, half = top_reco(home)
        print(f'| Top-Reco-like training: {calls} words x {inside:.0f} ns of {cpu:.2f} s | {calls * inside / cpu / 1e7:.4f} % | 0.02 % |')
        print(f'| the whole of `stemma run` around it, wall ratio of pairs | {ratio:.3f} +- {half:.3f} | |')
        os.environ['STEMMA_HOME'] = os.path.join(home, 'ranks')
        make_ranks(os.environ['STEMMA_HOME'])
        t = time.monotonic()
        output(stemma, 'index')
        took = time.monotonic() - t
        n = output(stemma, 'sql', '--no-index', '--csv', 'SELECT count(DISTINCT rank) FROM mpi_rank').split()[-1]
        print(f'| joining the logs of {n} ranks into the store | {took:.1f} s | 10 s |')


main()
