#ifndef SERVER_CONFIG_VALUES_H
#define SERVER_CONFIG_VALUES_H

#include "server/config_settings.h"

/* One function for each kind of setting, for the table; each is a config_taker. */

/** unsigned: decimal digits alone, minimum to maximum of the setting. */
config_taker config_take_count;

/** size_t, likewise. */
config_taker config_take_bytes;

/** bool: on, true or 1; off, false or 0. */
config_taker config_take_switch;

/** const char *: one of the setting's choices, static. */
config_taker config_take_word;

/** An enum: the position among the setting's choices. */
config_taker config_take_choice;

/** struct listen_address. */
config_taker config_take_address;

/** const char *: a checked upstream URL, borrowed. */
config_taker config_take_url;

/** const char *: anything, borrowed. */
config_taker config_take_text;

#endif
