#include "rows.h"

#define ONE_BITS 0x3FF0000000000000u

/* Looks closer at a block that holds -0.0 or something outside [0, 1]. */
RARE int inspect_scores(rows *block, const double *score, int m)
{
    int status = 0;
    for (int i = 0; i < m; i++) {
        if (!valid_score(score[i]))
            status |= BAD_SCORE;
        block->score_buffer[i] = score[i] == 0.0 ? 0.0 : score[i];
    }
    block->score = block->score_buffer;
    return status;
}

INLINE int load_scores_body(int level, rows *block, const array *p, int64_t start, int m)
{
    const double *score = (const double *)p->data + start;
    if (p->itemsize == 4) {
        const float *narrow = (const float *)p->data + start;
        for (int i = 0; i < m; i++)
            block->score_buffer[i] = narrow[i];
        score = block->score_buffer;
    }
    block->score = score;
    /* Bits above those of 1.0 belong to larger numbers and nan, or have the sign bit set. */
    uint64_t signs = 0;
    for (int i = 0; i < m; i++)
        signs |= bits_of(score[i]) | (ONE_BITS - bits_of(score[i]));
    return negative(signs) ? inspect_scores(block, score, m) : 0;
}

AT_EVERY_LEVEL(load_scores, (rows *block, const array *p, int64_t start, int m), block, p, start, m)

#define LOAD_INTEGERS(type)                                                                           \
    do {                                                                                              \
        const type *in = (const type *)y->data + start;                                               \
        type seen = 0;                                                                                \
        for (int i = 0; i < m; i++) {                                                                 \
            seen |= in[i];                                                                            \
            block->label_buffer[i] = (uint8_t)in[i];                                                  \
        }                                                                                             \
        return seen > 1 ? BAD_LABEL : 0;                                                              \
    } while (0)

#define LOAD_FLOATS(type, same_width)                                                                 \
    do {                                                                                              \
        const type *in = (const type *)y->data + start;                                               \
        same_width bad = 0;                                                                           \
        for (int i = 0; i < m; i++) {                                                                 \
            same_width one = in[i] == 1, zero = in[i] == 0;                                           \
            bad |= !(one | zero);                                                                     \
            block->label_buffer[i] = (uint8_t)one;                                                    \
        }                                                                                             \
        return bad ? BAD_LABEL : 0;                                                                   \
    } while (0)

INLINE int load_labels_body(int level, rows *block, const array *y, int64_t start, int m)
{
    if (y->itemsize == 1) {
        uint8_t seen = 0;
        block->label = (const uint8_t *)y->data + start;
        for (int i = 0; i < m; i++)
            seen |= block->label[i];
        return seen > 1 ? BAD_LABEL : 0;
    }
    block->label = block->label_buffer;
    if (y->typekind == 'f') {
        if (y->itemsize == 4)
            LOAD_FLOATS(float, int32_t);
        LOAD_FLOATS(double, int64_t);
    }
    if (y->itemsize == 4)
        LOAD_INTEGERS(uint32_t);
    LOAD_INTEGERS(uint64_t);
}

AT_EVERY_LEVEL(load_labels, (rows *block, const array *y, int64_t start, int m), block, y, start, m)

/* How many labels are 1; scores and labels are checked on the way. */
EXPORT int64_t count_events(const array *p, const array *y, int64_t start, int64_t stop, int64_t *events)
{
    int64_t n = length_of(p);
    if (!are_scores(p, n) || !are_labels(y, n) || !are_rows(start, stop, n))
        return WRONG_ARRAY;
    rows block;
    int status = 0;
    int64_t total = 0;
    for (; start < stop; start += BLOCK) {
        int m = (int)smaller(BLOCK, stop - start), ones = 0;
        status |= load_rows(&block, p, y, start, m);
        for (int i = 0; i < m; i++)
            ones += block.label[i];
        total += ones;
    }
    *events = total;
    return status;
}
