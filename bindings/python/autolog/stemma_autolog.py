"""stemma_autolog - tells the record of parameters and metrics that known libraries have, without a change to the program.

Waits until the program itself imports one of the libraries below; a program that imports none of them pays for five names in a
dictionary. Then functions of the library are wrapped: a wrapper calls the function as the program called it, and afterwards tells the
record. Whatever goes wrong while it tells is left out: the program sees neither an error nor another
result. Only the outermost call tells: what a search, a forest or a pipeline calls, also in threads, is its own affair. So of two calls
at once, in two threads, the one that began first tells. Processes that a library made to share its work (joblib, multiprocessing) tell
nothing.

    argparse   the values that parse_args() gave
    sklearn    fit: parameters of the estimator, best ones of a search; score, and the functions of sklearn.metrics: their results
    xgboost    train: parameters, and each metric by iteration
    torch      optimizers: their settings; DataLoader: its batch size
    keras      fit: epochs, batch size, the optimizer's settings, and each metric by epoch
    mlflow     log_param, log_params, log_metric, log_metrics: what they are given
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading

_MOST = 200  # parameters that one call tells of
_outermost = threading.Lock()  # held while a call that will tell goes on


class _Quiet:
    """Lets nothing out that went wrong while it told, but Ctrl-C."""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return kind is not None and not issubclass(kind, KeyboardInterrupt)


# ---- the recorder's library: never a module of the program's, whatever is called so in its folders

_CONFIG, _METRIC, _NO_STEP, _MOST_STEP = 2, 3, -2**63, 2**63 - 1
_library, _looked = None, False


def _standard(name):
    """A module of the standard library, not one of that name that lies beside the program."""
    if name in sys.modules or name in sys.builtin_module_names:
        return importlib.import_module(name)
    home = os.path.dirname(os.path.abspath(os.__file__))
    spec = importlib.machinery.PathFinder.find_spec(name, [home, os.path.join(home, 'lib-dynload')])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load():
    """libstemma-app, of which `stemma run` says where it is; None: it is not there, or nobody records."""
    global _library, _looked  # pylint: disable=global-statement
    if not _looked:
        _looked = True
        for name in ('_struct', 'struct', '_ctypes'):  # what ctypes imports
            _standard(name)
        ctypes = _standard('ctypes')
        library = ctypes.CDLL(os.environ['STEMMA_APP_LIBRARY'])
        library.stemma_app_say.restype = ctypes.c_uint64
        library.stemma_app_say.argtypes = [
            ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_double,
            ctypes.c_int64, ctypes.c_uint64]
        if library.stemma_app_present():
            _library = library
    return _library


def _text(value):
    """The bytes of a value of Python's own types, without calling what the program has defined; None of another."""
    kind = type(value)
    if kind.__module__.partition('.')[0] in ('numpy', 'torch') and getattr(value, 'shape', None) == ():
        value = value.item()
    if value is None or isinstance(value, bool):
        return str(value).encode()
    for one, text in ((str, str.__str__), (int, int.__repr__), (float, float.__repr__)):
        if isinstance(value, one):
            return text(value).encode('utf-8', 'backslashreplace')
    return None


def _say(kind, name, value=b'', number=0.0, step=_NO_STEP):
    name = name.encode('utf-8', 'backslashreplace')
    _load().stemma_app_say(kind, name, len(name), value, len(value), b'', 0, number, step, 0)


def _is_worker():
    """Was this process made by a library to share the work of another one?"""
    process = sys.modules.get('multiprocessing.process')
    if process and process.current_process().name != 'MainProcess':
        return True
    spec = getattr(sys.modules.get('__main__'), '__spec__', None)  # joblib's begin as a program that has a name later
    return bool(spec) and spec.name.startswith(('joblib.', 'loky.', 'multiprocessing.'))


def _config(prefix, settings):
    if _is_worker() or not _load():
        return
    for name, value in sorted(settings.items(), key=lambda one: str(one[0]))[:_MOST]:
        text = _text(value)
        if text is None and type(value) in (list, tuple) and len(value) <= 8:
            parts = [_text(one) for one in value]
            text = None if None in parts else b','.join(parts)
        if text is not None:
            _say(_CONFIG, f'{prefix}{name}', text)


def _metric(name, value, step=None):
    if isinstance(value, str) or _is_worker() or not _load():
        return
    step = _NO_STEP if step is None else max(_NO_STEP + 1, min(_MOST_STEP, int(step)))
    _say(_METRIC, name, number=float(value), step=step)


def _wrap(owner, name, after, before=None):
    """Puts a wrapper in place of owner.name: after(result, args, kwargs) tells. before(args, kwargs) may change kwargs."""
    function = getattr(owner, name, None)
    if function is None or getattr(function, '_stemma_autolog', False):
        return

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not _outermost.acquire(blocking=False):  # pylint: disable=consider-using-with
            return function(*args, **kwargs)
        try:
            if before:
                with _Quiet():
                    before(args, kwargs)
            result = function(*args, **kwargs)
            with _Quiet():
                after(result, args, kwargs)
        finally:
            _outermost.release()
        return result

    if isinstance(owner, type(sys)):  # pickle finds it by this name; what it wraps stays where it was
        wrapper.__module__, wrapper.__qualname__ = owner.__name__, name
    wrapper._stemma_autolog = True  # pylint: disable=protected-access
    setattr(owner, name, wrapper)


# ---- the libraries ----

def _argparse(module):
    def told(result, _args, _kwargs):
        known = result[0] if isinstance(result, tuple) else result
        _config('', vars(known))
    _wrap(module.ArgumentParser, 'parse_args', told)
    _wrap(module.ArgumentParser, 'parse_known_args', told)


def _fitted(_result, args, _kwargs):
    one = args[0]
    name = type(one).__name__
    _config(name + '.', one.get_params(deep=True))
    best = getattr(one, 'best_params_', None)
    if isinstance(best, dict):
        _config(name + '.best.', best)
        _metric(name + '.best_score', one.best_score_)
    curves = getattr(one, 'evals_result_', None)  # xgboost's
    if isinstance(curves, dict):
        _curves(curves)


def _scored(result, args, _kwargs):
    _metric(f'{type(args[0]).__name__}.score', result)


def _estimators(module):
    """sklearn.base: classes of estimators are wrapped as they are made."""
    base = module.BaseEstimator

    own = base.__dict__.get('__init_subclass__')

    def made(cls, **kwargs):
        if own:
            own.__get__(None, cls)(**kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        with _Quiet():
            for name, after in (('fit', _fitted), ('score', _scored)):
                if name in cls.__dict__ and callable(cls.__dict__[name]):
                    _wrap(cls, name, after)

    base.__init_subclass__ = classmethod(made)
    for name in ('ClassifierMixin', 'RegressorMixin', 'DensityMixin'):  # which bring score
        if hasattr(module, name) and 'score' in vars(getattr(module, name)):
            _wrap(getattr(module, name), 'score', _scored)


def _scores(module):
    """sklearn.metrics: functions that give one figure."""
    for name in getattr(module, '__all__', ()):
        if name.endswith(('_score', '_error', '_loss')) or name in ('auc', 'brier_score_loss'):
            def told(result, _args, _kwargs, name=name):
                if not hasattr(result, '__len__') or getattr(result, 'shape', None) == ():
                    _metric(name, result)
            _wrap(module, name, told)


def _validation(module):
    def told(result, _args, _kwargs):
        _metric('cross_val_score.mean', result.mean())
    _wrap(module, 'cross_val_score', told)


def _curves(curves):
    """Of each set and metric the figures, by iteration."""
    for part, figures in curves.items():
        for name, values in figures.items():
            for step, value in enumerate(values):
                _metric(f'{part}.{name}', value[0] if isinstance(value, tuple) else value, step)


def _xgboost(module):
    def before(_args, kwargs):
        if kwargs.get('evals') and kwargs.get('evals_result') is None:
            kwargs['evals_result'] = {}

    def told(_result, args, kwargs):
        params = kwargs.get('params', args[0] if args else {})
        _config('xgboost.', dict(params))
        rounds = kwargs.get('num_boost_round', args[2] if len(args) > 2 else None)
        if rounds is not None:
            _config('xgboost.', {'num_boost_round': rounds})
        _curves(kwargs.get('evals_result') or {})
    _wrap(module, 'train', told, before)


def _optimizer(module):
    def told(_result, args, kwargs):
        settings = kwargs.get('defaults', args[2] if len(args) > 2 else {})
        _config(type(args[0]).__name__ + '.', dict(settings))
    _wrap(module.Optimizer, '__init__', told)


def _loader(module):
    def told(_result, args, _kwargs):
        _config('DataLoader.', {'batch_size': args[0].batch_size})
    _wrap(module.DataLoader, '__init__', told)


def _keras(module):
    def told(result, args, kwargs):
        model = args[0]
        _config('keras.', {name: kwargs[name] for name in ('epochs', 'batch_size') if name in kwargs})
        optimizer = getattr(model, 'optimizer', None)
        if optimizer is not None:
            _config(f'{type(optimizer).__name__}.', optimizer.get_config())
        for name, values in getattr(result, 'history', {}).items():
            for step, value in enumerate(values):
                _metric(name, value, step)
    for owner in (getattr(module, 'Model', None), getattr(module, 'Sequential', None)):
        if owner is not None and 'fit' in vars(owner):
            _wrap(owner, 'fit', told)


def _mlflow(module):
    def named(name, args, kwargs, keys):
        return [kwargs[key] if key in kwargs else args[at] if at < len(args) else None for at, key in enumerate(keys)]

    def param(_result, args, kwargs):
        key, value = named('log_param', args, kwargs, ('key', 'value'))
        _config('', {key: value if isinstance(value, (bool, int, float, str)) else str(value)})

    def params(_result, args, kwargs):
        _config('', {k: v if isinstance(v, (bool, int, float, str)) else str(v) for k, v in named('log_params', args, kwargs, ('params',))[0].items()})

    def metric(_result, args, kwargs):
        key, value, step = named('log_metric', args, kwargs, ('key', 'value', 'step'))
        _metric(key, value, step)

    def metrics(_result, args, kwargs):
        values, step = named('log_metrics', args, kwargs, ('metrics', 'step'))
        for key, value in values.items():
            _metric(key, value, step)
    for name, after in (('log_param', param), ('log_params', params), ('log_metric', metric), ('log_metrics', metrics)):
        _wrap(module, name, after)


_KNOWN = {
    'argparse': _argparse,
    'sklearn.base': _estimators,
    'sklearn.metrics': _scores,
    'sklearn.model_selection': _validation,
    'xgboost': _xgboost,
    'torch.optim.optimizer': _optimizer,
    'torch.utils.data.dataloader': _loader,
    'keras': _keras,
    'mlflow': _mlflow,
}


class _Loader:
    """The loader of a known module; when it has run, the module's functions are wrapped."""

    def __init__(self, loader, name):
        self._loader, self._name = loader, name

    def __getattr__(self, name):  # all else is the real one's
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        with _Quiet():  # the module is to have its own loader, for whoever asks
            module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        with _Quiet():
            _KNOWN[self._name](module)


class _Finder:
    """Comes first among the finders, and answers for known names only."""
    _busy = threading.local()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """As importlib has it."""
        if name not in _KNOWN or getattr(cls._busy, 'name', None) == name:
            return None
        cls._busy.name = name
        try:
            for finder in sys.meta_path:
                find = None if finder is cls else getattr(finder, 'find_spec', None)
                spec = find(name, path, target) if find else None
                if spec is not None:
                    if spec.loader is not None and hasattr(spec.loader, 'exec_module'):
                        spec.loader = _Loader(spec.loader, name)
                    return spec
        finally:
            cls._busy.name = None
        return None


def install():
    """Once, when the interpreter begins."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    for name in list(_KNOWN):
        module = sys.modules.get(name)
        if isinstance(module, type(sys)) and getattr(getattr(module, '__spec__', None), '_initializing', False) is False:
            with _Quiet():
                _KNOWN[name](module)
