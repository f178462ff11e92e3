/* A row as one whole number: bits(p)·2 + y.
 *
 * For scores from 0 to 1 the order of the bits is the order of the numbers, so sorting keys sorts scores, and
 * rows that tie come in an order that does not depend on theirs. A float32 score needs only 32 bits.
 */
#ifndef TRUENESS_KEY_H
#define TRUENESS_KEY_H

#include "loops.h"

INLINE uint64_t wide_key(double score, uint8_t label)
{
    return bits_of(score) << 1 | label;
}

INLINE uint32_t narrow_key(double score, uint8_t label)
{
    float narrow = (float)score;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits << 1 | label;
}

INLINE double wide_score(uint64_t key)
{
    return double_of(key >> 1);
}

INLINE double narrow_score(uint32_t key)
{
    uint32_t bits = key >> 1;
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    return narrow;
}

#endif
