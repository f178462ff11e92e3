/* How many of the sorted edges are not above a score. */
#include "rows.h"

/* Edges not above the score, if there are at least `low` and at most `high`. */
INLINE int64_t rank_between(const double *edges, int64_t low, int64_t high, double score)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (edges[middle] <= score)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

INLINE int fill(const array *scores, int is_float, const double *edges, const int64_t *guide, int64_t cells,
                int64_t begin, int64_t end, int64_t *rank)
{
    for (int64_t i = begin; i < end; i++) {
        double score = is_float ? ((const float *)scores->data)[i] : ((const double *)scores->data)[i];
        if (!(score >= 0 && score <= 1))
            return BAD_SCORE;
        int64_t cell = (int64_t)(score * (double)cells), low = guide[cell], high = guide[cell + 1];
        rank[i] = low == high ? low : rank_between(edges, low, high, score);
    }
    return 0;
}

/* guide has a power of two of cells, and two entries more: the rank at the left end of each cell, then of 1 and of all.
 * The product of a score and a power of two is exact, so a score's rank lies between those of its cell's ends. */
EXPORT int make_ranks_guide(const array *edges, const array *guide)
{
    if (!is_array(edges, 'f', 8, edges->shape[0]) || !is_array(guide, 'i', 8, guide->shape[0]))
        return WRONG_ARRAY;
    const int64_t n = edges->shape[0], cells = guide->shape[0] - 2;
    int64_t *entry = guide->data;
    const double *edge = edges->data;
    const int few_cells = cells < n / 8; /* then a search for each is cheaper than looking at all edges */
    int64_t rank = 0;
    for (int64_t c = 0; c <= cells; c++) {
        double end = (double)c / (double)cells;
        if (few_cells)
            rank = rank_between(edge, rank, n, end);
        while (rank < n && edge[rank] <= end)
            rank++;
        entry[c] = rank;
    }
    entry[cells + 1] = n;
    return 0;
}

EXPORT int ranks(const array *edges, const array *scores, const array *guide, const array *rank, int64_t begin,
                 int64_t end)
{
    const int64_t n = rank->shape[0], cells = guide->shape[0] - 2;
    if (!is_array(edges, 'f', 8, edges->shape[0]) || !are_scores(scores, n) || !is_array(rank, 'i', 8, n))
        return WRONG_ARRAY;
    if (scores->itemsize == 4)
        return fill(scores, 1, edges->data, guide->data, cells, begin, end, rank->data);
    return fill(scores, 0, edges->data, guide->data, cells, begin, end, rank->data);
}
