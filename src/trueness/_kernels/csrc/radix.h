/* Least-significant-digit radix sort. Define ITEM, KEY(item), KEY_BITS and SORT before including this file.
 *
 * SORT(items, spare, n) returns whichever of the two buffers holds the result. Digits in which all keys agree
 * are skipped: scores that came from float32, or from few decimals, have many of them.
 */

/* Eight bits: with more, the open ends of the buckets no longer fit the first-level cache. */
#define DIGITS ((KEY_BITS + 7) / 8)
#define DIGIT(item, d) ((unsigned)(KEY(item) >> (8 * (d))) & 255)

static ITEM *SORT(ITEM *items, ITEM *spare, int64_t n)
{
    if (n <= 64) {
        for (int64_t i = 1; i < n; i++) {
            ITEM item = items[i];
            int64_t j = i;
            for (; j > 0 && KEY(items[j - 1]) > KEY(item); j--)
                items[j] = items[j - 1];
            items[j] = item;
        }
        return items;
    }
    int64_t counts[DIGITS][256] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++)
            counts[d][DIGIT(items[i], d)]++;
    for (int d = 0; d < DIGITS; d++) {
        int64_t *place = counts[d], total = 0;
        if (place[DIGIT(items[0], d)] == n)
            continue;
        for (int v = 0; v < 256; v++) {
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
    return items;
}

#undef DIGITS
#undef DIGIT
#undef ITEM
#undef KEY
#undef KEY_BITS
#undef SORT
