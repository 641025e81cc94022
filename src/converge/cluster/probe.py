"""Whether an API server answers, and whether it is ready."""

import http.client
import ssl

from converge.cluster.pki import Pki


class Probe:
    """Asks /readyz over one connection: a handshake per question would slow the very start that it waits for."""

    def __init__(self, port: int, pki: Pki) -> None:
        context = ssl.create_default_context(cafile=str(pki.cert("ca")))
        context.load_cert_chain(pki.cert("admin"), pki.key("admin"))
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)

    def serving(self) -> bool:
        """Whether it answers at all."""
        return self._ask() is not None

    def ready(self) -> bool:
        """Whether it has all that it needs to work."""
        return self._ask() == 200

    def _ask(self) -> int | None:
        try:
            self._connection.request("GET", "/readyz")
            answer = self._connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return None
