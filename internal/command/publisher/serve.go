package publisher

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func serveCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      publisher.Options
		disk      bool
		redaction Redaction
		hookFile  HookFile
		tenants   service.Tenants
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take CloudEvents over HTTP, and decide",
		Long: "serve takes CloudEvents at POST /v1/events (structured, binary or batch mode), hook payloads of\n" +
			"agents at POST /v1/hooks/TOOL, and OpenTelemetry at POST /v1/traces and /v1/logs. It answers once the\n" +
			"events are in the outbox, even while the broker is away. /livez and /readyz report its health. SIGTERM\n" +
			"drains it. With --hooks it answers requests for decisions at POST /v1/decisions and over NATS on\n" +
			"hooktrail.decide.TENANT.\n\n" +
			"It listens on the loopback unless --allow-remote is given. Once publisher token create has made a\n" +
			"token, senders need one, and act only for the tenant of their token.",
		Example: "  publisher serve --listen 127.0.0.1:8080 --hooks hooks.yaml\n" +
			"  curl -H 'Content-Type: application/cloudevents+json' -d @event.json http://127.0.0.1:8080/v1/events",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			opts.Redactor, opts.Listen = redaction.Redactor(), cmp.Or(opts.Listen, publisher.DefaultListen)
			if disk {
				opts.Durability = publish.DiskDurability
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
			connection := service.Broker(cmd, shared, subjects.PublisherRole)
			connection.Later = true
			return broker.Use(cmd.Context(), connection, func(b *broker.Broker) error {
				opts.Broker = b
				return publisher.Run(cmd.Context(), opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Listen, "listen", publisher.DefaultListen, "`address` to listen on; none serves --socket only")
	flags.BoolVar(&opts.AllowRemote, "allow-remote", false, "allow an address outside the loopback; without tokens, every host that reaches it may write")
	flags.Int64Var(&opts.MaxBody, "max-body", publisher.DefaultMaxBody, "size limit of a request in `bytes`, uncompressed; one event has at most 16 MiB")
	RegisterAccess(cmd, &opts.Access)
	flags.Int64Var(&opts.Quota, "quota", 0, "`bytes` that may wait in the outbox; 0 is 1 GiB")
	RegisterHeartbeat(flags, &opts.Heartbeat)
	flags.Var(fullPolicy{&opts.Full}, "full", "what to do with an event when the outbox is full: block waits for room, fail refuses it, shed drops it and records a gap")
	flags.BoolVar(&disk, "durable", false, "sync each event to disk before it is acknowledged, so that it survives a power cut")
	redaction.Register(cmd)
	hookFile.Register(cmd)
	tenants.Register(cmd)
	return cmd
}
