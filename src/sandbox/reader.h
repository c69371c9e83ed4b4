/* reader.h - a process that reads hostile bytes with somebody else's library, and can do nothing but say what it read.
 *
 * Libraries for object files follow what these name: another file with more debug information, by any path, which may
 * be a FIFO that nobody writes to or a device; and they have faults. */
#ifndef STEMMA_SANDBOX_READER_H
#define STEMMA_SANDBOX_READER_H

/* In a child that will not exec: from now on it reads and writes what it has open, uses up to 1 GiB of memory and ten
 * seconds of processor time, and ends; every other call fails with EPERM. What it needs (libraries, files) is open
 * before. Calls only system calls. 0 or -errno: then the bytes must not be read. */
int reader_enter(void);

#endif
