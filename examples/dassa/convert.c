/* convert FOLDER RECORDING... - each recording becomes an HDF5 file in FOLDER: /acquisition/data, how loud each channel
 * is in /acquisition/quality, and a group /channel/N for each channel, with its position and gain as attributes. */
#include "das.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double convert(const char *folder, const char *in)
{
	int channels, samples;
	double rate, start, sum = 0;
	struct das_file out;
	FILE *raw = fopen(in, "rb");
	if (!raw)
		das_fail("open", in);
	das_did("read", in, "");
	if (fscanf(raw, "das %d %d %lf %lf", &channels, &samples, &rate, &start) != 4 || getc(raw) != '\n' ||
	    channels < 1 || channels > DAS_CHANNELS || samples < 1 || samples > 100000000)
		das_fail("understand", in);
	size_t n = (size_t)channels * (size_t)samples;
	float *v = das_memory(n * sizeof(*v)), loud[DAS_CHANNELS];
	if (fread(v, sizeof(*v), n, raw) != n)
		das_fail("read", in);
	fclose(raw);

	das_create(&out, das_name(folder, in, ".h5"));
	das_group(&out, "/acquisition");
	das_put(&out, "/acquisition", "rate", rate);
	das_put(&out, "/acquisition", "start", start);
	das_put(&out, "/acquisition", "gauge", 10);
	das_write(&out, "/acquisition/data", (hsize_t)channels, (hsize_t)samples, v);
	das_group(&out, "/channel");
	for (int c = 0; c < channels; c++) {
		char path[64];
		snprintf(path, sizeof(path), "/channel/%03d", c);
		das_group(&out, path);
		das_put(&out, path, "position", 10.0 * c);
		das_put(&out, path, "gain", 1 + c % 3 * 0.5);
		double power = 0;
		for (int t = 0; t < samples; t++)
			power += (double)v[c * samples + t] * v[c * samples + t];
		loud[c] = (float)sqrt(power / samples);
		sum += loud[c];
	}
	das_write(&out, "/acquisition/quality", 1, (hsize_t)channels, loud);
	das_close(&out);
	free(v);
	return sum;
}

int main(int argc, char **argv)
{
	double sum = 0;
	das_start(&argc, &argv);
	for (int i = 2; i < argc; i++)
		if (das_mine(i - 2))
			sum += convert(argv[1], argv[i]);
	return das_end(sum);
}
