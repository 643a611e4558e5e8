package auditor

import (
	"bytes"
	"cmp"
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

// The answers. The empty answer means that no such tracker is known.
const (
	TrackerErased   TrackerAnswer = "erased"
	TrackerMissing  TrackerAnswer = "missing"  // it has not answered yet
	TrackerKept     TrackerAnswer = "kept"     // it has no key for the order, or a hold there
	TrackerUnproved TrackerAnswer = "unproved" // no enrolled key has signed the answer
)

// tracker only looks at decisions before the order, because any producer could write a later one in
// order to answer the order itself.
func (f *orderFlags) tracker(ctx context.Context, dataDir string, r *ledger.Reader, order int64) (string, error) {
	if f.noTracker {
		return "", nil
	}
	own, err := publish.Inspect(filepath.Join(dataDir, "outbox", "tracker"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	senders, err := r.Activity().Senders(ctx, "tracker-", events.IssueDecided, order)
	if err != nil || len(senders) == 0 || len(senders) == 1 && senders[0] == own.Producer {
		return "", err
	}
	// Anybody may write with the name of a tracker, so the newest decision with that name is not
	// always the tracker's.
	signed, err := readSigned(ctx, dataDir, r)
	if err != nil {
		return "", err
	}
	newest, err := r.Activity().LastSender(ctx, "tracker-", events.IssueDecided, order, signed.mayDecide)
	if err != nil || newest == own.Producer {
		return "", err
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
	answers := trackerAnswers{producer: name, dataDir: shared.DataDir, after: done[0].Leaf}
	for {
		answer, err := answers.to(cmd.Context(), r, done)
		if err != nil || answers.isFinal(answer) {
			return answer, cmp.Or(err, notErased(answer, name))
		}
		select {
		case <-ctx.Done():
			return answer, notErased(answer, name)
		case <-time.After(filesPoll):
		}
		if err := drainUnserved(cmd, shared, r.Tenant()); err != nil {
			return TrackerMissing, err
		}
	}
}

func (t *trackerAnswers) isFinal(answer TrackerAnswer) bool {
	return answer == TrackerErased || answer == TrackerKept || answer == TrackerUnproved && !t.signed.enrolled[t.producer]
}

func notErased(answer TrackerAnswer, name string) error {
	name = termtext.Printable(name)
	switch answer {
	case TrackerErased:
		return nil
	case TrackerKept:
		return errors.New("the ledger is erased, and the tracker keeps its texts: it has no key for the order or a hold that the ledger has not; " +
			"start it with --order-key and the ledger.pub of this data directory, and it obeys the order")
	case TrackerMissing:
		return fmt.Errorf("the ledger is erased, and the tracker (%s) has not confirmed that its texts are: "+
			"it obeys the order when it runs and has the key (see its log); a tracker of version 0.1 never confirms, so update it; "+
			"--no-tracker does not wait for it", name)
	case TrackerUnproved:
	}
	return fmt.Errorf("the ledger is erased, and an answer in the name of the tracker (%s) says that its texts are, "+
		"but no enrolled key has signed the answer, so anybody may have written it: look into the tracker, "+
		"and enrol it with auditor issuer endorse, so that its answers count; --no-tracker does not wait for it", name)
}

type trackerAnswers struct {
	producer string
	dataDir  string
	after    int64
	read     map[string][]sentAnswer
	signed   signedRecords
}

type sentAnswer struct {
	place  ledger.Sent
	rule   string
	second bool // another record has the same number
}

func (t *trackerAnswers) to(ctx context.Context, r *ledger.Reader, done []ledger.Outcome) (TrackerAnswer, error) {
	before := t.after
	for entry, err := range r.After(ctx, t.after) {
		if err != nil {
			return TrackerMissing, err
		}
		t.after = entry.Leaf
		if err := t.take(entry); err != nil {
			return TrackerMissing, err
		}
	}
	if len(t.read) == 0 {
		return TrackerMissing, nil
	}
	if t.after > before { // also a manifest may prove an earlier answer
		var err error
		if t.signed, err = readSigned(ctx, t.dataDir, r); err != nil {
			return TrackerMissing, err
		}
	}
	result := TrackerErased
	for _, o := range done {
		answer := t.about(o.Order.ID)
		if answer == TrackerMissing || answer == TrackerKept {
			return answer, nil
		}
		if answer == TrackerUnproved {
			result = answer
		}
	}
	return result, nil
}

func (t *trackerAnswers) about(order string) (answer TrackerAnswer) {
	answer = TrackerMissing
	for _, a := range t.read[order] {
		switch {
		case a.rule != events.RuleErased && a.rule != events.RuleHeld && a.rule != events.RuleWaits:
		case a.second && !t.signed.coversSecond(a.place):
		case !t.signed.covers(a.place):
			if answer == TrackerMissing {
				answer = TrackerUnproved
			}
		case a.rule == events.RuleErased:
			answer = TrackerErased
		default:
			answer = TrackerKept
		}
	}
	return answer
}

func (t *trackerAnswers) take(entry ledger.Entry) error {
	second := entry.Class == ledger.ClassConflict
	if entry.Kind != events.IssueDecided || entry.Producer != t.producer || entry.Class != ledger.ClassEvent && !second ||
		!bytes.Contains(entry.Bytes, []byte("order")) {
		return nil
	}
	e, err := events.Decode(entry.Bytes)
	if err != nil {
		return fmt.Errorf("leaf %d: %w", entry.Leaf, err)
	}
	d, err := events.Payload[events.IssueDecidedData](e)
	if err != nil {
		return nil //nolint:nilerr // it is no answer
	}
	if t.read == nil {
		t.read = make(map[string][]sentAnswer)
	}
	place := ledger.Sent{Leaf: entry.Leaf, Producer: entry.Producer, Sequence: entry.Sequence}
	t.read[d.Event] = append(t.read[d.Event], sentAnswer{place, d.Rule, second})
	return nil
}
