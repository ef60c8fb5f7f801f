"""Shared by the checks of the families."""
import functools

import numpy as np

from common import FLOATS, NP, SIGNED


class Refused(Exception):
    """The operation refuses its arguments."""


def checked(f):
    """NumPy's own errors count as refusals."""
    @functools.wraps(f)
    def g(*args):
        try:
            return f(*args)
        except (ValueError, IndexError, TypeError) as e:  # AxisError is a ValueError
            raise Refused(e) from e

    return g


def real(v):
    """A number of params: nan and the infinities are strings."""
    return float(v) if isinstance(v, str) else v


def wrap_to(d, v):
    """Integers of any size, reduced to dtype d."""
    t = np.iinfo(NP[d])
    return np.array([(int(x) - t.min) % 2**t.bits + t.min for x in v], NP[d])


def least(d):
    return False if d == "bool" else -np.inf if d in FLOATS else np.iinfo(NP[d]).min


def greatest(d):
    return True if d == "bool" else np.inf if d in FLOATS else np.iinfo(NP[d]).max


def default_fill(d):
    """What take and gather give for an index out of range."""
    return np.nan if d in FLOATS else least(d) if d in SIGNED else greatest(d)
