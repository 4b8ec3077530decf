/* Owns one frame of `utfeed fleet`: what the admin listener tells in lines of the utfeeds that share its store
 * (/api/fleet?lines=1), as lines for a terminal.
 * Must not know: terminals, sockets, clocks. Invariant: that of frame.h. */
#ifndef UTFEED_PROXY_COMMAND_FLEET_FRAME_H
#define UTFEED_PROXY_COMMAND_FLEET_FRAME_H

#include "proxy/command/frame.h"

/* told is the answer's body, which is changed. */
void fleet_draw(FILE *, const struct frame *, char *told);

#endif
