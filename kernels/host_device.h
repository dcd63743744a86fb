// EDO_HD marks a function that device code may call as well as host code.
#pragma once

#ifdef __CUDACC__
#define EDO_HD __host__ __device__
#else
#define EDO_HD
#endif
