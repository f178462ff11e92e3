/* Log-odds, and the sums that decide a logistic regression on them, the same in any order and partition of the rows. */
#include <math.h>

#include "exp.h"
#include "log.h"
#include "rows.h"
#include "single.h"

enum { SUMS = 5, LANES = 8, UNIT = 1 << 22, HEAVY = 1 << 20 };

/* The least power of e that is no subnormal number, nearly. */
#define LEAST_POWER -708.0
/* No two finite log-odds of scores are farther apart. */
#define MOST_SPREAD 1024.0
#define MOST_WEIGHT (1LL << 35)

typedef struct {
    double slope, intercept, centre, least;
} line;

typedef struct {
    double term[SUMS][BLOCK];
} terms;

/* Returns whether a score is 0 or 1; what is written for it means nothing. */
INLINE int find_log_odds_body(int level, const double *score, int m, double *RESTRICT into)
{
    (void)level;
    uint64_t signs = 0;
    for (int i = 0; i < m; i++) {
        double p = score[i], other = 1 - p;
        signs |= (bits_of(p) - 1) | (bits_of(other) - 1);
        into[i] = minus_log(other, (1 - other) - p) - minus_log(p, 0.0);
    }
    return negative(signs);
}

AT_EVERY_LEVEL(find_log_odds, (const double *score, int m, double *RESTRICT into), score, m, into)

RARE void write_infinite_log_odds(const double *score, int m, double *into)
{
    for (int i = 0; i < m; i++)
        into[i] = score[i] == 0 ? -INFINITY : score[i] == 1 ? INFINITY : into[i];
}

EXPORT int logits(const array *p, const array *x, int64_t start, int64_t stop)
{
    int64_t n = length_of(p);
    if (!are_scores(p, n) || !is_output(x, 'f', 8, n) || !are_rows(start, stop, n))
        return WRONG_ARRAY;
    rows block;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        double *into = (double *)x->data + start;
        if (load_scores(&block, p, start, m))
            return WRONG_ARRAY;
        if (find_log_odds(block.score, m, into))
            write_infinite_log_odds(block.score, m, into);
    }
    return 0;
}

/* The nearest whole number, for less than 2^51. */
INLINE double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* What each row adds to each sum, as whole numbers of at most 2^44: the sum of a block is exact. */
INLINE int line_terms_body(int level, const double *x, const uint8_t *label, int m, line at, terms *RESTRICT into)
{
    (void)level;
    for (int i = 0; i < m; i++) {
        double z = x[i] - at.centre, eta = at.slope * z + at.intercept;
        double decay = exp_of(eta < 0 ? eta : -eta, at.least), share = 1 / (1 + decay);
        double residual = (double)label[i] - (eta < 0 ? decay * share : share);
        double spread = decay * share * share, bent = spread * z;
        into->term[0][i] = nearest(residual * 0x1p44);
        into->term[1][i] = nearest(residual * z * 0x1p34);
        into->term[2][i] = nearest(spread * 0x1p44);
        into->term[3][i] = nearest(bent * 0x1p36);
        into->term[4][i] = nearest(bent * z * 0x1p26);
    }
    return 0;
}

AT_EVERY_LEVEL(line_terms, (const double *x, const uint8_t *label, int m, line at, terms *RESTRICT into), x, label, m,
               at, into)

/* Sums are kept in halves, [term, (upper, lower)]: upper times 2^22, plus lower. */
INLINE void add_halves(int64_t *sums, int64_t upper, int64_t lower)
{
    sums[0] = (int64_t)((uint64_t)sums[0] + (uint64_t)upper);
    sums[1] = (int64_t)((uint64_t)sums[1] + (uint64_t)lower);
}

INLINE int64_t sum_of(const double *term, int m)
{
    double lane[LANES] = {0}, sum = 0;
    int whole = m / LANES * LANES;
    for (int i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += term[i + l];
    for (int i = whole; i < m; i++)
        sum += term[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return (int64_t)sum;
}

INLINE int add_line_rows_body(int level, const terms *block, int m, int64_t *sums)
{
    (void)level;
    for (int k = 0; k < SUMS; k++) {
        int64_t whole = sum_of(block->term[k], m), lower = whole & (UNIT - 1);
        add_halves(sums + 2 * k, (whole - lower) / UNIT, lower);
    }
    return 0;
}

AT_EVERY_LEVEL(add_line_rows, (const terms *block, int m, int64_t *sums), block, m, sums)

/* Weights below 2^20, so that the sums of the halves of a block are exact. */
INLINE int add_light_cells_body(int level, const terms *RESTRICT block, const double *RESTRICT weight, int m,
                                int64_t *sums)
{
    (void)level;
    for (int k = 0; k < SUMS; k++) {
        double upper[BLOCK], lower[BLOCK];
        const double *term = block->term[k];
        for (int i = 0; i < m; i++) {
            double half = nearest(term[i] * (1.0 / UNIT));
            upper[i] = half * weight[i];
            lower[i] = (term[i] - half * UNIT) * weight[i];
        }
        add_halves(sums + 2 * k, sum_of(upper, m), sum_of(lower, m));
    }
    return 0;
}

AT_EVERY_LEVEL(add_light_cells, (const terms *RESTRICT block, const double *RESTRICT weight, int m, int64_t *sums),
               block, weight, m, sums)

RARE void add_heavy_cells(const terms *block, const double *weight, int m, int64_t *sums)
{
    for (int k = 0; k < SUMS; k++)
        for (int i = 0; i < m; i++) {
            int64_t whole = (int64_t)block->term[k][i], lower = whole & (UNIT - 1), w = (int64_t)weight[i];
            add_halves(sums + 2 * k, (whole - lower) / UNIT * w, lower * w);
        }
}

INLINE int is_finite(double x)
{
    return x - x == 0;
}

INLINE int are_near_centre_body(int level, const double *x, int m, double centre)
{
    (void)level;
    uint64_t signs = 0; /* the bits of nan, too, are above those of the limit */
    for (int i = 0; i < m; i++)
        signs |= bits_of(MOST_SPREAD) - (bits_of(x[i] - centre) & INT64_MAX);
    return !negative(signs);
}

AT_EVERY_LEVEL(are_near_centre, (const double *x, int m, double centre), x, m, centre)

/* Whether the events are a part of weights that are not above `most`. */
INLINE int are_parts(const int64_t *weight, const int64_t *events, int m, int64_t most)
{
    uint64_t signs = 0;
    for (int i = 0; i < m; i++) {
        uint64_t w = (uint64_t)weight[i], e = (uint64_t)events[i];
        signs |= w | e | (w - e) | ((uint64_t)most - w);
    }
    return !negative(signs);
}

/* Σ(y - q), Σ(y - q)z, Σq(1 - q), Σq(1 - q)z, Σq(1 - q)z² in units of 2^-44, 2^-34, 2^-44, 2^-36, 2^-26: q is the
 * probability on the line, z = x - centre. */
EXPORT int row_line_sums(const array *x, const array *y, const array *sums, int64_t start, int64_t stop, double slope,
                         double intercept, double centre)
{
    int64_t n = length_of(x);
    if (!is_array(x, 'f', 8, n) || !are_labels(y, n) || !is_output(sums, 'i', 8, 2 * SUMS) ||
        !are_rows(start, stop, n) || !is_finite(slope) || !is_finite(intercept))
        return WRONG_ARRAY;
    line at = {slope, intercept, centre, LEAST_POWER};
    rows block;
    terms found;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        const double *own = (const double *)x->data + start;
        if (load_labels(&block, y, start, m) || !are_near_centre(own, m, centre))
            return WRONG_ARRAY;
        line_terms(own, block.label, m, at, &found);
        add_line_rows(&found, m, sums->data);
    }
    return 0;
}

/* The same of cells with whole weights that sum to at most 2^35. */
EXPORT int cell_line_sums(const array *x, const array *weight, const array *events, const array *sums, double slope,
                          double intercept, double centre)
{
    int64_t n = length_of(x);
    if (!is_array(x, 'f', 8, n) || !is_array(weight, 'i', 8, n) || !is_array(events, 'i', 8, n) ||
        !is_output(sums, 'i', 8, 2 * SUMS) || !is_finite(slope) || !is_finite(intercept))
        return WRONG_ARRAY;
    line at = {slope, intercept, centre, LEAST_POWER};
    uint8_t label[2][BLOCK], own_label[BLOCK];
    memset(label[0], 0, BLOCK);
    memset(label[1], 1, BLOCK);
    terms found;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int m = (int)smaller(BLOCK, n - start);
        const double *own = (const double *)x->data + start;
        const int64_t *w = (const int64_t *)weight->data + start, *e = (const int64_t *)events->data + start;
        if (!are_near_centre(own, m, centre) || !are_parts(w, e, m, MOST_WEIGHT))
            return WRONG_ARRAY;
        if (are_single_rows(w, e, m, own_label)) {
            line_terms(own, own_label, m, at, &found);
            add_line_rows(&found, m, sums->data);
            continue;
        }
        int light = are_parts(w, e, m, HEAVY);
        for (int y = 0; y < 2; y++) {
            double of_label[BLOCK];
            for (int i = 0; i < m; i++)
                of_label[i] = (double)(y ? e[i] : w[i] - e[i]);
            line_terms(own, label[y], m, at, &found);
            if (light)
                add_light_cells(&found, of_label, m, sums->data);
            else
                add_heavy_cells(&found, of_label, m, sums->data);
        }
    }
    return 0;
}
