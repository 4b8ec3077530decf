/* Request targets as they come; see raw_target.h. */
#include "proxy/http/raw_target.h"

#include <string.h>

#include "conf/url_text.h"
#include "core/text/utf8.h"

/* Takes the first byte of a character (Unicode table 3-7). */
static bool raw_target_begin(struct raw_target *raw, uint8_t c)
{
	raw->due = c < 0xc2 || c > 0xf4 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	raw->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	raw->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return c < 0x80 || raw->due;
}

static bool raw_target_step(struct raw_target *raw, uint8_t c)
{
	if (!raw->due)
		return raw_target_begin(raw, c);
	if (c < raw->low || c > raw->high)
		return false;
	raw->due--;
	raw->low = 0x80;
	raw->high = 0xbf;
	return true;
}

/* Whether there is nothing to do: the piece of the target is ASCII, and follows a whole character. */
static bool raw_target_is_plain(struct raw_target *raw, const char *at, size_t len)
{
	const char *end = memchr(at, ' ', len);
	size_t n = end ? (size_t)(end - at) : len;

	if (raw->due || utf8_ascii_prefix((const uint8_t *)at, n) < n)
		return false;
	if (end || memchr(at, '\r', n) || memchr(at, '\n', n))
		raw->phase = RAW_BEHIND;
	return true;
}

bool raw_target_read(struct raw_target *raw, const char *piece, size_t len, struct raw_part *part)
{
	const char *blank = raw->phase == RAW_METHOD && len ? memchr(piece, ' ', len) : NULL;

	*part = (struct raw_part){ .at = blank ? (size_t)(blank - piece) + 1 : 0 };
	if (blank)
		raw->phase = RAW_TARGET;
	if (raw->phase != RAW_TARGET || raw_target_is_plain(raw, piece + part->at, len - part->at))
		return true;
	for (size_t i = part->at; i < len; i++, part->len++) {
		if (!raw_target_step(raw, (uint8_t)piece[i]))
			return false;
		if (piece[i] == ' ' || piece[i] == '\r' || piece[i] == '\n') {
			raw->phase = RAW_BEHIND;
			break;
		}
	}
	part->beyond = url_text_beyond(piece + part->at, part->len);
	return true;
}

void raw_target_encode(char *piece, size_t len, const struct raw_part *part)
{
	size_t end = part->at + part->len;

	memmove(piece + end + 2 * part->beyond, piece + end, len - end);
	url_text_write(piece + end + 2 * part->beyond, piece + part->at, part->len);
}
