"""Tiny Tiny RSS, as Debian has it, reads feeds into a database of PostgreSQL that lives in a folder of its own as long as this program.

usage: tt-rss.py [URL...]: prints URL, tab, title of each article. http_proxy becomes its _HTTP_PROXY. Without a URL it ends with 0 if both
and PHP's extensions for them are installed. Neither runs as root: there they run as the user of Debian's PostgreSQL."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TT_RSS = pathlib.Path("/usr/share/tt-rss")
USER = "postgres"
UNDER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
EXTENSIONS = "exit(extension_loaded('curl') && extension_loaded('pdo_pgsql') ? 0 : 1);"
AS_IF_LOGGED_IN = """delete from ttrss_feeds; insert into ttrss_user_prefs (owner_uid, pref_name, value, profile)
    values (1, 'DEFAULT_UPDATE_INTERVAL', '30', null)"""
TITLES = """select f.feed_url, e.title from ttrss_feeds f join ttrss_user_entries u on u.feed_id = f.id join ttrss_entries e on e.id = u.ref_id"""


def postgres_programs():
    return max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), default=pathlib.Path("none/pg_ctl")).parent


def run(*command, **more):
    return subprocess.run([*UNDER, *map(str, command)], check=True, text=True, **more)


@contextlib.contextmanager
def database(folder):
    """psql's words for a database with the tables of Tiny Tiny RSS, reached by a Unix socket in the folder."""
    programs = postgres_programs()
    run(programs / "initdb", "-D", folder / "db", "-U", "ttrss", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", stdout=sys.stderr)
    options = f"-k {folder} -c listen_addresses= -c fsync=off"
    run(programs / "pg_ctl", "-D", folder / "db", "-w", "-l", folder / "log", "-o", options, "start", stdout=sys.stderr)
    try:
        psql = [programs / "psql", "-h", folder, "-U", "ttrss", "-q", "-A", "-t", "-F", "\t", "postgres"]
        run(*psql, "-f", TT_RSS / "schema" / "ttrss_schema_pgsql.sql", stdout=sys.stderr)
        yield psql
    finally:
        run(programs / "pg_ctl", "-D", folder / "db", "-m", "immediate", "stop", stdout=sys.stderr)


def configure(folder):
    """Debian's configuration, for one user, this database and this proxy."""
    text = (TT_RSS / "www" / "config.php").read_text("utf-8")
    text = re.sub(r"\tinclude_once\(.*\n", "", text)
    for name, value in (("DB_TYPE", "'pgsql'"), ("DB_HOST", f"'{folder}'"), ("DB_USER", "'ttrss'"), ("DB_NAME", "'postgres'"),
                        ("DB_PASS", "''"), ("DB_PORT", "''"), ("SELF_URL_PATH", "'http://reader.example/'"), ("SINGLE_USER_MODE", "true"),
                        ("LOCK_DIRECTORY", f"'{folder}/lock'"), ("CACHE_DIR", f"'{folder}/cache'"), ("ICONS_DIR", f"'{folder}/icons'")):
        text = re.sub(rf"define\('{name}', .*\);", f"define('{name}', {value});", text)
    text += f"\ndefine('_HTTP_PROXY', '{os.environ.get('http_proxy', '')}');\n"
    (folder / "www" / "config.php").write_text(text, "utf-8")
    for name in ("lock", "icons", "cache/feeds", "cache/images", "cache/export", "cache/upload", "cache/simplepie", "cache/starred-images"):
        (folder / name).mkdir(parents=True)


def copy(source, target):
    """A copy whose links lead where those of the source lead."""
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("config.php"))
    for link in [path for path in target.rglob("*") if path.is_symlink()]:
        link.unlink()
        link.symlink_to((source / link.relative_to(target)).resolve())


def read(folder, urls):
    copy(TT_RSS / "www", folder / "www")
    configure(folder)
    if UNDER:
        subprocess.run(["chown", "-R", f"{USER}:", folder], check=True)
    with database(folder) as psql:
        run(*psql, "-c", AS_IF_LOGGED_IN)
        for url in urls:
            run(*psql, "-c", f"insert into ttrss_feeds (owner_uid, title, feed_url) values (1, 'a feed', '{url}')")
        run("php", "update.php", "--feeds", cwd=folder / "www", stdout=sys.stderr)
        print(run(*psql, "-c", TITLES, stdout=subprocess.PIPE).stdout, end="")


def main(*urls):
    if not urls:
        is_here = (TT_RSS / "www").is_dir() and (postgres_programs() / "initdb").is_file()
        return subprocess.run(["php", "-r", EXTENSIONS], check=False).returncode if is_here else 1
    with tempfile.TemporaryDirectory() as folder:
        read(pathlib.Path(folder), urls)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
