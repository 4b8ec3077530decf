/* Owns whether an LMDB file of ours (format of LMDB 0.9, data version 1) may be trusted: LMDB has no checksums and
 * believes whatever its pages say. Reads with pread(2): a file that loses its end meanwhile is damaged, no signal. Must
 * not know: the library, entries.
 * Invariant: in what is found sound LMDB meets no page, node, number or list that leads out of the file or of its page,
 * no page twice, and no keys out of order. What values hold is not looked at, but for lengths: entries have checksums
 * of their own. */
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
	uint64_t map_bytes;            /* the largest map that any process had of it */
};

/* The two meta pages and the file's length alone: what mdb_env_open() believes. */
enum check_verdict check_metas(int fd, struct check_found *);
/* All that can be reached from the meta page of txnid, which a transaction must keep alive where others write.
 * CHECK_EMPTY: that page has been written over. stop: asked now and then. */
enum check_verdict check_tree(int fd, uint64_t txnid, const atomic_bool *stop, struct check_found *);

#endif
