/* Codes of keys, in the order in which they first occur. */
#include "loops.h"

enum { BLOCK = 64 };

/* A key of up to 16 bytes is known by its length and two words, which overlap if it is shorter. */
typedef struct {
    uint64_t code; /* plus one, below the upper half of the hash; 0 in a free slot */
    uint64_t length, head, tail;
} slot;

INLINE uint64_t word(const uint8_t *from, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    return bits;
}

INLINE uint64_t mixed(uint64_t hash, uint64_t bits)
{
    hash ^= bits;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u; /* the upper bytes move every bit too */
    return hash ^ hash >> 29;
}

INLINE slot read_key(const uint8_t *key, int64_t n)
{
    slot s = {0, (uint64_t)n, 0, 0};
    if (n >= 8) {
        s.head = word(key, 8);
        s.tail = word(key + n - 8, 8);
    } else if (n >= 4) {
        s.head = word(key, 4) | word(key + n - 4, 4) << 32;
    } else {
        for (int64_t i = 0; i < n; i++)
            s.head = s.head << 8 | key[i];
    }
    s.code = mixed(mixed(s.length, s.head), s.tail);
    for (int64_t i = 8; i + 8 < n; i += 8)
        s.code = mixed(s.code, word(key + i, 8));
    return s;
}

EXPORT int64_t encode_keys(const array *start, const array *text, const array *code, const array *slots,
                           const array *known_start, const array *known_text, const array *known)
{
    int64_t n = length_of(start) - 1, size = length_of(text), n_slots = length_of(slots);
    int64_t room = length_of(known_start) - 1, text_room = length_of(known_text);
    if (n < 0 || room < 0 || n_slots <= room || (n_slots & (n_slots - 1)) || room >= UINT32_MAX ||
        !is_array(start, 'i', 8, n + 1) || !is_array(text, 'u', 1, size) || !is_output(code, 'u', 4, n) ||
        !is_output(slots, 'u', 8, 4 * n_slots) || !is_output(known_start, 'i', 8, room + 1) ||
        !is_output(known_text, 'u', 1, text_room) || !is_output(known, 'i', 8, 1))
        return WRONG_ARRAY;
    const int64_t *from = start->data;
    int64_t *begin = known_start->data, *count = known->data;
    uint64_t mask = (uint64_t)n_slots - 1;
    slot *table = slots->data, mine[BLOCK];
    if (*count < 0 || *count > room)
        return WRONG_ARRAY;
    for (int64_t i = 0; i < n; i++) {
        slot *s = mine + i % BLOCK, *at;
        for (int64_t k = i; s == mine && k < smaller(i + BLOCK, n); k++) { /* their slots are fetched meanwhile */
            if (from[k] < 0 || from[k + 1] < from[k] || from[k + 1] > size)
                return WRONG_ARRAY;
            s[k - i] = read_key((const uint8_t *)text->data + from[k], from[k + 1] - from[k]);
            FETCH(table + (s[k - i].code & mask));
        }
        const uint8_t *key = (const uint8_t *)text->data + from[i];
        for (uint64_t place = s->code & mask; (at = table + place)->code != 0; place = (place + 1) & mask) {
            int64_t found = (uint32_t)at->code;
            if ((at->code ^ s->code) >> 32 || at->length != s->length || at->head != s->head || at->tail != s->tail)
                continue;
            if (found > *count || begin[found] > text_room)
                return WRONG_ARRAY;
            if (s->length <= 16 || !memcmp((uint8_t *)known_text->data + begin[found - 1], key, s->length))
                break;
        }
        if (at->code == 0) {
            if (*count == room || begin[*count] > text_room - (int64_t)s->length)
                return i;
            memcpy((uint8_t *)known_text->data + begin[*count], key, s->length);
            begin[*count + 1] = begin[*count] + (int64_t)s->length;
            s->code = s->code >> 32 << 32 | (uint64_t)++*count;
            *at = *s;
        }
        ((uint32_t *)code->data)[i] = (uint32_t)at->code - 1;
    }
    return n;
}
