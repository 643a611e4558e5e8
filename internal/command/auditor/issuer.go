package auditor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func issuerCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("issuer", "Decide whose grants enrol producers",
		issuerListCommand(shared), issuerChangeCommand(shared, events.AuditIssuer), issuerChangeCommand(shared, events.AuditRevoke),
		issuerEndorseCommand(shared))
}

// Issuer describes an order that adds or revokes an issuer. If Action is empty, Issuer describes
// the issuer key of the data directory instead.
type Issuer struct {
	Key    string             `json:"issuer"`
	Tenant string             `json:"tenant,omitempty"`
	Action events.AuditAction `json:"action,omitempty"`
	Time   time.Time          `json:"time,omitzero"`
	By     string             `json:"by,omitempty"`
	Reason string             `json:"reason,omitempty"`
	// Endorsed and EndorsedBy are read from the endorsement file next to the issuer key. They are
	// empty without that file.
	Endorsed   time.Time `json:"endorsed,omitzero"`
	EndorsedBy string    `json:"endorsed_by,omitempty"`
}

func issuerListCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the issuer of the data directory and the orders about others",
		Long: `List the public key with which the data directory enrols its outboxes, with the key of
the ledgers that endorsed it, and the orders that added or revoked issuers in a tenant's
ledger, the oldest first.`,
		Example: "  auditor issuer list --tenant acme --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := issuers(cmd, shared)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, all, func(out io.Writer) {
				w := table(out)
				for _, i := range all {
					if i.Action == "" {
						fmt.Fprintf(w, "%s\tof the data directory, %s\n", i.Key, i.endorsement())
						continue
					}
					word := "added"
					if i.Action == events.AuditRevoke {
						word = "revoked"
					}
					fmt.Fprintf(w, "%s\t%s %s by %s\t%s\n", i.Key, word, i.Time.Format(time.RFC3339),
						termtext.Printable(oneLine(i.By)), termtext.Printable(oneLine(i.Reason)))
				}
				w.Flush()
			})
		},
	}
}

func issuers(cmd *cobra.Command, shared *cli.Shared) (all []Issuer, err error) {
	all = []Issuer{}
	path := filepath.Join(auditor.KeyDir(shared.DataDir), "issuer.nk")
	own, err := publish.OpenIssuer(path)
	switch {
	case err == nil:
		all = append(all, ownIssuer(own.Public(), path))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	r, err := ledger.OpenTenant(auditor.LedgerDir(shared.DataDir), shared.TenantOrDefault())
	if errors.Is(err, fs.ErrNotExist) && len(all) > 0 {
		return all, nil // a publisher's data directory has no ledger
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	known, err := r.Orders().Issuers(cmd.Context())
	for _, o := range known.Orders() {
		all = append(all, Issuer{Key: o.Issuer, Tenant: o.Tenant, Action: o.Action, Time: o.Time, By: o.By, Reason: o.Reason})
	}
	return all, err
}

func issuerChangeCommand(shared *cli.Shared, action events.AuditAction) *cobra.Command {
	var (
		f   orderFlags
		all bool
	)
	cmd := &cobra.Command{
		Use:   "add KEY",
		Short: "Trust the grants of an issuer",
		Long: `Record in a tenant's ledger that the grants of an issuer enrol producers, also those
that the ledger has already. The order is signed with the key of the ledger. KEY is the
public key of the issuer: that of another data directory ("auditor issuer list" there),
or of a key of "hooktrail tenant add".`,
		Example: `  auditor issuer add UABC… --tenant acme --reason "publisher of the build machine"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.changeIssuer(cmd, shared, action, args[0], all)
		},
	}
	if action == events.AuditRevoke {
		cmd.Use, cmd.Short = "revoke KEY", "Trust no later grant of an issuer"
		cmd.Long = `Record in a tenant's ledger that later grants of an issuer enrol no producer. Earlier
enrolments stay valid. With --all-tenants the auditor also revokes the issuer in ledgers
that begin later. There no grant counts that arrived after this command.`
		cmd.Example = `  auditor issuer revoke UABC… --all-tenants --reason "machine was stolen"`
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&all, "all-tenants", false, "in the ledgers of all tenants of the data directory")
	return cmd
}

func (f *orderFlags) changeIssuer(cmd *cobra.Command, shared *cli.Shared, action events.AuditAction, key string, all bool) error {
	o, err := f.order(action)
	if err != nil {
		return err
	}
	o.Issuer = key
	tenants := []string{shared.TenantOrDefault()}
	if all {
		if tenants, err = ledger.Tenants(auditor.LedgerDir(shared.DataDir)); err != nil {
			return err
		}
	}
	for _, tenant := range tenants {
		if err := checkBroker(cmd, shared, tenant); err != nil {
			return err
		}
	}
	if all {
		revocation := auditor.Revocation{Issuer: key, Time: o.Time, By: o.By, Reason: o.Reason, Ticket: o.Ticket}
		if err := auditor.SetRevocation(shared.DataDir, revocation, action == events.AuditIssuer); err != nil {
			return err
		}
	}
	done := []Issuer{}
	for _, tenant := range tenants {
		o.ID = events.NewID()
		if err := f.changeIssuerOf(cmd, shared, tenant, o); err != nil {
			return fmt.Errorf("tenant %q: %w", tenant, err)
		}
		done = append(done, Issuer{Key: key, Tenant: tenant, Action: action, Time: o.Time, By: o.By, Reason: o.Reason})
	}
	return cli.Print(cmd, shared, done, func(out io.Writer) {
		for _, i := range done {
			fmt.Fprintf(out, "%s: issuer %s of tenant %s\n", map[bool]string{true: "added", false: "revoked"}[action == events.AuditIssuer],
				i.Key, termtext.Printable(i.Tenant))
		}
	})
}

func (f *orderFlags) changeIssuerOf(cmd *cobra.Command, shared *cli.Shared, tenant string, o ledger.Order) (err error) {
	r, err := openLedger(shared.DataDir, tenant, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if o, err = r.Orders().Resolve(cmd.Context(), o); err != nil {
		return err
	}
	if _, err := o.Text(); err != nil {
		return cli.Usage("%q is not the public key of an issuer, such as UABC…: %w", o.Issuer, err)
	}
	_, err = f.give(cmd, shared, r, []ledger.Order{o})
	return err
}

func issuerEndorseCommand(shared *cli.Shared) *cobra.Command {
	var of []string
	cmd := &cobra.Command{
		Use:   "endorse KEY | --for FOLDER…",
		Short: "Sign that an issuer counts in all ledgers, also in later ones",
		Long: `Print a note, signed with the key of the ledgers, that the grants of an issuer enrol
producers of all tenants, or of --tenant. Store it next to the issuer's key, with the
ending .endorsed. The outboxes of the issuer then send it with their grants.

With --for the command endorses the issuers of other data directories, and stores the
notes there. It also stores the public key of the ledgers as keys/ledger.pub there, so
that a tracker obeys erasure orders. It creates missing keys, also that of the ledgers,
so it can run before the first start of the services. Each folder must exist, and must be
empty or a data directory.`,
		Example: `  auditor issuer endorse UABC… > keys/issuer.nk.endorsed
  auditor issuer endorse --for /var/lib/publisher --for /var/lib/tracker`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (len(of) > 0) || len(args) > 1 {
				return errors.New("name the key of one issuer, or data directories with --for")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(of) > 0 {
				return endorseFolders(cmd, shared, of)
			}
			signer, _, err := writer.ReadSigner(writer.KeyFile(auditor.KeyDir(shared.DataDir)))
			if err != nil {
				return err
			}
			signed, err := ledger.Endorsement{Issuer: args[0], Tenant: shared.Tenant, Time: time.Now()}.Sign(signer)
			if err != nil {
				return cli.Usage("%w", err)
			}
			return cli.Print(cmd, shared, map[string]string{"endorsement": signed}, func(out io.Writer) { fmt.Fprint(out, signed) })
		},
	}
	cmd.Flags().StringArrayVar(&of, "for", nil, "data `folder` of a publisher or tracker; repeat for others")
	cli.LineOnly(cmd, "for")
	return cmd
}
