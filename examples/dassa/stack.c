/* stack FOLDER WINDOW FILE... - cross-correlates each channel with the first, and stacks: the mean over WINDOW files
 * that follow each other, FOLDER/stack-N.h5 with /stack/xcorr and, of all its files, the beginnings in /stack/starts.
 */
#include "das.h"

#include <stdio.h>
#include <stdlib.h>

enum { LAG = 50, WIDTH = 2 * LAG + 1 };

static void correlate(const float *v, hsize_t channels, hsize_t samples, float *sum)
{
	for (hsize_t c = 0; c < channels; c++)
		for (int lag = -LAG; lag <= LAG; lag++) {
			long long from = lag < 0 ? -lag : 0, to = (long long)samples - (lag > 0 ? lag : 0);
			float s = 0;
			for (long long t = from; t < to; t++)
				s += v[t] * v[(long long)(c * samples) + t + lag];
			sum[c * WIDTH + (hsize_t)(lag + LAG)] += s;
		}
}

static double stack(const char *folder, int window, char **names, int n)
{
	struct das_file out, *in = das_memory((size_t)n * sizeof(*in));
	hsize_t channels = 0, samples;
	float *sum = NULL, *starts = das_memory((size_t)n * sizeof(*starts));
	double rate = 0, all = 0;
	char name[32];
	for (int i = 0; i < n; i++) {
		hsize_t rows;
		das_open(&in[i], names[i]);
		float *v = das_read(&in[i], "/decimated/data", &rows, &samples);
		if (i == 0) {
			channels = rows;
			rate = das_get(&in[i], "/decimated/data", "rate");
			sum = das_memory(channels * WIDTH * sizeof(*sum));
		}
		if (rows != channels || samples <= LAG)
			das_fail("stack", names[i]);
		correlate(v, channels, samples, sum);
		free(v);
	}
	for (hsize_t i = 0; i < channels * WIDTH; i++)
		all += sum[i] /= (float)n;
	snprintf(name, sizeof(name), "stack-%d", window);
	das_create(&out, das_name(folder, name, ".h5"));
	das_group(&out, "/stack");
	das_write(&out, "/stack/xcorr", channels, WIDTH, sum);
	das_put(&out, "/stack/xcorr", "rate", rate);
	for (int i = 0; i < n; i++) {
		starts[i] = (float)das_get(&in[i], "/decimated", "start");
		das_close(&in[i]);
	}
	das_write(&out, "/stack/starts", 1, (hsize_t)n, starts);
	das_close(&out);
	free(in);
	free(sum);
	free(starts);
	return all;
}

int main(int argc, char **argv)
{
	double sum = 0;
	das_start(&argc, &argv);
	int window = argc > 3 ? atoi(argv[2]) : 0;
	if (window < 1)
		das_fail("do without", "FOLDER WINDOW FILE...");
	for (int i = 3, k = 0; i < argc; i += window, k++)
		if (das_mine(k))
			sum += stack(argv[1], k, argv + i, i + window < argc ? window : argc - i);
	return das_end(sum);
}
