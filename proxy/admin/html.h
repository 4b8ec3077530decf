/* Owns the frame of the admin listener's pages: head, style, navigation, and how numbers, times and charts are shown.
 * Must not know: what is shown.
 * Invariant: a page fetches nothing from elsewhere and runs no script. ADMIN_HTML_POLICY names its two styles by their
 * hashes, that of reports and that of pages (tests/e2e/test_admin_page.py compares them). */
#ifndef UTFEED_PROXY_ADMIN_HTML_H
#define UTFEED_PROXY_ADMIN_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proxy/report/check_html_style.h"

#define ADMIN_HTML_TYPE "text/html; charset=utf-8"
/* Sources: CSP Level 3; the other fields keep pages out of frames and their addresses to themselves. */
#define ADMIN_HTML_HASH "sha256-J8YnNdtyyqjqX8i7REoVnGs4SPaCbo/j/QYwXcbQM8g="
#define ADMIN_HTML_POLICY \
	"Content-Security-Policy: default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'self'; " \
	"frame-ancestors 'none'; " \
	"style-src '" CHECK_HTML_STYLE_HASH "' '" ADMIN_HTML_HASH "'\r\nReferrer-Policy: same-origin\r\n"

/* Writes everything up to the page's content. here: the path of the page, which the navigation marks. */
void html_begin(FILE *, const char *title, const char *here);
void html_end(FILE *);

/* "1.2 GB", "17 kB" (powers of 1000), "999". */
void html_bytes(FILE *, uint64_t);
/* "12 s", "5 min", "2 h", "3 d". */
void html_span(FILE *, int64_t seconds);
/* A moment beside now: "12 s ago", "in 5 min"; at 0: "-". */
void html_moment(FILE *, int64_t at, int64_t now);
/* text as a part of a query, percent-encoded; safe in an attribute with double quotes. */
void html_query(FILE *, const char *text);

/* A chart of n values, the latest at the right, under its title; what: its latest value in words, for people and
 * screen readers. */
void html_chart(FILE *, const char *title, const char *what, const double *values, size_t n);

#endif
