#include "handlers/overflow.h"

struct handler *const overflow_handler = NULL;
