"""corpus.py - what score.py and tests/diffpairs/pairs.py share: paragraphs of text as cases, running them, the ratchet, the test's lines."""
import argparse
import concurrent.futures
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120


class Void(Exception):
    """The case did not do what it was to do: the fault is not in an answer."""


class Case:
    """A paragraph: lines of a block, which begin with a tabulator, are attributes by the block's name; `fields` are all else, (word, text) each."""

    def __init__(self, name, where, blocks):
        self.name, self.where, self.fields = name, where, []
        for block in blocks:
            setattr(self, block, '')

    def texts(self, word):
        return [text for w, text in self.fields if w == word]

    def words(self, word):
        return ' '.join(self.texts(word)).split()


def cases(folder, first, blocks, words):
    """All cases of a folder's files, in the order of the files' names. `first` is the word that begins one."""
    found = []
    for path in sorted(glob.glob(f'{folder}/*.txt')):
        with open(path, encoding='utf-8') as text:
            found += cases_of(path, text.read().splitlines(), first, blocks, words)
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f'two have one name: {", ".join(sorted(twice))}')
    return found


def cases_of(path, lines, first, blocks, words):
    found, block = [], None
    for number, line in enumerate(lines, 1):
        if block and (line.startswith('\t') or not line):
            setattr(found[-1], block, getattr(found[-1], block) + line[1:] + '\n')
            continue
        block = None
        word, _, rest = line.partition(' ')
        if not line or line.startswith('#'):
            continue
        if word == first:
            found.append(Case(rest.strip(), path, blocks))
        elif found and word in blocks:
            block = word
        elif found and word in words:
            found[-1].fields.append((word, rest.strip()))
        else:
            sys.exit(f'{path}:{number}: what is this? {line}')
    return found


def lacks(case):
    """What this machine lacks for the case: `python:NAME` is a module of /usr/bin/python3, `file:PATTERN` a file, all else a command."""
    lacking = []
    for need in case.words('needs'):
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


class Folder:
    """Where a case runs: top/work, with a record, a home and a folder for temporary files of its own."""

    def __init__(self, stemma):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix='stemma-case.'))
        self.work = f'{self.top}/work'
        for name in ('work', 'tmp', 'bin'):
            os.mkdir(f'{self.top}/{name}')
        os.symlink(stemma, f'{self.top}/bin/stemma')
        self.environment = {
            'PATH': f'{self.top}/bin:/usr/bin:/bin', 'HOME': self.top, 'STEMMA_HOME': f'{self.top}/record', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC',
            'TMPDIR': f'{self.top}/tmp', 'MATERIAL': f'{HERE}/material.py', 'GIT_CONFIG_NOSYSTEM': '1', 'OMPI_ALLOW_RUN_AS_ROOT': '1',
            'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}

    def script(self, text):
        """A block of a case, by a shell. The pause is the grain of file times: a run that starts within it could have written what was there."""
        time.sleep(0.03)
        self.call(['bash', '-e', '-c', text])

    def call(self, words, status=(0,)):
        """What a program prints. It has a session of its own, so that none of its programs outlives a case that takes too long."""
        with subprocess.Popen([shutil.which(words[0], path=self.environment['PATH']), *words[1:]], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Void(f'{words[0]} took more than {SECONDS} s') from None
        if process.returncode not in status:
            raise Void(f'{" ".join(words)[:60]}...: status {process.returncode}: {(err or out).decode(errors="replace").strip()[-300:]}')
        return out.decode(errors='replace')

    def leave(self, kept):
        if kept:
            shutil.copytree(self.top, kept, symlinks=True)
        shutil.rmtree(self.top, ignore_errors=True)


class Result:
    """`state`: right, not, void or skip; `said`, `wanted` and `more` are lines for who reads. `data` is the caller's, for its sum."""

    def __init__(self, case, state, said, wanted='', more=(), data=None):
        self.case, self.state, self.said, self.wanted, self.more, self.data, self.seconds = case, state, said, wanted, more, data, 0.0


def judged(case, judge, options):
    """The result of judge(case, folder, options)."""
    lacking = lacks(case)
    if lacking:
        return Result(case, 'skip', f'no {", ".join(lacking)} here')
    began = time.time()
    folder = Folder(options.stemma)
    try:
        result = judge(case, folder, options)
    except Void as void:
        result = Result(case, 'void', str(void))
    finally:
        folder.leave(options.keep and f'{options.keep}/{case.name}')
    result.seconds = time.time() - began
    return result


def show(result, options):
    print(f'{result.state:5} {result.case.name:28} {result.seconds:5.1f} s' + (f'  {result.said}' if result.state in ('skip', 'void') else ''))
    if options.held:
        return
    if result.state == 'not':
        print(f'      said    {result.said}\n      wanted  {result.wanted}')
    for line in result.more:
        print(f'      {line}')


def show_tap(number, result, must):
    failed = result.state == 'void' or (must and result.state == 'not')
    print(f'{"not " if failed else ""}ok {number} - {result.case.name}' + (f' # SKIP {result.said}' if result.state == 'skip' else ''))
    if failed:
        print(f'# said   {result.said}\n# wanted {result.wanted}')
    elif result.state == 'not':
        print('# not right, as before')
    elif result.state == 'right' and not must:
        print(f'# right now: add {result.case.name} to the ratchet')
    return failed


def words_of(path):
    with open(path, encoding='utf-8') as text:
        return [line.strip() for line in text if line.strip() and not line.startswith('#')]


def arguments(what, more=()):
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument('names', nargs='*')
    for option in ('--held', '--list', '--tap', '--json'):
        parser.add_argument(option, action='store_true')
    for option in ('--slice', '--ratchet', '--keep', *more):
        parser.add_argument(option)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--stemma', default=os.environ.get('STEMMA') or os.path.join(HERE, '../../build/src/cmd/stemma'))
    options = parser.parse_args()
    options.stemma = os.path.realpath(options.stemma)
    return options


def main(options, everything, here, judge, total):
    """The cases that the options choose; total(results) is the last line. The status for the end."""
    held = words_of(f'{here}/held.txt')
    ratchet = words_of(options.ratchet) if options.ratchet else []
    unknown = [n for n in options.names + held + ratchet if n not in [c.name for c in everything]]
    if unknown:
        sys.exit(f'no case: {" ".join(unknown)}')
    chosen = [c for c in everything if (c.name in held) == options.held and (not options.names or c.name in options.names)]
    if options.slice:
        nth, of = map(int, options.slice.split('/'))
        chosen = chosen[nth - 1::of]
    if options.list:
        print('\n'.join(f'{case.name:28} {" ".join(case.words("needs"))}' for case in chosen))
        return 0
    failed, results = 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, result in enumerate(pool.map(lambda case: judged(case, judge, options), chosen), 1):
            results.append(result)
            must = result.case.name in ratchet
            if options.tap:
                failed += show_tap(number, result, must)
            else:
                show(result, options)
                failed += must and result.state == 'not'
            sys.stdout.flush()
    print(f'1..{len(results)}' if options.tap else total(results))
    return 1 if failed else 0
