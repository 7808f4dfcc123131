/* The one place that knows vector instructions: a few operations on 1, 4 or 8 floats or on two
 * doubles through the compiler's vector types, for which + - * work as they stand. No operation here
 * or in its callers is fused or reordered, so every width gives the same bits in every lane. */
#ifndef FM_SIMD_H
#define FM_SIMD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FM_SIMD_X86 1
#else
#define FM_SIMD_X86 0
#endif

/* One lane. A mask is 0 or 1. */
typedef float fmFloat1;
typedef int fmMask1;

static inline float fmLoad1(const float *p)
{
    return *p;
}

static inline void fmStore1(float *p, float a)
{
    *p = a;
}

static inline float fmAbs1(float a)
{
    return fabsf(a);
}

/* The second operand when the two do not compare, as the instructions of the wider bodies do. */
static inline float fmMin1(float a, float b)
{
    return a < b ? a : b;
}

static inline float fmMax1(float a, float b)
{
    return a > b ? a : b;
}

static inline float fmSqrt1(float a)
{
    return sqrtf(a);
}

static inline unsigned fmBits1(fmMask1 m)
{
    return (unsigned)m;
}

/* The greatest lane. */
static inline float fmGreatest1(float a)
{
    return a;
}

/* a where the mask is set, else b. */
static inline float fmSelect1(fmMask1 m, float a, float b)
{
    return m ? a : b;
}

/* Two lanes of doubles, of which every body is the same; what the compiler does not find by itself. */
typedef double fmDouble2 __attribute__((vector_size(16)));
typedef int64_t fmMask2 __attribute__((vector_size(16)));

/* Two vectors. */
typedef struct fmVec3x2 {
    fmDouble2 x, y, z;
} fmVec3x2;

static inline fmDouble2 fmLoad2(const double *p)
{
    fmDouble2 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void fmStore2(double *p, fmDouble2 a)
{
    memcpy(p, &a, sizeof a);
}

static inline fmMask2 fmLoadMask2(const int64_t *p)
{
    fmMask2 m;
    memcpy(&m, p, sizeof m);
    return m;
}

static inline fmDouble2 fmAbs2(fmDouble2 a)
{
    return (fmDouble2)((fmMask2)a & INT64_MAX);
}

static inline fmDouble2 fmSelect2(fmMask2 m, fmDouble2 a, fmDouble2 b)
{
    return (fmDouble2)((m & (fmMask2)a) | (~m & (fmMask2)b));
}

/* One bit for each lane of a mask or of two, masks of where a < b and a = b, and the smaller and the larger, which
 * is b where they do not compare: by the instructions where we know them, as gcc takes masks of doubles
 * apart for want of SSE4. */
#if FM_SIMD_X86
static inline unsigned fmBits2(fmMask2 m)
{
    return (unsigned)_mm_movemask_pd((__m128d)m);
}

static inline unsigned fmBits2x2(fmMask2 a, fmMask2 b)
{
    return (unsigned)_mm_movemask_ps(_mm_shuffle_ps((__m128)a, (__m128)b, _MM_SHUFFLE(2, 0, 2, 0)));
}

static inline fmMask2 fmLess2(fmDouble2 a, fmDouble2 b)
{
    return (fmMask2)_mm_cmplt_pd(a, b);
}

static inline fmMask2 fmEqual2(fmDouble2 a, fmDouble2 b)
{
    return (fmMask2)_mm_cmpeq_pd(a, b);
}

static inline fmDouble2 fmMin2(fmDouble2 a, fmDouble2 b)
{
    return _mm_min_pd(a, b);
}

static inline fmDouble2 fmMax2(fmDouble2 a, fmDouble2 b)
{
    return _mm_max_pd(a, b);
}
#else
static inline unsigned fmBits2(fmMask2 m)
{
    return (unsigned)((m[0] & 1) | (m[1] & 2));
}

static inline unsigned fmBits2x2(fmMask2 a, fmMask2 b)
{
    return fmBits2(a) | fmBits2(b) << 2;
}

static inline fmMask2 fmLess2(fmDouble2 a, fmDouble2 b)
{
    return a < b;
}

static inline fmMask2 fmEqual2(fmDouble2 a, fmDouble2 b)
{
    return a == b;
}

static inline fmDouble2 fmMin2(fmDouble2 a, fmDouble2 b)
{
    return fmSelect2(a < b, a, b);
}

static inline fmDouble2 fmMax2(fmDouble2 a, fmDouble2 b)
{
    return fmSelect2(a > b, a, b);
}
#endif

/* The most of an even count of numbers, each times `sign`, 1 or -1. One that is not a number counts for nothing. */
static inline double fmMost(const double *h, int count, double sign)
{
    fmDouble2 two = {-DBL_MAX, -DBL_MAX};
    for (int i = 0; i < count; i += 2)
        two = fmMax2(sign * fmLoad2(h + i), two);
    return two[0] > two[1] ? two[0] : two[1];
}

/* The first place of a number among a multiple of FM_TOGETHER; -1 when it is not among them. Up to 64 are looked
 * at together, as no branch could foresee where it is. */
#define FM_TOGETHER 4
static inline int fmPlaceOf(const double *h, int count, double number)
{
    const fmDouble2 both = {number, number};
    for (int first = 0; first < count; first += 64) {
        uint64_t bits = 0;
        for (int i = 0; i < 64 && first + i < count; i += FM_TOGETHER)
            bits |= (uint64_t)fmBits2x2(fmEqual2(fmLoad2(h + first + i), both),
                                        fmEqual2(fmLoad2(h + first + i + 2), both))
                    << i;
        if (bits)
            return first + __builtin_ctzll(bits);
    }
    return -1;
}

/* The most of each of two lanes, and where it was first: places count from 1, 0 is none. */
typedef struct fmMost2 {
    fmDouble2 most, at;
} fmMost2;

/* One that is not a number counts for nothing. Places ascend. */
static inline void fmMost2Add(fmMost2 *of, fmDouble2 a, fmDouble2 at)
{
    fmMask2 more = fmLess2(of->most, a);
    of->most = fmMax2(a, of->most);
    of->at = fmMax2((fmDouble2)(more & (fmMask2)at), of->at);
}

/* The first place, from 0 on, of the most of both lanes; -1 for none. */
static inline int fmMost2Place(const fmMost2 *of)
{
    bool second =
        (of->most[1] > of->most[0]) | ((of->most[1] >= of->most[0]) & (of->at[1] < of->at[0]));
    return (int)of->at[second] - 1;
}

/* The first place of the most of an even count of numbers; -1 when none is more than -DBL_MAX. */
static inline int fmPlaceOfMost(const double *h, int count)
{
    fmMost2 most = {{-DBL_MAX, -DBL_MAX}, {0, 0}};
    fmDouble2 at = {1, 2};
    for (int i = 0; i < count; i += 2, at += 2)
        fmMost2Add(&most, fmLoad2(h + i), at);
    return fmMost2Place(&most);
}

static inline fmDouble2 fmDot2(const fmVec3x2 *a, fmVec3x2 b)
{
    return a->x * b.x + a->y * b.y + a->z * b.z;
}

/* Four lanes. A mask has all bits of a lane set or none. */
typedef float fmFloat4 __attribute__((vector_size(16)));
typedef int32_t fmMask4 __attribute__((vector_size(16)));

static inline fmFloat4 fmLoad4(const float *p)
{
    fmFloat4 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void fmStore4(float *p, fmFloat4 a)
{
    memcpy(p, &a, sizeof a);
}

static inline fmFloat4 fmAbs4(fmFloat4 a)
{
    return (fmFloat4)((fmMask4)a & 0x7fffffff);
}

static inline fmFloat4 fmSelect4(fmMask4 m, fmFloat4 a, fmFloat4 b)
{
    return (fmFloat4)((m & (fmMask4)a) | (~m & (fmMask4)b));
}

#if FM_SIMD_X86
static inline fmFloat4 fmMin4(fmFloat4 a, fmFloat4 b)
{
    return _mm_min_ps(a, b);
}

static inline fmFloat4 fmMax4(fmFloat4 a, fmFloat4 b)
{
    return _mm_max_ps(a, b);
}

static inline fmFloat4 fmSqrt4(fmFloat4 a)
{
    return _mm_sqrt_ps(a);
}

static inline unsigned fmBits4(fmMask4 m)
{
    return (unsigned)_mm_movemask_ps((__m128)m);
}

static inline float fmGreatest4(fmFloat4 a)
{
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_shuffle_ps(a, a, 1)));
}
#else
static inline fmFloat4 fmMin4(fmFloat4 a, fmFloat4 b)
{
    fmMask4 m = a < b;
    return (fmFloat4)((m & (fmMask4)a) | (~m & (fmMask4)b));
}

static inline fmFloat4 fmMax4(fmFloat4 a, fmFloat4 b)
{
    fmMask4 m = a > b;
    return (fmFloat4)((m & (fmMask4)a) | (~m & (fmMask4)b));
}
#endif

#ifdef __AVX2__
/* Eight lanes, only in the body compiled for them. */
typedef float fmFloat8 __attribute__((vector_size(32)));
typedef int32_t fmMask8 __attribute__((vector_size(32)));

static inline fmFloat8 fmLoad8(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void fmStore8(float *p, fmFloat8 a)
{
    _mm256_storeu_ps(p, a);
}

static inline fmFloat8 fmAbs8(fmFloat8 a)
{
    return (fmFloat8)((fmMask8)a & 0x7fffffff);
}

static inline fmFloat8 fmSelect8(fmMask8 m, fmFloat8 a, fmFloat8 b)
{
    return (fmFloat8)((m & (fmMask8)a) | (~m & (fmMask8)b));
}

static inline fmFloat8 fmMin8(fmFloat8 a, fmFloat8 b)
{
    return _mm256_min_ps(a, b);
}

static inline fmFloat8 fmMax8(fmFloat8 a, fmFloat8 b)
{
    return _mm256_max_ps(a, b);
}

static inline fmFloat8 fmSqrt8(fmFloat8 a)
{
    return _mm256_sqrt_ps(a);
}

/* Four lanes of doubles, of the same operations as the two above. */
typedef double fmDouble4d __attribute__((vector_size(32)));
typedef int64_t fmMask4d __attribute__((vector_size(32)));

static inline fmDouble4d fmLoad4d(const double *p)
{
    return _mm256_loadu_pd(p);
}

static inline void fmStore4d(double *p, fmDouble4d a)
{
    _mm256_storeu_pd(p, a);
}

static inline fmDouble4d fmAbs4d(fmDouble4d a)
{
    return (fmDouble4d)((fmMask4d)a & INT64_MAX);
}

static inline fmDouble4d fmSelect4d(fmMask4d m, fmDouble4d a, fmDouble4d b)
{
    return _mm256_blendv_pd(b, a, (fmDouble4d)m);
}

static inline unsigned fmBits4d(fmMask4d m)
{
    return (unsigned)_mm256_movemask_pd((__m256d)m);
}

static inline fmMask4d fmLess4d(fmDouble4d a, fmDouble4d b)
{
    return (fmMask4d)_mm256_cmp_pd(a, b, _CMP_LT_OQ);
}

static inline fmDouble4d fmMin4d(fmDouble4d a, fmDouble4d b)
{
    return _mm256_min_pd(a, b);
}

static inline fmDouble4d fmMax4d(fmDouble4d a, fmDouble4d b)
{
    return _mm256_max_pd(a, b);
}

static inline float fmGreatest8(fmFloat8 a)
{
    return fmGreatest4(_mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}

static inline unsigned fmBits8(fmMask8 m)
{
    return (unsigned)_mm256_movemask_ps((__m256)m);
}
#endif

#endif
