/* Owns running the normaliser over a document; see subject.h. */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int on_verdict(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	s->kind = v->kind;
	verdict_format(v, s->rule, sizeof(s->rule));
	return 0;
}

static int on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct seen *s = arg;

	text_add(&s->out, bytes, len);
	return 0;
}

void subject_normalise(struct seen *s, const struct subject *b, enum normalise_output output, struct chance *steps)
{
	const struct normalise_options o = { .policy = POLICY_AUTO, .http = b->http, .content_type = b->type,
		.content_type_len = b->type ? strlen(b->type) : 0, .sniff_bytes = b->window, .repairs = REPAIR_ALL,
		.output = output };
	const struct normalise_events events = { on_verdict, on_verdict, on_write, s };
	struct normaliser *n = normaliser_new(&o, &events);
	unsigned most = steps && one_in(steps, 2) ? 1 : 700;

	if (!n)
		abort();
	text_clear(&s->out);
	text_add(&s->out, "", 0);
	for (size_t at = 0, step; at < b->len; at += step) {
		step = steps ? 1 + below(steps, most) : b->len;
		step = step < b->len - at ? step : b->len - at;
		if (normaliser_feed(n, (const uint8_t *)b->bytes + at, step) != 0)
			abort();
	}
	if (normaliser_finish(n) != 0)
		abort();
	s->lost = normaliser_report(n)->lost;
	normaliser_free(&n);
}

static void print_bytes(const char *name, const char *bytes, size_t len)
{
	printf("  %s, %zu bytes: \"", name, len);
	for (size_t i = 0; i < len && i < 1500; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c == '\n')
			printf("\\n");
		else if (c < ' ' || c >= 0x7f)
			printf("\\%03o", c);
		else
			putchar(c);
	}
	printf("\"%s\n", len > 1500 ? " ..." : "");
}

void subject_print(const char *test, const struct subject *b, const struct seen *s, const char *why)
{
	printf("%s: document %llu, %s as %s: %s; %s\n", test, (unsigned long long)b->number, b->what,
	    !b->http ? "a file" : b->type ? b->type : "no type", why, s->rule);
	print_bytes("in", b->bytes, b->len);
	print_bytes("out", s->out.bytes, s->out.len);
}

bool same(const struct text *a, const char *bytes, size_t len)
{
	return a->len == len && memcmp(a->bytes, bytes, len) == 0;
}

bool subject_is_cut_alike(struct seen *cut, const struct subject *b, const struct seen *whole, struct chance *c)
{
	subject_normalise(cut, b, OUTPUT_UTF_8, c);
	return cut->kind == whole->kind && strcmp(cut->rule, whole->rule) == 0 && same(&cut->out, whole->out.bytes, whole->out.len);
}

uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 10) : otherwise;
}
