/* Which bin a score falls in: [edges[b], edges[b+1]), the last one closed on both sides. */
#ifndef TRUENESS_PLACE_H
#define TRUENESS_PLACE_H

#include "rows.h"

enum {
    GUIDE_CELLS = 4096,
    GUIDE_ROWS = 4096, /* fewer rows are not worth a guide */
};

typedef struct {
    const double *edges;
    int64_t n_bins;
    int uniform;          /* the edges are b / n_bins */
    const int32_t *guide; /* the bin of c / GUIDE_CELLS for c = 0 .. GUIDE_CELLS, or NULL */
    int top_step;         /* first step of the search that starts from the guide */
} ruler;

ruler make_ruler(const array *edges, int uniform);

/* Fills guide[0 .. GUIDE_CELLS] and lets the ruler use it. */
void make_guide(ruler *r, int32_t *guide);

/* OUTSIDE_EDGES if a valid score lies outside the outer edges. */
int outside_edges(const ruler *r, const double *score, int m);

/* offset[i] = (2·bin + label)·stride, which must fit 32 bits. */
int place_block(const ruler *r, const double *score, const uint8_t *label, int m, uint32_t stride,
                uint32_t *RESTRICT offset);

/* With a multiplier a little larger than the number of bins, rounding never puts a score too low; one that
 * is just below an edge may be put one bin too high. */
#define ABOVE_ONE (1 + 0x1p-50)

/* One score among bins of equal width. The edge on its left is divided out, not looked up: it is the same
 * number, and a large table would not be in the cache. */
INLINE int64_t place_width(double score, int64_t n_bins)
{
    int64_t bin = (int64_t)(score * ((double)n_bins * ABOVE_ONE));
    bin -= score < (double)bin / (double)n_bins;
    return bin < n_bins ? bin : n_bins - 1;
}

/* One score between the outer edges. */
INLINE int64_t place_one(const ruler *r, double score)
{
    if (r->uniform)
        return place_width(score, r->n_bins);
    int64_t low = 0, high = r->n_bins; /* edges[low] <= score, and score < edges[high] or high is the end */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (r->edges[middle] <= score)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
