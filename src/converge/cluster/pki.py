"""Keys and certificates of a local control plane, made when it is first started.

Two authorities: one for Kubernetes, one for etcd, so that no Kubernetes identity opens etcd's door.
Each component has an identity of its own; Kubernetes reads the user from the common name and the groups from the
organization of a client certificate.
"""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from converge.files import write_whole

LIFETIME = datetime.timedelta(days=365)
SERVICE_ADDRESS = "10.96.0.1"  # the `kubernetes` Service, the first address of the service range

_SIGNS = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)

# name: (common name, organization)
CLIENTS = {
    "admin": ("converge-admin", "system:masters"),
    # Else it would make, at each start, a ServiceAccount and a token for each of its controllers.
    "kube-controller-manager": ("system:kube-controller-manager", "system:masters"),
    "kube-scheduler": ("system:kube-scheduler", None),
    "kwok": ("kwok", "system:masters"),
}


@dataclass(frozen=True)
class Pki:
    """The directory of key material. ``cert`` and ``key`` name the files of an identity."""

    directory: Path

    def cert(self, name: str) -> Path:
        """The certificate of ``name``."""
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key of ``name``."""
        return self.directory / f"{name}.key"

    def usable(self) -> bool:
        """Whether every file is there and the authority is valid for another day."""
        try:
            certificate = x509.load_pem_x509_certificate(self.cert("ca").read_bytes())
        except (OSError, ValueError):
            return False
        complete = all(
            self.key(name).exists() for name in ("ca", "etcd-ca", "server", "etcd", "service-account", *CLIENTS)
        )
        tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        return complete and certificate.not_valid_after_utc > tomorrow

    def make(self) -> None:
        """Write a fresh set."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        loopback = ["127.0.0.1", "::1"]
        authority = _Authority("converge", self, "ca")
        service_names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        authority.issue("server", "kube-apiserver", None, [*service_names, *loopback, SERVICE_ADDRESS])
        for name, (user, group) in CLIENTS.items():
            authority.issue(name, user, group)
        etcd = _Authority("converge-etcd", self, "etcd-ca")
        etcd.issue("etcd", "etcd", None, ["localhost", *loopback])
        etcd.issue("etcd-client", "kube-apiserver", None)
        signing = _new_key(self, "service-account")
        public = signing.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_whole(self.cert("service-account"), public.decode())


def make_server(directory: Path) -> Pki:
    """An authority (``ca``) and the certificate of one server on loopback (``server``), apart from any cluster."""
    pki = Pki(directory)
    _Authority("converge-server", pki, "ca").issue("server", "server", None, ["localhost", "127.0.0.1", "::1"])
    return pki


class _Authority:
    def __init__(self, common_name: str, pki: Pki, name: str) -> None:
        self._pki = pki
        # The API server checks an authority's signature at every request, and checking RSA takes a third of the time.
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        _write_key(pki, name, self._key)
        self._subject = _name(common_name, None)
        builder = _builder(self._subject, self._subject, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        # Python 3.13 and later are strict: an authority says that it signs, and each certificate by which key.
        builder = builder.add_extension(_SIGNS, critical=True)
        write_whole(pki.cert(name), _pem(builder.sign(self._key, hashes.SHA256())))

    def issue(self, name: str, user: str, group: str | None, reachable_as: list[str] | None = None) -> None:
        """A certificate for both ends of a connection; a server's says under which names it is reached."""
        key = _new_key(self._pki, name)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
        builder = _builder(_name(user, group), self._subject, key.public_key()).add_extension(usage, critical=False)
        signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(signed_by, critical=False)
        if reachable_as:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_alternative(n) for n in reachable_as]), critical=False
            )
        write_whole(self._pki.cert(name), _pem(builder.sign(self._key, hashes.SHA256())))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str, organization: str | None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _new_key(pki: Pki, name: str) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    _write_key(pki, name, key)
    return key


def _write_key(pki: Pki, name: str, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_whole(pki.key(name), pem.decode(), mode=0o600)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
