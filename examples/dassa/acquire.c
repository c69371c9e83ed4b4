/* acquire FOLDER FILES [CHANNELS [SAMPLES]] - made-up recordings of a fibre-optic cable: FOLDER/000.das, 001.das, ...
 * of one minute each (16 channels of 2,000 samples). A wave runs along the cable, each channel hears it a little later,
 * with noise; the numbers come from a fixed seed.
 *
 * A recording is a line "das CHANNELS SAMPLES RATE START" and then floats, channel by channel. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static uint64_t state = 88172645463325252u;

static double noise(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / (double)(1ull << 53) - 0.5;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return fprintf(stderr, "usage: acquire FOLDER FILES [CHANNELS [SAMPLES]]\n"), 2;
	int files = atoi(argv[2]), channels = argc > 3 ? atoi(argv[3]) : 16, samples = argc > 4 ? atoi(argv[4]) : 2000;
	mkdir(argv[1], 0777);
	for (int i = 0; i < files; i++) {
		char name[512];
		snprintf(name, sizeof(name), "%s/%03d.das", argv[1], i);
		FILE *f = fopen(name, "wb");
		if (!f)
			return perror(name), 1;
		fprintf(f, "das %d %d %g %d\n", channels, samples, 500.0, 60 * i);
		for (int c = 0; c < channels; c++)
			for (int t = 0; t < samples; t++) {
				double at = t / 500.0 - c * 0.01;
				float v = (float)(sin(at * 40) * exp(-at * at) + 0.3 * noise());
				fwrite(&v, sizeof(v), 1, f);
			}
		if (fclose(f))
			return perror(name), 1;
	}
	return 0;
}
