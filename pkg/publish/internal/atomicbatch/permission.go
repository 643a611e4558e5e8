package atomicbatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

const (
	overdue  = 100 * time.Millisecond
	askAgain = time.Second
)

type violations struct {
	nc     *nats.Conn
	before error
}

func violationsSince(nc *nats.Conn) violations { return violations{nc: nc, before: nc.LastError()} }

func (v violations) about(inbox string, concerns func(subject string) bool) error {
	err := v.nc.LastError()
	action, verb, subject := parseViolation(err)
	switch {
	case subject == "":
		return nil
	case verb == "Subscription" && strings.HasPrefix(subject, inbox):
	case verb == "Publish" && err != v.before && concerns(subject): //nolint:errorlint // each report is another error
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", transport.ErrPermission, action)
}

func parseViolation(err error) (action, verb, subject string) {
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

// ask flushes first, so that the server has reported all earlier violations.
func (v violations) ask(ctx context.Context, inbox string, concerns func(string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	if v.nc.FlushWithContext(ctx) == nil {
		return v.about(inbox, concerns)
	}
	return nil // the server is not reachable now, but may still answer
}

// LastMessage implements [transport.Server].
func (s server) LastMessage(ctx context.Context, stream, subject string) ([]byte, uint64, error) {
	msg, err := request(ctx, s.nc, "$JS.API.DIRECT.GET."+stream+"."+subject)
	if errors.Is(err, nats.ErrNoResponders) && isMissing(ctx, s.nc, stream) {
		return nil, 0, fmt.Errorf("%w: %s", transport.ErrNoStream, stream)
	}
	if err != nil {
		return nil, 0, err
	}
	switch status := msg.Header.Get("Status"); status {
	case "":
	case "404":
		return nil, 0, nil
	default:
		return nil, 0, fmt.Errorf("status %s %s", status, msg.Header.Get("Description"))
	}
	sequence, err := strconv.ParseUint(msg.Header.Get(nats.JSSequence), 10, 64)
	if err != nil || msg.Header.Get(nats.JSSubject) != subject {
		return nil, 0, errors.New("answer is of another message")
	}
	return msg.Data, sequence, nil
}

const codeNoStream = 10059

func isMissing(ctx context.Context, nc *nats.Conn, stream string) bool {
	msg, err := request(ctx, nc, "$JS.API.STREAM.INFO."+stream)
	if err != nil {
		return false
	}
	var answer struct {
		Error *refusalError `json:"error"`
	}
	return json.Unmarshal(msg.Data, &answer) == nil && answer.Error != nil && answer.Error.Code == codeNoStream
}

// request also watches for permission errors, because the server does not answer a forbidden
// request.
func request(ctx context.Context, nc *nats.Conn, subject string) (*nats.Msg, error) {
	v := violationsSince(nc)
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
			if err := v.ask(ctx, inbox, func(s string) bool { return s == subject }); err != nil {
				cancel(err)
				return
			}
			tick.Reset(askAgain)
		}
	})
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, transport.ErrPermission) {
		err = cause
	}
	cancel(nil)
	wg.Wait()
	return msg, err
}
