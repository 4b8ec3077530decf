/* The rows of a fleet's instances; see member.h. */
#include "proxy/fleet/member.h"

#include <string.h>

/* How a value stands in struct fleet_member: a number, or a text of at most max bytes. */
struct member_word {
	const char *name;
	size_t at, max; /* max 0: a number */
};

#define MEMBER_TEXT(name, most) { #name, offsetof(struct fleet_member, name), most }
#define MEMBER_NUMBER(name) { #name, offsetof(struct fleet_member, name), 0 }

static const struct member_word member_words[] = {
	MEMBER_TEXT(name, MEMBER_NAME_MAX), MEMBER_TEXT(version, MEMBER_VERSION_MAX),
	MEMBER_TEXT(admin, MEMBER_ADMIN_MAX), MEMBER_NUMBER(pid), MEMBER_NUMBER(format), MEMBER_NUMBER(up_s),
	MEMBER_NUMBER(requests), MEMBER_NUMBER(hits), MEMBER_NUMBER(misses), MEMBER_NUMBER(fetches),
	MEMBER_NUMBER(leases), MEMBER_NUMBER(waits), MEMBER_NUMBER(lag_ms),
};
enum { MEMBER_WORDS = sizeof member_words / sizeof *member_words, MEMBER_DIGITS_MAX = 20 };

static bool member_is_printable(unsigned char c)
{
	return c > ' ' && c != 0x7f;
}

/* Bytes that a row cannot have are left out, and what is too long is cut. */
static void member_write_text(struct text *t, const char *text, size_t max)
{
	for (size_t n = 0; *text && n < max; text++)
		if (member_is_printable((unsigned char)*text)) {
			text_add(t, text, 1);
			n++;
		}
}

void member_write(struct text *t, const struct fleet_member *member)
{
	for (size_t i = 0; i < MEMBER_WORDS; i++) {
		const struct member_word *word = &member_words[i];
		const char *at = (const char *)member + word->at;
		uint64_t n;

		text_puts(t, i ? " " : "");
		text_puts(t, word->name);
		text_puts(t, "=");
		if (word->max) {
			member_write_text(t, at, word->max);
		} else {
			memcpy(&n, at, sizeof n);
			text_number(t, n);
		}
	}
}

bool member_number(uint64_t *to, struct slice digits)
{
	uint64_t n = 0;

	if (!digits.len || digits.len > MEMBER_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		uint64_t digit = (uint64_t)(digits.at[i] - '0');

		if (digit > 9 || n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*to = n;
	return true;
}

static bool member_read_text(char *to, size_t max, struct slice text)
{
	if (text.len > max)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!member_is_printable((unsigned char)text.at[i]))
			return false;
	memcpy(to, text.at, text.len);
	to[text.len] = '\0';
	return true;
}

/* False: the value is not one that the word may have. */
static bool member_read_word(struct fleet_member *member, struct slice name, struct slice value)
{
	for (size_t i = 0; i < MEMBER_WORDS; i++) {
		const struct member_word *word = &member_words[i];
		char *to = (char *)member + word->at;
		uint64_t n;

		if (strlen(word->name) != name.len || memcmp(word->name, name.at, name.len))
			continue;
		if (word->max)
			return member_read_text(to, word->max, value);
		if (!member_number(&n, value))
			return false;
		memcpy(to, &n, sizeof n);
	}
	return true;
}

/* The bytes up to the next `by`, which is stepped over; the rest is left in *from. */
static struct slice member_next(struct slice *from, char by)
{
	const char *end = memchr(from->at, by, from->len);
	struct slice part = { from->at, end ? (size_t)(end - from->at) : from->len };
	size_t taken = part.len + (end != NULL);

	from->at += taken;
	from->len -= taken;
	return part;
}

bool member_read(struct fleet_member *member, struct slice line)
{
	*member = (struct fleet_member){ 0 };
	if (!member_number(&member->process, member_next(&line, ' ')) ||
	    !member_number(&member->age_ms, member_next(&line, ' ')) || line.len > MEMBER_ROW_MAX)
		return false;
	while (line.len) {
		struct slice value = member_next(&line, ' '), name = member_next(&value, '=');

		if (!member_read_word(member, name, value))
			return false;
	}
	return *member->name && *member->version;
}

size_t members_read(struct fleet_member *to, size_t max, struct slice lines)
{
	size_t n = 0;

	while (n < max && lines.len)
		n += member_read(&to[n], member_next(&lines, '\n'));
	return n;
}
