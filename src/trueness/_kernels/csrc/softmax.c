/* The log loss of softmax(β·z) and its first two derivatives in β, row by row. */
#include <float.h>
#include <math.h>

#include "exp.h"

/* Sums are kept apart in so many lanes, since a compiler must not reorder what is added to one. */
enum { LANES = 64 };

/* The least power of e that is no subnormal number, nearly. */
#define LEAST_POWER -708.0

typedef struct {
    double zeroth[LANES], first[LANES], second[LANES];
} moments;

INLINE double sum_of(double *lane, int m)
{
    double sum = 0;
    if (m == LANES)
        for (m = LANES / 2; m >= 4; m /= 2)
            for (int l = 0; l < m; l++)
                lane[l] += lane[l + m];
    for (int l = 0; l < (m < 4 ? 4 : m); l++)
        sum += lane[l];
    return sum;
}

#define REAL float
#define LEAST -FLT_MAX
#define ROW(name) name##_float
#include "softmax_row.h"

#define REAL double
#define LEAST -DBL_MAX
#define ROW(name) name##_double
#include "softmax_row.h"

INLINE int softmax_rows_body(int level, const array *Z, const int64_t *y, const double *w, double beta, double least,
                             int64_t start, int64_t stop, double *sums)
{
    (void)level;
    if (Z->itemsize == 4)
        return softmax_rows_float(Z->data, y, w, beta, least, start, stop, Z->shape[1], sums);
    return softmax_rows_double(Z->data, y, w, beta, least, start, stop, Z->shape[1], sums);
}

AT_EVERY_LEVEL(softmax_rows,
               (const array *Z, const int64_t *y, const double *w, double beta, double least, int64_t start,
                int64_t stop, double *sums),
               Z, y, w, beta, least, start, stop, sums)

/* sums: loss, first and second derivative; w may be empty, for weights of 1. */
EXPORT int softmax_sums(const array *Z, const array *y, const array *w, const array *sums, int64_t start, int64_t stop,
                        double beta)
{
    if (Z->nd != 2 || Z->shape[1] < 1 || !are_scores(Z, Z->shape[0] * Z->shape[1]) ||
        !is_array(y, 'i', 8, Z->shape[0]) || !is_array(sums, 'f', 8, 3) || !(beta >= 0) ||
        !(is_array(w, 'f', 8, Z->shape[0]) || is_array(w, 'f', 8, 0)))
        return WRONG_ARRAY;
    const double *weights = w->shape[0] ? w->data : NULL;
    return softmax_rows(Z, y->data, weights, beta, LEAST_POWER, start, stop, sums->data);
}
