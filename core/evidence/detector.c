/* Owns the statistical detector, uchardet; the only file that includes its header.
 * Must not know: labels' rank, or policies.
 * Invariant: a charset that it returns can be decoded. It is known to be weak on short texts; callers must allow for
 * that. */
#include "core/evidence/detector.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <uchardet/uchardet.h>

#include "core/evidence/detector_memory.h"
#include "core/text/utf8.h"

enum {
	DETECTOR_MAX_BYTES = 8192,
	DETECTOR_ENOUGH = 1024,     /* bytes beyond ASCII */
	DETECTOR_LEAD = 64          /* ASCII bytes of context before the first that is not */
};

int detector_guess(const uint8_t *bytes, size_t len, enum charset *guess)
{
	const struct charset_label *label = NULL;
	size_t first = utf8_ascii_prefix(bytes, len);
	uchardet_t detector;
	bool starved;
	const char *name;

	*guess = CS_NONE;
	if (first == len)
		first = 0;
	first = first > DETECTOR_LEAD ? first - DETECTOR_LEAD : 0;
	bytes += first, len -= first;
	len = utf8_sample(bytes, len < DETECTOR_MAX_BYTES ? len : DETECTOR_MAX_BYTES, DETECTOR_ENOUGH);
	if (!detector_memory_take())
		return -1;
	errno = 0;
	detector = uchardet_new();
	if (uchardet_handle_data(detector, (const char *)bytes, len) == 0) {
		uchardet_data_end(detector);
		name = uchardet_get_charset(detector);
		label = strcmp(name, "ASCII") == 0 ? NULL : charset_lookup(name, strlen(name));
	}
	/* uchardet calls malloc(), too, and where that fails it silently leaves a prober out. */
	starved = errno == ENOMEM;
	uchardet_delete(detector);
	detector_memory_give();
	if (starved)
		return -1;
	if (label != NULL)
		*guess = label->charset;
	return 0;
}
