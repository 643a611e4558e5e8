package auditor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// TrackerAnswer is a remote tracker's answer to an order to erase.
type TrackerAnswer string

// Answers of a tracker to an order to erase. The empty answer means that no tracker is known.
const (
	TrackerErased  TrackerAnswer = "erased"
	TrackerMissing TrackerAnswer = "missing" // it has not answered yet
	TrackerKept    TrackerAnswer = "kept"    // it has no key for the order, or a hold there
)

// tracker returns the producer id of the remote tracker that should answer the order, or "" if
// there is none. Only a sender from before the order counts, because any client can send a
// decision afterwards.
func (f *orderFlags) tracker(ctx context.Context, dataDir string, r *ledger.Reader, order int64) (string, error) {
	if f.noTracker {
		return "", nil
	}
	newest, err := r.LastSender(ctx, "tracker-", events.IssueDecided, order)
	if err != nil || newest == "" {
		return "", err
	}
	own, err := publish.Inspect(filepath.Join(dataDir, "outbox", "tracker"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if own.Producer == newest {
		return "", nil
	}
	return newest, nil
}

func (f *orderFlags) awaitTracker(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, done []ledger.Outcome) (TrackerAnswer, error) {
	if done[0].Order.Action != events.AuditErase || done[0].Effect != ledger.EffectDone {
		return "", nil
	}
	name, err := f.tracker(cmd.Context(), shared.DataDir, r, done[0].Leaf)
	if err != nil || name == "" {
		return "", err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.wait)
	defer cancel()
	answers := trackerAnswers{producer: name, after: done[0].Leaf, rules: make(map[string]string)}
	for {
		answer, err := answers.to(cmd.Context(), r, done)
		if err != nil || answer == TrackerErased {
			return answer, err
		}
		if answer == TrackerKept {
			return answer, errors.New("the ledger is erased, and the tracker keeps its texts: it has no key for the order or a hold that the ledger has not; " +
				"start it with --order-key and the ledger.pub of this data directory, and it obeys the order")
		}
		select {
		case <-ctx.Done():
			return TrackerMissing, fmt.Errorf("the ledger is erased, and the tracker (%s) has not confirmed that its texts are: "+
				"it obeys the order when it runs and has the key (see its log); a tracker of version 0.1 never confirms, so update it; "+
				"--no-tracker does not wait for it", termtext.Printable(name))
		case <-time.After(filesPoll):
		}
		if err := drainUnserved(cmd, shared, r.Tenant()); err != nil {
			return TrackerMissing, err
		}
	}
}

// trackerAnswers contains the newest answer of one tracker to each order. after is the last leaf
// that was read.
type trackerAnswers struct {
	producer string
	after    int64
	rules    map[string]string
}

func (t *trackerAnswers) to(ctx context.Context, r *ledger.Reader, done []ledger.Outcome) (TrackerAnswer, error) {
	for entry, err := range r.After(ctx, t.after) {
		if err != nil {
			return TrackerMissing, err
		}
		t.after = entry.Leaf
		if !t.mayAnswer(entry) {
			continue
		}
		e, err := events.Decode(entry.Bytes)
		if err != nil {
			return TrackerMissing, fmt.Errorf("leaf %d: %w", entry.Leaf, err)
		}
		if d, err := events.Payload[events.IssueDecidedData](e); err == nil {
			t.rules[d.Event] = d.Rule
		}
	}
	for _, o := range done {
		switch t.rules[o.Order.ID] {
		case events.RuleErased:
		case events.RuleHeld, events.RuleWaits:
			return TrackerKept, nil
		default:
			return TrackerMissing, nil
		}
	}
	return TrackerErased, nil
}

func (t *trackerAnswers) mayAnswer(e ledger.Entry) bool {
	return e.Kind == events.IssueDecided && e.Producer == t.producer && e.Class == ledger.ClassEvent && bytes.Contains(e.Bytes, []byte("order"))
}
