/* Owns the frame of the admin listener's pages: head, style, navigation, and how numbers and times are shown.
 * Must not know: what is shown.
 * Invariant: a page fetches nothing from elsewhere. It runs no script but ADMIN_HTML_SCRIPT, and it does without it.
 * The policies name the styles and the script by their hashes (tests/e2e/test_admin_page.py compares them). */
#ifndef UTFEED_PROXY_ADMIN_HTML_H
#define UTFEED_PROXY_ADMIN_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proxy/admin/html_style.h"
#include "proxy/report/check_html_style.h"

#define ADMIN_HTML_TYPE "text/html; charset=utf-8"
#define ADMIN_HTML_SCRIPT_HASH "sha256-BC0mwwrqDZcBlRnDZ2TRVi9GENXAME9697rm+y7vZPo="
/* Sources: CSP Level 3; the other fields keep pages out of frames and their addresses to themselves. */
#define ADMIN_HTML_POLICY_OF(script) \
	"Content-Security-Policy: default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'self'; " \
	"frame-ancestors 'none'; " script \
	"style-src '" CHECK_HTML_STYLE_HASH "' '" ADMIN_HTML_HASH "'\r\nReferrer-Policy: same-origin\r\n"
#define ADMIN_HTML_POLICY ADMIN_HTML_POLICY_OF("")
#define ADMIN_HTML_POLICY_SCRIPT ADMIN_HTML_POLICY_OF("script-src '" ADMIN_HTML_SCRIPT_HASH "'; ")
/* Gives each text that is there to be copied a button that copies it. The clipboard of a page that came without TLS
 * knows only the older way. */
#define ADMIN_HTML_SCRIPT \
	"for(const t of document.querySelectorAll('textarea[readonly]')){const b=document.createElement('button');" \
	"b.type='button';b.textContent='Copy';b.onclick=async()=>{try{await navigator.clipboard.writeText(t.value)}" \
	"catch{t.select();document.execCommand('copy')}b.textContent='Copied'};t.before(b)}"

/* Writes everything up to the page's content. here: the path of the page, which the navigation marks; instance: the
 * name of this utfeed. */
void html_begin(FILE *, const char *title, const char *here, const char *instance);
void html_end(FILE *);

/* "1.2 GB", "17 kB" (powers of 1000), "999". */
void html_bytes(FILE *, uint64_t);
/* "12 s", "5 min", "2 h", "3 d". */
void html_span(FILE *, int64_t seconds);
/* A moment beside now: "12 s ago", "now", "in 5 min"; at 0: "-". */
void html_moment(FILE *, int64_t at, int64_t now);
/* text as a part of a query, percent-encoded; safe in an attribute with double quotes. */
void html_query(FILE *, const char *text);

#endif
