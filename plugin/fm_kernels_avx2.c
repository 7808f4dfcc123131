/* Eight lanes at a time, compiled for AVX2 and called only where the CPU has it. */
#if defined(__x86_64__)
#define FM_WIDTH 8
#define FM_TABLE fmKernelsAvx2
#include "fm_kernels.inc.h"
#else
typedef int fmNoAvx2; /* a translation unit may not be empty */
#endif
