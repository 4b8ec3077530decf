/* Finding the bytes of a body that are not UTF-8; see strays.h. */
#include "proxy/report/strays.h"

#include <string.h>

#include "core/text/utf8.h"
#include "core/text/utf8_fault.h"

#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

/* ---- both streams ---- */

static void key_ascii(struct stray_key *key, uint8_t c)
{
	bool edge = c == '<' || c == '>';

	key->edges += edge;
	key->ascii = edge ? 0 : key->ascii + 1;
	key->runs = edge ? 0 : key->runs;
	key->run = 0;
	key->hash = FNV_START;
}

static void key_beyond(struct stray_key *key, uint8_t byte)
{
	key->runs += key->run == 0;
	key->hash = ((key->run == 0 ? FNV_START : key->hash) ^ byte) * FNV_PRIME;
	key->run++;
}

static bool key_is(const struct stray_key *a, const struct stray_key *b)
{
	return a->edges == b->edges && a->ascii == b->ascii && a->runs == b->runs && a->run == b->run &&
	    (a->run == 0 || a->hash == b->hash);
}

/* Whether the ASCII characters so far are those before the place, or more. */
static bool key_passed(const struct stray_key *now, const struct stray_key *place)
{
	return now->edges > place->edges || (now->edges == place->edges && now->ascii > place->ascii);
}

/* ---- the body ---- */

/* Line ends are LF, CR and CR LF. */
static void count_line(struct strays *strays, uint8_t c)
{
	strays->line += c == '\r' || (c == '\n' && !strays->returned);
	strays->returned = c == '\r';
}

static struct stray *latest(struct strays *strays)
{
	return strays->places <= STRAYS_SHOWN && strays->n > 0 ? &strays->first[strays->n - 1] : NULL;
}

static void close_place(struct strays *strays, bool ends_run)
{
	struct stray *place = strays->open ? latest(strays) : NULL;

	if (place)
		place->ends_run = ends_run;
	strays->open = false;
}

static void open_place(struct strays *strays)
{
	strays->open = true;
	strays->places++;
	if (strays->n < STRAYS_SHOWN)
		strays->first[strays->n++] = (struct stray){
			.offset = strays->offset, .line = strays->line + 1, .key = strays->in, .lost = strays->tainted
		};
	strays->tainted = true;
}

static void take_stray(struct strays *strays, const uint8_t *bytes, const struct utf8_fault *fault)
{
	struct stray *place;

	if (!strays->open)
		open_place(strays);
	strays->bytes += fault->len;
	if (fault->kind != FAULT_NUL)
		key_beyond(&strays->in, bytes[0]);
	if (!(place = latest(strays)))
		return;
	for (size_t i = 0; i < fault->len; i++, place->len++)
		if (place->len < STRAY_BYTES)
			place->bytes[place->len] = bytes[i];
	place->characters += fault->kind != FAULT_NUL;
}

static void take_pair(struct strays *strays, const struct utf8_fault *fault)
{
	uint8_t character[4];
	size_t len = utf8_encode(fault->character, character);

	close_place(strays, false);
	strays->pairs++;
	for (size_t i = 0; i < len; i++)
		key_beyond(&strays->in, character[i]);
}

static void take_valid(struct strays *strays, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++, strays->offset++) {
		close_place(strays, bytes[i] < 0x80);
		count_line(strays, bytes[i]);
		if (bytes[i] < 0x80) {
			key_ascii(&strays->in, bytes[i]);
			strays->tainted = false;
		} else {
			key_beyond(&strays->in, bytes[i]);
		}
	}
}

static size_t pass_on(struct strays *strays, const uint8_t *bytes, size_t len)
{
	if (strays->stopped == 0)
		strays->stopped = strays->sink.write(strays->sink.arg, bytes, len);
	return len;
}

/* Takes what stands at the start of the bytes. 0: only more of them tell what that is. */
static size_t take_next(struct strays *strays, const uint8_t *bytes, size_t len, bool complete)
{
	size_t valid = utf8_valid_prefix(bytes, len);

	if (valid > 0) {
		take_valid(strays, bytes, valid);
		return pass_on(strays, bytes, valid);
	}
	struct utf8_fault fault = utf8_fault(bytes, len);
	if (fault.incomplete && !complete)
		return 0;
	if (fault.kind == FAULT_PAIR)
		take_pair(strays, &fault);
	else
		take_stray(strays, bytes, &fault);
	strays->offset += fault.len;
	strays->returned = false;
	return pass_on(strays, bytes, fault.len);
}

/* Takes the held bytes with those behind them; returns how many of the latter were taken. */
static size_t take_held(struct strays *strays, const uint8_t *bytes, size_t len)
{
	size_t room = sizeof strays->held - strays->n_held, more = len < room ? len : room, all = strays->n_held + more;
	size_t at = 0, took = 1;

	memcpy(strays->held + strays->n_held, bytes, more);
	while (at < strays->n_held && (took = take_next(strays, strays->held + at, all - at, false)) > 0)
		at += took;
	if (took > 0) {
		more = at - strays->n_held;
		strays->n_held = 0;
		return more;
	}
	strays->n_held = all - at;
	memmove(strays->held, strays->held + at, strays->n_held);
	return more;
}

int strays_feed(struct strays *strays, const uint8_t *bytes, size_t len)
{
	size_t at = strays->n_held > 0 ? take_held(strays, bytes, len) : 0, took;

	while (at < len && (took = take_next(strays, bytes + at, len - at, false)) > 0)
		at += took;
	memcpy(strays->held + strays->n_held, bytes + at, len - at);
	strays->n_held += len - at;
	return strays->stopped;
}

int strays_end(struct strays *strays)
{
	size_t at = 0;

	while (at < strays->n_held)
		at += take_next(strays, strays->held + at, strays->n_held - at, true);
	strays->n_held = 0;
	close_place(strays, true);
	return strays->stopped;
}

/* ---- the decoded text ---- */

static void take_text(struct stray *place, uint8_t byte)
{
	size_t len = strlen(place->text);

	if (len < STRAY_TEXT)
		place->text[len] = (char)byte;
}

/* Looks whether the decoded text has come to a place. beyond: a character beyond ASCII comes next. */
static void find_place(struct strays *strays, bool beyond)
{
	if (strays->within)
		return;
	while (strays->at < strays->n &&
	    (strays->first[strays->at].lost || key_passed(&strays->out, &strays->first[strays->at].key)))
		strays->at++;
	struct stray *place = strays->at < strays->n ? &strays->first[strays->at] : NULL;
	strays->within = place && key_is(&strays->out, &place->key) && (beyond || place->characters == 0);
	if (strays->within)
		place->found = true;
}

void strays_feed_decoded(struct strays *strays, const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		find_place(strays, text[i] >= 0x80);
		if (strays->within && text[i] >= 0x80)
			take_text(&strays->first[strays->at], text[i]);
		if (text[i] >= 0x80) {
			key_beyond(&strays->out, text[i]);
			continue;
		}
		strays->at += strays->within;
		key_ascii(&strays->out, text[i]);
		strays->within = false;
	}
}

/* Cuts the text behind the place. If the node is not UTF-8, only the end of the run tells where that is. */
static void cut_text(struct stray *place)
{
	size_t len = utf8_valid_prefix((const uint8_t *)place->text, strlen(place->text)), at = 0;
	uint32_t character;

	for (size_t n = 0; at < len && (place->ends_run || n < place->characters); n++)
		at += utf8_next((const uint8_t *)place->text + at, &character);
	place->text[at] = '\0';
}

void strays_finish(struct strays *strays)
{
	find_place(strays, false);
	for (size_t i = 0; i < strays->n; i++)
		cut_text(&strays->first[i]);
}
