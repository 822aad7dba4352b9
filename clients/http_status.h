#ifndef CLIENTS_HTTP_STATUS_H
#define CLIENTS_HTTP_STATUS_H

/** The phrase for @status of RFC 9110, 15, RFC 4918 (424) or RFC 6585 (429, 431): "Not Found";
 * "Unknown" if it is none that this program answers with. Static text. Any thread. */
const char *http_status_phrase(unsigned status);

#endif
