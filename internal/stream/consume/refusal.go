package consume

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// refusalCheck is how often a session looks whether the broker refused it
// something. The broker says so beside the messages: who asked gets no answer.
const refusalCheck = 100 * time.Millisecond

// untilRefused returns what the broker refuses to the loop that it had not
// refused before, or nil when ctx ends first.
func (l *loop) untilRefused(ctx context.Context, before error) error {
	tick := time.NewTicker(refusalCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := l.refusal(before); err != nil {
				return err
			}
		}
	}
}

// refusal returns the latest permissions violation if it is about the loop:
// others may use the connection too. That answers cannot be heard stays true.
func (l *loop) refusal(before error) error {
	nc := l.js.Conn()
	err := nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	action, quoted, _ := strings.Cut(err.Error(), ` to "`)
	subject, _, _ := strings.Cut(quoted, `"`)
	inbox := cmp.Or(nc.Opts.InboxPrefix, "_INBOX")
	deaf := strings.HasSuffix(action, "Subscription") && strings.HasPrefix(subject, inbox+".")
	fresh := err != before //nolint:errorlint // each report is another error
	if deaf || fresh && l.publishes(subject) {
		return broker.Refusal(err)
	}
	return nil
}

// publishes tells whether the loop sends to subject: requests about the stream
// and its durable, acknowledgements, dead letters.
func (l *loop) publishes(subject string) bool {
	stream := l.opts.Space.EventStream()
	letters, err := l.opts.Space.DeadLetter(l.opts.Durable)
	switch {
	case err == nil && subject == letters:
		return true
	case strings.HasPrefix(subject, "$JS.ACK."):
		return strings.Contains(subject, "."+stream+"."+l.durable+".")
	case strings.HasPrefix(subject, "$JS.API.DIRECT."):
		return false // a publisher's
	}
	return strings.HasPrefix(subject, "$JS.API.") && strings.Contains(subject+".", "."+stream+".")
}
