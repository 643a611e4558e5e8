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

const refusalCheck = 100 * time.Millisecond

type refusals struct {
	nc      *nats.Conn
	before  error // the connection's last error when the session started
	stream  string
	durable string
	letters string
}

func (l *loop) watchRefusals() refusals {
	nc := l.js.Conn()
	return refusals{nc: nc, before: nc.LastError(), stream: l.opts.Space.EventStream(), durable: l.durable, letters: l.letters}
}

func (r refusals) wait(ctx context.Context) error {
	tick := time.NewTicker(refusalCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := r.check(); err != nil {
				return err
			}
		}
	}
}

func (r refusals) check() error {
	err := r.nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	action, quoted, _ := strings.Cut(err.Error(), ` to "`)
	subject, _, _ := strings.Cut(quoted, `"`)
	inbox := cmp.Or(r.nc.Opts.InboxPrefix, "_INBOX")
	noReplies := strings.HasSuffix(action, "Subscription") && strings.HasPrefix(subject, inbox+".")
	isNew := err != r.before //nolint:errorlint // each report is another error
	if noReplies || isNew && r.concerns(subject) {
		return broker.Refusal(err)
	}
	return nil
}

func (r refusals) concerns(subject string) bool {
	switch {
	case subject == r.letters:
		return true
	case strings.HasPrefix(subject, "$JS.ACK."):
		return strings.Contains(subject, "."+r.stream+"."+r.durable+".")
	case strings.HasPrefix(subject, "$JS.API.DIRECT."):
		return false // only publishers use them
	}
	return strings.HasPrefix(subject, "$JS.API.") && strings.Contains(subject+".", "."+r.stream+".")
}
