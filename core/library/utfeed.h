/* libutfeed: bytes of an XML feed in, UTF-8 out, as utfeed(1) does it. A stream may be cut anywhere; the library opens
 * no sockets and starts no threads.
 * Shapes: struct utfeed is opaque; names and values are the words of utfeed.conf(5). Sizes are bytes.
 * Ownership: utfeed_new() gives a stream to its caller, utfeed_free() takes it back. Whatever is given to a function is
 * copied or used up before it returns; text that a function returns is the library's.
 * Threads: any number of streams in any threads, each stream in one at a time.
 * Errors: functions that can fail return a utfeed_result; once feed or finish has failed, every later one returns the
 * same. */
#ifndef UTFEED_H
#define UTFEED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef UTFEED_API
#define UTFEED_API
#endif

enum utfeed_result {
	UTFEED_OK = 0,
	UTFEED_NO_MEMORY = -1,      /* Or the system lacks a converter (iconv). */
	UTFEED_REJECTED = -2,       /* The policy calls it an error, and on-error is reject; nothing was written. */
	UTFEED_STOPPED = -3,        /* write() returned something else than 0. */
	UTFEED_BAD_NAME = -4,       /* There is no such setting. */
	UTFEED_BAD_VALUE = -5,      /* The setting has no such value. */
	UTFEED_TOO_LATE = -6        /* A setting after the first feed, or a feed after the end. */
};
/* What a result means, in English; static storage. */
UTFEED_API const char *utfeed_result_text(int result);
/* The version of the library, "1.2.3"; static storage. */
UTFEED_API const char *utfeed_version(void);

struct utfeed;

/* Takes bytes of the output, in order; they are valid during the call. Anything but 0 stops the stream. arg is that of
 * utfeed_new(). Of its own stream it may ask what was found, and nothing else. */
typedef int (*utfeed_write_f)(void *arg, const void *bytes, size_t len);

/* A stream under policy auto with all its repairs; NULL: out of memory. */
UTFEED_API struct utfeed *utfeed_new(utfeed_write_f write, void *arg);
/* Frees a stream in any state; NULL is fine. */
UTFEED_API void utfeed_free(struct utfeed *);

/* Sets one of these, before the first feed. Unless content-type is set, the body is a file's.
 *  content-type      the field of the response that the body came in; NULL: the response has none
 *  content-language  the field of that name; NULL: there is none
 *  base              the URL of the body, for xml:base: sets the repair base, too; NULL: neither
 *  policy            auto, rome-strict ... (utfeed policies)
 *  charset           the encoding the body is in, whatever it says, under auto and 4suite: a label (utfeed charsets),
 *                    or none
 *  repair            names with commas between, each also with a minus; all; none
 *  characters        drop, replace
 *  output            utf-8, us-ascii
 *  on-error          reject, pass
 *  sniff-bytes       the window that is looked at before anything is written, 1024 to 1048576 */
UTFEED_API int utfeed_set(struct utfeed *, const char *name, const char *value);

/* Takes all of the bytes. */
UTFEED_API int utfeed_feed(struct utfeed *, const void *bytes, size_t len);
/* The body has ended: writes what is left. */
UTFEED_API int utfeed_finish(struct utfeed *);

/* What was found. It is decided before the first byte is written, and may be revised once, later; after
 * utfeed_finish() it is final. */

/* 1: the output is the feed in UTF-8, or another document that was decoded as its labels say.
 * 0: the output is the input, because it is not a feed, or an error by the policy. Gzip is not unpacked.
 * -1: undecided yet. */
UTFEED_API int utfeed_is_feed(const struct utfeed *);
/* The encoding the body was read as, "windows-1251"; NULL: none, or undecided; static storage. */
UTFEED_API const char *utfeed_charset(const struct utfeed *);
/* The rule that decided, as X-Encoding-Rule has it (utfeed-rules(7)); NULL: undecided. Valid until the next call for
 * this stream. */
UTFEED_API const char *utfeed_rule(struct utfeed *);
/* The Content-Type of the output; NULL: that of the input, which stays right. It lasts as long as the stream. */
UTFEED_API const char *utfeed_content_type(const struct utfeed *);
/* How many: bytes-in, bytes-out, malformed (sequences replaced), others (nodes read as another charset), lost
 * (characters that us-ascii output has no form for), or the name of a repair. 0 for any other name. */
UTFEED_API uint64_t utfeed_count(const struct utfeed *, const char *name);

#ifdef __cplusplus
}
#endif

#endif
