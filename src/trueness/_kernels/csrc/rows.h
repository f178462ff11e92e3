/* Rows, a block at a time: scores as doubles, labels as bytes, both checked on the way.
 *
 * A block fits the first-level cache next to the tables it is added to.
 */
#ifndef TRUENESS_ROWS_H
#define TRUENESS_ROWS_H

#include "loops.h"

enum { BLOCK = 512 };

typedef struct {
    const double *score; /* never -0.0, so that the order of the bits is the order of the scores */
    const uint8_t *label;
    double score_buffer[BLOCK];
    uint8_t label_buffer[BLOCK];
} rows;

/* Load up to BLOCK entries from `start` on; return the faults found among them. */
int load_scores(rows *block, const array *p, int64_t start, int m);
int load_labels(rows *block, const array *y, int64_t start, int m);

INLINE int load_rows(rows *block, const array *p, const array *y, int64_t start, int m)
{
    int found = load_scores(block, p, start, m);
    return found | load_labels(block, y, start, m);
}

INLINE int valid_score(double s)
{
    return s >= 0.0 && s <= 1.0;
}

#endif
