package publish

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

// Open opens or creates the outbox in opts.Dir and forwards its events over nc. If another process
// has the outbox open, Open waits until ctx ends. nc may be disconnected at first. Close the
// Publisher before nc.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Publisher, error) {
	return outbox.Open(ctx, atomicbatch.Over(nc), opts)
}

// OpenShared is like [Open] for an outbox to which processes append with [AppendShared]. It notices
// their events within a tenth of a second. It does not support the option Unique.
func OpenShared(ctx context.Context, nc *nats.Conn, opts Options) (*Publisher, error) {
	return outbox.OpenShared(ctx, atomicbatch.Over(nc), opts)
}

// DrainShared sends all events of a shared outbox, or waits until another process has sent them.
// If the outbox does not exist, DrainShared returns nil. If ctx ends first, the unsent events stay
// in the outbox.
func DrainShared(ctx context.Context, nc *nats.Conn, opts Options) error {
	return outbox.DrainShared(ctx, atomicbatch.Over(nc), opts)
}
