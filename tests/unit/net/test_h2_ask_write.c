/* Owns the cases of requests that go out: proxy/net/h2_ask.c, and h2_write.c as far as it writes them (RFC 9113 sections 5.2, 6.5.2 and
 * 8.1). Must not know: requests' owners of the proxy. Sections without a name are of RFC 9113. */
#include "tests/unit/net/h2_origin.h"

#define POST_CHUNK_5000 "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n"
#define FIELDS(method) ":method=" method "|:scheme=https|:authority=h|:path=/|"

/* A request's end takes no frame of its own where its length is known. */
static void requests(void)
{
	static const struct {
		const char *rule, *head;
		size_t body;
		const char *foot, *fields;
		int heads, frames;
		bool end_on_data;
	} rows[] = {
		{ "8.3.1: a GET ends with its head", GET, 0, "", FIELDS("GET"), 1, 0, false },
		{ "8.3.1: path and query", "GET /a?b HTTP/1.1\r\nHost: h:81\r\n\r\n", 0, "", ":method=GET|:scheme=https|:authority=h:81|:path=/a?b|", 1, 0,
		  false },
		{ "8.2: fields in small letters", "GET / HTTP/1.1\r\nHost: h\r\nX-A: B\r\nAccept: */*\r\n\r\n", 0, "", FIELDS("GET") "x-a=B|accept=*/*|", 1,
		  0, false },
		{ "8.2.2: fields of the connection stay here",
		  "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nKeep-Alive: 1\r\nUpgrade: h2c\r\nProxy-Connection: close\r\n\r\n", 0, "",
		  FIELDS("GET"), 1, 0, false },
		{ "8.1: HEAD", HEAD_ONLY, 0, "", FIELDS("HEAD"), 1, 0, false },
		{ "8.1: a length: END_STREAM is on the last DATA", POST_5000, 5000, "", FIELDS("POST") "content-length=5000|", 1, 1, true },
		{ "8.1: of several", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 40000\r\n\r\n", 40000, "", FIELDS("PUT") "content-length=40000|", 1, 3,
		  true },
		{ "8.1: a length of 0", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 0, "", FIELDS("POST") "content-length=0|", 1, 0, false },
		{ "8.1: neither length nor chunks", "POST / HTTP/1.1\r\nHost: h\r\n\r\n", 0, "", FIELDS("POST"), 1, 0, false },
		{ "8.1: chunks: on an empty one", POST_CHUNK_5000, 5000, "\r\n0\r\n\r\n", FIELDS("POST"), 1, 2, false },
		{ "8.1: a trailer section: on it", POST_CHUNK_5000, 5000, "\r\n0\r\nX-Sum: 1\r\n\r\n", FIELDS("POST") "x-sum=1|", 2, 1, false },
		{ "RFC 9110 section 10.1.1: Expect", "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n", 5000, "",
		  FIELDS("POST") "expect=100-continue|content-length=5000|", 1, 1, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		origin_open(NULL);
		struct ask *a = ask(rows[i].head, rows[i].body, rows[i].foot);

		settle();
		UNIT_ROW(!strcmp(a->fields, rows[i].fields), "%s: %s", rows[i].rule, a->fields);
		UNIT_ROW(a->heads == rows[i].heads && a->frames <= rows[i].frames, "%s: %d heads, %d frames", rows[i].rule, a->heads, a->frames);
		UNIT_ROW(a->heard == rows[i].body && a->ends == 1 && a->end_on_data == rows[i].end_on_data, "%s: %zu bytes, %d ends", rows[i].rule,
		    a->heard, a->ends);
		send_frame(NGHTTP2_HEADERS, 5, 1, "\x89", 1);
		settle();
		UNIT_ROW(a->ended && !a->unwritten && world.idles == 1, "%s: %s", rows[i].rule, a->response);
		ask_close(a);
		settle();
		UNIT_ROW(a->code == NO_CODE, "%s: reset %d", rows[i].rule, a->code);
		origin_close();
	}
}

/* What cannot be written as frames fails, and no request looks complete to the origin. */
static void what_is_none(void)
{
	static const struct { const char *name, *head; size_t body; const char *foot; int heads, code; } rows[] = {
		{ "no request line", "GET\r\nHost: h\r\n\r\n", 0, "", 0, NO_CODE },
		{ "no Host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", 0, "", 0, NO_CODE },
		{ "the absolute form", "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 0, "", 0, NO_CODE },
		{ "a CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", 0, "", 0, NO_CODE },
		{ "length and chunks", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 1, "", 0, NO_CODE },
		{ "bytes behind a GET", GET, 1, "", 1, NGHTTP2_INTERNAL_ERROR },
		{ "a size of no chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111111", 0, "", 1,
		  NGHTTP2_INTERNAL_ERROR },
		{ "a trailer line that is none", POST_CHUNK_5000, 5000, "\r\n0\r\nA\r\n\r\n", 1, NGHTTP2_INTERNAL_ERROR },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		origin_open(NULL);
		struct ask *a = ask(rows[i].head, rows[i].body, rows[i].foot);

		settle();
		UNIT_ROW(a->failed && a->fate == H2_FATE_UNKNOWN && a->why.details[0], "%s: it goes on", rows[i].name);
		UNIT_ROW(a->heads == rows[i].heads && a->code == rows[i].code, "%s: %d heads, code %d", rows[i].name, a->heads, a->code);
		ask_close(a);
		settle();
		UNIT_ROW(world.idles == 1 && h2_room(world.h2) > 0, "%s: the session has suffered", rows[i].name);
		origin_close();
	}
}

/* A request of which a part is missing is reset when its owner goes. */
static void breaks_off(void)
{
	static const struct { const char *name, *head; size_t body; int heads, code; } rows[] = {
		{ "nothing was written", "", 0, 0, NO_CODE },
		{ "the head is not whole", "GET / HTTP/1.1\r\nHost: h\r\n", 0, 0, NO_CODE },
		{ "the response is not there", GET, 0, 1, NGHTTP2_CANCEL },
		{ "the body is not whole", POST_5000, 4999, 1, NGHTTP2_CANCEL },
		{ "a chunk is missing", POST_CHUNK_5000, 5000, 1, NGHTTP2_CANCEL },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int aborts = 0; aborts < 2; aborts++) {
			origin_open(NULL);
			struct ask *a = ask(rows[i].head, rows[i].body, "");

			settle();
			(aborts ? conn_abort : conn_close)(&a->conn);
			settle();
			UNIT_ROW(a->heads == rows[i].heads && a->code == rows[i].code, "%s: %d heads, code %d", rows[i].name, a->heads, a->code);
			UNIT_ROW(world.idles == 1 && h2_room(world.h2) > 0 && !world.h2->n, "%s: the session has suffered", rows[i].name);
			origin_close();
		}
}

/* A window of 0, then of a few bytes: the writer waits, and nobody else does. */
static void windows(void)
{
	static const struct frame nothing[] = { SETTINGS("\4", "\0\0\0\0") }, some[] = { WINDOW(1, "\0\0\x03\xe8") }, rest[] = { WINDOW(1, "\0\0\x0f\xa1") };

	for (int chunked = 0; chunked < 2; chunked++) {
		origin_open(NULL);
		send_frames(nothing, 1);
		settle();
		struct ask *a = ask(chunked ? POST_CHUNK_5000 : POST_5000, 5000, chunked ? "\r\n0\r\n\r\n" : ""), *b = ask(GET, 0, "");

		settle();
		CU_ASSERT(a->heads == 1 && !a->heard && !a->ends && b->ends == 1);
		send_frames(some, 1);
		settle();
		CU_ASSERT(a->heard == 1000 && !a->ends);
		send_frames(rest, 1);
		settle();
		CU_ASSERT(a->heard == 5000 && a->ends == 1 && a->code == NO_CODE);
		origin_close();
	}
}

/* The window of the connection is for all streams. */
static void window_of_all(void)
{
	static const struct frame wide[] = { SETTINGS("\4", "\0\x10\0\0") }, more[] = { WINDOW(0, "\0\x10\0\0") };

	origin_open(NULL);
	send_frames(wide, 1);
	settle();
	struct ask *a = ask("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n", 100000, ""), *b = ask(POST_5000, 5000, "");
	settle();
	CU_ASSERT(a->heard + b->heard == 65535 && !a->ends);
	send_frames(more, 1);
	settle();
	CU_ASSERT(a->heard == 100000 && b->heard == 5000 && a->ends == 1 && b->ends == 1);
	origin_close();
}

/* The socket takes nothing: what waits is bounded, and all of it comes. */
static void full_socket(void)
{
	static const struct frame wide[] = { SETTINGS("\4", "\0\x10\0\0"), WINDOW(0, "\0\x10\0\0") };

	origin_open(NULL);
	send_frames(wide, 2);
	settle();
	origin.reads = false;
	struct ask *a[4];
	for (size_t i = 0; i < COUNT(a); i++)
		a[i] = ask("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n", 100000, "");
	settle();
	CU_ASSERT(world.h2->out.len >= H2_OUT_BYTES && world.h2->out.len <= H2_OUT_BYTES + 2 * (16 << 10));
	struct ask *late = ask(GET, 0, ""), *gone = ask(GET, 0, "");
	settle();
	CU_ASSERT(late->written && !late->conn->stream->sent && !gone->conn->stream->sent);
	ask_close(gone);
	ask_close(a[3]);
	origin.reads = true;
	settle();
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT(a[i]->heard == 100000 && a[i]->ends == 1);
	CU_ASSERT(late->ends == 1 && !gone->heads && a[3]->code == NGHTTP2_CANCEL);
	origin_close();
}

/* An origin that takes nothing may wait until what it sends is taken. Both go on. */
static void both_write(void)
{
	static const struct frame wide[] = { SETTINGS("\4", "\0\x10\0\0"), WINDOW(0, "\0\x10\0\0") };

	origin_open(NULL);
	send_frames(wide, 2);
	settle();
	origin.reads = false;
	struct ask *a = ask("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n", 100000, "");
	settle();
	CU_ASSERT(world.h2->out.len >= H2_OUT_BYTES);
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
	send_data(1, false, WINDOW_BYTES);
	settle();
	CU_ASSERT(a->got > WINDOW_BYTES && !a->failed);
	origin.reads = true;
	settle();
	CU_ASSERT(a->heard == 100000 && a->ends == 1);
	origin_close();
}

/* The response is whole before the request is (8.1): it is the response all the same. */
static void early_response(void)
{
	static const struct frame nothing[] = { SETTINGS("\4", "\0\0\0\0") };
	static const struct { const char *name; struct frame frames[FRAMES]; int code; } rows[] = {
		{ "and the rest of the request is not wanted", { HEADERS_END(1, "\x8e" B_LENGTH("0")), RESET(1, "\0") }, NO_CODE },
		{ "and the stream is reset for another reason", { HEADERS_END(1, "\x8e" B_LENGTH("0")), RESET(1, "\x08") }, NO_CODE },
		{ "and nothing is said of the request", { HEADERS_END(1, "\x8e" B_LENGTH("0")) }, NGHTTP2_CANCEL },
		{ "and the connection ends", { HEADERS_END(1, "\x8e" B_LENGTH("0")), GOAWAY("\1", "\0") }, NGHTTP2_CANCEL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		origin_open(NULL);
		send_frames(nothing, 1);
		settle();
		struct ask *a = ask(POST_5000, 5000, "");
		settle();
		send_frames(rows[i].frames, FRAMES);
		settle();
		UNIT_ROW(a->ended && !a->failed && !strncmp(a->response, "HTTP/1.1 500 ", 13), "%s: %s", rows[i].name, a->response);
		UNIT_ROW(a->unwritten == (rows[i].code == NO_CODE), "%s: written %d", rows[i].name, !a->unwritten);
		ask_close(a);
		settle();
		UNIT_ROW(a->code == rows[i].code, "%s: code %d", rows[i].name, a->code);
		origin_close();
	}
}

/* SETTINGS_MAX_HEADER_LIST_SIZE (6.5.2) counts names, values and 32 bytes for each field. */
static void header_list_size(void)
{
	for (int less = 0; less < 2; less++) {
		/* ":methodGET" 10, ":schemehttps" 12, ":authorityh" 11, ":path/" 6, and 32 for each */
		const uint8_t setting[] = { 0, 6, 0, 0, 0, (uint8_t)(10 + 12 + 11 + 6 + 4 * 32 - less) };

		origin_open(NULL);
		send_frame(NGHTTP2_SETTINGS, 0, 0, setting, sizeof setting);
		settle();
		struct ask *a = ask(GET, 0, "");
		settle();
		UNIT_ROW(a->heads == !less && a->failed == less, "%d bytes less: %d heads", less, a->heads);
		UNIT_ROW(a->fate == (less ? H2_FATE_TOO_LONG : H2_FATE_UNKNOWN), "%d bytes less: fate %d", less, a->fate);
		ask_close(a);
		settle();
		UNIT_ROW(world.idles == 1 && h2_room(world.h2) > 0, "%d bytes less: the session has suffered", less);
		origin_close();
	}
}

/* In pieces of any size the same frames go out. */
static void pieces(void)
{
	static const char message[] = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n";

	for (size_t piece = 1; piece < sizeof message; piece += 7) {
		origin_open(NULL);
		struct ask *a = ask("", 0, "");

		for (size_t at = 0; at < sizeof message - 1; at += piece) {
			size_t len = sizeof message - 1 - at < piece ? sizeof message - 1 - at : piece;
			struct iovec iov = { (void *)(uintptr_t)(message + at), len };

			UNIT_ROW(conn_writev(a->conn, &iov, 1) == (ssize_t)len, "pieces of %zu", piece);
		}
		settle();
		UNIT_ROW(!strcmp(a->fields, FIELDS("POST") "a=b|") && a->heard == 6 && a->ends == 1, "pieces of %zu: %s %zu", piece, a->fields, a->heard);
		origin_close();
	}
}

UNIT_SUITE(h2_ask_write, { "requests", requests }, { "what is no request", what_is_none }, { "a request breaks off", breaks_off },
    { "windows", windows }, { "the window of the connection", window_of_all }, { "a full socket", full_socket }, { "both write", both_write },
    { "an early response", early_response }, { "a header list that is too long", header_list_size }, { "pieces", pieces })
