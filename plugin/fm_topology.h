/* The two halves of what a surface knows beyond its triangles: how faces hang together (integers alone,
 * except round edges of more than two faces) and how they bend. Steps of cooking; nobody else calls them. */
#ifndef FM_TOPOLOGY_H
#define FM_TOPOLOGY_H

#include "fm_mesh.h"

/* From points and faces[].point: allocates edges, pointFirstEdge and pointEdges and fills these, faces[].edge and
 * [].next; all but what fmMeshShape says of edges. Counts edges in the report. Returns a status; fmMeshFree frees
 * what a failure leaves. */
int fmMeshConnect(fmMesh *mesh);

/* The last step of it: fills pointFirstEdge, pointEdges and faces[].next from the edges. */
void fmMeshLink(fmMesh *mesh);

/* From points and edges: the components and the volume of the report. Returns a status; nothing has
 * changed when memory is out. */
int fmMeshSurvey(fmMesh *mesh);

/* The same after the points moved: the components are what they were. */
int fmMeshResurvey(fmMesh *mesh);

/* From points, faces and edges: how the surface bends. Fills faces[].normal and [].facet, edges[].cosine and
 * [].kind, and allocates flats and facetSides. A face without area keeps the normal it has. Returns
 * a status; fmMeshFree frees what a failure leaves. */
int fmMeshShape(fmMesh *mesh);

/* The last step of it: the straight sides of the facets, from faces, edges and facets. */
int fmMeshOutline(fmMesh *mesh);

#endif
