"""Universal Feed Parser (Python): asks conditionally by the ETag and the date of the last poll, kept in ./state."""
import json
import pathlib
import sys

import feedparser


kept = pathlib.Path("state")
state = json.loads(kept.read_text()) if kept.exists() else {}
for url in sys.argv[1:]:
    last = state.get(url, {})
    feed = feedparser.parse(url, etag=last.get("etag"), modified=last.get("modified"))
    if feed.get("status") == 304:
        continue
    state[url] = {"etag": feed.get("etag"), "modified": feed.get("modified")}
    for title in [feed.feed.get("title", ""), *(entry.get("title", "") for entry in feed.entries)]:
        print(url, title, sep="\t")
kept.write_text(json.dumps(state))
