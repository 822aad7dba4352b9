#ifndef SERVER_REQUEST_FRAMING_H
#define SERVER_REQUEST_FRAMING_H

#include <stddef.h>

/**
 * Look for what two HTTP parsers may understand differently (request smuggling, RFC 9112 §11.2):
 * more than one Content-Length, Content-Length with Transfer-Encoding, more than one
 * Transfer-Encoding or one other than "chunked", a folded line, a CR alone, and none or several
 * Host in HTTP/1.1.
 *
 * @head is the head of a request as it came, @bytes long at most; what follows the empty line
 * is not looked at. h2o drops these headers from its list, so they are read here again.
 *
 * Returns NULL if all is well, else static text that says what is wrong.
 */
const char *request_framing_fault(const char *head, size_t bytes);

#endif
