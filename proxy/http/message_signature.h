/* Owns the texts of HTTP Message Signatures: the signature base, which is signed, and the fields that carry a
 * signature.
 * Must not know: keys, what is covered and why. Pure. Source: RFC 9421 sections 2.3, 2.5 and 4. */
#ifndef UTFEED_PROXY_HTTP_MESSAGE_SIGNATURE_H
#define UTFEED_PROXY_HTTP_MESSAGE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* A component that the signature covers. params: as they stand behind the name, such as ";req"; "": none. */
struct signature_component { const char *name, *params; struct slice value; };
/* A parameter of the signature. text NULL: it is the number. */
struct signature_param { const char *name, *text; int64_t number; };

struct signature {
	const struct signature_component *components;
	size_t n_components;
	const struct signature_param *params;
	size_t n_params;
};

/* Both return false if a value cannot stand there; what was written does not count then. */
bool signature_write_base(struct text *, const struct signature *) __attribute__((warn_unused_result));
/* The lines Signature-Input and Signature, under that label. bytes: the signature of the base. */
bool signature_write_fields(struct text *, const char *label, const struct signature *, struct slice bytes)
    __attribute__((warn_unused_result));

#endif
