/* How many of the sorted edges are not above a score, and what a step function with those edges is there. */
#include "rows.h"

/* With so few edges every score is compared with each of them, many scores at a time. */
enum { FEW_EDGES = 16 };

typedef struct {
    const double *edges;
    int64_t n;
    const int64_t *guide;
    int64_t cells;
} scale;

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

INLINE int64_t rank_guided(const scale *s, double score)
{
    int64_t cell = (int64_t)(score * (double)s->cells), low = s->guide[cell], high = s->guide[cell + 1];
    return low == high ? low : rank_between(s->edges, low, high, score);
}

INLINE int rank_block_body(int level, const scale *s, const double *score, int m, int64_t *RESTRICT rank)
{
    if (level == 0 || s->n > FEW_EDGES) {
        for (int i = 0; i < m; i++)
            rank[i] = rank_guided(s, score[i]);
        return 0;
    }
    memset(rank, 0, (size_t)m * sizeof *rank);
    for (int64_t k = 0; k < s->n; k++) {
        const double edge = s->edges[k];
        for (int i = 0; i < m; i++)
            rank[i] += score[i] >= edge;
    }
    return 0;
}

AT_EVERY_LEVEL(rank_block, (const scale *s, const double *score, int m, int64_t *RESTRICT rank), s, score, m, rank)

/* value[k] holds from edge k - 1 on. Edges ascend, so the last one that is reached decides. */
INLINE int step_block_body(int level, const scale *s, const double *value, const double *score, int m,
                           double *RESTRICT out)
{
    if (s->n > FEW_EDGES) {
        for (int i = 0; i < m; i++)
            out[i] = value[rank_guided(s, score[i])];
        return 0;
    }
    for (int i = 0; i < m; i++)
        out[i] = value[0];
    for (int64_t k = 0; k < s->n; k++) {
        const double edge = s->edges[k], from_here = value[k + 1];
        for (int i = 0; i < m; i++)
            out[i] = score[i] >= edge ? from_here : out[i];
    }
    return 0;
}

AT_EVERY_LEVEL(step_block,
               (const scale *s, const double *value, const double *score, int m, double *RESTRICT out), s, value,
               score, m, out)

/* guide has a power of two of cells, and two entries more: the rank at the left end of each cell, then of 1 and of all.
 * The product of a score and a power of two is exact, so a score's rank lies between those of its cell's ends. */
EXPORT int64_t make_ranks_guide(const array *edges, const array *guide)
{
    const int64_t n = length_of(edges), cells = length_of(guide) - 2;
    if (!is_array(edges, 'f', 8, n) || cells < 1 || !is_output(guide, 'i', 8, cells + 2))
        return WRONG_ARRAY;
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

/* Whether every entry of the guide is a rank among the edges. */
static int is_scale(const array *edges, const array *guide)
{
    const int64_t n = length_of(edges), entries = length_of(guide);
    if (!is_array(edges, 'f', 8, n) || !is_array(guide, 'i', 8, entries) || entries < 3)
        return 0;
    const uint64_t *entry = guide->data;
    uint64_t greatest = 0; /* a negative rank would be the greatest of all */
    for (int64_t c = 0; c < entries; c++)
        greatest = entry[c] > greatest ? entry[c] : greatest;
    return greatest <= (uint64_t)n;
}

/* The ranks of scores begin .. end-1, or, with values, the step function there. */
static int look_up(const array *edges, const array *values, const array *scores, const array *guide, void *out,
                   int64_t begin, int64_t end)
{
    const scale s = {edges->data, edges->shape[0], guide->data, guide->shape[0] - 2};
    rows block;
    for (int64_t start = begin; start < end; start += BLOCK) {
        int m = (int)smaller(BLOCK, end - start);
        if (load_scores(&block, scores, start, m))
            return BAD_SCORE;
        if (values)
            step_block(&s, values->data, block.score, m, (double *)out + start);
        else
            rank_block(&s, block.score, m, (int64_t *)out + start);
    }
    return 0;
}

EXPORT int64_t ranks(const array *edges, const array *scores, const array *guide, const array *rank, int64_t begin,
                     int64_t end)
{
    const int64_t n = length_of(rank);
    if (!are_scores(scores, n) || !is_output(rank, 'i', 8, n) || !are_rows(begin, end, n) || !is_scale(edges, guide))
        return WRONG_ARRAY;
    return look_up(edges, NULL, scores, guide, rank->data, begin, end);
}

EXPORT int64_t steps(const array *edges, const array *values, const array *scores, const array *guide, const array *out,
                     int64_t begin, int64_t end)
{
    const int64_t n = length_of(out);
    if (!are_scores(scores, n) || !is_output(out, 'f', 8, n) || !are_rows(begin, end, n) || !is_scale(edges, guide) ||
        !is_array(values, 'f', 8, edges->shape[0] + 1))
        return WRONG_ARRAY;
    return look_up(edges, values, scores, guide, out->data, begin, end);
}
