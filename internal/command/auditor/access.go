package auditor

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type accessFlags struct {
	selection
	purpose

	who, action string
}

func accessCommand(shared *cli.Shared) *cobra.Command {
	var a accessFlags
	cmd := &cobra.Command{
		Use:   "access",
		Short: "List who used evidence, how, why and when",
		Long: `List the recorded uses of the evidence in a ledger: replays, exports, proofs,
coverage reports, access lists, erasures, prunings and holds. Each use is an event
of the ledger, recorded before the evidence was used. The last line counts the
records in the data directory that have not been sent yet. The approval of an order
names the person who approved it, and then the one who gave it.

--from and --to select uses by time, --who by person and --action by action. --run
drops the uses of other runs, and keeps uses of everything, of a range of time or
of a user. This command is recorded too.`,
		Example: `  auditor access --tenant acme --from 2026-11-01
  auditor access --run r-42 --json
  auditor access --who jdoe --action export`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd, shared) },
	}
	a.selection.register(cmd.Flags(), whenHappened)
	a.purpose.register(cmd.Flags())
	cmd.Flags().StringVar(&a.who, "who", "", "only uses by this `person`")
	cmd.Flags().StringVar(&a.action, "action", "", "only this `action`: replay, export, proof, coverage, report, stream, access, erase, prune, hold, lift or key")
	return cmd
}

func (a accessFlags) list(cmd *cobra.Command, shared *cli.Shared) (err error) {
	chosen, err := a.find(cmd, shared)
	if err != nil {
		return err
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), a.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	waiting, err := access.Unsent(shared.DataDir, r.Tenant()) // counted before this command adds a record
	if err != nil {
		return err
	}
	if err := recordRead(cmd, shared, r, a.file, a.access(events.AuditAccess, access.SelectionOf(chosen))); err != nil {
		return err
	}
	list, err := access.List(cmd.Context(), r, access.Filter{
		By: a.who, Action: events.AuditAction(a.action), Run: chosen.Run, From: chosen.From, To: chosen.To,
	})
	if err != nil {
		return err
	}
	result := map[string]any{"accesses": list, "waiting": waiting}
	return cli.Print(cmd, shared, result, func(out io.Writer) { printUses(out, list, waiting) })
}

func printUses(out io.Writer, list []access.Use, waiting uint64) {
	w := table(out)
	cell := func(text string) string { return oneLine(termtext.Printable(text)) }
	for _, a := range list {
		action, what := actionText(a), whatOf(a.What)
		if a.Unreadable {
			action, what = "unreadable", "sent by "+a.Producer
		}
		if a.As != "" {
			action += " as " + a.As
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Time.Format(time.RFC3339), cell(osuser.WithNote(a.By, a.User)), cell(action),
			cell(what), cell(strings.TrimSpace(a.Ticket+" "+a.Reason)))
	}
	w.Flush()
	if waiting > 0 {
		fmt.Fprintf(out, "%d more are not sent yet, auditor serve sends them\n", waiting)
	}
}

func actionText(a access.Use) string {
	if a.OrderedBy == "" {
		return string(a.Action)
	}
	return "approve " + string(a.Action) + " ordered by " + a.OrderedBy
}

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
