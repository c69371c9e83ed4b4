#!/usr/bin/env python3
"""score.py [NAME...] - real outputs under `stemma run`, and the line of `stemma why` held against the one that a person would write.

A case (cases/*.txt, README.md) is files that are there, what somebody types, an output, and by hand the program that made its
content and the sources that the user gave it. An answer is *equal* if its line names exactly these programs in their order, and
if of the sources that it lists those of the case come first, and after them none but those that the case lets be named `also`.

A table, a line for each case: equal or not, how long it took, and of those that are not equal what is said and what is wanted.

  --held         the cases that held.txt names, which are left out otherwise; their lines say no more than equal or not
  --list         the names of the cases, with what they need
  --slice I/N    each Nth case from the Ith on (from 1)
  --ratchet FILE the cases that must be equal; a case that fails there makes the end 1
  --tap          for the test: a line for each case; without the ratchet's fault it fails where its script does
  --jobs N       so many at once (2)
  --keep FOLDER  leave the folder of each case there
  --json         behind each case what --json says: makers and inputs, by name"""
import argparse
import concurrent.futures
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
SECONDS = 120


class Case:
    """`answers`: what may be said, each (programs, sources, also); the first is what is shown as wanted."""

    def __init__(self, name, where):
        self.name, self.where = name, where
        self.needs, self.setup, self.run, self.output, self.answers, self.order = [], '', '', '', [], False

    def complete(self):
        lacking = [word for word in ('run', 'output', 'answers') if not getattr(self, word)]
        if lacking:
            sys.exit(f'{self.where}: case {self.name} has no {", ".join(lacking)}')
        return self


def cases(folder):
    """All cases of a folder's files, in the order of the files' names."""
    found = []
    for path in sorted(glob.glob(f'{folder}/*.txt')):
        with open(path, encoding='utf-8') as text:
            found += cases_of(path, text.read().splitlines())
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f'two cases have one name: {", ".join(sorted(twice))}')
    return found


def cases_of(path, lines):
    found, block = [], None
    for number, line in enumerate(lines, 1):
        if line.startswith('\t') or (block and not line):
            if not block:
                sys.exit(f'{path}:{number}: a line of no block')
            setattr(found[-1], block, getattr(found[-1], block) + line[1:] + '\n')
            continue
        block = None
        word, _, rest = line.partition(' ')
        if not line or line.startswith('#'):
            continue
        if word == 'case':
            found.append(Case(rest.strip(), path))
        elif not found:
            sys.exit(f'{path}:{number}: before the first case')
        elif word in ('setup', 'run'):
            block = word
        else:
            field(found[-1], word, rest.strip(), f'{path}:{number}')
    return [case.complete() for case in found]


def field(case, word, rest, where):
    if word == 'needs':
        case.needs += rest.split()
    elif word == 'output':
        case.output = rest
    elif word == 'program':  # another one begins another answer
        case.answers.append(([stage.split() for stage in rest.split(' | ')], [], []))
    elif word in ('sources', 'also') and case.answers:
        case.answers[-1][1 if word == 'sources' else 2].extend(rest.split())
    elif word == 'order':
        case.order = rest == 'yes'
    else:
        sys.exit(f'{where}: what is {word}?')


def lacks(case):
    """What this machine lacks for the case: `python:NAME` is a module of /usr/bin/python3, `file:PATH` a file, all else a command."""
    lacking = []
    for need in case.needs:
        kind, _, name = need.rpartition(':')
        if kind == 'python':
            path = f'/usr/lib/python3/dist-packages/{name}'
            there = os.path.exists(path) or os.path.exists(path + '.py')
        elif kind == 'file':
            there = bool(glob.glob(name))
        else:
            there = bool(shutil.which(name, path='/usr/bin:/bin'))
        if not there:
            lacking.append(need)
    return lacking


class Void(Exception):
    """The case did not do what it was to do: the fault is not in an answer."""


def record(case, stemma, top):
    """The case has been run in top/work; what `stemma why` prints of its output, and what with --json."""
    work = f'{top}/work'
    os.makedirs(f'{top}/tmp')
    os.makedirs(f'{top}/bin')
    os.makedirs(work)
    os.symlink(stemma, f'{top}/bin/stemma')
    plain = {'PATH': '/usr/bin:/bin', 'HOME': top, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'TMPDIR': f'{top}/tmp', 'MATERIAL': f'{HERE}/material.py',
             'GIT_CONFIG_NOSYSTEM': '1', 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    recorded = dict(plain, STEMMA_HOME=f'{top}/record', PATH=f'{top}/bin:/usr/bin:/bin')
    call(['bash', '-e', '-c', case.setup], work, plain)
    time.sleep(0.03)  # the grain of file times
    call(['bash', '-e', '-c', case.run], work, recorded)
    if not os.path.exists(f'{work}/{case.output}'):
        raise Void(f'there is no {case.output}')
    return call(['stemma', 'why', case.output], work, recorded, (0, 1)), call(['stemma', 'why', '--json', case.output], work, recorded, (0, 1))


def call(words, folder, environment, status=(0,)):
    """What a program of the case prints. A session of its own, so that none of its programs outlives a case that takes too long."""
    program = shutil.which(words[0], path=environment['PATH'])
    with subprocess.Popen([program, *words[1:]], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            raise Void(f'{words[0]} took more than {SECONDS} s')
    if process.returncode not in status:
        raise Void(f'{" ".join(words)[:60]}...: status {process.returncode}: {(err or out).decode(errors="replace").strip()[-300:]}')
    return out.decode(errors='replace')


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
    return os.path.basename(next(words, '')) == os.path.basename(truth[0]) and all(any(os.path.normpath(w) == os.path.normpath(t) for w in words) for t in truth[1:])


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


def from_json(text):
    answer = json.loads(text)['answers'][0]
    makers = [' '.join(m['argv'])[:60] for m in answer['makers']]
    inputs = [os.path.basename(i.get('path') or '?') + ('?' if i.get('certainty') != 'must' else '') for i in answer['inputs']]
    return f'makers {" / ".join(makers)}; inputs {" ".join(inputs[:12])}' + (f' +{len(inputs) - 12}' if len(inputs) > 12 else '')


class Result:
    """`state`: equal, not, void or skip."""

    def __init__(self, case, state, said, seconds=0.0, programs=False, sources=False, unsure=False, data=''):
        self.case, self.state, self.said, self.seconds = case, state, said, seconds
        self.programs, self.sources, self.unsure, self.data = programs, sources, unsure, data


def judge(case, options):
    lacking = lacks(case)
    if lacking:
        return Result(case, 'skip', f'no {", ".join(lacking)} here')
    top = os.path.realpath(tempfile.mkdtemp(prefix='stemma-why.'))
    began = time.time()
    try:
        said, data = record(case, options.stemma, top)
    except Void as void:
        return Result(case, 'void', str(void), time.time() - began)
    finally:
        if options.keep:
            shutil.copytree(top, f'{options.keep}/{case.name}', symlinks=True)
        shutil.rmtree(top, ignore_errors=True)
    said = said.strip().replace(top + '/work/', '')
    stages, sources = parsed(said.split('\n')[0])
    right = [(programs_equal(stages, truth), sources_equal(sources, wanted, also, case.order)) for truth, wanted, also in case.answers]
    best = max(right, key=lambda both: (all(both), sum(both)))
    return Result(case, 'equal' if all(best) else 'not', said, time.time() - began, *best, '?' in said, from_json(data))


def wanted(case):
    return ' or: '.join(f'{" | ".join(" ".join(stage) for stage in stages)} from {", ".join(sources) or "nothing"}' for stages, sources, _ in case.answers)


def show(result, options):
    case = result.case
    print(f'{result.state:5} {case.name:28} {result.seconds:5.1f} s' + (f'  {result.said}' if result.state in ('skip', 'void') else ''))
    if options.held:
        return
    if result.state == 'not':
        wrong = ' and '.join(word for word, right in (('program', result.programs), ('sources', result.sources)) if not right)
        print(f'      said    {result.said}\n      wanted  {wanted(case)}\n      wrong   {wrong}')
    if options.json and result.data:
        print(f'      json    {result.data}')


def show_tap(number, result, ratchet):
    case = result.case
    must = case.name in ratchet
    failed = result.state == 'void' or (must and result.state == 'not')
    print(f'{"not " if failed else ""}ok {number} - {case.name}' + (f' # SKIP {result.said}' if result.state == 'skip' else ''))
    if failed:
        print(f'# said   {result.said}\n# wanted {wanted(case)}')
    elif result.state == 'not':
        print('# not equal, as before')
    elif result.state == 'equal' and not must:
        print(f'# equal now: add {case.name} to the ratchet')
    return failed


def total(results):
    ran = [r for r in results if r.state in ('equal', 'not')]
    states = {state: sum(r.state == state for r in results) for state in ('equal', 'void', 'skip')}
    print(f'{states["equal"]} of {len(ran)} equal ({sum(r.state == "equal" and r.unsure for r in ran)} of them with a `?`); '
          f'programs {sum(r.programs for r in ran)}, sources {sum(r.sources for r in ran)}; {states["void"]} void, {states["skip"]} skipped')


def words_of(path):
    with open(path, encoding='utf-8') as text:
        return [line.strip() for line in text if line.strip() and not line.startswith('#')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('names', nargs='*')
    for option in ('--held', '--list', '--tap', '--json'):
        parser.add_argument(option, action='store_true')
    for option in ('--slice', '--ratchet', '--keep'):
        parser.add_argument(option)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--stemma', default=os.environ.get('STEMMA') or os.path.join(HERE, '../../build/src/cmd/stemma'))
    options = parser.parse_args()
    options.stemma = os.path.realpath(options.stemma)
    everything = cases(f'{HERE}/cases')
    held = words_of(f'{HERE}/held.txt')
    ratchet = words_of(options.ratchet) if options.ratchet else []
    unknown = [n for n in options.names + held + ratchet if n not in [c.name for c in everything]]
    if unknown:
        sys.exit(f'no case: {" ".join(unknown)}')
    chosen = [c for c in everything if (c.name in held) == options.held and (not options.names or c.name in options.names)]
    if options.slice:
        nth, of = map(int, options.slice.split('/'))
        chosen = chosen[nth - 1::of]
    if options.list:
        for case in chosen:
            print(f'{case.name:28} {" ".join(case.needs)}')
        return 0
    failed, results = 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, result in enumerate(pool.map(lambda case: judge(case, options), chosen), 1):
            results.append(result)
            if options.tap:
                failed += show_tap(number, result, ratchet)
            else:
                show(result, options)
                failed += result.state == 'not' and result.case.name in ratchet
            sys.stdout.flush()
    if options.tap:
        print(f'1..{len(results)}')
    else:
        total(results)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
