/* What is asked of bins, made of their whole sums; and both at once for few rows. */
#include "loops.h"

enum { COLUMNS = 5, FLOAT_COLUMNS = 6 };

/* A sum of scores from those of their upper and lower bits. Both products are exact. */
INLINE double fixed_value(uint64_t hi, uint64_t lo)
{
    return (double)(int64_t)hi * 0x1p-26 + (double)(int64_t)lo * 0x1p-53;
}

/* The sums of each bin as floats: see reference_loops.float_sums. */
EXPORT int float_sums(const array *table, const array *columns)
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

EXPORT int bin_sums(const array *p, const array *y, const array *edges, const array *table, int64_t start,
                    int64_t stop, int uniform, int moments);

/* Finds the struct in the capsule of an array: Python's PyCapsule_GetPointer. */
typedef const array *opener(void *capsule, const char *name);

/* The arrays arrive as capsules, which takes a quarter of the time: the caller must hold Python's lock. */
EXPORT int few_rows(opener *open, void *scores, void *labels, void *bounds, void *sums, void *floats, int uniform,
                    int moments, int64_t *events)
{
    const array *p = open(scores, NULL), *y = open(labels, NULL), *edges = open(bounds, NULL);
    const array *table = open(sums, NULL), *columns = open(floats, NULL);
    if (!p || !y || !edges || !table || !columns)
        return WRONG_ARRAY;
    int status = bin_sums(p, y, edges, table, 0, length_of(p), uniform, moments);
    if (status)
        return status;
    const int64_t *cell = table->data;
    *events = 0;
    for (int64_t b = 0; b < length_of(edges) - 1; b++)
        *events += cell[2 * COLUMNS * b + COLUMNS];
    return float_sums(table, columns);
}
