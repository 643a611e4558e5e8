package anchor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// Options say of which ledgers checkpoints are kept, and where.
type Options struct {
	LedgerDir string         // required; the ledgers' folder
	Tenant    string         // only this tenant's ledger; empty means all
	Keys      note.Verifiers // required; that may have signed the ledgers

	File      File                 // the newest checkpoints are kept there; empty is nowhere
	Witnesses *transparency.Policy // who is asked to cosign them; nil asks nobody
	Bucket    *bucket.Bucket       // they are kept there, and auditors take turns; nil: this one is alone

	// Contender takes part in the turns of Bucket. While another auditor has the turn
	// nothing is brought anywhere.
	Contender bucket.Contender

	// Drain waits in Finish for a turn that nobody alive has.
	Drain bool

	Logger *slog.Logger     // default: none
	Now    func() time.Time // default: time.Now
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Keepers bring checkpoints to every place where they are to be kept, each at its
// own pace. The methods may be called concurrently.
type Keepers struct {
	all    []*rounds
	bucket *bucketKeeper // among all; nil: not asked for
}

// New returns the keepers that o asks for. They touch nothing before Run or Finish.
func New(o Options) *Keepers {
	o = o.withDefaults()
	k := new(Keepers)
	if o.Bucket != nil {
		k.bucket = newBucketKeeper(o)
		k.all = append(k.all, k.bucket.rounds)
	}
	if o.File != "" {
		k.all = append(k.all, newKeeper(o, o.File).rounds)
	}
	if o.Witnesses != nil {
		w := newWitnesses(o)
		w.stored = k.Changed // with cosignatures they are worth more
		k.all = append(k.all, w.rounds)
	}
	for _, r := range k.all {
		if k.bucket != nil && r != k.bucket.rounds {
			r.leads = k.bucket.leads
		}
	}
	return k
}

// Changed notes that the ledger of tenant has a newer checkpoint. It never blocks.
func (k *Keepers) Changed(tenant string) {
	for _, r := range k.all {
		r.changed(tenant)
	}
}

// Run keeps checkpoints until ctx ends: those of all ledgers first, for some may
// have grown since the last stop.
func (k *Keepers) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { k.bucket.run(ctx) })
	for _, r := range k.all {
		wg.Go(func() { r.run(ctx) })
	}
	wg.Wait()
}

// Finish brings what is still to be brought, and gives up the turn. It comes after
// Run, and nothing after it.
func (k *Keepers) Finish(ctx context.Context) {
	k.bucket.beforeLast(ctx)
	// Twice: what witnesses cosign is kept in the other places too.
	for range 2 {
		var wg sync.WaitGroup
		for _, r := range k.all {
			wg.Go(func() { r.last(ctx) })
		}
		wg.Wait()
	}
	for _, r := range k.all {
		r.release()
	}
	k.bucket.afterLast(ctx)
}

// Failure returns what is not kept where it should be, nil when all is. Where a
// ledger is not what was kept of it, it wraps [ErrForked].
func (k *Keepers) Failure() error {
	var errs error
	for _, r := range k.all {
		errs = errors.Join(errs, r.failure())
	}
	return errors.Join(errs, k.bucket.failure())
}

// StandsBy reports whether another auditor is the one that shows checkpoints.
func (k *Keepers) StandsBy() bool { return k.bucket.standsBy() }
