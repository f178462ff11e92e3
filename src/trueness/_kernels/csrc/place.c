#include "place.h"

/* After multiplication a score that may be one bin too high has a fraction far below this. */
#define NEAR 0x1p-20

ruler make_ruler(const array *edges, int uniform)
{
    return (ruler){edges->data, edges->shape[0] - 1, uniform, NULL, 0};
}

void make_guide(ruler *r, int32_t *guide)
{
    int32_t bin = 0, widest = 0;
    for (int c = 0; c <= GUIDE_CELLS; c++) {
        int32_t before = bin;
        while (bin + 1 < r->n_bins && r->edges[bin + 1] <= c * (1.0 / GUIDE_CELLS))
            bin++;
        guide[c] = bin;
        if (c > 0 && bin - before > widest)
            widest = bin - before;
    }
    r->guide = guide;
    r->top_step = widest > 0;
    while (2 * r->top_step <= widest && widest > 0)
        r->top_step *= 2;
}

RARE int inspect_edges(const ruler *r, const double *score, int m)
{
    for (int i = 0; i < m; i++)
        if (valid_score(score[i]) && (score[i] < r->edges[0] || score[i] > r->edges[r->n_bins]))
            return OUTSIDE_EDGES;
    return 0;
}

int outside_edges(const ruler *r, const double *score, int m)
{
    if (r->uniform)
        return 0;
    const double low = r->edges[0], high = r->edges[r->n_bins];
    uint64_t signs = 0;
    for (int i = 0; i < m; i++)
        signs |= bits_of(score[i] - low) | bits_of(high - score[i]);
    return negative(signs) ? inspect_edges(r, score, m) : 0;
}

INLINE void place_uniform(const double *score, const uint8_t *label, int m, int32_t n_bins, uint32_t stride,
                          uint32_t *RESTRICT offset)
{
    const double factor = n_bins * ABOVE_ONE;
    uint64_t signs = 0;
    for (int i = 0; i < m; i++) {
        double scaled = score[i] * factor;
        int32_t bin = (int32_t)scaled;
        signs |= bits_of((scaled - bin) - NEAR);
        offset[i] = (2 * (uint32_t)bin + label[i]) * stride;
    }
    if (!negative(signs))
        return;
    for (int i = 0; i < m; i++) {
        int32_t bin = (int32_t)(score[i] * factor);
        bin -= score[i] < (double)bin / n_bins;
        bin = bin < n_bins ? bin : n_bins - 1;
        offset[i] = (2 * (uint32_t)bin + label[i]) * stride;
    }
}

/* The guide names the bin at the left end of the score's cell; then binary search, with the same number of steps
 * for every row. */
INLINE void place_guided(const ruler *r, const double *score, const uint8_t *label, int m, uint32_t stride,
                         uint32_t *RESTRICT offset)
{
    const double *edges = r->edges;
    const int32_t n_bins = (int32_t)r->n_bins;
    int32_t bin[BLOCK];
    for (int i = 0; i < m; i++)
        bin[i] = r->guide[(int32_t)(score[i] * GUIDE_CELLS)];
    for (int32_t step = r->top_step; step > 0; step /= 2)
        for (int i = 0; i < m; i++) {
            int32_t next = bin[i] + step;
            bin[i] = score[i] >= edges[next < n_bins ? next : n_bins] ? next : bin[i];
        }
    for (int i = 0; i < m; i++) {
        int32_t inside = bin[i] < n_bins ? bin[i] : n_bins - 1;
        offset[i] = (2 * (uint32_t)inside + label[i]) * stride;
    }
}

INLINE int place_block_body(int level, const ruler *r, const double *score, const uint8_t *label, int m,
                            uint32_t stride, uint32_t *RESTRICT offset)
{
    if (r->uniform)
        place_uniform(score, label, m, (int32_t)r->n_bins, stride, offset);
    else if (r->guide)
        place_guided(r, score, label, m, stride, offset);
    else
        for (int i = 0; i < m; i++)
            offset[i] = (2 * (uint32_t)place_one(r, score[i]) + label[i]) * stride;
    return 0;
}

AT_EVERY_LEVEL(place_block,
               (const ruler *r, const double *score, const uint8_t *label, int m, uint32_t stride,
                uint32_t *RESTRICT offset),
               r, score, label, m, stride, offset)
