package publisher

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// strictness holds the flags --strict and --lenient of commands that read lines.
type strictness struct{ strict, lenient bool }

func (s *strictness) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.lenient, "lenient", true, "report malformed lines and exit with 0")
	cmd.Flags().BoolVar(&s.strict, "strict", false, "report malformed lines and exit with 1; the other lines are still taken")
	cmd.MarkFlagsMutuallyExclusive("strict", "lenient")
}

// check returns err, or else an error if malformed lines count as one.
func (s *strictness) check(err error, malformed int) error {
	if err == nil && malformed > 0 && (s.strict || !s.lenient) {
		err = fmt.Errorf("%s malformed", count(malformed, "line is", "lines are"))
	}
	return err
}

func pipeCommand(shared *cli.Shared) *cobra.Command {
	var (
		lines     strictness
		redaction Redaction
	)
	cmd := &cobra.Command{
		Use:   "pipe",
		Short: "Take CloudEvents from stdin, one per line",
		Long: "pipe reads CloudEvents in JSON from stdin, one per line, for example the output of auditor\n" +
			"replay. It skips events that it has taken before, by their source and id. This outbox assigns\n" +
			"new producers, sequences and salts. While the broker is away, pipe goes on reading, and waits\n" +
			"for the broker at the end.",
		Example: "  auditor replay --run RUN | publisher pipe --data-dir other\n" +
			"  publisher pipe --strict < events.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBroker(cmd, shared, broker.Options{Later: true}, func(ctx context.Context, b *broker.Broker) error {
				sum, err := publisher.Pipe(ctx, cmd.InOrStdin(), publisher.PipeOptions{
					Broker: b, DataDir: shared.DataDir, Tenant: shared.Tenant, Name: "stdin",
					Redactor: redaction.Redactor(), Logger: shared.Logger(cmd),
				})
				err = errors.Join(err, printPipe(cmd, shared, sum))
				return lines.check(err, sum.Malformed)
			})
		},
	}
	lines.register(cmd)
	redaction.Register(cmd)
	return cmd
}
