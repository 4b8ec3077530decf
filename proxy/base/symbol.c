/* Names of functions; see symbol.h. */
#include "proxy/base/symbol.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image { const char *bytes; size_t len; };

/* Where the file's address 0 is in memory. */
static int symbol_on_object(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;                      /* the program is the first object */
}

static bool image_has(const struct image *image, uint64_t at, uint64_t len)
{
	return at <= image->len && len <= image->len - at;
}

static const ElfW(Shdr) *image_section(const struct image *image, size_t n)
{
	const ElfW(Ehdr) *head = (const void *)image->bytes;
	uint64_t at = head->e_shoff + n * sizeof(ElfW(Shdr));

	return n < head->e_shnum && at % _Alignof(ElfW(Shdr)) == 0 && image_has(image, at, sizeof(ElfW(Shdr)))
	    ? (const void *)(image->bytes + at)
	    : NULL;
}

/* Writes the name of the symbol, the text at `name` in the section of strings. */
static bool image_text(const struct image *image, const ElfW(Shdr) *strings, size_t name, char text[SYMBOL_MAX])
{
	if (!strings || !image_has(image, strings->sh_offset, strings->sh_size) || name >= strings->sh_size)
		return false;
	size_t len = strnlen(image->bytes + strings->sh_offset + name, strings->sh_size - name);
	snprintf(text, SYMBOL_MAX, "%.*s", (int)(len < SYMBOL_MAX ? len : SYMBOL_MAX - 1),
	    image->bytes + strings->sh_offset + name);
	return true;
}

static bool image_find(const struct image *image, uintptr_t value, char text[SYMBOL_MAX])
{
	const ElfW(Shdr) *table;

	for (size_t n = 0; (table = image_section(image, n)); n++) {
		const ElfW(Sym) *symbols = (const void *)(image->bytes + table->sh_offset);

		if (table->sh_type != SHT_SYMTAB || !image_has(image, table->sh_offset, table->sh_size))
			continue;
		for (size_t s = 0; s < table->sh_size / sizeof *symbols; s++)
			if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC && value >= symbols[s].st_value &&
			    value < symbols[s].st_value + symbols[s].st_size)
				return image_text(image, image_section(image, table->sh_link), symbols[s].st_name,
				    text);
	}
	return false;
}

const char *symbol_name(uintptr_t address, char text[SYMBOL_MAX])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct image image = { MAP_FAILED, 0 };
	uintptr_t base = 0;
	struct stat st;
	bool found = false;

	if (fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size > sizeof(ElfW(Ehdr))) {
		image.len = (size_t)st.st_size;
		image.bytes = mmap(NULL, image.len, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (image.bytes != MAP_FAILED) {
		dl_iterate_phdr(symbol_on_object, &base);
		found = image_find(&image, address - base, text);
		munmap((void *)(uintptr_t)image.bytes, image.len);
	}
	if (!found)
		snprintf(text, SYMBOL_MAX, "the function at %#lx", (unsigned long)address);
	return text;
}
