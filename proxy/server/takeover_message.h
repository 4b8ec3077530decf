/* Owns the messages between two utfeeds when one takes over from the other: a word, a short text and descriptors in one
 * packet of a SOCK_SEQPACKET socket (unix(7)). Must not know: what a message leads to.
 * Invariant: descriptors that came with a message that is refused are closed. */
#ifndef UTFEED_PROXY_SERVER_TAKEOVER_MESSAGE_H
#define UTFEED_PROXY_SERVER_TAKEOVER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* From the next process: HELLO, READY; from the former one: the others, as far as NO. */
enum takeover_word {
	TAKEOVER_HELLO,                /* the version of these messages */
	TAKEOVER_SOCKET,               /* the kind of those that come along, and " held" where a manager has them */
	TAKEOVER_PATH,                 /* the listening socket of takeover-socket itself comes along */
	TAKEOVER_NOTIFY,               /* WATCHDOG_USEC and NOTIFY_SOCKET */
	TAKEOVER_END,                  /* those were all */

	TAKEOVER_READY,                /* for each TAKEOVER_SOCKET 1 or 0: it is served from now on, or not taken */
	TAKEOVER_BYE,                  /* nothing is accepted here any more */
	TAKEOVER_NO,                   /* why the former process goes on by itself */

	/* with a process that does not take over: */
	TAKEOVER_RELOAD,               /* read the configuration again */
	TAKEOVER_TRY,                  /* say what a reload would do */
	TAKEOVER_SAID,                 /* answer: level and text of one message */
	TAKEOVER_RESULT,               /* after these: the result's word and the configuration file */
	TAKEOVER_WORDS
};

#define TAKEOVER_VERSION "1"

/* FDS_MAX: the kernel's limit for one message (SCM_MAX_FD). OFFERS_MAX: the text of TAKEOVER_READY has a byte for each
 * address. */
enum { TAKEOVER_TEXT_MAX = 1200, TAKEOVER_FDS_MAX = 253, TAKEOVER_OFFERS_MAX = 200 };

struct takeover_message {
	enum takeover_word word;
	char text[TAKEOVER_TEXT_MAX];  /* without control characters */
	int fds[TAKEOVER_FDS_MAX];     /* the receiver's */
	size_t n_fds;
};

/* Reads "WORD" or "WORD TEXT" into word and text. false: it is not a message. */
bool takeover_parse(const char *bytes, size_t len, struct takeover_message *);

/* -1: errno says why. */
int takeover_send(int fd, enum takeover_word, const char *text, const int *fds, size_t n_fds)
    __attribute__((warn_unused_result));
/* 1: a message; 0: the other end is closed; -1: errno says why (EBADMSG: it was not a message). */
int takeover_receive(int fd, struct takeover_message *) __attribute__((warn_unused_result));
/* Closes the descriptors from number i on. */
void takeover_drop(struct takeover_message *, size_t i);

#endif
