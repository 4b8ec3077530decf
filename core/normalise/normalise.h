/* Owns the facade of core: response bytes in, UTF-8 bytes out, one decision, one report.
 * Must not know: sockets, files, clocks. Memory per stream is bounded by sniff_bytes and constants.
 * Invariant: output, decision and report do not depend on how the input was cut. */
#ifndef UTFEED_CORE_NORMALISE_NORMALISE_H
#define UTFEED_CORE_NORMALISE_NORMALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/policy.h"
#include "core/repair/repair.h"

enum normalise_output { OUTPUT_UTF_8, OUTPUT_US_ASCII /* numeric references; see ascii.h for CDATA and comments */ };
/* The Content-Type of a feed that was normalised, and the charset in it. The declaration, where there is one, names the
 * same charset. */
const char *normalise_content_type(enum normalise_output);
const char *normalise_charset(enum normalise_output);

/* What becomes of C0 controls that XML forbids; other forbidden characters become U+FFFD. */
enum normalise_characters { CHARACTERS_DROP, CHARACTERS_REPLACE };

enum normalise_on_error { ON_ERROR_REJECT, ON_ERROR_PASS };

struct spares;

struct normalise_options {
	enum policy policy;
	/* a route's charset, which decides under `auto` (path "external") and 4suite; CS_NONE: none */
	enum charset forced;
	bool http;                          /* false: a file */
	const char *content_type;           /* borrowed for the life of the normaliser; NULL: there is no such field */
	size_t content_type_len;
	/* the type is not the body's own (gzip came under it, say): only the root of a feed makes it a feed */
	bool unpacked;
	const char *content_language;       /* borrowed likewise; NULL: there is no such field */
	size_t content_language_len;
	size_t sniff_bytes;                 /* Size of the window; 0: NORMALISE_SNIFF_BYTES. */
	bool patient;                       /* Nothing is written before the window is full, or the body ends. */
	unsigned repairs;                   /* REPAIR_* bits. */
	const char *base;                   /* The URL of the body, borrowed likewise; NULL: it has none. */
	/* The gateway of URLs of enclosures and images (repair_set_gateway()), borrowed likewise; NULL: they
	 * stay as they are. */
	const char *gateway;
	enum normalise_characters characters;
	enum normalise_output output;
	enum normalise_on_error on_error;
	struct spares *spares;              /* memory of the caller's thread, borrowed likewise; NULL: none */
};

/* What the options tell of the language of the body. */
struct hints_told normalise_told(const struct normalise_options *);

enum { NORMALISE_SNIFF_BYTES = 65536, NORMALISE_REWINDOW_BYTES = 4096 };

struct normalise_report {
	uint64_t bytes_in, bytes_out;
	uint64_t malformed;                 /* sequences replaced by U+FFFD or read as windows-1252 */
	uint64_t others;                    /* `auto`, UTF-8: nodes that were read as another charset (mixed.h) */
	uint64_t repairs[REPAIR_COUNT];
	uint64_t led;                       /* URLs that were led through the gateway */
	uint64_t lost;                      /* characters that were written as "_" with OUTPUT_US_ASCII */
	/* the verdict was corrected at the first non-ASCII bytes (utfeed-rules(7), "Steps of auto") */
	bool revised;
};

/* Calls of the normaliser to its owner. decided() is called exactly once, before the first byte is written; revised()
 * at most once, later, and it may be NULL. A non-zero result of any of them stops the normaliser, which returns it. */
struct normalise_events {
	int (*decided)(void *arg, const struct verdict *);
	int (*revised)(void *arg, const struct verdict *);
	int (*write)(void *arg, const uint8_t *bytes, size_t len);
	void *arg;
};

enum { NORMALISE_OK = 0, NORMALISE_NO_MEMORY = -1, NORMALISE_REJECTED = -2 };

struct normaliser;
/* NULL: out of memory */
struct normaliser *normaliser_new(const struct normalise_options *, const struct normalise_events *);
void normaliser_free(struct normaliser **);
/* Takes all of in. NORMALISE_REJECTED: the policy ended in an error and on_error is REJECT (decided was called; nothing
 * written). */
int normaliser_feed(struct normaliser *, const uint8_t *in, size_t len) __attribute__((warn_unused_result));
int normaliser_finish(struct normaliser *) __attribute__((warn_unused_result));
/* Takes the last bytes and finishes. A body that comes by this call alone is judged where it is, not copied first. */
int normaliser_feed_last(struct normaliser *, const uint8_t *in, size_t len) __attribute__((warn_unused_result));
/* Nobody knows whether the bytes fed are all of the body: a document that is open at their end is not closed. */
void normaliser_leave_end(struct normaliser *);
/* As repair_is_open(). */
bool normaliser_is_open(const struct normaliser *);
/* As repair_is_over(): all that is left to do is normaliser_finish(). */
bool normaliser_is_over(const struct normaliser *);
/* NULL until decided. */
const struct verdict *normaliser_verdict(const struct normaliser *);
const struct normalise_report *normaliser_report(const struct normaliser *);

#endif
