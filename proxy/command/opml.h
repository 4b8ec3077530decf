/* Owns leading a reader's subscription list through a gateway: the xmlUrl of each outline gets the gateway before it.
 * Must not know: files, encodings (the text is UTF-8). Source: OPML 2.0, "Subscription lists"; XML 1.0 [14]-[21], [39]-
 * [44], [66]-[68].
 * Invariant: every byte but those values stays as it is, and rewriting the result again changes nothing. */
#ifndef UTFEED_PROXY_COMMAND_OPML_H
#define UTFEED_PROXY_COMMAND_OPML_H

#include "proxy/base/text.h"

enum opml_result { OPML_OK, OPML_NOT_OPML, OPML_NO_MEMORY };

struct opml_counts {
	size_t rewritten;
	size_t already;         /* that led through the gateway before */
	size_t left;            /* no http URL, or with what only a document type explains or XML forbids */
};

/* gateway: its URL without a slash at its end, terminated. Appends the new text. */
enum opml_result opml_rewrite(struct text *out, const char *text, size_t len, const char *gateway,
    struct opml_counts *);

#endif
