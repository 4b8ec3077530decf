/* Owns the eight policies, each a const table under its published numbers (policy_*.c), and the verdict they give.
 * Must not know: sockets, files, how decoding is done (it may ask decoder_try() how bytes look).
 * Invariant: a published table is never patched; a deviation is another table with its reason.
 * Sources: those that utfeed-rules(7), POLICIES, names. */
#ifndef UTFEED_CORE_POLICY_POLICY_H
#define UTFEED_CORE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/evidence/evidence.h"

/*      id               name               summary */
#define POLICIES(X) \
	X(AUTO,             "auto", \
	    "ROME lenient's ladder held against the bytes, then Universal Feed Parser's tail; the default") \
	X(ROME_STRICT,      "rome-strict",     "ROME's HTTP rules 2.0-2.6 and raw rules 1.0-1.7; errors are errors") \
	X(ROME_LENIENT,     "rome-lenient",    "ROME strict, then its published lenient order") \
	X(ROME_2004_09_10,  "rome-2004-09-10", "ROME's first version, #1.0-#2.7, superseded a week later") \
	X(RFC7303,          "rfc7303",         "BOM, then charset parameter, then XML's own rules") \
	X(FEEDPARSER,       "feedparser",      "Universal Feed Parser: RFC 3023, then its list of retries") \
	X(FOURSUITE,        "4suite", \
	    "an external encoding decides, then charset, then text/* defaults, then the entity") \
	X(APPENDIX_F,       "appendix-f",      "the bytes alone: XML 1.0 Appendix F with every UCS-4 order and EBCDIC")

enum policy {
#define POLICY_ID(id, name, summary) POLICY_##id,
	POLICIES(POLICY_ID)
#undef POLICY_ID
	POLICY_COUNT
};

enum verdict_kind {
	VERDICT_CHARSET,            /* decode as .charset */
	VERDICT_ERROR,              /* the policy calls the body an error: .error */
	VERDICT_NONE                /* leave untouched: .reason */
};

enum verdict_error { VERR_NONE, VERR_MISMATCH, VERR_UNKNOWN_CHARSET, VERR_BOM_FORBIDDEN, VERR_BOM_MISSING, VERR_NOT_XML,
	VERR_UNDECODABLE };
enum verdict_reason { VREASON_NONE, VREASON_NOT_XML, VREASON_NO_TRANSFORM, VREASON_ENCODED, VREASON_STATUS,
	VREASON_EMPTY, VREASON_PARTIAL, VREASON_DISABLED };
/* Universal Feed Parser's bozo outcomes. */
enum verdict_outcome { OUTCOME_OK, OUTCOME_OVERRIDE, OUTCOME_UNKNOWN, OUTCOME_NONXML };

struct verdict {
	enum verdict_kind kind;
	enum policy policy;
	char path[48];              /* published numbers joined by "/", then overruling steps: "2.0/1.2", "2.5/bom" */
	/* what the body is decoded as, byte order resolved; CS_NONE with VERDICT_ERROR/NONE */
	enum charset charset;
	bool literal;               /* Published policies: by the codes of the set the label names (charset.h). */
	/* The name that `charset=` prints: the label's own (published policies) or the canonical one (auto; its
	 * us-ascii is decoded as windows-1252); static storage; NULL: none. */
	const char *named;
	/* VERR_UNKNOWN_CHARSET: the label as it was written. These are a peer's bytes: `check` shows them escaped, and
	 * they never go into a header */
	char unknown[64];
	/* the name that the published rules gave, where evidence (auto), `extended` or VERR_UNDECODABLE overruled it;
	 * NULL: none was overruled */
	const char *was;
	/* auto, where statistics decided: the second choice (CS_NONE: there was none in reach), and by how many nats
	 * the text speaks for the first (detector.h) */
	enum charset next;
	int margin;
	/* auto, where the charset is UTF-8: that of the nodes which are not, and how many of them were held when it
	 * was decided (nodes.h); CS_NONE and 0: none was */
	enum charset also;
	size_t mixed;
	int says_utf_8;             /* `auto`: what labels say for UTF-8, where none says otherwise (nodes.h). */
	bool feed;                  /* The body is a feed by its own markup, whatever its type (sniff_is_feed()). */
	/* The body is XML of another kind than feeds: decoded, its media type stays (normalise/document.h). */
	bool keeps_type;
	/* rome-strict, rome-lenient: a UCS-4 or EBCDIC body, for which the published name can only be wrong */
	bool extended;
	/* With VERDICT_ERROR: why a charset is missing. Beside a charset it only informs: the published text reports
	 * the fault and says how to go on (appendix-f), so the body is decoded and on-error does not apply. */
	enum verdict_error error;
	enum verdict_reason reason;
	enum verdict_outcome outcome;
};

/* -1: without a verdict, because memory or descriptors were missing for a question of the policy about the bytes. */
int policy_decide(enum policy, const struct evidence *, struct verdict *) __attribute__((warn_unused_result));
/* A verdict that leaves the body alone. */
void verdict_untouched(struct verdict *, enum policy, enum verdict_reason);

const char *policy_name(enum policy);
const char *policy_summary(enum policy);
int policy_lookup(const char *name, size_t len) __attribute__((warn_unused_result));  /* enum policy, or -1 */
const char *verdict_error_name(enum verdict_error);     /* "mismatch", ...; NULL for VERR_NONE */
const char *verdict_reason_name(enum verdict_reason);   /* "not-xml", ... */
const char *verdict_outcome_name(enum verdict_outcome); /* "ok", "override", ... */

/* The rule token alone, "rome-strict:2.0/1.2"; "none" for VERDICT_NONE. Returns its length; buf always terminated. */
size_t verdict_rule(const struct verdict *, char *buf, size_t cap);
/* The whole X-Encoding-Rule value (utfeed-rules(7), X-ENCODING-RULE). */
size_t verdict_format(const struct verdict *, char *buf, size_t cap);
enum { VERDICT_FORMAT_MAX = 256 };

#endif
