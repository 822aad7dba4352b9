#ifndef SERVER_ENVIRONMENT_H
#define SERVER_ENVIRONMENT_H

/** The value of the variable @name in @environment, a list like environ, from which it is borrowed;
 * NULL: there is none. */
const char *environment_find(char *const environment[], const char *name);

#endif
