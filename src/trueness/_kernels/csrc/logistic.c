/* Sums over cells that decide a logistic regression on one predictor, and the area under the ROC curve. */
#include "exp.h"

/* Each sum is split into LANES parts, since a compiler must not reorder what is added to one; cells are added block by
 * block, so that rounding errors grow with the number of blocks. */
enum { LANES = 16, BLOCK = 1 << 13, SUMS = 5 };

/* The least power of e that is no subnormal number, nearly. */
#define LEAST_POWER -708.0

typedef struct {
    double slope, intercept, centre, least;
} line;

typedef struct {
    double lane[SUMS][LANES];
} sums_of_lanes;

#define ADD_CELLS(name, COUNT)                                                                                  \
    INLINE void name(sums_of_lanes *RESTRICT into, const double *RESTRICT x, const COUNT *RESTRICT weight,      \
                     const COUNT *RESTRICT events, int m, line at)                                              \
    {                                                                                                           \
        for (int l = 0; l < m; l++) {                                                                           \
            double z = x[l] - at.centre, eta = at.slope * z + at.intercept, w = (double)weight[l];              \
            double decay = exp_of(eta < 0 ? eta : -eta, at.least), share = 1 / (1 + decay);                     \
            double residual = (double)events[l] - w * (eta < 0 ? decay * share : share);                        \
            double spread = w * (decay * share * share), bent = spread * z;                                     \
            into->lane[0][l] += residual;                                                                       \
            into->lane[1][l] += residual * z;                                                                   \
            into->lane[2][l] += spread;                                                                         \
            into->lane[3][l] += bent;                                                                           \
            into->lane[4][l] += bent * z;                                                                       \
        }                                                                                                       \
    }                                                                                                           \
    INLINE void name##_of_block(const double *x, const COUNT *weight, const COUNT *events, int64_t n, line at,  \
                                double *sums)                                                                   \
    {                                                                                                           \
        sums_of_lanes block = {{{0}}};                                                                          \
        int64_t i = 0;                                                                                          \
        for (; i + LANES <= n; i += LANES)                                                                      \
            name(&block, x + i, weight + i, events + i, LANES, at);                                             \
        name(&block, x + i, weight + i, events + i, (int)(n - i), at);                                          \
        for (int k = 0; k < SUMS; k++) {                                                                        \
            double sum = 0;                                                                                     \
            for (int l = 0; l < LANES; l++)                                                                     \
                sum += block.lane[k][l];                                                                        \
            sums[k] += sum;                                                                                     \
        }                                                                                                       \
    }

ADD_CELLS(add_counts, int64_t)
ADD_CELLS(add_weights, double)

INLINE int line_cells_body(int level, const double *x, const array *weight, const array *events, int64_t n, line at,
                           double *sums)
{
    (void)level;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = smaller(BLOCK, n - i);
        if (weight->typekind == 'i')
            add_counts_of_block(x + i, (const int64_t *)weight->data + i, (const int64_t *)events->data + i, m, at, sums);
        else
            add_weights_of_block(x + i, (const double *)weight->data + i, (const double *)events->data + i, m, at, sums);
    }
    return 0;
}

AT_EVERY_LEVEL(line_cells,
               (const double *x, const array *weight, const array *events, int64_t n, line at, double *sums),
               x, weight, events, n, at, sums)

static int are_sums_of_cells(const array *weight, const array *events, int64_t n)
{
    return (is_array(weight, 'i', 8, n) && is_array(events, 'i', 8, n)) ||
           (is_array(weight, 'f', 8, n) && is_array(events, 'f', 8, n));
}

/* sums: of the residuals, the residuals times z, the spreads, the spreads times z and z squared, z = x - centre. */
EXPORT int line_sums(const array *x, const array *weight, const array *events, const array *sums, double slope,
                     double intercept, double centre)
{
    int64_t n = x->nd == 1 ? x->shape[0] : -1;
    if (n < 0 || !is_array(x, 'f', 8, n) || !are_sums_of_cells(weight, events, n) || !is_output(sums, 'f', 8, SUMS))
        return WRONG_ARRAY;
    line at = {slope, intercept, centre, LEAST_POWER};
    return line_cells(x->data, weight, events, n, at, sums->data);
}

#define PLACE_CELLS(name, COUNT)                                                                                \
    INLINE void name(const COUNT *weight, const COUNT *events, int64_t n, double total, double rest,            \
                     double area, double *sums)                                                                 \
    {                                                                                                           \
        double seen_events = 0, seen_others = 0;                                                                \
        for (int64_t start = 0; start < n; start += BLOCK) {                                                    \
            double mean = 0, of_events = 0, of_others = 0;                                                      \
            for (int64_t i = start; i < smaller(n, start + BLOCK); i++) {                                       \
                double e = (double)events[i], o = (double)weight[i] - e;                                        \
                double below = (seen_others + o / 2) / rest, above = 1 - (seen_events + e / 2) / total;         \
                seen_events += e, seen_others += o;                                                             \
                mean += e * below;                                                                              \
                of_events += e * ((below - area) * (below - area));                                             \
                of_others += o * ((above - area) * (above - area));                                             \
            }                                                                                                   \
            sums[0] += mean, sums[1] += of_events, sums[2] += of_others;                                        \
        }                                                                                                       \
    }

PLACE_CELLS(place_counts, int64_t)
PLACE_CELLS(place_weights, double)

/* sums: of the placements of events among non-events, and of squared distances of the placements of both classes from
 * `area`. */
EXPORT int placement_sums(const array *weight, const array *events, const array *sums, double total, double rest,
                          double area)
{
    int64_t n = weight->nd == 1 ? weight->shape[0] : -1;
    if (n < 0 || !are_sums_of_cells(weight, events, n) || !is_output(sums, 'f', 8, 3))
        return WRONG_ARRAY;
    if (weight->typekind == 'i')
        place_counts(weight->data, events->data, n, total, rest, area, sums->data);
    else
        place_weights(weight->data, events->data, n, total, rest, area, sums->data);
    return 0;
}
