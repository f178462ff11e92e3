/* Sums of each bin, from the cells of distinct scores in ascending order. */
#include "slots.h"

enum { COLUMNS = 5 };

INLINE void add_parts(int64_t *sums, int64_t n, parts p, parts square)
{
    sums[0] += n;
    sums[1] += n * p.hi;
    sums[2] += n * p.lo;
    sums[3] += n * square.hi;
    sums[4] += n * square.lo;
}

EXPORT int64_t cell_sums(const array *score, const array *weight, const array *events, const array *start,
                         const array *table)
{
    int64_t n_cells = length_of(score), n_bins = length_of(start) - 1;
    if (!is_array(score, 'f', 8, n_cells) || !is_array(weight, 'i', 8, n_cells) ||
        !is_array(events, 'i', 8, n_cells) || n_bins < 0 || !is_array(start, 'i', 8, n_bins + 1) ||
        !is_output(table, 'i', 8, n_bins * 2 * COLUMNS))
        return WRONG_ARRAY;
    const double *p = score->data;
    const int64_t *w = weight->data, *e = events->data, *first = start->data;
    int64_t *sums = table->data;
    for (int64_t b = 0; b < n_bins; b++) {
        if (first[b] < 0 || first[b] > first[b + 1] || first[b + 1] > n_cells)
            return WRONG_ARRAY;
        int64_t own[2][COLUMNS] = {{0}};
        for (int64_t i = first[b]; i < first[b + 1]; i++) {
            parts part = parts_of(p[i]), square = parts_of(p[i] * p[i]);
            add_parts(own[0], w[i] - e[i], part, square);
            add_parts(own[1], e[i], part, square);
        }
        for (int k = 0; k < 2 * COLUMNS; k++)
            sums[b * 2 * COLUMNS + k] += own[k / COLUMNS][k % COLUMNS];
    }
    return 0;
}

enum { RESIDUAL_COLUMNS = 7, STRETCH = 256 };

/* Sums of residuals of each bin: see reference_loops.residual_sums. Stretches of cells are added one by one, so that
 * the error of a long sum stays small. */
EXPORT int64_t residual_sums(const array *score, const array *weight, const array *events, const array *first,
                             const array *table)
{
    int64_t n_cells = length_of(score), n_bins = length_of(first);
    if (!is_array(score, 'f', 8, n_cells) || !is_array(weight, 'i', 8, n_cells) ||
        !is_array(events, 'i', 8, n_cells) || n_bins < 0 || !is_array(first, 'i', 8, n_bins) ||
        !is_output(table, 'f', 8, RESIDUAL_COLUMNS * n_bins))
        return WRONG_ARRAY;
    const double *p = score->data;
    const int64_t *w = weight->data, *e = events->data, *start = first->data;
    double *out = table->data;
    for (int64_t b = 0; b < n_bins; b++) {
        int64_t i = start[b], stop = b + 1 < n_bins ? start[b + 1] : n_cells;
        if (i < 0 || i > stop || stop > n_cells)
            return WRONG_ARRAY;
        double total[RESIDUAL_COLUMNS] = {0};
        while (i < stop) {
            double own[RESIDUAL_COLUMNS] = {0};
            for (int64_t end = smaller(i + STRETCH, stop); i < end; i++) {
                double n = (double)w[i], hits = (double)e[i], np = n * p[i], v = p[i] * (1 - p[i]);
                own[0] += n;
                own[1] += hits;
                own[2] += np;
                own[3] += hits - np;
                own[4] += np * p[i] + hits * (1 - 2 * p[i]);
                own[5] += n * v;
                own[6] += n * (v * v);
            }
            for (int k = 0; k < RESIDUAL_COLUMNS; k++)
                total[k] += own[k];
        }
        for (int k = 0; k < RESIDUAL_COLUMNS; k++)
            out[k * n_bins + b] = total[k];
    }
    return 0;
}
