#!/usr/bin/env python3
"""pairs.py [NAME...] - two runs with a known cause of their difference, and what `stemma diff` says first, held against it.

A pair (pairs/*.txt, README.md) is files that are there, a run, what is changed, and the run again; and by hand the cause: its kind, and
the words that the first line of `first cause` must have. It is asked in both orders, for the cause is the same.

A table, a line for each pair: right or not, how long it took, and of those that are not right what is said and what is wanted. An answer
that names no cause where there is one is *unknown*; one that names what it is and calls it something else is of another *kind*; one that
names another cause, or one where there is none, is *wrong*.

  --held         the pairs that held.txt names, which are left out otherwise; their lines say no more than right or not
  --list         the names of the pairs, with what they need
  --slice I/N    each Nth pair from the Ith on (from 1)
  --ratchet FILE the pairs that must be right; one that is not makes the end 1
  --tap          for the test: a line for each pair; it fails where the ratchet does, or its script
  --jobs N       so many at once (2)
  --keep FOLDER  leave the folder of each pair there"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../why'))
sys.dont_write_bytecode = True

import corpus  # noqa: E402

BLOCKS = ('setup', 'a', 'change', 'b')
VERDICTS = ('right', 'unknown', 'kind', 'wrong')  # the worse of both orders counts
FIELDS = ('needs', 'ask', 'cause')
KINDS = ('none', 'outcome', 'inputs', 'programs', 'build', 'options', 'configuration', 'environment', 'machine', 'executions', 'lines', 'order')


def causes_of(pair):
    """What may be said: (kind, words that must stand in the line) each; the first is shown as wanted."""
    causes = [(text.split()[0], text.split()[1:]) for text in pair.texts('cause')]
    if not causes or not pair.a or any(kind not in KINDS for kind, _ in causes):
        sys.exit(f'{pair.where}: pair {pair.name} lacks a run or a cause, or has an unknown kind')
    return causes


def first_cause(text, data):
    """What an answer says first: the kind, and the line as it is read. The one place that knows how the answer is written."""
    line = re.search(r'^first cause +(.*(?:\n {14}\S.*)*)', text, re.M)
    cause = json.loads(data)['first_cause']
    return cause['rung'] if cause else 'none', line[1] if line else ''


def verdict(kind, line, causes):
    what = line.partition('\n')[0]  # behind it stands how far it reaches
    named = [k for k, words in causes if words and all(re.search(rf'(?<![\w.]){re.escape(word)}(?!\w)', what) for word in words)]
    if kind in named or kind == 'none' and any(k == 'none' for k, _ in causes) or kind != 'none' and any(k == kind and not words for k, words in causes):
        return 'right'
    return 'unknown' if kind == 'none' else 'kind' if named else 'wrong'


def judge(pair, folder, options):
    causes = causes_of(pair)
    folder.script(pair.setup)
    folder.script(pair.a)
    folder.script(pair.change)
    folder.script(pair.b or pair.a)
    sides = (pair.texts('ask') or ['@~1 @'])[0].split()
    said, verdicts = [], []
    for asked in (sides, sides[::-1]):
        kind, line = first_cause(folder.call(['stemma', 'diff', *asked], (0, 1)), folder.call(['stemma', 'diff', '--json', *asked], (0, 1)))
        verdicts.append(verdict(kind, line, causes))
        said.append(f'{kind}: {" ".join(line.split())}'.replace(folder.work + '/', ''))
    worst = max(verdicts, key=VERDICTS.index)
    text = said[0] if said[0] == said[1] else f'{said[0]}\n      turned  {said[1]}'
    wanted = ' or: '.join(' '.join([k, *words]) for k, words in causes)
    return corpus.Result(pair, 'right' if worst == 'right' else 'not', text, wanted, [] if worst == 'right' else [f'this is {worst}'], worst)


def total(results):
    count = {word: sum(r.data == word for r in results) for word in VERDICTS}
    states = {state: sum(r.state == state for r in results) for state in ('void', 'skip')}
    return (f'{count["right"]} of {sum(count.values())} right, {count["unknown"]} name no cause, {count["kind"]} call it another kind, '
            f'{count["wrong"]} name another one; {states["void"]} void, {states["skip"]} skipped')


if __name__ == '__main__':
    OPTIONS = corpus.arguments(__doc__.partition('\n')[0])
    sys.exit(corpus.main(OPTIONS, corpus.cases(f'{HERE}/pairs', 'pair', BLOCKS, FIELDS), HERE, judge, total))
