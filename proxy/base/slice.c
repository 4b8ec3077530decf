/* Pieces of text; see slice.h. */
#include "proxy/base/slice.h"

#include <string.h>
#include <strings.h>

bool slice_is(struct slice s, const char *lower_case)
{
	return s.at && s.len == strlen(lower_case) && !strncasecmp(s.at, lower_case, s.len);
}

struct slice slice_unquoted(struct slice s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"')
		return (struct slice){ s.at + 1, s.len - 2 };
	return s;
}

struct slice slice_trim(struct slice s)
{
	while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
		s.at++, s.len--;
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

struct slice slice_until(struct slice s, char by, struct slice *rest)
{
	const char *p = s.len ? memchr(s.at, by, s.len) : NULL;

	*rest = p ? (struct slice){ p + 1, s.len - (size_t)(p + 1 - s.at) } : (struct slice){ NULL, 0 };
	if (p)
		s.len = (size_t)(p - s.at);
	return slice_trim(s);
}
