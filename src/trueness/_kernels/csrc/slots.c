#include "slots.h"

#if X86_LEVELS
#include <immintrin.h>
#endif

enum { COUNT_SHIFT = 44, ROWS_PER_FILL = 1 << 17 };

#define ONE_ROW ((int64_t)1 << COUNT_SHIFT)

static size_t slots_size(const slots *s)
{
    return (size_t)s->n_cells * COPIES * (size_t)s->width * sizeof(int64_t);
}

int slots_open(slots *s, int64_t n_cells, int moments, int64_t *table, int columns)
{
    s->n_cells = n_cells;
    s->width = moments ? 4 : 2;
    s->rows_left = ROWS_PER_FILL;
    s->table = table;
    s->columns = columns;
    s->memory = malloc(slots_size(s) + 64);
    if (s->memory == NULL)
        return 0;
    s->words = (int64_t *)(((uintptr_t)s->memory + 63) & ~(uintptr_t)63);
    memset(s->words, 0, slots_size(s));
    return 1;
}

static void empty(slots *s)
{
    const int64_t *word = s->words;
    for (int64_t cell = 0; cell < s->n_cells; cell++) {
        int64_t *row = s->table + cell * s->columns;
        for (int copy = 0; copy < COPIES; copy++, word += s->width) {
            row[0] += word[0] >> COUNT_SHIFT;
            row[1] += word[0] & (ONE_ROW - 1);
            row[2] += word[1];
            if (s->width == 4) {
                row[3] += word[2];
                row[4] += word[3];
            }
        }
    }
    memset(s->words, 0, slots_size(s));
    s->rows_left = ROWS_PER_FILL;
}

void slots_close(slots *s)
{
    empty(s);
    free(s->memory);
}

INLINE void add_term(int64_t *RESTRICT word, const int64_t *RESTRICT term, int width)
{
    for (int k = 0; k < width; k++)
        word[k] += term[k];
}

INLINE void add_rows(int64_t *RESTRICT words, const uint32_t *offset, const double *score, int m, int width)
{
    int64_t term[4 * BLOCK];
    for (int i = 0; i < m; i++) {
        parts part = parts_of(score[i]);
        term[width * i] = ONE_ROW + part.hi;
        term[width * i + 1] = part.lo;
        if (width == 4) {
            parts square = parts_of(score[i] * score[i]);
            term[width * i + 2] = square.hi;
            term[width * i + 3] = square.lo;
        }
    }
    int i = 0;
    for (; i + COPIES <= m; i += COPIES)
        for (int copy = 0; copy < COPIES; copy++)
            add_term(words + offset[i + copy] + copy * width, term + width * (i + copy), width);
    for (; i < m; i++)
        add_term(words + offset[i], term + width * i, width);
}

#if X86_LEVELS
AVX512 static inline void add_pair(int64_t *word, __m128i term)
{
    _mm_store_si128((__m128i *)word, _mm_add_epi64(_mm_load_si128((const __m128i *)word), term));
}

/* Adds the eight rows of (first, second) to their slots. */
AVX512 static inline void add_pairs(int64_t *words, const uint32_t *offset, __m512i first, __m512i second,
                                    int width)
{
    __m512i even = _mm512_unpacklo_epi64(first, second);
    __m512i odd = _mm512_unpackhi_epi64(first, second);
    add_pair(words + offset[0] + 0 * width, _mm512_castsi512_si128(even));
    add_pair(words + offset[1] + 1 * width, _mm512_castsi512_si128(odd));
    add_pair(words + offset[2] + 2 * width, _mm512_extracti64x2_epi64(even, 1));
    add_pair(words + offset[3] + 3 * width, _mm512_extracti64x2_epi64(odd, 1));
    add_pair(words + offset[4] + 4 * width, _mm512_extracti64x2_epi64(even, 2));
    add_pair(words + offset[5] + 5 * width, _mm512_extracti64x2_epi64(odd, 2));
    add_pair(words + offset[6] + 6 * width, _mm512_extracti64x2_epi64(even, 3));
    add_pair(words + offset[7] + 7 * width, _mm512_extracti64x2_epi64(odd, 3));
}

/* AVX-512 can convert a double to 64 bits, so q = ⌊p·2⁵³⌋ comes whole and is split afterwards, and the
 * terms never travel through memory. Returns how many rows were added. */
AVX512 static inline int add_eights(int64_t *words, const uint32_t *offset, const double *score, int m, int width)
{
    const __m512d scale = _mm512_set1_pd(0x1p53);
    const __m512i low_part = _mm512_set1_epi64((1 << 27) - 1);
    const __m512i one_row = _mm512_set1_epi64(ONE_ROW);
    int i = 0;
    for (; i + 8 <= m; i += 8) {
        __m512d p = _mm512_loadu_pd(score + i);
        __m512i q = _mm512_cvttpd_epi64(_mm512_mul_pd(p, scale));
        __m512i hi = _mm512_add_epi64(_mm512_srli_epi64(q, 27), one_row);
        add_pairs(words, offset + i, hi, _mm512_and_si512(q, low_part), width);
        if (width == 4) {
            q = _mm512_cvttpd_epi64(_mm512_mul_pd(_mm512_mul_pd(p, p), scale));
            add_pairs(words + 2, offset + i, _mm512_srli_epi64(q, 27), _mm512_and_si512(q, low_part), width);
        }
    }
    return i;
}
#endif

INLINE int slots_add_body(int level, slots *s, const uint32_t *offset, const double *score, int m)
{
    int done = 0;
    if (s->rows_left < m)
        empty(s);
    s->rows_left -= m;
#if X86_LEVELS
    if (level == 2)
        done = s->width == 4 ? add_eights(s->words, offset, score, m, 4)
                             : add_eights(s->words, offset, score, m, 2);
#endif
    if (s->width == 4)
        add_rows(s->words, offset + done, score + done, m - done, 4);
    else
        add_rows(s->words, offset + done, score + done, m - done, 2);
    return 0;
}

AT_EVERY_LEVEL(slots_add, (slots *s, const uint32_t *offset, const double *score, int m), s, offset, score, m)
