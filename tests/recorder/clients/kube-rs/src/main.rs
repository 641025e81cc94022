//! The same work as the other clients of the transparency suite, with kube-rs: it prints what it saw, errors in full.
//!
//! The recorder's tests run it twice, with and without the recorder in between: the two must print the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, LogParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::runtime::{reflector, watcher};
use kube::{Client, Config, Resource, ResourceExt};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

/// Larger than what an API server sends without compressing it.
const LARGE: usize = 200_000;
const IN_TIME: Duration = Duration::from_secs(30);

/// What the server answered, or why it refused.
fn say<T: Debug>(step: &str, result: Result<T, kube::Error>) -> Option<T> {
    match result {
        Ok(answer) => {
            println!("{step}: {answer:?}");
            Some(answer)
        }
        Err(kube::Error::Api(status)) => {
            println!("{step}: {} {} {}: {:?}", status.code, status.reason, status.message, status.details);
            None
        }
        Err(error) => {
            println!("{step}: {error}");
            None
        }
    }
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    let mut made = ConfigMap { data: Some(BTreeMap::from([("k".into(), value.into())])), ..Default::default() };
    made.metadata.name = Some(name.into());
    made.metadata.labels = Some(BTreeMap::from([("made".into(), "kube-rs".into())]));
    made
}

fn data(result: Result<ConfigMap, kube::Error>) -> Result<Option<BTreeMap<String, String>>, kube::Error> {
    result.map(|each| each.data)
}

async fn typed(client: &Client, namespace: &str) -> Result<(), Failure> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (post, patch, delete) = (PostParams::default(), PatchParams::default(), DeleteParams::default());
    let made = maps.create(&post, &config_map("cm-a", "1")).await?;
    println!("create: {:?}", made.data);
    say("create again", data(maps.create(&post, &config_map("cm-a", "1")).await));
    say("create with a bad name", data(maps.create(&post, &config_map("Not Good", "1")).await));
    let mut generated = config_map("", "1");
    generated.metadata.name = None;
    generated.metadata.generate_name = Some("cm-gen-".into());
    say("create with a generated name", maps.create(&post, &generated).await.map(|each| each.name_any().len()));
    let mut changed = made.clone();
    changed.data = Some(BTreeMap::from([("k".into(), "2".into())]));
    say("replace", data(maps.replace("cm-a", &post, &changed).await));
    say("replace an old version", data(maps.replace("cm-a", &post, &made).await));
    say("merge patch", data(maps.patch("cm-a", &patch, &Patch::Merge(json!({"data": {"p": "1"}}))).await));
    say("strategic patch", data(maps.patch("cm-a", &patch, &Patch::Strategic(json!({"data": {"s": "1"}}))).await));
    for manager in ["first", "first", "second"] {
        let wanted = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm-applied"}, "data": {"by": manager},
        });
        let applied = maps.patch("cm-applied", &PatchParams::apply(manager), &Patch::Apply(wanted)).await;
        say(&format!("apply as {manager}"), data(applied));
    }
    let large = BTreeMap::from([("k".to_string(), "x".repeat(LARGE))]);
    let stored = maps.create(&post, &ConfigMap { data: Some(large), ..config_map("cm-large", "") }).await?;
    let read = maps.get("cm-large").await?;
    println!("a large one: {} bytes, {}", read.data.clone().unwrap_or_default()["k"].len(), read.data == stored.data);
    say("get what is not there", data(maps.get("cm-none").await));
    say("get what may be there", maps.get_opt("cm-none").await.map(|found| found.is_some()));
    say("delete what is not there", maps.delete("cm-none", &delete).await.map(|_| ()));
    say("metadata", maps.get_metadata("cm-a").await.map(|each| each.labels().clone()));
    say("list metadata", maps.list_metadata(&ListParams::default()).await.map(|found| found.items.len()));

    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    for replicas in [-1, 0] {
        let wanted: Deployment = serde_json::from_value(json!({
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
                },
            },
        }))?;
        let made = deployments.create(&post, &wanted).await;
        say("create a Deployment", made.map(|each| each.spec.replicas));
    }
    let scaled = deployments.patch_scale("web", &patch, &Patch::Merge(json!({"spec": {"replicas": 1}}))).await;
    say("scale it", scaled.map(|each| each.spec));
    say("list Nodes without the right to", Api::<Node>::all(client.clone()).list(&ListParams::default()).await.map(|_| ()));
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    say("logs of no Pod", pods.logs("none", &LogParams::default()).await);

    let (mut names, mut page) = (BTreeSet::new(), ListParams::default().limit(2));
    loop {
        let listed = maps.list(&page).await?;
        names.extend(listed.items.iter().filter(|each| each.meta().generate_name.is_none()).map(|each| each.name_any()));
        match listed.metadata.continue_ {
            Some(token) if !token.is_empty() => page = page.continue_token(&token),
            _ => break,
        }
    }
    println!("list by pages: {names:?}");
    say("delete by label", maps.delete_collection(&delete, &ListParams::default().labels("made=kube-rs")).await.map(|_| ()));
    Ok(())
}

/// A kind of which this program has no types, and its status.
async fn dynamic(client: &Client, namespace: &str) -> Result<(), Failure> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("converge.example", "v1", "WebApp"));
    let apps: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    for replicas in [json!("many"), json!(2)] {
        let wanted = DynamicObject::new("web", &kind)
            .data(json!({"spec": {"image": "nginx:1", "replicas": replicas, "port": 8080}}));
        say("create a WebApp", apps.create(&PostParams::default(), &wanted).await.map(|each| each.data));
    }
    let report = Patch::Merge(json!({"status": {"url": "http://web:8080"}}));
    let reported = apps.patch_status("web", &PatchParams::default(), &report).await;
    say("report", reported.map(|each| each.data["status"].clone()));
    say("get its status", apps.get_status("web").await.map(|each| each.data["status"].clone()));
    Ok(())
}

/// A plain watch, to its end: the server closes it after a second.
async fn watch(client: &Client, namespace: &str) -> Result<(), Failure> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let mut events = Box::pin(maps.watch(&WatchParams::default().timeout(1).labels("made=watched"), "0").await?);
    let mut wanted = config_map("cm-watched", "1");
    wanted.metadata.labels = Some(BTreeMap::from([("made".into(), "watched".into())]));
    maps.create(&PostParams::default(), &wanted).await?;
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(each) => println!("watch: added {}", each.name_any()),
            WatchEvent::Modified(each) => println!("watch: modified {}", each.name_any()),
            WatchEvent::Deleted(each) => println!("watch: deleted {}", each.name_any()),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => println!("watch: {} {}", status.code, status.reason),
        }
    }
    println!("watch: ended");
    maps.delete("cm-watched", &DeleteParams::default()).await?;
    let mut expired = Box::pin(maps.watch(&WatchParams::default().timeout(1), "1").await?);
    match expired.try_next().await? {
        Some(WatchEvent::Error(status)) => println!("watch from long ago: {} {}", status.code, status.reason),
        Some(other) => println!("watch from long ago: {}", matches!(other, WatchEvent::Added(_))),
        None => println!("watch from long ago: nothing"),
    }
    Ok(())
}

/// A reflector's store follows a creation, a change and a deletion.
async fn follow(client: &Client, namespace: &str, how: &str, config: watcher::Config) -> Result<(), Failure> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (store, writer) = reflector::store();
    let events = reflector(writer, watcher(maps.clone(), config));
    let running = async { events.try_for_each(|_| async { Ok(()) }).await };
    let value = || {
        let found = store.find(|each: &ConfigMap| each.name_any() == "cm-later");
        found.map(|each| each.data.clone().unwrap_or_default()["k"].clone())
    };
    let until = async |wanted: Option<&str>| {
        while value().as_deref() != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let work = async {
        store.wait_until_ready().await?;
        println!("{how}: ready, {}", store.find(|each: &ConfigMap| each.name_any() == "cm-applied").is_some());
        maps.create(&PostParams::default(), &config_map("cm-later", "1")).await?;
        until(Some("1")).await;
        println!("{how}: saw a creation");
        let change = Patch::Merge(json!({"data": {"k": "2"}}));
        maps.patch("cm-later", &PatchParams::default(), &change).await?;
        until(Some("2")).await;
        println!("{how}: saw a change");
        maps.delete("cm-later", &DeleteParams::default()).await?;
        until(None).await;
        println!("{how}: saw a deletion");
        Ok::<(), Failure>(())
    };
    tokio::select! {
        done = tokio::time::timeout(IN_TIME, work) => done?,
        ended = running => Err(format!("{how}: ended: {ended:?}").into()),
    }
}

async fn all(kubeconfig: &str, namespace: &str) -> Result<(), Failure> {
    let read = Kubeconfig::read_from(kubeconfig)?;
    let client = Client::try_from(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)?;
    println!("version: {}", client.apiserver_version().await?.git_version);
    typed(&client, namespace).await?;
    dynamic(&client, namespace).await?;
    watch(&client, namespace).await?;
    follow(&client, namespace, "list, then watch", watcher::Config::default()).await?;
    follow(&client, namespace, "watch alone", watcher::Config::default().streaming_lists()).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Err(error) = all(&arguments[1], &arguments[2]).await {
        println!("ended early: {error}");
        std::process::exit(1);
    }
}
