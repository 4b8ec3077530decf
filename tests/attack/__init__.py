"""Resources: a table of attacks, each with its bounds. `make attack` runs it; ATTACK_ARGUMENTS='--quick slow bomb' a part, scaled down.

Every row of table.py is an attack of many slow, endless, large or colliding peers, clients and origins, upon a utfeed of its own. All the
while one good client asks for another feed (good.py). Held to their bounds are: how much memory came on top of what the idle server
had and may store, what of it stays when all is over, the processor's time for each request or KB of the attack, the 99th percentile of
what the good client waited as a multiple of what it waited before, descriptors given back, and how the attackers' requests ended. The
server has the first processor for itself, everybody else the second one; who attacks is the least urgent there (nice 19), so that what
the good client waits for is the server. To be run on a machine with nothing else to do: figures of processor time and waiting are worth
nothing otherwise. --no-times leaves them out, and with them the processors and the nice 19, for on a busy machine a least urgent origin
does not answer for minutes; so does tests/e2e/test_trust_attack.py, a hundredth of it all.
"""
import os
import sys

sys.dont_write_bytecode = True
E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")
if E2E not in sys.path:
    sys.path.insert(0, E2E)
