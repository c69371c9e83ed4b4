/* host.h - what this machine is, looked up once: each of these files takes the kernel longer to make than a small
 * program's other calls together. Any thread. */
#ifndef STEMMA_BASE_OS_HOST_H
#define STEMMA_BASE_OS_HOST_H

/* The processor's name as the kernel has it; "" not known. */
const char *host_processor(void);
/* Processors that were in use when this was asked first; at least 1. */
long host_processors(void);

#endif
