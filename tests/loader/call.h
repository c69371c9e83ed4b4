#ifndef STEMMA_TESTS_LOADER_CALL_H
#define STEMMA_TESTS_LOADER_CALL_H

#ifdef __cplusplus
extern "C"
#endif
    int
    call(void);

#endif
