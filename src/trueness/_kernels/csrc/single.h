/* Cells of one row each, as most are where scores are continuous. */
#ifndef TRUENESS_SINGLE_H
#define TRUENESS_SINGLE_H

#include "loops.h"

/* Whether every weight is 1 and every number of events 0 or 1; writes the events as labels. */
INLINE int are_single_rows(const int64_t *weight, const int64_t *events, int m, uint8_t *label)
{
    uint64_t others = 0;
    for (int i = 0; i < m; i++) {
        others |= ((uint64_t)weight[i] ^ 1) | ((uint64_t)events[i] & ~1ULL);
        label[i] = (uint8_t)(events[i] & 1);
    }
    return others == 0;
}

#endif
