/* Owns the cases of proxy/http/key_directory.c: the JSON of a key, and which requests are for the directory. Sources: RFC 7638, RFC 8037
 * appendix A.3, draft-ietf-webbotauth-httpsig-protocol-01. */
#include "proxy/http/key_directory.h"
#include "tests/unit/conf/loads.h"
#include "tests/unit/signatures.h"
#include "tests/unit/unit.h"

/* RFC 8037 appendix A.2, and the key of the vectors. */
static const struct { const char *x; unsigned char bytes[KEY_DIRECTORY_KEY_BYTES]; } keys[] = {
	{ "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
	  { 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
	    0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a } },
	{ SIGNATURES_X,
	  { 0x26, 0xb4, 0x0b, 0x8f, 0x93, 0xff, 0xf3, 0xd8, 0x97, 0x11, 0x2f, 0x7e, 0xbc, 0x58, 0x2b, 0x23, 0x2d, 0xbd, 0x72, 0x51, 0x7d, 0x08,
	    0x2f, 0xe8, 0x3c, 0xfb, 0x30, 0xdd, 0xce, 0x43, 0xd1, 0xbb } },
};

static bool is(struct text *t, const char *want)
{
	bool same = !t->failed && t->len == strlen(want) && !memcmp(t->bytes, want, t->len);

	text_free(t);
	return same;
}

static void json(void)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct text t = { 0 };
		char want[256];

		key_directory_write_canonical(&t, keys[i].bytes);
		snprintf(want, sizeof want, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"%s\"}", keys[i].x);
		UNIT_ROW(is(&t, want), "%s", keys[i].x);
		key_directory_write_key(&t, keys[i].bytes, "ID");
		snprintf(want, sizeof want, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ID\",\"x\":\"%s\",\"use\":\"sig\"}", keys[i].x);
		UNIT_ROW(is(&t, want), "%s", keys[i].x);
	}
}

#define SIGNS "[gateway]\nsign-key = /k\n"
#define AT "sign-agent = https://Bot.example"
#define PATH KEY_DIRECTORY_PATH

static void asked(void)
{
	static const struct { const char *rule, *file, *target, *hosts[2]; bool is; } cases[] = {
		{ "its URL", AT "\n" SIGNS, PATH, { "bot.example" }, true },
		{ "a host in capitals", AT "\n" SIGNS, PATH, { "BOT.Example" }, true },
		{ "the port of https", AT "\n" SIGNS, PATH, { "bot.example:443" }, true },
		{ "the root's dot", AT "\n" SIGNS, PATH, { "bot.example." }, true },
		{ "a query", AT "\n" SIGNS, PATH "?a", { "bot.example" }, true },
		{ "another port", AT "\n" SIGNS, PATH, { "bot.example:80" }, false },
		{ "a port of its own", AT ":8443\n" SIGNS, PATH, { "bot.example:8443" }, true },
		{ "a port of its own that Host lacks", AT ":8443\n" SIGNS, PATH, { "bot.example" }, false },
		{ "another host", AT "\n" SIGNS, PATH, { "a.example" }, false },
		{ "a host below it", AT "\n" SIGNS, PATH, { "a.bot.example" }, false },
		{ "no Host", AT "\n" SIGNS, PATH, { NULL }, false },
		{ "an empty Host", AT "\n" SIGNS, PATH, { "" }, false },
		{ "two", AT "\n" SIGNS, PATH, { "bot.example", "bot.example" }, false },
		{ "a Host that is none", AT "\n" SIGNS, PATH, { "bot.example/" }, false },
		{ "an address", "sign-agent = https://[::1]\n" SIGNS, PATH, { "[::1]" }, true },
		{ "a path below", AT "\n" SIGNS, PATH "/", { "bot.example" }, false },
		{ "a path above", AT "\n" SIGNS, "/.well-known/", { "bot.example" }, false },
		{ "a path in capitals", AT "\n" SIGNS, "/.WELL-KNOWN/http-message-signatures-directory", { "bot.example" }, false },
		{ "a URL", AT "\n" SIGNS, "https://bot.example" PATH, { "bot.example" }, false },
		{ "no key", AT "\n", PATH, { "bot.example" }, false },
		{ "no option", "", PATH, { "bot.example" }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const char *const words[] = { "serve", "-ctest_key_directory.conf", NULL };
		struct conf *conf = make();
		struct conf_error error = { "" };
		char bytes[256];
		struct http_field fields[2] = { { .id = H_HOST } };
		struct http_msg m = { .base = bytes, .fields = fields, .max_fields = 2, .target_len = (uint32_t)strlen(cases[i].target) };
		size_t at = m.target_len;

		put_file("test_key_directory.conf", cases[i].file, strlen(cases[i].file), 0600);
		UNIT_ROW(load_words(conf, words, NULL, &error) == 0, "%s: %s", cases[i].rule, error.text);
		memcpy(bytes, cases[i].target, at);
		for (size_t k = 0; k < 2 && cases[i].hosts[k]; k++) {
			size_t len = strlen(cases[i].hosts[k]);

			memcpy(bytes + at, cases[i].hosts[k], len);
			fields[k] = (struct http_field){ .id = H_HOST, .value = (uint32_t)at, .value_len = (uint32_t)len };
			http_msg_add(&m);
			at += len;
		}
		UNIT_ROW(key_directory_is(conf, &m) == cases[i].is, "%s", cases[i].rule);
		conf_free(&conf);
	}
	unlink("test_key_directory.conf");
}

UNIT_SUITE(key_directory, { "json", json }, { "asked", asked })
