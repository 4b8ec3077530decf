"""Readers that are whole programs with files of their own: how each is set up for some feeds, and where its titles are.

It owns their configuration. prepare(folder, urls) writes it into an empty folder, which is the program's home as well; titles(folder,
said) gives (URL, title) for each title that the program has read so far. Nothing here knows of ways in: a URL is a URL."""
import email
import email.header
import json
import mailbox
import sqlite3


def prepare_newsboat(folder, urls):
    (folder / "urls").write_text("".join(f"{url}\n" for url in urls))
    (folder / "config").write_text("")


def newsboat(folder, _):
    with sqlite3.connect(folder / "cache.db") as cache:
        return cache.execute("select rssurl, title from rss_feed union all select feedurl, title from rss_item").fetchall()


def prepare_rss2email(folder, urls):
    feeds = "".join(f"[feed.{at}]\nurl = {url}\n" for at, url in enumerate(urls))
    (folder / "mail").mkdir()
    (folder / "config").write_text("[DEFAULT]\nfrom = feeds@feeds.example\nto = reader@feeds.example\nemail-protocol = maildir\n"
                                   f"maildir-path = {folder}/mail\nmaildir-mailbox = in\n{feeds}")


def rss2email(folder, _):
    """The subject of a mail is the title of an item."""
    mails = [email.message_from_bytes(path.read_bytes()) for path in (folder / "mail").glob("**/new/*")]
    return [(mail["X-RSS-Feed"], str(email.header.make_header(email.header.decode_header(mail["Subject"])))) for mail in mails]


def prepare_sfeed(folder, urls):
    feeds = "".join(f"\tfeed \"{at}\" \"{url}\"\n" for at, url in enumerate(urls))
    (folder / "feeds").mkdir()
    (folder / "urls").write_text("\n".join(urls))
    (folder / "sfeedrc").write_text(f"sfeedpath=\"{folder}/feeds\"\nfeeds() {{\n{feeds}}}\n")


def sfeed(folder, _):
    """A file a feed, a line an item, its second field the title."""
    urls = (folder / "urls").read_text().split("\n")
    return [(urls[int(path.name)], line.split("\t")[1])
            for path in (folder / "feeds").iterdir() for line in path.read_text("utf-8", "replace").splitlines()]


THUNDERBIRD = {
    "mail.accountmanager.accounts": "account1", "mail.account.account1.server": "server1", "mail.server.server1.type": "rss",
    "mail.server.server1.hostname": "Feeds", "mail.server.server1.name": "Feeds", "mail.server.server1.userName": "nobody",
    "mail.server.server1.directory-rel": "[ProfD]Mail/Feeds", "mail.server.server1.check_new_mail": True, "mail.server.server1.check_time": 1,
    "mail.provider.suppress_dialog_on_startup": True, "mail.shell.checkDefaultClient": False, "mail.spotlight.firstRunDone": True,
    "mailnews.start_page.enabled": False, "app.update.enabled": False, "extensions.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "mail.inappnotifications.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "network.proxy.allow_hijacking_localhost": True,
}


def prepare_thunderbird(folder, urls):
    """A mail folder for each feed, as Thunderbird's own dialogue makes it; news is looked for each minute."""
    mail = folder / "profile" / "Mail" / "Feeds"
    mail.mkdir(parents=True)
    (folder / "urls").write_text("\n".join(urls))
    (folder / "profile" / "prefs.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in THUNDERBIRD.items()))
    updates = {"enabled": True, "updateMinutes": 1, "updateUnits": "min", "lastUpdateTime": None, "lastDownloadTime": None}
    (mail / "feeds.json").write_text(json.dumps([
        {"url": url, "title": f"feed{at}", "destFolder": f"mailbox://nobody@Feeds/feed{at}", "options": {"version": 2, "updates": updates}}
        for at, url in enumerate(urls)]))
    for at in range(len(urls)):
        (mail / f"feed{at}").write_bytes(b"")


def thunderbird(folder, _):
    """Its subjects are UTF-8 as they are."""
    urls = (folder / "urls").read_text().split("\n")
    return [(url, dict(mail.raw_items())["Subject"].encode("ascii", "surrogateescape").decode("utf-8", "replace"))
            for at, url in enumerate(urls) for mail in mailbox.mbox(folder / "profile" / "Mail" / "Feeds" / f"feed{at}")]
