"""What a submission of a library lab may have: the modules it imports, the names it uses. `reading` holds the rest."""

from __future__ import annotations

import builtins
import math
import re


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES = {
    name: words(names)
    for name, names in {
        "__future__": "annotations",
        "abc": "ABC abstractmethod",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "collections": "ChainMap Counter OrderedDict defaultdict deque namedtuple",
        "collections.abc": "Awaitable Callable Collection Container Generator Hashable ItemsView Iterable Iterator "
        "KeysView Mapping MutableMapping MutableSequence MutableSet Sequence Set Sized ValuesView",
        "concurrent.futures": "ALL_COMPLETED CancelledError FIRST_COMPLETED FIRST_EXCEPTION Future "
        "ThreadPoolExecutor TimeoutError as_completed wait",
        "contextlib": "AbstractContextManager closing contextmanager nullcontext suppress",
        "converge.operators.webapp": "FIELD_MANAGER WEBAPP desired_deployment is_controlled_by owner_reference",
        "converge.runtime": "AlreadyExists ApiError Backoff BadRequest Change Client ConfigError Conflict Controller "
        "Forbidden Gone Informer Invalid NotFound Object ObjectList Poll Reconciler Request Result RuntimeProblem "
        "TerminalError Timeout TokenBucket TooManyRequests Unauthorized Unavailable UnknownKind Watch WatchEvent "
        "WorkQueue annotations_changed any_of generation_changed labels_changed",
        "copy": "copy deepcopy",
        "dataclasses": "FrozenInstanceError KW_ONLY asdict astuple dataclass field replace",
        "datetime": "UTC date datetime timedelta timezone",
        "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
        "functools": "cache cached_property cmp_to_key lru_cache partial reduce total_ordering",
        "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
        "itertools": "accumulate chain combinations count cycle dropwhile filterfalse groupby islice pairwise "
        "permutations product repeat starmap takewhile tee zip_longest",
        "json": "JSONDecodeError dumps loads",
        "logging": "CRITICAL DEBUG ERROR INFO NOTSET WARNING Logger NullHandler basicConfig critical debug error "
        "exception getLogger info log warning",
        "math": " ".join(name for name in dir(math) if not name.startswith("_")),
        "operator": "itemgetter",
        "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
        "random": "Random choice gauss randint random randrange sample shuffle uniform",
        "sys": "float_info maxsize stderr stdout",
        "threading": "Barrier BoundedSemaphore BrokenBarrierError Condition Event Lock RLock Semaphore Thread "
        "TIMEOUT_MAX Timer current_thread get_ident get_native_id local",
        "time": "monotonic monotonic_ns perf_counter perf_counter_ns sleep strftime time time_ns",
        "traceback": "format_exc format_exception format_exception_only print_exc print_exception",
        "types": "MappingProxyType TracebackType",
        "typing": "Any Callable ClassVar DefaultDict Deque Dict Final FrozenSet Generic Hashable Iterable Iterator "
        "List Literal Mapping MutableMapping NamedTuple NoReturn Optional ParamSpec Protocol Self Sequence Set "
        "TYPE_CHECKING Tuple Type TypeAlias TypeVar TypedDict Union cast final overload",
        "uuid": "uuid4",
        "warnings": "warn",
    }.items()
}
PACKAGES = frozenset(name.rpartition(".")[0] for name in MODULES if "." in name)

EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
PLAIN_TYPES = words("bool bytearray bytes complex dict float frozenset int list object set str tuple")
BUILTINS = EXCEPTIONS | PLAIN_TYPES
BUILTINS |= words(
    "NotImplemented Ellipsis abs aiter all anext any ascii bin callable chr divmod enumerate filter format hash hex id "
    "isinstance issubclass iter len map max min next oct ord pow print range repr reversed round slice sorted sum zip "
    "__name__ __debug__"
)
# Methods with two underscores that a class may have. Others change what an object is to `copy`, `match` and the like.
SPECIAL = words(
    "__aenter__ __aexit__ __aiter__ __anext__ __await__ __bool__ __call__ __contains__ __copy__ __delitem__ "
    "__enter__ __eq__ __exit__ __ge__ __getitem__ __gt__ __hash__ __init__ __iter__ __le__ __len__ __lt__ "
    "__ne__ __next__ __post_init__ __repr__ __reversed__ __setitem__ __str__"
)
SPECIAL_NAMES = words("__all__ __author__ __doc__ __hash__ __slots__ __version__")
ABOUT_A_NAME = words("__name__ __qualname__ __doc__")
NAMED_TUPLE = words("_asdict _fields _make _replace")

# Of other objects: frames, functions behind their wrappers, the network, what moves the checks' own stand-ins, and
# what an AttributeError was about, which may be a class.
INSIDES = re.compile(r"(ag|co|cr|f|gi|tb)_")
CLOSED = words("advance connection discovery fdel fget fset func mro obj open oversleep register")

# A call of one of these makes a class of any names.
ENUMS = {("enum", name) for name in ("Enum", "Flag", "IntEnum", "IntFlag", "StrEnum")}
CLASS_DECORATORS = {("dataclasses", "dataclass"), ("functools", "total_ordering"), ("enum", "unique")}
CLASS_DECORATORS |= {("typing", "final")}
METHOD_DECORATORS = {("functools", name) for name in ("cache", "cached_property", "lru_cache")}
METHOD_DECORATORS |= {("contextlib", "contextmanager"), ("abc", "abstractmethod")}
METHOD_DECORATORS |= {("typing", "final"), ("typing", "overload")}
CLASS_DECORATORS_ONLY = {("dataclasses", "dataclass"), ("functools", "total_ordering")}
FUNCTION_DECORATORS_ONLY = {("contextlib", "contextmanager")}
WITH_OPTIONS = {("dataclasses", "dataclass"), ("functools", "lru_cache")}  # the rest only as `@name`, without brackets
# The name in their first argument is one that `copy` may look up later.
NAME_A_CLASS = {("collections", "namedtuple"), ("typing", "NamedTuple"), ("typing", "TypedDict")}
LOG_OPTIONS = words("datefmt force format level")  # of basicConfig, which could open a file or read attributes
OF_THE_THREAD = words("ident name native_id")
