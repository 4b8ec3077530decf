/* What to do about faults; see fault_advice.h. */
#include "proxy/server/fault_advice.h"

#include <errno.h>
#include <stddef.h>

struct advised { int fault; const char *advice; };

static const char *find_advice(const struct advised *rows, size_t n, int fault)
{
	size_t i = 0;

	while (i < n - 1 && rows[i].fault != fault)
		i++;
	return rows[i].advice;         /* the last row is for all other faults */
}

const char *fault_advice_path(int fault)
{
	static const struct advised rows[] = {
		{ ENOENT, "; make the folder that is missing, or write another path" },
		{ ENOTDIR, "; a part of this path is not a folder; write another path" },
		{ EISDIR, "; write the path of a file" },
		{ ENXIO, "; write the path of a file" },
		{ EACCES, "; let the user that utfeed runs as write there, or write another path" },
		{ EEXIST, "; remove that file, or write another path" },
		{ ENOTSOCK, "; remove that file, or write another path" },
		{ ENAMETOOLONG, "; write a shorter path" },
		{ 0, "; write another path" },
	};

	return find_advice(rows, sizeof rows / sizeof *rows, fault);
}

const char *fault_advice_address(int fault)
{
	static const struct advised rows[] = {
		{ EADDRINUSE, "; stop the process that listens there (ss -ltnp shows it), or write another port" },
		{ EADDRNOTAVAIL, "; write an address of this machine (ip address shows them), or 0.0.0.0 for all" },
		{ EACCES, "; a port below 1024 needs root or CAP_NET_BIND_SERVICE; write a port from 1024 on" },
		{ EAFNOSUPPORT, "; this machine has no IPv6; write an IPv4 address" },
		{ 0, "; write another address" },
	};

	return find_advice(rows, sizeof rows / sizeof *rows, fault);
}
