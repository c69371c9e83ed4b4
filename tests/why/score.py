#!/usr/bin/env python3
"""score.py [NAME...] - real outputs under `stemma run`, and the line of `stemma why` held against the one that a person would write.

A case (cases/*.txt, README.md) is files that are there, what somebody types, an output, and by hand the program that made its
content and the sources that the user gave it. An answer is *equal* if its line names exactly these programs in their order, and
if of the sources that it lists those of the case come first, and after them none but those that the case lets be named `also`.

A table, a line for each case: right (equal) or not, how long it took, and of those that are not equal what is said and what is wanted.

  --held         the cases that held.txt names, which are left out otherwise; their lines say no more than right or not
  --list         the names of the cases, with what they need
  --slice I/N    each Nth case from the Ith on (from 1)
  --ratchet FILE the cases that must be equal; one that is not makes the end 1
  --tap          for the test: a line for each case; it fails where the ratchet does, or its script
  --jobs N       so many at once (2)
  --columns N    the line as it is on a terminal of this width (without it: as it is in a file)
  --keep FOLDER  leave the folder of each case there
  --json         behind each case what --json says: makers and inputs, by name"""
import fnmatch
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import corpus  # noqa: E402

JSON_STATES = ('sure', 'possible', 'missing')
FIELDS = ('needs', 'output', 'program', 'sources', 'also', 'order')


def answers_of(case):
    """What may be said, each (programs, sources, also); the first is what is shown as wanted. A `program` begins one."""
    answers = []
    for word, text in case.fields:
        if word == 'program':
            answers.append(([stage.split() for stage in text.split(' | ')], [], []))
        elif word in ('sources', 'also'):
            answers[-1][1 if word == 'sources' else 2].extend(text.split())
    if not answers or not case.run or len(case.words('output')) != 1:
        sys.exit(f'{case.where}: case {case.name} lacks a run, a program, or one output')
    return answers


WORD = re.compile(r"""(?:'[^'…]*(?:'|…)|"[^"…]*(?:"|…)|\\.|[^\s'"])+""")


def parsed(line):
    """The programs of a line of `stemma why`, each a list of words, from the first of a pipeline to the last; and the sources that it lists
    before it counts the others. The one place that knows how the line is written."""
    made = re.match(r'.*?@\{\d+\}(?: \([^)]*\))?: made by (.*)$', line)
    if not made:
        return [], []
    words = WORD.findall(re.split(r' by \S+@\S+ \d{4}-\d\d-\d\d', made[1])[0])  # behind that: who and when, and what is said besides
    begin = len(words) - words[::-1].index('from') - 1 if 'from' in words else len(words)
    sources = []
    for item in ' '.join(words[begin + 1:]).split(', '):
        if re.match(r'\+\d|\d+ (more|others?|inputs)\b|$', item):  # so many more
            break
        sources.append(re.sub(r'@\{\d+\}.*$', '', item))
    words = words[:words.index('in')] if 'in' in words else words[:begin]  # who opened it for them
    stages = [[]]
    for word in words:
        if word in ('|', 'and', 'after'):
            stages.append([])
        elif word != '?':
            stages[-1].append(word.strip('\'"'))
    if 'after' in words:  # A and B after C: C went before
        stages.reverse()
    return stages, sources


def is_program(said, truth):
    """A stage that was said is the program of the truth: the same first word, without its folder, and the others among its words in their order."""
    words = iter(said)
    if os.path.basename(next(words, '')) != os.path.basename(truth[0]):
        return False
    return all(any(os.path.normpath(w) == os.path.normpath(t) for w in words) for t in truth[1:])


def programs_equal(stages, truths):
    """Each program in its order; one that is said several times at its place counts once."""
    at = 0
    for stage in stages:
        if at < len(truths) and is_program(stage, truths[at]):
            at += 1
        elif not at or not is_program(stage, truths[at - 1]):
            return False
    return at == len(truths)


def matches(name, patterns):
    return any(os.path.normpath(name) == os.path.normpath(p) or fnmatch.fnmatchcase(os.path.normpath(name), p) for p in patterns)


def sources_equal(listed, sources, also, order):
    listed = list(dict.fromkeys(listed))  # two versions of one file are one name
    first = [name for name in listed if matches(name, sources)]
    if any(not any(matches(name, [source]) for name in first) for source in sources):
        return False
    if listed[:len(first)] != first or any(not matches(name, also) for name in listed[len(first):]):
        return False
    places = [min(n for n, source in enumerate(sources) if matches(name, [source])) for name in first]
    return not order or places == sorted(places)


def shown(answer, work):
    """What --json says, in one line: makers, and inputs by name; `?` behind one that is not certain."""
    makers = [' '.join(m['argv'])[:60] for m in answer['makers']]
    inputs = [os.path.relpath(i.get('path') or '?', work) + ('?' if i.get('certainty') != 'must' else '') for i in answer['inputs']]
    return f'json    makers {" / ".join(makers)}; inputs {" ".join(inputs[:12])}' + (f' +{len(inputs) - 12}' if len(inputs) > 12 else '')


def in_json(answer, work, answers):
    """How the sources of the case stand among the inputs of --json: sure, possible or missing; of several answers the best."""
    inputs = {os.path.relpath(i.get('path') or '?', work): i.get('certainty') == 'must' for i in answer['inputs']}
    states = []
    for _, sources, _ in answers:
        found = [[sure for name, sure in inputs.items() if matches(name, [source])] for source in sources]
        states.append('sure' if all(any(f) for f in found) else 'possible' if all(found) else 'missing')
    return min(states, key=JSON_STATES.index)


def judge(case, folder, options):
    output = case.words('output')[0]
    folder.environment['STEMMA_HDF5'] = 'off'  # the truths name files; objects in HDF5 files have tests of their own (t1016, t1075)
    folder.script(case.setup)
    folder.script(case.run)
    if not os.path.exists(f'{folder.work}/{output}'):
        raise corpus.Void(f'there is no {output}')
    if options.columns:
        folder.environment['COLUMNS'] = options.columns
    said = folder.call(['stemma', 'why', output], (0, 1)).strip().replace(folder.work + '/', '')
    data = json.loads(folder.call(['stemma', 'why', '--json', output], (0, 1)))['answers'][0]
    stated = in_json(data, folder.work, answers_of(case))
    more = [shown(data, folder.work)] if options.json else []
    stages, sources = parsed(said.split('\n')[0])
    order = case.words('order') == ['yes']
    right = [(programs_equal(stages, truth), sources_equal(sources, given, also, order)) for truth, given, also in answers_of(case)]
    best = max(right, key=lambda both: (all(both), sum(both)))
    wrong = ' and '.join(word for word, is_right in zip(('program', 'sources'), best) if not is_right)
    if wrong:
        more = [f'wrong   {wrong}' + (f'; in --json a source is {stated}' if stated != 'sure' else '')] + more
    return corpus.Result(case, 'not' if wrong else 'right', said, wanted(case), more, (*best, '?' in said, stated))


def wanted(case):
    lines = [f'{" | ".join(" ".join(stage) for stage in stages)} from {", ".join(sources) or "nothing"}' for stages, sources, _ in answers_of(case)]
    return ' or: '.join(lines)


def total(results):
    ran = [r for r in results if r.state in ('right', 'not')]
    states = {state: sum(r.state == state for r in results) for state in ('right', 'void', 'skip')}
    return (f'{states["right"]} of {len(ran)} equal ({sum(r.state == "right" and r.data[2] for r in ran)} of them with a `?`); '
            f'programs {sum(r.data[0] for r in ran)}, sources {sum(r.data[1] for r in ran)}; '
            f'in --json all sources are sure {sum(r.data[3] == "sure" for r in ran)}, one is possible {sum(r.data[3] == "possible" for r in ran)}, '
            f'missing {sum(r.data[3] == "missing" for r in ran)}; {states["void"]} void, {states["skip"]} skipped')


if __name__ == '__main__':
    OPTIONS = corpus.arguments(__doc__.partition('\n')[0], ('--columns',))
    sys.exit(corpus.main(OPTIONS, corpus.cases(f'{HERE}/cases', 'case', ('setup', 'run'), FIELDS), HERE, judge, total))
