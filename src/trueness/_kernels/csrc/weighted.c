/* Weighted sums of each bin: plain within a short run of rows, compensated between runs.
 *
 * All terms are at least zero, so a plain sum of m of them is off by less than m·1.1e-16, relatively.
 */
#include "compensate.h"
#include "place.h"

enum { TERMS = 7, BLOCKS_PER_RUN = 4, LOCAL_CELLS = 512 };

typedef double compensated[2];

/* Sums of w, w², wp, wp² of one run, by bin and label, and how many rows had a weight. */
typedef struct {
    double sum[LOCAL_CELLS][4];
    int32_t count[LOCAL_CELLS];
    int n_bins;
    int copies; /* neighbouring rows use different copies, so that additions need not wait for each other */
} run;

static void end_run(run *r, compensated *table)
{
    const int n_cells = 2 * r->n_bins * r->copies;
    for (int cell = 0; cell < n_cells; cell++) {
        const double *sum = r->sum[cell];
        compensated *bin = table + cell / r->copies / 2 * TERMS;
        const int label = cell / r->copies % 2;
        if (r->count[cell] == 0)
            continue;
        add_compensated(bin[0], r->count[cell]);
        add_compensated(bin[1], sum[0]);
        add_compensated(bin[2], sum[1]);
        add_compensated(bin[3], label ? sum[0] : 0);
        add_compensated(bin[4], sum[2]);
        add_compensated(bin[5], sum[3]);
        add_compensated(bin[6], label ? sum[2] : 0);
    }
    memset(r->sum, 0, sizeof r->sum[0] * (size_t)n_cells);
    memset(r->count, 0, sizeof r->count[0] * (size_t)n_cells);
}

INLINE void add_terms(run *RESTRICT r, const uint32_t *offset, double (*term)[4], int m, int copies)
{
    for (int i = 0; i < m; i++) {
        uint32_t cell = offset[i] + (uint32_t)(i % copies);
        for (int k = 0; k < 4; k++)
            r->sum[cell][k] += term[i][k];
        r->count[cell] += term[i][0] > 0;
    }
}

INLINE int add_to_run_body(int level, run *r, const uint32_t *offset, const double *score,
                           const double *RESTRICT w, int m)
{
    double term[BLOCK][4];
    for (int i = 0; i < m; i++) {
        double wp = w[i] * score[i];
        term[i][0] = w[i];
        term[i][1] = w[i] * w[i];
        term[i][2] = wp;
        term[i][3] = wp * score[i];
    }
    if (r->copies == 4)
        add_terms(r, offset, term, m, 4);
    else
        add_terms(r, offset, term, m, 1);
    return 0;
}

AT_EVERY_LEVEL(add_to_run,
               (run *r, const uint32_t *offset, const double *score, const double *RESTRICT w, int m),
               r, offset, score, w, m)

/* Row by row straight into the table: for many bins. */
static void add_directly(compensated *table, const ruler *edges, const rows *block, const double *w, int m)
{
    for (int i = 0; i < m; i++) {
        const double p = block->score[i], wp = w[i] * p;
        compensated *bin = table + place_one(edges, p) * TERMS;
        if (w[i] == 0)
            continue;
        add_compensated(bin[0], 1);
        add_compensated(bin[1], w[i]);
        add_compensated(bin[2], w[i] * w[i]);
        add_compensated(bin[3], block->label[i] ? w[i] : 0);
        add_compensated(bin[4], wp);
        add_compensated(bin[5], wp * p);
        add_compensated(bin[6], block->label[i] ? wp : 0);
    }
}

EXPORT int64_t weighted_bin_sums(const array *p, const array *y, const array *w, const array *edges,
                                 const array *table, int64_t start, int64_t stop, int uniform)
{
    int64_t n_rows = length_of(p), n_edges = length_of(edges);
    if (!are_scores(p, n_rows) || !are_labels(y, n_rows) || !is_array(w, 'f', 8, n_rows) ||
        !are_rows(start, stop, n_rows) || !is_array(edges, 'f', 8, n_edges) || n_edges < 2 ||
        !is_output(table, 'f', 8, (n_edges - 1) * TERMS * 2))
        return WRONG_ARRAY;
    ruler r = make_ruler(edges, uniform);
    run local;
    rows block;
    int32_t guide[GUIDE_CELLS + 1];
    uint32_t offset[BLOCK];
    int status = 0, blocks = 0;
    const int few_bins = 2 * r.n_bins <= LOCAL_CELLS;
    if (few_bins) {
        memset(&local, 0, sizeof local);
        local.n_bins = (int)r.n_bins;
        local.copies = 8 * r.n_bins <= LOCAL_CELLS ? 4 : 1;
        if (!uniform && stop - start >= GUIDE_ROWS)
            make_guide(&r, guide);
    }
    for (; start < stop; start += BLOCK) {
        const double *weight = (const double *)w->data + start;
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m) | bad_weights(weight, m);
        found |= outside_edges(&r, block.score, m);
        status |= found;
        if (found)
            continue;
        if (few_bins) {
            place_block(&r, block.score, block.label, m, (uint32_t)local.copies, offset);
            add_to_run(&local, offset, block.score, weight, m);
            if (++blocks % BLOCKS_PER_RUN == 0)
                end_run(&local, table->data);
        } else {
            add_directly(table->data, &r, &block, weight, m);
        }
    }
    if (few_bins)
        end_run(&local, table->data);
    return status;
}
