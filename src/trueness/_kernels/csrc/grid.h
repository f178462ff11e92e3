/* A fixed grid of cells over [0, 1], in ascending order and fine near 0 and near 1. */
#ifndef TRUENESS_GRID_H
#define TRUENESS_GRID_H

#include "rows.h"

/* The cell comes from the exponent and 7 bits of the mantissa of min(p, 1 - p), mirrored. All below
 * 2⁻³¹ is one cell, and so is all above 1 - 2⁻³¹. */
enum {
    MANTISSA_SHIFT = 52 - 7,
    LOWEST = (1022 - 30) << 7,
    HALF_CELLS = (1022 << 7) - LOWEST + 1,
    GRID_CELLS = 2 * HALF_CELLS,
};

/* The cell of each score of a block. */
int find_cells(const double *score, int m, uint32_t *RESTRICT cell);

#endif
