/* The same text as C++. */
#include "main.c"
