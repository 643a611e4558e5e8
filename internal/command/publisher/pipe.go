package publisher

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

type strictness struct{ strict, lenient bool }

func (s *strictness) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.lenient, "lenient", true, "report malformed lines and exit with 0; pipe exits with 1 if all are malformed")
	cmd.Flags().BoolVar(&s.strict, "strict", false, "report malformed lines and exit with 1; the other lines are still taken")
	cmd.MarkFlagsMutuallyExclusive("strict", "lenient")
}

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
		wait      waiting
		tenants   service.Tenants
	)
	cmd := &cobra.Command{
		Use:   "pipe",
		Short: "Take CloudEvents from stdin, one per line",
		Long: "pipe reads CloudEvents in JSON from stdin, one per line, for example the output of auditor\n" +
			"replay. It skips events that it has taken before, by their source and id. It leaves out and\n" +
			"counts records of Hooktrail's own services, such as seals, gaps, access records, and edits of\n" +
			"issues. This outbox assigns new producers, sequences and salts. While the broker is away, pipe\n" +
			"goes on reading, and waits for the broker at the end.\n\n" + strings.TrimSpace(awaitHelp),
		Example: "  auditor replay --run RUN | publisher pipe --data-dir other\n" +
			"  publisher pipe --strict < events.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			accepted, err := tenants.Policy(shared, "")
			if err != nil {
				return err
			}
			connection := service.Broker(cmd, shared, subjects.PublisherRole)
			connection.Later = true
			return broker.Use(cmd.Context(), connection, func(b *broker.Broker) error {
				sum, err := publisher.Pipe(cmd.Context(), cmd.InOrStdin(), publisher.PipeOptions{
					Broker: b, DataDir: shared.DataDir, Tenant: shared.Tenant, Name: "stdin", Tenants: accepted,
					Redactor: redaction.Redactor(), Logger: shared.Logger(cmd),
				})
				if err == nil {
					sum.Audited = wait.await(cmd, b, sum.Sent)
				}
				err = errors.Join(err, printPipe(cmd, shared, sum))
				if err == nil && sum.Malformed > 0 && sum.Events+sum.Records == 0 {
					return fmt.Errorf("took nothing, because no line is an event: %s malformed", count(sum.Malformed, "line is", "lines are"))
				}
				return lines.check(err, sum.Malformed)
			})
		},
	}
	lines.register(cmd)
	wait.register(cmd)
	redaction.Register(cmd)
	tenants.Register(cmd)
	return cmd
}
