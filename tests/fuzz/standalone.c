/* Owns main for a fuzz target built without libFuzzer: every file of the folders given is one input.
 * Must not know: what the target tests.
 * Invariant: each input is handed over in an allocation of exactly its size, so that a sanitizer sees any read past its end. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);
	int status = -1;

	if (file && data && fread(data, 1, size, file) == size) {
		LLVMFuzzerTestOneInput(data, size);
		inputs++;
		status = 0;
	} else {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	}
	free(data);
	if (file)
		fclose(file);
	return status;
}

static int replay(const char *path)
{
	struct stat found;
	struct dirent **names = NULL;
	int status = 0;

	if (stat(path, &found) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (S_ISREG(found.st_mode))
		return replay_file(path, (size_t)found.st_size);
	int count = scandir(path, &names, NULL, alphasort);
	if (count < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (int i = 0; i < count; i++) {
		char below[4096];
		if (names[i]->d_name[0] != '.') {
			snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
			if (replay(below) != 0)
				status = -1;
		}
		free(names[i]);
	}
	free(names);
	return status;
}

int main(int argc, char **argv)
{
	static const uint8_t empty[1];
	int status = EXIT_SUCCESS;

	LLVMFuzzerTestOneInput(empty, 0);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-' && replay(argv[i]) != 0)       /* options are libFuzzer's */
			status = EXIT_FAILURE;
	printf("%s: %d passed, %d failed (%lu inputs replayed)\n", argv[0], status == EXIT_SUCCESS, status != EXIT_SUCCESS, inputs);
	return status;
}
