package auditor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/coverage"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type coverageFlags struct {
	purpose
	verification

	during selection // only from and to are used
}

func coverageCommand(shared *cli.Shared) *cobra.Command {
	var c coverageFlags
	cmd := &cobra.Command{
		Use:   "coverage [--from TIME] [--to TIME]",
		Short: "Report hour by hour whether everything was captured",
		Long: `Verify a ledger and report for each hour: runs that are sealed, silent without a
seal, or open; missing events; checkpoints and whether witnesses cosigned them;
erased, pruned and held records; and who used the evidence. Hours without records
are left out.

All times are the times at which the server stored the records. A run counts in the
hour of its last event, a gap in the hour in which it was noticed, and an erased
record in the hour in which it was stored. This command is recorded first; see
auditor access.

The line "As of" and the exit status are those of auditor verify, also with
--allow-acknowledged and --max-age. Producers that are silent or lost, and findings,
are named above the hours.`,
		Example: `  auditor coverage --from 2026-11-01 --to 2026-12-01
  auditor coverage --tenant acme --json --reason "quarterly review"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd, shared) },
	}
	flags := cmd.Flags()
	c.during.registerTimes(flags, whenStored)
	c.registerSource(flags)
	c.registerWait(flags)
	c.registerTolerance(flags)
	flags.BoolVar(&c.requireEnrolled, "require-enrolled", false, requireEnrolledUsage)
	c.register(flags)
	return cmd
}

func (c coverageFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	chosen, err := c.during.parse()
	if err != nil {
		return err
	}
	if err := cmp.Or(checkMaxAge(cmd, c.maxAge), checkKey(c.key), findLedger(shared.DataDir, shared.TenantOrDefault(), c.file)); err != nil {
		return err
	}
	opts := verifier.Options{Silence: c.silence, RequireEnrolled: c.requireEnrolled, AllowAcknowledged: c.allowKnown}
	if opts.Key, err = c.verifier(shared); err != nil {
		return err
	}
	opts.Changes = rotations(shared.DataDir)
	r, err := openRecorded(cmd, shared, c.file, c.access(events.AuditCoverage, access.SelectionOf(chosen)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	opts.Tenant = r.Tenant()
	report, err := c.verify(cmd, shared, opts)
	if err != nil {
		return err
	}
	covered, err := coverage.Of(cmd.Context(), r, report, chosen.From, chosen.To)
	if err != nil {
		return err
	}
	return printVerdict(cmd, shared, covered, covered.Exit, func(out io.Writer) { printCoverage(out, covered) })
}

func printCoverage(out io.Writer, c coverage.Report) {
	fmt.Fprintf(out, "Ledger of tenant %s: %s, %s", oneLine(termtext.Printable(c.Tenant)), c.Integrity, c.Completeness)
	if c.Anchor != nil {
		fmt.Fprintf(out, ", anchor %s", c.Anchor.State)
	}
	if c.Cosignatures > 0 {
		fmt.Fprintf(out, "; witnesses cosigned %s leaves", thousands(c.Witnessed))
	}
	fmt.Fprint(out, "\n")
	if len(c.NotEnrolled) > 0 {
		fmt.Fprintf(out, "Not enrolled: %s\n", termtext.Printable(oneLine(list(c.NotEnrolled))))
	}
	for _, text := range absent(verifier.Report{Producers: c.Absent}) {
		fmt.Fprintln(out, termtext.Printable(oneLine(text)))
	}
	if c.AsOf != nil {
		fmt.Fprintf(out, "As of %s\n", termtext.Printable(oneLine(asOfText(*c.AsOf, runsText(c.Open, "open")))))
	}
	for _, reason := range c.Unproven {
		fmt.Fprintf(out, "Unproven: %s\n", termtext.Printable(oneLine(reason)))
	}
	lines{out: out}.matters(verifier.Report{
		Matters: c.Matters, AcknowledgedCount: c.AcknowledgedCount, UnacknowledgedCount: c.UnacknowledgedCount, AllowAcknowledged: c.AllowAcknowledged,
	})
	for i, o := range c.Rules {
		if i >= maxLines {
			fmt.Fprintf(out, "and %d more rules\n", len(c.Rules)-i)
			break
		}
		fmt.Fprintf(out, "Rule of %s\n", termtext.Printable(oneLine(ruleText(o))))
	}
	if len(c.Hours) == 0 {
		fmt.Fprintln(out, "no records in that time")
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
			h.Erased, h.Pruned, h.Held, oneLine(termtext.Printable(usedBy(h.Accesses))))
	}
	w.Flush()
}

func usedOnce(a access.Use) string {
	how := actionText(a)
	if osuser.Differs(a.By, a.User) {
		how += " by " + a.User
	}
	return a.By + " (" + how + ")"
}

func usedBy(list []access.Use) string {
	var parts []string
	for _, a := range list {
		if a.Unreadable {
			continue
		}
		if part := usedOnce(a); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
