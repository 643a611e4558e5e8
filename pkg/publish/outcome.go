package publish

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// The server's codes that are told apart.
const (
	codeWrongLast         = 10071 // the fence: somebody else, or we, wrote to the chain
	codeWrongLastConstant = 10164 // the same, while another batch is under way
	codeTooManyBatches    = 10210
	codeIncompleteBatch   = 10176 // hides its cause
	codeTooLargeBatch     = 10199
	codeDuplicate         = 10201
	codeMessageTooLarge   = 10054
	codeHeaderTooLarge    = 10097
	codeStoreFailed       = 10077 // the limits of the stream, its disk
)

// outcome is what to do about a batch.
type outcome int

const (
	outcomeStored   outcome = iota
	outcomeWait             // nothing was stored, and it is not the batch's fault: again, later
	outcomeLookUp           // it cannot be told what was stored: the chain tells
	outcomeConflict         // the chain goes on from elsewhere than was thought
	outcomeRefused          // by itself, in halves or alone it may pass
	outcomeObscure          // nothing was stored, for whatever reason
	outcomeTooLarge         // the server takes smaller batches
)

func outcomeOf(err error) outcome {
	var refusal *refusalError
	switch {
	case err == nil:
		return outcomeStored
	case errors.Is(err, nats.ErrMaxPayload):
		return outcomeRefused
	case errors.Is(err, errNobody):
		return outcomeObscure
	case !errors.As(err, &refusal):
		return outcomeLookUp
	}
	switch refusal.Code {
	case codeWrongLast, codeWrongLastConstant:
		return outcomeConflict
	case codeIncompleteBatch:
		if errors.Is(err, ErrPermission) {
			return outcomeWait // not the event's fault: no right, no loss
		}
		return outcomeObscure
	case codeTooLargeBatch:
		return outcomeTooLarge
	case codeMessageTooLarge, codeHeaderTooLarge, codeDuplicate:
		return outcomeRefused
	case codeStoreFailed:
		if strings.Contains(refusal.Description, "message too large") {
			return outcomeRefused
		}
	}
	return outcomeWait
}

// backoff is how long to wait before trying again: twice as long each time,
// half of it by chance, so that many publishers do not come back at once.
type backoff struct{ delay time.Duration }

const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = 5 * time.Second
)

// pause waits before the next attempt, or until ctx ends or the connection,
// whose loss changes everything, is lost.
func (b *backoff) pause(ctx context.Context, lost <-chan struct{}) {
	b.delay = min(max(2*b.delay, firstDelay), maxDelay)
	timer := time.NewTimer(b.delay/2 + rand.N(b.delay/2)) //nolint:gosec // jitter
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-lost:
	case <-timer.C:
	}
}
