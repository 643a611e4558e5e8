package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/asof"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const defaultWait = 5 * time.Second

const asOfHelp = `The line "As of" names the position in the stream up to which the verdicts speak. If a
broker can be asked, it counts the later events of the stream, and the events in the
outboxes of the data directory. With such events the ledger is UNPROVEN. Verify waits up
to --wait for a running auditor to write them.

`

const waitUsage = "how long to wait until a running auditor has written the events that exist now"

func (v *verification) registerWait(flags *pflag.FlagSet) {
	flags.DurationVar(&v.wait, "wait", defaultWait, waitUsage)
}

type source struct{ file, path string }

type question struct {
	*asof.Question

	ledger *ledger.Reader
	conn   *nats.Conn // nil if the stream was not asked
}

func ask(cmd *cobra.Command, shared *cli.Shared, s source, wait time.Duration) *question {
	r, err := ledger.OpenReader(s.path)
	if err != nil {
		return nil
	}
	q := &question{ledger: r}
	o := asof.Options{Tenant: r.Tenant(), Ledger: r, Wait: wait}
	if s.file == "" {
		o.DataDir = shared.DataDir
		o.Written, err = auditor.LooksServed(cmd.Context(), shared.DataDir, r.Tenant())
		o.Written = o.Written || err != nil
	}
	if shared.NATSURL != "" || s.file == "" {
		q.dial(cmd, shared, &o)
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "wait for the auditor")
	defer bar.Finish()
	o.Progress = bar.Set
	q.Question = asof.Ask(cmd.Context(), o)
	return q
}

func (q *question) dial(cmd *cobra.Command, shared *cli.Shared, o *asof.Options) {
	ctx, cancel := context.WithTimeout(cmd.Context(), askLimit)
	defer cancel()
	b := service.Broker(cmd, shared, subjects.AuditorRole)
	b.Name = "auditor " + cmd.Name()
	nc, err := broker.Dial(ctx, b)
	if err == nil {
		q.conn = nc
		o.JetStream, err = jetstream.New(nc)
	}
	switch {
	case errors.Is(err, broker.ErrNotRunning):
		o.NotAsked = "no broker runs in the data directory"
		if err := b.CheckHome(); err != nil {
			o.NotAsked = err.Error()
		}
	case err != nil:
		o.NotAsked = err.Error()
	}
}

func (q *question) answer(ctx context.Context, r *verifier.Report) {
	if at := q.about(ctx, *r); at != nil {
		r.SetAsOf(*at)
	}
}

func (q *question) about(ctx context.Context, r verifier.Report) *verifier.AsOf {
	if r.Checkpoint == nil {
		return nil
	}
	c, err := ledger.ReadCheckpoint([]byte(r.Checkpoint.Note))
	if err != nil {
		return nil // the report has the reason
	}
	return new(q.at(ctx, c))
}

func (q *question) at(ctx context.Context, c ledger.Checkpoint) verifier.AsOf {
	a := verifier.AsOfCheckpoint(c)
	if q != nil {
		a = q.Answer(ctx, c)
	}
	a.Age = max(time.Since(c.Time), 0)
	return a
}

func (q *question) close() {
	if q == nil {
		return
	}
	if q.conn != nil {
		q.conn.Close()
	}
	_ = q.ledger.Close() // it was only read
}
