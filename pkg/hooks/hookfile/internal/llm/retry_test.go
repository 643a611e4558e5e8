package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// refusing returns a client of a server that refuses the first requests with status.
func refusing(t *testing.T, refusals, status int, after string) (*Client, *int) {
	t.Helper()
	asked := new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if *asked++; *asked <= refusals {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(status)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"fine"}}]}`)
	}))
	t.Cleanup(s.Close)
	return &Client{API: OpenAI, BaseURL: s.URL, Key: func() string { return "k" }, HTTP: s.Client()}, asked
}

func TestComplete_Retries(t *testing.T) {
	for _, tt := range []struct {
		refusals, status int
		after            string
		want             string
		asked            int
	}{
		{1, 429, "", "fine", 2},
		{3, 529, "0", "fine", 4},
		{1, 500, "0", "fine", 2},
		{1, 503, "0", "fine", 2},
		{9, 429, "0", "", 4},
		{1, 400, "0", "", 1},
		{1, 429, "3600", "", 1}, // the deadline would pass
		{1, 429, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), "", 1},
	} {
		t.Run(fmt.Sprint(tt.status, tt.refusals, tt.after), func(t *testing.T) {
			c, asked := refusing(t, tt.refusals, tt.status, tt.after)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			got, err := c.Complete(ctx, "m", "well?", 7)
			if got != tt.want || (err == nil) != (tt.want != "") || *asked != tt.asked {
				t.Errorf("got %q, %v after %d requests", got, err, *asked)
			}
			if refusal, ok := errors.AsType[StatusError](err); err != nil && (!ok || refusal.Status != tt.status) {
				t.Errorf("got %v, want the status", err)
			}
		})
	}
}

func TestComplete_RetryCancelled(t *testing.T) {
	c, asked := refusing(t, 1, 429, "3600")
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if got, err := c.Complete(ctx, "m", "well?", 7); err == nil || *asked != 1 {
		t.Errorf("got %q, %v after %d requests", got, err, *asked)
	}
}
