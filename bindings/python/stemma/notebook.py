"""stemma.notebook - the record in a notebook.

    %load_ext stemma
    %stemma why results/a.vcf          as a table
    %stemma lineage results/a.vcf      as a tree; -d: what came from it
    %stemma log                        the runs; also: find EXPRESSION, sparql QUERY
    %stemma diff @~1 @                 any other command of stemma, as it prints
    %stemma cells                      from now on each cell is an activity of the run; %stemma cells off

    %%stemma clean the data            this cell is an activity of that name

Activities are recorded if the notebook runs under stemma run (`stemma run -- jupyter ...`); else they cost nothing.
"""

import itertools
import os
import shlex
import subprocess

from . import activity, present
from .record import Record, RecordError

_cells = []  # activity of the cell that runs
_numbers = itertools.count(1)
_shells = []  # the shell whose cells are followed


def _lineage(record, words):
    down = [word for word in words if word in ('-d', '--down')]
    certain = [word for word in words if word == '--certain']
    files = [word for word in words if not word.startswith('-')]
    if len(files) != 1 or len(down) + len(certain) + len(files) != len(words):
        return None  # other options: as the command prints it
    return record.lineage(files[0], down=bool(down), certain=bool(certain))


def _answer(command, words):
    """What stemma.record answers, or None where the command is to print it itself."""
    with Record() as record:
        if command == 'why' and len(words) == 1 and not words[0].startswith('-'):
            return record.why(words[0])
        if command == 'lineage':
            return _lineage(record, words)
        if command == 'log' and not words:
            return record.runs(count=50)
        if command in ('find', 'sparql') and words and not words[0].startswith('-'):
            return getattr(record, command)(' '.join(words))
    return None


def _cell_number(info):
    """As the notebook shows it, [3]; cells that leave no history have a count of their own."""
    if _shells and getattr(info, 'store_history', False):
        return _shells[-1].execution_count
    return next(_numbers)


def _begin_cell(info=None, *_):
    begun = activity(f'cell {_cell_number(info)}')
    begun.__enter__()
    _cells.append(begun)


def _end_cell(*_):
    if _cells:
        _cells.pop().__exit__(None, None, None)


def _follow_cells(shell, on):
    _shells[:] = [shell] if on else []
    for name, function in (('pre_run_cell', _begin_cell), ('post_run_cell', _end_cell)):
        try:
            shell.events.unregister(name, function)
        except ValueError:
            pass
        if on:
            shell.events.register(name, function)
    if on and not present():
        print('nobody is recording: start the notebook by stemma run')


def load(shell):
    """Registers the magics with an IPython shell."""
    def line_magic(line):
        words = shlex.split(line)
        if not words:
            print(__doc__)
            return None
        if words[0] == 'cells':
            return _follow_cells(shell, words[1:] != ['off'])
        try:
            # The text of a query or an expression is as it stands, not as a shell would read it.
            raw = line.split(None, 1)[1:] if words[0] in ('sparql', 'find') else words[1:]
            answer = _answer(words[0], raw)
        except RecordError as error:
            print(error, f'\nhint: {error.hint}' if error.hint else '', sep='')
            return None
        if answer is not None:
            return answer
        done = subprocess.run([os.environ.get('STEMMA_COMMAND', 'stemma'), *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(done.stdout.decode(errors='replace'), end='')
        return None

    def cell_magic(line, cell):
        with activity(line.strip() or 'cell'):
            shell.run_cell(cell)

    shell.register_magic_function(line_magic, 'line', 'stemma')
    shell.register_magic_function(cell_magic, 'cell', 'stemma')
