package auditor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func holdCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("hold", "Protect evidence from erasure and pruning",
		holdAddCommand(shared), holdLiftCommand(shared), holdListCommand(shared))
}

func holdAddCommand(shared *cli.Shared) *cobra.Command {
	var (
		f      orderFlags
		what   ledger.OrderSelection
		during selection // only from and to are used
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "add --run RUN | --event ID | --user USER | --from TIME --to TIME | --all",
		Short: "Place a legal hold on records",
		Long: `Place a hold on the records of a run, an event, a user or a range of time, or on all
records. While the hold is in force, an order to erase or prune one of these records
has no effect. The hold includes later records. It is itself a record, signed with
the key of the ledger. The command prints its id, which auditor hold lift takes.

If no auditor is running, the command drains the stream itself, and starts the embedded
server for that if no process runs it. Name another server with --nats-url.`,
		Example: `  auditor hold add --run r-42 --reason "case 2026-17" --by jdoe
  auditor hold add --from 2026-11-01 --to 2026-12-01 --reason audit --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := during.parse()
			if err != nil {
				return err
			}
			if err := refuseStart(cmd, shared, &what.Run); err != nil {
				return err
			}
			what.From, what.To = chosen.From, chosen.To
			if all != what.IsAll() {
				return cli.Usage("one of --run, --event, --user, --from, --to or --all is required, and --all excludes the others")
			}
			return f.hold(cmd, shared, events.AuditHold, func(o *ledger.Order) { o.Selection = what })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&what.Run, "run", "", "the records of this `run`, by its whole id")
	flags.StringVar(&what.Event, "event", "", "the event with this `id`")
	flags.StringVar(&what.User, "user", "", "the events of this `user`")
	flags.StringVar(&during.from, "from", "", "events from this `time`, "+whenHappened+": 2026-11-20T09:14:07Z, or 2026-11-20 (UTC)")
	flags.StringVar(&during.to, "to", "", "events before this `time`, "+whenHappened+", in the same forms")
	flags.BoolVar(&all, "all", false, "all records of the tenant")
	// A forgotten environment variable must not narrow a hold, so --user and --all ignore the
	// environment.
	cli.LineOnly(cmd, "user", "all")
	f.register(cmd)
	return cmd
}

func holdLiftCommand(shared *cli.Shared) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "lift HOLD",
		Short: "End a hold",
		Long: `End the hold with this id, as shown by auditor hold list. The end of a hold is
recorded too. The next retention scan prunes expired records. An erasure that the
hold has prevented is not repeated.

If no auditor is running, the command drains the stream itself, and starts the embedded
server for that if no process runs it. Name another server with --nats-url.`,
		Example: `  auditor hold lift 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --reason "case closed"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.hold(cmd, shared, events.AuditLift, func(o *ledger.Order) { o.Hold = args[0] })
		},
	}
	f.register(cmd)
	return cmd
}

func (f *orderFlags) hold(cmd *cobra.Command, shared *cli.Shared, action events.AuditAction, about func(*ledger.Order)) (err error) {
	o, err := f.order(action)
	if err != nil {
		return err
	}
	about(&o)
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if action == events.AuditLift {
		if err := checkHold(cmd, r, o.Hold); err != nil {
			return err
		}
	}
	if o, err = r.Orders().Resolve(cmd.Context(), o); err != nil {
		return err
	}
	done, err := f.give(cmd, shared, r, []ledger.Order{o})
	if err != nil {
		return err
	}
	if done[0].Effect == ledger.EffectVoid {
		return fmt.Errorf("order %s had no effect: hold %s was lifted before", o.ID, o.Hold)
	}
	if done[0].Effect == ledger.EffectProposed {
		return printProposed(cmd, shared, r, holdOf(o), done[0])
	}
	return cli.Print(cmd, shared, holdOf(o), func(out io.Writer) {
		if action == events.AuditLift {
			fmt.Fprintf(out, "lifted: hold %s\n", termtext.Printable(o.Hold))
			return
		}
		fmt.Fprintf(out, "held: %s of tenant %s\n  hold %s\n", selectionText(o.Selection), termtext.Printable(o.Tenant), o.ID)
	})
}

func checkHold(cmd *cobra.Command, r *ledger.Reader, id string) error {
	holds, err := r.Orders().Holds(cmd.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(holds, func(h ledger.Order) bool { return h.ID == id }) {
		return nil
	}
	return fmt.Errorf("hold %q is not in force in the ledger of tenant %q (see auditor hold list)", id, r.Tenant())
}

// Hold describes an order that protects records from erasure, or an order that ends this
// protection.
type Hold struct {
	ID     string                `json:"id"`
	Tenant string                `json:"tenant"`
	Action events.AuditAction    `json:"action"`
	Hold   string                `json:"hold,omitempty"` // hold that a lift ends
	What   ledger.OrderSelection `json:"selection"`
	Time   time.Time             `json:"time"`
	By     string                `json:"by"`
	Reason string                `json:"reason"`
	Ticket string                `json:"ticket,omitempty"`
	// LiftProposed is the id of an order to lift this hold. The order waits for approval.
	LiftProposed string `json:"lift_proposed,omitempty"`
}

func holdOf(o ledger.Order) Hold {
	return Hold{
		ID: o.ID, Tenant: o.Tenant, Action: o.Action, Hold: o.Hold, What: o.Selection, Time: o.Time, By: o.By,
		Reason: o.Reason, Ticket: o.Ticket,
	}
}

func holdListCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the holds that are in force",
		Long:    "List the holds that are in force in a tenant's ledger, the oldest first, with orders to lift them that wait for approval.",
		Example: "  auditor hold list --tenant acme --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			holds, err := r.Orders().Holds(cmd.Context())
			if err != nil {
				return err
			}
			waiting, err := r.Orders().Proposals(cmd.Context())
			if err != nil {
				return err
			}
			list := withLifts(holds, waiting)
			return cli.Print(cmd, shared, list, func(out io.Writer) {
				w := table(out)
				for _, h := range list {
					lift := ""
					if h.LiftProposed != "" {
						lift = "lift proposed: " + h.LiftProposed
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", h.ID, h.Time.Format(time.RFC3339), termtext.Printable(oneLine(h.By)),
						selectionText(h.What), termtext.Printable(oneLine(h.Reason)), lift)
				}
				w.Flush()
			})
		},
	}
}

func withLifts(holds []ledger.Order, waiting []ledger.Proposal) []Hold {
	list := make([]Hold, 0, len(holds))
	for _, h := range holds {
		shown := holdOf(h)
		for _, p := range waiting {
			if p.Order.Hold == h.ID && !time.Now().After(p.Expires) {
				shown.LiftProposed = p.Order.ID
			}
		}
		list = append(list, shown)
	}
	return list
}
