/* libutfeed turns the bytes of an XML feed into UTF-8, as the program utfeed(1) does. It opens no sockets and starts no
 * threads. libutfeed(3) is its manual page.
 *
 * There are three ways to use it:
 *  at once   Call utfeed_normalise() with a whole body. Take the result with utfeed_output().
 *  pull      Call utfeed_new(NULL, NULL), utfeed_feed() and utfeed_finish(). Take the output with utfeed_read().
 *  push      Call utfeed_new(write, arg), utfeed_feed() and utfeed_finish(). The library calls write() with the output.
 * The result is the same in all three ways, and does not depend on how the input was cut.
 *
 * Ownership: utfeed_new() and utfeed_normalise() give a stream to the caller, who frees it with utfeed_free(). The
 * library copies the arguments that it needs later. Text that a function returns belongs to the library.
 * Threads: different streams may be used in different threads at the same time. One stream is not locked: only one
 * thread may use it at a time.
 * Errors: a function that can fail returns an enum utfeed_result. When utfeed_feed() or utfeed_finish() has failed,
 * every later call of both returns the same error.
 * Memory: a stream holds sniff-bytes of input, and tables of fixed size. Without write() it also holds the output that
 * the program has not read yet. Decoding makes at most 3 bytes of one; repairs and output = us-ascii can add more.
 * C++: write() must not throw. */
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
	UTFEED_NO_MEMORY = -1,      /* Out of memory, or the system lacks a converter (iconv). */
	UTFEED_REJECTED = -2,       /* The policy ends in an error, and on-error is reject. The output is empty. */
	UTFEED_STOPPED = -3,        /* write() did not return 0. */
	UTFEED_BAD_NAME = -4,       /* The name of the setting is unknown. */
	UTFEED_BAD_VALUE = -5,      /* The setting cannot have that value. */
	UTFEED_TOO_LATE = -6        /* utfeed_set() after the first feed, or utfeed_feed() after utfeed_finish(). */
};
/* Explains a result in English. The text is static. */
UTFEED_API const char *utfeed_result_text(int result);
/* The version of the library, such as "1.2.3". The text is static. */
UTFEED_API const char *utfeed_version(void);

struct utfeed;

/* Takes the next bytes of the output. They are valid during the call only. A result other than 0 stops the stream. arg
 * is the one of utfeed_new(). The function may call what stands under "What was found" below for its own stream, and
 * no other function for it. */
typedef int (*utfeed_write_f)(void *arg, const void *bytes, size_t len);

/* Makes a stream with policy auto and all its repairs. With write == NULL the stream keeps its output for utfeed_read()
 * and utfeed_output(). Returns NULL when out of memory. */
UTFEED_API struct utfeed *utfeed_new(utfeed_write_f write, void *arg);
/* Frees a stream in any state. NULL is allowed. */
UTFEED_API void utfeed_free(struct utfeed *);

/* Reads a whole body at once, with policy auto and all its repairs. The len bytes are not needed after the call; bytes
 * may be NULL when len is 0. content_type is the header field that came with the body; NULL: the body is a file.
 * On success *out is a finished stream: utfeed_output() has the result, and utfeed_rule() and the others explain it.
 * On failure *out is NULL. out itself must not be NULL. */
UTFEED_API int utfeed_normalise(const void *bytes, size_t len, const char *content_type, struct utfeed **out);

/* Sets one of these, before the first utfeed_feed(). When content-type is not set, the body is a file.
 *  content-type      The field of the response that the body came in. NULL: the response has none.
 *  content-language  The field of that name. NULL: there is none.
 *  base              The URL of the body, for xml:base: sets the repair base, too. NULL: neither.
 *  policy            One of `utfeed policies`: auto, rome-strict ...
 *  charset           The encoding the body is in, whatever it says, under auto and 4suite. A label (utfeed charsets),
 *                    or none.
 *  repair            Names with commas between, each also with a minus. Or all, or none.
 *  characters        One of drop, replace.
 *  output            One of utf-8, us-ascii.
 *  on-error          One of reject, pass.
 *  sniff-bytes       The window that is looked at before anything is written, 1024 to 1048576. */
UTFEED_API int utfeed_set(struct utfeed *, const char *name, const char *value);

/* Reads the next len bytes of the body, always all of them. bytes may be NULL when len is 0. */
UTFEED_API int utfeed_feed(struct utfeed *, const void *bytes, size_t len);
/* Says that the body has ended, and writes the rest of the output. */
UTFEED_API int utfeed_finish(struct utfeed *);

/* Moves at most size bytes of the output into buffer, and returns how many. 0 means that there are none: feed more, or,
 * after utfeed_finish(), the output has ended. A stream with a write() has nothing to read. */
UTFEED_API size_t utfeed_read(struct utfeed *, void *buffer, size_t size);
/* All output that has not been read yet, and its length in *len. A zero byte, which does not count, follows it. Never
 * NULL. Valid until the next utfeed_feed(), utfeed_finish(), utfeed_read() or utfeed_free() of this stream. */
UTFEED_API const char *utfeed_output(const struct utfeed *, size_t *len);

/* What was found. The library decides it before it writes the first byte, and may revise it once, later. After
 * utfeed_finish() it is final. */

/* Returns 1 when the output is the feed in UTF-8, or another document that was decoded as its labels say.
 * Returns 0 when the output is the input, because it is not a feed, or an error by the policy. Gzip is not unpacked.
 * Returns -1 while that is undecided. */
UTFEED_API int utfeed_is_feed(const struct utfeed *);
/* The encoding the body was read as, "windows-1251"; NULL: none, or undecided; static storage. */
UTFEED_API const char *utfeed_charset(const struct utfeed *);
/* The rule that decided, as X-Encoding-Rule has it (utfeed-rules(7)); NULL: undecided. Valid until the next call for
 * this stream. */
UTFEED_API const char *utfeed_rule(struct utfeed *);
/* The Content-Type of the output; NULL: that of the input, which stays right. It lasts as long as the stream. */
UTFEED_API const char *utfeed_content_type(const struct utfeed *);
/* What utfeed_count() returns when the name is unknown. */
#define UTFEED_NO_COUNT UINT64_MAX
/* A counter: bytes-in, bytes-out, malformed (sequences replaced), others (nodes read as another charset), lost
 * (characters that us-ascii output cannot express), or the name of a repair. */
UTFEED_API uint64_t utfeed_count(const struct utfeed *, const char *name);

#ifdef __cplusplus
}
#endif

#endif
