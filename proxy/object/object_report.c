/* Owns the reports that stored objects share: the last different ones, so that the next object with the same has it
 * from here. Must not know: objects.
 * Invariant: a shared report does not change, and lasts until the last object that has it is gone. */
#include "proxy/object/object_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"

struct shared_report {
	atomic_uint refs;
	struct object_report report;
};

enum { REPORTS = 64 };

static struct {
	pthread_mutex_t lock;
	struct shared_report *at[REPORTS];     /* by hash; one reference each */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void shared_unref(struct shared_report *shared)
{
	if (shared && atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) == 1)
		heap_give(shared);
}

static void copy_word(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
}

/* All members of a struct verdict, in its order: TEXT() of arrays of characters, PLAIN() of the others. */
#define VERDICT_MEMBERS(PLAIN, TEXT) \
	PLAIN(kind) PLAIN(policy) TEXT(path) PLAIN(charset) PLAIN(literal) PLAIN(named) TEXT(unknown) PLAIN(was) \
	PLAIN(next) PLAIN(margin) PLAIN(also) PLAIN(mixed) PLAIN(says_utf_8) PLAIN(feed) PLAIN(keeps_type) \
	PLAIN(extended) PLAIN(error) PLAIN(reason) PLAIN(outcome)

/* A developer's build stops here, by -Wmissing-field-initializers, while a member is not in the list. */
#define LISTED_PLAIN(name) 0,
#define LISTED_TEXT(name) "",
static const struct verdict listed = { VERDICT_MEMBERS(LISTED_PLAIN, LISTED_TEXT) };

/* Copies member by member into zeros, so that equal reports are equal bytes. */
static void copy_verdict(struct verdict *to, const struct verdict *from)
{
#define COPY_PLAIN(name) to->name = from->name;
#define COPY_TEXT(name) copy_word(to->name, from->name, sizeof to->name);
	(void)listed;
	VERDICT_MEMBERS(COPY_PLAIN, COPY_TEXT)
}

static void copy_report(struct object_report *to, const struct object_report *from)
{
	memset(to, 0, sizeof *to);
	to->decided = from->decided;
	if (from->decided)
		copy_verdict(&to->verdict, &from->verdict);
	to->revised = from->revised;
	to->repairs = from->repairs;
	to->malformed = from->malformed;
	to->normalised = from->normalised;
	to->decoded = from->decoded;
	to->cut = from->cut;
}

static struct shared_report *shared_new(const struct object_report *plain)
{
	struct shared_report *shared = heap_take(HEAP_KEPT, sizeof *shared);

	if (!shared)
		return NULL;
	atomic_init(&shared->refs, 2);      /* the table's and the caller's */
	memcpy(&shared->report, plain, sizeof *plain);
	return shared;
}

const struct object_report *report_share(const struct object_report *report, size_t *made)
{
	struct object_report plain;
	struct shared_report *shared, *gone = NULL;

	*made = 0;
	copy_report(&plain, report);
	struct shared_report **at = &known.at[hash_keyed(&plain, sizeof plain) % REPORTS];
	pthread_mutex_lock(&known.lock);
	if ((shared = *at) && !memcmp(&shared->report, &plain, sizeof plain)) {
		atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
	} else if ((shared = shared_new(&plain))) {
		*made = heap_bytes(shared);
		gone = *at;
		*at = shared;
	}
	pthread_mutex_unlock(&known.lock);
	shared_unref(gone);
	return shared ? &shared->report : NULL;
}

void report_unshare(const struct object_report *report)
{
	shared_unref(container_of(report, struct shared_report, report));
}
