/* Four lanes at a time: every x86-64 has the instructions. */
#if defined(__x86_64__)
#define FM_WIDTH 4
#define FM_TABLE fmKernelsSse
#include "fm_kernels.inc.h"
#else
typedef int fmNoSse; /* a translation unit may not be empty */
#endif
