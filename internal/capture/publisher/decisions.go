package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/decision"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// ownHooks forbids requests to this decision service, because they would only run the same hooks
// again.
func ownHooks(b *broker.Broker) hookfile.Options {
	c := decision.Client{Conn: b.Conn(), Space: b.Space()}
	return hookfile.Options{Requester: c, Own: c.Own}
}

const decisionSource = "/decisions"

const backgroundTimeout = 3 * time.Second

// Decider runs hooks for clients that ask over HTTP or NATS for a decision. A nil Decider answers
// no requests.
type Decider struct {
	service  *decision.Service
	registry *hooks.Registry
	broker   *broker.Broker
	logger   *slog.Logger
}

// NewDecider returns a Decider that runs the hooks of a file, and records each decision with the
// Appender. It returns nil if there is no file.
func NewDecider(file *hookfile.File, to Appender, opts Options) (*Decider, error) {
	if file == nil {
		return nil, nil //nolint:nilnil // nil is a valid Decider
	}
	opts = opts.withDefaults()
	r := hooks.NewRegistry(hooks.Options{Appender: to, Source: decisionSource, Logger: opts.Logger})
	if err := file.Register(r, ownHooks(opts.Broker)); err != nil {
		return nil, err
	}
	return &Decider{registry: r, broker: opts.Broker, logger: opts.Logger, service: decision.New(decision.Options{
		Registry: r, Tenant: opts.Tenant, Caller: TenantOf, User: userFor, Admit: opts.Tenants.Admit,
		Space: opts.Broker.Space(), Logger: opts.Logger,
	})}, nil
}

// Handler returns the handler of POST /v1/decisions, or nil if d is nil. If a caller is limited to
// a tenant, it can ask only for that tenant, see [TenantOf].
func (d *Decider) Handler() http.Handler {
	if d == nil {
		return nil
	}
	return d.service
}

// Run answers requests over NATS until ctx ends and all open requests are answered.
func (d *Decider) Run(ctx context.Context) error {
	if d == nil {
		<-ctx.Done()
		return nil
	}
	err := d.service.Run(ctx, d.broker.Conn())
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), backgroundTimeout)
	defer cancel()
	if late := d.registry.Close(closing); late != nil {
		d.logger.WarnContext(ctx, "hooks did not end in time", "error", late)
	}
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	return nil
}

func (d *Decider) start(ctx context.Context) (failed <-chan error, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	early := make(chan error, 1)
	go func() {
		err := d.Run(ctx)
		if ctx.Err() == nil {
			early <- errors.Join(errEndedEarly, err)
		}
		ended <- err
	}()
	return early, func() error {
		cancel()
		return <-ended
	}
}

var errEndedEarly = errors.New("decision service ended early")
