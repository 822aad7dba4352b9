#!/bin/sh -eu
# usage: health.sh [URL OF FANOUTD]
# Healthy is what three of five regions say so of, within a second. Ends with 0 then, else with 1.
curl -sS -H 'Content-Type: application/json' "${1:-http://127.0.0.1:8080}/fanout" -d '{
	"policy": "quorum", "quorum": 3, "deadline_ms": 1000, "requests": [
		{"id": "north", "upstream": "regions", "url": "/slow?ms=20"},
		{"id": "east", "upstream": "regions", "url": "/slow?ms=40"},
		{"id": "south", "upstream": "regions", "url": "/slow?ms=60"},
		{"id": "west", "upstream": "regions", "url": "/slow?ms=20&fault=reset"},
		{"id": "moon", "upstream": "regions", "url": "/slow?ms=9000"}]}' |
	grep '"succeeded":[345],'
