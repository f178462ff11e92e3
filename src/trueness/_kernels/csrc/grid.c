#include "grid.h"

INLINE int find_cells_body(int level, const double *score, int m, uint32_t *RESTRICT cell)
{
    for (int i = 0; i < m; i++) {
        int lower = score[i] < 0.5;
        double tail = lower ? score[i] : 1 - score[i]; /* exact from 1/2 up */
        /* One unit less in the upper half: what is closed on the left there is closed on the right in 1 - p. */
        int64_t bits = (int64_t)bits_of(tail) - !lower;
        int64_t step = (bits >> MANTISSA_SHIFT) - (LOWEST - 2);
        step = step > 1 ? step : 1;
        step = tail > 0 ? step : 0;
        cell[i] = (uint32_t)(lower ? step : GRID_CELLS - 1 - step);
    }
    return 0;
}

AT_EVERY_LEVEL(find_cells, (const double *score, int m, uint32_t *RESTRICT cell), score, m, cell)

INLINE int widen_extremes_body(int level, const double *score, int m, int64_t *extremes)
{
    int64_t least = extremes[0], greatest = extremes[1];
    for (int i = 0; i < m; i++) {
        int64_t bits = (int64_t)bits_of(score[i]);
        least = bits < least ? bits : least;
        greatest = bits > greatest ? bits : greatest;
    }
    extremes[0] = least;
    extremes[1] = greatest;
    return 0;
}

AT_EVERY_LEVEL(widen_extremes, (const double *score, int m, int64_t *extremes), score, m, extremes)

enum { COUNT_COPIES = 2 }; /* so that equal neighbours need not wait for each other */

/* Rows per cell, added to counts; least and greatest score. */
EXPORT int64_t grid_counts(const array *p, const array *counts, const array *extremes, int64_t start, int64_t stop)
{
    int64_t n = length_of(p);
    if (!are_scores(p, n) || !are_rows(start, stop, n) || !is_output(counts, 'i', 8, GRID_CELLS) ||
        !is_output(extremes, 'f', 8, 2))
        return WRONG_ARRAY;
    rows block;
    uint32_t cell[BLOCK];
    int64_t(*local)[COUNT_COPIES] = calloc(GRID_CELLS, sizeof *local);
    int64_t range[2] = {INT64_MAX, 0}, *total = counts->data;
    int status = 0;
    if (local == NULL)
        return NO_MEMORY;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start), i = 0;
        int found = load_scores(&block, p, start, m);
        status |= found;
        if (found)
            continue;
        widen_extremes(block.score, m, range);
        find_cells(block.score, m, cell);
        for (; i + COUNT_COPIES <= m; i += COUNT_COPIES)
            for (int copy = 0; copy < COUNT_COPIES; copy++)
                local[cell[i + copy]][copy]++;
        for (; i < m; i++)
            local[cell[i]][0]++;
    }
    for (int c = 0; c < GRID_CELLS; c++)
        for (int copy = 0; copy < COUNT_COPIES; copy++)
            total[c] += local[c][copy];
    free(local);
    memcpy(extremes->data, range, sizeof range);
    return status;
}
