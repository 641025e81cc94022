"""The operator is started as in production, with its own rights, against a real API server."""


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
    attacks.zero_writes_at_rest(operator, site, restart=False)


def test_it_survives_a_crash_after_every_write(operator, namespace, attacks):
    attacks.crash_after_every_write(operator, make=namespace.maker("sample.yaml"), wrong=wrong)


def test_one_failed_request_is_made_up_for(operator, namespace, recorder, eventually):
    from converge.recorder import writes

    recorder.fail(writes("Deployment"), status=500)
    site = namespace.apply("sample.yaml")
    eventually(lambda: wrong(site), "", within=20, when="the first write of the Deployment was answered 500")
