/* Owns the cases of proxy/settings/signing.c: what a signed request and the directory have in their fields, and that each signature is one of
 * the key. Source: draft-ietf-webbotauth-httpsig-protocol-01 sections 5.2 and 5.5, appendix B.1. */
#include "proxy/settings/signing.h"
#include "tests/unit/conf/loads.h"
#include "tests/unit/signatures.h"
#include "tests/unit/unit.h"

#include "proxy/base/base64.h"
#include "proxy/net/sign_key.h"

enum { NOW = 1735689600 };

#define OTHER "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEILS7mApZ1LGJwluNgdG+kegaCzMkUYqTz3PoUMxQEwjq\n-----END PRIVATE KEY-----\n"
#define OTHER_ID "n5PeIIK6pcO_H3pPa2NU1q3Q-Md4ziqo7MuUzZwNWqE"
#define OTHER_JSON \
	"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"" OTHER_ID "\",\"x\":\"oGIxNG6MG2bGIEt_48dekYCSHjUKgEmgC5w-yHin4zY\",\"use\":\"sig\"}"
#define AT "https://signature-agent.test/.well-known/http-message-signatures-directory"

struct world {
	struct conf *conf;
	struct signing *signing;
	char text[4096];               /* what was written last, terminated */
};

static void world_new(struct world *w, const char *file)
{
	static const char *const words[] = { "serve", "-ctest_signing.conf", NULL };
	struct conf_error error = { "" };

	put_file("test_signing.pem", SIGNATURES_KEY, sizeof SIGNATURES_KEY - 1, 0600);
	put_file("test_signing_2.pem", OTHER SIGNATURES_KEY, sizeof OTHER SIGNATURES_KEY - 1, 0600);
	put_file("test_signing.conf", file, strlen(file), 0600);
	w->conf = make();
	UNIT_ROW(load_words(w->conf, words, NULL, &error) == 0, "%s", error.text);
	CU_ASSERT_EQUAL_FATAL(signing_new(w->conf, &w->signing), 0);
}

static void world_free(struct world *w)
{
	signing_free(&w->signing);
	conf_free(&w->conf);
	unlink("test_signing.conf");
	unlink("test_signing.pem");
	unlink("test_signing_2.pem");
}

static const char *keep(struct world *w, struct text *t)
{
	CU_ASSERT_FATAL(!t->failed && t->len < sizeof w->text);
	memcpy(w->text, t->bytes, t->len);
	w->text[t->len] = '\0';
	text_free(t);
	return w->text;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Whether the signature in the fields, under that label, is the key's over base and the label's input. Ed25519 has one signature for a text,
 * so that it can be made anew. */
static bool is_signed(const char *fields, const char *label, const char *base, const char *key)
{
	char whole[4096], before[64], bytes[64];
	unsigned char again[SIGN_SIGNATURE_BYTES];
	struct sign_keys_why why;
	bool exposed, same;

	snprintf(before, sizeof before, "Signature-Input: %s=", label);
	const char *input = strstr(fields, before);
	snprintf(before, sizeof before, "\r\nSignature: %s=:", label);
	const char *coded = strstr(fields, before);
	if (!input || !coded)
		return false;
	input += strcspn(input, "(");
	coded += strlen(before);
	int len = snprintf(whole, sizeof whole, "%s\"@signature-params\": %.*s", base, (int)strcspn(input, "\r"), input);
	struct sign_keys *keys = sign_keys_read(key, &exposed, &why);
	same = keys && base64_read((struct slice){ coded, strcspn(coded, ":") }, bytes, sizeof bytes) == sizeof bytes &&
		sign_keys_sign(keys, 0, (struct slice){ whole, (size_t)len }, again) && !memcmp(bytes, again, sizeof again);
	sign_keys_free(&keys);
	return same;
}

static void requests(void)
{
	static const struct { const char *authority; int64_t waits_s; const char *expires; } cases[] = {
		{ "example.com", 0, ";expires=1735689900;" },
		{ "example.com:8443", 30, ";expires=1735689930;" },
		{ "[::1]:81", 3600, ";expires=1735693500;" },
	};
	struct world w;

	world_new(&w, "sign-agent = https://signature-agent.test\n[gateway]\nsign-key = test_signing.pem\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };
		char base[512];

		signer_add(signing_of(w.signing, &w.conf->by_url), &t, cases[i].authority, &(struct signing_times){ NOW, cases[i].waits_s });
		keep(&w, &t);
		snprintf(base, sizeof base, "\"@authority\": %s\n\"signature-agent\";key=\"sig1\": \"" AT "\"\n", cases[i].authority);
		UNIT_ROW(is_signed(w.text, "sig1", base, "test_signing.pem"), "%s: %s", cases[i].authority, w.text);
		UNIT_ROW(strstr(w.text, cases[i].expires) && strstr(w.text, ";tag=\"web-bot-auth\"\r\n"), "%s", w.text);
		UNIT_ROW(begins(w.text, "Signature-Agent: sig1=\"" AT "\"\r\nSignature-Input: sig1=(\"@authority\" "
			"\"signature-agent\";key=\"sig1\");created=1735689600;keyid=\"" SIGNATURES_ID "\";alg=\"ed25519\";expires="),
			"%s", w.text);
	}
	world_free(&w);
}

/* Two requests are never signed alike. */
static void nonces(void)
{
	struct text one = { 0 }, two = { 0 };
	struct world w;

	world_new(&w, "sign-agent = https://signature-agent.test\n[gateway]\nsign-key = test_signing.pem\n");
	const struct signer *signer = signing_of(w.signing, &w.conf->by_url);
	signer_add(signer, &one, "a.test", &(struct signing_times){ NOW, 0 });
	signer_add(signer, &two, "a.test", &(struct signing_times){ NOW, 0 });
	CU_ASSERT(!one.failed && one.len == two.len && memcmp(one.bytes, two.bytes, one.len) != 0);
	text_free(&one);
	text_free(&two);
	world_free(&w);
}

#define ROUTE(path, key) "[route " path "]\norigin = http://o/\nsign-key = " key "\n"

/* A route has the signer of its file; each key stands in the directory once, and signs it. */
static void directories(void)
{
	static const struct { const char *rule, *file, *body; } cases[] = {
		{ "one key", ROUTE("/a", "test_signing.pem"), SIGNATURES_DIRECTORY },
		{ "two routes with one file", ROUTE("/a", "test_signing.pem") ROUTE("/b", "test_signing.pem"), SIGNATURES_DIRECTORY },
		{ "a file with two", ROUTE("/a", "test_signing_2.pem"),
			"{\"keys\":[" OTHER_JSON ",{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"" SIGNATURES_ID "\",\"x\":\"" SIGNATURES_X
			"\",\"use\":\"sig\"}]}" },
		{ "a key in two files", ROUTE("/a", "test_signing.pem") ROUTE("/b", "test_signing_2.pem"),
			"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"" SIGNATURES_ID "\",\"x\":\"" SIGNATURES_X "\",\"use\":\"sig\"},"
			OTHER_JSON "]}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text fields = { 0 }, body = { 0 };
		struct world w;
		char file[512];

		snprintf(file, sizeof file, "sign-agent = https://signature-agent.test\n%s", cases[i].file);
		world_new(&w, file);
		CU_ASSERT_PTR_NULL(signing_of(w.signing, &w.conf->by_url));
		CU_ASSERT_PTR_NULL(signing_of(w.signing, &w.conf->direct));
		signing_write_directory(w.signing, &fields, &body, NOW);
		UNIT_ROW(!strcmp(keep(&w, &body), cases[i].body), "%s: %s", cases[i].rule, w.text);
		keep(&w, &fields);
		UNIT_ROW(begins(w.text, "Content-Type: application/http-message-signatures-directory+json\r\n"), "%s", w.text);
		UNIT_ROW((strstr(w.text, "Signature: key2=") != NULL) == (strstr(cases[i].body, OTHER_ID) != NULL), "%s: %s", cases[i].rule, w.text);
		if (!strcmp(cases[i].body, SIGNATURES_DIRECTORY))
			UNIT_ROW(is_signed(w.text, "key1", "\"@authority\";req: signature-agent.test\n\"content-digest\": " SIGNATURES_DIGEST "\n",
				"test_signing.pem") && strstr(w.text, "\r\nContent-Digest: " SIGNATURES_DIGEST "\r\n"), "%s: %s", cases[i].rule, w.text);
		world_free(&w);
	}
}

static void nothing(void)
{
	struct world w;

	world_new(&w, "");
	CU_ASSERT_PTR_NULL(w.signing);
	world_free(&w);
}

UNIT_SUITE(signing, { "requests", requests }, { "nonces", nonces }, { "directories", directories }, { "nothing", nothing })
