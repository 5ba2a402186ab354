"""Certificates of a private authority, as files, for servers and clients on loopback."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = datetime.timedelta(days=1)


class Authority:
    """An authority whose certificate is the file `authority.pem` of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name_of("Authority of the tests")
        self.certificate = folder / "authority.pem"
        self._write(self.certificate, self._signed(self._name, self._key.public_key(), is_ca=True))

    def issue(self, name: str) -> tuple[Path, Path]:
        """Write a certificate for `name` and loopback, and its key; returns both files."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, private = (self._folder / f"{name}.{kind}" for kind in ("pem", "key"))
        self._write(certificate, self._signed(_name_of(name), key.public_key(), is_ca=False))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        # libpq and PostgreSQL refuse a key that others may read.
        private.chmod(0o600)
        return certificate, private

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_ca: bool
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _write(self, path: Path, certificate: x509.Certificate) -> None:
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _name_of(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
