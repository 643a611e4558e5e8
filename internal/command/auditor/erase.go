package auditor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxRepeats limits how often an erasure is ordered again for records that arrive meanwhile.
// Without a limit, an active run could keep the command running.
const maxRepeats = 5

type eraseFlags struct {
	orderFlags

	what ledger.OrderSelection
}

func eraseCommand(shared *cli.Shared) *cobra.Command {
	var e eraseFlags
	cmd := &cobra.Command{
		Use:   "erase --run RUN | --event ID | --user USER",
		Short: "Erase the payloads of events, and keep the proofs",
		Long: `Erase the payloads of a run, of one event, or of all events with a user's userid.
They are removed from the ledger, its log and free pages, from blobs that nothing
else uses, and from the AgentFS files. The leaves stay, so that every proof remains
valid. auditor verify reports who erased records, when and why. An erased event
that arrives again is not stored again.

An erasure is an order, signed with the key of the ledger. It is recorded first, and
takes effect when the auditor reads it back from the stream. A rebuilt ledger never
contains erased payloads. Erase waits for the effect. If no auditor is running,
erase drains the stream itself, and starts the embedded server for that if no process
runs it. Name another server with --nats-url. Records that arrive during the wait are
erased too. Records that arrive later are not: run erase again.

A tracker with another data directory erases its texts when it reads the order, and
answers in the stream. If the ledger has decisions of such a tracker, erase waits for the
answer, and exits with 1 if it is missing after --wait, if the tracker has no key, or if
no enrolled key has signed the answer.

The target comes from the command line only, and not from a variable such as
HOOKTRAIL_RUN. A hold (auditor hold) prevents an erasure. Manifests, seals, gap
records and the auditor's own records have no payload and stay. The stream's copy
expires by the limits of the stream.

A repeated erase gives no new order. It finishes an erasure that was interrupted, waits
for the answer of the tracker, and exits with 0.`,
		Example: `  auditor erase --run r-42 --reason "subject request" --ticket DSR-88 --dry-run
  auditor erase --tenant acme --user jane --reason "subject request" --ticket DSR-88 --by jdoe
  auditor erase --event 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --reason "a password" --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd, shared) },
	}
	flags := cmd.Flags()
	flags.StringVar(&e.what.Run, "run", "", "the events of this `run`, by its whole id")
	flags.StringVar(&e.what.Event, "event", "", "the event with this `id`")
	flags.StringVar(&e.what.User, "user", "", "the events of this `user`")
	e.registerTracker(cmd)
	flags.BoolVar(&e.dryRun, "dry-run", false, "report what would be erased, and erase nothing")
	cli.LineOnly(cmd, "user")
	cmd.MarkFlagsOneRequired("run", "event", "user")
	cmd.MarkFlagsMutuallyExclusive("run", "event", "user")
	e.register(cmd)
	return cmd
}

// Change is the JSON output of the commands "auditor erase" and "auditor prune".
type Change struct {
	Tenant string             `json:"tenant"`
	Action events.AuditAction `json:"action"` // erase or prune
	Orders []string           `json:"orders"` // ids of the orders
	// Records counts the records whose payloads were removed, or would be with --dry-run.
	Records int64 `json:"records"`
	DryRun  bool  `json:"dry_run,omitempty"` // nothing was ordered
	// NeedsApproval is only set with --dry-run. It means that a second person must approve the
	// order.
	NeedsApproval bool `json:"needs_approval,omitempty"`
	// Repeated means that an earlier erasure removed the records, and that this one finished it.
	Repeated bool            `json:"repeated,omitempty"`
	Effects  []ledger.Effect `json:"effects,omitempty"` // of each order: done, void, held, floor or proposed
	By       string          `json:"by"`                // person that gave the order
	Reason   string          `json:"reason"`
	Ticket   string          `json:"ticket,omitempty"`
	Stream   StreamCopy      `json:"stream_copy,omitempty"` // kept, endless, gone or unknown
	// Expires is when the event stream deletes its last copy of the records, if there is a copy
	// and it expires.
	Expires *time.Time            `json:"stream_copy_expires,omitempty"`
	What    ledger.OrderSelection `json:"selection"`         // records that the first order is about
	Tracker TrackerAnswer         `json:"tracker,omitempty"` // of an erasure
}

func (e *eraseFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	o, err := e.order(events.AuditErase)
	if err != nil {
		return err
	}
	if err := refuseStart(cmd, shared, &e.what.Run); err != nil {
		return err
	}
	o.Selection = e.what
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if o, err = r.Orders().Resolve(cmd.Context(), o); err != nil {
		return err
	}
	if len(o.Leaves) == 0 {
		return e.repeat(cmd, shared, r, o)
	}
	if err := refuseHeld(cmd.Context(), r, o); err != nil {
		return err
	}
	return e.carryOut(cmd, shared, r, []ledger.Order{o})
}

// repeat finishes an erasure whose command or auditor was killed behind the effect.
func (e *eraseFlags) repeat(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, o ledger.Order) error {
	done, err := r.Orders().Done(cmd.Context(), o.Action, o.Selection)
	if err == nil && (len(done) == 0 || e.dryRun) {
		err = fmt.Errorf("ledger of tenant %q has no payload to erase for %s", r.Tenant(), selectionText(o.Selection))
	}
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(done))
	for _, d := range done {
		ids = append(ids, d.Order.ID)
	}
	if done, err = e.await(cmd, shared, r, ids); err != nil {
		return err
	}
	c := changeOf(done[0].Order)
	c.Tenant, c.Repeated = r.Tenant(), true
	return e.report(cmd, shared, r, c, done, nil)
}

func refuseHeld(ctx context.Context, r *ledger.Reader, o ledger.Order) error {
	holds, err := r.Orders().BlockingHolds(ctx, o)
	if err != nil || len(holds) == 0 {
		return err
	}
	texts := make([]string, 0, len(holds))
	for _, h := range holds {
		texts = append(texts, fmt.Sprintf("%s of %s by %s (%s)", h.ID, selectionText(h.Selection), h.By, h.Reason))
	}
	return fmt.Errorf("nothing was erased because of hold %s; auditor hold lift ends a hold", strings.Join(texts, ", and by hold "))
}

func (f *orderFlags) carryOut(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, orders []ledger.Order) error {
	first := orders[0]
	c := changeOf(first)
	c.Tenant, c.DryRun = r.Tenant(), f.dryRun
	if f.dryRun {
		for _, o := range orders {
			c.Records += o.Leaves.Count()
		}
		rules, err := r.Orders().Rules(cmd.Context())
		if err != nil {
			return err
		}
		c.NeedsApproval = rules.Needs(first)
		return f.print(cmd, shared, c)
	}
	done, err := f.giveAll(cmd, shared, r, orders)
	if len(done) == 0 {
		return err
	}
	return f.report(cmd, shared, r, c, done, err)
}

func changeOf(o ledger.Order) Change {
	return Change{
		Tenant: o.Tenant, Action: o.Action, By: o.By, Reason: o.Reason, Ticket: o.Ticket, What: o.Selection, Orders: []string{},
	}
}

func (f *orderFlags) report(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, c Change, done []ledger.Outcome, err error) error {
	for _, d := range done {
		c.Orders, c.Effects = append(c.Orders, d.Order.ID), append(c.Effects, d.Effect)
		c.Records += d.Removed
		if d.Effect == ledger.EffectHeld || d.Effect == ledger.EffectFloor {
			err = errors.Join(err, fmt.Errorf("order %s removed nothing: %s", d.Order.ID, effectText(d.Effect)))
		}
	}
	if c.Records > 0 {
		c.streamCopy(cmd, shared, r, done)
		var missing error
		c.Tracker, missing = f.awaitTracker(cmd, shared, r, done)
		err = errors.Join(err, missing)
	}
	if done[0].Effect == ledger.EffectProposed {
		return errors.Join(printProposed(cmd, shared, r, c, done...), err)
	}
	return errors.Join(f.print(cmd, shared, c), err)
}

func (f *orderFlags) giveAll(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, orders []ledger.Order) ([]ledger.Outcome, error) {
	done, err := f.give(cmd, shared, r, orders)
	for range maxRepeats {
		if err != nil || orders[0].Action != events.AuditErase || slices.ContainsFunc(done, func(o ledger.Outcome) bool { return o.Effect != ledger.EffectDone }) {
			break
		}
		late := orders[0]
		late.ID, late.Time = events.NewID(), time.Now().UTC()
		if late, err = r.Orders().Resolve(cmd.Context(), late); err != nil || len(late.Leaves) == 0 {
			break
		}
		var more []ledger.Outcome
		more, err = f.give(cmd, shared, r, []ledger.Order{late})
		done = append(done, more...)
	}
	return done, err
}

func (f *orderFlags) print(cmd *cobra.Command, shared *cli.Shared, c Change) error {
	return cli.Print(cmd, shared, c, func(out io.Writer) { printChange(out, c) })
}

func printChange(out io.Writer, c Change) {
	records := plural(c.Records, "record", "records")
	word := map[events.AuditAction]string{events.AuditErase: "erased", events.AuditPrune: "pruned"}[c.Action]
	if c.DryRun {
		if c.NeedsApproval {
			word = "proposed, and " + word + " after the approval of a second person"
		}
		fmt.Fprintf(out, "would be %s: %s of tenant %s\n", word, records, termtext.Printable(c.Tenant))
		return
	}
	if c.Repeated {
		word = "erased before, and now from all files"
	}
	fmt.Fprintf(out, "%s: %s of tenant %s; their leaves and all proofs are unchanged\n", word, records, termtext.Printable(c.Tenant))
	for _, id := range c.Orders {
		fmt.Fprintf(out, "  order %s\n", id)
	}
	printTracker(out, c.Tracker)
	printStreamCopy(out, c)
}

func printTracker(out io.Writer, a TrackerAnswer) {
	if a == TrackerErased {
		fmt.Fprintln(out, "  the tracker has erased its texts")
	}
}

func selectionText(s ledger.OrderSelection) string {
	var parts []string
	for _, p := range [...]struct{ word, value string }{
		{"run", s.Run}, {"event", s.Event}, {"user", s.User}, {"kinds", s.Kind}, {"from", timeText(s.From)}, {"before", timeText(s.To)},
	} {
		if p.value != "" {
			parts = append(parts, p.word+" "+termtext.Printable(oneLine(p.value)))
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
