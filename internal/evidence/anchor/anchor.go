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

// Options select the ledgers and their anchors.
type Options struct {
	LedgerDir string         // required
	Tenant    string         // empty means all
	Keys      note.Verifiers // required; the keys that may have signed the ledgers

	File      File                 // for the newest checkpoints; may be empty
	Witnesses *transparency.Policy // to ask for cosignatures; may be nil
	Bucket    *bucket.Bucket       // for checkpoints and the lease; nil without other auditors

	// Candidate describes this auditor. Another auditor's lease stops all uploads of
	// this one.
	Candidate bucket.Candidate

	// Drain makes Finish wait until the lease of a stopped auditor expires.
	Drain bool

	Logger *slog.Logger
	Now    func() time.Time // time.Now by default
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

// Anchors upload checkpoints to every anchor, each at its own pace. The methods may be
// called concurrently.
type Anchors struct {
	all    []*uploads
	bucket *bucketAnchor // nil without a bucket
}

// New returns the anchors that o selects. They do nothing before Run or Finish.
func New(o Options) *Anchors {
	o = o.withDefaults()
	a := new(Anchors)
	if o.Bucket != nil {
		a.bucket = newBucketAnchor(o)
		a.all = append(a.all, a.bucket.uploads)
	}
	if o.File != "" {
		a.all = append(a.all, newStorageAnchor(o, o.File).uploads)
	}
	if o.Witnesses != nil {
		w := newWitnessAnchor(o)
		w.stored = a.Changed // the other anchors store the cosignatures too
		a.all = append(a.all, w.uploads)
	}
	for _, u := range a.all {
		if a.bucket != nil && u != a.bucket.uploads {
			u.mayUpload = a.bucket.leadership.allowsUploads
		}
	}
	return a
}

// Changed records that the ledger of tenant has a newer checkpoint. It never blocks.
func (a *Anchors) Changed(tenant string) {
	for _, u := range a.all {
		u.changed(tenant)
	}
}

// Run uploads checkpoints until ctx ends. It begins with all ledgers because some may
// have grown since the last stop.
func (a *Anchors) Run(ctx context.Context) {
	var wg sync.WaitGroup
	if a.bucket != nil {
		wg.Go(func() { a.bucket.run(ctx) })
	}
	for _, u := range a.all {
		wg.Go(func() { u.run(ctx) })
	}
	wg.Wait()
}

// Finish uploads the remaining checkpoints and releases the lease. Call it once after
// Run.
func (a *Anchors) Finish(ctx context.Context) {
	if a.bucket != nil {
		a.bucket.awaitLease(ctx)
	}
	// The second pass stores the cosignatures of the first in the other anchors.
	for range 2 {
		var wg sync.WaitGroup
		for _, u := range a.all {
			wg.Go(func() { u.finish(ctx) })
		}
		wg.Wait()
	}
	for _, u := range a.all {
		u.release()
	}
	if a.bucket != nil {
		a.bucket.releaseLease(ctx)
	}
}

// Failure returns why uploads fail, or nil. The error wraps [ErrForked] if a ledger
// does not continue an uploaded checkpoint.
func (a *Anchors) Failure() error {
	var errs error
	for _, u := range a.all {
		errs = errors.Join(errs, u.failure())
	}
	if a.bucket != nil {
		errs = errors.Join(errs, a.bucket.leadership.failure())
	}
	return errs
}

// StandsBy reports whether another auditor uploads checkpoints.
func (a *Anchors) StandsBy() bool { return a.bucket != nil && a.bucket.leadership.standsBy() }
