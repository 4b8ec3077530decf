/* Parts of a whole response; see content_range.h. */
#include "proxy/http/content_range.h"

#include <string.h>
#include <strings.h>

#include "proxy/base/http_date.h"
#include "proxy/http/conditional.h"

enum { DIGITS_MAX = 18 };              /* an int64_t holds every number of 18 digits */

/* Reads the number at the front of s, which end must follow; s is moved behind both. end '\0': the number ends s. */
static bool take_number(struct slice *slice, char end, uint64_t *n)
{
	size_t i = 0;

	*n = 0;
	for (; i < slice->len && i <= DIGITS_MAX && slice->at[i] >= '0' && slice->at[i] <= '9'; i++)
		*n = *n * 10 + (uint64_t)(slice->at[i] - '0');
	if (!i || i > DIGITS_MAX || (end ? i == slice->len || slice->at[i] != end : i != slice->len))
		return false;
	*slice = (struct slice){ slice->at + i + 1, end ? slice->len - i - 1 : 0 };
	return true;
}

/* Section 14.6: in a multipart response each part has a Content-Range of its own, and one in the head does not
 * count. */
static bool is_multipart(const struct http_msg *m)
{
	static const char multipart[] = "multipart/";
	struct slice type = http_msg_get(m, H_CONTENT_TYPE);

	return type.len >= sizeof multipart - 1 && !strncasecmp(type.at, multipart, sizeof multipart - 1);
}

/* section 14.4 */
bool content_range_read(struct content_range *range, const struct http_msg *m)
{
	static const char unit[] = "bytes ";
	struct slice rest = http_msg_get(m, H_CONTENT_RANGE);

	if (http_msg_count(m, H_CONTENT_RANGE) != 1 || is_multipart(m) || rest.len < sizeof unit ||
	    strncasecmp(rest.at, unit, sizeof unit - 1))
		return false;
	rest = (struct slice){ rest.at + sizeof unit - 1, rest.len - (sizeof unit - 1) };
	return take_number(&rest, '-', &range->first) && take_number(&rest, '/', &range->last) &&
	    take_number(&rest, '\0', &range->total) && range->first <= range->last && range->last < range->total;
}

/* Section 8.8.2.2: Last-Modified is strong where the response was made after that second. */
static bool strong_date(const struct http_msg *m, int64_t now, int64_t *modified)
{
	int64_t date;

	return http_msg_count(m, H_LAST_MODIFIED) == 1 &&
	    http_date_read(http_msg_get(m, H_LAST_MODIFIED), now, modified) &&
	    http_date_read(http_msg_get(m, H_DATE), now, &date) && *modified < date;
}

bool content_range_same(const struct http_msg *a, const struct http_msg *b, int64_t now)
{
	int64_t modified_a, modified_b;

	if (http_msg_has(a, H_ETAG) || http_msg_has(b, H_ETAG))
		return http_msg_count(a, H_ETAG) == 1 && http_msg_count(b, H_ETAG) == 1 &&
		    etag_equal(http_msg_get(a, H_ETAG), http_msg_get(b, H_ETAG), true);
	return strong_date(a, now, &modified_a) && strong_date(b, now, &modified_b) && modified_a == modified_b;
}

bool content_range_join(struct content_range *whole, const struct content_range *a, const struct content_range *b)
{
	if (a->total != b->total || a->first > b->last + 1 || b->first > a->last + 1)
		return false;
	*whole = (struct content_range){ a->first < b->first ? a->first : b->first,
		a->last > b->last ? a->last : b->last, a->total };
	return true;
}
