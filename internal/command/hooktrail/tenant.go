package hooktrail

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func tenantCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("tenant", "Let engines of a tenant connect to NATS themselves",
		tenantAddCommand(shared), tenantListCommand(shared), tenantRemoveCommand(shared))
}

type added struct {
	broker.TenantKey

	Seed string `json:"seed,omitempty"` // absent if File has it
	File string `json:"file,omitempty"`
	// Endorsed means that an endorsement file is next to File. Without it, engines cannot enrol
	// their outboxes.
	Endorsed bool `json:"endorsed,omitempty"`
}

func tenantAddCommand(shared *cli.Shared) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "add TENANT",
		Short: "Make a key with which engines of a tenant connect",
		Long: `Create a key for engines of a tenant that connect to NATS directly, in an account of
the tenant. They may write the tenant's events and manifests, look up the last manifest
of their own chains, and request decisions. The command prints the seed or writes it to
--out. It stores no copy. A tenant may have several keys.

The key also enrols the outboxes of these engines (publish.Options.Issuer). If the data
directory has the key of the ledgers, --out also writes the endorsement that the outboxes
need, next to the seed. Otherwise use "auditor issuer add".

The embedded server of the data directory accepts the key at once. For your own server
run "hooktrail nats creds" again.`,
		Example: `  hooktrail tenant add acme --out acme.nk
  hooktrail tenant add acme --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, seed, err := broker.AddTenant(shared.DataDir, args[0])
			if err != nil {
				return err
			}
			out := added{TenantKey: k, Seed: string(seed)}
			if file != "" {
				out.Seed, out.File = "", file
				if err := writeSeed(file, seed); err != nil {
					_, undone := broker.RemoveTenant(shared.DataDir, k.Tenant, k.Key)
					return errors.Join(err, undone)
				}
				if out.Endorsed, err = endorseTenant(shared.DataDir, file, k.Tenant); err != nil {
					return err
				}
			}
			return cli.Print(cmd, shared, out, func(w io.Writer) {
				fmt.Fprintf(cmd.ErrOrStderr(), "key %s of tenant %s\n", k.Key, termtext.Printable(k.Tenant))
				if file == "" {
					fmt.Fprintln(w, out.Seed)
				}
			})
		},
	}
	cmd.Flags().StringVar(&file, "out", "", "new `file` for the seed, readable only by you; without it the seed goes to stdout")
	return cmd
}

func endorseTenant(dataDir, file, tenant string) (bool, error) {
	signer, public, err := writer.ReadSigner(writer.KeyFile(auditor.KeyDir(dataDir)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, auditor.Endorse(file, tenant, public, signer)
}

func writeSeed(path string, seed []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = f.Write(append(seed, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("--out: %w", err), os.Remove(path))
	}
	return nil
}

func tenantListCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the keys of tenants",
		Example: `  hooktrail tenant list`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := broker.Tenants(shared.DataDir)
			if shared.Tenant != "" {
				keys = slices.DeleteFunc(keys, func(k broker.TenantKey) bool { return k.Tenant != shared.Tenant })
			}
			return errors.Join(printKeys(cmd, shared, keys), err)
		},
	}
}

func printKeys(cmd *cobra.Command, shared *cli.Shared, keys []broker.TenantKey) error {
	rows := [][]string{{"TENANT", "KEY", "CREATED"}}
	for _, k := range keys {
		rows = append(rows, []string{termtext.Printable(k.Tenant), k.Key, k.Created.Format(time.RFC3339)})
	}
	return cli.Print(cmd, shared, append([]broker.TenantKey{}, keys...), func(out io.Writer) { writeTable(out, rows) })
}

func tenantRemoveCommand(shared *cli.Shared) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "remove TENANT",
		Short: "Revoke the keys of a tenant",
		Long: `Revoke all keys of a tenant, or the key of --key. The embedded server disconnects
clients with these keys within two seconds. Their events stay, and so do the enrolments
that the keys have granted. "auditor issuer revoke" refuses later ones.`,
		Example: `  hooktrail tenant remove acme
  hooktrail tenant remove acme --key UABC…`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			removed, err := broker.RemoveTenant(shared.DataDir, args[0], key)
			if err != nil && len(removed) == 0 {
				return err
			}
			printed := cli.Print(cmd, shared, append([]broker.TenantKey{}, removed...), func(out io.Writer) {
				for _, k := range removed {
					fmt.Fprintf(out, "removed: key %s of tenant %s\n", k.Key, termtext.Printable(k.Tenant))
				}
			})
			return errors.Join(printed, err)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "public `key` to take back; without it all of the tenant")
	return cmd
}
