#ifndef CLIENTS_CURL_MULTI_SERVICE_H
#define CLIENTS_CURL_MULTI_SERVICE_H

#include "clients/curl_handle.h"

struct carrier;

/*
 * What the curl client keeps on each carrier: groups of transfers and unused
 * easy handles. It comes with the first call there, shrinks when there have been
 * none for a while, and goes with the carrier.
 *
 * The two calls below are for carrier_call(); @transfer is a struct curl_transfer.
 */

/** @transfer is filled in but for its last part. It may be done on return. */
void curl_multi_service_start(struct carrier *carrier, void *transfer);

/** Afterwards nothing refers to @transfer. Does nothing to one that is done. */
void curl_multi_service_remove(struct carrier *carrier, void *transfer);

#endif
