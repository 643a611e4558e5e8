package auditor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const flushTimeout = 30 * time.Second

type replayFlags struct {
	selection
	purpose

	speed   speed
	subject string
	logger  *slog.Logger
}

func replayCommand(shared *cli.Shared) *cobra.Command {
	var r replayFlags
	cmd := &cobra.Command{
		Use:   "replay --run RUN | --from TIME --to TIME",
		Short: "Print or publish recorded events at any speed",
		Long: `Print the original bytes of the events of a run or a range of time, one event per
line, in the order of the ledger. Manifests and quarantined records are left out.
Replay stops at the checkpoint that is the newest when it starts, so the same ledger
gives the same bytes.

Erased and pruned events have no bytes and are left out. A warning counts them, and
auditor export --format jsonl lists them.

With --speed 1x, events are as far apart as their own times. 10x is ten times as
fast, and max does not wait. With --subject, replay publishes each event as one
message to the broker of --nats-url, or to the broker that runs in the data
directory. No stream stores the messages unless it has that subject. Without
--subject, replay needs no server. It is recorded first, with --by, --reason and
--ticket; see auditor access.`,
		Example: `  auditor replay --run 6f9c2b51-0d1e-4f1a-9a35-0a4c1d6f2b77 > run.jsonl
  auditor replay --tenant acme --run r-42 | publisher pipe --data-dir /tmp/copy
  auditor replay --from 2026-11-20T09:00:00Z --to 2026-11-20T10:00:00Z --speed 10x
  auditor replay --run r-42 --speed 1x --nats-url nats://nats:4222 --subject replay.acme`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd, shared) },
	}
	r.selection.register(cmd.Flags(), whenHappened)
	r.purpose.register(cmd.Flags())
	cmd.Flags().Var(&r.speed, "speed", "`speed`: 1x for the original speed, 0.5x, 10x, …, or max")
	cmd.Flags().StringVar(&r.subject, "subject", "", "`subject` to publish to, instead of printing")
	return cmd
}

func (r replayFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	if r.isAll() {
		return cli.Usage("--run, --from or --to is required")
	}
	chosen, err := r.find(cmd, shared)
	if err != nil {
		return err
	}
	if err := r.checkSubject(); err != nil {
		return err
	}
	r.logger = shared.Logger(cmd)
	d := r.access(events.AuditReplay, access.SelectionOf(chosen))
	d.As = r.subject
	reader, err := openRecorded(cmd, shared, r.file, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if r.subject == "" {
		return r.print(cmd, reader, chosen)
	}
	return r.publish(cmd, shared, reader, chosen)
}

func (r replayFlags) checkSubject() error {
	if r.subject == "" {
		return nil
	}
	if err := subjects.CheckRequest(r.subject); err != nil {
		return cli.Usage("--subject: %w", err)
	}
	if err := (subjects.Space{}).CheckReply(r.subject); err != nil {
		return cli.Usage("--subject: %w; want another subject, such as replay.acme", err)
	}
	return nil
}

func (r replayFlags) print(cmd *cobra.Command, reader *ledger.Reader, chosen ledger.Selection) error {
	var bar *cli.Progress
	if !cli.IsTerminal(cmd.OutOrStdout()) {
		bar = cli.NewProgress(cmd.ErrOrStderr(), "replay")
	}
	defer bar.Finish()
	out := bufio.NewWriter(cmd.OutOrStdout())
	err := r.each(cmd.Context(), reader, chosen, out.Flush, bar, func(e ledger.Entry) error {
		return writeLine(out, e.Bytes)
	})
	return cmp.Or(err, out.Flush())
}

func writeLine(out *bufio.Writer, line []byte) error {
	_, err := out.Write(line)
	if err == nil {
		err = out.WriteByte('\n')
	}
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

func (r replayFlags) publish(cmd *cobra.Command, shared *cli.Shared, reader *ledger.Reader, chosen ledger.Selection) error {
	o := service.Broker(cmd, shared, subjects.Owner)
	o.Name = "auditor replay"
	nc, err := broker.Dial(cmd.Context(), o)
	if err != nil {
		return fmt.Errorf("--subject needs a broker: %w", err)
	}
	defer nc.Close()
	// nc.LastError returns the same errors later, so do not print them here.
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	bar := cli.NewProgress(cmd.ErrOrStderr(), "replay")
	defer bar.Finish()
	flush := func() error {
		ctx, cancel := context.WithTimeout(cmd.Context(), flushTimeout)
		defer cancel()
		// The broker reports a refused message before it answers a flush.
		if err := errors.Join(nc.FlushWithContext(ctx), nc.LastError()); err != nil {
			return fmt.Errorf("publish to %s: %w", r.subject, err)
		}
		return nil
	}
	first := true
	if err := r.each(cmd.Context(), reader, chosen, flush, bar, func(e ledger.Entry) error {
		err := nc.Publish(r.subject, e.Bytes)
		if err == nil && first {
			first, err = false, flush()
		}
		return err
	}); err != nil {
		return err
	}
	return flush()
}

func (r replayFlags) each(
	ctx context.Context, reader *ledger.Reader, chosen ledger.Selection, flush func() error,
	bar *cli.Progress, send func(ledger.Entry) error,
) error {
	if err := reader.CheckLeaves(ctx); err != nil {
		return err
	}
	newest, err := reader.Newest(ctx)
	if err != nil {
		return err
	}
	chosen.Events, chosen.Before = true, newest.Size
	pace := pacer{speed: r.speed, flush: flush}
	found, gone := false, removedCount{}
	for e, err := range reader.Select(ctx, chosen) {
		if err != nil {
			return err
		}
		if e.Removal.Done() {
			found = true
			gone.add(e.Removal)
			continue
		}
		if err := pace.wait(ctx, e.Time); err != nil {
			return err
		}
		if err := send(e); err != nil {
			return err
		}
		found = true
		bar.Set(uint64(e.Leaf)+1, uint64(newest.Size))
	}
	gone.warn(ctx, r.logger, reader.Tenant())
	if !found {
		return nothingChosen(reader.Tenant(), chosen)
	}
	return nil
}

func nothingChosen(tenant string, chosen ledger.Selection) error {
	if chosen.Run != "" && chosen.From.IsZero() && chosen.To.IsZero() {
		return fmt.Errorf("run %q is not in the ledger of tenant %q; hooktrail run list lists what is, and of an id at least the first 8 characters are needed", chosen.Run, tenant)
	}
	return fmt.Errorf("ledger of tenant %q has no records of that run and time", tenant)
}
