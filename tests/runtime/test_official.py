"""The quick import of the official client: quick, harmless to others, and not needed to get an answer."""

import subprocess
import sys

from converge.runtime.api.official import import_plainly, official


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_the_models_are_not_imported():
    code = "import sys, converge.runtime.api.official as o; o.official(); print('pydantic' in sys.modules)"
    assert run(code) == "False"


def test_who_imports_the_whole_package_later_gets_the_whole_package():
    code = (
        "import converge.runtime.api.official as o; o.official()\n"
        "import kubernetes, kubernetes.client, kubernetes.config, oauthlib.oauth2, requests_oauthlib\n"
        "pod = kubernetes.client.V1Pod(metadata=kubernetes.client.V1ObjectMeta(name='a'))\n"
        "print(pod.metadata.name, kubernetes.client.ApiClient.__name__, kubernetes.config.load_config.__name__,\n"
        "      oauthlib.oauth2.OAuth2Error.__name__, requests_oauthlib.OAuth2Session.__name__)"
    )
    assert run(code) == "a ApiClient load_config OAuth2Error OAuth2Session"


def test_who_has_imported_the_whole_package_before_shares_it():
    code = (
        "import kubernetes.client, converge.runtime.api.official as o\n"
        "print(o.official().configuration is kubernetes.client.Configuration)"
    )
    assert run(code) == "True"


def test_what_the_stand_ins_promise_is_there_when_it_is_asked_for():
    """Refreshing a token of the old auth-provider kind needs the API client and OAuth."""
    code = (
        "import sys, converge.runtime.api.official as o\n"
        "loader = sys.modules.get('kubernetes')\n"
        "names = o.official().load_kube_config.__globals__\n"
        "print(type(names['ApiClient'](configuration=o.official().configuration())).__module__,\n"
        "      names['OAuth2Session'](client_id='x').__class__.__name__,\n"
        "      names['oauthlib'].oauth2.rfc6749.errors.InvalidClientIdError.__name__)"
    )
    assert run(code) == "kubernetes.client.api_client OAuth2Session InvalidClientIdError"


def test_the_plain_import_gives_the_same_parts():
    plain, quick = import_plainly(), official()
    assert plain.configuration.__qualname__ == quick.configuration.__qualname__
    assert plain.rest_client.__qualname__ == quick.rest_client.__qualname__
    assert plain.load_kube_config.__qualname__ == quick.load_kube_config.__qualname__


def test_when_the_quick_way_fails_the_plain_one_is_taken():
    code = (
        "import sys, converge.runtime.api.official as o\n"
        "def broken(root): raise ImportError('the package was rearranged')\n"
        "o._stand_ins = broken\n"
        "print(o.official().configuration.__name__, 'pydantic' in sys.modules)"
    )
    assert run(code) == "Configuration True"
