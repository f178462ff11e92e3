/* Pool adjacent violators, with and without limits on the size of a block. */
#include "exact.h"

/* The blocks so far, last on top. The arrays belong to the caller and are as long as the cells. */
typedef struct {
    int64_t *start, *size, *sum;
    int64_t n;
} blocks;

INLINE void push(blocks *b, int64_t start, int64_t size, int64_t sum)
{
    b->start[b->n] = start;
    b->size[b->n] = size;
    b->sum[b->n++] = sum;
}

INLINE void merge_top(blocks *b)
{
    b->n--;
    b->size[b->n - 1] += b->size[b->n];
    b->sum[b->n - 1] += b->sum[b->n];
}

/* Merges the second and third block from the top; the top one stays. */
INLINE void merge_below(blocks *b)
{
    int64_t top = b->n - 1;
    b->size[top - 2] += b->size[top - 1];
    b->sum[top - 2] += b->sum[top - 1];
    b->start[top - 1] = b->start[top];
    b->size[top - 1] = b->size[top];
    b->sum[top - 1] = b->sum[top];
    b->n--;
}

INLINE int top_violates(const blocks *b)
{
    int64_t right = b->n - 1, left = right - 1;
    return product_not_below(b->sum[left], b->size[right], b->sum[right], b->size[left]);
}

/* Whether cells and workspace have the same number of entries. */
static int are_blocks(char kind, const array *weight, const array *events, const array *start, const array *size,
                      const array *sum)
{
    int64_t m = length_of(start);
    return is_array(weight, kind, 8, m) && is_array(events, kind, 8, m) && is_output(start, 'i', 8, m) &&
           is_output(size, kind, 8, m) && is_output(sum, kind, 8, m);
}

enum { STRETCH = 512, LITTLE = 1 << 30 };

/* Whether the rate of each cell is above that of the cell before it. */
INLINE int find_rises_body(int level, const int64_t *w, const int64_t *e, int m, uint8_t *RESTRICT rises)
{
    uint64_t seen = 0;
    for (int k = -1; k < m; k++)
        seen |= (uint64_t)w[k] | (uint64_t)e[k];
    if (seen < LITTLE)
        for (int k = 0; k < m; k++)
            rises[k] = e[k] * w[k - 1] > e[k - 1] * w[k];
    else
        for (int k = 0; k < m; k++)
            rises[k] = !product_not_below(e[k - 1], w[k], e[k], w[k - 1]);
    return 0;
}

AT_EVERY_LEVEL(find_rises, (const int64_t *w, const int64_t *e, int m, uint8_t *RESTRICT rises), w, e, m, rises)

INLINE void push_and_pool(blocks *b, int64_t start, int64_t size, int64_t sum)
{
    push(b, start, size, sum);
    while (b->n > 1 && top_violates(b))
        merge_top(b);
}

/* start, size and sum are workspace of m numbers each; the result is in start, its length is returned.
 *
 * Blocks may be pooled in any order, so cells whose rates do not rise are pooled first. They are found without
 * branches, which would be mispredicted: labels of single rows look random. */
EXPORT int64_t pava_counts(const array *weight, const array *events, const array *start, const array *size,
                           const array *sum)
{
    if (!are_blocks('i', weight, events, start, size, sum))
        return WRONG_ARRAY;
    blocks b = {start->data, size->data, sum->data, 0};
    const int64_t *w = weight->data, *e = events->data, m = start->shape[0];
    int64_t first = 0, total = m ? w[0] : 0, ones = m ? e[0] : 0, counted = 0, seen = 0;
    int64_t at[STRETCH], total_below[STRETCH], ones_below[STRETCH];
    uint8_t rises[STRETCH];
    for (int64_t i = 1; i < m; i += STRETCH) {
        int n = (int)smaller(STRETCH, m - i), found = 0;
        find_rises(w + i, e + i, n, rises);
        for (int k = 0; k < n; k++) {
            at[found] = i + k;
            total_below[found] = total;
            ones_below[found] = ones;
            found += rises[k];
            total += w[i + k];
            ones += e[i + k];
        }
        for (int k = 0; k < found; k++) {
            push_and_pool(&b, first, total_below[k] - counted, ones_below[k] - seen);
            first = at[k], counted = total_below[k], seen = ones_below[k];
        }
    }
    if (m)
        push_and_pool(&b, first, total - counted, ones - seen);
    return b.n;
}

/* Means are compared as quotients: products of weights might overflow, and the quotients are what a user sees. */
EXPORT int64_t pava_weights(const array *weight, const array *events, const array *start, const array *size,
                            const array *sum)
{
    if (!are_blocks('f', weight, events, start, size, sum))
        return WRONG_ARRAY;
    const double *w = weight->data, *e = events->data;
    int64_t *first = start->data, n = 0, m = start->shape[0];
    double *total = size->data, *ones = sum->data;
    for (int64_t i = 0; i < m; i++) {
        first[n] = i;
        total[n] = w[i];
        ones[n++] = e[i];
        while (n > 1 && ones[n - 2] / total[n - 2] >= ones[n - 1] / total[n - 1]) {
            n--;
            total[n - 1] += total[n];
            ones[n - 1] += ones[n];
        }
    }
    return n;
}

/* Whether the block below the top should join its left neighbour, the top being too large to take it. */
INLINE int left_has_room(const blocks *b, int64_t n_max)
{
    int64_t top = b->n - 1;
    return b->size[top] > n_max && top > 1 && b->size[top - 2] + b->size[top - 1] <= n_max;
}

INLINE void pool_within_limits(blocks *b, int64_t n_min, int64_t n_max)
{
    while (b->n > 1) {
        int64_t left = b->size[b->n - 2], both = left + b->size[b->n - 1];
        if (both <= n_min || (both <= n_max && top_violates(b))) {
            merge_top(b);
        } else if (left >= n_min) {
            return;
        } else if (left_has_room(b, n_max)) {
            merge_below(b);
            return;
        } else {
            merge_top(b);
        }
    }
}

INLINE void attach_tail(blocks *b, int64_t n_min, int64_t n_max)
{
    int64_t last = b->size[b->n - 2];
    /* Below 2 n_min - 1 no n_max has room for both: the published algorithm then lets the last block stay small. */
    int both_limits = n_max >= 2 * n_min - 1;
    if (last + b->size[b->n - 1] <= n_max)
        merge_top(b);
    else if (both_limits && last < n_min && left_has_room(b, n_max))
        merge_below(b);
    else if (both_limits && last < n_min)
        merge_top(b);
}

EXPORT int64_t block_pava(const array *count, const array *events, const array *start, const array *size,
                          const array *sum, int64_t n_min, int64_t n_max)
{
    if (!are_blocks('i', count, events, start, size, sum))
        return WRONG_ARRAY;
    blocks b = {start->data, size->data, sum->data, 0};
    const int64_t *c = count->data, *e = events->data, m = start->shape[0];
    int64_t rows_left = -n_min, i = 0;
    for (int64_t j = 0; j < m; j++)
        rows_left += c[j];
    for (; i < m && c[i] <= rows_left; i++) {
        rows_left -= c[i];
        push(&b, i, c[i], e[i]);
        pool_within_limits(&b, n_min, n_max);
    }
    if (i < m) {
        int64_t rows = 0, ones = 0;
        for (int64_t j = i; j < m; j++) {
            rows += c[j];
            ones += e[j];
        }
        push(&b, i, rows, ones);
        if (b.n > 1)
            attach_tail(&b, n_min, n_max);
    }
    return b.n;
}
