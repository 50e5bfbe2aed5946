"""src/mpi/functions.py, the table of the MPI functions that pmio stands in front of, as a module of this package."""

from __future__ import annotations

import importlib.util
import sys

from . import places

_PATH = places.ROOT / "src" / "mpi" / "functions.py"
_spec = importlib.util.spec_from_file_location("pmiolab_functions", _PATH)
if _spec is None or _spec.loader is None:
    raise ImportError(f"{_PATH} cannot be loaded")
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module  # its dataclasses look their module up
_spec.loader.exec_module(_module)

FUNCTIONS = _module.FUNCTIONS  # of class Function, in the order of the table
