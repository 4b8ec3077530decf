/* Owns reading a Structured Fields dictionary, strictly: a fault anywhere makes the whole of it invalid. Pure.
 * Must not know: what the members mean. Source: RFC 9651 section 4.2. */
#ifndef UTFEED_PROXY_HTTP_SF_DICT_H
#define UTFEED_PROXY_HTTP_SF_DICT_H

#include <stdint.h>

#include "proxy/base/slice.h"

enum sf_type { SF_BOOLEAN, SF_INTEGER, SF_DECIMAL, SF_STRING, SF_TOKEN, SF_BYTES, SF_DATE, SF_DISPLAY, SF_INNER_LIST };

struct sf_member {
	/* text: a string without its quotes but with its escapes, or a token as it stands */
	struct slice key, text;
	enum sf_type type;
	int64_t number;                /* an integer or a date; a boolean is 0 or 1 */
};

/* Calls each() for every member in turn (a later one of the same key overrides); parameters are read and dropped.
 * False: it is not a dictionary; members that each() saw before do not count. */
bool sf_dict_read(struct slice, void (*each)(void *arg, const struct sf_member *), void *arg);

#endif
