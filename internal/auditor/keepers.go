package auditor

import (
	"context"
	"errors"
	"sync"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// keepers bring checkpoints to every place where they are to be kept, each at its
// own pace.
type keepers []*rounds

// newKeepers returns the keepers that o asks for.
func newKeepers(o Options, key *ledger.Key) (keepers, error) {
	verifier, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		return nil, err
	}
	var all keepers
	if o.CheckpointFile != "" {
		all = append(all, newKeeper(o, verifier, o.CheckpointFile).rounds)
	}
	return all, nil
}

func (all keepers) changed(tenant string) {
	for _, k := range all {
		k.changed(tenant)
	}
}

// run keeps checkpoints until ctx ends.
func (all keepers) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, k := range all {
		wg.Go(func() { k.run(ctx) })
	}
	wg.Wait()
}

// finish brings what is still to be brought.
func (all keepers) finish(ctx context.Context) {
	var wg sync.WaitGroup
	for _, k := range all {
		wg.Go(func() { k.round(ctx) })
	}
	wg.Wait()
}

// failure returns what is not kept, nil when all is.
func (all keepers) failure() error {
	var errs error
	for _, k := range all {
		errs = errors.Join(errs, k.failure())
	}
	return errs
}
