/* Owns quotes around values, "a \"b\" \\ c": where they end, what stands in them, when a value needs them.
 * Must not know: files, flags, what a value is for.
 * Invariant: what conf_quote() writes, conf_unquote() gives back byte for byte. */
#ifndef UTFEED_CONF_CONF_QUOTE_H
#define UTFEED_CONF_CONF_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* How long the quoted value at text is, which begins with its quote; 0: its closing quote is missing. */
size_t conf_quoted_length(const char *text);
/* Takes the quotes off text, which holds that value and nothing behind it. */
void conf_unquote(char *text);
void conf_quote(FILE *, const char *text, size_t len);

/* How long the item at text is, up to its end or one of stops. A stop inside quotes is none where these begin behind
 * the = of NAME=VALUE, as the words of an inline route have them. */
size_t conf_item_length(const char *text, const char *stops);

#endif
