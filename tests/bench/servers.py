"""The servers that are measured, and the one they fetch from: configured, started on a free port, pinned, watched, stopped."""
import http.client
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

PROCESSORS = sorted(os.sched_getaffinity(0))
SERVER_CPU, LOAD_CPU = PROCESSORS[0], PROCESSORS[-1]
START_SECONDS = 20
APACHE_MODULES = "/usr/lib/apache2/modules"


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pin(cpus):
    def before():
        os.sched_setaffinity(0, cpus)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return before


def open_files():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def read(path):
    with open(path, encoding="latin-1") as file:
        return file.read()


class Server:
    """A running server. argv is made by make(folder, port, origin); its output goes to a log in its folder."""

    def __init__(self, name, make, folder, origin, cpus=(SERVER_CPU,)):
        self.name, self.port = name, free_port()
        self.folder = os.path.join(folder, "".join(c if c.isalnum() else "-" for c in name))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(make(self.folder, self.port, origin), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.folder, start_new_session=True, preexec_fn=pin(cpus))
        self.wait()

    def wait(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(.05)
        self.stop()
        raise RuntimeError(f"{self.name} did not start:\n{read(self.log)[-2000:]}")

    def stop(self):
        pids = self.pids()
        for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
            pids = [pid for pid in pids[1:] if os.path.exists(f"/proc/{pid}")]
            if not pids:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def pids(self):
        """The process and its descendants."""
        found, at = [self.process.pid], 0
        while at < len(found):
            try:
                for task in os.listdir(f"/proc/{found[at]}/task"):
                    found += map(int, read(f"/proc/{found[at]}/task/{task}/children").split())
            except OSError:
                pass
            at += 1
        return found

    def cpu(self):
        """Seconds of processor that all its threads have used."""
        total = 0
        for pid in self.pids():
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    total += int(read(f"/proc/{pid}/task/{task}/schedstat").split()[0])
            except OSError:
                pass
        return total / 1e9

    def memory(self):
        """Bytes of memory, pages that processes share counted once (PSS)."""
        total = 0
        for pid in self.pids():
            for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        return total

    def sharers(self, library):
        """Names of other processes that use this library: the more they are, the less of it memory() says."""
        ours, found = self.pids(), set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) not in ours and library in read(f"/proc/{pid}/maps"):
                    found.add(read(f"/proc/{pid}/comm").strip())
            except OSError:
                pass
        return found

    def get(self, path, fields=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, headers=dict(fields))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def origin(binary, files):
    return lambda folder, port, _: [binary, str(port), files]


def utfeed(binary, *options, route="", scheme="http", host="127.0.0.1"):
    def make(_, port, source):
        return [binary, "serve", "--listen", f"127.0.0.1:{port}", "--route", f"/={scheme}://{host}:{source} {route}".rstrip(),
                "--access-log", "off", "--max-connections", "50000", "--client-connections", "0", *options]
    return make


def temporary(folder):
    return " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))


def nginx(http, server, modules=""):
    """One worker; http and server are what the roles below add."""
    def make(folder, port, source):
        path = write(folder, "nginx.conf", f"""{modules}
{"user root;" if os.geteuid() == 0 else ""} worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/errors warn;
worker_rlimit_nofile {open_files()}; events {{ worker_connections {open_files() // 2 + 4000}; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; sendfile on; {temporary(folder)}
  proxy_http_version 1.1; proxy_set_header Connection ""; upstream origin {{ server 127.0.0.1:{source}; keepalive 64; }}
  {http.format(folder=folder, source=source)}
  server {{ listen 127.0.0.1:{port}; {server} }}
}}
""")
        return [program("nginx"), "-c", path]
    return make


def nginx_cache(push, size="4g"):
    return nginx(f"tcp_nopush {push}; open_file_cache max={open_files() // 4} inactive=600s; "
                 "proxy_cache_path {folder}/cache levels=1:2 keys_zone=cache:64m max_size=%s inactive=600m;" % size,
                 "location / { proxy_pass http://origin; proxy_cache cache; proxy_cache_valid 200 1d; }")


def nginx_charset(charset):
    """nginx converts by a table of its own for the charset it is told."""
    return nginx("include /etc/nginx/win-utf; include /etc/nginx/koi-utf; charset_types application/rss+xml; proxy_buffers 16 64k; "
                 "proxy_max_temp_file_size 0;",
                 f"charset utf-8; source_charset {charset}; override_charset on; location / {{ proxy_pass http://origin; }}")


def nginx_origin(files, chain, key, options):
    """An https origin: the files of a folder, none of which may be stored."""
    def make(folder, port, _):
        path = write(folder, "nginx.conf", f"""{"user root;" if os.geteuid() == 0 else ""} worker_processes 1; daemon off; pid {folder}/pid;
error_log {folder}/errors warn; events {{ worker_connections {open_files() // 2}; }}
http {{
  access_log off; keepalive_requests 1000000000; open_file_cache max=100; {temporary(folder)}
  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {chain}; ssl_certificate_key {key}; ssl_session_cache shared:own:10m; {options}
    add_header Cache-Control no-store; root {files};
  }}
}}
""")
        return [program("nginx"), "-c", path]
    return make


def nginx_secure(root, keep):
    """Passes on to an https origin whose certificate it verifies, with the buffers it has where nobody configures any."""
    return nginx(f"upstream secure {{{{ server 127.0.0.1:{{source}}; {'keepalive 64;' if keep else ''} }}}}",
                 "location / { proxy_pass https://secure; proxy_ssl_session_reuse on; proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_verify on; "
                 f"proxy_ssl_trusted_certificate {root}; proxy_ssl_verify_depth 3; proxy_ssl_name localhost; proxy_ssl_server_name on; }}")


def nginx_plain():
    return nginx("proxy_buffers 16 64k; proxy_max_temp_file_size 0;", "location / { proxy_pass http://origin; }")


def nginx_default():
    """nginx passing on, with the buffers it has where nobody configures any."""
    return nginx("", "location / { proxy_pass http://origin; }")


def varnish(size="1g"):
    def make(folder, port, source):
        path = write(folder, "vcl", f'vcl 4.0;\nbackend default {{ .host = "127.0.0.1"; .port = "{source}"; }}\n')
        return [program("varnishd"), "-F", "-j", "none", "-n", f"{folder}/work", "-a", f"127.0.0.1:{port}", "-f", path, "-T", "none",
                "-s", f"malloc,{size}", "-p", "thread_pools=1", "-p", "thread_pool_min=100", "-p", "thread_pool_max=5000", "-p", "timeout_idle=600"]
    return make


def xml2enc(*more, filters="xml2enc"):
    def make(folder, port, source):
        modules = "".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"
                          for name in ("mpm_event", "authz_core", "filter", "proxy", "proxy_http", "xml2enc", *more))
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        path = write(folder, "httpd.conf", f"""ServerRoot {folder}
ServerName localhost
Mutex sem
{user}Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/errors
{modules}StartServers 1
ServerLimit 1
ThreadLimit 100
ThreadsPerChild 100
MaxRequestWorkers 100
MaxConnectionsPerChild 0
MaxKeepAliveRequests 0
KeepAliveTimeout 60
ProxyPass "/" "http://127.0.0.1:{source}/"
SetOutputFilter {filters}
""")
        return [program("apache2"), "-DFOREGROUND", "-f", path]
    return make


def xml2enc_of_gzip():
    """mod_deflate unpacks what mod_xml2enc converts, and packs it again."""
    return xml2enc("deflate", filters="INFLATE;xml2enc;DEFLATE")


def version(name, *command):
    """What a program says of itself, one line; None where it is not installed."""
    path = program(command[0])
    if not path:
        return None
    done = subprocess.run([path, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    number = re.search(r"\d+(\.\d+)+", done.stdout.decode("latin-1"))
    return f"{name} {number[0]}" if number else name
