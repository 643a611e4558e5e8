package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// The names of the problems that Warnings reports, in the order of its result.
const (
	warnConnection = "connection"
	warnRights     = "permissions"
	warnDisk       = "disk"
	warnStore      = "store"
	warnSubjects   = "subjects"
)

// maxRefusals limits how many different refusals are remembered for one connection.
const maxRefusals = 10

// ErrPermission is wrapped when the user of the connection lacks a right for the request.
var ErrPermission = errors.New("the broker's permissions do not allow it")

// Refusal converts err, an asynchronous error of a connection, to an error that wraps
// [ErrPermission] and names the subject. It returns nil if err is not about missing rights.
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

// ofSubscription reports whether the broker refused a subscription to replies. refusal is a result
// of Refusal.
func ofSubscription(refusal error) bool {
	return strings.HasPrefix(refusal.Error(), ErrPermission.Error()+": Subscription to ")
}

type health struct {
	log *slog.Logger

	mu       sync.Mutex // guards the fields below; no other lock is taken while it is locked
	drift    []string
	warnings map[string]string       // key is the name of the problem
	refused  map[string]bool         // texts of the refusals on the current connection
	cancel   context.CancelCauseFunc // cancels the running call of unlessRefused; nil if there is none
}

func newHealth(log *slog.Logger) *health {
	return &health{log: log, warnings: map[string]string{}, refused: map[string]bool{}}
}

func (h *health) driftNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drift
}

func (h *health) warningsNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append([]string(nil), h.drift...)
	for _, name := range [...]string{warnConnection, warnRights, warnDisk, warnStore, warnSubjects} {
		if w, ok := h.warnings[name]; ok {
			all = append(all, w)
		}
	}
	return all
}

func (h *health) setDrift(ctx context.Context, drift []string) {
	h.mu.Lock()
	h.drift = drift
	h.mu.Unlock()
	for _, d := range drift {
		h.log.WarnContext(ctx, "stream configuration drifted", "difference", d)
	}
}

// warn sets the warning for a problem, or clears it if text is empty. It logs the change.
func (h *health) warn(ctx context.Context, name, text string) {
	h.mu.Lock()
	_, had := h.warnings[name]
	if text == "" {
		delete(h.warnings, name)
	} else {
		h.warnings[name] = text
	}
	h.mu.Unlock()
	switch {
	case text != "" && !had:
		h.log.WarnContext(ctx, "broker needs attention", "condition", name, "detail", text)
	case text == "" && had:
		h.log.InfoContext(ctx, "broker condition ended", "condition", name)
	}
}

// asyncError handles an asynchronous error of the connection. The server reports every message that
// it refuses. asyncError logs only the first refusal of each subject.
func (h *health) asyncError(err error) {
	refusal := Refusal(err)
	if refusal == nil {
		h.log.Warn("broker reported an error", "error", err)
		return
	}
	h.mu.Lock()
	cancel := h.cancel
	isNew := !h.refused[refusal.Error()] && len(h.refused) < maxRefusals
	if isNew {
		h.refused[refusal.Error()] = true
		h.warnings[warnRights] = refusal.Error() + "; give its user the rights of docs/operations.md"
	}
	h.mu.Unlock()
	if cancel != nil && (ofSubscription(refusal) || strings.Contains(refusal.Error(), `"$JS.API.STREAM.`)) {
		cancel(refusal)
	}
	if isNew {
		h.log.Error("broker refused a message", "error", refusal)
	}
}

func (h *health) connectFailed(text string) {
	h.mu.Lock()
	isNew := h.warnings[warnConnection] != text
	h.warnings[warnConnection] = text
	h.mu.Unlock()
	if isNew {
		h.log.Error("broker rejected the connection", "error", text)
	}
}

// connected removes the refusals of the previous connection. The user of the new connection may
// have other rights.
func (h *health) connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.refused)
	delete(h.warnings, warnRights)
	delete(h.warnings, warnConnection)
}

// unlessRefused calls do, which sends requests about streams. The server sends no answer to a
// refused request. Therefore a refusal cancels the context of do, and unlessRefused returns the
// refusal.
func (h *health) unlessRefused(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.setCancel(cancel)
	defer h.setCancel(nil)
	err := do(ctx)
	cause := context.Cause(ctx)
	switch {
	case err == nil || !errors.Is(cause, ErrPermission):
		return err
	case ofSubscription(cause):
		return fmt.Errorf("streams: %w; is it the login of another service?", cause)
	}
	return fmt.Errorf("streams: %w; create them with hooktrail nats init and the rights of the owner", cause)
}

func (h *health) setCancel(cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel = cancel
}
