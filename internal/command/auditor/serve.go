package auditor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/consumer"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Command returns the auditor command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("auditor", "Record what agents did as signed evidence, and prove it",
		rebuildCommand(shared),
		serveCommand(shared), verifyCommand(shared), replayCommand(shared), proofCommand(shared), exportCommand(shared),
		accessCommand(shared), coverageCommand(shared), reportCommand(shared), streamCommand(shared), agentfsCommand(shared), keyCommand(shared),
		eraseCommand(shared), holdCommand(shared), pruneCommand(shared), ruleCommand(shared), approveCommand(shared), issuerCommand(shared),
		acknowledgeCommand(shared))
	cmd.Example = "  auditor serve\n  auditor verify --tenant acme"
	shared.Register(cmd)
	shared.CompleteFlags(cmd, map[string]cli.Values{"tenant": service.TenantValues(shared), "run": RunValues(shared)})
	return cmd
}

const serveHelp = `Read the stream into one signed ledger per tenant, and from there into AgentFS
files, until a signal arrives. With --drain, handle all messages that are in the
stream now, print a summary of the ledgers and exit.

The first start creates the signing key in the keys folder of the data directory, or
with --signer ssh-agent:FINGERPRINT takes an Ed25519 key of the ssh-agent at
SSH_AUTH_SOCK. Store copies of ledger.pub and of checkpoints in a place that the writers of the
ledgers cannot reach.

With --standby, be the standby of another auditor. A standby has its own data
directory and a copy of the other auditor's keys folder. It follows the same stream,
and takes over when the other auditor ends or stops answering.`

func serveCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      auditor.Options
		retention RetentionFlags
		anchors   AnchorFlags
		reports   ReportFlags
		tenants   service.Tenants
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Read the stream into the ledgers and AgentFS files",
		Long:  serveHelp,
		Example: `  auditor serve
  auditor serve --drain --json
  auditor serve --tenant acme --tenant other
  auditor serve --nats-url nats://nats:4222 --data-dir /var/lib/hooktrail
  auditor serve --nats-url nats://nats:4222 --data-dir /var/lib/standby --standby`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			retention.Apply(&opts)
			if err := errors.Join(anchors.Apply(&opts), reports.Apply(&opts)); err != nil {
				return err
			}
			if err := opts.CheckStandby(shared.NATSURL); err != nil {
				return cli.Usage("%w", err)
			}
			accepted, err := tenants.Policy(shared, "")
			if err != nil {
				return err
			}
			opts.Admit, opts.Policy = accepted.Admit, accepted.Fingerprint()
			if len(shared.Tenants) > 1 {
				return serveTenants(cmd, shared, opts)
			}
			connection := service.Broker(cmd, shared, subjects.AuditorRole)
			connection.Later = !opts.Drain
			err = broker.Use(cmd.Context(), connection, func(b *broker.Broker) error {
				opts.Broker = b
				return runServe(cmd, shared, opts)
			})
			if opts.Drain {
				return err
			}
			return service.Stopped(cmd.Context(), err)
		},
	}
	retention.Register(cmd)
	tenants.Register(cmd)
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "handle the messages that are in the stream now, then exit")
	anchors.Register(cmd)
	reports.Register(cmd)
	cmd.Flags().BoolVar(&opts.Standby, "standby", false, "be the standby of an auditor with another data directory and the same keys")
	for _, no := range []string{"standby", "report-dir"} {
		cmd.MarkFlagsMutuallyExclusive(no, "drain")
	}
	cmd.Flags().DurationVar(&opts.Silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
	cli.SeveralTenants(cmd)
	return cmd
}

func runServe(cmd *cobra.Command, shared *cli.Shared, opts auditor.Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return auditor.Run(ctx, opts)
	}
	if err := consumer.Drain(cmd, "audit", &opts.Progress, func() error { return auditor.Run(ctx, opts) }); err != nil {
		return err
	}
	return printLedgers(cmd, shared)
}

type ledgerSummary struct {
	Tenant     string    `json:"tenant"`
	Leaves     int64     `json:"leaves"`
	Root       string    `json:"root"`
	Checkpoint time.Time `json:"checkpoint"`
}

func printLedgers(cmd *cobra.Command, shared *cli.Shared) error {
	tenants, err := ledger.Tenants(auditor.LedgerDir(shared.DataDir))
	if err != nil {
		return err
	}
	list := make([]ledgerSummary, 0, len(tenants))
	for _, tenant := range tenants {
		if len(shared.Tenants) > 0 && !slices.Contains(shared.Tenants, tenant) {
			continue
		}
		r, err := openLedger(shared.DataDir, tenant, "")
		if err != nil {
			return err
		}
		c, err := r.Newest(cmd.Context())
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		list = append(list, ledgerSummary{Tenant: tenant, Leaves: c.Size, Root: c.Root.String(), Checkpoint: c.Time})
	}
	return cli.Print(cmd, shared, list, func(out io.Writer) {
		w := table(out)
		for _, s := range list {
			fmt.Fprintf(w, "%s\t%d leaves\troot %s\tsigned %s\n",
				termtext.Printable(s.Tenant), s.Leaves, s.Root, s.Checkpoint.Format(time.RFC3339))
		}
		w.Flush()
	})
}

func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

func printVerdict(cmd *cobra.Command, shared *cli.Shared, report any, status int, text func(io.Writer)) error {
	if err := cli.Print(cmd, shared, report, text); err != nil || status == verifier.ExitVerified {
		return err
	}
	return cli.Exit(status)
}

func openLedger(dataDir, tenant, file string) (*ledger.Reader, error) {
	path, err := ledgerPath(dataDir, tenant, file)
	if err != nil {
		return nil, err
	}
	if file != "" {
		return ledger.OpenReader(path)
	}
	r, err := ledger.OpenTenant(auditor.LedgerDir(dataDir), tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil, noLedger(dataDir, tenant, path)
	}
	return r, err
}

func noLedger(dataDir, tenant, path string) error {
	err := fmt.Errorf("tenant %q has no ledger at %s", tenant, path)
	others, _ := ledger.Tenants(auditor.LedgerDir(dataDir)) // the list is only a hint
	var names []string
	for _, other := range others {
		if other != "" { // --tenant cannot name the empty tenant
			names = append(names, strconv.Quote(other))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%w; --tenant can be %s", err, list(names))
	}
	return fmt.Errorf("%w: start auditor serve or hooktrail up there, or name another --data-dir", err)
}

func ledgerPath(dataDir, tenant, file string) (string, error) {
	if file != "" {
		return file, nil
	}
	path, err := ledger.Path(auditor.LedgerDir(dataDir), tenant)
	if err != nil {
		return "", cli.Usage("%w", err)
	}
	return path, nil
}
