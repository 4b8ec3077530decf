/* Owns which fields may stand in origin-fields: not those that utfeed writes itself, or that say something of the
 * message or the connection (headers.def).
 * Must not know: requests. */
#ifndef UTFEED_PROXY_SETTINGS_ORIGIN_FIELDS_H
#define UTFEED_PROXY_SETTINGS_ORIGIN_FIELDS_H

struct conf;

/* -1: a route has others, logged with its place. */
int origin_fields_check(const struct conf *) __attribute__((warn_unused_result));

#endif
