/* In one type, as included with REAL and NAME, and for as many as LANES. */

/* The sum of LANES parts: a sum has as many as registers hold, in the same order however wide these
   are. */
static inline double
NAME(total)(REAL *parts)
{
    int k, half;
    for (half = LANES / 2; half >= 1; half /= 2)
        for (k = 0; k < half; k++)
            parts[k] += parts[k + half];
    return (double)parts[0];
}
