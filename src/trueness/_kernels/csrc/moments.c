/* Moments of residuals, or of other columns, within the cells of a grid of midpoints. */
#include "rows.h"

enum { MOMENTS = 4, MOST_CELLS = 1 << 24 };

/* Adds a column of a block of scores to table[cell, power]. Neighbours in one cell are summed first: of scores in order
 * most are, and each would otherwise wait for the one before it to be written. */
INLINE int add_column_body(int level, const double *score, const double *column, int m, double n_points,
                           double *RESTRICT table)
{
    int32_t cell[BLOCK];
    double term[BLOCK][MOMENTS];
    for (int i = 0; i < m; i++) {
        double position = score[i] * n_points + 0.5;
        cell[i] = (int32_t)position;
        double x = position - (double)cell[i], first = column[i] * x, second = first * x;
        term[i][0] = column[i];
        term[i][1] = first;
        term[i][2] = second;
        term[i][3] = second * x;
    }
    for (int i = 0; i < m; i++) {
        double *into = table + (int64_t)cell[i] * MOMENTS;
        double a = term[i][0], b = term[i][1], c = term[i][2], d = term[i][3];
        for (; i + 1 < m && cell[i + 1] == cell[i]; i++)
            a += term[i + 1][0], b += term[i + 1][1], c += term[i + 1][2], d += term[i + 1][3];
        into[0] += a, into[1] += b, into[2] += c, into[3] += d;
    }
    return 0;
}

AT_EVERY_LEVEL(add_column,
               (const double *score, const double *column, int m, double n_points, double *RESTRICT table),
               score, column, m, n_points, table)

/* columns: [column, score]; table: [column, cell, power 0 .. 3]. */
EXPORT int64_t grid_moments(const array *p, const array *columns, const array *table)
{
    int64_t n = length_of(p), n_columns = length_of(columns), n_cells = table->nd == 3 ? table->shape[1] : -1;
    if (!are_scores(p, n) || !is_array(columns, 'f', 8, n_columns * n) || n_cells < 2 || n_cells > MOST_CELLS ||
        !is_output(table, 'f', 8, n_columns * n_cells * MOMENTS))
        return WRONG_ARRAY;
    rows block;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int m = (int)smaller(BLOCK, n - start);
        if (load_scores(&block, p, start, m))
            return WRONG_ARRAY;
        for (int64_t c = 0; c < n_columns; c++)
            add_column(block.score, (const double *)columns->data + c * n + start, m, (double)(n_cells - 1),
                       (double *)table->data + c * n_cells * MOMENTS);
    }
    return 0;
}

/* The same of one column: the label minus the score of each row, in table[cell, power]. */
EXPORT int64_t residual_moments(const array *p, const array *y, const array *table, int64_t start, int64_t stop)
{
    int64_t n = length_of(p), n_cells = length_of(table);
    if (!are_scores(p, n) || !are_labels(y, n) || !are_rows(start, stop, n) || n_cells < 2 || n_cells > MOST_CELLS ||
        !is_output(table, 'f', 8, n_cells * MOMENTS))
        return WRONG_ARRAY;
    rows block;
    double residual[BLOCK];
    int status = 0;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start), found = load_rows(&block, p, y, start, m);
        status |= found;
        if (found)
            continue;
        for (int i = 0; i < m; i++)
            residual[i] = (double)block.label[i] - block.score[i];
        add_column(block.score, residual, m, (double)(n_cells - 1), table->data);
    }
    return status;
}
