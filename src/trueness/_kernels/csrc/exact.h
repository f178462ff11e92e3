/* Fractions of whole numbers compared without rounding. */
#ifndef TRUENESS_EXACT_H
#define TRUENESS_EXACT_H

#include "loops.h"

/* a·b >= c·d for numbers >= 0, in 128 bits. */
INLINE int product_not_below(int64_t a, int64_t b, int64_t c, int64_t d)
{
#if defined(__SIZEOF_INT128__)
    return (__int128)a * b >= (__int128)c * d;
#else
    uint64_t high[2], low[2];
    const uint64_t left[2] = {(uint64_t)a, (uint64_t)c}, right[2] = {(uint64_t)b, (uint64_t)d};
    for (int k = 0; k < 2; k++) {
        uint64_t x0 = left[k] & 0xFFFFFFFF, x1 = left[k] >> 32;
        uint64_t y0 = right[k] & 0xFFFFFFFF, y1 = right[k] >> 32;
        uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (middle & 0xFFFFFFFF);
        low[k] = left[k] * right[k];
        high[k] = x1 * y1 + (middle >> 32) + (other >> 32);
    }
    return high[0] != high[1] ? high[0] > high[1] : low[0] >= low[1];
#endif
}

#endif
