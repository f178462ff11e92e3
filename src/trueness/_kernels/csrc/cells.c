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

EXPORT int cell_sums(const array *score, const array *weight, const array *events, const array *start,
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
