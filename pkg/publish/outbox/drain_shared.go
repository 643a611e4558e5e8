package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

const (
	drainPoll = 100 * time.Millisecond // to check whether another process has sent the events
	drainOpen = time.Second            // another process has this time to open the outbox
)

// DrainShared sends all events of a shared outbox, or waits until another process has sent them.
// It returns nil if the outbox does not exist. If ctx ends first, the events stay in the outbox.
func DrainShared(ctx context.Context, server transport.Server, opts Options) error {
	for {
		state, err := Inspect(opts.Dir)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if state.Waiting == 0 && len(state.Gaps) == 0 && state.Damaged == 0 {
			return nil
		}
		if !state.Forwarding {
			if sent, err := sendShared(ctx, server, opts); sent || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d has not sent %d events: %w", state.Process, state.Waiting, ctx.Err())
		case <-time.After(drainPoll):
		}
	}
}

func sendShared(ctx context.Context, server transport.Server, opts Options) (sent bool, err error) {
	opening, cancel := context.WithTimeout(ctx, drainOpen)
	defer cancel()
	p, err := OpenShared(opening, server, opts)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = errors.Join(p.Flush(ctx), p.Close(ctx))
	return err == nil, err
}
