/* Where this program spends its time: it is interrupted about once a millisecond of processor time
 * and the function found is sorted into a stage of a simulation step. What runs is the library as
 * users have it; it knows nothing of this and pays nothing for it. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdbool.h>

/* False when the system does not interrupt programs so. SamplerEnd() either way. */
bool SamplerStart(void);
void SamplerEnd(void);

/* Samples are kept while it is on; off at the start. */
void SamplerSwitch(bool on);

/* Prints the stages and the functions that took most, as parts of `micros` microseconds, which one
 * `unit`
 * ("step") took. Returns the number of samples. */
long SamplerReport(double micros, const char *unit);

#endif
