/* disk.h - how much of the record's disk stays free. */
#ifndef STEMMA_DAEMON_DISK_H
#define STEMMA_DAEMON_DISK_H

#include <stdint.h>
#include <sys/statvfs.h>

/* Where answers' copies end, over where logs end: who keeps copies open cannot so stop the recording. */
enum { DISK_COPIES = 4 };

/* What is kept free of this file system, in bytes: `floor`, and of a small one the eightieth part at most. */
static inline uint64_t disk_floor(const struct statvfs *fs, uint64_t floor)
{
	uint64_t part = (uint64_t)fs->f_blocks * fs->f_frsize / 80;
	return floor < part ? floor : part;
}

#endif
