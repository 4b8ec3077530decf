/* Owns the cases of proxy/net/sign_key.c: signatures are those of the vectors, and messages name the fault of a file. Sources: RFC 8032,
 * RFC 8410. */
#include "proxy/net/sign_key.h"
#include "tests/unit/signatures.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/base/base64.h"

#define OTHER "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEILS7mApZ1LGJwluNgdG+kegaCzMkUYqTz3PoUMxQEwjq\n-----END PRIVATE KEY-----\n"
#define OTHER_X "oGIxNG6MG2bGIEt_48dekYCSHjUKgEmgC5w-yHin4zY"
#define EC \
	"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPMXRSJSanhPWeh48\n" \
	"LO8QeMB522h4Tw8Xa97EkTSz4oehRANCAAQ/hqX6iRO4B8Oi8n5j+2ASqpIUyAIX\n" \
	"HF4ybWrtR2yXFlEcHL6CprWBvtiJFcOxyaxjg6vLsUm3jQXGphrJ9fBn\n-----END PRIVATE KEY-----\n"
#define ENCRYPTED \
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiMglNX8vJf0wICCAAw\n" \
	"DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEKSOC0jtxWUyMcFOrIrtZugEQN0a\n" \
	"9I3A2LdzuDaHLx+6zH3KPH2d0N/f8pvRw1YVUpLRglt2i6W1VDLrRI1o659y02bN\nE4fRdFq7jewucy6rAIA=\n-----END ENCRYPTED PRIVATE KEY-----\n"
#define CERTIFICATE \
	"-----BEGIN CERTIFICATE-----\nMIIBLDCB36ADAgECAhRYBR84ZYBZeTTLm+NB9Qc5vSykVDAFBgMrZXAwDDEKMAgG\n" \
	"A1UEAwwBYTAeFw0yNjExMjcxNTE3MDdaFw0zNjExMjQxNTE3MDdaMAwxCjAIBgNV\n" \
	"BAMMAWEwKjAFBgMrZXADIQCgYjE0bowbZsYgS3/jx16RgJIeNQqASaALnD7IeKfj\n" \
	"NqNTMFEwHQYDVR0OBBYEFOlcYXlNM/CwCXPATVW01SEauv6nMB8GA1UdIwQYMBaA\n" \
	"FOlcYXlNM/CwCXPATVW01SEauv6nMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EA\n" \
	"C3Tod9vjyMaNiNdJL4ybghikDoQkU20gd6DdVqerRtwBV96Rp7ZgL8kiEeinyz+S\n3cQjabvKc/iDzjRp+PiTAg==\n-----END CERTIFICATE-----\n"
#define CUT "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6\n-----END PRIVATE KEY-----\n"
#define FOUR SIGNATURES_KEY SIGNATURES_KEY OTHER OTHER

/* The keys of a file with this text; *exposed and why as of sign_keys_read(). */
static struct sign_keys *read_text(const char *text, mode_t mode, bool *exposed, struct sign_keys_why *why)
{
	char path[] = "/tmp/utfeed-test-XXXXXX";
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0 && close(fd) == 0);
	struct sign_keys *keys = sign_keys_read(path, exposed, why);
	unlink(path);
	return keys;
}

static bool has_coded(void (*write)(struct text *, struct slice), const unsigned char *bytes, size_t len, const char *want)
{
	struct text t = { 0 };

	write(&t, (struct slice){ (const char *)bytes, len });
	bool same = t.len == strlen(want) && !memcmp(t.bytes, want, t.len);
	text_free(&t);
	return same;
}

static void signatures(void)
{
	struct sign_keys_why why = { "" };
	bool exposed;
	struct sign_keys *keys = read_text(SIGNATURES_KEY, 0600, &exposed, &why);

	if (!UNIT_ROW(keys != NULL, "%s", why.text))
		return;
	CU_ASSERT(has_coded(base64_write_url, sign_keys_public(keys, 0), SIGN_PUBLIC_BYTES, SIGNATURES_X));
	for (size_t i = 0; i < VECTORS; i++) {
		unsigned char bytes[SIGN_SIGNATURE_BYTES];
		char base[2048];
		int len = snprintf(base, sizeof base, "%s\"@signature-params\": %s", vectors[i].base, vectors[i].input);

		UNIT_ROW(sign_keys_sign(keys, 0, (struct slice){ base, (size_t)len }, bytes), "%s", vectors[i].name);
		UNIT_ROW(has_coded(base64_write, bytes, sizeof bytes, vectors[i].signature), "%s", vectors[i].name);
	}
	sign_keys_free(&keys);
}

static void digests(void)
{
	unsigned char digest[SIGN_DIGEST_BYTES];
	static const char key[] = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" SIGNATURES_X "\"}";

	CU_ASSERT(sign_digest((struct slice){ key, sizeof key - 1 }, digest));
	CU_ASSERT(has_coded(base64_write_url, digest, sizeof digest, SIGNATURES_ID));
}

static void files(void)
{
	static const struct { const char *rule, *text; mode_t mode; size_t count; bool exposed; const char *last; } cases[] = {
		{ "one key", OTHER, 0600, 1, false, OTHER_X },
		{ "the group may read it", OTHER, 0640, 1, false, OTHER_X },
		{ "the group may write it", OTHER, 0660, 1, true, OTHER_X },
		{ "others may read it", OTHER, 0644, 1, true, OTHER_X },
		{ "the next key behind it", SIGNATURES_KEY OTHER, 0600, 2, false, OTHER_X },
		{ "words and a certificate around it", "a\n" CERTIFICATE OTHER CERTIFICATE "b\n", 0600, 1, false, OTHER_X },
		{ "eight", FOUR FOUR, 0600, 8, false, OTHER_X },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sign_keys_why why = { "" };
		bool exposed = !cases[i].exposed;
		struct sign_keys *keys = read_text(cases[i].text, cases[i].mode, &exposed, &why);

		if (!UNIT_ROW(keys != NULL, "%s: %s", cases[i].rule, why.text))
			continue;
		UNIT_ROW(sign_keys_count(keys) == cases[i].count && exposed == cases[i].exposed, "%s", cases[i].rule);
		UNIT_ROW(has_coded(base64_write_url, sign_keys_public(keys, cases[i].count - 1), SIGN_PUBLIC_BYTES, cases[i].last), "%s",
			cases[i].rule);
		sign_keys_free(&keys);
	}
}

static void faults(void)
{
	static const struct { const char *rule, *text, *says; } cases[] = {
		{ "empty", "", "has no private key; write" },
		{ "no PEM", "hunter2\n", "has no private key; write" },
		{ "DER", "0.\2", "is DER; write" },
		{ "a certificate", CERTIFICATE, "has a certificate and no private key; name" },
		{ "another algorithm", EC, "key 1 of /tmp/utfeed-test-" },
		{ "another algorithm behind it", OTHER EC, "key 2 of /tmp/utfeed-test-" },
		{ "encrypted", ENCRYPTED, "is encrypted, and there is nobody to ask for its password; write" },
		{ "encrypted behind it", OTHER ENCRYPTED, "is encrypted, and there is nobody to ask for its password; write" },
		{ "cut", CUT, " is not an Ed25519 key; openssl genpkey -algorithm ed25519 -out FILE makes one" },
		{ "cut behind it", OTHER CUT, "key 2 of /tmp/utfeed-test-" },
		{ "no base64", "-----BEGIN PRIVATE KEY-----\n-\n-----END PRIVATE KEY-----\n", " cannot be read behind 0 of its keys; openssl" },
		{ "without its end", OTHER "-----BEGIN PRIVATE KEY-----\nMC4C\n", " cannot be read behind 1 of its keys; openssl" },
		{ "nine", FOUR FOUR OTHER, "has more than 8 keys; leave out" },
	};
	struct sign_keys_why why;
	bool exposed;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		UNIT_ROW(!read_text(cases[i].text, 0600, &exposed, &why), "%s", cases[i].rule);
		UNIT_ROW(strstr(why.text, cases[i].says) != NULL, "%s: %s", cases[i].rule, why.text);
		UNIT_ROW(!strstr(why.text, "hunter2"), "%s: %s", cases[i].rule, why.text);
	}
	CU_ASSERT_PTR_NULL(sign_keys_read("/tmp", &exposed, &why));
	UNIT_ROW(strstr(why.text, "/tmp is not a file; write") != NULL, "%s", why.text);
	CU_ASSERT_PTR_NULL(sign_keys_read("/tmp/utfeed-test-none", &exposed, &why));
	UNIT_ROW(strstr(why.text, "/tmp/utfeed-test-none: No such file or directory; write") != NULL, "%s", why.text);
}

UNIT_SUITE(sign_key, { "signatures", signatures }, { "digests", digests }, { "files", files }, { "faults", faults })
