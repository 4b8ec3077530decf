"""The proxies: utfeed, nginx and Varnish. This module configures them, starts them with the clock of the day, and stops them.

Readers use utfeed as a gateway, and name the host of the feed in Host for the peers. The peers use what their manuals offer for origins that
fail. nginx has every flag of proxy_cache_use_stale, background updates, the lock and revalidation. Varnish has a day of grace and of keep,
and saint mode."""
import os
import socket
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", folder) for folder in ("e2e", "bench")]

import proxy as utfeeds
import servers

servers.START_SECONDS = 180     # Varnish compiles its configuration of all hosts


class Proxy:
    """name; port; ask_for(url): the request target and Host for a URL; url_meant(url, location): where a Location leads."""
    name = port = None

    def ask_for(self, url):
        parts = urllib.parse.urlsplit(url)
        return parts.path + (f"?{parts.query}" if parts.query else ""), parts.netloc

    def url_meant(self, url, location):
        return urllib.parse.urljoin(url, location)

    def wake(self):
        """Gives the proxy an event, at which it looks at its timers."""
        socket.create_connection(("127.0.0.1", self.port)).close()


class Utfeed(Proxy):
    name = "utfeed"

    def __init__(self, folder, hosts, clock, options=()):
        names = os.path.join(folder, "hosts")
        with open(names, "w", encoding="ascii") as file:
            file.writelines(f"{host.address} {host.name}\n" for host in hosts)
        self.process = utfeeds.Utfeed("--hosts-file", names, "--access-log", "off", *options, env=clock.env)
        self.port = self.process.port

    def ask_for(self, url):
        return f"/{url}", f"127.0.0.1:{self.port}"

    def url_meant(self, url, location):
        """A URL of the gateway stands for the one in its path. Any other URL leads past utfeed."""
        meant = urllib.parse.urljoin(f"http://127.0.0.1:{self.port}/{url}", location)
        before = f"http://127.0.0.1:{self.port}/"
        return meant[len(before):] if meant.startswith(before) else meant

    def stop(self):
        self.process.stop()


class Peer(Proxy):
    def __init__(self, folder, hosts, clock):
        self.hosts = hosts
        around = [f"{name}={value}" for name, value in clock.env.items()]
        self.server = servers.Server(self.name, lambda *where: ["env", *around, *self.command(*where)], folder, hosts[0].port,
                                     cpus=servers.PROCESSORS)
        self.port = self.server.port

    def stop(self):
        self.server.stop()


class Nginx(Peer):
    name, package = "nginx", "nginx-light"

    def command(self, folder, port, _):
        rows = "\n".join(f"  {host.name} {host.address}:{host.port};" for host in self.hosts)
        path = servers.write(folder, "nginx.conf", f"""{"user root;" if os.geteuid() == 0 else ""} worker_processes 1; daemon off;
pid {folder}/pid; error_log {folder}/errors crit; events {{ worker_connections 4000; }}
http {{
  access_log off; {servers.temporary(folder)} map_hash_max_size 4096; map_hash_bucket_size 128; server_names_hash_bucket_size 128;
  map $host $upstream {{
{rows}
  }}
  map $upstream_status:$upstream_http_content_type $no_feed {{
    default 0; ~^204 1; "~^200:.*xml" 0; ~^200 1;
  }}
  proxy_cache_path {folder}/cache levels=1:2 keys_zone=feeds:32m max_size=1g inactive=48h use_temp_path=off;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://$upstream; proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection "";
      proxy_set_header Accept-Encoding gzip; gunzip on; gunzip_buffers 32 8k;
      proxy_cache feeds; proxy_cache_key $host$request_uri;
      proxy_no_cache $no_feed; proxy_cache_valid 200 301 308 5m; proxy_cache_valid any 1m;
      proxy_cache_use_stale error timeout invalid_header updating http_500 http_502 http_503 http_504 http_403 http_404 http_429;
      proxy_cache_background_update on; proxy_cache_lock on; proxy_cache_lock_age 60s; proxy_cache_lock_timeout 60s; proxy_cache_revalidate on;
      proxy_connect_timeout 10s; proxy_read_timeout 60s;
    }}
  }}
}}
""")
        return [servers.program("nginx"), "-c", path]


# Varnish waits for a silent origin by the clock of this machine, which is some hundred times slower than the day
SILENCE = "0.15s"
SAINT = """
vcl 4.1;
import saintmode;
{backends}
sub vcl_init {{
{saints}
}}
sub vcl_recv {{
  unset req.http.Cookie;
}}
sub vcl_backend_fetch {{
{choices}
}}
sub vcl_backend_response {{
  set beresp.grace = 24h; set beresp.keep = 24h; set beresp.do_stream = false;
  if (beresp.status == 301 || beresp.status == 308) {{
    if (beresp.ttl <= 0s) {{
      set beresp.ttl = 300s;
    }}
    return (deliver);
  }}
  if (beresp.status != 200 && beresp.status != 304 || beresp.http.Content-Type !~ "xml" || beresp.http.Content-Length == "0") {{
    saintmode.blacklist(60s);
    if (bereq.is_bgfetch) {{
      return (abandon);
    }}
    set beresp.ttl = 60s; set beresp.grace = 0s; set beresp.keep = 0s;
    return (deliver);
  }}
  if (beresp.http.Cache-Control !~ "no-store|no-cache|private|must-revalidate") {{
    return (deliver);
  }}
}}
"""


class Varnish(Peer):
    name, package = "varnish", "varnish, varnish-modules"

    def command(self, folder, port, _):
        backends = "\n".join(f'backend b{host.number} {{ .host = "{host.address}"; .port = "{host.port}"; .first_byte_timeout = {SILENCE}; '
                             f'.between_bytes_timeout = {SILENCE}; }}' for host in self.hosts)
        saints = "\n".join(f"  new s{host.number} = saintmode.saintmode(b{host.number}, 10);" for host in self.hosts)
        choices = "\n".join(f'  {"else " if host.number else ""}if (bereq.http.host == "{host.authority}") '
                            f"{{ set bereq.backend = s{host.number}.backend(); }}" for host in self.hosts)
        path = servers.write(folder, "vcl", SAINT.format(backends=backends, saints=saints, choices=choices))
        return [servers.program("varnishd"), "-F", "-j", "none", "-n", f"{folder}/work", "-a", f"127.0.0.1:{port}", "-f", path, "-T", "none",
                "-s", "malloc,1g", "-p", "default_ttl=300", "-p", "ping_interval=0", "-p", "cli_timeout=120",
                "-p", "cc_command=exec cc -O0 -w -fpic -shared -o %o %s"]


ALL = {kind.name: kind for kind in (Utfeed, Nginx, Varnish)}


def missing(kind):
    """The Debian package to install, if the proxy is not installed."""
    if kind is Nginx and not servers.program("nginx") or kind is Varnish and not servers.program("varnishd"):
        return kind.package
    return None
