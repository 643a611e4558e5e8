package bundle

import (
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// maxProducers limits the producers of a [Window]. It keeps bundle.json small.
const maxProducers = 10_000

// Window is the verdict on the completeness of a time range. The bundle's records cannot show it,
// because a run can continue outside the range, and the manifest of an event may come later. The
// ledger's key signs the verdict with the selection.
type Window struct {
	Completeness verifier.Completeness `json:"completeness"`
	Producers    []verifier.Producer   `json:"producers"`
	Gaps         []verifier.Gap        `json:"gaps,omitempty"` // the first ones
	Runs         verifier.RunCounts    `json:"runs"`
	Open         []string              `json:"open_runs,omitempty"`     // the first ones
	Unsealed     []string              `json:"unsealed_runs,omitempty"` // the first ones
	Foreign      []verifier.Foreign    `json:"foreign,omitempty"`       // the first ones of the ledger
	ForeignCount int64                 `json:"foreign_count,omitempty"`
	Unproven     []string              `json:"unproven_because,omitempty"`
}

func windowOf(r verifier.Report) *Window {
	w := &Window{
		Completeness: r.Completeness, Producers: r.Producers, Gaps: first(r.Gaps), Runs: r.Runs,
		Open: first(r.Open), Unsealed: first(r.Unsealed), Foreign: r.Foreign, ForeignCount: r.ForeignCount,
	}
	if len(w.Producers) > maxProducers {
		w.Completeness, w.Producers = verifier.Unproven, w.Producers[:maxProducers]
		w.Unproven = []string{"the range has too many producers for a bundle: verify the ledger with --from and --to"}
	}
	return w
}

func first[T any](list []T) []T { return list[:min(len(list), maxGaps)] }

const (
	windowNotSigned = "the ledger's key did not sign a verdict about that time, and the records alone do not prove it"
	windowOfEvents  = "it was selected by the times in the events, which cuts runs and manifests: export it again"
)

// window uses the signed verdict of the ledger on the time range, if there is one.
func (r *Report) window() {
	w := r.Bundle.Window
	switch {
	case r.Bundle.Times != storedTimes:
		r.Unproven = append(r.Unproven, windowOfEvents)
		return
	case !r.Attested || w == nil:
		r.Unproven = append(r.Unproven, windowNotSigned)
		return
	}
	r.Run, r.From, r.To = r.Bundle.Run, r.Bundle.From, r.Bundle.To
	r.Completeness, r.Producers, r.Gaps, r.Runs = w.Completeness, w.Producers, w.Gaps, w.Runs
	r.Open, r.Unsealed, r.Foreign, r.ForeignCount, r.Unproven = w.Open, w.Unsealed, w.Foreign, w.ForeignCount, w.Unproven
}
