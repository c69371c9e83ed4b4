"""stemma._found - where the libraries may be that this package needs."""

import os

try:
    from ._installed import LIBRARIES  # written by the installation: the folder of the libraries, as it lies from here
except ImportError:
    LIBRARIES = None


def candidates(variable, name):
    """Files to try: the one that a variable names, beside this package, in the prefix that it is installed in, and
    wherever the dynamic linker looks."""
    here = os.path.dirname(os.path.abspath(__file__))
    if os.environ.get(variable):
        yield os.environ[variable]
    yield os.path.join(here, name)
    if LIBRARIES:
        yield os.path.normpath(os.path.join(here, LIBRARIES, name))
    yield name
