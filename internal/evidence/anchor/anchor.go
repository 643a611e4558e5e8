package anchor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// Options are the settings of [Anchors].
type Options struct {
	LedgerDir string         // required
	Tenant    string         // empty means all
	Keys      note.Verifiers // required; keys that may have signed the ledgers

	File       File                 // for the newest checkpoints; may be empty
	Witnesses  *transparency.Policy // asked for cosignatures; may be nil
	Bucket     *bucket.Bucket       // stores checkpoints and the lease; may be nil
	Timestamps Timestamps           // authority that gives time stamps

	// Candidate describes this auditor to other auditors that compete for the bucket's lease. Only
	// the holder of the lease uploads.
	Candidate bucket.Candidate

	// Drain makes [Anchors.Finish] wait for the bucket's lease, which a stopped auditor may still
	// hold.
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

// Anchors upload the newest checkpoints to places outside the ledgers. They are safe for concurrent
// use.
type Anchors struct {
	all       []*uploads
	bucket    *bucketAnchor // nil without a bucket
	finishing atomic.Bool   // Finish was called
}

// New returns an [Anchors] with the settings in o. It uploads nothing until [Anchors.Run] or
// [Anchors.Finish] is called.
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
	if o.Timestamps.URL != nil {
		a.all = append(a.all, newTimestampAnchor(o).uploads)
	}
	for _, u := range a.all {
		if a.bucket != nil && u != a.bucket.uploads {
			u.mayUpload = a.bucket.leadership.allowsUploads
		}
	}
	if o.Drain && o.Timestamps.URL != nil {
		a.holdTimestamps()
	}
	return a
}

// holdTimestamps delays time stamps until the end of a drain, because a ledger gets only one time
// stamp per interval.
func (a *Anchors) holdTimestamps() {
	u := a.all[len(a.all)-1]
	may := u.mayUpload
	u.mayUpload = func() bool { return a.finishing.Load() && may() }
}

// Changed queues the newest checkpoint of tenant. It never blocks.
func (a *Anchors) Changed(tenant string) {
	for _, u := range a.all {
		u.changed(tenant)
	}
}

// Run uploads checkpoints until ctx ends. At the start it uploads the checkpoints of all ledgers,
// because a ledger may have grown while Run was not running.
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

// Finish uploads the remaining checkpoints and releases the lease. Call it once, after Run has
// returned.
func (a *Anchors) Finish(ctx context.Context) {
	a.finishing.Store(true)
	if a.bucket != nil {
		a.bucket.awaitLease(ctx)
	}
	// Witnesses cosign in the first round. In the second round, the other anchors store the
	// cosignatures.
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

// Failure returns why uploads fail, or nil. Errors wrap [ErrForked] if a ledger does not continue
// an uploaded checkpoint.
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

// StandsBy reports whether this auditor is a standby that uploads nothing, because another auditor
// holds the lease.
func (a *Anchors) StandsBy() bool { return a.bucket != nil && a.bucket.leadership.standsBy() }
