#include "loops.h"

static int level = 0;

int vector_level(void)
{
    return level;
}

/* Called once after loading; tests call it to go through all levels. Returns the level in use. */
EXPORT int64_t choose_vectors(int64_t highest)
{
    int found = 0;
#if X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found = 1;
    if (found && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found = 2;
#endif
    level = (int)smaller(found, highest);
    return level;
}
