package auditor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Coverage says hour by hour whether everything was captured, and what became of
// it. Times are those at which the server stored records.
type Coverage struct {
	Tenant       string                `json:"tenant"`
	From         time.Time             `json:"from,omitzero"`
	To           time.Time             `json:"to,omitzero"`
	Integrity    verifier.Integrity    `json:"integrity"`    // of the whole ledger
	Completeness verifier.Completeness `json:"completeness"` // of the whole ledger
	Witnessed    int64                 `json:"witnessed"`    // leaves below the checkpoint that witnesses cosigned last
	Cosignatures int                   `json:"cosignatures"` // on that checkpoint, unchecked: auditor verify --witness-policy does
	Hours        []CoveredHour         `json:"hours"`        // ascending, those with nothing left out

	Exit int `json:"exit"` // as of auditor verify
}

// CoveredHour is one hour. A run counts in the hour of its last event, a gap in
// that in which it showed.
type CoveredHour struct {
	ledger.Hour

	Sealed    int            `json:"sealed"`    // runs
	Unsealed  int            `json:"unsealed"`  // runs that went silent
	Open      int            `json:"open"`      // runs that go on
	Missing   uint64         `json:"missing"`   // events that the gaps lack
	Gaps      []verifier.Gap `json:"gaps"`      // of the producers' numbers
	Witnessed bool           `json:"witnessed"` // all of it lies below a checkpoint that witnesses cosigned
	Accesses  []Accessed     `json:"accesses"`  // uses of evidence
}

// Covered returns the coverage of a ledger between two times, of which a zero one
// is no limit. report is what [verifier.Verify] says of it.
func Covered(ctx context.Context, r *ledger.Reader, report verifier.Report, from, to time.Time) (Coverage, error) {
	c := covering{r: r, from: from, to: to, hours: make(map[int64]*CoveredHour)}
	c.Coverage = Coverage{
		Tenant: r.Tenant(), From: from, To: to, Integrity: report.Integrity, Completeness: report.Completeness, Exit: report.Exit,
	}
	for _, fill := range [...]func(context.Context) error{
		c.records, c.witnesses, func(ctx context.Context) error { return c.runs(ctx, report) },
		func(ctx context.Context) error { return c.gaps(ctx, report) }, c.accesses,
	} {
		if err := fill(ctx); err != nil {
			return Coverage{}, fmt.Errorf("coverage: %w", err)
		}
	}
	c.Hours = []CoveredHour{}
	for _, number := range slices.Sorted(maps.Keys(c.hours)) {
		c.Hours = append(c.Hours, *c.hours[number])
	}
	return c.Coverage, nil
}

// covering is a coverage that is being put together.
type covering struct {
	Coverage

	r        *ledger.Reader
	from, to time.Time
	hours    map[int64]*CoveredHour
}

// at returns the hour of a time, nil for one that is not asked for.
func (c *covering) at(t time.Time) *CoveredHour {
	if t.IsZero() || t.Before(c.from) || !c.to.IsZero() && !t.Before(c.to) {
		return nil
	}
	h := c.hours[ledger.HourOf(t)]
	if h == nil {
		h = newCoveredHour(ledger.Hour{Start: t.UTC().Truncate(time.Hour), Last: -1})
		c.hours[ledger.HourOf(t)] = h
	}
	return h
}

func newCoveredHour(h ledger.Hour) *CoveredHour {
	return &CoveredHour{Hour: h, Gaps: []verifier.Gap{}, Accesses: []Accessed{}}
}

func (c *covering) records(ctx context.Context) error {
	hours, err := c.r.Hours(ctx, c.from, c.to)
	for number, h := range hours {
		c.hours[number] = newCoveredHour(*h)
	}
	return err
}

func (c *covering) witnesses(ctx context.Context) error {
	signed, checkpoint, err := c.r.Witnessed(ctx)
	if err != nil || signed == nil {
		return err
	}
	// The first signature is the ledger's own.
	c.Witnessed, c.Cosignatures = checkpoint.Size, max(0, bytes.Count(signed, []byte("\n— "))-1)
	for _, h := range c.hours {
		h.Witnessed = c.Cosignatures > 0 && h.Last < checkpoint.Size
	}
	return nil
}

func (c *covering) runs(ctx context.Context, report verifier.Report) error {
	runs, err := c.r.RunEnds(ctx)
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

func (c *covering) gaps(ctx context.Context, report verifier.Report) error {
	for _, g := range report.Gaps {
		noticed, err := c.r.Noticed(ctx, g.Producer, g.Last)
		if err != nil {
			return err
		}
		h := c.at(noticed)
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

func (c *covering) accesses(ctx context.Context) error {
	for e, err := range c.r.Accesses(ctx) {
		if err != nil {
			return err
		}
		h := c.at(e.Stored)
		if h == nil {
			continue
		}
		h.Accesses = append(h.Accesses, readAccess(e))
	}
	return nil
}

// coverageFlags are the flags of coverage.
type coverageFlags struct {
	purpose
	verification

	from, to string
}

func coverageCommand(shared *cli.Shared) *cobra.Command {
	var c coverageFlags
	cmd := &cobra.Command{
		Use:   "coverage [--from TIME] [--to TIME]",
		Short: "Tell hour by hour whether everything was captured",
		Long: `Check a ledger as verify does, and tell for each hour in which something came what
was captured of it: runs that were sealed, went silent without a seal or go on,
events that are missing, checkpoints that were signed and whether witnesses
cosigned them, how much was erased, pruned or is held, and who used evidence.

Times are those at which the server stored records. A run counts in the hour of its
last event, a gap in that in which it showed, and what was erased in that in which
it came. Who asks is put on record first; see auditor access.

The exit status is that of auditor verify.`,
		Example: `  auditor coverage --from 2026-11-01 --to 2026-12-01
  auditor coverage --tenant acme --json --reason "quarterly review"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd, shared) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.from, "from", "", "only from this `time` on: 2026-11-20T09:14:07Z, or 2026-11-20 (UTC)")
	flags.StringVar(&c.to, "to", "", "only before this `time`, in the same forms")
	flags.StringVar(&c.file, "ledger", "", "`file` of the ledger; default is the tenant's in the data directory")
	flags.StringVar(&c.key, "key", "", "verifier `key`, or a file with it; default is ledger.pub in the data directory")
	flags.DurationVar(&c.silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
	c.register(flags)
	return cmd
}

func (c coverageFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	chosen, err := selection{from: c.from, to: c.to}.parse()
	if err != nil {
		return err
	}
	opts := verifier.Options{Silence: c.silence}
	if opts.Key, err = c.verifier(shared); err != nil {
		return err
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), c.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	opts.Tenant = r.Tenant()
	if err := recordRead(cmd, shared, r, c.file, c.access(events.AuditCoverage, selected(chosen))); err != nil {
		return err
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "coverage")
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	report, err := c.verify(cmd.Context(), shared, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	covered, err := Covered(cmd.Context(), r, report, chosen.From, chosen.To)
	if err != nil {
		return err
	}
	if shared.JSON {
		err = cli.PrintJSON(cmd, covered)
	} else {
		printCoverage(cmd, covered)
	}
	if err != nil || covered.Exit == verifier.ExitVerified {
		return err
	}
	return cli.Exit(covered.Exit)
}

func printCoverage(cmd *cobra.Command, c Coverage) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Ledger of tenant %s: %s, %s", oneLine(cli.Printable(c.Tenant)), c.Integrity, c.Completeness)
	if c.Cosignatures > 0 {
		fmt.Fprintf(out, "; witnesses cosigned %s leaves", thousands(c.Witnessed))
	}
	fmt.Fprint(out, "\n")
	if len(c.Hours) == 0 {
		fmt.Fprintln(out, "nothing came in that time")
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "hour (UTC)\tevents\tsealed\tunsealed\topen\tmissing\tgaps\tcheckpoints\twitnessed\terased\tpruned\theld\t  used by\n")
	for _, h := range c.Hours {
		witnessed := "-"
		if h.Witnessed {
			witnessed = "yes"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t  %s\n", h.Start.Format("2006-01-02 15:04"),
			h.Events, h.Sealed, h.Unsealed, h.Open, h.Missing, len(h.Gaps), h.Checkpoints, witnessed,
			h.Erased, h.Pruned, h.Held, oneLine(cli.Printable(usedBy(h.Accesses))))
	}
	w.Flush()
}

// usedBy says in short who used evidence, and how.
func usedBy(list []Accessed) string {
	var parts []string
	for _, a := range list {
		if a.Unreadable {
			continue
		}
		if part := a.By + " (" + string(a.Action) + ")"; !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
