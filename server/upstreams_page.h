#ifndef SERVER_UPSTREAMS_PAGE_H
#define SERVER_UPSTREAMS_PAGE_H

#include "clients/upstream_set.h"
#include "handlers/handler.h"

/*
 * GET /debug/upstreams: what is set and what is counted of each upstream of POST /fanout.
 *
 *	{"upstreams":[{"name":"stock","origin":"https://stock.internal:8443",
 *	 "in_flight":3,"results":{"ok":970,"timeout":2},
 *	 "latency_ms":{"p50":11.2,"p95":30.1,"p99":92.0},"attempts":990,
 *	 "timeout_ms":700,"connect_timeout_ms":3000,"http2":false,"headers":["Authorization"],
 *	 "permits":{"limit":50,"wait_ms":500,"in_use":3,"waiting":0},"rate":0,
 *	 "retry":{"attempts":3,"base_ms":50,"max_ms":1000,"made":18,"refused":0},
 *	 "breaker":{"state":"closed","opened":0,"error_percent":50,"min_calls":20,
 *	   "window_ms":2000,"open_ms":1000},
 *	 "hedge":{"percentile":95,"budget_percent":5,"delay_ms":30.1,"made":12,"won":9,
 *	   "refused":0}}, …]}
 *
 * The name of the default upstream is null, and so are its permits, which it shares with GET
 * /fanout; so is the origin of the one for absolute URLs. What an upstream does not have, and a
 * latency that is not known yet, is null. Of headers only the names are there.
 */
struct upstreams_page {
	struct handler super;
	struct upstream_holder *upstreams; /* borrowed */
};

/** Its destroy does nothing. */
void upstreams_page_init(struct upstreams_page *page, struct upstream_holder *upstreams);

#endif
