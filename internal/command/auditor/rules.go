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

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const defaultWithin = "7d"

func ruleCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("rule", "Set rules for orders: a retention floor, a second person",
		floorCommand(shared), approversCommand(shared), ruleListCommand(shared))
}

func floorCommand(shared *cli.Shared) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "floor AGE",
		Short: "Set the least retention, which pruning cannot pass",
		Long: `Set the retention floor of a tenant's ledger. An order to prune a younger record has no
effect, and auditor verify reports a record that was pruned anyway as INVALID. The age
is in hours (12h), days (90d), weeks (26w) or years (7y), and counts between the times
at which the server stored the record and the order. 0 ends the floor.

The floor is an order, signed with the key of the ledger. Each change, also to a lower
age, stays on record, and auditor verify lists it. While a second person is required, a
lower floor needs one (auditor approve). An erasure is not limited by the floor.

With auditor serve --retention-floor the auditor sets the floor of all tenants.`,
		Example: `  auditor rule floor 180d --tenant acme --reason "AI act, article 26"
  auditor rule floor 0 --tenant acme --reason "the contract ended"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			age, err := ParseFloor(args[0])
			if err != nil {
				return cli.Usage("%w", err)
			}
			return f.rule(cmd, shared, ledger.Order{Action: events.AuditFloor, Floor: age})
		},
	}
	f.register(cmd)
	return cmd
}

// ParseFloor parses a retention floor such as "180d". "" and "0" mean none.
func ParseFloor(text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	age, err := ParseAge(text)
	if err != nil || age <= 0 || age%time.Second != 0 {
		return 0, fmt.Errorf("invalid retention floor %q; want 90d, 26w, 7y, 12h or 0", text)
	}
	return age, nil
}

func approversCommand(shared *cli.Shared) *cobra.Command {
	var (
		f       orderFlags
		people  []string
		actions []string
		within  string
		off     bool
	)
	cmd := &cobra.Command{
		Use:   "approvers --approver NAME=KEY ... | --off",
		Short: "Require a second person for orders",
		Long: `Require the approval of a second person for orders to erase, to prune and to lift a
hold, or only for some of them (--for). An approver is a person with an Ed25519 key of
SSH. KEY is a public key file, such as id_ed25519.pub, or the line in it. The order is
proposed first, and takes effect when an approver signs it with auditor approve. The
approver has another key than the ledger, and another name than --by of the order.

The rule is an order itself. To change it or to end it (--off), an approver of the
present rule has to approve that. auditor verify lists rules and waiting orders, and
reports records that were destroyed without approval as INVALID.

Retention rules (--keep) need the approval of each order, too. Leave prune out with
--for erase,lift to let them work alone, within the retention floor.`,
		Example: `  auditor rule approvers --approver amy=amy.pub --approver bob=bob.pub --reason "four eyes"
  auditor rule approvers --off --reason "the contract ended"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if off == (len(people) > 0) {
				return cli.Usage("one of --approver and --off is required")
			}
			o := ledger.Order{Action: events.AuditApprovers}
			if !off {
				second, err := secondPerson(people, actions, within)
				if err != nil {
					return cli.Usage("%w", err)
				}
				o.Second = second
			}
			return f.rule(cmd, shared, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&people, "approver", nil, "a person who approves orders, as `NAME=KEY`; may be repeated")
	flags.StringSliceVar(&actions, "for", []string{"erase", "lift", "prune"}, "the `orders` that need approval")
	flags.StringVar(&within, "within", defaultWithin, "the `age` at which an order can no longer be approved")
	flags.BoolVar(&off, "off", false, "require no second person any more")
	f.register(cmd)
	return cmd
}

func secondPerson(people, actions []string, within string) (s ledger.SecondPerson, err error) {
	if s.Within, err = ParseAge(within); err != nil {
		return s, fmt.Errorf("--within: invalid age %q; want 7d or 12h", within)
	}
	for _, action := range actions {
		s.For = append(s.For, events.AuditAction(action))
	}
	for _, person := range people {
		name, key, _ := strings.Cut(person, "=")
		if data, err := os.ReadFile(key); err == nil {
			key = string(data)
		}
		public, _, err := sshkey.ParsePublic(key)
		if err != nil {
			return s, fmt.Errorf("--approver %s: %w", name, err)
		}
		verifier, err := note.NewEd25519VerifierKey(name, public)
		if err != nil {
			return s, fmt.Errorf("--approver: invalid name %q: it has no space and no plus sign", name)
		}
		s.Approvers = append(s.Approvers, verifier)
	}
	slices.Sort(s.Approvers)
	slices.Sort(s.For)
	s.For = slices.Compact(s.For)
	return s, s.Validate()
}

func (f *orderFlags) rule(cmd *cobra.Command, shared *cli.Shared, rule ledger.Order) (err error) {
	o, err := f.order(rule.Action)
	if err != nil {
		return err
	}
	o.Floor, o.Second = rule.Floor, rule.Second
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if o, err = r.Orders().Resolve(cmd.Context(), o); err != nil {
		return err
	}
	done, err := f.give(cmd, shared, r, []ledger.Order{o})
	if err != nil {
		return err
	}
	if done[0].Effect == ledger.EffectProposed {
		return printProposed(cmd, shared, r, ruleOf(done[0]), done[0])
	}
	return cli.Print(cmd, shared, ruleOf(done[0]), func(out io.Writer) {
		fmt.Fprintf(out, "in force for tenant %s: %s\n  order %s\n", termtext.Printable(o.Tenant), termtext.Printable(o.Rule()), o.ID)
	})
}

// Rule describes an order that restricts later orders, such as an order that sets a retention
// floor.
type Rule struct {
	ID     string             `json:"id"` // id of the order
	Tenant string             `json:"tenant"`
	Action events.AuditAction `json:"action"` // floor or approvers
	Rule   string             `json:"rule"`   // description of the rule
	Effect ledger.Effect      `json:"effect"` // done, void, proposed or expired
	Time   time.Time          `json:"time"`   // when the order was given
	By     string             `json:"by"`     // person that gave the order
	Reason string             `json:"reason"`
}

func ruleOf(d ledger.Outcome) Rule {
	o := d.Order
	return Rule{ID: o.ID, Tenant: o.Tenant, Action: o.Action, Rule: o.Rule(), Effect: d.Effect, Time: o.Time, By: o.By, Reason: o.Reason}
}

func ruleListCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the rules that are in force",
		Long:    "List the rules for orders that are in force in a tenant's ledger. auditor verify lists earlier rules, too.",
		Example: "  auditor rule list --tenant acme",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			in, err := r.Orders().Rules(cmd.Context())
			if err != nil {
				return err
			}
			shown := struct {
				FloorSeconds int64    `json:"floor_seconds"`
				SecondPerson string   `json:"second_person"`
				Approvers    []string `json:"approvers"`
			}{int64(in.Floor / time.Second), in.Second.String(), append([]string{}, in.Second.Approvers...)}
			return cli.Print(cmd, shared, shown, func(out io.Writer) {
				fmt.Fprintln(out, termtext.Printable(ledger.Order{Action: events.AuditFloor, Floor: in.Floor}.Rule()))
				fmt.Fprintln(out, termtext.Printable(shown.SecondPerson))
			})
		},
	}
}
