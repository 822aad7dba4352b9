#include <dirent.h>
#include <stdio.h>

#include "tests/fuzz/fuzz.h"

/* usage: TARGET CORPUS_FOLDER; every file is one input. A failure aborts. */

enum { INPUT_MAX_BYTES = 1 << 20 };

static uint8_t input[INPUT_MAX_BYTES];

static int replay(const char *folder, const char *name)
{
	char path[4096];
	int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file;
	size_t size;

	if (length < 0 || (size_t)length >= sizeof(path))
		return -1;
	file = fopen(path, "re");
	if (!file)
		return -1;
	size = fread(input, 1, INPUT_MAX_BYTES, file);
	(void)fclose(file);
	printf("# %s\n", name);
	(void)fflush(stdout);
	return LLVMFuzzerTestOneInput(input, size);
}

int main(int argc, char **argv)
{
	const struct dirent *entry;
	int count = 0;
	DIR *folder;

	folder = argc == 2 ? opendir(argv[1]) : NULL;
	if (!folder) {
		fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
		return 2;
	}
	/* One thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(argv[1], entry->d_name)) {
			fprintf(stderr, "%s: failed\n", entry->d_name);
			return 1;
		}
		count++;
	}
	(void)closedir(folder);
	printf("1..1\n%sok 1 - replayed %d inputs\n", count > 0 ? "" : "not ", count);
	return 0;
}
