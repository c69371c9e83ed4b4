"""sitecustomize - what `stemma run --autolog` puts first in PYTHONPATH, so that each Python program of the run loads stemma_autolog.

Python loads one module of this name. The one that it would have loaded without stemma is run here, first. Nothing of stemma's may
stop the program: what fails is left out without a word.
"""


def _chain(here):
    """Loads the sitecustomize module that this one hides."""
    import importlib.machinery
    import importlib.util
    import sys
    import os
    rest = [one for one in sys.path if os.path.abspath(one or '.') != here]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', rest)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules['sitecustomize'] = module
        spec.loader.exec_module(module)


def _begin():
    import os
    import sys
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        _chain(here)
    finally:
        try:
            if 'STEMMA_APP' in os.environ:
                import stemma_autolog
                stemma_autolog.install()
        except Exception:  # pylint: disable=broad-except
            pass
        try:  # programs look at sys.path; what is needed of it is loaded by now
            sys.path[:] = [one for one in sys.path if os.path.abspath(one or '.') != here]
        except Exception:  # pylint: disable=broad-except
            pass


_begin()
