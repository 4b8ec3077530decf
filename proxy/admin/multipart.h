/* Owns finding one file in a body of multipart/form-data, as a browser sends a form with a file.
 * Must not know: what the file is. Pure. Source: RFC 7578, RFC 2046 section 5.1.1. */
#ifndef UTFEED_PROXY_ADMIN_MULTIPART_H
#define UTFEED_PROXY_ADMIN_MULTIPART_H

#include "proxy/base/slice.h"

struct multipart_part {
	struct slice content; /* at NULL: the body has no such part, or is of another type */
	struct slice file;    /* the name that the browser gives the file; at NULL: none */
};

/* The first part called name. */
struct multipart_part multipart_find(struct slice content_type, struct slice body, const char *name);

#endif
