/* A set of placed pairs, and what mappings on the first levels of a tree do to it. */
#ifndef FIGURE_LEVELS_H
#define FIGURE_LEVELS_H

#include "figures.h"

#define LEVELS_MOST 8

typedef struct PlacedPair {
    int mesh[2];
    fmPose aInB;
    bool touching;
} PlacedPair;

typedef struct PairSet {
    const FigureMesh *meshes;
    int meshCount;
    PlacedPair *pairs;
    int count, capacity;
    int steps;         /* the times of a step are averages over so many; 0: times are per query */
    const char *name;  /* of the files */
    const char *title; /* of the scene */
} PairSet;

void PairSetAdd(PairSet *set, int a, int b, const fmPose *aInB);
void PairSetFree(PairSet *set);
/* Fills in which pairs touch. */
void PairSetJudge(PairSet *set);

/* Which pairs that do not touch are turned away within the first levels (fig. 9). */
void PairSetCulling(const PairSet *set, const char *figure);
/* Time by volume, mapping and level (fig. 10 and 11). */
void PairSetTimes(const PairSet *set, const char *figure);

#endif
