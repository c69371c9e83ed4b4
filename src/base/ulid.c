#include "base/ulid.h"

#include "base/hash.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

bool ulid_is(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!p[i] || !strchr(digits, p[i]))
			return false;
	return n == ULID_LEN;
}

int ulid_new(char ret[ULID_LEN + 1])
{
	unsigned char raw[16];
	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	uint64_t ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	for (int i = 0; i < 6; i++)
		raw[i] = (unsigned char)(ms >> (40 - 8 * i));
	/* 130 bits of text for 128 of value: the first digit holds three. */
	for (int i = 0; i < ULID_LEN; i++) {
		unsigned v = 0;
		for (int bit = 0; bit < 5; bit++) {
			int k = i * 5 + bit - 2;
			v = v << 1 | (k < 0 ? 0 : (raw[k / 8] >> (7 - k % 8)) & 1);
		}
		ret[i] = digits[v];
	}
	ret[ULID_LEN] = '\0';
	return 0;
}

void ulid_of_hash(int64_t time, uint64_t hash, char ret[ULID_LEN + 1])
{
	uint64_t ms = time > 0 && time != INT64_MAX ? (uint64_t)time / 1000000 : 0,
	         rest[2] = {hash, hash_more(1, &hash, sizeof(hash))};
	for (unsigned i = 10; i-- > 0; ms >>= 5)
		ret[i] = digits[ms & 31];
	for (unsigned i = 0; i < 16; i++)
		ret[10 + i] = digits[rest[i / 8] >> (5 * (i % 8)) & 31];
	ret[ULID_LEN] = '\0';
}
