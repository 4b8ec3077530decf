/* Owns the cases of proxy/net/h2_ask.c, and of h2_lists.c as far as it reads responses: what a response's frames become, and what the
 * failure of a stream means (RFC 9113 sections 5.4, 8.1 and 8.7). Must not know: requests' owners of the proxy.
 * Invariant: each row names its rule; sections without a name are of RFC 9113. */
#include "tests/unit/net/h2_origin.h"

enum end { WAITS, ENDED, FAILED };

#define OK "HTTP/1.1 200 \r\n"
#define OK_5 OK "Content-Length: 5\r\n\r\n"
#define OK_CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define HEAD_200_5(id) HEADERS(id, B200 B_LENGTH("5"))
#define TRAILER(id) HEADERS_END(id, B_FIELD)

struct row {
	const char *rule, *head;       /* of the request */
	struct frame frames[FRAMES];
	const char *response;
	enum end end;
	enum h2_fate fate;
	int code, goaway;              /* of the reset and the GOAWAY that the origin hears */
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		origin_open(NULL);
		struct ask *a = ask(row->head, 0, "");

		settle();
		send_frames(row->frames, FRAMES);
		settle();
		UNIT_ROW(!strcmp(a->response, row->response), "%s: %s", row->rule, a->response);
		UNIT_ROW((a->failed ? FAILED : a->ended ? ENDED : WAITS) == row->end, "%s: failed %d, ended %d", row->rule, a->failed, a->ended);
		UNIT_ROW(a->fate == row->fate, "%s: fate %d", row->rule, a->fate);
		UNIT_ROW(a->code == row->code, "%s: reset %d", row->rule, a->code);
		UNIT_ROW(origin.code == row->goaway, "%s: GOAWAY %d", row->rule, origin.code);
		UNIT_ROW(!a->failed || a->why.details[0], "%s: no reason", row->rule);
		ask_close(a);
		settle();
		UNIT_ROW(row->goaway != NO_CODE || !world.h2 || world.idles == 1, "%s: idle %u times", row->rule, world.idles);
		origin_close();
	}
}

#define WHOLE(text) text, ENDED, H2_FATE_UNKNOWN, NO_CODE, NO_CODE
#define OPEN(text) text, WAITS, H2_FATE_UNKNOWN, NO_CODE, NO_CODE
#define MALFORMED(text) text, FAILED, H2_FATE_UNKNOWN, NGHTTP2_PROTOCOL_ERROR, NO_CODE

static void responses(void)
{
	static const struct row rows[] = {
		{ "8.1: a length, ended by DATA", GET, { HEAD_200_5(1), DATA_END(1, "hello") }, WHOLE(OK_5 "hello") },
		{ "8.1: the last byte waits for the end", GET, { HEAD_200_5(1), DATA(1, "hello") }, OPEN(OK_5 "hell") },
		{ "8.1: and comes with it", GET, { HEAD_200_5(1), DATA(1, "hello"), DATA_END(1, "") }, WHOLE(OK_5 "hello") },
		{ "8.1: or with a trailer section, for which a length leaves no place", GET, { HEAD_200_5(1), DATA(1, "hello"), TRAILER(1) },
		  WHOLE(OK_5 "hello") },
		{ "8.1: no byte waits in the midst", GET, { HEAD_200_5(1), DATA(1, "hell") }, OPEN(OK_5 "hell") },
		{ "8.1: no length", GET, { HEADERS(1, B200), DATA(1, "hello"), DATA_END(1, "!") }, WHOLE(OK_CHUNKED "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n") },
		{ "8.1: no length, not ended", GET, { HEADERS(1, B200), DATA(1, "hello") }, OPEN(OK_CHUNKED "5\r\nhello\r\n") },
		{ "8.1: no length, and a trailer section", GET, { HEADERS(1, B200), DATA(1, "hello"), TRAILER(1) },
		  WHOLE(OK_CHUNKED "5\r\nhello\r\n0\r\na: b\r\n\r\n") },
		{ "8.1: a trailer section alone", GET, { HEADERS(1, B200), TRAILER(1) }, WHOLE(OK_CHUNKED "0\r\na: b\r\n\r\n") },
		{ "8.1: the head ends it", GET, { HEADERS_END(1, B200) }, WHOLE(OK "\r\n") },
		{ "8.1: the head ends it, and has a length of 0", GET, { HEADERS_END(1, B200 B_LENGTH("0")) }, WHOLE(OK "Content-Length: 0\r\n\r\n") },
		{ "8.1: a length of 0 that is not ended", GET, { HEADERS(1, B200 B_LENGTH("0")) }, OPEN(OK "Content-Length: 0\r\n\r") },
		{ "8.1: a length of 0 that an empty frame ends", GET, { HEADERS(1, B200 B_LENGTH("0")), DATA_END(1, "") },
		  WHOLE(OK "Content-Length: 0\r\n\r\n") },
		{ "8.1.1: HEAD", HEAD_ONLY, { HEADERS_END(1, B200 B_LENGTH("5")) }, WHOLE(OK_5) },
		{ "8.1.1: HEAD, ended by an empty frame", HEAD_ONLY, { HEADERS(1, B200 B_LENGTH("5")), DATA_END(1, "") }, WHOLE(OK_5) },
		{ "8.1.1: HEAD without length, ended by an empty frame", HEAD_ONLY, { HEADERS(1, B200), DATA_END(1, "") }, WHOLE(OK_CHUNKED) },
		{ "8.1.1: HEAD, ended by a trailer section", HEAD_ONLY, { HEADERS(1, B200), TRAILER(1) }, WHOLE(OK_CHUNKED) },
		{ "8.1.1: 304 with a length", GET, { HEADERS_END(1, "\x8b" B_LENGTH("5")) }, WHOLE("HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n") },
		{ "8.1.1: 204, not ended", GET, { HEADERS(1, "\x89") }, OPEN("HTTP/1.1 204 \r\n\r") },
		{ "8.1.1: 204, ended by an empty frame", GET, { HEADERS(1, "\x89"), DATA_END(1, "") }, WHOLE("HTTP/1.1 204 \r\n\r\n") },
		{ "8.1: an interim response", GET, { HEADERS(1, B103 B_FIELD), HEAD_200_5(1), DATA_END(1, "hello") },
		  WHOLE("HTTP/1.1 103 \r\na: b\r\n\r\n" OK_5 "hello") },
		{ "8.1: interim responses go on at once", GET, { HEADERS(1, "\x08\x03" "100"), HEADERS(1, B103) },
		  OPEN("HTTP/1.1 100 \r\n\r\nHTTP/1.1 103 \r\n\r\n") },
		{ "8.1: reset with NO_ERROR once it is whole", GET, { HEAD_200_5(1), DATA_END(1, "hello"), RESET(1, "\0") }, WHOLE(OK_5 "hello") },
		{ "6.1: padding", GET, { HEAD_200_5(1), FRAME(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, 1, "\2hello\0\0") },
		  WHOLE(OK_5 "hello") },
		{ "5.5: unknown frames", GET, { FRAME(0xee, 0, 1, "a"), HEAD_200_5(1), FRAME(0xee, 1, 1, ""), DATA_END(1, "hello") },
		  WHOLE(OK_5 "hello") },
	};

	check_rows(rows, COUNT(rows));
}

static void malformed(void)
{
	static const struct row rows[] = {
		{ "8.1.1: more than the length", GET, { HEAD_200_5(1), DATA(1, "hello!") }, MALFORMED(OK_5) },
		{ "8.1.1: more than the length, behind it", GET, { HEAD_200_5(1), DATA(1, "hello"), DATA_END(1, "!") }, MALFORMED(OK_5 "hell") },
		{ "8.1.1: and an end behind that", GET, { HEAD_200_5(1), DATA(1, "hello"), DATA(1, "!"), DATA_END(1, "") }, MALFORMED(OK_5 "hell") },
		{ "8.1.1: less than the length", GET, { HEAD_200_5(1), DATA_END(1, "hell") }, MALFORMED(OK_5 "hell") },
		{ "8.1.1: nothing of the length", GET, { HEADERS_END(1, B200 B_LENGTH("5")) }, MALFORMED("") },
		{ "8.1.1: more than a length of 0", GET, { HEADERS(1, B200 B_LENGTH("0")), DATA_END(1, "!") },
		  MALFORMED(OK "Content-Length: 0\r\n\r") },
		{ "8.1.1: lengths that differ", GET, { HEADERS(1, B200 B_LENGTH("5") B_LENGTH("6")) }, MALFORMED("") },
		{ "8.1.1: a length that is none", GET, { HEADERS(1, B200 B_LENGTH("x")) }, MALFORMED("") },
		{ "8.1.1: HEAD with a body", HEAD_ONLY, { HEAD_200_5(1), DATA_END(1, "hello") }, MALFORMED(OK "Content-Length: 5\r\n\r") },
		{ "8.1.1: 204 with a body", GET, { HEADERS(1, "\x89"), DATA_END(1, "hello") }, MALFORMED("HTTP/1.1 204 \r\n\r") },
		{ "8.1.1: 304 with a body", GET, { HEADERS(1, "\x8b"), DATA_END(1, "hello") }, MALFORMED("HTTP/1.1 304 \r\n\r") },
		{ "8.1: a trailer section that does not end it", GET, { HEAD_200_5(1), DATA(1, "hello"), HEADERS(1, B_FIELD) }, MALFORMED(OK_5 "hell") },
		{ "8.1: and an end behind it", GET, { HEAD_200_5(1), DATA(1, "hello"), HEADERS(1, B_FIELD), DATA_END(1, "") },
		  MALFORMED(OK_5 "hell") },
		{ "8.1: the same without a length", GET, { HEADERS(1, B200), DATA(1, "hello"), HEADERS(1, B_FIELD), DATA_END(1, "") },
		  MALFORMED(OK_CHUNKED "5\r\nhello\r\n") },
		{ "8.1: a second final response", GET, { HEAD_200_5(1), HEAD_200_5(1), DATA_END(1, "hello") }, MALFORMED(OK_5) },
		{ "8.1: a second final response that ends", GET, { HEADERS(1, B200), DATA(1, "hello"), HEADERS_END(1, B200) },
		  MALFORMED(OK_CHUNKED "5\r\nhello\r\n") },
		{ "8.1: an interim response behind the final one", GET, { HEADERS(1, B200), HEADERS(1, B103) }, MALFORMED(OK_CHUNKED) },
		{ "8.1: DATA behind an interim response", GET, { HEADERS(1, B103), DATA_END(1, "hello") }, MALFORMED("HTTP/1.1 103 \r\n\r\n") },
		{ "8.1: an interim response that ends", GET, { HEADERS_END(1, B103) }, MALFORMED("") },
		{ "8.6: 101", GET, { HEADERS(1, "\x08\x03" "101") }, MALFORMED("") },
		{ "8.3.2: no :status", GET, { HEADERS(1, B_FIELD) }, MALFORMED("") },
		{ "8.3.2: :status twice", GET, { HEADERS(1, B200 B200) }, MALFORMED("") },
		{ "8.3.2: :status behind a field", GET, { HEADERS(1, B_FIELD B200) }, MALFORMED("") },
		{ "8.3.2: :status that is none", GET, { HEADERS(1, "\x08\x03" "2x0") }, MALFORMED("") },
		{ "8.3: a pseudo-header field of requests", GET, { HEADERS(1, B200 "\x84") }, MALFORMED("") },
		{ "8.2.1: a name in capitals", GET, { HEADERS(1, B200 "\x00\x01" "A" "\x01" "b") }, MALFORMED("") },
		{ "8.2.1: a line end in a value", GET, { HEADERS(1, B200 "\x00\x01" "a" "\x03" "b\nc") }, MALFORMED("") },
		{ "8.2.2: Connection", GET, { HEADERS(1, B200 "\x00\x0a" "connection" "\x05" "close") }, MALFORMED("") },
		{ "8.2.2: Transfer-Encoding", GET, { HEADERS(1, B200 "\x00\x11" "transfer-encoding" "\x07" "chunked") }, MALFORMED("") },
	};

	check_rows(rows, COUNT(rows));
}

#define RESET_AS(fate, text) text, FAILED, H2_FATE_##fate, NO_CODE, NO_CODE
#define SESSION_ENDS(fate, code, text) text, FAILED, H2_FATE_##fate, NO_CODE, code

static void failures(void)
{
	static const struct row rows[] = {
		{ "8.7: REFUSED_STREAM", GET, { RESET(1, "\7") }, RESET_AS(UNPROCESSED, "") },
		{ "8.7: REFUSED_STREAM, though it has begun to answer", GET, { HEADERS(1, B103), RESET(1, "\7") },
		  RESET_AS(UNKNOWN, "HTTP/1.1 103 \r\n\r\n") },
		{ "8.7: REFUSED_STREAM within the response", GET, { HEAD_200_5(1), DATA(1, "hel"), RESET(1, "\7") }, RESET_AS(UNKNOWN, OK_5 "hel") },
		{ "7: HTTP_1_1_REQUIRED", GET, { RESET(1, "\x0d") }, RESET_AS(NEEDS_HTTP_1, "") },
		{ "7: HTTP_1_1_REQUIRED within the response", GET, { HEADERS(1, B200), RESET(1, "\x0d") }, RESET_AS(UNKNOWN, OK_CHUNKED) },
		{ "7: HTTP_1_1_REQUIRED behind an interim response", GET, { HEADERS(1, B103), RESET(1, "\x0d") },
		  RESET_AS(NEEDS_HTTP_1, "HTTP/1.1 103 \r\n\r\n") },
		{ "7: CANCEL", GET, { RESET(1, "\x08") }, RESET_AS(UNKNOWN, "") },
		{ "7: NO_ERROR before the response", GET, { RESET(1, "\0") }, RESET_AS(UNKNOWN, "") },
		{ "7: an unknown code", GET, { RESET(1, "\xee") }, RESET_AS(UNKNOWN, "") },
		{ "8.1: reset behind the length", GET, { HEAD_200_5(1), DATA(1, "hello"), RESET(1, "\x08") }, RESET_AS(UNKNOWN, OK_5 "hell") },
		{ "8.1: reset with NO_ERROR behind the length", GET, { HEAD_200_5(1), DATA(1, "hello"), RESET(1, "\0") },
		  RESET_AS(UNKNOWN, OK_5 "hell") },
		{ "6.8: above the last stream of GOAWAY", GET, { GOAWAY("\0", "\0") }, SESSION_ENDS(UNPROCESSED, NO_CODE, "") },
		{ "6.8: above it, with an error", GET, { GOAWAY("\0", "\x0b") }, SESSION_ENDS(UNPROCESSED, NO_CODE, "") },
		{ "7: above it, with HTTP_1_1_REQUIRED", GET, { GOAWAY("\0", "\x0d") }, SESSION_ENDS(NEEDS_HTTP_1, NO_CODE, "") },
		{ "6.8: not above it", GET, { GOAWAY("\1", "\0"), HEAD_200_5(1), DATA_END(1, "hello") }, WHOLE(OK_5 "hello") },
		{ "6.8: not above it, then reset", GET, { GOAWAY("\1", "\0"), RESET(1, "\x08") }, RESET_AS(UNKNOWN, "") },
		{ "6.8: GOAWAY twice", GET, { FRAME(NGHTTP2_GOAWAY, 0, 0, "\x7f\xff\xff\xff\0\0\0\0"), GOAWAY("\0", "\0") },
		  SESSION_ENDS(UNPROCESSED, NO_CODE, "") },
		{ "6.8: GOAWAY twice, the second for more", GET, { GOAWAY("\0", "\0"), GOAWAY("\1", "\0") },
		  SESSION_ENDS(UNPROCESSED, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "5.1: DATA before HEADERS", GET, { DATA(1, "hello") }, SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "5.1: HEADERS on a stream that was not asked for", GET, { HEADERS(3, B200) }, SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "5.1: DATA on a stream that was not asked for", GET, { DATA(3, "hello") }, SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "5.1.1: a stream of the origin's", GET, { HEADERS(2, B200) }, SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "8.4: a push", GET, { FRAME(NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, "\0\0\0\2" "\x82\x84\x87\x41\x01" "h") },
		  SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "4.3: a block that cannot be decoded", GET, { HEADERS(1, "\xff\xff\xff\xff\xff\xff") },
		  SESSION_ENDS(UNKNOWN, NGHTTP2_COMPRESSION_ERROR, "") },
		{ "4.2: a frame of the wrong size", GET, { FRAME(NGHTTP2_PING, 0, 0, "a") }, SESSION_ENDS(UNKNOWN, NGHTTP2_FRAME_SIZE_ERROR, "") },
		{ "6.10: a frame between the pieces of a header block", GET, { FRAME(NGHTTP2_HEADERS, 0, 1, B200), DATA(1, "a") },
		  SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
		{ "6.5.2: the origin lets itself be pushed to", GET, { SETTINGS("\2", "\0\0\0\1") },
		  SESSION_ENDS(UNKNOWN, NGHTTP2_PROTOCOL_ERROR, "") },
	};

	check_rows(rows, COUNT(rows));
}

UNIT_SUITE(h2_ask, { "responses", responses }, { "malformed responses", malformed }, { "failures", failures })
