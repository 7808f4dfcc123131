/* The cooked file: what building made, as it lies in memory, so that reading it is all there is to loading. Knows
 * meshes, trees and what stands beside them; nothing of geoms.
 *
 * A file is a head and then every array, each filled up with zeros to whole stripes of the checksum. The head has a magic, the version, a
 * mark of the layout (byte order and the sizes and places of everything stored), the length of the file, a
 * checksum of all of it, and the content with its pointers blank. Which arrays there are, and how long each is,
 * says the table that the structs give of themselves (fmMeshBlocks and its like): writing, reading, checking
 * the length and freeing all go by that.
 *
 * Whoever changes what a stored number means, though its size stays, counts FM_FILE_VERSION up.
 *
 * Not stored, but made anew: the binary trees of the papers with what hangs on them, the mesh turned inside out,
 * and the tree's serial. */
#ifndef FM_FILE_H
#define FM_FILE_H

#include "fm_coarse.h"
#include "fm_cone.h"
#include "fm_spmroot.h"

#include <fastmesh/fastmesh.h>

#define FM_FILE_VERSION 1

typedef struct fmFileContent {
    dFastMeshOptions options; /* not checked here: whoever loads knows what they mean */
    fmMesh mesh;
    fmTree tree;
    fmConeTable lanes; /* of the tree; empty: to be built, and the root as well */
    fmSpmRoot root;
    fmCoarse coarse; /* without faces there is none */
} fmFileContent;

/* Writes a file beside the path and gives it its name when it is complete: who opens the path finds the old
 * content or the new. Ok, ErrorFile or ErrorMemory; then there is no new file. */
int fmFileSave(const char *path, const fmFileContent *content);

/* Overwrites *content; it is the caller's to free. Whatever the bytes of the file, what is loaded may be used, moved and
 * refitted: counts, indices and numbers are checked before anything goes by them. A file with a right checksum
 * that was made to deceive may have boxes that do not enclose their faces, and so lose contacts. Ok,
 * ErrorFile, ErrorFormat or ErrorMemory; then *content is as it was. */
int fmFileLoad(const char *path, fmFileContent *content);

void fmFileContentFree(fmFileContent *content);

/* Makes the checksum of a file in memory right. For tests of what is wrong in other ways. */
void fmFileSetChecksum(void *file, size_t bytes);

#endif
