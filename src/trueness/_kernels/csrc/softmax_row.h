/* Rows of logits. Define REAL, LEAST (below all of them) and ROW(name) before including this file. */

INLINE double ROW(top)(const REAL *row, int64_t n_classes)
{
    enum { WIDE = 16 };
    REAL lane[WIDE], top = LEAST;
    int64_t j = 0;
    for (int l = 0; l < WIDE; l++)
        lane[l] = LEAST;
    for (; j + WIDE <= n_classes; j += WIDE)
        for (int l = 0; l < WIDE; l++)
            lane[l] = row[j + l] > lane[l] ? row[j + l] : lane[l];
    for (; j < n_classes; j++)
        top = row[j] > top ? row[j] : top;
    for (int l = 0; l < WIDE; l++)
        top = lane[l] > top ? lane[l] : top;
    return top;
}

/* Adds m entries of a row; `rate` is beta in powers of two. */
INLINE void ROW(add_entries)(int level, moments *RESTRICT sums, const REAL *RESTRICT row, int m, double top,
                             double rate, double least)
{
    for (int l = 0; l < m; l++) {
        double d = (double)row[l] - top, e = power_of_two(level, rate * d, least), first = d * e, second = d * first;
        double third = d * second;
        sums->zeroth[l] += e;
        sums->first[l] += first;
        sums->second[l] += second;
        sums->third[l] += third;
        sums->fourth[l] = multiply_add(level, d, third, sums->fourth[l]);
    }
}

INLINE int ROW(softmax_rows)(int level, const REAL *Z, const int64_t *y, const double *w, double beta, double least,
                             int64_t start, int64_t stop, int64_t n_classes, double *sums)
{
    double loss = 0, slope = 0, curvature = 0, third = 0, fourth = 0;
    const double rate = beta * 0x1.71547652b82fep+0; /* 1 / ln 2 */
    const int lanes = (int)smaller(LANES, n_classes);
    for (int64_t i = start; i < stop; i++) {
        const REAL *row = Z + i * n_classes;
        if (y[i] < 0 || y[i] >= n_classes)
            return BAD_LABEL;
        double top = ROW(top)(row, n_classes);
        moments m = {{0}, {0}, {0}, {0}, {0}};
        int64_t j = 0;
        for (; j + LANES <= n_classes; j += LANES)
            ROW(add_entries)(level, &m, row + j, LANES, top, rate, least);
        ROW(add_entries)(level, &m, row + j, (int)(n_classes - j), top, rate, least);
        const double zeroth = sum_of(m.zeroth, lanes), mean = sum_of(m.first, lanes) / zeroth;
        const double square = sum_of(m.second, lanes) / zeroth, cube = sum_of(m.third, lanes) / zeroth;
        const double spread = square - mean * mean, skew = cube - mean * (square + 2 * spread);
        const double tail = sum_of(m.fourth, lanes) / zeroth - mean * (4 * cube - 3 * mean * (square + spread));
        const double own = (double)row[y[i]] - top, weight = w ? w[i] : 1.0;
        loss += weight * (log(zeroth) - beta * own);
        slope += weight * (mean - own);
        curvature += weight * (spread > 0 ? spread : 0);
        third += weight * skew;
        fourth += weight * (tail < 0 ? 0 : tail); /* nan stays */
    }
    sums[0] += loss, sums[1] += slope, sums[2] += curvature, sums[3] += third, sums[4] += fourth;
    return 0;
}

#undef REAL
#undef LEAST
#undef ROW
