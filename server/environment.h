#ifndef SERVER_ENVIRONMENT_H
#define SERVER_ENVIRONMENT_H

/** The value of @name in @environment, a list like environ, which it is part of; NULL: there is
 * none. */
const char *environment_find(char *const environment[], const char *name);

#endif
