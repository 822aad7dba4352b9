#include "handlers/handler.h"

void handler_destroy(struct handler *handler)
{
	if (handler)
		handler->destroy(handler);
}
