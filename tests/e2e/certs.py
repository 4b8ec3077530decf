"""Certificates of a CA of our own, made by the openssl command into a folder; contexts for TLS origins and clients."""
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
        kinds = {"ec": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]}
        openssl("genpkey", *kinds.get(key, ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{key}"]), "-out", made.key)
        request, extra = made.cert + ".csr", made.cert + ".ext"
        openssl("req", "-new", "-config", self.config, "-key", made.key, "-subj", f"/CN={name}", "-out", request)
        with open(extra, "w", encoding="ascii") as file:
            file.write(extensions + (f"subjectAltName={names}\n" if names and "CA:TRUE" not in extensions else ""))
        signer = ["-cert", issuer.cert, "-keyfile", issuer.key] if issuer else ["-selfsign", "-keyfile", made.key]
        openssl("ca", "-batch", "-config", self.config, *signer, "-in", request, "-extfile", extra, "-md", digest, "-notext",
                "-startdate", day(days[0]), "-enddate", day(days[1]), "-out", made.cert)
        made.write_chain()
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
