package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrPermission is wrapped by [Stats.LastError], and by what [Publisher.Flush]
// returns, when the server does not let the publisher's user write events or
// look up its chain. The events wait until the user has the rights.
var ErrPermission = errors.New("the server's permissions do not allow it")

const (
	// overdue is when the server is asked what became of a message.
	overdue = 100 * time.Millisecond
	// askAgain is how long later it is asked again.
	askAgain = time.Second
)

// refusals knows what the server refused on a connection since it was made. The
// server reports that beside the messages: who waits for an answer gets none.
type refusals struct {
	nc     *nats.Conn
	before error
}

func refusalsFrom(nc *nats.Conn) refusals { return refusals{nc: nc, before: nc.LastError()} }

// about returns the refusal to publish to a subject that concerns accepts, or to
// subscribe to inbox; nil if there was none.
func (r refusals) about(inbox string, concerns func(subject string) bool) error {
	err := r.nc.LastError()
	action, verb, subject := refused(err)
	switch {
	case subject == "":
		return nil
	case verb == "Subscription" && strings.HasPrefix(subject, inbox):
	case verb == "Publish" && err != r.before && concerns(subject): //nolint:errorlint // each report is another error
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrPermission, action)
}

// refused returns what the server says that it does not permit, such as
//
//	Publish to "hooktrail.ev.acme.p.r.custom"
//
// and the verb and the subject of it; all are empty when err says nothing of the
// kind.
func refused(err error) (action, verb, subject string) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return "", "", ""
	}
	_, action, _ = strings.Cut(err.Error(), "Permissions Violation for ")
	verb, quoted, _ := strings.Cut(action, " to ")
	prefix, _ := strconv.QuotedPrefix(quoted)
	if subject, err = strconv.Unquote(prefix); err != nil {
		return "", "", ""
	}
	return action, verb, subject
}

// ask is about, once the server has reported what it has to by now.
func (r refusals) ask(ctx context.Context, inbox string, concerns func(string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	if r.nc.FlushWithContext(ctx) == nil {
		return r.about(inbox, concerns)
	}
	return nil // nobody to ask: the answer may come yet
}

// request sends a request and returns its answer. That it is not permitted is
// known soon, and not when ctx ends.
func request(ctx context.Context, nc *nats.Conn, subject string) (*nats.Msg, error) {
	r := refusalsFrom(nc)
	inbox := cmp.Or(nc.Opts.InboxPrefix, strings.TrimSuffix(nats.InboxPrefix, ".")) + "."
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTimer(overdue)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := r.ask(ctx, inbox, func(s string) bool { return s == subject }); err != nil {
				cancel(err)
				return
			}
			tick.Reset(askAgain)
		}
	})
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrPermission) {
		err = cause
	}
	cancel(nil)
	wg.Wait()
	return msg, err
}
