package anchor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	stampTimeout = 5 * time.Second // of one request
	stampWorkers = 4               // number of ledgers handled concurrently

	// DefaultTimestampInterval is the default of [Timestamps.Interval].
	DefaultTimestampInterval = time.Hour
	minTimestampInterval     = time.Second
)

// Timestamps configure the time stamps of checkpoints from a time stamp authority (TSA).
type Timestamps struct {
	URL *url.URL // nil means none
	// Interval is the minimum time between two time stamps of a ledger, [DefaultTimestampInterval]
	// by default.
	Interval time.Duration
}

// Validate returns an error if the interval is too short.
func (t Timestamps) Validate() error {
	if t.Interval != 0 && t.Interval < minTimestampInterval {
		return fmt.Errorf("--timestamp-interval %s: it cannot be shorter than %s", t.Interval, minTimestampInterval)
	}
	return nil
}

// Old time stamps are never deleted, because they prove earlier times.
type timestampAnchor struct {
	uploads   *uploads
	ledgerDir string
	keys      note.Verifiers // keys that may have signed the ledgers
	client    *timestamp.Client
	interval  time.Duration
	now       func() time.Time

	mu    sync.Mutex           // guards the fields due and pause
	due   map[string]time.Time // next time stamp of each ledger; set at its first upload
	pause pause                // after a failure of the TSA
}

func newTimestampAnchor(o Options) *timestampAnchor {
	a := &timestampAnchor{
		ledgerDir: o.LedgerDir, keys: o.Keys, client: timestamp.NewClient(o.Timestamps.URL),
		interval: o.Timestamps.Interval, now: o.Now, due: make(map[string]time.Time),
	}
	if a.interval == 0 {
		a.interval = DefaultTimestampInterval
	}
	a.uploads = newUploads(o, "with a time stamp of "+a.client.Name(), a.stamp)
	a.uploads.workers, a.uploads.release = stampWorkers, a.client.Close
	return a
}

func (a *timestampAnchor) stamp(ctx context.Context, tenant string) error {
	if err := a.paused(); err != nil {
		return err
	}
	path, err := ledger.Path(a.ledgerDir, tenant)
	if err != nil {
		return err
	}
	due, known := a.dueAt(tenant)
	if known && a.now().Before(due) {
		a.uploads.changed(tenant) // a later round looks again
		return nil
	}
	last, t, err := newestStamp(path)
	if err != nil {
		return err
	}
	if !known && t != nil {
		a.setDue(tenant, t.Time)
		return a.stamp(ctx, tenant)
	}
	signed, size, err := a.next(ctx, tenant, last)
	if err != nil || signed == nil {
		return err
	}
	return a.ask(ctx, tenant, path, signed, size)
}

func newestStamp(path string) (s timestamp.Stored, t *timestamp.Token, err error) {
	names, err := timestamp.Names(path)
	for _, name := range slices.Backward(names) {
		s = timestamp.Read(path, name)
		if s.Err != nil {
			continue // auditor verify reports it
		}
		if t, err := timestamp.Parse(s.Token); err == nil {
			return s, t, nil
		}
	}
	return timestamp.Stored{}, nil, err
}

func (a *timestampAnchor) dueAt(tenant string) (due time.Time, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	due, known = a.due[tenant]
	return due, known
}

func (a *timestampAnchor) setDue(tenant string, last time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); last.After(now) { // clocks differ
		last = now
	}
	a.due[tenant] = last.Add(a.interval)
}

func (a *timestampAnchor) next(ctx context.Context, tenant string, last timestamp.Stored) (newest []byte, size int64, err error) {
	r, err := ledger.OpenTenant(a.ledgerDir, tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.Tree().Read(ctx, func(signed []byte, hashes tlog.HashReader) error {
		now, err := ledger.OpenCheckpoint(signed, a.keys)
		if err != nil || now.Size == 0 {
			return err
		}
		if last.Note != nil {
			then, err := ledger.OpenCheckpoint(last.Note, a.keys)
			if err != nil {
				return fmt.Errorf("time stamp %s: %w", last.Name, err)
			}
			if err := continues(now, then, hashes); err != nil || now.Arrivals == then.Arrivals {
				return err
			}
		}
		newest, size = signed, now.Size
		return nil
	})
	return newest, size, err
}

func (a *timestampAnchor) ask(ctx context.Context, tenant, path string, signed []byte, size int64) error {
	limited, cancel := context.WithTimeout(ctx, stampTimeout)
	defer cancel()
	der, t, err := a.client.Stamp(limited, signed)
	if ctx.Err() != nil && err != nil {
		a.uploads.changed(tenant) // Finish or the next start asks again
		return nil
	}
	a.record(err)
	if err != nil {
		return err
	}
	if err := timestamp.Write(path, timestamp.Stored{Note: signed, Token: der}, size, t); err != nil {
		return err
	}
	a.setDue(tenant, a.now())
	a.uploads.logger.InfoContext(ctx, "time stamp stored", "tenant", tenant, "size", size, "stamped", t.Time)
	return nil
}

func (a *timestampAnchor) paused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now().Before(a.pause.until) {
		return a.pause.err
	}
	return nil
}

// Concurrent requests fail together, so only the first failure makes the next pause longer.
func (a *timestampAnchor) record(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	switch {
	case err == nil:
		a.pause = pause{}
	case !now.Before(a.pause.until):
		length := min(max(2*a.pause.length, firstPause), maxPause)
		a.pause = pause{until: now.Add(length), length: length, err: err}
	}
}
