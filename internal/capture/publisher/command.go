package publisher

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Command returns the publisher command.
func Command() *cobra.Command {
	shared := &cli.Shared{}
	cmd := cli.Group("publisher", "Take events in and bring them to the stream",
		hookclient.Command(shared), importCommand(shared), installCommand(shared), pipeCommand(shared), serveCommand(shared), tokenCommand(shared), outboxCommand(shared))
	cmd.Long = "publisher takes events in and brings them to the stream: once, in order, and even if\nthe broker is away for a while. It keeps them in an outbox until they are there."
	shared.Register(cmd)
	return cmd
}

// strictness are the flags of commands that read lines.
type strictness struct{ strict, lenient bool }

func (s *strictness) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.lenient, "lenient", true, "report malformed lines and exit with 0")
	cmd.Flags().BoolVar(&s.strict, "strict", false, "report malformed lines and exit with 1; the other lines are taken all the same")
	cmd.MarkFlagsMutuallyExclusive("strict", "lenient")
}

func (s *strictness) verdict(malformed int) error {
	if malformed > 0 && (s.strict || !s.lenient) {
		return fmt.Errorf("%s malformed", count(malformed, "line is", "lines are"))
	}
	return nil
}

func pipeCommand(shared *cli.Shared) *cobra.Command {
	var (
		lines     strictness
		redaction Redaction
	)
	cmd := &cobra.Command{
		Use:   "pipe",
		Short: "Take CloudEvents from stdin, one per line",
		Long: "pipe reads CloudEvents in JSON from stdin, one per line: those of another tool, or what\n" +
			"auditor replay prints. Events that were piped before, by their source and id, add\n" +
			"nothing. Producer, sequence and salt become those of this outbox. While the broker is\n" +
			"away it goes on reading, and waits for it at the end.",
		Example: "  auditor replay --run RUN | publisher pipe --data-dir other\n" +
			"  publisher pipe --strict < events.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBroker(cmd, shared, broker.Options{Later: true}, func(ctx context.Context, b *broker.Broker) error {
				sum, err := Pipe(ctx, cmd.InOrStdin(), PipeOptions{
					Broker: b, DataDir: shared.DataDir, Tenant: shared.Tenant, Name: "stdin",
					Redactor: redaction.Redactor(), Logger: shared.Logger(cmd),
				})
				err = errors.Join(err, printPipe(cmd, shared.JSON, sum))
				return firstError(err, lines.verdict(sum.Malformed))
			})
		},
	}
	lines.register(cmd)
	redaction.Register(cmd)
	return cmd
}

func serveCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      Options
		disk      bool
		redaction Redaction
		hookFile  HookFile
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take CloudEvents over HTTP, and decide",
		Long: "serve takes CloudEvents at POST /v1/events, in structured, binary and batch mode, hook payloads of\n" +
			"agents at POST /v1/hooks/TOOL, and OpenTelemetry at POST /v1/traces and /v1/logs. It answers once the\n" +
			"events are in the outbox, also while the broker is away. /livez and /readyz tell how it stands; SIGTERM\n" +
			"drains. With --hooks it answers requests for decisions, at POST /v1/decisions and over NATS on\n" +
			"hooktrail.decide.TENANT.\n" +
			"It listens on the loopback unless --allow-remote is given. Once publisher token create has made a\n" +
			"token, senders need one, and act for its tenant alone.",
		Example: "  publisher serve --listen 127.0.0.1:8080 --hooks hooks.yaml\n" +
			"  curl -H 'Content-Type: application/cloudevents+json' -d @event.json http://127.0.0.1:8080/v1/events",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			opts.Redactor = redaction.Redactor()
			if disk {
				opts.Durability = publish.DiskDurability
			}
			if err := opts.withDefaults().Validate(); err != nil {
				return cli.Usage("%w", err)
			}
			var err error
			if opts.Hooks, err = hookFile.Load(cmd.Context(), opts.Logger); err != nil {
				return err
			}
			return withBroker(cmd, shared, broker.Options{Later: true}, func(ctx context.Context, b *broker.Broker) error {
				opts.Broker = b
				return Run(ctx, opts)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Listen, "listen", DefaultListen, "`address` to listen on")
	flags.BoolVar(&opts.AllowRemote, "allow-remote", false, "allow an address that is not of the loopback: without tokens, whoever reaches it may write")
	flags.Int64Var(&opts.MaxBody, "max-body", DefaultMaxBody, "`bytes` that a request may have, inflated; one event has 16 MiB at most")
	opts.Access.Register(cmd)
	flags.Int64Var(&opts.Quota, "quota", 0, "`bytes` that may wait in the outbox; 0 is 1 GiB")
	flags.Var(&opts.Full, "full", "what happens to an event when the outbox is full: block waits for room, fail refuses it, shed loses it and records the gap")
	flags.BoolVar(&disk, "durable", false, "sync each event to disk before it is acknowledged: it survives a power cut")
	redaction.Register(cmd)
	hookFile.Register(cmd)
	return cmd
}

// withBroker runs work with the broker that the shared flags name.
func withBroker(cmd *cobra.Command, shared *cli.Shared, opts broker.Options, work func(context.Context, *broker.Broker) error) error {
	ctx := cmd.Context()
	opts.DataDir, opts.URL, opts.Name, opts.Logger = shared.DataDir, shared.NATSURL, "publisher", shared.Logger(cmd)
	opts.Login, opts.Auth, opts.Role = broker.Login(shared.Login), broker.AuthMode(shared.Auth), subjects.PublisherRole
	return broker.Use(ctx, opts, func(b *broker.Broker) error { return work(ctx, b) })
}

// firstError returns the first of errs: what went wrong matters more than a
// verdict on the lines.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
