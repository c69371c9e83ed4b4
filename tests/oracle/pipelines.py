#!/usr/bin/env python3
"""pipelines.py [NAME...] - real pipelines under `stemma run`, and its answers held against what a person would say (doc/oracle.md).

A pipeline is files that are there, a script of the shell, and a line for each output: its sources, and with `?` those of which a
person would say that they may be. What the sources of a source are need not be said again. Only the files that are there and the
outputs are compared, and what else a program makes is passed over.

TAP: a test for each pipeline; it fails where a source is missed, or a file is certain that is none, more often than the line `known`
says. --verbose: each such file."""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from pipelines_table import PIPELINES  # noqa: E402


class Folder:
    """A pipeline that has been run."""

    def __init__(self, stemma, pipeline):
        self.stemma, self.pipeline = stemma, pipeline
        self.top = tempfile.mkdtemp(prefix='oracle.')
        self.work = f'{self.top}/work'
        self.environment = {'PATH': '/usr/bin:/bin', 'HOME': self.top, 'STEMMA_HOME': f'{self.top}/record', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
                            'TMPDIR': self.top, 'GIT_CONFIG_NOSYSTEM': '1'}
        for name, text in pipeline.files.items():
            path = f'{self.work}/{name}'
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as out:
                out.write(text)
            if text.startswith('#!'):
                os.chmod(path, 0o755)

    def call(self, *words, status=(0,)):
        done = subprocess.run(words, cwd=self.work, env=self.environment, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode not in status:
            raise OSError(f'{" ".join(words)[:200]}: {done.returncode}: {done.stderr.decode(errors="replace")[-800:]}')
        return done.stdout

    def run(self):
        time.sleep(0.03)  # the grain of file times
        for script in self.pipeline.scripts:
            self.call(self.stemma, 'run', '-q', '--', self.pipeline.shell, '-c', script)

    def names(self, name, *options):
        graph = json.loads(self.call(self.stemma, 'lineage', '--json', *options, f'{self.work}/{name}'))
        found = {e['path'][len(self.work) + 1:] for e in graph['entities'] if (e.get('path') or '').startswith(self.work + '/') and e['id'] != graph['root']}
        return found, [w for x in graph['executions'] for w in x['completeness'] if w != 'no_bytes']


def closure(truths, name, seen):
    """Of an output, all that went in, and all that may have."""
    sure, maybe = set(), set()
    for source in truths.get(name, ()):
        bare = source.rstrip('?')
        if bare in seen:
            continue
        more = closure(truths, bare, seen | {bare})
        if source.endswith('?'):
            maybe |= {bare} | more[0] | more[1]
        else:
            sure |= {bare} | more[0]
            maybe |= more[1]
    return sure, maybe


def judge(folder, counts, told):
    pipeline = folder.pipeline
    universe = set(pipeline.files) | set(pipeline.truths)
    for name in pipeline.truths:
        sure, maybe = closure(pipeline.truths, name, {name})
        certain, _ = folder.names(name, '--certain')
        possible, gaps = folder.names(name)
        counts['gaps'] += len(gaps)
        for source in sorted(universe - {name}):
            counts['true'] += source in sure
            if source in sure and source not in possible:
                word = 'missed'
            elif source in sure and source not in certain:
                word = 'only possible'
            elif source in certain and source not in sure:
                word = 'sure, and may be' if source in maybe else 'sure and false'
            elif source in possible and source not in sure | maybe:
                word = 'possible and false'
            else:
                continue
            counts[word] += 1
            told.append(f'{word}: {name} from {source}')


WORDS = ('true', 'missed', 'only possible', 'sure and false', 'sure, and may be', 'possible and false', 'gaps')


def test(options, number, pipeline):
    missing = [n for n in pipeline.needs if not shutil.which(n, path='/usr/bin:/bin')]
    if missing:
        print(f'ok {number} - {pipeline.name} # SKIP {", ".join(missing)} is not installed')
        return collections.Counter()
    counts, told = collections.Counter(), []
    folder = Folder(options.stemma, pipeline)
    try:
        folder.run()
        judge(folder, counts, told)
    except OSError as error:
        counts['failed'] = 1
        told.append(str(error).replace('\n', ' '))
    finally:
        if options.keep:
            print(f'# {folder.top}')
        else:
            shutil.rmtree(folder.top, ignore_errors=True)
    over = counts['failed'] or any(counts[word] > most for word, most in
                                   zip(('missed', 'sure and false', 'sure, and may be'), pipeline.known))
    print(f'{"not ok" if over else "ok"} {number} - {pipeline.name}: ' + ', '.join(f'{counts[w]} {w}' for w in WORDS))
    for line in told if over or options.verbose else ():
        print(f'# {line}')
    counts['not ok'] = bool(over)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stemma', default=os.environ.get('STEMMA', f'{HERE}/../../build/src/cmd/stemma'))
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    options.stemma = os.path.abspath(options.stemma)
    chosen = [p for p in PIPELINES if not options.names or p.name in options.names]
    total = collections.Counter()
    for number, pipeline in enumerate(chosen, 1):
        total.update(test(options, number, pipeline))
    print('# all: ' + ', '.join(f'{total[w]} {w}' for w in WORDS))
    if total['true']:
        print(f'# certain: {100 * (1 - (total["only possible"] + total["missed"]) / total["true"]):.1f} % of the true ones')
    print(f'1..{len(chosen)}')
    return 1 if total['not ok'] else 0


if __name__ == '__main__':
    sys.exit(main())
