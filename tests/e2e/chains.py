"""Other servers as reverse proxies of one port, for chains with utfeed: how each is told to pass on all it can read, changing as little
of it as it can, and to keep nothing."""
import os
import shutil
import socket
import subprocess
import time

from ports import server_port
from wire import TIMEOUT

APACHE_MODULES = "/usr/lib/apache2/modules"
ROOT = os.geteuid() == 0


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def nginx(folder, port, to):
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return "nginx.conf", f"""
{"user root;" if ROOT else ""} worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/errors crit;
events {{ worker_connections 512; }}
http {{
  access_log off; {temporary} underscores_in_headers on; ignore_invalid_headers off; merge_slashes off; proxy_request_buffering off;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{to}; }} }}
}}
""", ["-c", "{file}"]


def apache(folder, port, to):
    modules = "".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"
                      for name in ("mpm_event", "authz_core", "proxy", "proxy_http"))
    return "httpd.conf", f"""ServerRoot {folder}
ServerName localhost
Mutex sem
{"User www-data" if ROOT else ""}
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/errors
{modules}StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
MergeSlashes Off
AllowEncodedSlashes NoDecode
ProxyPass "/" "http://127.0.0.1:{to}/" nocanon
""", ["-DFOREGROUND", "-f", "{file}"]


def varnish(folder, port, to):
    return "vcl", f"""vcl 4.1;
backend default {{ .host = "127.0.0.1"; .port = "{to}"; }}
sub vcl_recv {{ return (pass); }}
""", ["-F", "-j", "none", "-n", f"{folder}/work", "-a", f"127.0.0.1:{port}", "-f", "{file}", "-T", "none", "-p", "thread_pools=1",
      "-p", "thread_pool_min=10"]


def haproxy(folder, port, to):
    del folder
    return "cfg", f"""
global
  maxconn 200
defaults
  mode http
  timeout connect 20s
  timeout client 60s
  timeout server 60s
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{to}
""", ["-db", "-f", "{file}"]


SERVERS = {"nginx": ("nginx", nginx), "Apache": ("apache2", apache), "Varnish": ("varnishd", varnish), "HAProxy": ("haproxy", haproxy)}


class Link:
    """A running server that passes on to the port to."""

    def __init__(self, name, folder, to):
        command, configure = SERVERS[name]
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        self.port = server_port()
        file, text, arguments = configure(folder, self.port, to)
        file = os.path.join(folder, file)
        with open(file, "w", encoding="ascii") as out:
            out.write(text)
        with open(os.path.join(folder, "log"), "wb") as log:
            self.process = subprocess.Popen([program(command), *(word.replace("{file}", file) for word in arguments)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        self.wait(os.path.join(folder, "log"))

    def wait(self, log):
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        with open(log, encoding="latin-1") as text:
            said = text.read()
        self.stop()
        raise AssertionError(f"not started: {said}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
