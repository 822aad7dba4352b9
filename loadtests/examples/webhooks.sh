#!/bin/sh -eu
# usage: webhooks.sh [URL OF FANOUTD]
# An event for 500 receivers. Some are busy at times and get it again, since the key says that it is
# the same; every fiftieth is gone. Each result is a line as it comes, the coverage is the last one.
awk 'BEGIN {
	printf "{\"deadline_ms\": 5000, \"requests\": ["
	for (i = 1; i <= 500; i++) {
		query = i % 50 == 0 ? "status=410" : "status=503&fail_percent=5"
		printf "%s{\"id\": \"receiver-%d\", \"upstream\": \"receivers\"", (i > 1 ? "," : ""), i
		printf ", \"method\": \"POST\", \"url\": \"/slow?ms=20&%s\"", query
		printf ", \"headers\": {\"Idempotency-Key\": \"event-7-%d\"}", i
		printf ", \"body\": {\"event\": \"paid\", \"order\": 7}}"
	}
	printf "]}"
}' | curl -sSN --data-binary @- -H 'Content-Type: application/json' \
	-H 'Accept: application/x-ndjson' "${1:-http://127.0.0.1:8080}/fanout"
