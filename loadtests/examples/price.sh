#!/bin/sh -eu
# usage: price.sh [URL OF FANOUTD]
# The price from the first of three shops that says one; the other two calls are cancelled.
curl -sS -H 'Content-Type: application/json' "${1:-http://127.0.0.1:8080}/fanout" -d '{
	"policy": "first", "deadline_ms": 2000, "requests": [
		{"id": "a", "upstream": "shop-a", "url": "/slow?ms=50"},
		{"id": "b", "upstream": "shop-b", "url": "/slow?ms=500"},
		{"id": "c", "upstream": "shop-c", "url": "/slow?ms=5000"}]}'
