/* Owns evidence of a body that is there as a whole, for tests and benchmarks. Must not know: what it shows. */
#ifndef UTFEED_TESTS_UNIT_COLLECT_H
#define UTFEED_TESTS_UNIT_COLLECT_H

#include "core/evidence/evidence.h"

static inline void evidence_collect(struct evidence *e, bool http, const char *content_type, size_t content_type_len,
    enum charset forced, const uint8_t *bytes, size_t len, bool complete)
{
	evidence_labels(e, http, content_type, content_type_len, forced);
	evidence_look(e, bytes, len, complete);
	evidence_finish(e);
}

#endif
