/* Weights: their check, and sums that do not forget what rounding took. */
#ifndef TRUENESS_COMPENSATE_H
#define TRUENESS_COMPENSATE_H

#include <math.h>

#include "loops.h"

/* Neumaier's step: the value is pair[0] + pair[1]. */
INLINE void add_compensated(double *pair, double term)
{
    double sum = pair[0] + term;
    pair[1] += fabs(pair[0]) >= fabs(term) ? (pair[0] - sum) + term : (term - sum) + pair[0];
    pair[0] = sum;
}

INLINE int bad_weights(const double *w, int m)
{
    int good = 1;
    for (int i = 0; i < m; i++)
        good &= (w[i] >= 0) & (w[i] < INFINITY);
    return good ? 0 : BAD_WEIGHT;
}

#endif
