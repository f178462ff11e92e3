/* Softmax of rows of logits. Define REAL, INTEGER (as wide), NATURAL (without a sign) and ROW(name) before including
 * this file. */

/* A whole number in the order of the logits: compilers make vector instructions of a maximum of whole numbers only. */
INLINE INTEGER ROW(key)(REAL z)
{
    INTEGER bits;
    memcpy(&bits, &z, sizeof bits);
    return bits ^ (INTEGER)((NATURAL)(bits >> (8 * sizeof bits - 1)) >> 1);
}

/* Of a row with nan, anything. */
INLINE INTEGER ROW(greatest)(const REAL *row, int64_t m)
{
    INTEGER top = ROW(key)(row[0]);
    for (int64_t j = 1; j < m; j++) {
        INTEGER key = ROW(key)(row[j]);
        top = key > top ? key : top;
    }
    return top;
}

INLINE double ROW(largest)(const REAL *row, int64_t n_classes)
{
    INTEGER key = ROW(greatest)(row, n_classes);
    REAL z;
    key ^= (INTEGER)((NATURAL)(key >> (8 * sizeof key - 1)) >> 1);
    memcpy(&z, &key, sizeof z);
    return z;
}

/* The largest logits of some whole rows of up to TILE entries, and the powers of all their entries. */
INLINE void ROW(fill_rows)(double *RESTRICT power, const REAL *RESTRICT Z, int64_t n_rows, int64_t n_classes,
                           double least, double *RESTRICT top)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const REAL *row = Z + i * n_classes;
        double *below = power + i * n_classes;
        const double largest = top[i] = ROW(largest)(row, n_classes);
        for (int64_t j = 0; j < n_classes; j++)
            below[j] = (double)row[j] - largest;
    }
    for (int64_t j = 0; j < n_rows * n_classes; j++)
        power[j] = exp_of(power[j], least);
}

/* The sum of the powers of a row of more than TILE entries. */
INLINE double ROW(sum_long_row)(double *RESTRICT power, const REAL *RESTRICT row, int64_t n_classes, double top,
                                double least)
{
    double lane[LANES] = {0};
    for (int64_t j = 0; j < n_classes; j += TILE) {
        int64_t m = smaller(TILE, n_classes - j);
        for (int64_t l = 0; l < m; l++)
            power[l] = exp_of((double)row[j + l] - top, least);
        add_to_lanes(lane, power, m);
    }
    return sum_of(lane, LANES);
}

/* The first entry from j on that is no less than `limit`; there is one. */
INLINE int64_t ROW(next)(const REAL *row, int64_t j, int64_t n_classes, REAL limit)
{
    enum { WIDE = 64 };
    const INTEGER wanted = ROW(key)(limit);
    while (j + WIDE <= n_classes && ROW(greatest)(row + j, WIDE) < wanted)
        j += WIDE;
    while (!(row[j] >= limit))
        j++;
    return j;
}

/* The first entry whose probability is the largest: that of a logit a little below the largest may round to it. */
INLINE int64_t ROW(winner)(const REAL *row, int64_t n_classes, double top, double total, double least)
{
    const REAL limit = (REAL)(top - 0x1p-50);
    int64_t j = ROW(next)(row, 0, n_classes, limit);
    while (exp_of((double)row[j] - top, least) / total != 1.0 / total)
        j = ROW(next)(row, j + 1, n_classes, limit);
    return j;
}

INLINE int ROW(check_rows)(const REAL *Z, const int64_t *y, int64_t n, int64_t n_classes, double least,
                           const double *top, const double *total, int64_t *predicted, uint8_t *correct)
{
    int status = 0;
    for (int64_t i = 0; i < n; i++) {
        if (y[i] < 0 || y[i] >= n_classes)
            status |= BAD_LABEL;
        /* nan and +inf make the sum nan; so does a row of -inf alone. */
        if (total[i] != total[i]) {
            status |= BAD_SCORE;
            predicted[i] = correct[i] = 0;
            continue;
        }
        predicted[i] = ROW(winner)(Z + i * n_classes, n_classes, top[i], total[i], least);
        correct[i] = predicted[i] == y[i];
    }
    return status;
}

INLINE int ROW(logit_rows)(const REAL *Z, const int64_t *y, int64_t start, int64_t stop, int64_t n_classes,
                           double least, double *top, double *total, int64_t *predicted, uint8_t *correct)
{
    double power[TILE];
    const int64_t step = n_classes < TILE ? TILE / n_classes : 1;
    int status = 0;
    for (int64_t i = start; i < stop; i += step) {
        const REAL *rows = Z + i * n_classes;
        const int64_t n = smaller(step, stop - i);
        if (n_classes <= TILE) {
            ROW(fill_rows)(power, rows, n, n_classes, least, top + i);
            for (int64_t k = 0; k < n; k++)
                total[i + k] = sum_row(power + k * n_classes, n_classes);
        } else {
            top[i] = ROW(largest)(rows, n_classes);
            total[i] = ROW(sum_long_row)(power, rows, n_classes, top[i], least);
        }
        status |= ROW(check_rows)(rows, y + i, n, n_classes, least, top + i, total + i, predicted + i, correct + i);
    }
    return status;
}

INLINE void ROW(divided_powers)(double *RESTRICT p, const REAL *RESTRICT row, int64_t m, double top, double total,
                                double least)
{
    for (int64_t j = 0; j < m; j++)
        p[j] = exp_of((double)row[j] - top, least) / total;
}

INLINE int ROW(softmax_entries)(const REAL *Z, const double *top, const double *total, int64_t start, int64_t stop,
                                int64_t n_classes, double least, double *P)
{
    for (int64_t i = start; i < stop; i++)
        ROW(divided_powers)(P + i * n_classes, Z + i * n_classes, n_classes, top[i], total[i], least);
    return 0;
}

#undef REAL
#undef INTEGER
#undef NATURAL
#undef ROW
