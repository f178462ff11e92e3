/* Whole-number sums, with one wide addition per row.
 *
 * A slot holds the sums of one cell (a bin and a label): first word count·2⁴⁴ + Σhi, second Σlo, and with
 * moments Σsq_hi and Σsq_lo. Each slot exists COPIES times and neighbouring rows use different copies, since
 * an addition to a word that was stored a moment ago must wait for that store. The words are emptied
 * into the caller's table before Σhi can reach the count.
 */
#ifndef TRUENESS_SLOTS_H
#define TRUENESS_SLOTS_H

#include "rows.h"

enum { COPIES = 8 };

typedef struct {
    int64_t *words;
    void *memory;
    int64_t n_cells;
    int width; /* words per copy: 2, or 4 with moments */
    int rows_left;
    int64_t *table; /* table[cell, (count, Σhi, Σlo, …)], */
    int columns;    /* with rows this long */
} slots;

/* Returns 0 if there is no memory. */
int slots_open(slots *s, int64_t n_cells, int moments, int64_t *table, int columns);

/* Adds m rows, m <= BLOCK; offset[i] is the row's cell times the stride. */
int slots_add(slots *s, const uint32_t *offset, const double *score, int m);

void slots_close(slots *s);

/* Distance between the slots of neighbouring cells, in words. */
INLINE uint32_t slot_stride(int moments)
{
    return COPIES * (moments ? 4 : 2);
}

/* A score as two whole numbers, as in fixed.py. */
typedef struct {
    int32_t hi, lo;
} parts;

INLINE parts parts_of(double p)
{
    double scaled = p * 0x1p26;
    int32_t hi = (int32_t)scaled;
    int32_t lo = (int32_t)((scaled - hi) * 0x1p27);
    return (parts){hi, lo};
}

/* One row straight into the table, for callers that have no slots. */
INLINE void add_row(int64_t *cell, double score, int moments)
{
    parts part = parts_of(score);
    cell[0] += 1;
    cell[1] += part.hi;
    cell[2] += part.lo;
    if (moments) {
        parts square = parts_of(score * score);
        cell[3] += square.hi;
        cell[4] += square.lo;
    }
}

#endif
