package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// StatusError is the refusal of a server.
type StatusError struct {
	Status int

	after string // header Retry-After
}

// Error returns the status.
func (e StatusError) Error() string {
	return fmt.Sprintf("model server answered with status %d", e.Status)
}

const (
	maxRetries = 3
	firstWait  = 200 * time.Millisecond // doubles with each retry
)

const statusOverloaded = 529 // of Anthropic

func (e StatusError) temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusOverloaded:
		return true
	}
	return false
}

func (e StatusError) wait(retry int) time.Duration {
	wait := firstWait << retry
	if seconds, err := strconv.Atoi(e.after); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 24*60*60)) * time.Second
	}
	if at, err := http.ParseTime(e.after); err == nil {
		return max(time.Until(at), wait)
	}
	return wait
}

// sendAgain repeats req while the server has a temporary problem. It returns the refusal at once if
// the deadline would pass before the next request.
func (c *Client) sendAgain(req *http.Request) ([]byte, error) {
	ctx := req.Context()
	for retry := 0; ; retry++ {
		body, err := c.send(req)
		refusal, ok := errors.AsType[StatusError](err)
		if !ok || !refusal.temporary() || retry == maxRetries || !pause(ctx, refusal.wait(retry)) {
			return body, err
		}
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
