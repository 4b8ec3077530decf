/* Finding the bytes of a body that are not UTF-8; see strays.h. */
#include "proxy/report/strays.h"

#include <string.h>

#include "core/text/utf8.h"
#include "core/text/utf8_fault.h"

#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

/* ---- both streams ---- */

static void key_ascii(struct stray_key *k, uint8_t c)
{
	bool edge = c == '<' || c == '>';

	k->edges += edge;
	k->ascii = edge ? 0 : k->ascii + 1;
	k->runs = edge ? 0 : k->runs;
	k->run = 0;
	k->hash = FNV_START;
}

static void key_beyond(struct stray_key *k, uint8_t byte)
{
	k->runs += k->run == 0;
	k->hash = ((k->run == 0 ? FNV_START : k->hash) ^ byte) * FNV_PRIME;
	k->run++;
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
static void count_line(struct strays *s, uint8_t c)
{
	s->line += c == '\r' || (c == '\n' && !s->returned);
	s->returned = c == '\r';
}

static struct stray *latest(struct strays *s)
{
	return s->places <= STRAYS_SHOWN && s->n > 0 ? &s->first[s->n - 1] : NULL;
}

static void close_place(struct strays *s, bool ends_run)
{
	struct stray *place = s->open ? latest(s) : NULL;

	if (place)
		place->ends_run = ends_run;
	s->open = false;
}

static void open_place(struct strays *s)
{
	s->open = true;
	s->places++;
	if (s->n < STRAYS_SHOWN)
		s->first[s->n++] = (struct stray){
			.offset = s->offset, .line = s->line + 1, .key = s->in, .lost = s->tainted
		};
	s->tainted = true;
}

static void take_stray(struct strays *s, const uint8_t *bytes, const struct utf8_fault *fault)
{
	struct stray *place;

	if (!s->open)
		open_place(s);
	s->bytes += fault->len;
	if (fault->kind != FAULT_NUL)
		key_beyond(&s->in, bytes[0]);
	if (!(place = latest(s)))
		return;
	for (size_t i = 0; i < fault->len; i++, place->len++)
		if (place->len < STRAY_BYTES)
			place->bytes[place->len] = bytes[i];
	place->characters += fault->kind != FAULT_NUL;
}

static void take_pair(struct strays *s, const struct utf8_fault *fault)
{
	uint8_t character[4];
	size_t len = utf8_encode(fault->character, character);

	close_place(s, false);
	s->pairs++;
	for (size_t i = 0; i < len; i++)
		key_beyond(&s->in, character[i]);
}

static void take_valid(struct strays *s, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++, s->offset++) {
		close_place(s, bytes[i] < 0x80);
		count_line(s, bytes[i]);
		if (bytes[i] < 0x80) {
			key_ascii(&s->in, bytes[i]);
			s->tainted = false;
		} else {
			key_beyond(&s->in, bytes[i]);
		}
	}
}

static size_t pass_on(struct strays *s, const uint8_t *bytes, size_t len)
{
	if (s->stopped == 0)
		s->stopped = s->sink.write(s->sink.arg, bytes, len);
	return len;
}

/* Takes what stands at the start of the bytes. 0: only more of them tell what that is. */
static size_t take_next(struct strays *s, const uint8_t *bytes, size_t len, bool complete)
{
	size_t valid = utf8_valid_prefix(bytes, len);
	struct utf8_fault fault;

	if (valid > 0) {
		take_valid(s, bytes, valid);
		return pass_on(s, bytes, valid);
	}
	fault = utf8_fault(bytes, len);
	if (fault.incomplete && !complete)
		return 0;
	if (fault.kind == FAULT_PAIR)
		take_pair(s, &fault);
	else
		take_stray(s, bytes, &fault);
	s->offset += fault.len;
	s->returned = false;
	return pass_on(s, bytes, fault.len);
}

/* Takes the held bytes with those behind them; returns how many of the latter were taken. */
static size_t take_held(struct strays *s, const uint8_t *bytes, size_t len)
{
	size_t room = sizeof s->held - s->n_held, more = len < room ? len : room, all = s->n_held + more;
	size_t at = 0, took = 1;

	memcpy(s->held + s->n_held, bytes, more);
	while (at < s->n_held && (took = take_next(s, s->held + at, all - at, false)) > 0)
		at += took;
	if (took > 0) {
		more = at - s->n_held;
		s->n_held = 0;
		return more;
	}
	s->n_held = all - at;
	memmove(s->held, s->held + at, s->n_held);
	return more;
}

int strays_feed(struct strays *s, const uint8_t *bytes, size_t len)
{
	size_t at = s->n_held > 0 ? take_held(s, bytes, len) : 0, took;

	while (at < len && (took = take_next(s, bytes + at, len - at, false)) > 0)
		at += took;
	memcpy(s->held + s->n_held, bytes + at, len - at);
	s->n_held += len - at;
	return s->stopped;
}

int strays_end(struct strays *s)
{
	size_t at = 0;

	while (at < s->n_held)
		at += take_next(s, s->held + at, s->n_held - at, true);
	s->n_held = 0;
	close_place(s, true);
	return s->stopped;
}

/* ---- the decoded text ---- */

static void take_text(struct stray *place, uint8_t byte)
{
	size_t len = strlen(place->text);

	if (len < STRAY_TEXT)
		place->text[len] = (char)byte;
}

/* Looks whether the decoded text has come to a place. beyond: a character beyond ASCII comes next. */
static void find_place(struct strays *s, bool beyond)
{
	struct stray *place;

	if (s->within)
		return;
	while (s->at < s->n && (s->first[s->at].lost || key_passed(&s->out, &s->first[s->at].key)))
		s->at++;
	place = s->at < s->n ? &s->first[s->at] : NULL;
	s->within = place && key_is(&s->out, &place->key) && (beyond || place->characters == 0);
	if (s->within)
		place->found = true;
}

void strays_feed_decoded(struct strays *s, const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		find_place(s, text[i] >= 0x80);
		if (s->within && text[i] >= 0x80)
			take_text(&s->first[s->at], text[i]);
		if (text[i] >= 0x80) {
			key_beyond(&s->out, text[i]);
			continue;
		}
		s->at += s->within;
		key_ascii(&s->out, text[i]);
		s->within = false;
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

void strays_finish(struct strays *s)
{
	find_place(s, false);
	for (size_t i = 0; i < s->n; i++)
		cut_text(&s->first[i]);
}
