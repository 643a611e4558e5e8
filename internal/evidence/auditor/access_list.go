package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Accessed is a use of evidence that is on record in a ledger.
type Accessed struct {
	Leaf     int64                  `json:"leaf"`
	ID       string                 `json:"id"`
	Time     time.Time              `json:"time"`     // as who recorded it says
	Producer string                 `json:"producer"` // whose outbox it came from
	Action   events.AuditAction     `json:"action"`
	By       string                 `json:"by"`
	Reason   string                 `json:"reason,omitempty"`
	Ticket   string                 `json:"ticket,omitempty"`
	What     *events.AuditSelection `json:"selection,omitempty"` // absent: everything
	As       string                 `json:"as,omitempty"`
	Order    bool                   `json:"order"` // it came with an order; auditor verify tells whether that took effect

	// Unreadable says that the event has nothing in it that such a record has: the
	// auditor sends none like that, but an engine can.
	Unreadable bool `json:"unreadable,omitempty"`
}

// AccessFilter chooses among uses of evidence: what fits all that is set.
type AccessFilter struct {
	By     string
	Action events.AuditAction
	// Run leaves out what was about another run, or about an event of another
	// run. What was about everything, a range of time or a user may have been
	// about this run, and stays.
	Run      string
	From, To time.Time // when it was recorded; zero: any
}

// Accesses returns the uses of evidence that are on record in a ledger and fit
// the filter, in the order of the ledger.
func Accesses(ctx context.Context, r *ledger.Reader, f AccessFilter) ([]Accessed, error) {
	list := []Accessed{}
	for e, err := range r.Accesses(ctx) {
		if err != nil {
			return nil, err
		}
		a := readAccess(e)
		ok, err := f.fits(ctx, r, a)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, a)
		}
	}
	return list, nil
}

// readAccess reads a record of access. Anybody may publish something else under
// that kind: it must not keep the others from being read.
func readAccess(e ledger.Entry) Accessed {
	a := Accessed{Leaf: e.Leaf, ID: e.ID, Time: e.Time, Producer: e.Producer}
	event, err := events.Decode(e.Bytes)
	if err != nil {
		a.Unreadable = true
		return a
	}
	d, err := events.Payload[events.AuditAccessedData](event)
	if err != nil {
		a.Unreadable = true
		return a
	}
	_, large := d.Blobs["order"]
	a.Action, a.By, a.Reason, a.Ticket = d.Action, d.By, d.Reason, d.Ticket
	a.What, a.As, a.Order = d.Selection, d.As, d.Order != "" || large
	return a
}

func (f AccessFilter) fits(ctx context.Context, r *ledger.Reader, a Accessed) (bool, error) {
	if f.By != "" && a.By != f.By || f.Action != "" && a.Action != f.Action {
		return false, nil
	}
	if !f.From.IsZero() && a.Time.Before(f.From) || !f.To.IsZero() && !a.Time.Before(f.To) {
		return false, nil
	}
	return f.mayTouch(ctx, r, a.What)
}

// mayTouch reports whether a use of what was selected may have been about the run.
func (f AccessFilter) mayTouch(ctx context.Context, r *ledger.Reader, what *events.AuditSelection) (bool, error) {
	if f.Run == "" || what == nil {
		return true, nil
	}
	if what.Event != "" {
		e, ok, err := r.Find(ctx, what.Event)
		return ok && e.Run == f.Run, err
	}
	return what.Run == "" || what.Run == f.Run, nil
}

// accessing are the flags of access.
type accessing struct {
	selection
	purpose

	who, action string
}

func accessCommand(shared *cli.Shared) *cobra.Command {
	var a accessing
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Tell who used evidence, how, why and when",
		Long: `List the uses of evidence that are on record in a ledger: who replayed, exported
or proved what, asked for coverage or for this list, erased, pruned or held. Each
is an event of the ledger, recorded before it was done. What waits in the data
directory to be sent is counted at the end.

--from and --to choose by when that was, --who and --action by who did what. --run
leaves out what was about another run; what was about everything, a range of time
or a user stays. That somebody lists them is put on record too.`,
		Example: `  auditor access --tenant acme --from 2026-11-01
  auditor access --run r-42 --json
  auditor access --who jdoe --action export`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd, shared) },
	}
	a.selection.register(cmd.Flags())
	a.purpose.register(cmd.Flags())
	cmd.Flags().StringVar(&a.who, "who", "", "only what this `person` did")
	cmd.Flags().StringVar(&a.action, "action", "", "only this `action`: replay, export, proof, coverage, access, erase, prune, hold, lift or key")
	return cmd
}

func (a accessing) list(cmd *cobra.Command, shared *cli.Shared) (err error) {
	chosen, err := a.parse()
	if err != nil {
		return err
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), a.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	waiting, err := unsent(shared.DataDir, r.Tenant()) // before this one does
	if err != nil {
		return err
	}
	if err := recordRead(cmd, shared, r, a.file, a.access(events.AuditAccess, selected(chosen))); err != nil {
		return err
	}
	list, err := Accesses(cmd.Context(), r, AccessFilter{
		By: a.who, Action: events.AuditAction(a.action), Run: chosen.Run, From: chosen.From, To: chosen.To,
	})
	if err != nil {
		return err
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, map[string]any{"accesses": list, "waiting": waiting})
	}
	printAccesses(cmd, list, waiting)
	return nil
}

// unsent returns how many records of a tenant wait in the data directory.
func unsent(dataDir, tenant string) (uint64, error) {
	state, err := publish.Inspect(AccessOutbox(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return state.Tenants[tenant], err
}

func printAccesses(cmd *cobra.Command, list []Accessed, waiting uint64) {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	cell := func(text string) string { return oneLine(cli.Printable(text)) }
	for _, a := range list {
		action, what := string(a.Action), whatOf(a.What)
		if a.Unreadable {
			action, what = "unreadable", "sent by "+a.Producer
		}
		if a.As != "" {
			action += " as " + a.As
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Time.Format(time.RFC3339), cell(a.By), cell(action),
			cell(what), cell(strings.TrimSpace(a.Ticket+" "+a.Reason)))
	}
	w.Flush()
	if waiting > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%d more wait in the data directory to be sent: auditor serve sends them\n", waiting)
	}
}

// whatOf says in words what a selection chooses.
func whatOf(s *events.AuditSelection) string {
	if s == nil {
		return "everything"
	}
	var parts []string
	for _, p := range [...]struct{ name, value string }{
		{"run", s.Run}, {"event", s.Event}, {"user", s.User}, {"kind", s.Kind}, {"hold", s.Hold},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if s.From != nil {
		parts = append(parts, "from "+s.From.Format(time.RFC3339))
	}
	if s.To != nil {
		parts = append(parts, "to "+s.To.Format(time.RFC3339))
	}
	return strings.Join(parts, ", ")
}
