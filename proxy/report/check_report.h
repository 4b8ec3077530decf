/* Owns the shape of what a body was found to be: evidence, verdicts, text before and after, what to fix. The terminal's
 * text, JSON and HTML are made of it (check_text.h, check_json.h, check_html.h).
 * Must not know: how it was found (check.h), how it is shown.
 * Invariant: every text that says so has a peer's bytes, which no reader of a report shows unescaped. */
#ifndef UTFEED_PROXY_REPORT_CHECK_REPORT_H
#define UTFEED_PROXY_REPORT_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/normalise/normalise.h"
#include "core/policy/policy_explain.h"
#include "proxy/base/text.h"
#include "proxy/report/check_dump.h"
#include "proxy/report/check_prolog.h"
#include "proxy/report/strays.h"

enum { CHECK_FIRST_BYTES = 32, CHECK_TEXT_MAX = 3 * EXCERPT_BYTES + 64, CHECK_HOPS_MAX = 24 };

/* A redirect on the way to the body; peers' bytes. */
struct check_hop {
	unsigned status;
	char *url, *location;       /* where it was, and the Location it sent, which may be "" */
};

/* How a URL answered. All texts are terminated. */
struct check_response {
	const char *url;            /* as asked for */
	const char *final;          /* where redirects led, or url */
	unsigned status;
	size_t n_hops;
	struct check_hop hops[CHECK_HOPS_MAX];
	const char *head;           /* a peer's: the final head as it came, lines ended by CRLF or LF */
	size_t head_len;
};

struct check_report {
	const char *file;                       /* a peer's, it may be: a name, or a URL */
	const char *content_type;               /* a peer's; NULL: none, or no HTTP */
	bool http;                              /* false: no server's label was seen */
	const struct check_response *response;  /* NULL: not fetched from a URL */
	uint8_t first[CHECK_FIRST_BYTES];
	size_t first_len;
	struct check_dump start, around;        /* the first bytes, and those around the first beyond ASCII */
	const struct evidence *evidence;
	struct verdict verdicts[POLICY_COUNT];
	enum policy leaders[POLICY_COUNT];      /* of each verdict the first that comes to the same text */
	const struct verdict *result;           /* the verdict of `auto`, as in the proxy */
	struct check_prolog prolog;
	bool unpacked;                          /* the body was unpacked from gzip without a Content-Encoding */
	bool misnamed;                          /* the response names a content coding that utfeed does not know. */
	bool damaged;                           /* That gzip ended early, or it was not gzip to its end. */
	const struct strays *strays;            /* The bytes that are not UTF-8; NULL: the body is another charset */
	const struct normalise_report *found;   /* by the normaliser, as in the proxy */

	/* The piece around the first bytes beyond ASCII as valid UTF-8, a peer's: as the label would have shown it, and
	 * as utfeed sends it. "": there is none. label: the charset by which `before` was read; NULL: the label is an
	 * error. */
	char before[CHECK_TEXT_MAX], after[CHECK_TEXT_MAX];
	const char *label;
	bool beyond;                            /* there are bytes beyond ASCII, or escapes of ISO-2022 */
	bool normalised;                        /* false: left untouched, or an error */
	const char *fault;                      /* why the normalised document is not well-formed; NULL: it is */
	unsigned long fault_line;
	const struct policy_explanation *explanation;   /* of auto; NULL: nobody asks */
};

/* The charset that the policy gives as published, by which other programs can be compared; NULL: none. */
const char *check_published(const struct verdict *);
/* Whether two verdicts call the charset the same. */
bool check_same_name(const struct verdict *, const struct verdict *);
/* Whether a verdict comes to the same text as auto's, or to the same error. */
bool check_agrees(const struct check_report *, enum policy);
/* How a verdict stands beside auto's, in a word or two. */
const char *check_beside_auto(const struct check_report *, enum policy);

/* Whether a known label is right for the body. While all bytes are ASCII any charset that has ASCII is. */
bool check_label_fits(const struct charset_label *, const struct check_report *);
/* The declared encoding, wherever it stands. */
const struct evidence_label *check_declared(const struct check_report *);
/* Appends a peer's text within ours: no control character of it ends a line. */
void check_put_peer(struct text *, const char *);

/* Walks the words of a verdict's path. Start with at = verdict.path; false at the end. words: their meaning. */
struct check_step {
	char no[24];
	const char *words;
};
bool check_next_step(const struct verdict *, const char **at, struct check_step *);

#endif
