/* Owns what XML calls a name; see repair_name.h. */
#include "core/repair/repair_name.h"

const uint8_t name_bytes[256] = {
	['A' ... 'Z'] = NAME_START | NAME_CHAR, ['a' ... 'z'] = NAME_START | NAME_CHAR, ['_'] = NAME_START | NAME_CHAR,
	[':'] = NAME_START | NAME_CHAR | NAME_COLON, ['0' ... '9'] = NAME_CHAR, ['-'] = NAME_CHAR, ['.'] = NAME_CHAR,
	[' '] = NAME_SPACE, ['\t'] = NAME_SPACE, ['\n'] = NAME_SPACE, ['\r'] = NAME_SPACE,
};

/* Beyond ASCII; start: the characters that may also start a name. */
static const struct {
	uint32_t first, last;
	bool start;
} ranges[] = {
	{ 0xb7, 0xb7, false }, { 0xc0, 0xd6, true }, { 0xd8, 0xf6, true }, { 0xf8, 0x2ff, true },
	{ 0x300, 0x36f, false }, { 0x370, 0x37d, true }, { 0x37f, 0x1fff, true }, { 0x200c, 0x200d, true },
	{ 0x203f, 0x2040, false }, { 0x2070, 0x218f, true }, { 0x2c00, 0x2fef, true }, { 0x3001, 0xd7ff, true },
	{ 0xf900, 0xfdcf, true }, { 0xfdf0, 0xfffd, true }, { 0x10000, 0xeffff, true },
};

static bool in_names(uint32_t cp, bool start)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (cp <= ranges[i].last)
			return cp >= ranges[i].first && (ranges[i].start || !start);
	return false;
}

/* The bytes of a character beyond ASCII that may stand in a name, at most len; 0: it may not. */
static size_t wide_length(const uint8_t *in, size_t len, bool start)
{
	size_t n = in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : 2;
	uint32_t cp = in[0] & (0xffu >> (n + 1));

	if (len < n)
		return len;
	for (size_t i = 1; i < n; i++)
		cp = cp << 6 | (in[i] & 0x3f);
	return in_names(cp, start) ? n : 0;
}

static size_t name_go_on(const uint8_t *in, size_t at, size_t len)
{
	while (at < len) {
		size_t n = (name_bytes[in[at]] & NAME_CHAR) != 0;

		if (in[at] >= 0x80)
			n = wide_length(in + at, len - at, at == 0);
		if (n == 0)
			break;
		at += n;
	}
	return at;
}

size_t name_length(const uint8_t *in, size_t len)
{
	if (len == 0 || (in[0] < 0x80 && !(name_bytes[in[0]] & NAME_START)))
		return 0;
	size_t at = name_plain(in, len);
	return at < len && in[at] >= 0x80 ? name_go_on(in, at, len) : at;
}

size_t name_skip_space(const uint8_t *in, size_t at, size_t len)
{
	typedef uint8_t lanes __attribute__((vector_size(16)));
	typedef uint64_t halves __attribute__((vector_size(16)));

	/* Padding is mostly blanks, many of them */
	for (; at + 4 * sizeof(lanes) <= len; at += 4 * sizeof(lanes)) {
		lanes v[4];
		halves space;

		memcpy(v, in + at, sizeof(v));
		space = (halves)((v[0] == ' ') & (v[1] == ' ') & (v[2] == ' ') & (v[3] == ' '));
		if ((space[0] & space[1]) != UINT64_MAX)
			break;
	}
	while (at < len && name_is_space(in[at]))
		at++;
	return at;
}
