/* Owns ${NAME} and $$ in values of the configuration file.
 * Must not know: files, options, what a value means.
 * Invariant: what a variable holds goes into the value as it is: it is neither expanded again nor read as syntax. */
#ifndef UTFEED_CONF_CONF_EXPAND_H
#define UTFEED_CONF_CONF_EXPAND_H

#include <stddef.h>

struct conf_error;

/* The text with ${NAME} replaced by that variable of envp, ${NAME:-TEXT} by the variable or else TEXT, and $$ by $. A $
 * before anything else stands for itself. An empty variable counts as absent. The caller frees it. NULL with the error:
 * a variable is absent, no name stands behind ${, or the result is longer than 64 KiB. */
char *conf_expand(const char *text, char *const *envp, struct conf_error *);

/* The text of which conf_expand() makes this one; the caller frees it. NULL: out of memory. */
char *conf_expand_escape(const char *text, size_t len);

#endif
