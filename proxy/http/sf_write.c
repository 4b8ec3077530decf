/* Writing Structured Fields; see sf_write.h. */
#include "proxy/http/sf_write.h"

#include "proxy/base/base64.h"

static const int64_t sf_integer_max = INT64_C(999999999999999);

bool sf_write_string(struct text *t, struct slice value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.at[i] < 0x20 || value.at[i] > 0x7e)
			return false;
	text_puts(t, "\"");
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] == '"' || value.at[i] == '\\')
			text_puts(t, "\\");
		text_add(t, value.at + i, 1);
	}
	text_puts(t, "\"");
	return true;
}

bool sf_write_integer(struct text *t, int64_t number)
{
	if (number > sf_integer_max || number < -sf_integer_max)
		return false;
	text_integer(t, number);
	return true;
}

void sf_write_bytes(struct text *t, struct slice bytes)
{
	text_puts(t, ":");
	base64_write(t, bytes);
	text_puts(t, ":");
}
