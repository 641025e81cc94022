"""What the user gives us: each mistake is one sentence that says what to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from converge.audit import inputs
from converge.audit.edits import candidates
from converge.audit.sample import Sample, renamed
from converge.audit.session import Report
from converge.audit.settings import Allowed, AuditError, Settings, load
from converge.cli import app
from tests.audit.conftest import ROOT, SAMPLE, settings_for

SCHEMA = {
    "type": "object",
    "required": ["image"],
    "properties": {
        "image": {"type": "string"},
        "replicas": {"type": "integer", "maximum": 3},
        "mode": {"type": "string", "enum": ["fast", "safe"]},
        "tls": {"type": "boolean"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "storage": {"type": "object", "properties": {"size": {"type": "string"}}},
        "nodeSelector": {"type": "object"},
    },
}


def edits_of(spec, most=20, seed=1):
    return {each.path: each for each in candidates(spec, SCHEMA, most, seed)}


def test_edits_are_small_and_can_be_taken_back():
    spec = {"image": "web:1", "replicas": 1, "mode": "fast", "labels": {"a": "b"}, "storage": {"size": "1Gi"}}
    found = edits_of(spec)
    assert found["image"].patch == {"image": "web:1-audit"}
    assert found["replicas"].patch == {"replicas": 2}
    assert found["replicas removed"].patch == {"replicas": None}
    assert found["replicas removed"].removes
    assert found["storage.size"].patch == {"storage": {"size": "2Gi"}}
    assert found["storage.size"].back == {"storage": {"size": "1Gi"}}
    assert found["tls"].patch == {"tls": True}
    assert found["tls"].back == {"tls": None}
    assert "nodeSelector" not in found, "no Pod could be scheduled"


def test_taking_a_key_of_a_map_back_names_it():
    edits = [
        each for each in candidates({"image": "a:1", "labels": {"a": "b"}}, SCHEMA, 20, 1) if each.path == "labels"
    ]
    assert edits[0].patch == {"labels": {"a": "b", "audit.example": "added"}}
    assert edits[0].back == {"labels": {"a": "b", "audit.example": None}}, "a merge patch removes only what it names"


def test_a_number_at_its_maximum_goes_down():
    assert {"replicas": 2} in [each.patch for each in candidates({"replicas": 3}, SCHEMA, 20, 1)]


def test_a_field_that_has_its_default_is_not_taken_away():
    schema = {"properties": {"replicas": {"type": "integer", "default": 1}}}
    assert "replicas removed" in {each.path for each in candidates({"replicas": 3}, schema, 20, 1)}
    assert "replicas removed" not in {each.path for each in candidates({"replicas": 1}, schema, 20, 1)}


def test_a_number_that_may_be_zero_becomes_zero():
    schema = {"properties": {"replicas": {"type": "integer", "minimum": 0}, "port": {"type": "integer", "minimum": 1}}}
    found = {each.path: each for each in candidates({"replicas": 3, "port": 80}, schema, 20, 1)}
    assert (found["replicas to 0"].patch, found["replicas to 0"].back) == ({"replicas": 0}, {"replicas": 3})
    assert "port to 0" not in found


def test_words_and_tags_of_images_are_edited_also_where_the_schema_says_nothing_of_them():
    spec = {"app": {"message": "hello", "imageTag": "0.1.4", "tag": "blue", "owner": "alice", "title": "shop"}}
    found = {each.path: each.patch["app"] for each in candidates(spec, {"required": ["app"]}, 9, 1, {"shop"})}
    assert found["app.message"] == {"message": "hello (edited)"}
    assert found["app.imageTag"] == {"imageTag": "0.1.4-audit"}
    assert set(found) == {"app.message", "app.imageTag", "app.title"}
    assert found["app.title"] == {"title": "shop-other"}


def test_a_field_with_the_samples_name_gets_another_name():
    found = candidates(
        {"deploymentName": "shop", "image": "shop"}, {"required": ["deploymentName", "image"]}, 9, 1, {"shop"}
    )
    assert [each.patch for each in found] == [{"deploymentName": "shop-other"}]


def test_a_field_with_a_childs_name_gets_another_name():
    """What is left of the child with the old name is what operators forget."""
    spec = {"configName": "shop-text", "host": "shop-host"}
    found = candidates(spec, {"required": ["configName", "host"]}, 9, 1, {"shop", "shop-text"})
    assert [each.patch for each in found] == [{"configName": "shop-text-other"}]


def test_the_seed_decides_which_edits_are_tried():
    spec = {"image": "web:1", "replicas": 1, "mode": "fast", "labels": {"a": "b"}}
    assert edits_of(spec, 2, 1).keys() == edits_of(spec, 2, 1).keys()
    assert len({tuple(edits_of(spec, 2, seed)) for seed in range(8)}) > 1


def test_the_samples_name_within_its_spec_is_replaced_but_not_an_image():
    spec = {"deploymentName": "shop", "service": "shop-http", "image": "shop", "note": "the shop of all shops"}
    assert renamed(spec, "shop", "amber") == {
        "deploymentName": "amber",
        "service": "amber-http",
        "image": "shop",
        "note": "the shop of all shops",
    }


def test_unique_fields_get_the_objects_name(tmp_path):
    read = inputs.read(settings_for(tmp_path, "solutions/08_owner_references/owner_references.py"))
    assert Sample(read, ("spec.host.name",)).body("amber")["spec"]["host"] == {"name": "amber"}


TEMPLATE = "kind: {{ .Values.kind }}\n"
WHOLE = (ROOT / "crds" / "webapp.yaml").read_text()
CRDS = {
    "empty": "",
    "kustomized": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../crds]\n",
    "templates": TEMPLATE,
    "half": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {}",
    "cluster": WHOLE.replace("scope: Namespaced", "scope: Cluster"),
}


def test_a_folder_of_crds_may_have_other_files(tmp_path):
    """Templates of Helm aren't YAML, and values aren't objects."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "values.yaml").write_text("replicas: 1\n")
    (folder / "README.md").write_text("{{")
    (folder / "webapp.yaml").write_text(WHOLE)
    (tmp_path / "sample.yaml").write_text(SAMPLE)
    assert read(Settings(("true",), folder, tmp_path / "sample.yaml")).kind == "WebApp"


def test_namespaces_of_the_sample_are_made_by_the_audit(tmp_path):
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a}}\n---\n{SAMPLE}---\n"
    (tmp_path / "sample.yaml").write_text(text + "apiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: a}\n")
    found = read(Settings(("true",), ROOT / "crds", tmp_path / "sample.yaml"))
    assert [each["kind"] for each in found.others] == ["Secret"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no-such-program", "no 'no-such-program' on the PATH"),
        ("./nothing", "there is no file"),
        ("/tmp", "there is no file /tmp"),
        ("./sample.yaml", "isn't executable"),
    ],
)
def test_a_command_that_cannot_be_run_is_one_sentence_before_anything_starts(tmp_path, command, says):
    (tmp_path / "sample.yaml").write_text(SAMPLE)
    with pytest.raises(AuditError, match=says):
        Settings((command,), ROOT / "crds", tmp_path / "sample.yaml", directory=tmp_path).check()


def read(settings):
    settings.check()
    return inputs.read(settings)


@pytest.mark.parametrize(
    ("crds", "sample", "says"),
    [
        ("nothing", SAMPLE, "No CRD"),
        ("empty", SAMPLE, "there is no CustomResourceDefinition"),
        ("", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "has ConfigMap, and the CRDs define"),
        ("", SAMPLE.replace("/v1", "/v7"), "it is of version v7"),
        ("", "a: [", "not YAML"),
        ("", "", "has no object with an apiVersion and a kind"),
        ("", SAMPLE.replace("name: shop", "generateName: shop-"), "a WebApp without `metadata.name`"),
        ("", f"{SAMPLE}---\n{SAMPLE.replace('shop', 'other')}", r"2 objects of kind WebApp \(shop, other\)"),
        ("", SAMPLE.replace("spec:", "spec: nothing #"), "`spec` has to be a mapping"),
        ("", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "build it with `kubectl kustomize"),
        ("kustomized", SAMPLE, "build it with `kubectl kustomize"),
        ("templates", SAMPLE, "not YAML"),
        ("half", SAMPLE, "it has no `spec.group`"),
        ("cluster", SAMPLE, "is cluster-scoped"),
    ],
    ids=[
        *("no crds", "no definition", "other kind", "other version", "not yaml", "empty", "no name", "two of them"),
        *("no mapping", "a kustomization", "kustomized crds", "only a template", "half a crd", "cluster-scoped"),
    ],
)
def test_files_that_do_not_fit_are_one_sentence(tmp_path, crds, sample, says):
    for name, text in CRDS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.yaml").write_text(text)
    (tmp_path / "sample.yaml").write_text(sample)
    chosen = tmp_path / crds if crds else ROOT / "crds"
    with pytest.raises(AuditError, match=says):
        read(Settings(("true",), chosen, tmp_path / "sample.yaml"))


def test_a_file_of_settings_is_read_from_where_it_is(tmp_path):
    (tmp_path / "audit.toml").write_text(
        'command = ["./manager", "--namespace={namespace}"]\ncrds = "crd"\nsample = "shop.yaml"\nquiet = 2\n'
        '[environment]\nLEVEL = 1\n[[allow]]\nfinding = "at-rest/*"\nbecause = "known"\n'
    )
    settings = load(tmp_path / "audit.toml")
    assert settings.crds == tmp_path / "crd"
    assert settings.environment == {"LEVEL": "1"}
    assert settings.allow == (Allowed("at-rest/*", "known"),)
    assert settings.reason("at-rest/touched") == "known"
    assert settings.reason("deletion/background") == ""
    assert Settings.from_json(settings.as_json(), Path("/")).command == settings.command


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense = 1\n", "no setting 'nonsense'"),
        ('sample = "a"\n', "No crds"),
        ('crds = "a"\nsample = "b"\n[[allow]]\nfinding = "x"\n', "needs `finding` and `because`"),
        ("crds =", "isn't TOML"),
        ('crds = "a"\nsample = "b"\ncommand = "./manager --all"\n', "`command` has to be a list"),
        ('crds = ["a"]\nsample = "b"\n', "`crds` has to be a path"),
        ('crds = "a"\nsample = "b"\nenvironment = ["A=B"]\n', "`environment` has to be a table"),
    ],
    ids=["unknown", "no crds", "no reason", "not toml", "command", "list of crds", "environment"],
)
def test_a_wrong_file_of_settings_is_one_sentence(tmp_path, text, says):
    (tmp_path / "audit.toml").write_text(text)
    with pytest.raises(AuditError, match=says):
        load(tmp_path / "audit.toml")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "No CRD"),
        (["--crds", str(ROOT / "crds")], "No sample"),
        (["--crds", str(ROOT / "crds"), "--sample", str(ROOT / "crds")], "No command"),
        (["--crds", "x", "--sample", "y", "--env", "A", "--", "true"], "NAME=VALUE"),
        (["--replay", "nowhere.json"], "can't be read"),
        (["nowhere.toml"], "can't be read"),
        (["--crds", str(ROOT / "crds"), "--sample", "y", "--html", "/nowhere/a.html", "--", "true"], "no directory"),
    ],
    ids=["no crds", "no sample", "no command", "env", "replay", "no file", "no directory"],
)
def test_wrong_use_exits_2_with_one_line(arguments, says):
    done = CliRunner().invoke(app, ["audit", *arguments])
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "ends"),
    [
        ("--watch-namespace", ("--watch-namespace", "{namespace}")),
        ("-n", ("-n", "{namespace}")),
        ("--namespace=", ("--namespace={namespace}",)),
        ("--scope=ns/{namespace}", ("--scope=ns/{namespace}",)),
    ],
)
def test_the_operators_own_option_gets_the_namespace(monkeypatch, option, ends):
    seen = []
    monkeypatch.setattr(
        "converge.cli.audit.run", lambda settings, *_, **__: seen.append(settings) or Report(settings, 1)
    )
    arguments = ["--crds", str(ROOT / "crds"), "--sample", "shop.yaml", "--namespace-arg", option, "--", "true", "-v"]
    done = CliRunner().invoke(app, ["audit", "--json", *arguments])
    assert done.exit_code == 0, done.output
    assert seen[0].command == ("true", "-v", *ends)


def test_the_attacks_can_be_listed():
    done = CliRunner().invoke(app, ["audit", "--list"])
    assert done.exit_code == 0
    assert "killed-after" in done.stdout


def test_the_sample_of_these_tests_fits():
    assert yaml.safe_load(SAMPLE)["kind"] == "WebApp"


def test_a_definition_that_is_still_going_is_defined_again(monkeypatch):
    """An audit right after another one of the same kinds: what the first one has removed isn't there any more."""
    definition = {
        "metadata": {"name": "shops.example"},
        "spec": {"group": "example", "names": {"kind": "Shop"}, "versions": [{"name": "v1", "served": True}]},
    }
    going = {**definition, "metadata": {**definition["metadata"], "deletionTimestamp": "now"}}
    lists = [[going], [going], []]
    client = SimpleNamespace(list=lambda *kind: lists.pop(0) if len(lists) > 1 else lists[0])
    installed, removed = [], []
    monkeypatch.setattr("converge.testing.objects.crds.install", lambda client, new: installed.extend(new))
    monkeypatch.setattr("converge.cluster.bootstrap.remove", lambda client, each: removed.append(each))
    monkeypatch.setattr(
        "converge.testing.objects.kinds._CUSTOM", set()
    )  # no server has a Shop for the tests after this
    main = {"apiVersion": "example/v1", "kind": "Shop", "metadata": {"name": "shop"}}
    with inputs.installed(client, inputs.Inputs([definition], definition, main, [])):
        assert installed == [definition]
    assert removed == [definition]
