package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
)

// ErrPermission is wrapped when the broker does not let the connection's user do
// what it has to.
var ErrPermission = errors.New("the broker's permissions do not allow it")

// Refusal returns what err, an error that a connection reports beside its
// messages, says of a permission that its user lacks; nil if it says nothing of
// the kind. It names the subject.
func Refusal(err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	_, action, ok := strings.Cut(err.Error(), "Permissions Violation for ")
	if !ok {
		action = err.Error()
	}
	return fmt.Errorf("%w: %s", ErrPermission, action)
}

// deaf reports whether a refusal is one to listen: for answers, as nothing else
// is listened for while streams are made.
func deaf(refusal error) bool {
	return strings.HasPrefix(refusal.Error(), ErrPermission.Error()+": Subscription to ")
}

// maxRefusals is how many are remembered.
const maxRefusals = 10

// reported handles what a connection reports beside its messages. The server
// reports each refused message; one log line for each subject is enough.
func (b *Broker) reported(err error) {
	refusal := Refusal(err)
	if refusal == nil {
		b.opts.Logger.Warn("broker reported an error", "error", err)
		return
	}
	b.mu.Lock()
	cancel := b.refuse
	known := b.refused[refusal.Error()] || len(b.refused) >= maxRefusals
	if !known {
		b.refused[refusal.Error()] = true
		b.warnings[warnRefused] = refusal.Error() + "; give its user the rights of docs/operations.md"
	}
	b.mu.Unlock()
	if cancel != nil && (deaf(refusal) || strings.Contains(refusal.Error(), `"$JS.API.STREAM.`)) {
		cancel(refusal)
	}
	if !known {
		b.opts.Logger.Error("broker refused a message", "error", refusal)
	}
}

// away handles a failed attempt to connect again. That nobody is there was said
// when the connection was lost; why somebody turns us away has to be said.
func (b *Broker) away(err error) {
	if b.opts.URL == "" || errors.Is(err, nats.ErrNoServers) || errors.Is(err, syscall.ECONNREFUSED) {
		return
	}
	text := fmt.Sprintf("connect to %s: %v", redactURL(b.opts.URL), err)
	b.mu.Lock()
	known := b.warnings[warnAway] == text
	b.warnings[warnAway] = text
	b.mu.Unlock()
	if !known {
		b.opts.Logger.Error("broker turned the connection away", "error", text)
	}
}

// forgetRefusals begins anew: who connects again may have other rights.
func (b *Broker) forgetRefusals() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.refused)
	delete(b.warnings, warnRefused)
	delete(b.warnings, warnAway)
}

// unlessRefused calls do, which asks about streams. Its context ends when the
// broker refuses that, which nobody answers; the refusal is the error then.
func (b *Broker) unlessRefused(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.mu.Lock()
	b.refuse = cancel
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.refuse = nil
		b.mu.Unlock()
	}()
	err := do(ctx)
	cause := context.Cause(ctx)
	switch {
	case err == nil || !errors.Is(cause, ErrPermission):
		return err
	case deaf(cause):
		return fmt.Errorf("streams: %w; is it the login of another service?", cause)
	}
	return fmt.Errorf("streams: %w; hooktrail nats init, with the rights of the owner, makes them", cause)
}
