"""The operator is started as in production, with its own rights, against a real API server."""

import pytest


def wrong(site):
    """What is not as the Site asks for, in words; nothing when all is."""
    page = site.namespace.get("ConfigMap", site.name)
    server = site.namespace.get("Deployment", site.name)
    if page is None or server is None:
        return "the ConfigMap or the Deployment isn't there"
    if page["data"]["index.html"] != site.spec["text"]:
        return f"the page says {page['data']['index.html']!r}"
    if server["spec"]["replicas"] != site.spec["replicas"]:
        return f"the Deployment has {server['spec']['replicas']} replicas"
    return ""


def test_a_site_is_served(operator, namespace, eventually):
    site = namespace.apply("sample.yaml")
    eventually(lambda: wrong(site), "", when=f"{site} was created")


def test_an_edit_is_followed(operator, namespace, eventually, settle):
    site = namespace.apply("sample.yaml")
    settle()
    site.edit(text="Goodbye", replicas=1)
    eventually(lambda: wrong(site), "", when=f"{site} was edited")


def test_nothing_is_written_at_rest(operator, namespace, attacks, settle):
    site = namespace.apply("sample.yaml")
    settle()
    attacks.zero_writes_at_rest(operator, site)


# --8<-- [start:heals]
def test_a_child_that_is_deleted_comes_back(operator, namespace, eventually, settle):
    site = namespace.apply("sample.yaml")
    settle()
    namespace.delete("ConfigMap", site.name)
    eventually(lambda: wrong(site), "", when="the ConfigMap was deleted")


def test_an_edit_of_a_child_is_undone(operator, namespace, attacks, settle):
    site = namespace.apply("sample.yaml")
    settle()
    drifts = {"replicas": ("Deployment", site.name, {"spec": {"replicas": 4}})}
    attacks.heals_drift(operator, site, wrong, drifts=drifts)


# --8<-- [end:heals]


def test_what_others_added_stays(operator, namespace, attacks, settle):
    site = namespace.apply("sample.yaml")
    settle()
    child = ("Deployment", site.name)
    attacks.foreign_fields_survive(operator, site, child=child, change=lambda: site.edit(replicas=1))


def test_it_survives_a_crash_after_every_write(operator, namespace, attacks):
    attacks.crash_after_every_write(operator, make=namespace.maker("sample.yaml"), wrong=wrong)


# --8<-- [start:marker]
@pytest.mark.operator(start=False)  # the attack starts it, and fails its first lists and watches too
def test_any_request_may_fail(operator, namespace, attacks):
    attacks.fault_at_every_request(
        operator,
        make=namespace.maker("sample.yaml"),
        wrong=wrong,
        children=["ConfigMap", "Deployment"],
        edit=lambda site: site.edit(replicas=1),
        deletion=True,
    )


# --8<-- [end:marker]
