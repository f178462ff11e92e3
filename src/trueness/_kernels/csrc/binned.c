/* What is asked of bins, made of their whole sums. */
#include "loops.h"

enum { COLUMNS = 5, FLOAT_COLUMNS = 6 };

/* A sum of scores from those of their upper and lower bits. Both products are exact. */
INLINE double fixed_value(uint64_t hi, uint64_t lo)
{
    return (double)(int64_t)hi * 0x1p-26 + (double)(int64_t)lo * 0x1p-53;
}

/* The sums of each bin as floats: see reference_loops.float_sums. */
EXPORT int64_t float_sums(const array *table, const array *columns)
{
    int64_t n_bins = length_of(table);
    if (n_bins < 0 || !is_array(table, 'i', 8, n_bins * 2 * COLUMNS) ||
        !is_output(columns, 'f', 8, n_bins * FLOAT_COLUMNS))
        return WRONG_ARRAY;
    const uint64_t *sums = table->data; /* unsigned, so that overflow means the same as in NumPy */
    double *out = columns->data;
    for (int64_t b = 0; b < n_bins; b++, sums += 2 * COLUMNS, out += FLOAT_COLUMNS) {
        const uint64_t *event = sums + COLUMNS;
        uint64_t both[COLUMNS];
        for (int k = 0; k < COLUMNS; k++)
            both[k] = sums[k] + event[k];
        out[0] = out[1] = (double)(int64_t)both[0];
        out[2] = (double)(int64_t)event[0];
        out[3] = fixed_value(both[1], both[2]);
        out[4] = fixed_value(both[3], both[4]);
        out[5] = fixed_value(event[1], event[2]);
    }
    return 0;
}
