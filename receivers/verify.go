// Webhook receiver for Go: verify the signature, respond at once, process each event once.
//
// Copy VerifyWebhook unchanged. Pass it the raw request body: JSON that was parsed and serialized again has different
// bytes. The rest of the file is an example server: PARLEY_WEBHOOK_SECRET=whsec_… go run verify.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var timestamp = regexp.MustCompile(`^t=([0-9]{1,12})$`)

// VerifyWebhook reports whether body was signed with secret within five minutes of now. During a rotation of the secret the
// header has several signatures, and one must match.
func VerifyWebhook(secret, header string, body []byte, now time.Time) bool {
	parts := strings.Split(header, ",")
	found := timestamp.FindStringSubmatch(parts[0])
	if secret == "" || found == nil {
		return false
	}
	t, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil || now.Unix()-t > 300 || t-now.Unix() > 300 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(found[1] + "."))
	mac.Write(body)
	expected := []byte("v1=" + hex.EncodeToString(mac.Sum(nil)))
	for _, signature := range parts[1:] {
		if hmac.Equal([]byte(signature), expected) {
			return true
		}
	}
	return false
}

type Event struct {
	ID         string          `json:"id"`
	Event      string          `json:"event"`
	OccurredAt time.Time       `json:"occurred_at"`
	AccountID  string          `json:"account_id"`
	Data       json.RawMessage `json:"data"`
}

// Replace this with your code. The event is already acknowledged, so retrying a failure is up to you.
func handle(event Event) {
	log.Println(event.ID, event.Event, string(event.Data))
}

// In production, insert the event into a table with its id as primary key before you respond: a restart clears this map.
var seen sync.Map

func main() {
	secret := os.Getenv("PARLEY_WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("PARLEY_WEBHOOK_SECRET is not set")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8000"
	}
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !VerifyWebhook(secret, r.Header.Get("X-Service-Signature"), body, time.Now()) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event Event
		if err := json.Unmarshal(body, &event); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, isKnown := seen.LoadOrStore(event.ID, true)
		w.WriteHeader(http.StatusNoContent)
		if !isKnown {
			go handle(event)
		}
	}
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.HandlerFunc(receive), ReadTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
