package bundle

import (
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

const maxProducers = 10_000

// Window is the ledger's verdict on the time range or run of a bundle. Records outside the bundle
// can affect the verdict, so [Check] cannot compute it.
type Window struct {
	Completeness verifier.Completeness `json:"completeness"`
	Producers    []verifier.Producer   `json:"producers"`
	Gaps         []verifier.Gap        `json:"gaps,omitempty"` // the first ones
	Runs         verifier.RunCounts    `json:"runs"`
	Open         []string              `json:"open_runs,omitempty"`     // the first ones
	Unsealed     []string              `json:"unsealed_runs,omitempty"` // the first ones
	Unproven     []string              `json:"unproven_because,omitempty"`

	// Acknowledged is nil in a bundle of a run, which has [About.Acknowledged] instead.
	Acknowledged *Acknowledged `json:"acknowledged,omitempty"`

	// RecordFindings are the ledger's findings about single records. Bundles in the format of
	// version 4 only have its fields Foreign and ForeignCount.
	verifier.RecordFindings
}

// Acknowledged lists the findings about a time range that a person has acknowledged or can
// acknowledge. Some findings need records outside the bundle, so the ledger computes the list.
type Acknowledged struct {
	Matters []verifier.Matter `json:"findings"` // the first ones
	Known   int64             `json:"acknowledged_count"`
	New     int64             `json:"unacknowledged_count"`
	Exit    int               `json:"exit"` // exit status without the acknowledged findings
}

func acknowledgedOf(r verifier.Report) *Acknowledged {
	r.AllowAcknowledged = true
	return &Acknowledged{Matters: r.Matters, Known: r.AcknowledgedCount, New: r.UnacknowledgedCount, Exit: r.LedgerExit()}
}

func windowOf(r verifier.Report) *Window {
	w := &Window{
		Completeness: r.Completeness, Producers: r.Producers, Gaps: first(r.Gaps), Runs: r.Runs,
		Open: first(r.Open), Unsealed: first(r.Unsealed), RecordFindings: r.Records,
	}
	if len(w.Producers) > maxProducers {
		w.Completeness, w.Producers = verifier.Unproven, w.Producers[:maxProducers]
		w.Unproven = []string{"the range has too many producers for a bundle: verify the ledger with --from and --to"}
	}
	if n := len(r.Gaps); n > len(w.Gaps) {
		w.Unproven = append(w.Unproven, fmt.Sprintf("the bundle lists the first %d of %d gaps: verify the ledger for all", len(w.Gaps), n))
	}
	return w
}

func first[T any](list []T) []T { return list[:min(len(list), maxGaps)] }

const (
	windowNotSigned = "the ledger's key did not sign a verdict about that time, and the records alone do not prove it"
	windowOfEvents  = "it was selected by the times in the events, which cuts runs and manifests: export it again"
)

func (w *walk) window() {
	r := &w.report
	w.export.Findings(&r.Report)
	switch {
	case r.Bundle.Times != storedTimes:
		r.Unproven = append(r.Unproven, windowOfEvents)
	case !r.Attested || r.Bundle.Window == nil:
		r.Unproven = append(r.Unproven, windowNotSigned)
	default:
		r.Run, r.From, r.To = r.Bundle.Run, r.Bundle.From, r.Bundle.To
		w.takeOver()
		r.takeAcknowledged(r.Bundle.Window.Acknowledged)
	}
}

func (r *Report) takeAcknowledged(a *Acknowledged) {
	if a != nil {
		r.Matters, r.AcknowledgedCount, r.UnacknowledgedCount, r.ExitAcknowledged = a.Matters, a.Known, a.New, &a.Exit
	}
}

func (w *walk) takeOver() {
	r, said := &w.report, w.report.Bundle.Window
	r.Completeness, r.Producers, r.Gaps, r.Runs = said.Completeness, said.Producers, said.Gaps, said.Runs
	r.Open, r.Unsealed, r.Unproven = said.Open, said.Unsealed, said.Unproven
	if r.Bundle.Format == formatV5 {
		w.export.TakeOver(&r.Report, said.RecordFindings)
	} else {
		r.Foreign, r.ForeignCount, r.NotProven = said.Foreign, said.ForeignCount, notProvenOfPart+r.NotProven
	}
}
