/* Moments of columns within the cells of a grid of midpoints. */
#include "loops.h"

enum { MOST_COLUMNS = 4, MOMENTS = 4 };

typedef double moments[MOST_COLUMNS][MOMENTS];

/* Adds what a run of one cell has gathered to the table of (columns, moments, cells), and begins anew. */
INLINE void flush(moments run, double *table, int64_t n_columns, int64_t n_cells, int64_t cell)
{
    for (int64_t c = 0; c < n_columns; c++)
        for (int k = 0; k < MOMENTS; k++) {
            table[(c * MOMENTS + k) * n_cells + cell] += run[c][k];
            run[c][k] = 0;
        }
}

INLINE int add_rows(const double *p, const double *terms, double *table, int64_t n_columns, int64_t m, int64_t n_cells)
{
    moments run = {{0}};
    int64_t current = 0;
    for (int64_t i = 0; i < m; i++) {
        double position = p[i] * (double)(n_cells - 1) + 0.5;
        if (!(position >= 0 && position < (double)n_cells))
            return WRONG_ARRAY;
        int64_t cell = (int64_t)position;
        double offset = position - (double)cell;
        if (cell != current) {
            flush(run, table, n_columns, n_cells, current);
            current = cell;
        }
        for (int64_t c = 0; c < n_columns; c++) {
            double term = terms[c * m + i];
            run[c][0] += term;
            for (int k = 1; k < MOMENTS; k++) {
                term *= offset;
                run[c][k] += term;
            }
        }
    }
    flush(run, table, n_columns, n_cells, current);
    return 0;
}

EXPORT int grid_moments(const array *score, const array *columns, const array *table)
{
    int64_t m = length_of(score), n_columns = length_of(columns), n_cells = table->nd ? table->shape[table->nd - 1] : -1;
    if (n_columns < 1 || n_columns > MOST_COLUMNS || !is_array(score, 'f', 8, m) ||
        !is_array(columns, 'f', 8, n_columns * m) || n_cells < 2 ||
        !is_output(table, 'f', 8, n_columns * MOMENTS * n_cells))
        return WRONG_ARRAY;
    /* A constant number of columns keeps the sums of a run in registers. */
    const double *p = score->data, *terms = columns->data;
    switch (n_columns) {
    case 1:
        return add_rows(p, terms, table->data, 1, m, n_cells);
    case 2:
        return add_rows(p, terms, table->data, 2, m, n_cells);
    case 3:
        return add_rows(p, terms, table->data, 3, m, n_cells);
    default:
        return add_rows(p, terms, table->data, 4, m, n_cells);
    }
}
