/* Verdicts by digest; see tls_verdicts.h. A set of a few verdicts for each value of a keyed hash: one more takes the
 * place of its set's oldest. */
#include "proxy/net/tls_verdicts.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"

enum { SETS = 128, OF_SET = 4 };

struct proof {
	uint8_t digest[TLS_VERDICT_DIGEST_BYTES];
	time_t from, until;            /* until 0: none stands here */
};

struct tls_verdicts {
	pthread_mutex_t lock;
	struct proof sets[SETS][OF_SET];
};

struct tls_verdicts *tls_verdicts_new(void)
{
	struct tls_verdicts *proofs = calloc(1, sizeof *proofs);

	if (proofs)
		pthread_mutex_init(&proofs->lock, NULL);
	return proofs;
}

void tls_verdicts_free(struct tls_verdicts **vp)
{
	struct tls_verdicts *proofs = *vp;

	*vp = NULL;
	if (!proofs)
		return;
	pthread_mutex_destroy(&proofs->lock);
	free(proofs);
}

static struct proof *set_of(struct tls_verdicts *proofs, const uint8_t *digest)
{
	return proofs->sets[hash_keyed(digest, TLS_VERDICT_DIGEST_BYTES) % SETS];
}

static bool is_of(const struct proof *proof, const uint8_t *digest)
{
	return proof->until && !memcmp(proof->digest, digest, sizeof proof->digest);
}

void tls_verdicts_add(struct tls_verdicts *proofs, const uint8_t digest[TLS_VERDICT_DIGEST_BYTES], time_t now,
    time_t until)
{
	struct proof *set = set_of(proofs, digest), *place = set;

	pthread_mutex_lock(&proofs->lock);
	for (size_t i = 1; i < OF_SET && !is_of(place, digest); i++)
		if (is_of(&set[i], digest) || set[i].from < place->from)
			place = &set[i];
	memcpy(place->digest, digest, sizeof place->digest);
	place->from = now;
	place->until = until;
	pthread_mutex_unlock(&proofs->lock);
}

time_t tls_verdicts_find(struct tls_verdicts *proofs, const uint8_t digest[TLS_VERDICT_DIGEST_BYTES], time_t now)
{
	const struct proof *set = set_of(proofs, digest);
	time_t until = 0;

	pthread_mutex_lock(&proofs->lock);
	for (size_t i = 0; i < OF_SET; i++)
		if (is_of(&set[i], digest) && now >= set[i].from && now < set[i].from + TLS_VERDICT_SECONDS &&
		    now < set[i].until)
			until = set[i].until;
	pthread_mutex_unlock(&proofs->lock);
	return until;
}
