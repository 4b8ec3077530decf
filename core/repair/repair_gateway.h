/* Owns which URLs of a feed are rewritten to pass through a gateway, for readers that cannot do TLS: those of
 * enclosures and images (enclosures.def) that begin with "https://".
 * Must not know: streams, requests. Private to repair_*.c, except gateway_fits().
 * Invariant: a URL that has the gateway already is not rewritten again. The answer for a text holds for every longer
 * text, too, unless it says that the text was cut. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_GATEWAY_H
#define UTFEED_CORE_REPAIR_REPAIR_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair_tag.h"

enum { GATEWAY_MAX = 1024 };

enum gateway_answer { GATEWAY_NO, GATEWAY_YES, GATEWAY_CUT };

/* Whether the text is of characters that mean nothing in XML, so that it may stand in a value, a text or a section as
 * it is, and is no longer than GATEWAY_MAX. */
bool gateway_fits(const char *gateway);
/* Whether an element of that name may have a URL as its text. */
bool gateway_may_have_text(const uint8_t *name, size_t len);
/* Whether it has, in that parent. */
bool gateway_has_text(const uint8_t *name, size_t len, const uint8_t *parent, size_t parent_len);
/* Where in the start tag that was read the gateway goes, before the URL of a value; 0: nowhere. */
size_t gateway_in_tag(const char *gateway, const struct tag *, const uint8_t *in);
/* Whether a URL to be led through the gateway starts here. plain: the text is a CDATA section, which has no
 * references. */
enum gateway_answer gateway_takes(const char *gateway, const uint8_t *in, size_t len, bool plain);

#endif
