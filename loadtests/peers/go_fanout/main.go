// The fan-out on Go's net/http, for comparison: GET /fanout?n=N&delay_ms=MS makes N calls of
// UPSTREAM?ms=MS at once, a goroutine each, and answers once all of them are over.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	callsMax   = 100000
	delayMsMax = 600000
	timeout    = 30 * time.Second
)

// Every connection is kept, and buffers are as large as the short messages here need: what a user
// would set who knows that the calls are many and small.
func newClient() *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			MaxIdleConns:        0,
			MaxIdleConnsPerHost: callsMax,
			IdleConnTimeout:     timeout,
			DisableCompression:  true,
			ReadBufferSize:      1024,
			WriteBufferSize:     1024,
		},
	}
}

// Whether there was a whole reply with status 200.
func call(client *http.Client, url string) bool {
	reply, err := client.Get(url)
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	return err == nil && reply.StatusCode == http.StatusOK
}

func fanOut(client *http.Client, url string, n int) int64 {
	var ok int64
	var calls sync.WaitGroup
	calls.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			defer calls.Done()
			if call(client, url) {
				atomic.AddInt64(&ok, 1)
			}
		}()
	}
	calls.Wait()
	return ok
}

func number(request *http.Request, name string, min, max int) (int, error) {
	value, err := strconv.Atoi(request.URL.Query().Get(name))
	if err != nil || value < min || value > max {
		return 0, fmt.Errorf("%s: not a number from %d to %d", name, min, max)
	}
	return value, nil
}

func handler(upstream string) http.HandlerFunc {
	client := newClient()
	return func(writer http.ResponseWriter, request *http.Request) {
		n, err := number(request, "n", 1, callsMax)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		delayMs, err := number(request, "delay_ms", 0, delayMsMax)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		start := time.Now()
		ok := fanOut(client, fmt.Sprintf("%s?ms=%d", upstream, delayMs), n)
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(map[string]interface{}{ // the asker may be gone
			"client": "go", "n": n, "ok": ok, "failed": int64(n) - ok,
			"elapsed_ms": float64(time.Since(start).Microseconds()) / 1000,
		})
	}
}

func main() {
	address := flag.String("listen", "127.0.0.1:8080", "HOST:PORT")
	upstream := flag.String("upstream", "http://127.0.0.1:8081/slow", "what is called, as URL?ms=MS")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/fanout", handler(*upstream))
	fmt.Printf("listening http://%s (go)\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
