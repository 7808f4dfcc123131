/* The papers' figures, redone: what the sections share. Every section prints a table, writes it as CSV and,
 * where the paper has a plot, as SVG. It looks inside the library, so it is linked with its objects. */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "fm_bvpairs.h"
#include "scene_mesh.h"

typedef struct FigureOptions {
    const char *out;    /* directory for the files, or NULL: none are written */
    const char *meshes; /* directory with the papers' models, or NULL */
    int effort;         /* 1 quick, 2 as published, 4 thorough: numbers of placements and steps */
} FigureOptions;

extern FigureOptions figureOptions;

/* ---- tables ---- */

#define FIGURE_COLUMNS 12
#define FIGURE_ROWS 400

/* Rows of a label and numbers. NaN prints as a dash and is left empty in the CSV. */
typedef struct FigureTable {
    const char *name;                    /* of the files: fig7-armadillo */
    const char *title;                   /* with the paper's figure and what it showed */
    const char *columns[FIGURE_COLUMNS]; /* of the label, then of the numbers */
    const char *formats[FIGURE_COLUMNS]; /* printf's, for the numbers */
    int columnCount;                     /* numbers only */
    struct {
        char label[64];
        double value[FIGURE_COLUMNS];
    } rows[FIGURE_ROWS];
    int rowCount;
} FigureTable;

/* Numbers in a row are taken in order; a table that is full takes no more. */
void FigureRow(FigureTable *table, const char *label, const double *values);
/* Prints the table and writes its CSV. */
void FigureShow(const FigureTable *table);
/* A sentence below a table: what to make of it. */
void FigureNote(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- plots ---- */

/* Curves of a table over its first number, one for each further column; rows with the same label belong to
 * one curve when byLabel is set, else labels are ignored. */
typedef struct FigurePlot {
    const char *xLabel, *yLabel;
    bool logarithmic; /* the y axis */
    bool byLabel;     /* one curve per label of column `column` instead of one per column */
    int column;
    double yFrom, yTo; /* a range to show; both 0: what the numbers need */
} FigurePlot;

/* Writes name.svg. */
void FigureDraw(const FigureTable *table, const FigurePlot *plot);

/* ---- meshes ---- */

typedef struct FigureMesh {
    char name[32];
    SceneMesh source;
    fmMesh mesh;
    fmTree tree;
} FigureMesh;

/* The three models of the support plane paper when they are there, else three families made by code;
 * longest side 1. Made once, ends the program when that fails. */
#define FIGURE_MESHES 3
FigureMesh *FigureMeshes(void);
bool FigureHasPaperMeshes(void);

/* Takes the mesh over. */
void FigureMeshCook(FigureMesh *mesh, const char *name, SceneMesh *source);
void FigureMeshFree(FigureMesh *mesh);

/* ---- random and time ---- */

fmVec3 FigureRandomVec(uint64_t *seed, double size);
fmVec3 FigureRandomUnit(uint64_t *seed);
fmMat3 FigureTurn(fmVec3 axis, double angle);
fmPose FigureRandomPose(uint64_t *seed, double size);

/* Seconds of a clock that only runs forward. */
double FigureClock(void);
/* Seconds this process has computed: what others do on the machine does not count. */
double FigureCpuClock(void);

/* Ends the program with a message when a step of a build failed. */
void FigureCheck(int status, const char *what);

/* ---- the sections ---- */

void FigureBounding(void);  /* Vogiannou fig. 7 and 8 */
void FigurePairs(void);     /* Vogiannou fig. 9 and 10: two objects */
void FigureScenes(void);    /* Vogiannou fig. 9 and 11: 600 objects */
void FigureRoot(void);      /* the support table of whole meshes */
void FigureFaces(void);     /* Vaněček */
void FigureCones(void);     /* Redon, table 1 */
void FigurePatches(void);   /* Hampshire */
void FigureTrees(void);     /* James: volumes, costs, builds, fronts, refitting */
void FigureStability(void); /* velocity culling and the stability scenes */
void FigurePiles(void);     /* the chaotic one of them, from several starts */

#endif
