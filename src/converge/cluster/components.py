"""The programs of a local control plane, and how each is started: on loopback, with keys of ours, frugally."""

from pathlib import Path

from converge.cluster.pki import Pki

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
LISTENERS = ("etcd", "etcd-peer", "etcd-http", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
MANIFESTS = Path(__file__).parent / "manifests"

# Controllers of what the course does not touch. Each would make the start longer by its lists and watches.
_IDLE_CONTROLLERS = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "device-taint-eviction-controller",
    "endpointslice-mirroring-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "persistentvolume-attach-detach-controller",  # looks ten times a second for volumes to attach; there are none
    "podcertificaterequest-cleaner-controller",
    "resourceclaim-controller",
    "ttl-controller",
    "validatingadmissionpolicy-status-controller",
    "volumeattributesclass-protection-controller",
)


def flags(name: str, ports: dict[str, int], pki: Pki, home: Path) -> list[str]:
    """The command line of a component whose data are below ``home``."""
    config = f"--kubeconfig={home / 'identities' / name}"
    etcd_url, peer_url, http_url = (f"https://127.0.0.1:{ports[port]}" for port in ("etcd", "etcd-peer", "etcd-http"))
    serving = [f"--tls-cert-file={pki.cert('server')}", f"--tls-private-key-file={pki.key('server')}"]
    match name:
        case "etcd":
            return [
                "--name=converge",
                f"--data-dir={home / 'etcd'}",
                f"--listen-client-urls={etcd_url}",
                f"--advertise-client-urls={etcd_url}",
                # HTTP has a port of its own, so that gRPC need not pass through Go's HTTP server: a fifth less work.
                f"--listen-client-http-urls={http_url}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=converge={peer_url}",
                "--client-cert-auth",
                f"--trusted-ca-file={pki.cert('etcd-ca')}",
                f"--cert-file={pki.cert('etcd')}",
                f"--key-file={pki.key('etcd')}",
                "--peer-client-cert-auth",
                f"--peer-trusted-ca-file={pki.cert('etcd-ca')}",
                f"--peer-cert-file={pki.cert('etcd')}",
                f"--peer-key-file={pki.key('etcd')}",
                "--unsafe-no-fsync",
                # It has nobody to ask, so it need not wait long before it elects itself: the API server waits for that.
                "--heartbeat-interval=40",
                "--election-timeout=200",
                # For bookmarks on quiet watches, one a minute. Every 5 s costs twice the rest of etcd at rest.
                "--watch-progress-notify-interval=20s",
                "--log-level=warn",
            ]
        case "kube-apiserver":
            return [
                f"--etcd-servers={etcd_url}",
                f"--etcd-cafile={pki.cert('etcd-ca')}",
                f"--etcd-certfile={pki.cert('etcd-client')}",
                f"--etcd-keyfile={pki.key('etcd-client')}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
                f"--client-ca-file={pki.cert('ca')}",
                f"--service-account-key-file={pki.cert('service-account')}",
                f"--service-account-signing-key-file={pki.key('service-account')}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--anonymous-auth=false",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--endpoint-reconciler-type=none",
                "--allow-privileged=true",
                "--profiling=false",
            ]
        case "kube-controller-manager":
            return [
                config,
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
                f"--service-account-private-key-file={pki.key('service-account')}",
                f"--root-ca-file={pki.cert('ca')}",
                "--enable-hostpath-provisioner=true",
                "--controllers=" + ",".join(["*", *(f"-{name}" for name in _IDLE_CONTROLLERS)]),
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
                # The namespaces of a run are dropped all at once, and the next run should not have to wait for that.
                "--concurrent-namespace-syncs=2",
                "--profiling=false",
            ]
        case "kube-scheduler":
            return [
                f"--config={home / 'identities' / 'kube-scheduler.config'}",
                "--bind-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
            ]
        case "kwok":
            return [config, f"--config={MANIFESTS / 'kwok.yaml'}"]
    raise AssertionError(name)
