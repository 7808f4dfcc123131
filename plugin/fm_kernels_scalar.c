/* One lane at a time: every machine has this body, and it is the measure of the others. */
#define FM_WIDTH 1
#define FM_TABLE fmKernelsScalar
#include "fm_kernels.inc.h"
