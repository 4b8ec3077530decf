/* Owns the cases of proxy/http/message_signature.c: bases and fields are byte for byte those of the vectors. Source: RFC 9421 sections 2.5
 * and 4. */
#include "proxy/http/message_signature.h"
#include "tests/unit/signatures.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "proxy/base/base64.h"

struct made {
	struct signature_component components[VECTOR_PARTS];
	struct signature_param params[VECTOR_PARTS];
	struct signature signature;
};

static void make(struct made *made, const struct signature_vector *v)
{
	size_t c = 0, p = 0;

	for (; v->components[c].name; c++)
		made->components[c] = (struct signature_component){ v->components[c].name, v->components[c].params,
			{ v->components[c].value, strlen(v->components[c].value) } };
	for (; v->params[p].name; p++)
		made->params[p] = (struct signature_param){ v->params[p].name, v->params[p].text, v->params[p].number };
	made->signature = (struct signature){ made->components, c, made->params, p };
}

static bool is(struct text *t, const char *want)
{
	bool same = !t->failed && t->len == strlen(want) && !memcmp(t->bytes, want, t->len);

	text_free(t);
	return same;
}

static void bases(void)
{
	for (size_t i = 0; i < VECTORS; i++) {
		struct text t = { 0 };
		struct made made;
		char want[2048];

		make(&made, &vectors[i]);
		snprintf(want, sizeof want, "%s\"@signature-params\": %s", vectors[i].base, vectors[i].input);
		UNIT_ROW(signature_write_base(&t, &made.signature), "%s", vectors[i].name);
		UNIT_ROW(is(&t, want), "%s", vectors[i].name);
	}
}

static void fields(void)
{
	for (size_t i = 0; i < VECTORS; i++) {
		struct text t = { 0 };
		struct made made;
		char want[2048], bytes[64];
		struct slice coded = { vectors[i].signature, strlen(vectors[i].signature) };

		make(&made, &vectors[i]);
		CU_ASSERT_EQUAL(base64_read(coded, bytes, sizeof bytes), sizeof bytes);
		snprintf(want, sizeof want, "Signature-Input: %s=%s\r\nSignature: %s=:%s:\r\n", vectors[i].label, vectors[i].input,
			vectors[i].label, vectors[i].signature);
		UNIT_ROW(signature_write_fields(&t, vectors[i].label, &made.signature, (struct slice){ bytes, sizeof bytes }), "%s",
			vectors[i].name);
		UNIT_ROW(is(&t, want), "%s", vectors[i].name);
	}
}

/* Values that would make another line of the base, and values that a structured field cannot hold. */
static void refused(void)
{
	static const struct signature_component split = { "@path", "", { "/a\n\"@method\": POST", 18 } }, good = { "@path", "", { "/a", 2 } };
	static const struct signature_param text = { "nonce", "a\nb", 0 }, number = { "created", NULL, INT64_C(1000000000000000) };
	const struct { const char *name; struct signature signature; } cases[] = {
		{ "a value of two lines", { &split, 1, NULL, 0 } },
		{ "a parameter of two lines", { &good, 1, &text, 1 } },
		{ "a number of sixteen digits", { &good, 1, &number, 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };

		UNIT_ROW(!signature_write_base(&t, &cases[i].signature), "%s", cases[i].name);
		text_free(&t);
	}
}

UNIT_SUITE(message_signature, { "bases", bases }, { "fields", fields }, { "refused", refused })
