/* Owns a terminal's whole screen while a command fills it: the mode of its keys, its size, and the signals that matter
 * meanwhile. One at a time.
 * Must not know: what is shown.
 * Invariant: whatever ends the command but SIGKILL, the terminal is as it was before. */
#ifndef UTFEED_PROXY_COMMAND_TERMINAL_H
#define UTFEED_PROXY_COMMAND_TERMINAL_H

/* Takes the screen of standard output. -1: it is not a terminal. */
int terminal_take(void) __attribute__((warn_unused_result));
/* Gives it back. */
void terminal_give_back(void);
/* How many columns and rows there are now. */
void terminal_size(unsigned *columns, unsigned *rows);
/* Waits for a key or a signal. Returns the key; 0: the time is over, or the screen has to be drawn anew; -1: the
 * command is to end. */
int terminal_wait(int timeout_ms);

#endif
