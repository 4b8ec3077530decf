/* XXH64 and SipHash-1-3; see hash.h. */
#include "proxy/base/hash.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotate(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static uint64_t read64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof v);
	return le64toh(v);
}

static uint32_t read32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return le32toh(v);
}

static uint64_t xx_round(uint64_t acc, uint64_t lane)
{
	return rotate(acc + lane * P2, 31) * P1;
}

uint64_t hash_xx64(const void *bytes, size_t len)
{
	const uint8_t *at = bytes, *end = at + len;
	uint64_t h = P5;

	if (len >= 32) {
		uint64_t lanes[4] = { P1 + P2, P2, 0, 0 - P1 };

		for (; end - at >= 32; at += 32)
			for (int i = 0; i < 4; i++)
				lanes[i] = xx_round(lanes[i], read64(at + 8 * i));
		h = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
		for (int i = 0; i < 4; i++)
			h = (h ^ xx_round(0, lanes[i])) * P1 + P4;
	}
	h += len;
	for (; end - at >= 8; at += 8)
		h = rotate(h ^ xx_round(0, read64(at)), 27) * P1 + P4;
	if (end - at >= 4) {
		h = rotate(h ^ read32(at) * P1, 23) * P2 + P3;
		at += 4;
	}
	for (; at < end; at++)
		h = rotate(h ^ *at * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

uint64_t hash_fold(uint64_t h, uint64_t n)
{
	h = ((h ^ n) + P5) * P1;
	return h ^ h >> 32;
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
}

uint64_t hash_sip(const uint64_t secret[2], const void *bytes, size_t len)
{
	const uint8_t *at = bytes, *end = at + len;
	uint64_t last = (uint64_t)len << 56;
	uint64_t v[4] = { secret[0] ^ UINT64_C(0x736f6d6570736575), secret[1] ^ UINT64_C(0x646f72616e646f6d),
		secret[0] ^ UINT64_C(0x6c7967656e657261), secret[1] ^ UINT64_C(0x7465646279746573) };

	for (; end - at >= 8; at += 8)
		sip_word(v, read64(at));
	for (unsigned i = 0; at + i < end; i++)
		last |= (uint64_t)at[i] << 8 * i;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t process_secret[2];

/* Runs before main(), so that all threads see the same secret. Linux refuses so few bytes only until its pool has been
 * filled once. */
static void __attribute__((constructor)) process_secret_draw(void)
{
	if (getrandom(process_secret, sizeof process_secret, 0) != sizeof process_secret)
		abort();
}

uint64_t hash_keyed(const void *bytes, size_t len)
{
	return hash_sip(process_secret, bytes, len);
}
