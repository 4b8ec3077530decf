"""Certificates of a CA of our own, made by the openssl command into a folder; contexts for TLS origins and clients."""
import base64
import datetime
import os
import ssl
import subprocess

CONFIG = """
[ca]
default_ca = own
[own]
database = {home}/index.txt
serial = {home}/serial
new_certs_dir = {home}
policy = any
default_md = sha256
unique_subject = no
email_in_dn = no
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
commonName = unused
"""
CA = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
SERVER = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth\n"
CLIENT = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n"


def openssl(*args):
    done = subprocess.run(["openssl", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, f"openssl {' '.join(args)}\n{done.stdout.decode()}"


def day(days):
    when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return when.strftime("%Y%m%d%H%M%SZ")


class Certificate:
    """Files: .cert (PEM), .key, .chain (itself and what stands above it, without the root)."""

    def __init__(self, home, name, issuer=None):
        self.issuer = issuer
        self.cert, self.key, self.chain = (os.path.join(home, f"{name}.{kind}") for kind in ("pem", "key", "chain"))

    def write_chain(self):
        text, at = "", self
        while at and at.issuer:
            with open(at.cert, encoding="ascii") as file:
                text += file.read()
            at = at.issuer
        with open(self.chain, "w", encoding="ascii") as file:
            file.write(text)


def key_options(key):
    """ec, ED25519, a curve, or the bits of RSA."""
    if key in ("ec", "P-384", "P-521"):
        return "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + key.replace("ec", "P-256")
    if key == "described":
        return "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"
    return ("-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{key}") if key.isdigit() else ("-algorithm", key)


def der(tag, *parts):
    body = b"".join(parts)
    return bytes([tag]) + (bytes([len(body)]) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")) + body


def rsa_public(bits, exponent):
    """A public key that nobody has the other half of, as PEM."""
    modulus = (1 << bits) - 1
    key = der(0x30, *(der(2, number.to_bytes(number.bit_length() // 8 + 1, "big")) for number in (modulus, exponent)))
    kind = der(0x30, bytes.fromhex("06092a864886f70d010101"), b"\x05\0")
    text = base64.b64encode(der(0x30, kind, der(3, b"\0", key))).decode()
    return f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n"


class Authority:
    """Makes certificates; .root is trusted where a test says so."""

    def __init__(self, home):
        self.home, self.count = str(home), 0
        self.config = os.path.join(self.home, "ca.conf")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(home=self.home))
        open(os.path.join(self.home, "index.txt"), "w", encoding="ascii").close()
        with open(os.path.join(self.home, "serial"), "w", encoding="ascii") as file:
            file.write("1000\n")
        self.root = self.issue("Root of the tests", extensions=CA, issuer=None)

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", extensions=SERVER, issuer="root", days=(-1, 30), digest="sha256",
              key="ec"):
        """A new key and its certificate: issuer None signs itself. names: subjectAltName, "" for none."""
        issuer = self.root if issuer == "root" else issuer
        self.count += 1
        made = Certificate(self.home, f"c{self.count}", issuer)
        openssl("genpkey", *key_options(key), "-out", made.key)
        request, extra = made.cert + ".csr", made.cert + ".ext"
        openssl("req", "-new", "-config", self.config, "-key", made.key, "-subj", f"/CN={name}", "-out", request)
        with open(extra, "w", encoding="ascii") as file:
            file.write(extensions + (f"subjectAltName={names}\n" if names and "CA:TRUE" not in extensions else ""))
        signer = ["-cert", issuer.cert, "-keyfile", issuer.key] if issuer else ["-selfsign", "-keyfile", made.key]
        openssl("ca", "-batch", "-config", self.config, *signer, "-in", request, "-extfile", extra, "-md", digest, "-notext",
                "-startdate", day(days[0]), "-enddate", day(days[1]), "-out", made.cert)
        made.write_chain()
        return made

    def beside(self, bits, exponent):
        """One that also shows a certificate with such an RSA key."""
        made = self.issue("localhost")
        public, shown = made.cert + ".pub", made.cert + ".beside"
        with open(public, "w", encoding="ascii") as file:
            file.write(rsa_public(bits, exponent))
        openssl("x509", "-new", "-force_pubkey", public, "-subj", "/CN=beside", "-CA", self.root.cert, "-CAkey", self.root.key, "-out", shown)
        with open(made.chain, "a", encoding="ascii") as file, open(shown, encoding="ascii") as more:
            file.write(more.read())
        return made

    def revoked(self):
        """Names a file that lists those that the root has revoked: none."""
        path = os.path.join(self.home, "revoked.pem")
        openssl("ca", "-config", self.config, "-gencrl", "-crldays", "30", "-keyfile", self.root.key, "-cert", self.root.cert, "-out", path)
        return path

    def intermediate(self, extra=""):
        return self.issue("Intermediate of the tests", extensions=CA + extra)


def server_context(made, version=None, weak=False, chain=True):
    """version: the only one offered. weak: what no sane server would load."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if weak:
        context.set_ciphers("ALL:@SECLEVEL=0")
    if version:
        context.minimum_version, context.maximum_version = version if isinstance(version, tuple) else (version, version)
    context.load_cert_chain(made.chain if chain and made.issuer else made.cert, made.key)
    return context


def client_context(root, version=None):
    context = ssl.create_default_context(cafile=root.cert)
    if version:
        context.minimum_version = context.maximum_version = version
    return context
