/* Reads Wavefront OBJ and STL (text and binary) meshes. Any bytes at all give a mesh or a sentence that
 * says what is wrong and where; nothing is ever half read. */
#ifndef SCENE_FILE_H
#define SCENE_FILE_H

#include "scene_mesh.h"

typedef struct SceneFileError {
    long line;      /* from 1; 0 when the fault has no line (binary files, opening) */
    long offset;    /* of the byte in a binary file; -1 when the fault has none */
    char text[200]; /* one sentence, without the file's name */
} SceneFileError;

/* "file.obj, line 7: A face needs three corners; this one has 2." Returns `to`. */
const char *SceneFileComplaint(const char *path, const SceneFileError *error, char *to, size_t size);

/* Reads a file; the kind is told by its contents. On false *mesh is as it was and *error is set. */
bool SceneReadMesh(const char *path, SceneMesh *mesh, SceneFileError *error);

/* The same from memory. OBJ: `v` and `f` lines count, polygons are cut into fans, negative indices count
 * from the end, everything else is skipped. STL: normals are skipped, equal corners welded. */
bool SceneParseMesh(const void *bytes, size_t length, SceneMesh *mesh, SceneFileError *error);

/* Writes an OBJ; false when the file cannot be written. */
bool SceneWriteObj(const char *path, const SceneMesh *mesh);
/* Write an STL, binary (which keeps single precision) or text; false when the file cannot be written. */
bool SceneWriteStl(const char *path, const SceneMesh *mesh);
bool SceneWriteTextStl(const char *path, const SceneMesh *mesh);

#endif
