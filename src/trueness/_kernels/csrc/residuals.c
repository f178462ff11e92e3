/* Moments of residuals within the cells of a grid of midpoints, as whole numbers. */
#include "rows.h"
#include "single.h"

enum { MOMENTS = 4, MOST_CELLS = 1 << 24, MOST_SCALE = 50 };

typedef struct {
    int32_t cell[BLOCK];
    int64_t term[BLOCK][MOMENTS];
} terms;

/* The nearest whole number, for less than 2^51. */
INLINE int64_t nearest(double x)
{
    return (int64_t)(bits_of(x + 0x1.8p52) - bits_of(0x1.8p52));
}

/* The cell of each score, and its residual times powers of the place in the cell. */
INLINE int find_residuals_body(int level, const double *score, const uint8_t *label, int m, double n_points,
                               double scale, terms *RESTRICT into)
{
    (void)level;
    for (int i = 0; i < m; i++) {
        double position = score[i] * n_points + 0.5;
        into->cell[i] = (int32_t)position;
        double place = position - (double)into->cell[i], residual = (double)label[i] - score[i];
        double first = residual * place, second = first * place, third = second * place;
        into->term[i][0] = nearest(residual * scale);
        into->term[i][1] = nearest(first * scale);
        into->term[i][2] = nearest(second * scale);
        into->term[i][3] = nearest(third * scale);
    }
    return 0;
}

AT_EVERY_LEVEL(find_residuals,
               (const double *score, const uint8_t *label, int m, double n_points, double scale, terms *RESTRICT into),
               score, label, m, n_points, scale, into)

INLINE int add_residuals_body(int level, const terms *RESTRICT block, int m, int64_t *RESTRICT table)
{
    (void)level;
    for (int i = 0; i < m; i++) {
        int64_t *at = table + (int64_t)block->cell[i] * MOMENTS;
        const int64_t *term = block->term[i];
        int64_t a = at[0] + term[0], b = at[1] + term[1], c = at[2] + term[2], d = at[3] + term[3];
        at[0] = a, at[1] = b, at[2] = c, at[3] = d;
    }
    return 0;
}

AT_EVERY_LEVEL(add_residuals, (const terms *RESTRICT block, int m, int64_t *RESTRICT table), block, m, table)

static int64_t cells_of(const array *table)
{
    int64_t n = length_of(table);
    return n >= 2 && n <= MOST_CELLS && table->nd == 2 && is_output(table, 'i', 8, n * MOMENTS) ? n : -1;
}

INLINE double power_of_2(int64_t k)
{
    return double_of((uint64_t)(1023 + k) << 52);
}

/* table: [cell, power 0 .. 3], in units of 2^-bits. */
EXPORT int residual_moments(const array *p, const array *y, const array *table, int64_t start, int64_t stop,
                            int64_t bits)
{
    int64_t n = length_of(p), n_cells = cells_of(table);
    if (!are_scores(p, n) || !are_labels(y, n) || n_cells < 0 || !are_rows(start, stop, n) ||
        !are_rows(0, bits, MOST_SCALE))
        return WRONG_ARRAY;
    rows block;
    terms found;
    int status = 0;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start), faults = load_rows(&block, p, y, start, m);
        status |= faults;
        if (faults)
            continue;
        find_residuals(block.score, block.label, m, (double)(n_cells - 1), power_of_2(bits), &found);
        add_residuals(&found, m, table->data);
    }
    return status;
}

/* Terms of cells, from those of a row without and with an event. */
INLINE int combine_residuals_body(int level, terms *RESTRICT block, const terms *RESTRICT with_event,
                                  const int64_t *weight, const int64_t *events, int m)
{
    (void)level;
    for (int i = 0; i < m; i++) {
        uint64_t e = (uint64_t)events[i], others = (uint64_t)weight[i] - e;
        for (int k = 0; k < MOMENTS; k++)
            block->term[i][k] =
                (int64_t)((uint64_t)block->term[i][k] * others + (uint64_t)with_event->term[i][k] * e);
    }
    return 0;
}

AT_EVERY_LEVEL(combine_residuals,
               (terms *RESTRICT block, const terms *RESTRICT with_event, const int64_t *weight, const int64_t *events,
                int m),
               block, with_event, weight, events, m)

/* The same of cells with whole weights; the caller knows that no sum reaches 2^63. */
EXPORT int cell_residual_moments(const array *score, const array *weight, const array *events, const array *table,
                                 int64_t bits)
{
    int64_t n = length_of(score), n_cells = cells_of(table);
    if (!is_array(score, 'f', 8, n) || !is_array(weight, 'i', 8, n) || !is_array(events, 'i', 8, n) || n_cells < 0 ||
        !are_rows(0, bits, MOST_SCALE))
        return WRONG_ARRAY;
    uint8_t label[2][BLOCK], own_label[BLOCK];
    memset(label[0], 0, BLOCK);
    memset(label[1], 1, BLOCK);
    double scale = power_of_2(bits), n_points = (double)(n_cells - 1);
    terms found, with_event;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int m = (int)smaller(BLOCK, n - i);
        const double *p = (const double *)score->data + i;
        const int64_t *w = (const int64_t *)weight->data + i, *e = (const int64_t *)events->data + i;
        for (int k = 0; k < m; k++)
            if (!valid_score(p[k]))
                return WRONG_ARRAY;
        if (are_single_rows(w, e, m, own_label))
            find_residuals(p, own_label, m, n_points, scale, &found);
        else {
            find_residuals(p, label[0], m, n_points, scale, &found);
            find_residuals(p, label[1], m, n_points, scale, &with_event);
            combine_residuals(&found, &with_event, w, e, m);
        }
        add_residuals(&found, m, table->data);
    }
    return 0;
}
