"""A library's own stream object, with something before it that nobody sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Self
from weakref import WeakKeyDictionary

# Of a class, not of what its objects can do; and attributes, which are passed on below.
_NOT_FORWARDED = frozenset(
    "__class__ __class_getitem__ __del__ __delattr__ __dict__ __doc__ __getattr__ __getattribute__"
    " __init__ __init_subclass__ __module__ __new__ __setattr__ __slots__ __subclasshook__"
    " __weakref__".split()
)
_OWN = "_hodo_"


class Proxy:
    """Stands for another object: attributes, class, operators, pickling are the other's.

    A class below says what it does itself; what it keeps for that begins with ``_hodo_`` and is in slots, since
    with a ``__dict__`` of its own the other's would be hidden.
    """

    __slots__ = ("__weakref__", "_hodo_stream")

    _hodo_stream: Any
    # Methods that it has only where the other has one of the name.
    _hodo_where_there: Mapping[str, Callable[..., Any]] = {}

    def __new__(cls, _request: Any, stream: Any) -> Self:
        made: Self = object.__new__(_class_of(cls, stream))
        made._hodo_stream = stream
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith(_OWN):
            raise AttributeError(name)
        found = getattr(self._hodo_stream, name)
        own = self._hodo_where_there.get(name)
        return found if own is None else MethodType(own, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith(_OWN):
            object.__setattr__(self, name, value)
        else:
            setattr(self._hodo_stream, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._hodo_stream, name)

    def _hodo_entered(self, given: Any) -> Any:
        """What `with` binds: the other object may give itself, or something else."""
        return self if given is self._hodo_stream else given

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Which says it itself where it stands for another too.
        return self._hodo_stream.__class__

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self._hodo_stream.__dict__


_classes: WeakKeyDictionary[type, dict[type, type]] = WeakKeyDictionary()


def _class_of(proxy: type[Proxy], stream: Any) -> Any:
    try:
        return _class_for(proxy, type(stream))
    except Exception:
        # As of a class of classes that cannot be hashed, or that lists what is not there.
        return proxy


def _class_for(proxy: type[Proxy], kind: type) -> Any:
    """``proxy`` with the special methods of ``kind``, which Python looks for in the class alone."""
    made = _classes.setdefault(kind, {})
    if proxy not in made:
        own = {name for one in proxy.__mro__[:-1] for name in vars(one)}
        special = {name for name in dir(kind) if name.startswith("__") and name.endswith("__")}
        names = special - own - _NOT_FORWARDED
        methods: dict[str, Any] = {
            name: _forwarded(name) for name in names if callable(getattr(kind, name, None))
        }
        # Of one that cannot be hashed, so that it cannot here either.
        methods |= {name: None for name in names if getattr(kind, name, _OWN) is None}
        where_there = proxy._hodo_where_there
        methods |= {name: where_there[name] for name in where_there if hasattr(kind, name)}
        made[proxy] = type(proxy.__name__, (proxy,), {"__slots__": (), **methods})
    return made[proxy]


def _forwarded(name: str) -> Callable[..., Any]:
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._hodo_stream, name)(*args, **kwargs)

    forward.__name__ = name
    return forward
