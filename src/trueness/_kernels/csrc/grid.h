/* A fixed grid of cells over [0, 1], in ascending order and fine near 0 and near 1. */
#ifndef TRUENESS_GRID_H
#define TRUENESS_GRID_H

#include "rows.h"

/* The cell comes from the exponent and 7 bits of the mantissa of min(p, 1 - p), mirrored; grid.py has its edges.
 * Every cell is closed on the left and open on the right. The scores 0 and 1 have cells of their own; all between
 * 0 and 2⁻³¹ is one cell, and so is all from 1 - 2⁻³¹ up to 1. */
enum {
    MANTISSA_SHIFT = 52 - 7,
    LOWEST = (1022 - 30) << 7,
    HALF_CELLS = (1022 << 7) - LOWEST + 2,
    GRID_CELLS = 2 * HALF_CELLS,
};

/* The cell of each score of a block. */
int find_cells(const double *score, int m, uint32_t *RESTRICT cell);

#endif
