#ifndef CLIENTS_SHARED_CLIENT_H
#define CLIENTS_SHARED_CLIENT_H

#include "clients/http_client.h"

/**
 * A client that passes calls on to those of somebody else, by the scheme of their URLs: to
 * @for_http or to @for_https, which may be the same. They are borrowed, neither ticked nor
 * destroyed: it is for the end of a chain of clients, each of which owns the one behind it. Its
 * name is @for_http's.
 *
 * *@out is the caller's for http_client_destroy(). Returns 0 or -ENOMEM.
 */
int shared_client_create(struct http_client *for_http, struct http_client *for_https,
                         struct http_client **out);

#endif
