#!/usr/bin/env python3
"""Runs the examples of a page of the documentation and compares what they print with what the page shows.

    page.py STEMMA FOLDER PAGE...          TAP: one test for each command; FOLDER is made and removed
    page.py --write STEMMA FOLDER PAGE...  puts the real output into the pages, where it differs

All commands of a page run in one shell (bash), one after the other, in an empty folder. HOME is an empty folder, too. The page is
Markdown; comments steer it, each on a line of its own directly before the block:

    ```console            a line with "$ " is a command, one with "> " continues it, the lines below are its output
    <!-- file: NAME -->   the block below is the content of that file, which is written there
    <!-- not run: WHY --> the console block below is shown only; the test reports it as skipped, with the reason
    <!-- needs: A B -->   (anywhere) without these programs the rest of the page is skipped
    <!-- needs command: COMMAND -->   the same where this command fails

What varies from run to run does not count: ids, times, durations, numbers of processes, sizes in KiB or more, user@host, how
many system files, absent paths and possible edges there are, and how many spaces. In the output of a page, "…" stands for any
text in a line, and a line "…" for any number of lines.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

LIMIT_S = 300 # of a page, on a busy machine
MASKS = [
    (re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?'), '<time>'),
    (re.compile(r'\b[0-9A-HJKMNP-TV-Z]{26}\b'), '<run>'),
    (re.compile(r'\b[0-9A-HJKMNP-TV-Z]{8}\b'), '<run>'),
    (re.compile(r'\b[fvx][0-9a-f]{8,24}\b'), '<id>'),
    (re.compile(r'\b[\w][\w.-]*@[A-Za-z][\w.-]*'), '<user>'),
    (re.compile(r'\bby [\w-]+ on [\w.-]+'), 'by <user>'),
    (re.compile(r'\b\d+(\.\d+)? (us|ms|s)\b'), '<duration>'),
    (re.compile(r'\b\d+:\d\d(:\d\d)?\b'), '<duration>'),
    (re.compile(r'\b\d+(\.\d+)? [KMGT]iB\b'), '<size>'),
    (re.compile(r'\b(pid|process) \d+'), r'\1 <number>'),
    (re.compile(r'\b\d+ (system file|absent path|possible edge)s?\b'), r'<number> \1'),
]


def masked(line):
    for pattern, word in MASKS:
        line = pattern.sub(word, line)
    return ' '.join(line.split())


def line_matches(shown, real):
    parts = [re.escape(part) for part in masked(shown).split('…')]
    return re.fullmatch('.*'.join(parts), masked(real)) is not None


def matches(shown, real):
    """Lists of lines. A line "…" stands for any number of lines."""
    if not shown:
        return not real
    if shown[0].strip() == '…':
        return any(matches(shown[1:], real[k:]) for k in range(len(real) + 1))
    return bool(real) and line_matches(shown[0], real[0]) and matches(shown[1:], real[1:])


class Step:
    """A command (text), a file (name, text) or a block that is not run (why)."""

    def __init__(self, kind, line, text, name='', output=None, span=None):
        self.kind, self.line, self.text, self.name = kind, line, text, name
        self.output, self.span = output or [], span
        self.real = None


def commands_of(block, at):
    steps = []
    for k, line in enumerate(block):
        if line.startswith('$ '):
            steps.append(Step('command', at + k, line[2:], span=[at + k + 1, at + k + 1]))
        elif line.startswith('> ') and steps and not steps[-1].output:
            steps[-1].text += '\n' + line[2:]
            steps[-1].span = [at + k + 1, at + k + 1]
        elif steps:
            steps[-1].output.append(line)
            steps[-1].span[1] = at + k + 1
        else:
            sys.exit(f'line {at + k + 1}: output without a command')
    for s in steps: # a line without text between two commands is none of the output
        while s.output and not s.output[-1].strip():
            s.output.pop()
            s.span[1] -= 1
    return steps


def steps_of(lines):
    steps, k, before = [], 0, ''
    while k < len(lines):
        line = lines[k]
        if m := re.fullmatch(r'<!-- needs(?P<command> command)?: (?P<text>.*) -->', line):
            steps.append(Step('command needed' if m['command'] else 'needs', k, m['text']))
        if line.startswith('```'):
            end = next(j for j in range(k + 1, len(lines)) if lines[j] == '```')
            block = lines[k + 1:end]
            if m := re.fullmatch(r'<!-- file: (.*) -->', before):
                steps.append(Step('file', k, '\n'.join(block) + '\n', m[1]))
            elif m := re.fullmatch(r'<!-- not run: (.*) -->', before):
                steps.append(Step('shown', k, m[1]))
            elif line == '```console':
                steps += commands_of(block, k + 1)
            k = end
        before = lines[k]
        k += 1
    return steps


def environment_of(stemma, home):
    """What a user has: the programs that are tested, no settings. Open MPI starts several ranks on a machine with few cores."""
    build = os.path.dirname(os.path.dirname(os.path.realpath(stemma)))
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    e = {n: v for n, v in os.environ.items() if not n.startswith(('STEMMA', 'XDG_', 'PYTHON', 'SLURM'))}
    e.update(HOME=home, PATH=':'.join((build + '/cmd', build + '/daemon', '/usr/local/bin:/usr/bin:/bin', os.environ['PATH'])),
             TZ='UTC', LC_ALL='C.UTF-8', NO_COLOR='1', TERM='dumb', PYTHONPATH=here + '/bindings/python', PYTHONDONTWRITEBYTECODE='1',
             STEMMA_SYSTEM=here + '/bindings', STEMMA_LIBRARY=build + '/lib/libstemma.so.0',
             OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_rmaps_base_oversubscribe='1',
             OMPI_MCA_btl='self,vader', OMPI_MCA_plm='isolated', OMPI_MCA_btl_vader_single_copy_mechanism='none')
    return e


def first_lack(steps, environment):
    """Cuts the steps at the first need that this machine does not meet."""
    for k, s in enumerate(steps):
        if s.kind == 'needs':
            s.name = ' and '.join(p for p in s.text.split() if not shutil.which(p, path=environment['PATH']))
        elif s.kind == 'command needed' and subprocess.run(['bash', '-c', s.text], env=environment, stdin=subprocess.DEVNULL,
                                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            s.name = 'that this succeeds: ' + s.text
        if s.name and s.kind != 'file':
            return steps[:k + 1]
    return steps


def run(steps, environment, folder):
    home, work = os.path.join(folder, 'home'), os.path.join(folder, 'home', 'work')
    os.makedirs(work)
    end = f'@@@{os.getpid()}@@@'
    script = []
    for k, s in enumerate(steps):
        if s.kind == 'file':
            script.append(f"mkdir -p \"$(dirname '{s.name}')\"; cat >'{s.name}' <<'{end}'\n{s.text}{end}\nchmod +x '{s.name}'\nsleep 0.05")
        elif s.kind == 'command':
            script.append(f"{{ {s.text}\n}} 2>&1 </dev/null\nprintf '\\n%s %d %d\\n' {end} {k} $?")
    with open(os.path.join(folder, 'script'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(script) + '\n')
    # What a page starts in the background and forgets ends with it, and so does a page that waits for ever.
    shell = subprocess.Popen(['bash', f.name], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        got = shell.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        got = shell.communicate()[0]
    got = got.decode('utf-8', 'replace')
    got = got.replace(work, '/home/me/work').replace(home, '/home/me')
    rest = []
    for line in got.split('\n'):
        if m := re.fullmatch(re.escape(end) + r' (\d+) (\d+)', line):
            if rest and not rest[-1]:
                rest.pop() # of the mark
            s = steps[int(m[1])]
            s.real, s.status = rest, int(m[2])
            while s.real and not s.real[-1].strip():
                s.real.pop()
            rest = []
        else:
            rest.append(line)
    return rest


def report(page, steps, number):
    """The lines of TAP; how many there are now, and how many tests failed."""
    bad, why = 0, ''
    for s in steps:
        why = s.name if s.kind in ('needs', 'command needed') else why
        if s.kind in ('needs', 'command needed', 'file') and not why:
            continue
        number += 1
        if why:
            print(f'ok {number} - {page}: the rest of the page # SKIP it needs {why}')
            break
        if s.kind == 'shown':
            print(f'ok {number} - {page}:{s.line + 1} # SKIP {s.text}')
            continue
        good = s.real is not None and matches(s.output, s.real)
        bad += not good
        print(f'{"" if good else "not "}ok {number} - {page}:{s.line + 1}: {s.text.splitlines()[0]}')
        if not good:
            for title, lines in (('shown', s.output), ('real', s.real if s.real is not None else ['(not reached)'])):
                for line in lines[:40]:
                    print(f'# {title}: {line}')
    return number, bad


def write_page(page, lines, steps):
    for s in reversed([s for s in steps if s.kind == 'command' and s.real is not None]):
        if not matches(s.output, s.real):
            lines[s.span[0]:s.span[1]] = [re.sub(r'\b[a-z_][\w.-]*@[A-Za-z][\w.-]*', 'me@node1', x.rstrip()) for x in s.real]
    with open(page, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines))


def main():
    write = sys.argv[1] == '--write'
    stemma, folder, *pages = sys.argv[1 + write:]
    number = bad = 0
    for page in pages:
        os.makedirs(folder)
        where = os.path.realpath(folder)
        with open(page, encoding='utf-8') as f:
            lines = f.read().split('\n')
        environment = environment_of(stemma, os.path.join(where, 'home'))
        steps = first_lack(steps_of(lines), environment)
        rest = run(steps, environment, where)
        if write:
            write_page(page, lines, steps)
            print('\n'.join(rest), file=sys.stderr)
        else:
            number, failed = report('/'.join(page.split('/')[-2:]), steps, number)
            bad += failed
        shutil.rmtree(where, ignore_errors=True)
    if not write:
        print(f'1..{number}')
    return bad != 0


sys.exit(main())
