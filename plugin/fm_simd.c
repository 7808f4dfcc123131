/* Which body of the kernels answers. */
#include "fm_kernels.h"

#include <stdatomic.h>

/* The choice + 1; 0 until somebody asks. Every thread would choose the same, so a race is
 * harmless. */
static atomic_int choice;

fmSimd fmSimdBest(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") ? FM_SIMD_AVX2 : FM_SIMD_SSE;
#else
    return FM_SIMD_SCALAR;
#endif
}

fmSimd fmSimdCurrent(void)
{
    int chosen = atomic_load_explicit(&choice, memory_order_relaxed);
    if (chosen == 0) {
        chosen = (int)fmSimdBest() + 1;
        atomic_store_explicit(&choice, chosen, memory_order_relaxed);
    }
    return (fmSimd)(chosen - 1);
}

void fmSimdSelect(fmSimd simd)
{
    fmSimd best = fmSimdBest();
    atomic_store_explicit(&choice, (int)(simd < best ? simd : best) + 1, memory_order_relaxed);
}

const fmKernels *fmKernelsCurrent(void)
{
    switch (fmSimdCurrent()) {
#if defined(__x86_64__)
    case FM_SIMD_AVX2:
        return &fmKernelsAvx2;
    case FM_SIMD_SSE:
        return &fmKernelsSse;
#endif
    default:
        return &fmKernelsScalar;
    }
}
