package hooktrail

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/app"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	metricscmd "github.com/hooktrail/hooktrail/internal/command/metrics"
	publishercmd "github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/command/service"
	trackercmd "github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

const defaultDrain = 30 * time.Second

func upCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      app.Options
		redaction publishercmd.Redaction
		hookFile  publishercmd.HookFile
		anchors   auditorcmd.AnchorFlags
		reports   auditorcmd.ReportFlags
		retention auditorcmd.RetentionFlags
		setup     trackercmd.Setup
		tenants   service.Tenants
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run all services in one process",
		Long: `Run an embedded NATS server, publisher, auditor, tracker and metrics in one process
until a signal. The HTTP server accepts the same requests as publisher serve, and
answers /livez, /readyz and /metrics. A failed service restarts, and the others
continue. As soon as a token exists (publisher token create), senders need one and act
for its tenant only. With --hooks it also answers requests for decisions, at POST
/v1/decisions and over NATS on hooktrail.decide.TENANT.

SIGTERM and Ctrl-C drain: first the publisher, then the consumers up to the last event
of the stream, then the server. A second signal ends the process at once, without loss
of acknowledged events.`,
		Example: `  hooktrail up
  hooktrail up --hooks hooks.yaml --http-listen 127.0.0.1:9000 --nats-listen 127.0.0.1:4222
  curl -d @event.json -H 'Content-Type: application/cloudevents+json' http://127.0.0.1:8080/v1/events`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.NATSURL, opts.Tenant, opts.Logger = shared.DataDir, shared.NATSURL, shared.Tenant, shared.Logger(cmd)
			opts.Listening, opts.NATSTimeout = func(a app.Addresses) { printAddresses(cmd, shared, a) }, shared.NATSTimeout
			opts.Login, opts.Auth, opts.Redactor, opts.Audit.Tenant = broker.Login(shared.Login), broker.AuthMode(shared.Auth), redaction.Redactor(), opts.Tenant
			retention.Apply(&opts.Audit)
			if err := errors.Join(anchors.Apply(&opts.Audit), reports.Apply(&opts.Audit), setup.Apply(&opts.Track)); err != nil {
				return err
			}
			if err := opts.Validate(); err != nil {
				return cli.Usage("%w", err)
			}
			var err error
			if opts.Tenants, err = tenants.Policy(shared, opts.Access.TokenFile); err != nil {
				return err
			}
			if opts.Hooks, err = hookFile.Load(cmd.Context(), opts.Logger); err != nil {
				return err
			}
			return savingMemory(cmd.Context(), func() error { return app.Run(cmd.Context(), opts) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HTTPListen, "http-listen", publisher.DefaultListen, "`address` of the HTTP server; none serves --socket only")
	flags.StringVar(&opts.NATSListen, "nats-listen", "", "loopback `address` of the embedded NATS server; empty picks a free port at the first start and keeps it")
	flags.BoolVar(&opts.AllowRemote, "allow-remote", false, "allow an HTTP address outside the loopback; without tokens every client that reaches it may write")
	publishercmd.RegisterAccess(cmd, &opts.Access)
	publishercmd.RegisterHeartbeat(flags, &opts.Heartbeat)
	flags.DurationVar(&opts.DrainTimeout, "drain-timeout", defaultDrain, "time limit for a stop")
	metricscmd.RegisterAccess(cmd, &opts.Metrics)
	for _, f := range []interface{ Register(cmd *cobra.Command) }{&redaction, &hookFile, &tenants, &anchors, &reports, &retention} {
		f.Register(cmd)
	}
	setup.RegisterAs(cmd, "tracker-")
	return cmd
}

func printAddresses(cmd *cobra.Command, shared *cli.Shared, a app.Addresses) {
	err := cli.Print(cmd, shared, a, func(out io.Writer) {
		fmt.Fprintf(out, "events    POST %s/v1/events\nhealth    %s/readyz\nmetrics   %s/metrics\nnats      %s\ndata      %s\n",
			a.HTTP, a.HTTP, a.HTTP, a.NATS, termtext.Printable(a.DataDir))
	})
	if err != nil {
		shared.Logger(cmd).WarnContext(cmd.Context(), "addresses were not printed", "error", err)
	}
}
