/* Owns the characters that XML forbids; see repair_characters.h. */
#include "core/repair/repair_characters.h"

#include "core/repair/repair_scan.h"

static const uint8_t replacement[] = { 0xef, 0xbf, 0xbd };     /* U+FFFD */

static int characters_emit(const struct repair_characters *c, const uint8_t *p, size_t len)
{
	return len > 0 ? c->sink.write(c->sink.arg, p, len) : 0;
}

static int characters_replace(const struct repair_characters *c, bool control)
{
	c->counts[REPAIRED_CHARACTERS]++;
	if (control && !(c->flags & REPAIR_REPLACE_CONTROLS))
		return 0;
	return characters_emit(c, replacement, sizeof(replacement));
}

/* Goes on with a character that the end of the last call has cut; *used: its bytes in this one. */
static int characters_go_on(struct repair_characters *c, const uint8_t *in, size_t len, bool final, size_t *used)
{
	uint8_t text[3] = { 0xef, 0xbf, 0 };
	unsigned had = c->cut, have = had;

	for (*used = 0; have < 3 && *used < len; have++, ++*used) {
		text[have] = in[*used];
		if (have == 1 && text[1] != 0xbf)
			break;
	}
	if (have < 3 && *used == len && !final) {
		c->cut = have;
		return 0;
	}
	c->cut = 0;
	if (have == 3 && text[2] >= 0xbe)
		return characters_replace(c, false);
	*used = 0;
	return characters_emit(c, text, had);
}

int repair_characters(struct repair_characters *c, const uint8_t *in, size_t len, bool final)
{
	size_t run = 0;
	int rc = 0;

	if (!(c->flags & REPAIR_CHARACTERS))
		return characters_emit(c, in, len);
	if (c->cut > 0 && (len > 0 || final))
		rc = characters_go_on(c, in, len, final, &run);
	size_t at = run;
	while (rc == 0 && (at = repair_scan_forbidden(in, at, len)) < len) {
		size_t n = in[at] == 0xef ? 3 : 1;

		if (len - at < n && !final) {
			c->cut = (unsigned)(len - at);
			len = at;
		} else if (n == 3 && (len - at < n || in[at + 1] != 0xbf || in[at + 2] < 0xbe)) {
			at++;
		} else {
			rc = characters_emit(c, in + run, at - run);
			run = at += n;
			if (rc == 0)
				rc = characters_replace(c, n == 1);
		}
	}
	return rc ? rc : characters_emit(c, in + run, len - run);
}
