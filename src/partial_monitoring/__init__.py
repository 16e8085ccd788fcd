"""Decisions whose reward is not what you observe.

``import partial_monitoring as pm`` gives the names that ``__init__.pyi`` lists; the module of each
is loaded when it is first used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
