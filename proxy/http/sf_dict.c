/* Structured Fields dictionaries; see sf_dict.h. Section numbers are of RFC 9651. */
#include "proxy/http/sf_dict.h"

#include <string.h>

enum { SF_INTEGER_DIGITS = 15, SF_DECIMAL_WHOLE = 12, SF_DECIMAL_FRACTION = 3 };   /* section 3.3 */

struct sf_input { const char *at, *end; };

static int dict_peek(const struct sf_input *in)
{
	return in->at < in->end ? (unsigned char)*in->at : -1;
}

static bool dict_take(struct sf_input *in, char c)
{
	if (dict_peek(in) != (unsigned char)c)
		return false;
	in->at++;
	return true;
}

static void skip(struct sf_input *in, const char *set)
{
	while (in->at < in->end && *in->at && strchr(set, *in->at))
		in->at++;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_lower(int c) { return c >= 'a' && c <= 'z'; }
static bool is_alpha(int c) { return is_lower(c | 0x20); }

/* Section 4.2.3.3 */
static bool read_key(struct sf_input *in, struct slice *key)
{
	key->at = in->at;
	if (!is_lower(dict_peek(in)) && dict_peek(in) != '*')
		return false;
	while (
	    is_lower(dict_peek(in)) || is_digit(dict_peek(in)) || (dict_peek(in) > 0 && strchr("_-.*", dict_peek(in))))
		in->at++;
	key->len = (size_t)(in->at - key->at);
	return true;
}

/* Section 4.2.4 */
static bool dict_read_number(struct sf_input *in, struct sf_member *member)
{
	bool negative = dict_take(in, '-');
	int digits = 0, fraction = 0;

	member->type = SF_INTEGER;
	member->number = 0;
	for (; is_digit(dict_peek(in)); in->at++) {
		if (++digits > SF_INTEGER_DIGITS)
			return false;
		member->number = member->number * 10 + (*in->at - '0');
	}
	if (!digits)
		return false;
	if (negative)
		member->number = -member->number;
	if (!dict_take(in, '.'))
		return true;
	member->type = SF_DECIMAL;
	for (; is_digit(dict_peek(in)); in->at++)
		fraction++;
	return digits <= SF_DECIMAL_WHOLE && fraction >= 1 && fraction <= SF_DECIMAL_FRACTION;
}

/* Sections 4.2.5 and 4.2.10 (display: %"..." with lower-case %xx; whether these are valid UTF-8 is not checked). */
static bool read_string(struct sf_input *in, struct sf_member *member, bool display)
{
	static const char hex[] = "0123456789abcdef";

	member->type = display ? SF_DISPLAY : SF_STRING;
	if (!dict_take(in, '"'))
		return false;
	member->text.at = in->at;
	for (; in->at < in->end; in->at++) {
		char c = *in->at;

		if (c == '"') {
			member->text.len = (size_t)(in->at++ - member->text.at);
			return true;
		}
		if (c < 0x20 || c > 0x7e)
			return false;
		if (!display && c == '\\') {
			if (++in->at == in->end || (*in->at != '"' && *in->at != '\\'))
				return false;
		} else if (display && c == '%') {
			if (in->end - in->at < 3 || !memchr(hex, in->at[1], 16) || !memchr(hex, in->at[2], 16))
				return false;
			in->at += 2;
		}
	}
	return false;
}

/* Section 4.2.6 */
static bool read_token(struct sf_input *in, struct sf_member *member)
{
	member->type = SF_TOKEN;
	member->text.at = in->at;
	while (is_alpha(dict_peek(in)) || is_digit(dict_peek(in)) ||
	    (dict_peek(in) > 0 && strchr("!#$%&'*+-.^_`|~:/", dict_peek(in))))
		in->at++;
	member->text.len = (size_t)(in->at - member->text.at);
	return true;
}

/* Section 4.2.7 */
static bool dict_read_bytes(struct sf_input *in, struct sf_member *member)
{
	member->type = SF_BYTES;
	in->at++;
	member->text.at = in->at;
	while (
	    is_alpha(dict_peek(in)) || is_digit(dict_peek(in)) || (dict_peek(in) > 0 && strchr("+/=", dict_peek(in))))
		in->at++;
	member->text.len = (size_t)(in->at - member->text.at);
	return dict_take(in, ':');
}

/* Section 4.2.3.1 */
static bool read_bare_item(struct sf_input *in, struct sf_member *member)
{
	int c = dict_peek(in);

	member->text = (struct slice){ NULL, 0 };
	member->number = 0;
	if (c == '-' || is_digit(c))
		return dict_read_number(in, member);
	if (c == '"')
		return read_string(in, member, false);
	if (c == '*' || is_alpha(c))
		return read_token(in, member);
	if (c == ':')
		return dict_read_bytes(in, member);
	if (dict_take(in, '?')) {
		member->type = SF_BOOLEAN;
		member->number = dict_peek(in) == '1';
		return dict_take(in, '0') || dict_take(in, '1');
	}
	if (dict_take(in, '@')) {
		if (!dict_read_number(in, member) || member->type != SF_INTEGER)
			return false;
		member->type = SF_DATE;
		return true;
	}
	return dict_take(in, '%') && read_string(in, member, true);
}

/* Section 4.2.3.2 */
static bool read_parameters(struct sf_input *in)
{
	struct sf_member dropped;

	while (dict_take(in, ';')) {
		skip(in, " ");
		if (!read_key(in, &dropped.key) || (dict_take(in, '=') && !read_bare_item(in, &dropped)))
			return false;
	}
	return true;
}

/* Section 4.2.1.2 */
static bool read_inner_list(struct sf_input *in, struct sf_member *member)
{
	struct sf_member item;

	in->at++;
	for (;;) {
		skip(in, " ");
		if (dict_take(in, ')'))
			break;
		if (!read_bare_item(in, &item) || !read_parameters(in) ||
		    (dict_peek(in) != ' ' && dict_peek(in) != ')'))
			return false;
	}
	*member = (struct sf_member){ .key = member->key, .type = SF_INNER_LIST };
	return true;
}

/* Section 4.2.2 */
bool sf_dict_read(struct slice s, void (*each)(void *arg, const struct sf_member *), void *arg)
{
	struct sf_input in = { s.at, s.at + s.len };

	skip(&in, " ");
	while (in.end > in.at && in.end[-1] == ' ')
		in.end--;
	while (in.at < in.end) {
		struct sf_member m = { .type = SF_BOOLEAN, .number = 1 };

		if (!read_key(&in, &m.key) ||
		    (dict_take(&in, '=') &&
		        !(dict_peek(&in) == '(' ? read_inner_list(&in, &m) : read_bare_item(&in, &m))) ||
		    !read_parameters(&in))
			return false;
		each(arg, &m);
		skip(&in, " \t");
		if (in.at == in.end)
			return true;
		if (!dict_take(&in, ','))
			return false;
		skip(&in, " \t");
		if (in.at == in.end)
			return false;
	}
	return true;
}
