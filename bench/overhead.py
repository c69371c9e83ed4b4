#!/usr/bin/env python3
"""overhead.py BUILD [--rounds N] [--work NAME]... [--peers] - what recording costs, beside the same work untraced and peers.

Each round runs the work once untraced and once under each recorder, one after the other, so that a slow spell of the
machine meets all of them; a ratio is made within its round. Shown is the middle of the ratios and, in brackets, their
quartiles. Prints Markdown, as doc/OVERHEAD.md holds it.

With --peers every recorder that is installed is run in every round, and the works are a fourth as long: some peers take
fifty times as long as the work itself. What a recorder's start costs is a row of its own there.
"""

import argparse
import ctypes
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time


class Failed(Exception):
    """A command did not do what it does untraced."""


def run(command, cwd=None, env=None, output=subprocess.DEVNULL):
    """Runs a command to its end: (wall seconds, CPU seconds of it and all it waited for). Raises Failed."""
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    cpu = usage.ru_utime + usage.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    while True:  # a recorder's helper may end after it; it comes to us (see adopt_orphans), with its time
        try:
            pid, ended, usage = os.wait4(-1, os.WUNTRACED)
        except ChildProcessError:
            break
        if os.WIFSTOPPED(ended):
            os.kill(pid, signal.SIGKILL)  # its recorder died and left it so
        cpu += usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise Failed(f'status {process.returncode}')
    return wall, cpu


def adopt_orphans():
    """Makes this process the parent of descendants whose own parent ended first."""
    set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER, <linux/prctl.h>
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


# ---- the works -----------------------------------------------------------------------------------------------------


class Work:
    def __init__(self, name, what, command, target=''):
        self.name = name
        self.what = what
        self.command = command
        self.target = target

    def prepare(self):
        """Puts the work's files as they are before it; not timed."""


class Build(Work):
    """A make of C files, from nothing each time."""

    def __init__(self, name, what, folder, jobs, target=''):
        super().__init__(name, what, ['make', '-s', '-C', folder, f'-j{jobs}'], target)
        self.folder = folder

    def prepare(self):
        for file in os.listdir(self.folder):
            if file.endswith('.o'):
                os.unlink(os.path.join(self.folder, file))


class Removal(Work):
    """A folder that is taken away, and is there again each time."""

    def __init__(self, name, what, tree, copy, target=''):
        super().__init__(name, what, ['rm', '-rf', copy], target)
        self.tree = tree
        self.copy = copy

    def prepare(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.tree, self.copy)


def write_tree(top, count):
    """So many small files, up to 32 in a folder, two folders deep."""
    for n in range(count):
        folder = os.path.join(top, f'd{n // 384}', f'e{n // 32 % 12}')
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f'f{n % 32}.txt'), 'w', encoding='ascii') as file:
            file.write(f'file {n}\n' * (1 + n % 60))


def write_makefile(folder, sources, flags):
    """sources: (object's name, C file) pairs."""
    with open(os.path.join(folder, 'Makefile'), 'w', encoding='utf-8') as file:
        file.write(f'all: {" ".join(name for name, _ in sources)}\n')
        for name, source in sources:
            file.write(f'{name}: {source}\n\tcc {flags} -c -o $@ $<\n')


def own_sources(root, build, folder):
    """A build of stemma's own C files, those of the way from a stopped call to the graph. Returns how many."""
    sources = []
    for part in ('base', 'event', 'capture', 'graph'):
        for where, _, files in os.walk(os.path.join(root, 'src', part)):
            for file in files:
                if file.endswith('.c'):
                    source = os.path.join(where, file)
                    name = os.path.relpath(source, os.path.join(root, 'src'))[:-2].replace('/', '-') + '.o'
                    sources.append((name, source))
    write_makefile(folder, sorted(sources),
                   f'-O2 -std=gnu11 -D_GNU_SOURCE -DSTEMMA_VERSION=\'"bench"\' -DSTEMMA_PREFIX=\'"/usr"\' -DSTEMMA_LIBDIR=\'"lib"\' -I{root}/src -I{build}/src/capture/seccomp')
    return len(sources)


GENERATED = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
struct cell_{n} {{ double weight[8]; char name[32]; struct cell_{n} *next; }};
"""
GENERATED_FUNCTION = """\
double fold_{n}_{k}(struct cell_{n} *c, const double *v, size_t count)
{{
    double sum = {k};
    char text[64];
    for (; c; c = c->next) {{
        for (size_t i = 0; i < count; i++)
            sum += c->weight[i % 8] * (v[i] > {k} ? sqrt(v[i]) : v[i] / (i + 1.0));
        snprintf(text, sizeof(text), "%s-%zu", c->name, count);
        sum += (double)strlen(text) + atoi(text);
    }}
    return sum;
}}
"""


def generated_sources(folder, count):
    """A build of made-up C files of about 240 lines."""
    sources = []
    for n in range(count):
        sources.append((f'unit{n}.o', f'unit{n}.c'))
        with open(os.path.join(folder, f'unit{n}.c'), 'w', encoding='utf-8') as file:
            file.write(GENERATED.format(n=n))
            for k in range(16):
                file.write(GENERATED_FUNCTION.format(n=n, k=k))
    write_makefile(folder, sources, '-O0')


def make_works(root, build, tools, tmp, part):
    """All works, in the order in which they are shown. part: what is counted is so many times less."""
    shm = tempfile.mkdtemp(prefix='stemma-bench-', dir='/dev/shm') if os.access('/dev/shm', os.W_OK) else tmp
    os.mkdir(os.path.join(tmp, 'own'))
    os.mkdir(os.path.join(tmp, 'made'))
    os.mkdir(os.path.join(tmp, 'many'))
    os.mkdir(os.path.join(tmp, 'different'))
    files = own_sources(root, build, os.path.join(tmp, 'own'))
    generated_sources(os.path.join(tmp, 'made'), 24)
    tree = os.path.join(tmp, 'tree')
    write_tree(tree, 4584)
    with open(os.path.join(tmp, 'small'), 'w', encoding='ascii') as small:
        small.write('one line\n')
    blocks, ones, opens, files_read, trues = 262144 // part, 1000000 // part, 100000 // part, 100000 // part, 1000 // part
    true_loop = f'i=0; while [ $i -lt {trues} ]; do /bin/true; i=$((i+1)); done'
    start_loop = 'for i in 1 2 3 4 5 6 7 8 9 10; do python3 -c pass; done'
    works = [
        Work('start', 'one /bin/true', ['/bin/true']),
        Work('dd', f'dd, {blocks // 256} MiB in 4 KiB blocks on tmpfs',
             ['dd', 'if=/dev/zero', f'of={shm}/dd', 'bs=4096', f'count={blocks}'], '≤ 1.10'),
        Work('bytes', f'dd, {ones:,} blocks of 1 byte, /dev/zero to /dev/null',
             ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', f'count={ones}'], '≤ 1.35'),
        Work('python', 'one python3 start', ['python3', '-c', 'pass'], '≤ 1.05'),
        Work('pythons', '10 python3 starts in one run', ['dash', '-c', start_loop], '≤ 1.15'),
        Build('build', f'C build of {files} files, one at a time', os.path.join(tmp, 'own'), 1, '≤ 1.20'),
        Build('compile', 'C build of 24 made-up files at -O0', os.path.join(tmp, 'made'), 1, '≤ 1.08'),
        Work('true', f'{trues} × /bin/true from dash', ['dash', '-c', true_loop], '≤ 1.30'),
        Work('open', f'{opens:,} × open, read, close', [tools['openloop'], os.path.join(tmp, 'small'), str(opens)], '≤ 1.15'),
        Work('files', f'{files_read:,} × fopen, fgets, fclose of 1000 small files',
             [tools['smallfiles'], os.path.join(tmp, 'many'), str(files_read)], '≤ 1.20'),
        Work('different', f'{files_read:,} × fopen, fgets, fclose of as many small files',
             [tools['smallfiles'], os.path.join(tmp, 'different'), str(files_read), str(files_read)], '≤ 1.20'),
        # They name one word and the descriptor of its folder, each time a stop. (grep ends with 1 where it finds nothing.)
        Removal('remove', 'rm -rf of 4,584 small files', tree, os.path.join(tmp, 'copy'), '≤ 1.50'),
        Work('search', 'grep -r in 4,584 small files', ['dash', '-c', f'grep -r nothing-there {tree}; true'], '≤ 1.50'),
    ]
    return works, shm, os.path.join(tmp, 'made')


# ---- the recorders -------------------------------------------------------------------------------------------------


class Recorder:
    def __init__(self, name, command, env=None, rounds=None, output=None):
        self.name = name
        self.command = command
        self.env = {**os.environ, **(env or {})}
        self.rounds = rounds  # fewer for those that take many times as long
        self.output = output  # a folder of its own, made anew for each run; it runs in there

    def prepare(self):
        if self.output:
            shutil.rmtree(self.output, ignore_errors=True)
            os.mkdir(self.output)


def make_recorders(stemma, floor, tmp, peers):
    home = os.path.join(tmp, 'record')
    env = {'STEMMA_HOME': home}
    recorders = [
        Recorder('stemma', [stemma, 'run', '--'], env),
        Recorder('stemma, count', [stemma, 'run', '--count', '--'], env),
        Recorder('stemma, safe', [stemma, 'run', '--capture=safe', '--'], env),
        # Records nothing: what any program in front of the command costs, the floor for those that last a few ms.
        Recorder('env', ['env'], {}),
    ]
    # The same calls stopped and let go on, and no more: what is over it is the recorder's own.
    recorders.append(Recorder('stopping alone', [floor]))
    if not peers:
        recorders.append(Recorder('stemma, trace', [stemma, 'run', '--transport=trace', '--'], env))
        recorders.append(Recorder('stemma, exact', [stemma, 'run', '--exact', '--'], env, rounds=3))

    # Each as it is meant to be used, but for what it does after the command has ended.
    def peer(name, command, rounds, **more):
        if shutil.which(command[0]):
            recorders.append(Recorder(name, command, rounds=None if peers else rounds, **more))

    output = os.path.join(tmp, 'peer')
    strace = ['strace', '-f', '-e', 'trace=%file,%process', '-o', 'trace']
    peer('strace --seccomp-bpf', [*strace, '--seccomp-bpf'], 3, output=output)
    if peers:
        peer('CDE', ['cde'], None, output=output)
        peer('installwatch', ['installwatch', '-o', 'log', '--transl=no', '--backup=no'], None, output=output)
    peer('reprozip', ['reprozip', 'trace', '--dont-identify-packages', '--dont-find-inputs-outputs', '-d', 'trace'], 1,
         env={'REPROZIP_USAGE_STATS': 'off'}, output=output)
    return recorders, home


# ---- measuring -----------------------------------------------------------------------------------------------------


def spread(values):
    """The middle and the quartiles, as text."""
    if len(values) < 3:
        return f'{statistics.median(values):.2f}'
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive')
    return f'{middle:.2f} ({low:.2f} … {high:.2f})'


def measure(work, recorders, rounds, say):
    """[untraced seconds, {recorder: (wall ratios, CPU ratios) or why there are none}]."""
    plain = []
    ratios = {recorder.name: ([], []) for recorder in recorders}
    failures = {}
    work.prepare()
    run(work.command)  # pages and caches as they are from then on
    for number in range(rounds):
        say(f'{work.name}: round {number + 1} of {rounds}')
        work.prepare()
        wall, cpu = run(work.command)
        plain.append(wall)
        for recorder in recorders:
            if recorder.name in failures or recorder.rounds and number >= recorder.rounds:
                continue
            work.prepare()
            recorder.prepare()
            try:
                traced_wall, traced_cpu = run(recorder.command + work.command, cwd=recorder.output, env=recorder.env)
            except Failed as failed:
                failures[recorder.name] = f'fails: {failed}'
                continue
            ratios[recorder.name][0].append(traced_wall / wall)
            ratios[recorder.name][1].append(traced_cpu / max(cpu, 1e-3))
    return plain, {**ratios, **failures}


def cell(result):
    if isinstance(result, str):
        return result
    return f'{spread(result[0])} [{spread(result[1])}]'


def show_works(works, recorders, rounds, say):
    print(f'Elapsed time as a multiple of the same work untraced: middle of {rounds} rounds (quartiles) '
          '[CPU time of the whole tree, the same]. Peers that take long may be run fewer times.\n')
    print('| work | untraced |', ' | '.join(recorder.name for recorder in recorders), '| target |')
    print('|---' * (len(recorders) + 3) + '|')
    for work in works:
        try:
            plain, results = measure(work, recorders, rounds, say)
        except Failed as failed:
            print(f'| {work.what} | fails untraced: {failed} |' + ' |' * len(recorders) + f' {work.target} |')
            continue
        cells = ' | '.join(cell(results[recorder.name]) for recorder in recorders)
        print(f'| {work.what} | {spread(plain)} s | {cells} | {work.target} |', flush=True)


def last_run(stemma, home):
    """(recorder's CPU seconds, calls stopped) of the latest run."""
    answer = subprocess.run([stemma, 'show', '@', '--json'], env={**os.environ, 'STEMMA_HOME': home},
                            stdout=subprocess.PIPE, check=True).stdout
    shown = json.loads(answer)['things'][0]
    return int(shown['recorder_cpu']) / 1e9, int(shown['calls_stopped'])


def show_scaling(stemma, home, folder, rounds, say):
    """The supervisor's cost per stopped call must not grow with the number of processes."""
    print('\nCompiling 24 generated files with N compilers at once:\n')
    print('| transport | N | wall ratio | calls stopped | stopped per second | supervisor CPU per call |')
    print('|---|---|---|---|---|---|')
    for transport in ('notify', 'trace'):
        for jobs in (1, 2, 4, 8):
            say(f'parallel: {transport}, {jobs}')
            work = Build('parallel', '', folder, jobs)
            ratios, rates, costs, traps = [], [], [], 0
            for _ in range(rounds):
                work.prepare()
                wall, _ = run(work.command)
                work.prepare()
                traced, _ = run([stemma, 'run', f'--transport={transport}', '--', *work.command],
                                env={**os.environ, 'STEMMA_HOME': home})
                cpu, traps = last_run(stemma, home)
                ratios.append(traced / wall)
                rates.append(traps / traced)
                costs.append(cpu / max(traps, 1) * 1e6)
            print(f'| {transport} | {jobs} | {spread(ratios)} | {traps} | {statistics.median(rates):.0f} | '
                  f'{spread(costs)} µs |', flush=True)


def show_loops(stemma, home, tools, tmp, rounds, say):
    """What an open costs must not depend on how many processes do nothing else."""
    print('\nN processes at once, each 100,000 × open, read, close:\n')
    print('| N | CPU time a round alone | with stemma | added a round | elapsed, a multiple |')
    print('|---|---|---|---|---|')
    count, small = 100000, os.path.join(tmp, 'small')
    for jobs in (1, 2, 4, 8):
        loop = f'{tools["openloop"]} {small} {count}'
        command = ['dash', '-c', ' & '.join([loop] * jobs) + ' & wait']
        alone, traced, added, ratios = [], [], [], []
        for number in range(rounds):
            say(f'loops: {jobs}, round {number + 1} of {rounds}')
            wall, cpu = run(command)
            traced_wall, traced_cpu = run([stemma, 'run', '--', *command], env={**os.environ, 'STEMMA_HOME': home})
            alone.append(cpu / jobs / count * 1e6)
            traced.append(traced_cpu / jobs / count * 1e6)
            added.append(traced[-1] - alone[-1])
            ratios.append(traced_wall / wall)
        print(f'| {jobs} | {spread(alone)} µs | {spread(traced)} µs | {spread(added)} µs | {spread(ratios)} |', flush=True)


# ---- memory --------------------------------------------------------------------------------------------------------


def status_kb(pid, field):
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as lines:
        for line in lines:
            if line.startswith(field + ':'):
                return int(line.split()[1])
    return 0


def pss_kb(pid):
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as lines:
        for line in lines:
            if line.startswith('Pss:'):
                return int(line.split()[1])
    return 0


def processes_of(program, root_pid):
    """The process root_pid and its descendants that run `program`, in the order of their ids."""
    parents, found = {}, []
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='ascii', errors='replace') as file:
                    parents[int(name)] = int(file.read().rpartition(')')[2].split()[1])
                if os.readlink(f'/proc/{name}/exe') == program:
                    found.append(int(name))
            except OSError:
                continue  # it ended meanwhile, or is not ours

    def below(pid):
        while pid > 1:
            if pid == root_pid:
                return True
            pid = parents.get(pid, 0)
        return False

    return sorted(pid for pid in found if below(pid))


def show_memory(stemma, tools, tmp, home):
    print('\nMemory of `stemma run` while its command lives. Allowed: 8 MB + 2 KB per live process + 64 bytes per open '
          'descriptor.\n')
    print('| live processes | descriptors each | peak resident of its processes | all, shared pages once | allowed |')
    print('|---|---|---|---|---|')
    program = os.path.realpath(stemma)
    for processes, descriptors in ((1, 10), (1000, 10), (10, 5000)):
        command = [stemma, 'run', '--', tools['holdfds'], str(processes), str(descriptors), '3',
                   os.path.join(tmp, 'small')]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env={**os.environ, 'STEMMA_HOME': home})
        ready = process.stdout.read(1)
        pids = processes_of(program, process.pid)
        peaks = [status_kb(pid, 'VmHWM') / 1024 for pid in pids]
        together = sum(pss_kb(pid) for pid in pids) / 1024
        process.wait()
        allowed = 8 + (processes * 2048 + processes * descriptors * 64) / 1e6
        if ready != b'\n' or not peaks:
            print(f'| {processes} | {descriptors} | fails: status {process.returncode} | | {allowed:.1f} MB |')
            continue
        each = ' + '.join(f'{peak:.1f}' for peak in peaks)
        print(f'| {processes} | {descriptors} | {each} MiB | {together:.1f} MiB | '
              f'{allowed:.1f} MB |', flush=True)


def machine():
    """What the figures were taken on, in one line."""
    model = platform.machine()
    with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as lines:
        for line in lines:
            if line.startswith('model name'):
                model = line.partition(':')[2].strip()
                break
    return f'{os.cpu_count()} × {model}, Linux {platform.release().split("-")[0]}, {platform.machine()}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--work', action='append',
                        help='only this one: start, dd, bytes, python, pythons, build, compile, true, open, files, different, remove, search, parallel, loops, memory')
    parser.add_argument('--peers', action='store_true', help='all peers in all rounds, and shorter works')
    options = parser.parse_args()
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), '..'))
    build = os.path.realpath(options.build)
    stemma = os.path.join(build, 'src', 'cmd', 'stemma')
    tools = {name: os.path.join(build, 'bench', name) for name in ('openloop', 'smallfiles', 'holdfds', 'floor')}

    def say(text):
        if sys.stderr.isatty():
            print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)

    adopt_orphans()
    tmp = tempfile.mkdtemp(prefix='stemma-bench-')
    shm = tmp
    try:
        works, shm, generated = make_works(root, build, tools, tmp, 4 if options.peers else 1)
        recorders, home = make_recorders(stemma, tools['floor'], tmp, options.peers)
        left_out = ['build', 'pythons', 'different', 'remove', 'search'] if options.peers else []  # others are like them, and shorter
        chosen = [work for work in works if (work.name in options.work if options.work else work.name not in left_out)]
        print(machine() + '\n')
        if chosen:
            show_works(chosen, recorders, options.rounds, say)
        if not (options.work or options.peers) or 'parallel' in (options.work or []):
            show_scaling(stemma, home, generated, max(1, options.rounds // 3), say)
        if not (options.work or options.peers) or 'loops' in (options.work or []):
            show_loops(stemma, home, tools, tmp, options.rounds, say)
        if not (options.work or options.peers) or 'memory' in (options.work or []):
            show_memory(stemma, tools, tmp, home)
        say('')
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        shutil.rmtree(shm, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
