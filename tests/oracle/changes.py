#!/usr/bin/env python3
"""changes.py [KIND...] - the truths of the oracle's kinds of steps, held against what the programs do (doc/oracle.md).

Each kind of step is run alone, by nobody recorded, and then again with another content of one of the files that it uses, for each of
them. An output that is another one then has that file in it: a truth that says neither so nor that it may be is wrong. Where the file is
said to be in the output and the output is the same, its kind must stand in SAME.

TAP. --verbose: what each kind of step showed."""
import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import kinds  # noqa: E402
import kinds_tools  # noqa: E402,F401
import oracle  # noqa: E402
import truth  # noqa: E402

# What was received and does not show: comments that a compiler reads; few bytes of many; and where a program has the bytes of one file when it
# writes those of another one (doc/oracle.md: the unit is the program).
SAME = {'compiled', 'written-in-part', 'truncated-then-from-another-by-one', 'dd-into-the-middle', 'tar-and-back', 'awk-several-outputs', 'diff-and-patch'}


class Alone:
    """A kind of step in a folder of its own; the content of one file may be another."""

    def __init__(self, kind, changed=None):
        self.top = tempfile.mkdtemp(prefix='oracle.')
        self.work = f'{self.top}/work'
        os.mkdir(self.work)
        self.names = [f's{n}' for n in range(oracle.SOURCES)]
        for name in self.names:
            with open(f'{self.work}/{name}', 'w') as out:
                out.write(''.join(f'marker-{name}- {n}{" another" if name == changed else ""}\n' for n in range(10)))
            os.utime(f'{self.work}/{name}', (1e9, 1e9))
        self.step = oracle.make_step(1, kind, self.names, random.Random(f'{kind} 0'))

    def run(self):
        """The outputs by name, and the truth."""
        environment = {'PATH': '/usr/bin:/bin', 'HOME': self.top, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC'}
        done = subprocess.run(['dash', '-c', f'exec 9>>../truths; {self.step.command}'], cwd=self.work, env=environment, capture_output=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode == 77:
            raise oracle.Unable(done.stderr.decode(errors='replace'))
        if done.returncode:
            raise oracle.Void(f'status {done.returncode}: {done.stderr.decode(errors="replace")[:400]}')
        said = truth.Truth()
        for name in self.names:
            said.file(name)
        with open(f'{self.top}/truths') as lines:
            for line in lines:
                _, process, verb, *words = line.split()
                said.said(process, verb, words)
        for output, sure, maybe, options in self.step.declared:
            said.declared(output, sure, maybe, **options)
        outputs = {}
        for name in self.step.makes:
            with open(f'{self.work}/{name}', 'rb') as content:
                outputs[name] = content.read()
        return outputs, said


def run(kind, changed=None):
    alone = Alone(kind, changed)
    try:
        return (*alone.run(), alone.step)
    finally:
        shutil.rmtree(alone.top)


def look(kind, counts, told):
    """What is wrong with the truths of a kind of step."""
    outputs, said, step = run(kind)
    again = run(kind)[0]
    wrong = []
    for source in step.uses:
        others = run(kind, source)[0]
        for name, content in outputs.items():
            file = said.names[name]
            way = 'in it' if source in file.sure else 'perhaps' if source in file.open else 'not in it'
            seen = 'varies' if again[name] != content else 'another' if others[name] != content else 'the same'
            counts[way, seen] += 1
            told.append(f'{kind}: {name}, {source}: {way}, {seen}')
            if (way, seen) == ('not in it', 'another') or ((way, seen) == ('in it', 'the same') and kind not in SAME):
                wrong.append(told[-1])
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--actor', default=os.environ.get('ORACLE_ACTOR', f'{HERE}/../../build/tests/oracle/oracle-actor'))
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('kinds', nargs='*')
    options = parser.parse_args()
    oracle.ACTOR = os.path.abspath(options.actor)
    counts, told, wrong = collections.Counter(), [], []
    for kind in options.kinds or [k for k in kinds.KINDS if k not in kinds.ALONE]:
        try:
            wrong += look(kind, counts, told)
        except oracle.Unable as unable:
            print(f'# {kind}: this machine cannot do it. {unable}')
        except oracle.Void as void:
            wrong.append(f'{kind}: {void}')
    for line in told if options.verbose else wrong:
        print('# ' + line.replace('\n', ' '))
    print('# ' + ', '.join(f'{way}, {seen}: {n}' for (way, seen), n in sorted(counts.items())))
    print(f'{"not ok" if wrong else "ok"} 1 - the truths of the steps are what the programs do\n1..1')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
