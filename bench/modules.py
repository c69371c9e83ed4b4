#!/usr/bin/env python3
"""modules.py STEMMA FOLDER - the tables of bench/modules.sh, of the programs in FOLDER/plain and FOLDER/traced.

Calls of functions are counted by callgrind, in the same run that is traced. Times are the CPU time of the process;
plain and traced run one after the other, and the middle of their ratios is shown with the least and the most. Columns
"paper" quote the tables of the paper on workflow diagnostics, whose programs are other versions with other inputs.
"""

import hashlib
import json
import os
import random
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys

PAIRS = 7

# name, package, program, two commands that differ in what they are given
MODULES = [
    ('rm', 'coreutils', 'src/rm', ['ab', 'aa'], ['-r', 'tree']),
    ('uniq', 'coreutils', 'src/uniq', ['ab'], ['aa']),
    ('b2sum', 'coreutils', 'src/b2sum', ['-c', 'good'], ['-c', 'bad']),
    ('sort', 'coreutils', 'src/sort', ['text'], ['-r', 'text']),
    ('cat', 'coreutils', 'src/cat', ['ab', 'aa'], ['-n', 'ab', 'xy']),
    ('bzip2', 'bzip2', 'bzip2', ['-c', 'text'], ['-c', 'other']),
    ('minimap2', 'minimap2', 'minimap2', ['-t', '1', 'ref.fa', 'reads.fa'], ['-t', '1', 'ref.fa', 'fewer.fa']),
    ('bwa', 'bwa', 'bwa', ['index', 'ref.fa'], ['index', 'fewer.fa']),
    ('sed', 'sed', 'sed/sed', ['s/a/b/', 'ab'], ['s/a/b/', 'aa']),
    ('grep', 'grep', 'src/grep', ['b', 'ab'], ['b', 'aa']),
    ('lua', 'lua5.4', 'src/lua', ['calls.lua'], ['tables.lua']),
]
# Table I: instructions, edges, back edges, functions, recursive ones. Table II: whether `diff` goes on wrongly. Table III:
# calls of functions that PIN saw of both runs, and those that were left of them.
PAPER = {
    'rm': ((37328, 5959, 194, 304, 10), False, (1083, 1242, 115, 144)),
    'uniq': ((26843, 4694, 170, 230, 10), False, (1569, 1321, 287, 269)),
    'b2sum': ((39583, 5209, 181, 242, 6), True, (4585, 3482, 195, 107)),
    'sort': ((64104, 9740, 392, 499, 11), False, (4848, 4889, 670, 675)),
    'cat': ((27720, 3931, 161, 187, 3), False, (1339, 1428, 51, 89)),
    'bzip2': ((50437, 6343, 365, 190, 5), False, (1338, 1183522, 220, 55022)),
    'minimap2': ((145341, 15360, 856, 397, 9), True, (203037, 101416, 118783, 33269)),
    'bwa': ((155056, 17831, 1061, 556, 8), False, (73665, 73407, 2110, 2114)),
    'sed': ((113866, 16053, 736, 427, 26), False, (7627, 7909, 2484, 2692)),
    'grep': ((125336, 17951, 880, 501, 36), True, (7740, 26265, 2081, 2915)),
}
# Works that last, for the cost of tracing: target, arguments
LONG = [
    ('bzip2', 'bzip2', 'bzip2', '1.05', ['-c', 'long']),
    ('minimap2', 'minimap2', 'minimap2', '1.3', ['-t', '1', 'ref.fa', 'many.fa']),
    ('minimap2 -c', 'minimap2', 'minimap2', '1.3', ['-c', '-t', '1', 'ref.fa', 'many.fa']),
    ('lua, calls', 'lua5.4', 'src/lua', '2', ['calls.lua', '32']),
    ('lua, tables', 'lua5.4', 'src/lua', '2', ['tables.lua', '20']),
    ('sort', 'coreutils', 'src/sort', '', ['long']),
]

LUA_CALLS = """\
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(tonumber(arg[1] or 15)))
"""
LUA_TABLES = """\
local t, s = {}, 0
for r = 1, tonumber(arg[1] or 1) do for i = 1, 1000000 do t[i] = i * r end end
for i = 1, #t do s = s + t[i] % 7 end
print(s)
"""


def write(name, text):
    with open(name, 'w', encoding='ascii') as file:
        file.write(text)


def data():
    r = random.Random(7)
    words = [''.join(r.choice('abcdefghij') for _ in range(r.randint(2, 9))) for _ in range(500)]

    def text(lines):
        return '\n'.join(' '.join(r.choice(words) for _ in range(12)) for _ in range(lines)) + '\n'

    write('ab', 'a\nb\n')
    write('aa', 'a\na\n')
    write('text', text(3000))
    write('other', text(3000))
    write('long', text(300000))
    os.makedirs('tree/under')
    write('tree/one', '')
    digest = hashlib.blake2b(b'a\nb\n').hexdigest()
    write('good', f'{digest}  ab\n')
    write('bad', f'{digest[:-1]}{int(digest[-1] == "0")}  ab\n')
    genome = ''.join(r.choice('ACGT') for _ in range(200000))
    write('ref.fa', f'>r\n{genome}\n')

    def reads(n):
        starts = [r.randrange(190000) for _ in range(n)]
        return ''.join(f'>q{i}\n{genome[at:at + 3000]}\n' for i, at in enumerate(starts))

    write('reads.fa', reads(30))
    write('fewer.fa', reads(20))
    write('many.fa', reads(2500))
    write('calls.lua', LUA_CALLS)
    write('tables.lua', LUA_TABLES)


def words_of(path):
    """Enters, and all words, of a trace (doc/format/trace.md)."""
    with open(path, 'rb') as file:
        head = file.read(4096)
        after, first = struct.unpack_from('<QQ', head, 8)
        words = struct.unpack(f'<{(after - first) // 4}I', file.read(after - first))
    enters = at = 0
    while at < len(words):
        kind, value = words[at] >> 29, words[at] & (1 << 29) - 1
        enters += kind == 1
        at += 1 + (4 if kind == 5 else value & 0xffff if kind == 7 else 0)
    return enters, len(words)


class Bench:
    def __init__(self, stemma, folder):
        self.stemma = stemma
        self.folder = folder

    def program(self, kind, package, path):
        full = f'{self.folder}/{kind}/{package}/{path}'
        return full if os.access(full, os.X_OK) and os.path.isfile(full) else None

    def fresh(self):
        shutil.rmtree(f'{self.folder}/in', ignore_errors=True)
        shutil.copytree(f'{self.folder}/data', f'{self.folder}/in')

    def run(self, command, traces=None, mode='lazy'):
        """CPU seconds, user and system."""
        env = dict(os.environ, STEMMA_TRACE_MODE=mode)
        if traces:
            shutil.rmtree(traces, ignore_errors=True)
            os.mkdir(traces)
            env['STEMMA_TRACE'] = traces
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=f'{self.folder}/in', env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def calls(self, command, traces):
        """Calls that callgrind counts, enters that are kept and words, of one run, and its CPU time."""
        out = f'{self.folder}/callgrind'
        took = self.run(['valgrind', '-q', '--tool=callgrind', f'--callgrind-out-file={out}'] + command, traces)
        with open(out, encoding='utf-8', errors='replace') as file:
            calls = sum(int(m.group(1)) for m in (re.match(r'calls=(\d+)', line) for line in file) if m)
        kept = [words_of(f'{traces}/{name}') for name in os.listdir(traces)]
        return calls, sum(k[0] for k in kept), sum(k[1] for k in kept), took

    def system_calls(self, command):
        """Of each its name, where the program's functions stood that had called it, and all functions, libraries' too."""
        out = f'{self.folder}/strace'
        self.run(['strace', '-f', '-k', '-o', out] + command)
        calls = []
        with open(out, encoding='utf-8', errors='replace') as file:
            for line in file:
                m = re.match(r'\d+ +(\w+)\(', line)
                if m:
                    calls.append((m.group(1), [], []))
                elif line.startswith(' > ') and calls and '(' in line:
                    site = line[line.index('(') + 1:line.rindex(')')]
                    calls[-1][2].append(site.split('+')[0])
                    if line.startswith(f' > {command[0]}('):
                        calls[-1][1].append(site)
        return calls

    def compare(self, a, b):
        """Differing places of two traces in all threads, the first of them, and CPU time."""
        before = children()
        said = subprocess.run([self.stemma, 'diff', '--trace', '--json', f'{self.folder}/{a}', f'{self.folder}/{b}'],
                              stdout=subprocess.PIPE, check=False).stdout
        took = children() - before
        if not said:
            return None, None, took
        threads = json.loads(said)['threads']
        first = next((t['divergences'][0]['text'].split(': ')[0] for t in threads if t['divergences']), '-')
        return sum(t['divergences_total'] for t in threads), first, took


def children():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def places(a, b):
    """How many places `diff` finds between the names of two lists of system calls; behind how many of them it goes on with
    calls that other functions made, the libraries' among them (Table II: the place where both are said to meet again is
    wrong), or that other places of the program made; and CPU time."""
    for name, calls in (('names-a', a), ('names-b', b)):
        write(name, ''.join(call[0] + '\n' for call in calls))
    before = children()
    said = subprocess.run(['diff', 'names-a', 'names-b'], stdout=subprocess.PIPE, text=True, check=False).stdout
    took = children() - before
    hunks = [m for m in (re.match(r'(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$', line) for line in said.splitlines()) if m]
    functions = sites = 0
    for m in hunks:
        i, j = int(m.group(2) or m.group(1)), int(m.group(5) or m.group(4)) # the last of each that are not the same
        if i < len(a) and j < len(b):
            sites += a[i][1] != b[j][1]
            functions += a[i][2] != b[j][2]
    return len(hunks), functions, sites, took


def table(*columns):
    print('| ' + ' | '.join(columns) + ' |')
    print('|' + '---|' * len(columns))


def row(*cells):
    print('| ' + ' | '.join(str(cell) for cell in cells) + ' |', flush=True)


def specifications(bench):
    print('Table I, Fig. 12\n')
    table('module', 'instructions', 'edges', 'back edges', 'functions', 'recursive', 'paper: these five', 'nodes kept',
          'edges kept', 'not in it, of instructions', 'without decisions, as the paper counts')
    for name, package, path, _, _ in MODULES:
        program = bench.program('traced', package, path)
        if not program:
            continue
        s = json.loads(subprocess.run([bench.stemma, 'spec', '--stats', '--json', program], stdout=subprocess.PIPE,
                                      check=True).stdout)['stats']
        paper = ', '.join(f'{n:,}' for n in PAPER[name][0]) if name in PAPER else ''
        row(name, f'{s["instructions"]:,}', f'{s["edges"]:,}', s["back_edges"], s["functions"], s["recursive"], paper,
            f'{s["nodes"]:,}', f'{s["edges_kept"]:,} ({100 * s["edges_kept"] / s["edges"]:.1f} %)',
            f'{100 - 100 * s["nodes"] / s["instructions"]:.1f} %',
            f'{100 - 100 * (s["nodes"] - s["decisions"] - s["epsilons"]) / s["instructions"]:.1f} %')


def measured(bench, plain, traced, a, b):
    """What the tables say of one module, or None where its runs leave no traces."""
    m = {'names': [], 'counted': []}
    for side, args in (('a', a), ('b', b)):
        bench.fresh()
        m['names'].append(bench.system_calls([plain] + args))
        bench.fresh()
        m['counted'].append(bench.calls([traced] + args, f'{bench.folder}/tr-v'))
        bench.fresh()
        bench.run([traced] + args, f'{bench.folder}/tr-{side}')
    m['found'], m['first'], m['diff'] = bench.compare('tr-a', 'tr-b')
    if m['found'] is None:
        return None
    m['places'] = places(*m['names'])
    # What only the machine's timing makes: the first run once more.
    bench.fresh()
    m['places_same'] = places(m['names'][0], bench.system_calls([plain] + a))
    bench.fresh()
    bench.run([traced] + a, f'{bench.folder}/tr-c')
    m['found_same'] = bench.compare('tr-a', 'tr-c')[0]
    ways = {
        'recorded': lambda: bench.run([bench.stemma, 'run', '--', plain] + a),
        'calls': lambda: bench.run([bench.stemma, 'run', '--trace-calls', '--', plain] + a),
        'lazy': lambda: bench.run([traced] + a, f'{bench.folder}/tr-c'),
        'full': lambda: bench.run([traced] + a, f'{bench.folder}/tr-c', 'full'),
    }
    alone, ratios = [], {way: [] for way in ways}
    for _ in range(PAIRS):
        bench.fresh()
        alone.append(bench.run([plain] + a))
        for way, run in ways.items():
            bench.fresh()
            ratios[way].append(run() / alone[-1])
    m['alone'] = statistics.median(alone)
    m['ratios'] = {way: f'{statistics.median(r):.2f} ({min(r):.2f} … {max(r):.2f})' for way, r in ratios.items()}
    return m


def volumes(bench):
    all_of = {}
    for name, package, path, a, b in MODULES:
        plain, traced = (bench.program(kind, package, path) for kind in ('plain', 'traced'))
        if plain and traced:
            all_of[name] = measured(bench, plain, traced, a, b)
            if not all_of[name]:
                print(f'\n{name}: no trace was left')
                del all_of[name]
    print('\nTable II, Fig. 9\n')
    table('module', 'system calls A, B', 'names: places', 'going on in other functions', 'at other places of the program',
          'paper: goes on wrongly', 'trace: places', 'first', 'A twice: names, trace')
    for name, m in all_of.items():
        found, functions, sites, _ = m['places']
        wrongly = ('yes' if PAPER[name][1] else 'no') if name in PAPER else ''
        row(name, f'{len(m["names"][0])}, {len(m["names"][1])}', found, functions, sites, wrongly, f'{m["found"]:,}',
            m['first'], f'{m["places_same"][0]}, {m["found_same"]}')
    print('\nTable III\n')
    table('module', 'function calls A, B', 'enters kept A, B', 'kept', 'words A, B', 'paper: calls', 'paper: kept')
    for name, m in all_of.items():
        (ca, ea, wa, _), (cb, eb, wb, _) = m['counted']
        paper = ('', '')
        if name in PAPER:
            o, r, ro, rr = PAPER[name][2]
            paper = f'{o:,}, {r:,}', f'{ro:,}, {rr:,} ({100 * ro / o:.2g} %, {100 * rr / r:.2g} %)'
        row(name, f'{ca:,}, {cb:,}', f'{ea:,}, {eb:,}', f'{100 * ea / ca:.2f} %, {100 * eb / cb:.2f} %', f'{wa:,}, {wb:,}', *paper)
    print('\nFig. 10\n')
    table('module', 'run A', 'stemma run', 'stemma run --trace-calls', 'traced, lazily', 'traced in full', 'callgrind')
    for name, m in all_of.items():
        r = m['ratios']
        row(name, f'{1000 * m["alone"]:.1f} ms', r['recorded'], r['calls'], r['lazy'], r['full'],
            f'{m["counted"][0][3] / m["alone"]:.0f}')
    print('\nFig. 11\n')
    table('module', 'run A', 'diff of names', 'stemma diff --trace')
    for name, m in all_of.items():
        row(name, f'{1000 * m["alone"]:.1f} ms', *(f'{1000 * t:.1f} ms ({t / m["alone"]:.2f})' for t in (m['places'][3], m['diff'])))


def costs(bench):
    print('\nWorks that last\n')
    table('work', 'plain', 'linked, not traced', 'traced, lazily', 'target', 'function enters kept', 'words')
    for name, package, path, target, args in LONG:
        plain, traced = (bench.program(kind, package, path) for kind in ('plain', 'traced'))
        if not plain or not traced:
            continue
        bench.fresh()
        alone, off, on = [], [], []
        for _ in range(PAIRS):
            alone.append(bench.run([plain] + args))
            off.append(bench.run([traced] + args) / alone[-1])
            on.append(bench.run([traced] + args, f'{bench.folder}/tr-a') / alone[-1])
        kept = [words_of(f'{bench.folder}/tr-a/{file}') for file in os.listdir(f'{bench.folder}/tr-a')]
        print(f'| {name} | {statistics.median(alone):.2f} s | {statistics.median(off):.2f} ({min(off):.2f} … {max(off):.2f}) '
              f'| {statistics.median(on):.2f} ({min(on):.2f} … {max(on):.2f}) | {"≤ " + target if target else ""} '
              f'| {sum(k[0] for k in kept):,} | {sum(k[1] for k in kept):,} |', flush=True)


def main():
    bench = Bench(sys.argv[1], sys.argv[2])
    os.mkdir(f'{bench.folder}/data')
    os.chdir(f'{bench.folder}/data')
    data()
    os.chdir(bench.folder)
    specifications(bench)
    missing = [tool for tool in ('valgrind', 'strace', 'diff') if not shutil.which(tool)]
    if missing:
        print(f'\nWithout {", ".join(missing)}: calls are not counted.')
    else:
        volumes(bench)
    costs(bench)


main()
