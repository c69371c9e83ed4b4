/* decimate SETTINGS FOLDER FILE... - of each converted file one in FOLDER with fewer samples: /decimated/data,
 * low-passed, with each channel's gain taken out, and attributes rate and start. SETTINGS is a text file: factor N. */
#include "das.h"

#include <stdio.h>
#include <stdlib.h>

static int settings(const char *name)
{
	int factor;
	FILE *f = fopen(name, "r");
	if (!f || fscanf(f, "factor %d", &factor) != 1 || factor < 1 || factor > 1000)
		das_fail("understand", name);
	das_did("read", name, "");
	fclose(f);
	return factor;
}

static double decimate(const char *folder, const char *name, int factor)
{
	struct das_file in, out;
	hsize_t channels, samples;
	double sum = 0;
	das_open(&in, name);
	float *v = das_read(&in, "/acquisition/data", &channels, &samples);
	hsize_t fewer = samples / (hsize_t)factor;
	float *w = das_memory(channels * fewer * sizeof(*w));
	for (hsize_t c = 0; c < channels; c++) {
		char path[64];
		snprintf(path, sizeof(path), "/channel/%03d", (int)c);
		double gain = das_get(&in, path, "gain");
		/* a triangle of twice the factor */
		for (hsize_t t = 0; t < fewer; t++) {
			double mean = 0, weights = 0;
			for (int k = -factor; k <= factor; k++) {
				long long at = (long long)(t * (hsize_t)factor) + k;
				double weight = factor + 1 - abs(k);
				if (at < 0 || at >= (long long)samples)
					continue;
				mean += weight * v[c * samples + (hsize_t)at];
				weights += weight;
			}
			w[c * fewer + t] = (float)(mean / weights / gain);
			sum += w[c * fewer + t];
		}
	}
	das_create(&out, das_name(folder, name, ".h5"));
	das_group(&out, "/decimated");
	das_write(&out, "/decimated/data", channels, fewer, w);
	das_put(&out, "/decimated/data", "rate", das_get(&in, "/acquisition", "rate") / factor);
	das_put(&out, "/decimated", "start", das_get(&in, "/acquisition", "start"));
	das_close(&in);
	das_close(&out);
	free(v);
	free(w);
	return sum;
}

int main(int argc, char **argv)
{
	double sum = 0;
	das_start(&argc, &argv);
	if (argc < 4)
		das_fail("do without", "SETTINGS FOLDER FILE...");
	int factor = settings(argv[1]);
	for (int i = 3; i < argc; i++)
		if (das_mine(i - 3))
			sum += decimate(argv[2], argv[i], factor);
	return das_end(sum);
}
