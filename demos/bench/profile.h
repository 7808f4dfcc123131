/* Where the time of collisions goes, stage by stage, printed. */
#ifndef PROFILE_H
#define PROFILE_H

#include "bench.h"

/* Of a scene's steps, with its pairs timed one by one. False when this system cannot be sampled. */
bool ProfileScene(const BenchOptions *options, SceneFallKind kind);

/* Of random placements of a MeshSetKind, contacts wanted; a set that is not there is passed over.
 */
bool ProfilePlacements(const BenchOptions *options, int kind);

#endif
