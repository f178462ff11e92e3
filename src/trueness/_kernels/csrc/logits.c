/* Softmax of rows of logits: the top label in one pass, or all probabilities once that pass is done. */
#include "exp.h"

/* Each sum is split into LANES parts, since a compiler must not reorder what is added to one, and begins anew after TILE
 * entries, so that rounding does not grow with their number. reference_softmax.py has the same numbers. */
enum { LANES = 16, TILE = 1024 };

/* e^t is 0 below it. */
#define LEAST_POWER -746.0

/* Adds up to TILE powers to the lanes. */
INLINE void add_to_lanes(double *RESTRICT lane, const double *RESTRICT power, int64_t m)
{
    double part[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= m; j += LANES)
        for (int l = 0; l < LANES; l++)
            part[l] += power[j + l];
    for (int l = 0; j + l < m; l++)
        part[l] += power[j + l];
    for (int l = 0; l < LANES; l++)
        lane[l] += part[l];
}

/* Adds half of the lanes to the others, until one is left. */
INLINE double sum_of(double *lane, int n_lanes)
{
    for (int m = n_lanes / 2; m > 0; m /= 2)
        for (int l = 0; l < m; l++)
            lane[l] += lane[l + m];
    return lane[0];
}

/* The sum of up to TILE powers: where they are few, without lanes that would only hold zeros. */
INLINE double sum_row(const double *power, int64_t m)
{
    double lane[LANES] = {0};
    if (m > 4) {
        add_to_lanes(lane, power, m);
        return sum_of(lane, LANES);
    }
    for (int l = 0; l < m; l++)
        lane[l] = power[l];
    return sum_of(lane, 4);
}

#define REAL float
#define INTEGER int32_t
#define NATURAL uint32_t
#define ROW(name) name##_float
#include "logit_row.h"

#define REAL double
#define INTEGER int64_t
#define NATURAL uint64_t
#define ROW(name) name##_double
#include "logit_row.h"

INLINE int logit_rows_body(int level, const array *Z, const int64_t *y, double least, int64_t start, int64_t stop,
                           double *top, double *total, int64_t *predicted, uint8_t *correct)
{
    if (Z->itemsize == 4)
        return logit_rows_float(Z->data, y, start, stop, Z->shape[1], least, top, total, predicted, correct);
    return logit_rows_double(Z->data, y, start, stop, Z->shape[1], least, top, total, predicted, correct);
}

AT_EVERY_LEVEL(logit_rows,
               (const array *Z, const int64_t *y, double least, int64_t start, int64_t stop, double *top,
                double *total, int64_t *predicted, uint8_t *correct),
               Z, y, least, start, stop, top, total, predicted, correct)

EXPORT int64_t logit_tops(const array *Z, const array *y, const array *top, const array *total, const array *predicted,
                          const array *correct, int64_t start, int64_t stop)
{
    if (!is_matrix(Z) || !is_array(y, 'i', 8, Z->shape[0]) || !are_rows(start, stop, Z->shape[0]) ||
        !is_output(top, 'f', 8, Z->shape[0]) || !is_output(total, 'f', 8, Z->shape[0]) ||
        !is_output(predicted, 'i', 8, Z->shape[0]) || !is_output(correct, 'u', 1, Z->shape[0]))
        return WRONG_ARRAY;
    return logit_rows(Z, y->data, LEAST_POWER, start, stop, top->data, total->data, predicted->data, correct->data);
}

INLINE int softmax_entries_body(int level, const array *Z, const double *top, const double *total, double least,
                                int64_t start, int64_t stop, double *P)
{
    if (Z->itemsize == 4)
        return softmax_entries_float(Z->data, top, total, start, stop, Z->shape[1], least, P);
    return softmax_entries_double(Z->data, top, total, start, stop, Z->shape[1], least, P);
}

AT_EVERY_LEVEL(softmax_entries,
               (const array *Z, const double *top, const double *total, double least, int64_t start, int64_t stop,
                double *P),
               Z, top, total, least, start, stop, P)

EXPORT int64_t softmax(const array *Z, const array *top, const array *total, const array *P, int64_t start,
                       int64_t stop)
{
    if (!is_matrix(Z) || !is_array(top, 'f', 8, Z->shape[0]) || !is_array(total, 'f', 8, Z->shape[0]) ||
        !is_output(P, 'f', 8, Z->shape[0] * Z->shape[1]) || !are_rows(start, stop, Z->shape[0]))
        return WRONG_ARRAY;
    return softmax_entries(Z, top->data, total->data, LEAST_POWER, start, stop, P->data);
}
