/* Owns what to do about an errno that a path or an address of the configuration met, as messages end with it.
 * Must not know: options. */
#ifndef UTFEED_PROXY_SERVER_FAULT_ADVICE_H
#define UTFEED_PROXY_SERVER_FAULT_ADVICE_H

/* Text that begins with "; ". */
const char *fault_advice_path(int fault);
const char *fault_advice_address(int fault);

#endif
