package auditor

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// keepers bring checkpoints to every place where they are to be kept, each at its
// own pace.
type keepers []*rounds

// newKeepers returns the keepers that o asks for. The name is that of the durable
// of the auditor of o's tenants, who may be another one while this one stands by:
// all keepers wait for their turn in the bucket.
func newKeepers(o Options, name string, key *ledger.Key) (keepers, *bucketKeeper, error) {
	verifier, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		return nil, nil, err
	}
	var all keepers
	bucket := newBucketKeeper(o, name, verifier)
	if bucket != nil {
		all = append(all, bucket.rounds)
	}
	if o.CheckpointFile != "" {
		all = append(all, newKeeper(o, verifier, o.CheckpointFile).rounds)
	}
	if o.Witnesses != nil {
		w := newWitnesses(o, note.VerifierList(verifier))
		w.stored = all.changed // with cosignatures they are worth more
		all = append(all, w.rounds)
	}
	for _, k := range all {
		if bucket != nil && k != bucket.rounds {
			k.leads = bucket.leads
		}
	}
	return all, bucket, nil
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

// finish brings what is still to be brought, and ends. It goes round twice: what
// witnesses cosign is kept in the other places too.
func (all keepers) finish(ctx context.Context) {
	for range 2 {
		var wg sync.WaitGroup
		for _, k := range all {
			wg.Go(func() { k.round(ctx) })
		}
		wg.Wait()
	}
	for _, k := range all {
		k.release()
	}
}

// failure returns what is not kept, nil when all is.
func (all keepers) failure() error {
	var errs error
	for _, k := range all {
		errs = errors.Join(errs, k.failure())
	}
	return errs
}
