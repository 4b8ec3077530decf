/* Owns the check whether an LMDB file of utfeed (format of LMDB 0.9, data version 1) can be trusted: LMDB has no
 * checksums and believes whatever its pages say. The check reads with pread(2), so that a file which loses its end
 * meanwhile is found damaged instead of raising a signal. Must not know: the library, entries.
 * Invariant: in a file found sound, LMDB meets no page, node, number or list that leads out of the file or of its page,
 * no page twice, and no keys out of order. Of values only the lengths are checked: entries have checksums of their
 * own. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_CHECK_H
#define UTFEED_PROXY_STORE_STORE_LMDB_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_verdict { CHECK_SOUND, CHECK_EMPTY /* no byte: LMDB makes it anew */, CHECK_DAMAGED, CHECK_STOPPED,
	CHECK_NO_MEMORY };

struct check_found {
	const char *fault;             /* DAMAGED: what is wrong, static */
	uint64_t page;                 /* where */
	uint64_t txnid;                /* of the newest meta page */
};

/* Checks only what mdb_env_open() relies on: the two meta pages and the length of the file. */
enum check_verdict check_metas(int fd, struct check_found *);
/* Checks all pages that can be reached from the meta page of txnid; where other processes write, a transaction must
 * keep them alive. CHECK_EMPTY: that meta page has been written over. stop is read now and then. */
enum check_verdict check_tree(int fd, uint64_t txnid, const atomic_bool *stop, struct check_found *);

#endif
