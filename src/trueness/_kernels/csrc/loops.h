/* What every loop shares: the array a caller hands over, the faults a row can have, and vector levels.
 *
 * There is no Python in here. An array arrives as the struct of NumPy's array interface, so the loops serve
 * every Python and NumPy alike.
 */
#ifndef TRUENESS_LOOPS_H
#define TRUENESS_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER)
#define EXPORT __declspec(dllexport)
#define INLINE static __forceinline
#define RARE static __declspec(noinline)
#define RESTRICT __restrict
#define FETCH(address) ((void)(address))
#else
#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline))
#define RESTRICT restrict
#define FETCH(address) __builtin_prefetch(address)
#endif

/* The bits of a status; the same numbers as in library.py. */
enum { BAD_SCORE = 1, BAD_LABEL = 2, OUTSIDE_EDGES = 4, BAD_WEIGHT = 8, BAD_SUM = 16 };

/* Returned instead of a status or a number; the caller in Python raises. */
enum { NO_MEMORY = -1, WRONG_ARRAY = -2 };

/* PyArrayInterface, as documented in NumPy's array interface protocol. */
typedef struct {
    int two;
    int nd;
    char typekind;
    int itemsize;
    int flags;
    intptr_t *shape;
    intptr_t *strides;
    void *data;
    void *descr;
} array;

/* Whether an array is one of `length` numbers that a loop can read in order. A mistake of the caller must not
 * become a read of foreign memory. */
int is_array(const array *a, char kind, int itemsize, int64_t length);
int is_output(const array *a, char kind, int itemsize, int64_t length);
int are_scores(const array *p, int64_t length);
int are_labels(const array *y, int64_t length);
int is_matrix(const array *P); /* of scores, with a column at least */

/* Entries along the first axis; without one -1, which is the length of no array. */
INLINE int64_t length_of(const array *a)
{
    return a->nd > 0 ? a->shape[0] : -1;
}

/* Whether start .. stop-1 are among n rows. */
INLINE int are_rows(int64_t start, int64_t stop, int64_t n)
{
    return 0 <= start && start <= stop && stop <= n;
}

/* How wide vectors may be: 0 what every machine has, 1 AVX2 with FMA, 2 AVX-512. */
int vector_level(void);

/* Compiles name_body once per level, and name, which calls the one for this machine. The body's first argument
 * is the level, a constant inside. Worth it only for work on a block of rows or more. */
#if defined(__GNUC__) && defined(__x86_64__)
#define X86_LEVELS 1
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))
#define AT_EVERY_LEVEL(name, parameters, ...)                                                         \
    static int name##_plain parameters { return name##_body(0, __VA_ARGS__); }                        \
    AVX2 static int name##_avx2 parameters { return name##_body(1, __VA_ARGS__); }                    \
    AVX512 static int name##_avx512 parameters { return name##_body(2, __VA_ARGS__); }                \
    int name parameters                                                                               \
    {                                                                                                 \
        int level = vector_level();                                                                   \
        return level == 2   ? name##_avx512(__VA_ARGS__)                                              \
               : level == 1 ? name##_avx2(__VA_ARGS__)                                                \
                            : name##_plain(__VA_ARGS__);                                              \
    }
#else
#define X86_LEVELS 0
#define AT_EVERY_LEVEL(name, parameters, ...)                                                         \
    int name parameters { return name##_body(0, __VA_ARGS__); }
#endif

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Whether the sign bit is set. Loops that look for a rare fault collect sign bits and ask once at the end. */
INLINE int negative(uint64_t bits)
{
    return (int64_t)bits < 0;
}

INLINE int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
