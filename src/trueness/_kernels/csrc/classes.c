/* Rows of class probabilities: the top label, and binned sums of every class. */
#include "place.h"
#include "slots.h"

enum {
    COLUMNS = 3,
    BIN = 2 * COLUMNS, /* words of one bin: both labels */
    CHUNK = 64,
    LANES = 8,
    FEW_CLASSES = 32,
    MOST_SLOTTED_CELLS = 1024,
    ROWS_PER_COLUMN_FILL = 31, /* 31 parts below 2²⁷ fit 32 bits */
};

INLINE void add_sums(int64_t *cell, parts part, int sign)
{
    cell[0] += sign;
    cell[1] += sign * (int64_t)part.hi;
    cell[2] += sign * (int64_t)part.lo;
}

RARE void empty_columns(uint32_t *column, int64_t n_classes, int64_t n_bins, int n_rows, int64_t *table)
{
    for (int64_t j = 0; j < n_classes; j++) {
        int64_t *cell = table + j * n_bins * BIN;
        cell[0] += n_rows;
        cell[1] += column[j];
        cell[2] += column[n_classes + j];
    }
    memset(column, 0, 2 * (size_t)n_classes * sizeof *column);
}

#define REAL float
#define INTEGER int32_t
#define NATURAL uint32_t
#define ONE 0x3F800000
#define ROW(name) name##_float
#include "simplex.h"

#define REAL double
#define INTEGER int64_t
#define NATURAL uint64_t
#define ONE 0x3FF0000000000000
#define ROW(name) name##_double
#include "simplex.h"

INLINE int top_rows_body(int level, const array *P, const int64_t *y, int64_t start, int64_t stop,
                         double tolerance, void *confidence, int64_t *predicted, uint8_t *correct)
{
    int64_t n = stop - start, n_classes = P->shape[1];
    y += start, predicted += start, correct += start;
    if (P->itemsize == 4)
        return top_rows_float((const float *)P->data + start * n_classes, y, n, n_classes, tolerance,
                              (float *)confidence + start, predicted, correct);
    return top_rows_double((const double *)P->data + start * n_classes, y, n, n_classes, tolerance,
                           (double *)confidence + start, predicted, correct);
}

AT_EVERY_LEVEL(top_rows,
               (const array *P, const int64_t *y, int64_t start, int64_t stop, double tolerance,
                void *confidence, int64_t *predicted, uint8_t *correct),
               P, y, start, stop, tolerance, confidence, predicted, correct)

EXPORT int64_t top1(const array *P, const array *y, const array *confidence, const array *predicted,
                    const array *correct, int64_t start, int64_t stop, double tolerance)
{
    if (!is_matrix(P) || !is_array(y, 'i', 8, P->shape[0]) || !are_rows(start, stop, P->shape[0]) ||
        !is_output(confidence, 'f', P->itemsize, P->shape[0]) || !is_output(predicted, 'i', 8, P->shape[0]) ||
        !is_output(correct, 'u', 1, P->shape[0]))
        return WRONG_ARRAY;
    return top_rows(P, y->data, start, stop, tolerance, confidence->data, predicted->data, correct->data);
}

static int valid_row(const double *row, int n_classes)
{
    int valid = 1;
    for (int j = 0; j < n_classes; j++)
        valid &= valid_score(row[j]);
    return valid;
}

/* Marks each row's own class as label 1; returns the faults of labels and sums. */
static int check_block(rows *block, int scores_found, const int64_t *y, int n_rows, int n_classes,
                       double tolerance)
{
    int status = 0;
    memset(block->label_buffer, 0, (size_t)(n_rows * n_classes));
    block->label = block->label_buffer;
    for (int i = 0; i < n_rows; i++) {
        const double *row = block->score + i * n_classes;
        double sum = 0;
        for (int j = 0; j < n_classes; j++)
            sum += row[j];
        if (!(sum - 1 <= tolerance && 1 - sum <= tolerance) && (!scores_found || valid_row(row, n_classes)))
            status |= BAD_SUM;
        if (y[i] < 0 || y[i] >= n_classes)
            status |= BAD_LABEL;
        else
            block->label_buffer[i * n_classes + y[i]] = 1;
    }
    return status;
}

/* With few classes every entry is a row of a binned pass over classes × bins × labels. */
static int few_classes(const array *P, const int64_t *y, int64_t start, int64_t stop, int32_t n_bins,
                       double tolerance, slots *s)
{
    rows block;
    uint32_t offset[BLOCK], class_offset[BLOCK];
    const ruler r = {NULL, n_bins, 1, NULL, 0};
    const uint32_t stride = slot_stride(0);
    const int n_classes = (int)P->shape[1], rows_per_block = BLOCK / n_classes;
    int status = 0;
    for (int i = 0; i < rows_per_block * n_classes; i++)
        class_offset[i] = (uint32_t)(i % n_classes * n_bins * 2) * stride;
    for (; start < stop; start += rows_per_block) {
        int n_rows = (int)smaller(rows_per_block, stop - start), m = n_rows * n_classes;
        int found = load_scores(&block, P, start * n_classes, m);
        found |= check_block(&block, found, y + start, n_rows, n_classes, tolerance);
        status |= found;
        if (found)
            continue;
        place_block(&r, block.score, block.label, m, stride, offset);
        for (int i = 0; i < m; i++)
            offset[i] += class_offset[i];
        slots_add(s, offset, block.score, m);
    }
    return status;
}

INLINE int many_classes_body(int level, const array *P, const int64_t *y, int64_t start, int64_t stop,
                             int64_t n_bins, double tolerance, int64_t *table)
{
    int64_t n_classes = P->shape[1];
    if (P->itemsize == 4)
        return many_classes_float((const float *)P->data + start * n_classes, y + start, stop - start,
                                  n_classes, n_bins, tolerance, table);
    return many_classes_double((const double *)P->data + start * n_classes, y + start, stop - start,
                               n_classes, n_bins, tolerance, table);
}

AT_EVERY_LEVEL(many_classes,
               (const array *P, const int64_t *y, int64_t start, int64_t stop, int64_t n_bins,
                double tolerance, int64_t *table),
               P, y, start, stop, n_bins, tolerance, table)

EXPORT int64_t classwise_sums(const array *P, const array *y, const array *table, int64_t start, int64_t stop,
                              int64_t n_bins, double tolerance)
{
    if (!is_matrix(P) || !is_array(y, 'i', 8, P->shape[0]) || !are_rows(start, stop, P->shape[0]) || n_bins < 1 ||
        n_bins > INT32_MAX || !is_output(table, 'i', 8, P->shape[1] * n_bins * BIN))
        return WRONG_ARRAY;
    slots s;
    int64_t n_classes = P->shape[1];
    if (n_classes <= FEW_CLASSES && n_classes * n_bins <= MOST_SLOTTED_CELLS &&
        slots_open(&s, 2 * n_classes * n_bins, 0, table->data, COLUMNS)) {
        int status = few_classes(P, y->data, start, stop, (int32_t)n_bins, tolerance, &s);
        slots_close(&s);
        return status;
    }
    return many_classes(P, y->data, start, stop, n_bins, tolerance, table->data);
}
