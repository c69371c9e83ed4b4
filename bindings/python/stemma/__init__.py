"""stemma - say what only the program knows, and read the record.

    import stemma

    stemma.type("training")
    stemma.config("learning_rate", 0.01)
    for epoch in range(10):
        with stemma.activity("epoch"):
            stemma.metric("accuracy", train(), step=epoch)
    stemma.generated("model.npz")

Outside of `stemma run` each call returns at once; nothing is ever raised for want of a recorder. Needs no package but
Python 3.7, and the library libstemma-app, of which `stemma run` says in STEMMA_APP_LIBRARY where it is. Where it is not
found, `stemma run` says so once. Any thread may call; an activity is the thread's own. What a child of os.fork says is the
child's.

The readers, runs(), metrics(), configuration() and table(), ask the `stemma` command (STEMMA_COMMAND names another one)
and give a pandas.DataFrame where pandas is installed, else a list of dicts.
"""

import contextlib
import ctypes
import json
import os
import platform
import subprocess

from ._found import candidates

__all__ = ['present', 'run', 'type', 'config', 'configs', 'metric', 'activity', 'used', 'generated', 'tag', 'stamp',
           'stamp_beside', 'stamp_figures', 'runs', 'metrics', 'configuration', 'table']

_TYPE, _CONFIG, _METRIC, _BEGIN, _END, _USED, _GENERATED, _TAG = range(1, 9)
_NO_STEP = -2**63
_MOST = 2**63 - 1


def _load():
    """The library that says things, or None; and whether it is missing, and nobody was told so yet."""
    if 'STEMMA_APP' not in os.environ:
        return None, False
    for name in candidates('STEMMA_APP_LIBRARY', 'libstemma-app.so.1'):
        try:
            library = ctypes.CDLL(name)
            library.stemma_app_present.restype = ctypes.c_int
            library.stemma_app_run.restype = ctypes.c_char_p
            library.stemma_app_tool.argtypes = [ctypes.c_char_p]
            library.stemma_app_say.restype = ctypes.c_uint64
            library.stemma_app_say.argtypes = [
                ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                ctypes.c_size_t, ctypes.c_double, ctypes.c_int64, ctypes.c_uint64]
        except (OSError, AttributeError):
            continue
        if not library.stemma_app_present():
            return None, False
        library.stemma_app_tool(('python ' + platform.python_version()).encode())
        return library, False
    return None, True


_library, _unfound = _load()


def _on():
    """Is it to be said? The first word that cannot be leaves a mark, of which `stemma run` tells the user."""
    global _unfound  # pylint: disable=global-statement
    if _unfound:
        _unfound = False
        try:
            folder = os.environ['STEMMA_APP'].rpartition(':')[0]
            if not folder.startswith('/'):
                return False
            os.close(os.open(os.path.join(folder, 'no-library-python'), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400))
        except (OSError, KeyError, ValueError):
            pass  # another program's is there, or nobody is recording any more
    return _library is not None


def _bytes(value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
        if isinstance(value, bytes):
            return value
    try:
        return str(value).encode('utf-8', 'surrogateescape')
    except Exception:  # a __str__ that fails, lone surrogates: the program's affair, and no reason to stop it
        return ascii(value).encode()


def _say(kind, name=b'', value=b'', version=b'', number=0.0, step=_NO_STEP, activity_id=0):
    name, value, version = _bytes(name), _bytes(value), _bytes(version)
    return _library.stemma_app_say(kind, name, len(name), value, len(value), version, len(version), number, step,
                                   activity_id)


def present():
    """Is somebody recording?"""
    return _library is not None


def run():
    """The id of the run, or None."""
    return _library.stemma_app_run().decode() if _library else None


def type(name):  # pylint: disable=redefined-builtin
    """What kind of run this is."""
    if _on():
        _say(_TYPE, name)


def config(name, value, version=''):
    """A setting that the run depends on; the value is written as str() has it."""
    if _on():
        _say(_CONFIG, name, value, version)


def configs(settings, version='', prefix=''):
    """All settings of a mapping, or of a configparser.ConfigParser as SECTION.NAME; mappings in it as NAME.NAME."""
    if not _on():
        return
    for name, value in settings.items():
        if hasattr(value, 'items'):
            configs(value, version, f'{prefix}{name}.')
        else:
            _say(_CONFIG, f'{prefix}{name}', value, version)


def metric(name, value, step=None):
    """A figure that came out, at a step or (None) of the run as a whole."""
    if _on():
        step = _NO_STEP if step is None else max(_NO_STEP + 1, min(_MOST, int(step)))
        _say(_METRIC, name, number=float(value), step=step)


class activity(contextlib.ContextDecorator):
    """A part of the program's work: `with activity("epoch"):`, or `@activity("train")` before a function."""

    def __init__(self, name):
        self.name = name
        self.ids = []

    def _recreate_cm(self):  # a decorated function may call itself, and run in several threads
        return activity(self.name)

    def __enter__(self):
        self.ids.append(_say(_BEGIN, self.name) if _on() else 0)
        return self

    def __exit__(self, *exc):
        begun = self.ids.pop()
        if begun:
            _say(_END, activity_id=begun)
        return False


def used(name):
    """The program read what has this name."""
    if _on():
        _say(_USED, name)


def generated(name):
    """The program made what has this name."""
    if _on():
        _say(_GENERATED, name)


def tag(name, value=''):
    """A word for whoever looks for the run later."""
    if _on():
        _say(_TAG, name, value)


# ---- stamps: a file that was copied finds its history (doc/stamps.md)


def stamp(name):
    """A text to put into the file of that name, which the program saves now; '' where nobody records. It has the run's id and a number
    that is drawn for it: no path, user or command."""
    if not _on():
        return ''
    token = os.urandom(16).hex()
    tag('stamp:' + token, os.path.realpath(os.fspath(name)))
    return f'stemma-stamp:{run()}:{token}'


def stamp_beside(name):
    """Writes the stamp of the file into NAME.stemma, for formats that have no room for it, such as CSV."""
    text = stamp(name)
    if text:
        with open(os.fspath(name) + '.stemma', 'w', encoding='ascii') as beside:
            beside.write(text + '\n')


def stamp_figures():
    """From now on matplotlib's savefig stamps what it saves as PNG, PDF or SVG."""
    import functools  # pylint: disable=import-outside-toplevel
    from matplotlib.figure import Figure  # pylint: disable=import-outside-toplevel
    plain = Figure.savefig
    if getattr(plain, '_stemma_stamps', False):
        return

    @functools.wraps(plain)
    def savefig(self, fname, **words):
        key = None
        if isinstance(fname, (str, os.PathLike)):
            import matplotlib  # pylint: disable=import-outside-toplevel
            name = os.fspath(fname)
            kind = words.get('format') or os.path.splitext(name)[1][1:] or matplotlib.rcParams['savefig.format']
            name = name if os.path.splitext(name)[1] else f'{name}.{kind}'
            key = {'png': 'stemma', 'pdf': 'Keywords', 'svg': 'Keywords'}.get(str(kind).lower())
        text = stamp(name) if key else ''
        if text:
            metadata = dict(words.get('metadata') or {})
            had = metadata.get(key)
            had = ' '.join(map(str, had)) if isinstance(had, (list, tuple)) else had
            metadata[key] = f'{had} {text}' if had else text
            words['metadata'] = metadata
        return plain(self, fname, **words)

    savefig._stemma_stamps = True  # pylint: disable=protected-access
    Figure.savefig = savefig


# ---- in notebooks


def load_ipython_extension(shell):
    """%load_ext stemma: the magics %stemma and %%stemma (stemma.notebook)."""
    from . import notebook  # pylint: disable=import-outside-toplevel
    notebook.load(shell)


# ---- reading the record


def _ask(*words):
    """What `stemma` says, as JSON; None where there is nothing."""
    command = os.environ.get('STEMMA_COMMAND', 'stemma')
    done = subprocess.run([command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode == 1:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors='replace').strip() or f'stemma ended with {done.returncode}')
    return json.loads(done.stdout)


def _frame(rows):
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def runs():
    """All runs, the latest first."""
    answer = _ask('log', '--json')
    return _frame(answer['runs'] if answer else [])


def _annotations(which):
    answer = _ask('show', '--json', which)
    return (answer['things'][0].get('annotations') or {}) if answer else {}


def metrics(which='@'):
    """Every figure that a run's programs told: name, value, step, time."""
    return _frame([{key: one.get(key) for key in ('name', 'value', 'step', 'time', 'execution')}
                   for one in _annotations(which).get('metrics', [])])


def configuration(which='@'):
    """The settings that a run's programs told: name, value, version, time."""
    return _frame([{key: one.get(key) for key in ('name', 'value', 'version', 'time', 'execution')}
                   for one in _annotations(which).get('configuration', [])])


def table(*names, where=None, having=(), of=None):
    """A row for each run, with its settings and figures, as `stemma table` has them."""
    words = ['table', '--json']
    if where:
        words += ['--where', where]
    for one in having:
        words += ['--with', one]
    if of:
        words += ['--of', of]
    answer = _ask(*words, '--', *names)
    return _frame([{'run': row['run'], 'start': row['start'], **row['configuration'], **row['metrics']}
                   for row in (answer['rows'] if answer else [])])
