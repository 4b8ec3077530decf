/* Signing requests; see signing.h. */
#include "proxy/settings/signing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "conf/conf.h"
#include "proxy/base/base64.h"
#include "proxy/base/log.h"
#include "proxy/http/key_directory.h"
#include "proxy/http/message_signature.h"
#include "proxy/http/sf_write.h"
#include "proxy/net/sign_key.h"

/* The label of the signature, which is the key of the member in Signature-Agent, too. */
#define SIGNING_LABEL "sig1"

enum {
	/* How long an origin may take a signature: clocks differ, and whoever sees one may use it again for the same
	 * origin until then. */
	SIGNING_LIFETIME_S = 5 * 60,
	/* Lists that pass the directory on are to be made anew within this time. */
	SIGNING_DIRECTORY_LIFETIME_S = 7 * 24 * 60 * 60,
	SIGNING_NONCE_BYTES = 64,
	SIGNING_ID_MAX = 44            /* a digest in base64 and a NUL */
};

/* How long verifiers may keep the directory, and so go on with a key that has left it. */
#define SIGNING_CACHE "Cache-Control: max-age=3600\r\n"

static_assert((int)SIGN_PUBLIC_BYTES == (int)KEY_DIRECTORY_KEY_BYTES, "the key of a directory is that of a file");

struct signer {
	const char *path;              /* of the configuration */
	struct sign_keys *keys;        /* the first one signs requests */
	char ids[SIGN_KEYS_MAX][SIGNING_ID_MAX];       /* thumbprints (RFC 7638) */
	const struct signing *signing;
};

struct signing {
	char *agent;                   /* the value of Signature-Agent's member */
	const char *authority;         /* of the directory; of the configuration */
	size_t n;
	struct signer signers[];       /* one for each file */
};

/* ---- making ---- */

static int signer_name_keys(struct signer *signer)
{
	unsigned char digest[SIGN_DIGEST_BYTES];

	for (size_t i = 0; i < sign_keys_count(signer->keys); i++) {
		struct text json = { 0 }, id = text_on(signer->ids[i], SIGNING_ID_MAX);
		bool done;

		key_directory_write_canonical(&json, sign_keys_public(signer->keys, i));
		done = !json.failed && sign_digest((struct slice){ json.bytes, json.len }, digest);
		text_free(&json);
		if (!done)
			return -1;
		base64_write_url(&id, (struct slice){ (char *)digest, sizeof digest });
		text_add(&id, "", 1);
		assert(!id.failed);
	}
	return 0;
}

static int signing_add(struct signing *signing, const struct conf *conf, const struct conf_route *route)
{
	struct signer *signer = &signing->signers[signing->n];
	struct sign_keys_why why;
	bool exposed = false;

	*signer = (struct signer){ .path = route->sign_key, .signing = signing };
	if (!(signer->keys = sign_keys_read(route->sign_key, &exposed, &why))) {
		log_error("%s: %s", conf_place(conf, route, "sign-key").text, why.text);
		return -1;
	}
	signing->n++;
	if (exposed)
		log_warn("%s: others than its owner can read or change %s, and could sign as %s; chmod 600 the file, "
		    "and make another key if somebody may have read it", conf_place(conf, route, "sign-key").text,
		    route->sign_key, conf->sign_agent.host);
	if (!signer_name_keys(signer))
		return 0;
	log_error("sign-key: out of memory");
	return -1;
}

static int signing_fill(struct signing *signing, const struct conf *conf)
{
	int status = 0;

	for (size_t i = 0; i < conf_route_count(conf); i++) {
		const struct conf_route *route = conf_route_at(conf, i);

		if (*route->sign_key && !signing_of(signing, route) && signing_add(signing, conf, route))
			status = -1;
	}
	return status;
}

int signing_new(const struct conf *conf, struct signing **made)
{
	struct text agent = { 0 };
	size_t len;

	*made = NULL;
	if (!conf_signs(conf))
		return 0;
	text_printf(&agent, "https://%s" KEY_DIRECTORY_PATH, conf->sign_agent.authority);
	text_add(&agent, "", 1);
	struct signing *signing = calloc(1, sizeof *signing + conf_route_count(conf) * sizeof *signing->signers);
	char *url = text_take(&agent, &len);
	if (!signing || !url) {
		free(signing);
		free(url);
		log_error("sign-key: out of memory");
		return -1;
	}
	signing->agent = url;
	signing->authority = conf->sign_agent.authority;
	*made = signing;
	if (!signing_fill(signing, conf))
		return 0;
	signing_free(made);
	return -1;
}

void signing_free(struct signing **sp)
{
	struct signing *signing = *sp;

	*sp = NULL;
	if (!signing)
		return;
	while (signing->n)
		sign_keys_free(&signing->signers[--signing->n].keys);
	free(signing->agent);
	free(signing);
}

const struct signer *signing_of(const struct signing *signing, const struct conf_route *route)
{
	for (size_t i = 0; i < signing->n; i++)
		if (!strcmp(signing->signers[i].path, route->sign_key))
			return &signing->signers[i];
	return NULL;
}

/* ---- signing ---- */

/* Signs by a key and appends the two fields. The values are ours, so that fields can hold them. */
static void signer_add_signature(const struct signer *signer, size_t key, struct text *t, const char *label,
    const struct signature *signature)
{
	unsigned char bytes[SIGN_SIGNATURE_BYTES];
	struct text base = { 0 };
	bool fits = signature_write_base(&base, signature);

	if (base.failed || !sign_keys_sign(signer->keys, key, (struct slice){ base.bytes, base.len }, bytes))
		t->failed = true;
	fits &= signature_write_fields(t, label, signature, (struct slice){ (char *)bytes, sizeof bytes });
	assert(fits);
	text_free(&base);
}

void signer_add(const struct signer *signer, struct text *t, const char *authority, const struct signing_times *times)
{
	char random[SIGNING_NONCE_BYTES], nonce_room[2 * SIGNING_NONCE_BYTES], agent_room[URL_MAX_HOST + 128];
	struct text nonce = text_on(nonce_room, sizeof nonce_room), agent = text_on(agent_room, sizeof agent_room);
	const char *url = signer->signing->agent;

	if (getrandom(random, sizeof random, 0) != sizeof random) {
		t->failed = true;
		return;
	}
	base64_write(&nonce, (struct slice){ random, sizeof random });
	text_add(&nonce, "", 1);
	bool fits = sf_write_string(&agent, (struct slice){ url, strlen(url) });
	assert(fits && !nonce.failed && !agent.failed);
	struct slice member = { agent.bytes, agent.len };
	const struct signature_component components[] = {
		{ "@authority", "", { authority, strlen(authority) } },
		{ "signature-agent", ";key=\"" SIGNING_LABEL "\"", member },
	};
	const struct signature_param params[] = {
		{ "created", NULL, times->now_s },
		{ "keyid", signer->ids[0], 0 },
		{ "alg", "ed25519", 0 },
		{ "expires", NULL, times->now_s + SIGNING_LIFETIME_S + times->waits_s },
		{ "nonce", nonce.bytes, 0 },
		{ "tag", "web-bot-auth", 0 },
	};
	text_puts(t, "Signature-Agent: " SIGNING_LABEL "=");
	text_add(t, member.at, member.len);
	text_puts(t, "\r\n");
	signer_add_signature(signer, 0, t, SIGNING_LABEL, &(struct signature){ components,
	    sizeof components / sizeof *components, params, sizeof params / sizeof *params });
}

/* ---- the directory ---- */

/* Whether an earlier key of the directory is the same. */
static bool signing_has_before(const struct signing *signing, size_t file, size_t key)
{
	const char *id = signing->signers[file].ids[key];

	for (size_t i = 0; i <= file; i++)
		for (size_t k = 0; k < (i < file ? sign_keys_count(signing->signers[i].keys) : key); k++)
			if (!strcmp(signing->signers[i].ids[k], id))
				return true;
	return false;
}

static void signing_write_keys(const struct signing *signing, struct text *body)
{
	const char *between = "";

	text_puts(body, "{\"keys\":[");
	for (size_t i = 0; i < signing->n; i++)
		for (size_t k = 0; k < sign_keys_count(signing->signers[i].keys); k++)
			if (!signing_has_before(signing, i, k)) {
				text_puts(body, between);
				key_directory_write_key(body, sign_keys_public(signing->signers[i].keys, k),
				    signing->signers[i].ids[k]);
				between = ",";
			}
	text_puts(body, "]}");
}

/* The signature of a key proves that its owner published it under this host, in these bytes (draft, appendix B.1). */
static void signing_sign_directory(const struct signing *signing, struct text *fields, struct slice digest,
    int64_t now_s)
{
	const struct signature_component components[] = {
		{ "@authority", ";req", { signing->authority, strlen(signing->authority) } },
		{ "content-digest", "", digest },
	};
	size_t number = 0;

	for (size_t i = 0; i < signing->n; i++)
		for (size_t k = 0; k < sign_keys_count(signing->signers[i].keys); k++) {
			const struct signature_param params[] = {
				{ "created", NULL, now_s },
				{ "expires", NULL, now_s + SIGNING_DIRECTORY_LIFETIME_S },
				{ "keyid", signing->signers[i].ids[k], 0 },
				{ "tag", "http-message-signatures-directory", 0 },
			};
			char label[16];

			if (signing_has_before(signing, i, k))
				continue;
			snprintf(label, sizeof label, "key%zu", ++number);
			signer_add_signature(&signing->signers[i], k, fields, label,
			    &(struct signature){ components, sizeof components / sizeof *components, params,
			        sizeof params / sizeof *params });
		}
}

void signing_write_directory(const struct signing *signing, struct text *fields, struct text *body, int64_t now_s)
{
	unsigned char bytes[SIGN_DIGEST_BYTES];
	struct text digest = { 0 };

	signing_write_keys(signing, body);
	if (body->failed || !sign_digest((struct slice){ body->bytes, body->len }, bytes)) {
		fields->failed = true;
		return;
	}
	text_puts(&digest, "sha-256=");
	sf_write_bytes(&digest, (struct slice){ (char *)bytes, sizeof bytes });
	text_puts(fields, KEY_DIRECTORY_CONTENT_TYPE SIGNING_CACHE "Content-Digest: ");
	text_add(fields, digest.bytes, digest.len);
	text_puts(fields, "\r\n");
	if (digest.failed)
		fields->failed = true;
	else
		signing_sign_directory(signing, fields, (struct slice){ digest.bytes, digest.len }, now_s);
	text_free(&digest);
}
