/* How far a point lies from the boxes of a node and from the triangles of a leaf; part of
 * fm_kernels.inc.h. All distances are squared and never above the true ones. */

INLINE float SumAbs(const float v[3])
{
    return fabsf(v[0]) + fabsf(v[1]) + fabsf(v[2]);
}

/* Along each axis, what is beyond the box. */
INLINE void PointNodeGroup(const fmNode8 *node, const fmPointQuery *point, int g, float *distanceSq)
{
    W h[3], d[3], sq = {0}, zero = {0};
    LoadRows(node->half, g, h);
    LoadRows(node->center, g, d);
    for (int k = 0; k < 3; ++k)
        d[k] = d[k] - point->at[k];
    W slack =
        (ABS(d[0]) + ABS(d[1]) + ABS(d[2]) + h[0] + h[1] + h[2] + (node->radius + point->spread)) *
        FM_BOX_SLACK;
    for (int j = 0; j < 3; ++j) {
        W b[3];
        LoadRows(node->axis[j], g, b);
        W beyond = MAX(ABS(Dot(b, d)) - h[j] - slack, zero);
        sq = sq + beyond * beyond;
    }
    /* the axes are unit and square to 2^-22 */
    STORE(distanceSq, sq * (1 - 0x1p-20f));
}

static void PointNode(const fmNode8 *node, const fmPointQuery *point, float distanceSq[FM_LANES])
{
    for (int g = 0; HasGroup(g, node->count); g += FM_WIDTH)
        PointNodeGroup(node, point, g, distanceSq + g);
}

/* The distance from the plane where the point may lie over the triangle, that from the nearest side
 * where it surely does not. */
INLINE void PointLeafGroup(const fmLeaf8 *leaf, const fmPointQuery *point, int g, fmLeafFeet *feet)
{
    float a = leaf->radius, reach = a + SumAbs(point->at) + point->spread;
    W v[3][3], e[3][3], n[3], nearest, zero = {0};
    for (int k = 0; k < 3; ++k)
        LoadRows(leaf->corner[k], g, v[k]);
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            e[k][i] = v[(k + 1) % 3][i] - v[k][i];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            v[k][i] = point->at[i] - v[k][i];
    Cross(e[0], e[1], n);

    M outside = {0}, before[3], beyond[3];
    float sideSlack = 2 * FM_LEAF_SLACK * reach * a * a * a + FLT_MIN;
    float alongSlack = FM_LEAF_SLACK * reach * a + FLT_MIN;
    for (int k = 0; k < 3; ++k) {
        W m[3], w[3], length = Dot(e[k], e[k]), along = Dot(e[k], v[k]);
        Cross(e[k], v[k], m);
        M past = Dot(m, n) < Splat(-sideSlack);
        outside |= past;
        before[k] = along < Splat(-alongSlack);
        beyond[k] = along - length > Splat(alongSlack);
        M between = (M)(along > Splat(alongSlack)) & (M)(length - along > Splat(alongSlack));
        feet->side[k] |= (uint8_t)(BITS(past & between) << g);
        along = MIN(MAX(along / (length + FLT_MIN), zero), Splat(1));
        for (int i = 0; i < 3; ++i)
            w[i] = v[k][i] - along * e[k][i];
        W sq = Dot(w, w);
        nearest = k == 0 ? sq : MIN(nearest, sq);
    }
    for (int k = 0; k < 3; ++k)
        feet->corner[k] |= (uint8_t)(BITS(before[k] & beyond[(k + 2) % 3]) << g);
    W above = MAX(ABS(Dot(n, v[0])) - (FM_LEAF_SLACK * reach * a * a + FLT_MIN), zero);
    W plane = above * above / (Dot(n, n) + (2 * FM_LEAF_SLACK * a * a * a * a + FLT_MIN));
    STORE(feet->distanceSq + g,
          SELECT(outside, nearest, plane) - FM_DISTANCE_SLACK * reach * reach);
}

static void PointLeaf(const fmLeaf8 *leaf, const fmPointQuery *point, fmLeafFeet *feet)
{
    memset(feet->side, 0, sizeof feet->side);
    memset(feet->corner, 0, sizeof feet->corner);
    for (int g = 0; HasGroup(g, leaf->count); g += FM_WIDTH)
        PointLeafGroup(leaf, point, g, feet);
}
