#ifndef LOADTESTS_FLOOR_ROUND_TEXT_H
#define LOADTESTS_FLOOR_ROUND_TEXT_H

#include <stddef.h>

#include "loadtests/floor/bare_client.h"

enum { ROUND_TEXT_BYTES = 512 };

/** Write @round as one JSON object and a line end. Returns its length. */
size_t round_text_write(const struct bare_round *round, char text[ROUND_TEXT_BYTES]);

#endif
