/* Owns quotes around values, "a \"b\" \\ c": finding their end, taking them off, putting them on.
 * Must not know: files, flags, what a value is for.
 * Invariant: conf_unquote() gives back byte for byte the value that conf_quote() has written. */
#ifndef UTFEED_CONF_CONF_QUOTE_H
#define UTFEED_CONF_CONF_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* What is wrong with a quoted value, in messages. */
#define CONF_NO_QUOTE "a quoted value has no closing quote; write \" at its end"
#define CONF_BEHIND_QUOTE "text stands behind a closing quote"

/* The length of the quoted value at text, from its quote to the closing quote; 0: that is missing. */
size_t conf_quoted_length(const char *text);
/* Takes the quotes off text, which is a quoted value and nothing else. */
void conf_unquote(char *text);
void conf_quote(FILE *, const char *text, size_t len);

/* The length of the item at text, which goes to the end or to one of stops. Stops inside quotes do not count where the
 * quotes begin behind the = of NAME=VALUE, as in the words of an inline route. */
size_t conf_item_length(const char *text, const char *stops);

#endif
