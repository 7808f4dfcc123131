/* What every test program shares: named rows, a seeded random generator, and a main that fails when a
 * check failed. CUnit's basic runner sets no exit code and names no table row; these do. */
#ifndef TESTING_H
#define TESTING_H

#include <CUnit/Basic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Like CU_ASSERT, but the report names the row of the table that failed. */
#define FM_CHECK_ROW(row, condition)                                                                   \
    do {                                                                                               \
        char fmCheckText[256];                                                                         \
        snprintf(fmCheckText, sizeof fmCheckText, "[%s] %s", (row), #condition);                       \
        CU_assertImplementation((condition) ? CU_TRUE : CU_FALSE, __LINE__, fmCheckText, __FILE__, "", \
                                CU_FALSE);                                                             \
    } while (0)

typedef struct TestRow {
    const char *name;
    void (*run)(void);
} TestRow;

/* Runs the named tests as one suite; returns what main returns: 0, or 1 when anything failed. */
static inline int RunTests(const char *suiteName, const TestRow *tests, size_t count)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite(suiteName, NULL, NULL);
    for (size_t i = 0; i < count; ++i)
        if (!suite || !CU_add_test(suite, tests[i].name, tests[i].run))
            return 2;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures > 0;
}

/* splitmix64: the same numbers on every machine. */
static inline uint64_t TestRandomBits(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [lo, hi). */
static inline double TestRandom(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * ((double)(TestRandomBits(state) >> 11) * 0x1p-53);
}

#endif
