package publisher

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

type tokenFlags struct {
	shared *cli.Shared
	file   string
}

func (f *tokenFlags) path() string {
	return cmp.Or(f.file, tokens.Path(f.shared.DataDir))
}

func tokenCommand(shared *cli.Shared) *cobra.Command {
	f := &tokenFlags{shared: shared}
	cmd := cli.Group("token", "Create, list and revoke the tokens of HTTP senders",
		f.register(f.createCommand()), f.register(f.listCommand()), f.register(f.revokeCommand()))
	cmd.Long = "A token lets its owner send events and request decisions over HTTP, for one tenant.\n" +
		"Once the first token exists, publisher serve and hooktrail up refuse requests without one.\n" +
		"Only hashes of the tokens are stored."
	return cmd
}

func (f *tokenFlags) register(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.file, "tokens", "", "token `file`; keys/http-tokens.json in the data directory if empty")
	return cmd
}

type shownToken struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	Token   string    `json:"token,omitempty"`
}

func shown(t tokens.Token) shownToken {
	return shownToken{ID: t.ID, Tenant: t.Tenant, Note: t.Note, Created: t.Created}
}

func (f *tokenFlags) createCommand() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token for a tenant, and print it once",
		Example: "  publisher token create --tenant acme --note 'build farm'\n" +
			"  export HOOKTRAIL_TOKEN=$(publisher token create --tenant acme)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret, token, err := tokens.Create(cmd.Context(), f.path(), f.shared.TenantOrDefault(), note)
			if err != nil {
				return err
			}
			s := shown(token)
			s.Token = secret.Reveal()
			return cli.Print(cmd, f.shared, s, func(out io.Writer) {
				fmt.Fprintln(out, s.Token)
				fmt.Fprintf(cmd.ErrOrStderr(), "token %s of tenant %s is shown only this once; revoke it with publisher token revoke %s\n",
					s.ID, termtext.Printable(s.Tenant), s.ID)
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` with the purpose of the token")
	return cmd
}

func (f *tokenFlags) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens of all tenants or of one",
		Example: "  publisher token list --tenant acme",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := f.ofTenant()
			if err != nil {
				return err
			}
			return cli.Print(cmd, f.shared, list, func(out io.Writer) {
				w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tTENANT\tCREATED\tNOTE")
				for _, t := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, termtext.Printable(t.Tenant), t.Created.Format(time.RFC3339), termtext.Printable(t.Note))
				}
				w.Flush()
			})
		},
	}
}

func (f *tokenFlags) ofTenant() ([]shownToken, error) {
	list, err := tokens.List(f.path())
	if err != nil {
		return nil, err
	}
	all := []shownToken{}
	for _, t := range list {
		if f.shared.Tenant == "" || f.shared.Tenant == t.Tenant {
			all = append(all, shown(t))
		}
	}
	return all, nil
}

func (f *tokenFlags) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID…",
		Short:   "Revoke tokens with immediate effect",
		Example: "  publisher token revoke 1f0c2a7e",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.revoke(cmd, args)
		},
	}
}

func (f *tokenFlags) revoke(cmd *cobra.Command, ids []string) error {
	gone := []shownToken{}
	var errs []error
	for _, id := range ids {
		t, err := tokens.Revoke(cmd.Context(), f.path(), f.shared.Tenant, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, shown(t))
	}
	errs = append(errs, cli.Print(cmd, f.shared, gone, func(out io.Writer) {
		for _, t := range gone {
			fmt.Fprintf(out, "revoked %s of tenant %s\n", t.ID, termtext.Printable(t.Tenant))
		}
	}))
	return errors.Join(errs...)
}
