/* Random whole numbers by inversion: tables of distribution functions, and the numbers that random words select.
 *
 * The table of an entry has a threshold, in units of 2⁻¹⁶, between each two of its outcomes. A random word of 16 bits
 * lies between two thresholds, or within the unit of one: then more bits must decide, which the caller draws.
 */
#include "loops.h"

enum { GUIDE = 256, WORTH_GUIDE = 64, MOST_OUTCOMES = 1 << 14 };

/* Whether `start` has a range of at most MOST_OUTCOMES - 1 thresholds for each of m entries. */
static int are_ranges(const array *start, int64_t m, int64_t n_thresholds)
{
    if (m < 0 || !is_array(start, 'i', 8, m + 1))
        return 0;
    const int64_t *at = start->data;
    for (int64_t i = 0; i < m; i++)
        if (at[i] < 0 || at[i] > at[i + 1] || at[i + 1] - at[i] >= MOST_OUTCOMES)
            return 0;
    return at[0] == 0 && at[m] == n_thresholds;
}

/* The distribution function of low, low + 1, … up to n_thresholds outcomes, times 2¹⁶. The chances follow from the
 * mode's by their ratios: P(k + 1) / P(k) = (trials - k) odds / (k + 1). */
static void fill_table(double *chance, double *cdf, int64_t n_thresholds, int64_t mode, int64_t low, int64_t trials,
                       double odds)
{
    chance[mode - low] = 1;
    for (int64_t k = mode - low; k < n_thresholds; k++) {
        double left = (double)(trials - (low + k));
        chance[k + 1] = chance[k] * (left * odds / (double)(low + k + 1));
    }
    for (int64_t k = mode - low; k > 0; k--) {
        double left = (double)(trials - (low + k - 1));
        chance[k - 1] = chance[k] * ((double)(low + k) / (left * odds));
    }
    double total = 0;
    for (int64_t k = 0; k < n_thresholds; k++) {
        total += chance[k];
        cdf[k] = total;
    }
    double scale = 65536 / (total + chance[n_thresholds]);
    for (int64_t k = 0; k < n_thresholds; k++)
        cdf[k] *= scale;
}

EXPORT int64_t outcome_tables(const array *trials, const array *odds, const array *mode, const array *low,
                              const array *start, const array *cdf)
{
    int64_t m = length_of(trials), n_thresholds = length_of(cdf);
    if (!is_array(trials, 'i', 8, m) || !is_array(odds, 'f', 8, m) || !is_array(mode, 'i', 8, m) ||
        !is_array(low, 'i', 8, m) || !is_output(cdf, 'f', 8, n_thresholds) || !are_ranges(start, m, n_thresholds))
        return WRONG_ARRAY;
    const int64_t *n = trials->data, *middle = mode->data, *least = low->data, *at = start->data;
    const double *ratio = odds->data;
    double *out = cdf->data, *chance = malloc(MOST_OUTCOMES * sizeof *chance);
    if (chance == NULL)
        return NO_MEMORY;
    for (int64_t i = 0; i < m; i++) {
        if (least[i] < 0 || middle[i] < least[i] || middle[i] - least[i] > at[i + 1] - at[i]) {
            free(chance);
            return WRONG_ARRAY;
        }
        fill_table(chance, out + at[i], at[i + 1] - at[i], middle[i], least[i], n[i], ratio[i]);
    }
    free(chance);
    return 0;
}

/* guide[h]: thresholds below the least word with the high byte h. */
static void make_guide(const uint16_t *threshold, int n_thresholds, uint16_t *guide)
{
    int k = 0;
    for (int h = 0; h < GUIDE; h++) {
        while (k < n_thresholds && threshold[k] < h << 8)
            k++;
        guide[h] = (uint16_t)k;
    }
}

/* out[i, j] = low[i] + the number of thresholds of entry i that are below its j-th word; if the word is equal to the
 * next threshold, -1 - that number. */
EXPORT int64_t outcomes(const array *words, const array *thresholds, const array *start, const array *low,
                        const array *out)
{
    int64_t m = length_of(low), draws = out->nd == 2 ? out->shape[1] : -1, n_thresholds = length_of(thresholds);
    if (draws < 0 || out->shape[0] != m || !is_array(low, 'i', 8, m) || !is_array(words, 'u', 2, m * draws) ||
        !is_array(thresholds, 'u', 2, n_thresholds) || !is_output(out, 'i', 4, m * draws) ||
        !are_ranges(start, m, n_thresholds))
        return WRONG_ARRAY;
    uint16_t guide[GUIDE] = {0}, own[MOST_OUTCOMES];
    const int64_t *at = start->data, *least = low->data;
    for (int64_t i = 0; i < m; i++) {
        const uint16_t *word = (const uint16_t *)words->data + i * draws;
        int32_t *number = (int32_t *)out->data + i * draws, base = (int32_t)least[i];
        int n = (int)(at[i + 1] - at[i]);
        if (n > 0)
            memcpy(own, (const uint16_t *)thresholds->data + at[i], (size_t)n * sizeof *own);
        own[n] = UINT16_MAX; /* ends every search */
        if (draws >= WORTH_GUIDE)
            make_guide(own, n, guide);
        for (int64_t j = 0; j < draws; j++) {
            int k = guide[word[j] >> 8];
            k += own[k] < word[j]; /* mostly enough, and no branch to mispredict */
            while (own[k] < word[j])
                k++;
            number[j] = own[k] == word[j] && k < n ? -1 - k : base + k;
        }
    }
    return 0;
}
