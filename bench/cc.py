#!/usr/bin/python3
"""cc.py STEMMA BUILD [ROUNDS] - what `stemma cc` adds to a build of many C files.

Each file of this program's own sources (BUILD/compile_commands.json, with their flags) is compiled by the compiler alone and
through `stemma cc`, one after the other, in turn first and second; then both sets of objects are archived into one and
linked. Objects must be the same bytes. Prints a row of Markdown: processor time of all processes, wall time, and the
median of the ratios of the pairs. Ends with 1 if a pair differs.
"""

import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time


def measure(command, cwd, env):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=cwd, env=env, check=True, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def commands(build):
    """(arguments with @OUT@ for the object, folder) of each file below src."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as text:
        for entry in json.load(text):
            words = [w for w in shlex.split(entry['command']) if os.path.basename(w) != 'ccache']
            if '/src/' not in os.path.abspath(os.path.join(entry['directory'], entry['file'])) or not entry['file'].endswith('.c'):
                continue
            words[words.index('-o') + 1] = '@OUT@'
            if '-MF' in words:
                words[words.index('-MF') + 1] = '@OUT@.d'
            yield words, entry['directory']


def main():
    stemma, build = os.path.abspath(sys.argv[1]), sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    files = list(commands(build))
    sums, ratios, differs = [[0.0, 0.0], [0.0, 0.0]], [], 0
    with tempfile.TemporaryDirectory() as top:
        env = dict(os.environ, STEMMA_HOME=os.path.join(top, 'record'))
        for turn in range(rounds):
            for i, (words, cwd) in enumerate(files):
                cost = [None, None]
                for which in ((0, 1) if (i + turn) % 2 else (1, 0)):
                    out = os.path.join(top, f'{which}-{i}.o')
                    args = [w.replace('@OUT@', out) for w in words]
                    # The target of the rule in the dependencies is the same in both.
                    args = [os.path.join(top, 'target') if w == out and args[k - 1] in ('-MQ', '-MT') else w for k, w in enumerate(args)]
                    cost[which] = measure([stemma, 'cc'] * which + args, cwd, env)
                    for k in (0, 1):
                        sums[which][k] += cost[which][k]
                for tail in ('', '.d'):
                    one, two = (os.path.join(top, f'{which}-{i}.o{tail}') for which in (0, 1))
                    if os.path.exists(one) and open(one, 'rb').read() != open(two, 'rb').read():
                        print(f'{words[-1]}: {tail or "object"} differs', file=sys.stderr)
                        differs += 1
                ratios.append(cost[1][0] / cost[0][0])
        log = subprocess.run(['du', '-sb', os.path.join(top, 'record', 'logs')], capture_output=True, text=True, check=True)
    n = len(files) * rounds
    print(f'| build of {len(files)} C files | CPU {sums[0][0]:.1f} s alone, {sums[1][0]:.1f} s with: {sums[1][0] / sums[0][0]:.3f}'
          f' (median of pairs {statistics.median(ratios):.3f}) | wall {sums[0][1]:.1f} s, {sums[1][1]:.1f} s: {sums[1][1] / sums[0][1]:.3f}'
          f' | {(sums[1][0] - sums[0][0]) / n * 1e3:.2f} ms and {int(log.stdout.split()[0]) / n / 1024:.1f} KiB of log a file |')
    return 1 if differs else 0


if __name__ == '__main__':
    sys.exit(main())
