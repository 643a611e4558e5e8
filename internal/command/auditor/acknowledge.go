package auditor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const minFindingID = 6

type acknowledgeFlags struct {
	orderFlags
	verification
}

func acknowledgeCommand(shared *cli.Shared) *cobra.Command {
	var f acknowledgeFlags
	cmd := &cobra.Command{
		Use:   "acknowledge FINDING…",
		Short: "Record that findings of verify are known",
		Long: `Record that a person knows a finding of auditor verify, which prints an id for each:
missing numbers, a run without a seal, a producer that proves nothing, a foreign or
misaddressed record, and a record with the id of another one. The first 6 characters of
an id are enough. The record is signed with the key of the ledger. It changes no record
and no verdict.

auditor verify lists new and acknowledged findings apart. With --allow-acknowledged its
exit status is about the new ones alone. An id is about exactly these numbers, this part
of a run or this record. If more is lost, that is another finding.

A result of a denied call cannot be acknowledged.`,
		Example: `  auditor acknowledge 3f9a12bc04de --reason "disk of build-7 failed" --ticket OPS-12 --by jdoe
  auditor verify --allow-acknowledged`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, shared, args) },
	}
	cmd.Flags().DurationVar(&f.silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
	f.register(cmd)
	return cmd
}

// Acknowledged is the JSON output of the command "auditor acknowledge".
type Acknowledged struct {
	Tenant   string            `json:"tenant"`
	Order    string            `json:"order"`
	By       string            `json:"by"`
	Reason   string            `json:"reason"`
	Ticket   string            `json:"ticket,omitempty"`
	Findings []verifier.Matter `json:"findings"`
}

func (f *acknowledgeFlags) run(cmd *cobra.Command, shared *cli.Shared, ids []string) (err error) {
	o, err := f.order(events.AuditAcknowledge)
	if err != nil {
		return err
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	named, err := f.named(cmd, shared, r, ids)
	if err != nil {
		return err
	}
	for _, m := range named {
		o.Findings = append(o.Findings, m.ID)
	}
	if o, err = r.Orders().Resolve(cmd.Context(), o); err != nil {
		return err
	}
	if _, err := f.give(cmd, shared, r, []ledger.Order{o}); err != nil {
		return err
	}
	result := Acknowledged{Tenant: o.Tenant, Order: o.ID, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Findings: named}
	return cli.Print(cmd, shared, result, func(out io.Writer) {
		for _, m := range named {
			fmt.Fprintf(out, "acknowledged: %s  %s\n", shortID(m.ID), termtext.Printable(oneLine(matterText(m))))
		}
		fmt.Fprintf(out, "  order %s\n", o.ID)
	})
}

func (f *acknowledgeFlags) named(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, ids []string) (named []verifier.Matter, err error) {
	opts := verifier.Options{Tenant: r.Tenant(), Silence: f.silence}
	if opts.Key, err = f.verifier(shared); err != nil {
		return nil, err
	}
	opts.Changes = rotations(shared.DataDir)
	report, err := verifier.Verify(cmd.Context(), r.Path(), opts)
	if err != nil {
		return nil, err
	}
	if report.Integrity != verifier.Verified {
		return nil, &cli.StatusError{Status: verifier.ExitInvalid, Err: errors.New("the ledger is INVALID, so nothing is acknowledged: auditor verify shows the problems")}
	}
	for _, id := range ids {
		m, err := namedIn(report, id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(named, func(n verifier.Matter) bool { return n.ID == m.ID }) {
			named = append(named, m)
		}
	}
	return named, nil
}

func namedIn(r verifier.Report, id string) (verifier.Matter, error) {
	if len(id) < minFindingID {
		return verifier.Matter{}, cli.Usage("%q is too short: name a finding with at least %d characters of its id", id, minFindingID)
	}
	var found []verifier.Matter
	for _, m := range r.Matters {
		if strings.HasPrefix(m.ID, strings.ToLower(id)) && !slices.ContainsFunc(found, func(n verifier.Matter) bool { return n.ID == m.ID }) {
			found = append(found, m)
		}
	}
	switch {
	case len(found) == 0:
		return verifier.Matter{}, fmt.Errorf("the ledger of tenant %q has no finding %q: auditor verify prints those that can be acknowledged", r.Tenant, id)
	case len(found) > 1:
		return verifier.Matter{}, fmt.Errorf("%q names %d findings: add more of the id", id, len(found))
	case found[0].Acknowledged != nil:
		a := found[0].Acknowledged
		return verifier.Matter{}, fmt.Errorf("finding %s was acknowledged by %s on %s", shortID(found[0].ID), a.By, a.Time.Format("2006-01-02"))
	}
	return found[0], nil
}
