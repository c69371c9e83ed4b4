/* features.h - which features (capture/supervisor/feature.h) a run has. Internal to capture. */
#ifndef STEMMA_CAPTURE_LAUNCH_FEATURES_H
#define STEMMA_CAPTURE_LAUNCH_FEATURES_H

#include "capture/launch/run.h"
#include "capture/supervisor/super.h"

struct choice;

/* Adds to s, before anything has stopped, those that were asked for and that what was chosen can have. */
void features_add(struct sup *s, const struct run_options *o, const struct choice *c);

#endif
