/* The log loss of softmax(β·z), its first three derivatives in β and a bound of the fourth, row by row. */
#include <float.h>
#include <math.h>

#include "loops.h"

/* Every sum is kept in this many lanes, since a compiler must not reorder what is added to one. */
enum { LANES = 16 };

/* The least power of 2, nearly, that is no subnormal number. */
#define LEAST_POWER -1021.0

typedef struct {
    double zeroth[LANES], first[LANES], second[LANES], third[LANES], fourth[LANES];
} moments;

/* a·b + c, with one rounding where the level has an instruction for it. */
INLINE double multiply_add(int level, double a, double b, double c)
{
    return level ? fma(a, b, c) : a * b + c;
}

/* 2^t for t <= 0, 2^least below it; nan for nan. Off by less than 2^-50. The polynomial of degree 10 goes through 2^f
 * at the Chebyshev points of |f| <= 1/2.
 *
 * least is LEAST_POWER. It travels as an argument: where compilers see the constant, they branch on it, and a loop with
 * branches does not become vector instructions. */
INLINE double power_of_two(int level, double t, double least)
{
    const double round = 0x1.8p52; /* adding it leaves the nearest whole number in the last bits */
    t = t < least ? least : t;
    const double shifted = t + round, f = t - (shifted - round);
    double q = 0x1.e6063f7217bc6p-28;
    q = multiply_add(level, q, f, 0x1.b675bca4eeebbp-24);
    q = multiply_add(level, q, f, 0x1.62bfd47773353p-20);
    q = multiply_add(level, q, f, 0x1.ffcb54062e698p-17);
    q = multiply_add(level, q, f, 0x1.430913096fd9fp-13);
    q = multiply_add(level, q, f, 0x1.5d87fe9d7a584p-10);
    q = multiply_add(level, q, f, 0x1.3b2ab6fba1ddap-7);
    q = multiply_add(level, q, f, 0x1.c6b08d703ce49p-5);
    q = multiply_add(level, q, f, 0x1.ebfbdff82c598p-3);
    q = multiply_add(level, q, f, 0x1.62e42fefa3a19p-1);
    q = multiply_add(level, q, f, 1.0);
    return double_of(bits_of(q) + (bits_of(shifted) << 52));
}

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
    if (Z->itemsize == 4)
        return softmax_rows_float(level, Z->data, y, w, beta, least, start, stop, Z->shape[1], sums);
    return softmax_rows_double(level, Z->data, y, w, beta, least, start, stop, Z->shape[1], sums);
}

AT_EVERY_LEVEL(softmax_rows,
               (const array *Z, const int64_t *y, const double *w, double beta, double least, int64_t start,
                int64_t stop, double *sums),
               Z, y, w, beta, least, start, stop, sums)

/* sums: loss, its first three derivatives, the sum of the fourth central moments; w may be empty, for weights of 1. */
EXPORT int64_t softmax_derivatives(const array *Z, const array *y, const array *w, const array *sums, int64_t start,
                                   int64_t stop, double beta)
{
    if (!is_matrix(Z) || !is_array(y, 'i', 8, Z->shape[0]) || !is_output(sums, 'f', 8, 5) || !(beta >= 0) ||
        !are_rows(start, stop, Z->shape[0]) || w->nd < 1 ||
        !(is_array(w, 'f', 8, Z->shape[0]) || is_array(w, 'f', 8, 0)))
        return WRONG_ARRAY;
    const double *weights = w->shape[0] ? w->data : NULL;
    return softmax_rows(Z, y->data, weights, beta, LEAST_POWER, start, stop, sums->data);
}
