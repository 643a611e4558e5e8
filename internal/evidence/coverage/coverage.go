// Package coverage reports by hour which events a ledger has received.
package coverage

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Report is the coverage of a ledger. Records count in the hour in which the server stored them.
type Report struct {
	Tenant string    `json:"tenant"`
	From   time.Time `json:"from,omitzero"` // inclusive
	To     time.Time `json:"to,omitzero"`   // exclusive
	// Integrity and Completeness are verdicts on the whole ledger.
	Integrity    verifier.Integrity    `json:"integrity"`
	Completeness verifier.Completeness `json:"completeness"`
	Anchor       *verifier.Anchor      `json:"anchor,omitempty"`
	// Number of leaves in the newest cosigned checkpoint.
	Witnessed int64 `json:"witnessed"`
	// Cosignatures is the number of unverified cosignatures on the newest cosigned checkpoint.
	Cosignatures int      `json:"cosignatures"`
	Enrolled     int      `json:"enrolled"`     // number of enrolled producers
	NotEnrolled  []string `json:"not_enrolled"` // other producers
	Hours        []Hour   `json:"hours"`        // ascending, without empty hours

	Absent []verifier.Producer `json:"absent,omitempty"` // producers that are silent or lost

	Unproven []string `json:"unproven_because,omitempty"` // further reasons why it is not complete

	// Matters lists the findings that can be acknowledged, the unacknowledged ones first.
	Matters             []verifier.Matter `json:"acknowledgeable,omitempty"`
	AcknowledgedCount   int64             `json:"acknowledged_count,omitempty"`
	UnacknowledgedCount int64             `json:"unacknowledged_count,omitempty"`
	AllowAcknowledged   bool              `json:"allow_acknowledged,omitempty"` // the exit status ignores acknowledged findings

	AsOf *verifier.AsOf `json:"as_of,omitempty"`
	Open []string       `json:"open_runs"` // runs that may go on

	// Rules are the orders that set a retention floor or require a second person.
	Rules []verifier.OrderAt `json:"rules,omitempty"`

	Exit int `json:"exit"` // status of auditor verify
}

// Hour is the coverage of one hour. A run counts in the hour of its last event.
type Hour struct {
	ledger.Hour

	Sealed int `json:"sealed"` // runs that ended with a seal
	// Runs without a seal that went silent and count as ended.
	Unsealed  int            `json:"unsealed"`
	Open      int            `json:"open"`      // runs that have not ended
	Missing   uint64         `json:"missing"`   // events in the gaps
	Gaps      []verifier.Gap `json:"gaps"`      // gaps that were noticed in this hour
	Witnessed bool           `json:"witnessed"` // a cosigned checkpoint covers the whole hour
	Accesses  []access.Use   `json:"accesses"`  // uses of evidence
}

// Of returns the coverage of the ledger of r between from and to. A zero time means no limit.
// report is the result of [verifier.Verify] for the same ledger.
func Of(ctx context.Context, r *ledger.Reader, report verifier.Report, from, to time.Time) (Report, error) {
	c := builder{r: r, from: from, to: to, hours: make(map[int64]*Hour)}
	c.Report = Report{
		Tenant: r.Tenant(), From: from, To: to, Integrity: report.Integrity, Completeness: report.Completeness,
		Anchor: report.Anchor, Exit: report.Exit, AsOf: report.AsOf, Open: append([]string{}, report.Open...),
		Rules:    report.Redacted.Rules,
		Unproven: report.Unproven, Matters: report.Matters, AcknowledgedCount: report.AcknowledgedCount,
		UnacknowledgedCount: report.UnacknowledgedCount, AllowAcknowledged: report.AllowAcknowledged,
		Enrolled: report.Enrolled, NotEnrolled: report.NotEnrolled,
	}
	for _, p := range report.Producers {
		if p.Silent || p.Lost != nil {
			c.Absent = append(c.Absent, p)
		}
	}
	for _, fill := range [...]func(context.Context) error{
		c.records, c.witnesses, func(ctx context.Context) error { return c.runs(ctx, report) },
		func(ctx context.Context) error { return c.gaps(ctx, report) }, c.accesses,
	} {
		if err := fill(ctx); err != nil {
			return Report{}, fmt.Errorf("coverage: %w", err)
		}
	}
	c.Hours = []Hour{}
	for _, number := range slices.Sorted(maps.Keys(c.hours)) {
		c.Hours = append(c.Hours, *c.hours[number])
	}
	return c.Report, nil
}

type builder struct {
	Report

	r        *ledger.Reader
	from, to time.Time
	hours    map[int64]*Hour
}

func (c *builder) at(t time.Time) *Hour {
	if t.IsZero() || t.Before(c.from) || !c.to.IsZero() && !t.Before(c.to) {
		return nil
	}
	h := c.hours[ledger.HourOf(t)]
	if h == nil {
		h = newHour(ledger.Hour{Start: t.UTC().Truncate(time.Hour), Last: -1})
		c.hours[ledger.HourOf(t)] = h
	}
	return h
}

func newHour(h ledger.Hour) *Hour {
	return &Hour{Hour: h, Gaps: []verifier.Gap{}, Accesses: []access.Use{}}
}

func (c *builder) records(ctx context.Context) error {
	hours, err := c.r.Activity().Hours(ctx, c.from, c.to)
	for number, h := range hours {
		c.hours[number] = newHour(*h)
	}
	return err
}

func (c *builder) witnesses(ctx context.Context) error {
	signed, checkpoint, err := c.r.Tree().Witnessed(ctx)
	if err != nil || signed == nil {
		return err
	}
	// The first signature is the ledger's. All others are cosignatures.
	c.Witnessed, c.Cosignatures = checkpoint.Size, max(0, bytes.Count(signed, []byte("\n— "))-1)
	for _, h := range c.hours {
		h.Witnessed = c.Cosignatures > 0 && h.Last < checkpoint.Size
	}
	return nil
}

func (c *builder) runs(ctx context.Context, report verifier.Report) error {
	runs, err := c.r.Activity().RunEnds(ctx)
	for _, run := range runs {
		h := c.at(run.Last)
		if h == nil {
			continue
		}
		_, silent := slices.BinarySearch(report.Unsealed, run.Run)
		_, open := slices.BinarySearch(report.Open, run.Run)
		switch {
		case silent:
			h.Unsealed++
		case open:
			h.Open++
		case run.Sealed:
			h.Sealed++
		}
	}
	return err
}

func (c *builder) gaps(ctx context.Context, report verifier.Report) error {
	noticed, err := c.noticed(ctx, report.Gaps)
	if err != nil {
		return err
	}
	for i, g := range report.Gaps {
		h := c.at(noticed[i])
		if h == nil {
			continue
		}
		h.Gaps = append(h.Gaps, g)
		switch g.Cause {
		case verifier.CauseRecorded, verifier.CauseProducer, verifier.CauseStream:
			h.Missing += g.Last - g.First + 1
		case verifier.CauseAltered, verifier.CauseManifest, verifier.CauseSeal:
		}
	}
	return nil
}

func (c *builder) noticed(ctx context.Context, gaps []verifier.Gap) ([]time.Time, error) {
	all := make([]time.Time, len(gaps))
	places, lasts := make(map[string][]int), make(map[string][]uint64)
	for i, g := range gaps {
		places[g.Producer], lasts[g.Producer] = append(places[g.Producer], i), append(lasts[g.Producer], g.Last)
	}
	for producer, list := range places {
		times, err := c.r.Activity().GapsNoticed(ctx, producer, lasts[producer])
		if err != nil {
			return nil, err
		}
		for i, at := range list {
			all[at] = times[i]
		}
	}
	return all, nil
}

func (c *builder) accesses(ctx context.Context) error {
	for e, err := range c.r.Accesses(ctx) {
		if err != nil {
			return err
		}
		h := c.at(e.Stored)
		if h == nil {
			continue
		}
		h.Accesses = append(h.Accesses, access.Read(e))
	}
	return nil
}
