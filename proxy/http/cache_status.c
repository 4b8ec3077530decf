/* Cache-Status; see cache_status.h. */
#include "proxy/http/cache_status.h"

static const char *const tokens[FWD_COUNT] = {
#define FORWARD(id, token) [FWD_##id] = token,
#include "proxy/http/cache_status.def"
#undef FORWARD
};

const char *cache_status_fwd(enum cache_fwd fwd)
{
	return tokens[fwd];
}

/* RFC 9651 section 3.3.4 */
static bool cache_status_is_token(const char *s)
{
	static const bool in_token[256] = {
		['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['!'] = true, ['#' ... '\''] = true,
		['*'] = true, ['+'] = true,
		['-' ... '/'] = true, [':'] = true, ['^' ... '`'] = true, ['|'] = true, ['~'] = true,
	};

	if (!in_token[(unsigned char)*s] || (*s != '*' && !(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z')))
		return false;
	while (in_token[(unsigned char)*s])
		s++;
	return !*s;
}

/* RFC 9651 section 3.3.3: printable ASCII, quote and backslash escaped */
static void add_string(struct text *t, const char *word)
{
	text_puts(t, "\"");
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			text_puts(t, "\\");
		text_add(t, *word >= 0x20 && *word < 0x7f ? word : "?", 1);
	}
	text_puts(t, "\"");
}

static void add_word(struct text *t, const char *word)
{
	if (cache_status_is_token(word))
		text_puts(t, word);
	else
		add_string(t, word);
}

void cache_status_member(struct text *t, const char *name, const struct cache_status *status)
{
	add_word(t, name);
	if (status->hit || status->kept)
		text_puts(t, "; hit");
	if (!status->hit && status->fwd != FWD_NONE) {
		text_puts(t, "; fwd=");
		text_puts(t, tokens[status->fwd]);
	}
	if (!status->hit && status->fwd_status) {
		text_puts(t, "; fwd-status=");
		text_integer(t, status->fwd_status);
	}
	if (status->has_ttl) {
		text_puts(t, "; ttl=");
		text_integer(t, status->ttl);
	}
	if (!status->hit && status->stored)
		text_puts(t, "; stored");
	if (!status->hit && status->collapsed)
		text_puts(t, "; collapsed");
	if (status->detail) {
		text_puts(t, "; detail=");
		add_word(t, status->detail);
	}
}

void cache_status_line(struct text *t, const char *name, const struct cache_status *status)
{
	text_puts(t, "Cache-Status: ");
	cache_status_member(t, name, status);
	text_puts(t, "\r\n");
}
