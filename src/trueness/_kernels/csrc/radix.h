/* Radix sort by the leading bits, then insertion. Define ITEM, KEY(item), and SORT before including this file; keys
 * are below 2⁶³.
 *
 * SORT(items, spare, n) returns whichever of the two buffers holds the result; equal keys stay in their order. The bits
 * in which all keys agree are skipped. Of the others, about ten more than the number of items has put nearly all
 * items in their place, so that the rest is left to insertion; many keys that agree even in those are sorted by
 * themselves.
 */

#ifndef TRUENESS_RADIX_H
#define TRUENESS_RADIX_H

/* Ten bits: with more, the open ends of the buckets no longer fit the first-level cache. */
enum { FEW_ITEMS = 64, DIGIT_BITS = 10, MOST_DIGITS = 7, FAR_OFF = 32 };

INLINE int bit_length(uint64_t x)
{
    int n = 0;
    for (; x; x >>= 1)
        n++;
    return n;
}

#endif

#define WORD(item) ((uint64_t)KEY(item))
#define DIGIT(item, d) ((WORD(item) - low) >> (shift + width * (d)) & ((1u << width) - 1))

static ITEM *SORT(ITEM *items, ITEM *spare, int64_t n)
{
    uint64_t low = UINT64_MAX, high = 0;
    int digits = 0, width = 1, shift = 0;
    if (n > FEW_ITEMS) {
        for (int64_t i = 0; i < n; i++) {
            low = WORD(items[i]) < low ? WORD(items[i]) : low;
            high = WORD(items[i]) > high ? WORD(items[i]) : high;
        }
        int differing = bit_length(high - low), wanted = (int)smaller(differing, bit_length((uint64_t)n) + DIGIT_BITS);
        digits = (wanted + DIGIT_BITS - 1) / DIGIT_BITS;
        width = digits ? (wanted + digits - 1) / digits : 1;
        shift = differing > digits * width ? differing - digits * width : 0;
    }
    int64_t counts[MOST_DIGITS][1 << DIGIT_BITS];
    for (int d = 0; d < digits; d++)
        memset(counts[d], 0, sizeof counts[d][0] << width);
    for (int64_t i = 0; digits && i < n; i++)
        for (int d = 0; d < digits; d++)
            counts[d][DIGIT(items[i], d)]++;
    for (int d = 0; d < digits; d++) {
        int64_t *place = counts[d], total = 0;
        for (int v = 0; v < 1 << width; v++) {
            int64_t here = place[v];
            place[v] = total;
            total += here;
        }
        for (int64_t i = 0; i < n; i++)
            spare[place[DIGIT(items[i], d)]++] = items[i];
        ITEM *swap = items;
        items = spare;
        spare = swap;
    }
    if (digits && shift == 0)
        return items;
    for (int64_t i = 1; i < n; i++) {
        ITEM item = items[i];
        int64_t j = i;
        for (; j > 0 && WORD(items[j - 1]) > WORD(item); j--)
            items[j] = items[j - 1];
        items[j] = item;
        if (digits && i - j > FAR_OFF) { /* one of many keys with the same leading bits */
            uint64_t leading = (WORD(item) - low) >> shift;
            for (; j > 0 && (WORD(items[j - 1]) - low) >> shift == leading; j--)
                ;
            for (i++; i < n && (WORD(items[i]) - low) >> shift == leading; i++)
                ;
            ITEM *sorted = SORT(items + j, spare + j, i - j);
            if (sorted != items + j)
                memcpy(items + j, sorted, (size_t)(i - j) * sizeof(ITEM));
            i--;
        }
    }
    return items;
}

#undef WORD
#undef DIGIT
#undef ITEM
#undef KEY
#undef SORT
