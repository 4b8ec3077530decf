/* What /metrics tells of the process; see process_metrics.h. */
#include "proxy/admin/process_metrics.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void process_head(FILE *out, const char *name, const char *total, const char *type, const char *help)
{
	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total, help, name, total, type);
}

uint64_t process_resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long size, resident = 0;

	if (f) {
		if (fscanf(f, "%llu %llu", &size, &resident) != 2)
			resident = 0;
		fclose(f);
	}
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How many descriptors are open, but for that which counts them; -1: not known. */
static long process_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	long n = -1;

	if (!d)
		return -1;
	for (struct dirent *dirent; (dirent = readdir(d));)
		n += dirent->d_name[0] != '.';
	closedir(d);
	return n;
}

/* The second since the epoch in which the process began; 0: not known. */
static double process_start(void)
{
	FILE *f = fopen("/proc/self/stat", "re"), *boot = fopen("/proc/stat", "re");
	char line[1024], *at;
	unsigned long long ticks = 0, booted = 0;

	/* The start is field 22. The name, field 2, alone may hold blanks, and ends with the last bracket. */
	if (f && fgets(line, sizeof line, f) && (at = strrchr(line, ')')))
		for (int field = 2; at && field < 22; field++)
			at = strchr(at + 1, ' ');
	else
		at = NULL;
	if (at)
		ticks = strtoull(at + 1, NULL, 10);
	while (boot && !booted && fgets(line, sizeof line, boot))
		(void)sscanf(line, "btime %llu", &booted);
	if (f)
		fclose(f);
	if (boot)
		fclose(boot);
	return ticks && booted ? (double)booted + (double)ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

void process_metrics_write(FILE *out, bool bare)
{
	uint64_t resident = process_resident_bytes();
	long descriptors = process_descriptors();
	double start = process_start();
	struct rusage used = { 0 };
	struct rlimit limit;

	getrusage(RUSAGE_SELF, &used);
	process_head(out, "process_cpu_seconds", bare ? "" : "_total", "counter", "Processor time used.");
	fprintf(out, "process_cpu_seconds_total %.6f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	    (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	if (resident) {
		process_head(out, "process_resident_memory_bytes", "", "gauge", "Memory in use.");
		fprintf(out, "process_resident_memory_bytes %llu\n", (unsigned long long)resident);
	}
	if (descriptors >= 0) {
		process_head(out, "process_open_fds", "", "gauge", "Open file descriptors.");
		fprintf(out, "process_open_fds %ld\n", descriptors);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY) {
		process_head(out, "process_max_fds", "", "gauge", "Descriptors that may be open.");
		fprintf(out, "process_max_fds %llu\n", (unsigned long long)limit.rlim_cur);
	}
	if (start > 0) {
		process_head(out, "process_start_time_seconds", "", "gauge",
		    "When the process began, since the epoch.");
		fprintf(out, "process_start_time_seconds %.2f\n", start);
	}
}
