"""stemma.record - ask a record where files came from, by libstemma.

    from stemma.record import Record

    with Record() as record:
        answer = record.why('results/a.vcf')
        for maker in answer['makers']:
            print(maker['argv'])

Answers are those of the commands' --json, as dicts and lists; the manual pages name the fields, and stemma.answers says how
they become data frames and graphs. Needs no package but Python 3.7, and the library libstemma (STEMMA_LIBRARY names its file where the dynamic linker does not find it). A Record is used by one
thread at a time, and only in the process that opened it.
"""

import ctypes
import json
import os
import subprocess
import tempfile

from ._found import candidates
from .answers import Lineage, Rows, Why

__all__ = ['Record', 'RecordError', 'NotRecorded', 'READ_ONLY', 'IN_MEMORY']

READ_ONLY, IN_MEMORY = 1, 2
_NOTHING = 1
_ALL, _CERTAIN, _DOWN, _FORKS, _OBJECTS, _TIMES, _SOURCES, _STAGES = 1, 2, 4, 8, 16, 32, 64, 256
_KINDS = ('run', 'file', 'execution')
_DISK = ('same', 'changed', 'replaced', 'gone', 'file-written', 'deleted')


class RecordError(Exception):
    """The record could not be asked; hint says what to do, if anything."""

    def __init__(self, text, hint='', code=0):
        super().__init__(text)
        self.hint = hint
        self.code = code


class NotRecorded(RecordError, LookupError):
    """The record has no answer to that."""


class _Error(ctypes.Structure):
    _fields_ = [('text', ctypes.c_char * 512), ('hint', ctypes.c_char * 256)]


class _Target(ctypes.Structure):
    _fields_ = [('kind', ctypes.c_int), ('id', ctypes.c_char * 40), ('version', ctypes.c_uint64), ('disk', ctypes.c_int)]


def _load():
    last = None
    for name in candidates('STEMMA_LIBRARY', 'libstemma.so.0'):
        try:
            library = ctypes.CDLL(name)
            break
        except OSError as error:
            last = error
    else:
        raise RecordError(f'libstemma cannot be loaded: {last}', 'install it, or set STEMMA_LIBRARY to its file')
    answer = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Error)]
    text, flags, record = ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p
    for function, arguments in (
            ('open', [text, flags] + answer), ('update', [record, answer[1]]),
            ('resolve', [record, text, ctypes.POINTER(_Target), answer[1]]), ('why', [record, text, flags] + answer),
            ('lineage', [record, text, flags, ctypes.c_uint] + answer),
            ('runs', [record, flags, ctypes.c_uint64] + answer), ('find', [record, text, flags] + answer),
            ('trust', [record, ctypes.POINTER(text), text, text] + answer),
            ('claim', [record, ctypes.POINTER(text)] + answer), ('verify', [record, text] + answer),
            ('diff_trace', [record, text, text, flags] + answer),
            ('show', [record, text, flags] + answer),
            ('stat', [record, text, flags, ctypes.c_uint64] + answer),
            ('stat_at', [record, text, flags, ctypes.c_int64] + answer),
            ('diff', [record, text, text] + answer), ('summaries', [record, text] + answer)):
        one = getattr(library, 'stemma_' + function)
        one.argtypes, one.restype = arguments, ctypes.c_int
    library.stemma_close.argtypes, library.stemma_close.restype = [record], None
    library.stemma_free.argtypes, library.stemma_free.restype = [ctypes.c_void_p], None
    return library


def _check(code, error):
    if code:
        kind = NotRecorded if code == _NOTHING else RecordError
        raise kind(error.text.decode('utf-8', 'replace'), error.hint.decode('utf-8', 'replace'), code)


def _words(words):
    """A list for C, which NULL ends; NULL for none."""
    return (ctypes.c_char_p * (len(words) + 1))(*(os.fsencode(word) for word in words), None) if words else None


_XSD = 'http://www.w3.org/2001/XMLSchema#'


def _term(term):
    """A term of a SPARQL result as a value of Python's; what is not a number or truth value stays text."""
    kind, text = term.get('datatype', ''), term['value']
    try:
        if kind in (_XSD + 'integer', _XSD + 'long', _XSD + 'int', _XSD + 'nonNegativeInteger'):
            return int(text)
        if kind in (_XSD + 'decimal', _XSD + 'double', _XSD + 'float'):
            return float(text)
        if kind == _XSD + 'boolean':
            return {'true': True, '1': True, 'false': False, '0': False}[text]
    except (ValueError, KeyError):
        pass
    return text


class Record:
    """An open record: that of `store` (a folder), or where the user's settings say. Indexes what is new unless
    READ_ONLY."""

    def __init__(self, store=None, flags=0):
        self._library = _load()
        self._store, self._flags = store, flags
        self._record = ctypes.c_void_p()
        error = _Error()
        _check(self._library.stemma_open(None if store is None else os.fsencode(store), flags,
                                         ctypes.byref(self._record), ctypes.byref(error)), error)

    def close(self):
        """Closes the record; nothing can be asked of it then."""
        if self._record:
            self._library.stemma_close(self._record)
            self._record = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __del__(self):
        if getattr(self, '_record', None):
            self.close()

    def _ask(self, function, *arguments):
        if not self._record:
            raise RecordError('the record is closed')
        text, error = ctypes.c_void_p(), _Error()
        _check(getattr(self._library, 'stemma_' + function)(self._record, *arguments, ctypes.byref(text),
                                                            ctypes.byref(error)), error)
        try:
            return json.loads(ctypes.string_at(text).decode())
        finally:
            self._library.stemma_free(text)

    def update(self):
        """Indexes what was recorded since the record was opened."""
        if not self._record:
            raise RecordError('the record is closed')
        error = _Error()
        _check(self._library.stemma_update(self._record, ctypes.byref(error)), error)

    def resolve(self, name):
        """What a word means: kind (run, file, execution), id, and of a file version and disk."""
        if not self._record:
            raise RecordError('the record is closed')
        target, error = _Target(), _Error()
        _check(self._library.stemma_resolve(self._record, os.fsencode(name), ctypes.byref(target), ctypes.byref(error)),
               error)
        answer = {'kind': _KINDS[target.kind], 'id': target.id.decode()}
        if target.kind == 1:
            answer.update(version=target.version, disk=_DISK[target.disk])
        return answer

    def why(self, file):
        """Who made the file, from what (stemma-why(1))."""
        return Why(self._ask('why', os.fsencode(file), _ALL)['answers'][0])

    def lineage(self, file, down=False, certain=False, all=False, forks=False, depth=0, stages=False):  # pylint: disable=redefined-builtin
        """All that the file came from, or with down what came from it (stemma-lineage(1)); with stages by rules, tasks,
        targets and notebooks."""
        flags = _DOWN * bool(down) | _CERTAIN * bool(certain) | _ALL * bool(all) | _FORKS * bool(forks)
        flags |= _STAGES * bool(stages)
        return Lineage(self._ask('lineage', os.fsencode(file), flags, depth))

    def runs(self, count=0, all=False):  # pylint: disable=redefined-builtin
        """The runs, newest first, at most count of them (0: all) (stemma-log(1))."""
        return Rows(self._ask('runs', _ALL * bool(all), count)['runs'])

    def find(self, expression, all=False):  # pylint: disable=redefined-builtin
        """The files, runs or executions that an expression describes (stemma-find(1))."""
        answer = self._ask('find', os.fsencode(expression), _ALL * bool(all))
        return Rows(answer.get('entities') or answer.get('runs') or answer.get('executions') or [])

    def diff(self, a='@~1', b='@'):
        """What differs between two runs, executions or versions (stemma-diff(1))."""
        return self._ask('diff', os.fsencode(a), os.fsencode(b))

    def diff_trace(self, a='@~1', b='@', all=False):  # pylint: disable=redefined-builtin
        """At which line programs took different ways (stemma diff --trace): of traces, folders of them, runs, executions;
        nothing is run again."""
        return self._ask('diff_trace', os.fsencode(a), os.fsencode(b), _ALL * bool(all))

    def show(self, target='@', all=False, sources=False):  # pylint: disable=redefined-builtin
        """All that is known of a run, file, execution or build (stemma-show(1)): a list, for a name can lead to several
        things. sources: of what was built, whether the sources are what they were."""
        return self._ask('show', os.fsencode(target), _ALL * bool(all) | _SOURCES * bool(sources))['things']

    def stat(self, target='@', count=0, all=False, objects=False, times=False):  # pylint: disable=redefined-builtin
        """What was read and written in a run, by an execution or of a file: counts, bytes, ns (stemma-stat(1)). At most
        count executions and files (0: all); all: also system files; objects: of HDF5 files; times: over time."""
        flags = _ALL * bool(all) | _OBJECTS * bool(objects) | _TIMES * bool(times)
        return self._ask('stat', os.fsencode(target), flags, count)

    def stat_at(self, target, at, all=False, objects=False):  # pylint: disable=redefined-builtin
        """Which of its calls were under way at a time in ns since 1970 (stemma stat --at): a list."""
        return self._ask('stat_at', os.fsencode(target), _ALL * bool(all) | _OBJECTS * bool(objects), at)['under_way']

    def trust(self, *runs, claim=None, tolerance=None):
        """What the record shows of runs, and how far a claim (a text, or what json.loads made of one) agrees with it
        (stemma-trust(1)). runs: words as '@', 'RUN..RUN', 'bench:ID'; none: those of the claim, else the last one."""
        text = claim if claim is None or isinstance(claim, (str, bytes)) else json.dumps(claim)
        return self._ask('trust', _words(runs), *(None if one is None else os.fsencode(one) for one in (text, tolerance)))

    def claim(self, *runs):
        """The claim that the record would agree with (stemma trust --report)."""
        return self._ask('claim', _words(runs))

    def verify(self, expect=None):
        """Is the chain of seals sound (stemma trust --verify)? expect: a hash that must be one of the chain's."""
        return self._ask('verify', None if expect is None else os.fsencode(expect))

    def summaries(self, run=None):
        """What the tasks of a run used, or (None) all summaries of the record."""
        return self._ask('summaries', None if run is None else os.fsencode(run))['summaries']

    def _command(self, name, *words, output=None):
        """Starts the stemma command (STEMMA_COMMAND names another one) on this record."""
        place = [] if self._store is None else ['--store', os.fspath(self._store)]
        return subprocess.run([os.environ.get('STEMMA_COMMAND', 'stemma'), name, *place, *words], stdout=output,
                              stderr=output, check=False)

    def run(self, command, options=()):
        """Runs a command and records it (stemma-run(1)); options are those of stemma run, as '--count'. What the command prints
        goes where this process prints. The run, as runs() has it, with what it used as `summary`; raises RecordError where
        stemma could not start it or record it. How the command ended is in the run's `exit`."""
        if isinstance(command, (str, bytes)):
            raise TypeError('a list of words is needed: a shell would be ["sh", "-c", ...]')
        with tempfile.TemporaryDirectory() as folder:
            summary = os.path.join(folder, 'summary.json')
            done = self._command('run', '--summary', summary, *options, '--', *command)
            try:
                with open(summary, encoding='utf-8') as text:
                    told = json.load(text)
            except (OSError, ValueError):
                raise RecordError(f'stemma run ended with {done.returncode}, and told nothing of the run') from None
        self.update()
        for run in self.runs(all=True):
            if run['id'] == told.get('run'):
                return {**run, 'summary': told}
        raise RecordError('the run is not in this record', 'is another folder set in $STEMMA_HOME?')

    def sparql(self, query):
        """Asks in SPARQL 1.1 (stemma-sparql(1)). Of SELECT the rows, each a dict without what is not bound, numbers and truth
        values as Python's; of ASK True or False; of CONSTRUCT and DESCRIBE Turtle, as text."""
        index = ['--no-index'] if self._flags & READ_ONLY else []
        done = self._command('sparql', *index, '--format', 'json', '--', query, output=subprocess.PIPE)
        if done.returncode and b'cannot be written as json' in done.stderr:
            done = self._command('sparql', *index, '--format', 'turtle', '--', query, output=subprocess.PIPE)
            if not done.returncode:
                return done.stdout.decode()
        if done.returncode:
            text = done.stderr.decode(errors='replace').strip()
            raise RecordError(text or f'stemma sparql ended with {done.returncode}', code=done.returncode)
        answer = json.loads(done.stdout)
        if 'boolean' in answer:
            return answer['boolean']
        return Rows({name: _term(term) for name, term in row.items()} for row in answer['results']['bindings'])
