package publisher

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

const defaultWait = time.Minute

const awaitHelp = "At the end it waits up to --wait-timeout until a running auditor has written the events into the\n" +
	"ledger. Without one it says so. The events are in the stream in any case, so the exit status does\n" +
	"not depend on that.\n\n"

type waiting struct {
	skip    bool
	timeout time.Duration
}

func (w *waiting) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.skip, "no-wait", false, "do not wait until a running auditor has written the events into the ledger")
	cmd.Flags().DurationVar(&w.timeout, "wait-timeout", defaultWait, "how long to wait for a running auditor")
}

func (w *waiting) await(cmd *cobra.Command, b *broker.Broker, sent publisher.Sent) publisher.Audited {
	if w.skip {
		return publisher.AuditedSkipped
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "wait for the auditor")
	state, err := publisher.AwaitAuditor(cmd.Context(), publisher.AwaitOptions{
		Broker: b, Sent: sent, Timeout: w.timeout, Progress: bar.Set,
	})
	bar.Finish()
	if text := w.sentence(state, err); text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.CommandPath(), termtext.Printable(text))
	}
	return state
}

func (w *waiting) sentence(state publisher.Audited, err error) string {
	switch state {
	case publisher.AuditedAll, publisher.AuditedSkipped:
		return ""
	case publisher.AuditedNone:
		return "no auditor runs: the events are in the stream, and hooktrail up or auditor serve writes them into the ledger"
	case publisher.AuditedBehind:
		return fmt.Sprintf("the auditor is behind after %v: the events are in the stream, and auditor verify counts those that the ledger lacks", w.timeout)
	case publisher.AuditedUnknown:
	}
	return fmt.Sprintf("the events are in the stream, but it is unknown whether the ledger has them: %v", err)
}
