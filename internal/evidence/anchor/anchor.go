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

// Options say which ledgers are anchored, and where.
type Options struct {
	LedgerDir string         // required
	Tenant    string         // empty means all
	Keys      note.Verifiers // required; keys that may have signed the ledgers

	File      File                 // file for the newest checkpoints; may be empty
	Witnesses *transparency.Policy // witnesses to ask for cosignatures; may be nil
	Bucket    *bucket.Bucket       // bucket for checkpoints and the lease; nil if there is no other auditor

	// Candidate identifies this auditor when it competes for the lease. While another auditor holds
	// the lease, this one uploads nothing.
	Candidate bucket.Candidate

	// Drain makes Finish wait for the lease. If the previous holder has stopped, the wait ends when
	// its lease expires.
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

// Anchors upload the newest checkpoints to several anchors. A slow anchor does not delay the
// others. The methods may be called concurrently.
type Anchors struct {
	all    []*uploads
	bucket *bucketAnchor // nil without a bucket
}

// New returns the anchors that o configures. They upload nothing before Run or Finish is called.
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
		w.stored = a.Changed // the other anchors must store the cosignatures too
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

// Run uploads checkpoints until ctx ends. At first it uploads those of all ledgers, because some
// ledgers may have grown since the last stop.
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

// Finish uploads the remaining checkpoints and releases the lease. It must be called once, after
// Run has returned.
func (a *Anchors) Finish(ctx context.Context) {
	if a.bucket != nil {
		a.bucket.awaitLease(ctx)
	}
	// The first pass collects cosignatures. The second pass stores them in the other anchors.
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

// Failure returns the reasons why uploads fail, or nil. The error wraps [ErrForked] if a ledger
// does not continue a checkpoint that was uploaded earlier.
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
