/* How an authority comes to be trusted, for people; see ca_trust.c. */
#ifndef UTFEED_PROXY_COMMAND_CA_TRUST_H
#define UTFEED_PROXY_COMMAND_CA_TRUST_H

#include <stdio.h>

/* key NULL: how to configure it is left out. */
void ca_trust_tell(FILE *, const char *cert, const char *key);

#endif
