"""From an HTTP request line to the words of Kubernetes: verb, resource, namespace, name.

Knows the URL layout of the API server and nothing else.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

READ_VERBS = frozenset({"get", "list"})
WRITE_VERBS = frozenset({"create", "update", "patch", "apply", "delete", "deletecollection"})

# A POST to one of these asks a question and stores nothing.
_QUESTION_GROUPS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Route:
    """What one request asks of the API server."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    writes: bool = False
    streams: bool = False
    """The answer may go on and on, and is not about an object: followed logs, whatever a Pod behind a proxy says."""

    @property
    def collection(self) -> str:
        """The path of the collection that the object is in."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{self.namespace}" if self.namespace and self.resource != "namespaces" else ""
        return f"{root}{within}/{self.resource}"


def read_route(method: str, target: str, content_type: str = "", options: object = None) -> Route:
    """The route of a request line; paths that name no resource (discovery, health) have an empty ``resource``.

    ``options`` is what the body of a DELETE says. With a body, the API server reads its options there, and ``dryRun``
    of the query means nothing.
    """
    path, _, query_string = target.partition("?")
    query = parse_qs(query_string, keep_blank_values=True)
    segments = [unquote(segment) for segment in path.split("/") if segment]

    group = ""
    if len(segments) >= 3 and segments[0] == "api":
        version, rest = segments[1], segments[2:]
    elif len(segments) >= 4 and segments[0] == "apis":
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return Route(verb=method.lower())

    watching = _is_true(query, "watch")
    if rest[0] == "watch" and len(rest) > 1:  # the old form, /api/v1/watch/pods
        watching, rest = True, rest[1:]

    namespace = ""
    in_namespace = len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES
    if in_namespace:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if resource == "namespaces":
        namespace = name

    verb = _verb(method, named=bool(name), watching=watching, content_type=content_type)
    dry_run = "dryRun" in query if options is None else isinstance(options, dict) and bool(options.get("dryRun"))
    writes = verb in WRITE_VERBS and not dry_run and group not in _QUESTION_GROUPS
    streams = subresource == "proxy" or (subresource == "log" and _is_true(query, "follow"))
    return Route(verb, group, version, resource, subresource, namespace, name, writes, streams)


def _is_true(query: dict[str, list[str]], name: str) -> bool:
    """As the API server reads it: `watch`, `watch=True` and `watch=1` all mean yes."""
    return name in query and query[name][0].lower() not in ("false", "0")


def _verb(method: str, *, named: bool, watching: bool, content_type: str) -> str:
    match method:
        case "GET" | "HEAD":
            return "watch" if watching else "get" if named else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "apply" if content_type.startswith("application/apply-patch") else "patch"
        case "DELETE":
            return "delete" if named else "deletecollection"
        case _:
            return method.lower()


def plural(kind: str) -> str:
    """The resource of a kind, guessed as Kubernetes itself guesses: ``Ingress`` becomes ``ingresses``.

    A name that is a plural already (``deployments``) stays as it is.
    """
    word = kind.lower()
    if word == kind and word.endswith("s"):
        return word
    if word.endswith("endpoints"):
        return word
    if word.endswith("s"):
        return word + "es"
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + "s"
