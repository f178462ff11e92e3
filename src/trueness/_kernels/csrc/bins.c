/* Sums of each bin, in one pass over the rows. */
#include "place.h"
#include "slots.h"

/* Beyond this the slots would leave the second-level cache. */
enum { MOST_SLOTTED_BINS = 512, COLUMNS = 5, MOST_GROUPED_BINS = 1 << 28 };

EXPORT int64_t bin_sums(const array *p, const array *y, const array *edges, const array *table, int64_t start,
                        int64_t stop, int uniform, int moments)
{
    int64_t n_rows = length_of(p), n_edges = length_of(edges);
    if (!are_scores(p, n_rows) || !are_labels(y, n_rows) || !are_rows(start, stop, n_rows) ||
        !is_array(edges, 'f', 8, n_edges) || n_edges < 2 || !is_output(table, 'i', 8, (n_edges - 1) * 2 * COLUMNS))
        return WRONG_ARRAY;
    ruler r = make_ruler(edges, uniform);
    slots s;
    rows block;
    int64_t *sums = table->data, n = stop - start;
    int32_t guide[GUIDE_CELLS + 1];
    uint32_t offset[BLOCK];
    int status = 0;
    /* Slots must be emptied in the end: with few rows or many bins that costs more than it saves. */
    int slotted = r.n_bins <= MOST_SLOTTED_BINS && n >= 8 * r.n_bins && n >= 256 &&
                  slots_open(&s, 2 * r.n_bins, moments, sums, COLUMNS);
    if (slotted && !uniform && n >= GUIDE_ROWS)
        make_guide(&r, guide);
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m);
        found |= outside_edges(&r, block.score, m);
        status |= found;
        if (found)
            continue;
        if (slotted) {
            place_block(&r, block.score, block.label, m, slot_stride(moments), offset);
            slots_add(&s, offset, block.score, m);
        } else {
            for (int i = 0; i < m; i++) {
                int64_t cell = 2 * place_one(&r, block.score[i]) + block.label[i];
                add_row(sums + cell * COLUMNS, block.score[i], moments);
            }
        }
    }
    if (slotted)
        slots_close(&s);
    return status;
}

/* The same for the bins of many groups at once: table[group, bin, label, column]. */
EXPORT int64_t grouped_bin_sums(const array *p, const array *y, const array *group, const array *edges,
                                const array *table, int64_t start, int64_t stop, int uniform)
{
    int64_t n_rows = length_of(p), n_edges = length_of(edges);
    if (!are_scores(p, n_rows) || !are_labels(y, n_rows) || !are_rows(start, stop, n_rows) ||
        !is_array(group, 'u', 4, n_rows) || !is_array(edges, 'f', 8, n_edges) || n_edges < 2 ||
        n_edges > MOST_GROUPED_BINS || !is_output(table, 'i', 8, length_of(table) * (n_edges - 1) * 2 * COLUMNS))
        return WRONG_ARRAY;
    ruler r = make_ruler(edges, uniform);
    rows block;
    int64_t *sums = table->data, of_group = 2 * r.n_bins * COLUMNS;
    int32_t guide[GUIDE_CELLS + 1];
    uint32_t offset[BLOCK];
    int status = 0;
    if (!uniform && stop - start >= GUIDE_ROWS)
        make_guide(&r, guide);
    for (; start < stop; start += BLOCK) {
        const uint32_t *g = (const uint32_t *)group->data + start;
        int m = (int)smaller(BLOCK, stop - start);
        int found = load_rows(&block, p, y, start, m);
        found |= outside_edges(&r, block.score, m);
        for (int i = 0; i < m; i++)
            if (g[i] >= table->shape[0])
                return WRONG_ARRAY;
        status |= found;
        if (found)
            continue;
        place_block(&r, block.score, block.label, m, COLUMNS, offset);
        for (int i = 0; i < m; i++)
            add_row(sums + g[i] * of_group + offset[i], block.score[i], 1);
    }
    return status;
}
