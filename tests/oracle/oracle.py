#!/usr/bin/env python3
"""oracle.py - random workflows under `stemma run`, and its answers held against what truly flowed (doc/oracle.md).

  oracle.py each [KIND...]           each kind of step alone, from files that were there before
  oracle.py seeds FIRST COUNT        workflows of several steps and runs, by seed
  oracle.py shrink SEED CLASS KIND   the fewest steps of that workflow with an error of this class and kind

  --variants N      so many choices of each kind (each)
  --known FILE      the errors that are known of (known.txt); another one ends with 1
  --shorten         take from FILE what is not found any more (each, without KIND)
  --campaign FILE   begin with the seed that FILE names, and add the counts to it; then FIRST is left out
  --run-options S   options of stemma run (--count, --exact)
  --library         ask libstemma, which starts no process for a question; one workflow in 16 asks the commands as well, and both must say the same
  --processes N     so many workflows at a time (2)
  --keep FOLDER     leave the folder of each workflow there
  --verbose         each error with its files
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import kinds  # noqa: E402
import kinds_tools  # noqa: E402,F401
import known  # noqa: E402
import truth  # noqa: E402

# What an answer says of a pair, from the most to the least.
SURE, POSSIBLE, FORK, NOTHING = 'sure', 'possible', 'with --fork', 'nothing'
CLASSES = ('missed', 'read-false', 'sure-false', 'only-fork', 'only-possible', 'possible-false', 'sure-open', 'why-missed', 'why-sure-false', 'down-missed', 'down-only')
SOURCES = 6


class Void(Exception):
    """A workflow that did not do what it was to do: the fault is not in an answer."""


class Unable(Exception):
    """This machine cannot do a step."""


class Workflow:
    """Steps in runs, in a folder of their own with a record of their own."""

    def __init__(self, top, options, steps, runs):
        self.top, self.stemma, self.steps, self.runs = top, options.stemma, steps, runs
        self.run_options = options.run_options.split()
        self.work = f'{top}/work'
        os.makedirs(self.work)
        self.names = [f's{n}' for n in range(SOURCES)]
        for name in self.names:
            with open(f'{self.work}/{name}', 'w') as out:
                out.write(''.join(f'marker-{name}- {n}\n' for n in range(10)))
        self.environment = {'PATH': '/usr/bin:/bin', 'HOME': top, 'STEMMA_HOME': f'{top}/record', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC'}
        self.truth = truth.Truth()
        for name in self.names:
            self.truth.file(name)
        self.library = options.library
        self.both = True  # with --library: ask the commands as well
        self.record = None

    def ask(self, *words, status=(0,)):
        done = subprocess.run([self.stemma, *words], cwd=self.work, env=self.environment, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode not in status:
            raise Void(f'stemma {" ".join(words)}: {done.returncode}: {done.stderr.decode(errors="replace")[:400]}')
        return done.stdout

    def go(self):
        """All runs. The truths are read behind them."""
        for run in self.runs:
            # File times have the grain of the kernel's tick: a run that starts within it could have written the files.
            time.sleep(0.03)
            script = '\n'.join(f'{s.command} || exit $?' for s in run)
            done = subprocess.run(['dash', '-c', 'exec "$@" 9>>../truths', 'truths', self.stemma, 'run', '-q', *self.run_options, '--', 'dash', '-c', script],
                                  cwd=self.work, env=self.environment, capture_output=True, stdin=subprocess.DEVNULL)
            if done.returncode == 77:
                raise Unable(done.stderr.decode(errors='replace'))
            if done.returncode:
                raise Void(f'status {done.returncode}: {done.stderr.decode(errors="replace")[:400]}')
            for command in (c for s in run for c in s.outside):
                time.sleep(0.03)
                subprocess.run(['dash', '-c', command], cwd=self.work, env=self.environment, check=True)
        self.look_at_reads()
        self.learn()

    def look_at_reads(self):
        """Each read that counts is of a version: what the graph is made of is held against that, by a tool that is given."""
        tool = os.environ.get('ORACLE_GRAPHDUMP')
        logs = [os.path.join(folder, name) for folder, _, names in os.walk(f'{self.top}/record') for name in names if name.endswith('.stl')]
        if tool:
            done = subprocess.run([tool, '--memory', *logs], capture_output=True)
            if done.returncode:
                raise Void(f'stemma-graphdump: {done.stderr.decode(errors="replace")[:400]}')

    def learn(self):
        said = collections.defaultdict(list)
        with open(f'{self.top}/truths') as lines:
            for line in lines:
                step, process, verb, *words = line.split()
                said[int(step)].append((process, verb, words))
        for step in self.steps:
            for line in said[step.number]:
                self.truth.said(*line)
            for output, sure, maybe, options in step.declared:
                self.truth.declared(output, sure, maybe, **options)
        self.look_at_bytes()

    def look_at_bytes(self):
        """The truths themselves are held against the bytes: where a file's words are, that file went in."""
        for step in self.steps:
            for name in step.makes:
                try:
                    with open(f'{self.work}/{name}', 'rb') as content:
                        data = content.read()
                except FileNotFoundError:
                    raise Void(f'step {step.kind} has not made {name}') from None
                found = {source for source in self.names if f'marker-{source}-'.encode() in data}
                file = self.truth.names[name]
                if not found <= file.sure | file.open:
                    raise Void(f'step {step.kind}: {name} holds words of {found - file.sure - file.open}, which no truth tells')

    def name_of(self, entity):
        """The name of a file of the workflow by which the truth knows it; None: another file."""
        path = entity.get('path') or ''
        if not path.startswith(self.work + '/'):
            return None
        name = path[len(self.work) + 1:]
        return self.truth.names[name].name if name in self.truth.names else name

    def lineage(self, path, *options):
        """What lineage says of a file, with these options of the command."""
        names = {'--certain': 'certain', '--fork': 'forks', '--down': 'down'}
        return self.asked(['lineage', '--json', *options, path], lambda: self.record.lineage(path, **{names[o]: True for o in options}),
                          lambda answer: answer or {'entities': [], 'executions': []})

    def why(self, path):
        """The inputs among the files of the workflow that why names: (name, certainty)."""
        return self.asked(['why', '--json', path], lambda: {'answers': [self.record.why(path)]}, lambda answer: sorted(
            (self.name_of(entity), entity['certainty']) for one in (answer or {'answers': []})['answers'] for entity in one['inputs']
            if self.name_of(entity)))

    def asked(self, words, of_library, taken):
        """What is taken of the answer of the command; with --library of that of the library, and the command must say the same where
        both are asked."""
        answer = None
        if self.library:
            self.record = self.record or self.library.Record(self.environment['STEMMA_HOME'])
            try:
                answer = taken(of_library())
            except self.library.NotRecorded:
                answer = taken(None)
        if self.both:
            said = taken(json.loads(self.ask(*words, status=(0, 1)) or 'null'))
            if answer is not None and said != answer:
                raise Void(f'stemma {" ".join(words)} says something else than libstemma')
            answer = said
        return answer

    def answers(self, name):
        """What is said of each file of the workflow: by lineage, and by why where it is an input there."""
        path = f'{self.work}/{name}'
        result = {}
        for word, options in ((POSSIBLE, []), (SURE, ['--certain']), (FORK, ['--fork'])):
            if word == FORK and self.truth.names[name].sure <= result.keys():
                break  # it says no less than the others, and they say all
            graph = self.lineage(path, *options)
            if 'root' not in graph:
                raise Void(f'nothing is recorded of {name}')
            self.roots[name] = graph['root']
            for entity in graph['entities']:
                if word != FORK:
                    result[self.name_of(entity)] = word
                else:
                    result.setdefault(self.name_of(entity), word)
            if word == POSSIBLE:
                self.gaps.update(word for x in graph['executions'] for word in x['completeness'] if word != 'no_bytes')
        return result, {name: SURE if certainty == 'must' else POSSIBLE for name, certainty in self.why(path)}

    def compare(self, report):
        self.gaps = collections.Counter()
        self.roots, self.strict = {}, {}
        outputs = [(step, name) for step in self.steps for name in step.makes]
        seen = {name: self.answers(name) for _, name in outputs}
        stable = sorted({self.truth.names[name].name for name in self.names + [name for _, name in outputs]})
        wrong = collections.defaultdict(set)  # (class, output): sources
        for step, name in outputs:
            thing = self.truth.names[name]
            for source in stable:
                if source == thing.name:
                    continue
                report.true += source in thing.sure
                for what in judge(thing, source, *seen[name]):
                    wrong[what, name].add(source)
                    if what == 'sure-false' and source in self.read_for_sure(name):
                        wrong['read-false', name].add(source)
        self.look_down(outputs, seen, wrong)
        for step, name in outputs:
            for what in CLASSES:
                for source in sorted(wrong[what, name]):
                    if self.follows(step, what, name, source, wrong, seen):
                        report.followed[what] += 1
                    else:
                        report.add(what, step, name, source)
        report.gaps.update(self.gaps)

    def read_for_sure(self, name):
        """The files that lineage --certain=read names."""
        if name not in self.strict:
            graph = json.loads(self.ask('lineage', '--json', '--certain=read', f'{self.work}/{name}'))
            self.strict[name] = {self.name_of(entity) for entity in graph['entities']}
        return self.strict[name]

    def look_down(self, outputs, seen, wrong):
        """What came from a file is what says that it came from there."""
        for source in self.names:
            if not any(source in step.uses for step in self.steps):
                continue
            graph = self.lineage(f'{self.work}/{source}', '--down')
            found = {entity['id'] for entity in graph['entities']}
            for _, name in outputs:
                up = seen[name][0].get(source) in (SURE, POSSIBLE)
                if up != (self.roots[name] in found):
                    wrong['down-missed' if up else 'down-only', name].add(source)

    def follows(self, step, what, name, source, wrong, seen):
        """Whether an error follows from one that is told of another pair: of a file between the two, which the answer names (or should)."""
        # What is wrongly sure may be open here by another way, and false there.
        alike = ('sure-open', 'sure-false') if what in ('sure-open', 'sure-false') else (what,)
        for between in step.uses:
            if between == source or between not in seen[name][0]:
                continue
            if any(source in wrong[w, between] for w in alike):
                return True
            if source not in step.uses and any(between in wrong[w, name] for w in alike) and (between not in seen or source in seen[between][0]):
                return True
        return False


def judge(thing, source, lineage, why):
    """The classes of what is said of one pair: an output, and a file that may have gone in."""
    said = lineage.get(source, NOTHING)
    true, unknown = source in thing.sure, source in thing.open and source not in thing.sure
    if true:
        if said != SURE:
            yield {POSSIBLE: 'only-possible', FORK: 'only-fork', NOTHING: 'missed'}[said]
    elif said == SURE:
        yield 'sure-open' if unknown else 'sure-false'
    elif said == POSSIBLE and not unknown:
        yield 'possible-false'
    if source in thing.direct and len(thing.writers) < 2 and source not in why:
        yield 'why-missed'
    if not true and not unknown and why.get(source) == SURE and said != SURE:
        yield 'why-sure-false'


class Report:
    """Counts by class and kind. Of one workflow, and of several."""

    def __init__(self):
        self.true = self.workflows = self.steps = 0
        self.counts = collections.Counter()
        self.most = collections.Counter()  # in one workflow
        self.followed = collections.Counter()
        self.gaps = collections.Counter()
        self.made = collections.Counter()
        self.void = []
        self.unable = None  # why this machine cannot do it
        self.skipped = []
        self.errors = []  # (class, kind, output, source)

    def add(self, what, step, name, source):
        self.counts[what, step.kind] += 1
        self.errors.append((what, step.kind, name, source))

    def take(self, other):
        self.true += other.true
        self.workflows += other.workflows
        self.steps += other.steps
        for mine, its in ((self.counts, other.counts), (self.followed, other.followed), (self.gaps, other.gaps), (self.made, other.made)):
            mine.update(its)
        for pair, count in other.counts.items():
            self.most[pair] = max(self.most[pair], count)
        self.void += other.void
        self.skipped += [other.unable] if other.unable is not None else []

    def print(self):
        classes = [c for c in CLASSES if any(k[0] == c for k in self.counts)]
        print(f'# {self.workflows} workflows, {self.steps} steps, {self.true} true pairs')
        print(f'# {"kind":36} {"made":>5} ' + ' '.join(f'{c:>14}' for c in classes))
        for kind in kinds.KINDS:
            if any((c, kind) in self.counts for c in classes):
                print(f'# {kind:36} {self.made[kind]:5} ' + ' '.join(f'{self.counts[c, kind] or "-":>14}' for c in classes))
        print(f'# {"all":36} {self.steps:5} ' + ' '.join(f'{sum(n for (k, _), n in self.counts.items() if k == c):14}' for c in classes))
        print(f'# {"and following from these":36} {"":5} ' + ' '.join(f'{self.followed[c]:14}' for c in classes))
        print('# gaps: ' + (', '.join(f'{name} {count}' for name, count in sorted(self.gaps.items())) or 'none'))
        for why in self.skipped:
            print(f'# not done: this machine cannot do a step. {why}')
        for line in self.void:
            print('# void: ' + line.replace('\n', ' '))


def steps_alone(kind, variant):
    """A step of one kind alone, and a run that reads what it made."""
    step = make_step(1, kind, [f's{n}' for n in range(SOURCES)], random.Random(f'{kind} {variant}'))
    reader = kinds.Step(9, 'reader')
    reader.command = f'cat {" ".join(step.makes)} >/dev/null'
    steps = [step] + ([step.then] if step.then else [])
    return steps, [[s] for s in steps] + [[reader]]


def make_step(number, kind, pool, chance):
    step = kinds.Step(number, kind)
    kinds.KINDS[kind](kinds.Maker(step, pool, chance, ACTOR))
    return step


def steps_of_seed(seed):
    """Steps that take what was there and what earlier ones made, in one to three runs."""
    chance = random.Random(seed)
    pool, steps = [f's{n}' for n in range(SOURCES)], []
    for number in range(1, chance.randint(4, 10) + 1):
        step = make_step(number, chance.choice([k for k in kinds.KINDS if k not in kinds.ALONE]), pool, chance)
        pool.extend(name for name in step.makes if name not in step.last)
        steps.append(step)
    cuts = sorted(chance.sample(range(1, len(steps)), chance.randint(0, 2)))
    return steps, [steps[a:b] for a, b in zip([0, *cuts], [*cuts, len(steps)])]


def work(options, name, steps, runs):
    """The report of one workflow."""
    report = Report()
    top = f'{options.keep}/{name}' if options.keep else tempfile.mkdtemp(prefix='oracle.')
    try:
        workflow = Workflow(top, options, steps, runs)
        workflow.both = not options.library or random.Random(name).randrange(16) == 0
        workflow.go()
        workflow.compare(report)
        report.workflows, report.steps = 1, len(steps)
        report.made.update(step.kind for step in steps)
    except Unable as unable:
        report.unable = str(unable)
    except Void as void:
        report.void.append(f'{name}: {void}')
    finally:
        if not options.keep:
            shutil.rmtree(top)
    if options.verbose:
        for what, kind, output, source in report.errors:
            command = next(step.command for step in steps if output in step.makes).replace('\n', ' ')
            print(f'# {name}: {what}: {kind}: {output} from {source}: {command}', flush=True)
    return report


def work_all(options, workflows):
    """The report of all: (name, steps, runs) each; so many at a time."""
    report = Report()
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        for one in pool.map(lambda w: work(options, *w), workflows):
            report.take(one)
    return report


def shrink(options, seed, what, kind):
    """The fewest steps, in the runs that they were in, that still have the error."""
    steps, runs = steps_of_seed(seed)

    def has_it(some):
        few = [[s for s in run if s in some] for run in runs]
        report = work(options, f'{seed}-{len(some)}', some, [run for run in few if run])
        return not report.void and (what, kind) in report.counts

    if not has_it(steps):
        print(f'no {what} of {kind} in {seed}')
        return 1
    smaller = True
    while smaller:
        smaller = False
        for step in reversed(steps):
            fewer = [s for s in steps if s is not step]
            if fewer and has_it(fewer):
                steps, smaller = fewer, True
                break
    for step in steps:
        run = next(n for n, r in enumerate(runs) if step in r)
        print(f'run {run}, step {step.number}, {step.kind}: {step.command}')
    return 0


def verdict(options, report):
    """TAP: whether there is an error that is not listed."""
    each = options.what == 'each'
    found = known.unlisted(options.known, report.most, known.HARD + known.SOFT) if each else [
        (*pair, count, 0) for pair, count in sorted(report.counts.items())
        if pair[0] in known.HARD and pair not in known.read(options.known)]
    soft = [e[1] for e in found if e[0] in known.SOFT]
    if soft:  # a busy machine can blur what was clear; not three times
        options.verbose = False
        for _ in range(2):
            again = work_all(options, ((f'{kind} again', *steps_alone(kind, 0)) for kind in soft))
            still = known.unlisted(options.known, again.most, known.SOFT)
            found = [e for e in found if e[0] in known.HARD or any(e[:2] == s[:2] for s in still)]
    for what, kind, count, listed in found:
        print(f'# {what} of {kind}: {count} in one workflow, {listed} are listed' if each else f'# {what} of {kind}: {count}, and it is not listed')
    if each and not options.words:
        for what, kind, count in known.unfound(options.known, report.most):
            print(f'# listed and not found any more: {what} {kind}: {count}, now {report.most[what, kind]} (oracle.py each --shorten)')
    good = not found and not report.void
    print(f'{"ok" if good else "not ok"} 1 - {"each kind of step" if each else "{1} workflows from seed {0}".format(*options.words)}: no error that is not listed\n1..1')
    return 0 if good else 1


def import_library(options):
    """The Python module of libstemma, with the library beside the program that is asked."""
    os.environ.setdefault('STEMMA_LIBRARY', f'{os.path.dirname(options.stemma)}/../lib/libstemma.so.0')
    sys.path.insert(0, f'{HERE}/../../bindings/python')
    from stemma import record  # pylint: disable=import-outside-toplevel
    options.library = record


def main():
    global ACTOR
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stemma', default=os.environ.get('STEMMA', f'{HERE}/../../build/src/cmd/stemma'))
    parser.add_argument('--actor', default=os.environ.get('ORACLE_ACTOR', f'{HERE}/../../build/tests/oracle/oracle-actor'))
    parser.add_argument('--known', default=f'{HERE}/known.txt')
    parser.add_argument('--variants', type=int, default=1)
    parser.add_argument('--campaign')
    parser.add_argument('--keep')
    parser.add_argument('--run-options', default='')
    parser.add_argument('--library', action='store_true')
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--shorten', action='store_true')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('what', choices=('each', 'seeds', 'shrink'))
    parser.add_argument('words', nargs='*')
    options = parser.parse_args()
    options.stemma, ACTOR = os.path.abspath(options.stemma), os.path.abspath(options.actor)
    if options.library:
        import_library(options)
    if options.what == 'shrink':
        return shrink(options, int(options.words[0]), *options.words[1:])
    if options.what == 'each':
        report = work_all(options, ((f'{kind} {variant}', *steps_alone(kind, variant)) for kind in options.words or kinds.KINDS
                                    for variant in range(options.variants)))
        if options.shorten and not options.words:
            known.shorten(options.known, report.most)
    else:
        if options.campaign:
            options.words = [str(known.next_of_campaign(options.campaign)), *options.words[-1:]]
        first, count = map(int, options.words)
        report = work_all(options, ((str(seed), *steps_of_seed(seed)) for seed in range(first, first + count)))
        if options.campaign:
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            known.add_campaign(options.campaign, report, first, count, sum(u.ru_utime + u.ru_stime for u in used))
    report.print()
    return verdict(options, report)


if __name__ == '__main__':
    sys.exit(main())
