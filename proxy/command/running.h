/* Owns asking a running utfeed to read its configuration again, or what would come of that. Must not know: how it does.
 * Invariant: the answer comes from the process that runs; nothing is guessed from files. It is written as text that a
 * terminal does not obey. */
#ifndef UTFEED_PROXY_COMMAND_RUNNING_H
#define UTFEED_PROXY_COMMAND_RUNNING_H

#include <stdbool.h>

#include "proxy/settings/reload_report.h"

struct conf;

/* The ways to name a running utfeed. */
#define RUNNING_FORMS "the /PATH of its takeover-socket, or http://ADDRESS:PORT or unix:/PATH of its admin listener"

/* running: one of RUNNING_FORMS. NULL: conf's takeover-socket is asked, else its admin-listen; it need not have loaded
 * without an error. The messages of the running utfeed go to standard error. The name of the configuration file that it
 * read goes to file, of PATH_MAX bytes, as it told it. RELOAD_RESULTS: it did not answer, and standard error says
 * why. */
enum reload_result running_reload(const struct conf *, const char *running, bool trial, char *file);

#endif
