/* Owns the figures of others that signatures are held against: keys, signature bases, signatures.
 * Must not know: how they are made here. Sources: RFC 9421 appendix B.2.6 with the key of B.1.4;
 * draft-ietf-webbotauth-httpsig-protocol-01, appendices E.2.1, E.2.2 and E.2.3. */
#ifndef UTFEED_TESTS_UNIT_SIGNATURES_H
#define UTFEED_TESTS_UNIT_SIGNATURES_H

#include <stdint.h>

#define SIGNATURES_KEY "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n"
#define SIGNATURES_X "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
#define SIGNATURES_ID "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
/* The directory with that key, and its digest. */
#define SIGNATURES_DIRECTORY \
	"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"" SIGNATURES_ID "\",\"x\":\"" SIGNATURES_X "\",\"use\":\"sig\"}]}"
#define SIGNATURES_DIGEST "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"

#define NONCE_1 "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
#define NONCE_2 "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="
#define AGENT "\"https://signature-agent.test\""

enum { VECTOR_PARTS = 7 };

static const struct signature_vector {
	const char *name, *label;
	struct { const char *name, *params, *value; } components[VECTOR_PARTS];
	struct { const char *name, *text; int64_t number; } params[VECTOR_PARTS];
	const char *input;             /* the list of components with its parameters */
	const char *base;              /* what stands before it in the signature base */
	const char *signature;
} vectors[] = {
	{ "RFC 9421 B.2.6", "sig-b26",
	  { { "date", "", "Tue, 20 Apr 2021 02:07:55 GMT" }, { "@method", "", "POST" }, { "@path", "", "/foo" },
	    { "@authority", "", "example.com" }, { "content-type", "", "application/json" }, { "content-length", "", "18" } },
	  { { "created", NULL, 1618884473 }, { "keyid", "test-key-ed25519", 0 } },
	  "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"",
	  "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\"@authority\": example.com\n"
	  "\"content-type\": application/json\n\"content-length\": 18\n",
	  "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==" },
	{ "E.2.1, a request", "sig2",
	  { { "@authority", "", "example.com" }, { "signature-agent", ";key=\"agent2\"", AGENT } },
	  { { "created", NULL, 1735689600 }, { "keyid", SIGNATURES_ID, 0 }, { "alg", "ed25519", 0 }, { "expires", NULL, 4889289600 },
	    { "nonce", NONCE_1, 0 }, { "tag", "web-bot-auth", 0 } },
	  "(\"@authority\" \"signature-agent\";key=\"agent2\");created=1735689600;keyid=\"" SIGNATURES_ID "\";alg=\"ed25519\""
	  ";expires=4889289600;nonce=\"" NONCE_1 "\";tag=\"web-bot-auth\"",
	  "\"@authority\": example.com\n\"signature-agent\";key=\"agent2\": " AGENT "\n",
	  "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==" },
	{ "E.2.2, a field that is a string", "sig2",
	  { { "@authority", "", "example.com" }, { "signature-agent", "", AGENT } },
	  { { "created", NULL, 1735689600 }, { "keyid", SIGNATURES_ID, 0 }, { "alg", "ed25519", 0 }, { "expires", NULL, 1735693200 },
	    { "nonce", NONCE_2, 0 }, { "tag", "web-bot-auth", 0 } },
	  "(\"@authority\" \"signature-agent\");created=1735689600;keyid=\"" SIGNATURES_ID "\";alg=\"ed25519\""
	  ";expires=1735693200;nonce=\"" NONCE_2 "\";tag=\"web-bot-auth\"",
	  "\"@authority\": example.com\n\"signature-agent\": " AGENT "\n",
	  "jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==" },
	{ "E.2.3, a directory", "binding",
	  { { "@authority", ";req", "signature-agent.test" }, { "content-digest", "", SIGNATURES_DIGEST } },
	  { { "created", NULL, 1735689600 }, { "expires", NULL, 4889289600 }, { "keyid", SIGNATURES_ID, 0 },
	    { "tag", "http-message-signatures-directory", 0 } },
	  "(\"@authority\";req \"content-digest\");created=1735689600;expires=4889289600;keyid=\"" SIGNATURES_ID "\""
	  ";tag=\"http-message-signatures-directory\"",
	  "\"@authority\";req: signature-agent.test\n\"content-digest\": " SIGNATURES_DIGEST "\n",
	  "l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==" },
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

#endif
