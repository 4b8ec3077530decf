/* Owns what the text of a path says by itself. Must not know: what is there. Invariant: no system call is made. */
#ifndef UTFEED_PROXY_BASE_PATH_H
#define UTFEED_PROXY_BASE_PATH_H

/* The folder that has the last part of path in it; only the root's name ends in a slash. path is not empty. The caller
 * frees what it gets; NULL: out of memory. */
char *path_folder(const char *path);

#endif
