package auditor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type approval struct {
	orderFlags

	identity, out, signed string
}

func approveCommand(shared *cli.Shared) *cobra.Command {
	a := approval{orderFlags: orderFlags{approving: true}}
	cmd := &cobra.Command{
		Use:   "approve [ORDER]",
		Short: "Approve an order as the second person",
		Long: `Sign an order that waits for its approval, so that it takes effect. Without ORDER, list
the orders that wait. auditor rule approvers names the people who can approve.

The key is that of an approver in the ssh-agent at SSH_AUTH_SOCK, or in the private file
of --identity. Nobody can approve an order that has their name in --by.

After an order to erase it waits like auditor erase for the answer of a tracker with another
data directory.

An approver who may read the ledger and not write to the data directory signs with
--out, and sends the file to a person who passes it to --signed.`,
		Example: `  auditor approve --tenant acme
  auditor approve 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --tenant acme
  auditor approve 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --tenant acme --identity amy_ed25519 --out approved.txt
  auditor approve --tenant acme --signed approved.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && a.signed != "" {
				return cli.Usage("--signed has the order, so ORDER is not allowed")
			}
			return a.run(cmd, shared, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&a.identity, "identity", "", "private `file` of the approver's key; default is ssh-agent")
	flags.StringVar(&a.out, "out", "", "write the signed order to this `file`, and record nothing")
	flags.StringVar(&a.signed, "signed", "", "record the approved order in this `file`")
	flags.DurationVar(&a.wait, "wait", orderWait, "how long to wait for the effect")
	a.registerTracker(cmd)
	cmd.MarkFlagsMutuallyExclusive("signed", "identity")
	cmd.MarkFlagsMutuallyExclusive("signed", "out")
	return cmd
}

func (a *approval) run(cmd *cobra.Command, shared *cli.Shared, args []string) (err error) {
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rules, err := r.Orders().Rules(cmd.Context())
	if err != nil {
		return err
	}
	if len(args) == 0 && a.signed == "" {
		return listProposals(cmd, shared, r)
	}
	signed, err := a.approved(cmd, shared, r, rules, args)
	if err != nil {
		return err
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if err != nil {
		return err
	}
	o, name, effect, err := rules.Open(signed, note.VerifierList(key), time.Now())
	switch {
	case err != nil:
		return fmt.Errorf("approve: %w (if the key of the ledger has changed, give the order again)", err)
	case name == "":
		return fmt.Errorf("approve: order %s has no signature of an approver", o.ID)
	case effect == ledger.EffectExpired:
		return fmt.Errorf("approve: order %s expired at %s: give it again", o.ID, rules.Expires(o).Format(time.RFC3339))
	case o.Tenant != r.Tenant():
		return fmt.Errorf("approve: order %s is of tenant %q", o.ID, o.Tenant)
	case a.out != "":
		return os.WriteFile(a.out, signed, 0o600)
	}
	return a.carryOutApproved(cmd, shared, r, o, name, signed)
}

func (a *approval) approved(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, rules ledger.Rules, args []string) ([]byte, error) {
	if a.signed != "" {
		return os.ReadFile(a.signed)
	}
	return a.sign(cmd, shared, r, rules, args[0])
}

func (a *approval) sign(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, rules ledger.Rules, id string) ([]byte, error) {
	list, err := r.Orders().Proposals(cmd.Context())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p ledger.Proposal) bool { return p.Order.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("no order %q waits in the ledger of tenant %q (auditor approve lists them)", id, r.Tenant())
	}
	signer, err := a.signer(rules, list[i].Order.By)
	if err != nil {
		return nil, err
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if err != nil {
		return nil, err
	}
	return ledger.Approve(list[i].Signed, note.VerifierList(key), signer)
}

func (a *approval) signer(rules ledger.Rules, proposer string) (note.Signer, error) {
	var names []string
	var errs error
	except := ""
	for _, text := range rules.Second.Approvers {
		name, public, err := sshkey.PublicOf(text)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(name, strings.TrimSpace(proposer)) {
			except = fmt.Sprintf("; %s cannot, because %q gave the order, which is the same name", name, proposer)
			continue
		}
		names = append(names, name)
		if a.identity != "" {
			signer, own, err := sshkey.ReadFile(a.identity, name)
			if err != nil {
				return nil, err
			}
			if own == text {
				return signer, nil
			}
			continue
		}
		fingerprint, err := sshkey.Fingerprint(public)
		if err != nil {
			return nil, err
		}
		if _, err = sshkey.Find(fingerprint); err == nil {
			return sshkey.NewSigner(text)
		}
		errs = err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no approver can approve this order: the ledger has none with another name than the person who gave it%s", except)
	}
	return nil, errors.Join(fmt.Errorf("the key is not of an approver: %s can approve this order%s", strings.Join(names, ", "), except), errs)
}

func (a *approval) carryOutApproved(
	cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, o ledger.Order, name string, signed []byte,
) error {
	if err := checkBroker(cmd, shared, o.Tenant); err != nil {
		return err
	}
	d := access.OrderRecord(o, string(signed))
	d.By = name
	if _, err := access.Record(cmd.Context(), shared.DataDir, o.Tenant, d); err != nil {
		return err
	}
	done, err := a.await(cmd, shared, r, []string{o.ID})
	if err != nil {
		return fmt.Errorf("%w (the approval is on record, and still takes effect)", err)
	}
	got := done[0]
	if got.Effect != ledger.EffectDone {
		err = fmt.Errorf("order %s is approved and had no effect: %s", o.ID, effectText(got.Effect))
	}
	shown := Approved{Order: o.ID, Tenant: o.Tenant, Action: o.Action, Approver: name, Effect: got.Effect, Records: got.Removed}
	if got.Removed > 0 {
		var missing error
		shown.Tracker, missing = a.awaitTracker(cmd, shared, r, done)
		err = errors.Join(err, missing)
	}
	return errors.Join(cli.Print(cmd, shared, shown, func(out io.Writer) {
		fmt.Fprintf(out, "approved by %s: %s\n  order %s\n", name, orderText(o), o.ID)
		if got.Removed > 0 {
			fmt.Fprintf(out, "  %s\n", plural(got.Removed, "record destroyed", "records destroyed"))
		}
		printTracker(out, shown.Tracker)
	}), err)
}

// Approved is the result of auditor approve.
type Approved struct {
	Order    string             `json:"order"`
	Tenant   string             `json:"tenant"`
	Action   events.AuditAction `json:"action"`
	Approver string             `json:"approver"`
	Effect   ledger.Effect      `json:"effect"`
	Records  int64              `json:"records"`
	Tracker  TrackerAnswer      `json:"tracker,omitempty"` // of an order to erase
}

// Waiting describes an order that takes effect only after a second person has approved it.
type Waiting struct {
	ID      string                `json:"id"`
	Tenant  string                `json:"tenant"`
	Action  events.AuditAction    `json:"action"`
	What    ledger.OrderSelection `json:"selection,omitzero"`
	Hold    string                `json:"hold,omitempty"`
	Rule    string                `json:"rule,omitempty"`
	Records int64                 `json:"records,omitempty"` // leaves that the order names
	Time    time.Time             `json:"time"`
	Expires time.Time             `json:"expires"`
	Expired bool                  `json:"expired,omitempty"`
	By      string                `json:"by"`
	Reason  string                `json:"reason"`
}

func listProposals(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader) error {
	found, err := r.Orders().Proposals(cmd.Context())
	if err != nil {
		return err
	}
	list := make([]Waiting, 0, len(found))
	for _, p := range found {
		o := p.Order
		list = append(list, Waiting{
			ID: o.ID, Tenant: o.Tenant, Action: o.Action, What: o.Selection, Hold: o.Hold, Rule: o.Rule(), Records: o.Leaves.Count(),
			Time: o.Time, Expires: p.Expires, Expired: time.Now().After(p.Expires), By: o.By, Reason: o.Reason,
		})
	}
	return cli.Print(cmd, shared, list, func(out io.Writer) {
		w := table(out)
		for i, p := range list {
			until := "until " + p.Expires.Format(time.RFC3339)
			if p.Expired {
				until = "expired"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.ID, orderText(found[i].Order), until,
				termtext.Printable(oneLine(p.By)), termtext.Printable(oneLine(p.Reason)))
		}
		w.Flush()
	})
}

func printProposed(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, shown any, orders ...ledger.Outcome) error {
	rules, err := r.Orders().Rules(cmd.Context())
	if err != nil {
		return err
	}
	return cli.Print(cmd, shared, shown, func(out io.Writer) {
		for _, d := range orders {
			fmt.Fprintf(out, "proposed: %s\n  not done: it waits for a second person until %s, who uses auditor approve %s\n",
				orderText(d.Order), rules.Expires(d.Order).Format(time.RFC3339), d.Order.ID)
		}
	})
}

func orderText(o ledger.Order) string {
	switch {
	case o.Rule() != "":
		return "set " + termtext.Printable(o.Rule())
	case o.Hold != "":
		return "lift hold " + termtext.Printable(oneLine(o.Hold))
	}
	text := string(o.Action) + " " + selectionText(o.Selection)
	if n := o.Leaves.Count(); n > 0 {
		text += ", " + plural(n, "record", "records")
	}
	return text
}

func effectText(e ledger.Effect) string {
	switch e { //nolint:exhaustive // an order with another effect was carried out
	case ledger.EffectHeld:
		return "a hold came before it"
	case ledger.EffectFloor:
		return "the retention floor protects one of its records"
	case ledger.EffectExpired:
		return "the approval came too late"
	}
	return "another order came before it"
}
