/* Characters that must not be shown; see unseen.h. */
#include "proxy/base/unseen.h"

#include <stddef.h>

/* Characters that are not seen, that move others, or that no document may have (Unicode: categories Cc, Cf, Zl, Zp,
 * noncharacters, tags, variation selectors beyond the first sixteen). */
static const struct {
	uint32_t first, last;
} ranges[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c },
	{ 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xe000, 0xf8ff },
	{ 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
	{ 0x110bd, 0x110cd }, { 0x13430, 0x1345f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0x10ffff },
};

bool unseen(uint32_t c)
{
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return (c & 0xfffe) == 0xfffe;
}
