/* Sums of logarithmic losses, the same in any order and partition of the rows. */
#include "log.h"
#include "rows.h"
#include "single.h"

/* A loss is three whole numbers, in units of 2^-14, 2^-38 and 2^-62: each below 2^24, so that they can be multiplied by
 * weights, and sums over 2^38 rows fit 64 bits. */
enum { LIMBS = 3, LANES = 8 };

typedef struct {
    double limb[LIMBS][BLOCK];
} losses;

/* The nearest whole number, for less than 2^51. */
INLINE double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* In bits rather than conditions, which would keep compilers from using vectors. */
INLINE double choose(uint64_t mask, double one, double other)
{
    return double_of((bits_of(one) & mask) | (bits_of(other) & ~mask));
}

/* Returns whether a label had probability 0; its loss is then written as 0. */
INLINE int split_losses_body(int level, const double *score, const uint8_t *label, int m, losses *RESTRICT into)
{
    (void)level;
    uint64_t impossible = 0;
    for (int i = 0; i < m; i++) {
        double p = score[i] + 0.0, other = 1 - p;
        uint64_t event = 0 - (uint64_t)label[i];
        double chance = choose(event, p, other), rest = choose(event, 0.0, (1 - other) - p);
        uint64_t never = (bits_of(chance) - 1) >> 63;
        impossible |= never;
        double high = minus_log(choose(0 - never, 1.0, chance), rest) * 0x1p14, a = nearest(high);
        double middle = (high - a) * 0x1p24, b = nearest(middle);
        into->limb[0][i] = a;
        into->limb[1][i] = b;
        into->limb[2][i] = nearest((middle - b) * 0x1p24);
    }
    return impossible != 0;
}

AT_EVERY_LEVEL(split_losses, (const double *score, const uint8_t *label, int m, losses *RESTRICT into), score, label, m,
               into)

INLINE int add_losses_body(int level, const losses *block, int m, int64_t *sums)
{
    (void)level;
    for (int k = 0; k < LIMBS; k++) {
        double lane[LANES] = {0}, sum = 0; /* whole numbers below 2^53: no sum of them is rounded */
        int i = 0;
        for (; i + LANES <= m; i += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += block->limb[k][i + l];
        for (; i < m; i++)
            sum += block->limb[k][i];
        for (int l = 0; l < LANES; l++)
            sum += lane[l];
        sums[k] += (int64_t)sum;
    }
    return 0;
}

AT_EVERY_LEVEL(add_losses, (const losses *block, int m, int64_t *sums), block, m, sums)

/* How many rows of a block had a label of probability 0. */
RARE int64_t count_impossible(const double *score, const uint8_t *label, int m)
{
    int64_t found = 0;
    for (int i = 0; i < m; i++)
        found += score[i] == (label[i] ? 0.0 : 1.0);
    return found;
}

INLINE void add_rows(const double *score, const uint8_t *label, int m, int64_t *sums)
{
    losses found;
    if (split_losses(score, label, m, &found))
        sums[LIMBS] += count_impossible(score, label, m);
    add_losses(&found, m, sums);
}

/* sums: the limbs of all losses, and the rows whose loss is infinite, which are in no limb. */
EXPORT int loss_sums(const array *p, const array *y, const array *sums, int64_t start, int64_t stop)
{
    int64_t n = length_of(p);
    if (!are_scores(p, n) || !are_labels(y, n) || !is_output(sums, 'i', 8, LIMBS + 1) || !are_rows(start, stop, n))
        return WRONG_ARRAY;
    rows block;
    int64_t *total = sums->data;
    int status = 0;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start), faults = load_rows(&block, p, y, start, m);
        status |= faults;
        if (faults)
            continue;
        add_rows(block.score, block.label, m, total);
    }
    return status;
}

/* Adds weight times loss of each cell for one label. */
INLINE void add_weighted(const losses *block, const double *score, double impossible, const int64_t *weight,
                         const int64_t *less, int m, int64_t *sums)
{
    uint64_t limb[LIMBS] = {0}, never = 0;
    for (int i = 0; i < m; i++) {
        uint64_t w = (uint64_t)weight[i] - (less ? (uint64_t)less[i] : 0);
        for (int k = 0; k < LIMBS; k++)
            limb[k] += w * (uint64_t)(int64_t)block->limb[k][i];
        never += score[i] == impossible ? w : 0;
    }
    for (int k = 0; k < LIMBS; k++)
        sums[k] = (int64_t)((uint64_t)sums[k] + limb[k]);
    sums[LIMBS] = (int64_t)((uint64_t)sums[LIMBS] + never);
}

/* The same of cells with whole weights; the caller knows that all of them sum to at most 2^38. */
EXPORT int cell_loss_sums(const array *score, const array *weight, const array *events, const array *sums)
{
    int64_t n = length_of(score);
    if (!is_array(score, 'f', 8, n) || !is_array(weight, 'i', 8, n) || !is_array(events, 'i', 8, n) ||
        !is_output(sums, 'i', 8, LIMBS + 1))
        return WRONG_ARRAY;
    uint8_t ones[BLOCK], zeros[BLOCK], label[BLOCK];
    memset(ones, 1, BLOCK);
    memset(zeros, 0, BLOCK);
    losses found;
    int64_t *total = sums->data;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int m = (int)smaller(BLOCK, n - i);
        const double *p = (const double *)score->data + i;
        const int64_t *w = (const int64_t *)weight->data + i, *e = (const int64_t *)events->data + i;
        for (int k = 0; k < m; k++)
            if (!valid_score(p[k]))
                return WRONG_ARRAY;
        if (are_single_rows(w, e, m, label)) {
            add_rows(p, label, m, total);
            continue;
        }
        split_losses(p, ones, m, &found);
        add_weighted(&found, p, 0.0, e, NULL, m, total);
        split_losses(p, zeros, m, &found);
        add_weighted(&found, p, 1.0, w, e, m, total);
    }
    return 0;
}
