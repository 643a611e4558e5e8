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

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// flushTimeout is how long the broker may take to answer.
const flushTimeout = 30 * time.Second

// replaying are the flags of replay.
type replaying struct {
	selection
	purpose

	speed   speed
	subject string
	logger  *slog.Logger
}

func replayCommand(shared *cli.Shared) *cobra.Command {
	var r replaying
	cmd := &cobra.Command{
		Use:   "replay --run RUN | --from TIME --to TIME",
		Short: "Print events as they were, or publish them, at any speed",
		Long: `Print the original bytes of a run's events, or of those of a range of time, one
after the other, each with a line's end behind it, in the order of the ledger.
Manifests and records that were set apart are left out. What was signed when
replay began is replayed, so that the same ledger gives the same bytes.

What was erased or pruned has no bytes any more: it is left out, and a warning says
how much that is. auditor export --format jsonl lists it.

With --speed 1x the events come as far apart as they happened, by their own
times; 10x is ten times as fast, max does not wait. With --subject they are
published there, one message each, at the broker of --nats-url or else at the
one that runs in the data directory; who subscribes gets them, nobody keeps them
unless a stream takes that subject. Otherwise replay reads the ledger and needs no
server. Who replays what and why (--by, --reason, --ticket) is put on record
first; see auditor access.`,
		Example: `  auditor replay --run 6f9c2b51-0d1e-4f1a-9a35-0a4c1d6f2b77 > run.jsonl
  auditor replay --tenant acme --run r-42 | publisher pipe --data-dir /tmp/copy
  auditor replay --from 2026-11-20T09:00:00Z --to 2026-11-20T10:00:00Z --speed 10x
  auditor replay --run r-42 --speed 1x --nats-url nats://nats:4222 --subject replay.acme`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd, shared) },
	}
	r.selection.register(cmd.Flags())
	r.purpose.register(cmd.Flags())
	cmd.Flags().Var(&r.speed, "speed", "`how` fast: 1x as it happened, 0.5x, 10x, …, or max")
	cmd.Flags().StringVar(&r.subject, "subject", "", "`subject` to publish to, instead of printing")
	return cmd
}

func (r replaying) run(cmd *cobra.Command, shared *cli.Shared) error {
	if r.isAll() {
		return cli.Usage("say what to replay: --run, or --from and --to")
	}
	chosen, err := r.parse()
	if err != nil {
		return err
	}
	if err := r.checkSubject(); err != nil {
		return err
	}
	r.logger = shared.Logger(cmd)
	reader, err := openLedger(shared.DataDir, shared.TenantOrDefault(), r.file)
	if err != nil {
		return err
	}
	d := r.access(events.AuditReplay, access.SelectionOf(chosen))
	d.As = r.subject
	if err := recordRead(cmd, shared, reader, r.file, d); err != nil {
		return errors.Join(err, reader.Close())
	}
	if r.subject == "" {
		err = r.print(cmd, reader, chosen)
	} else {
		err = r.publish(cmd, shared, reader, chosen)
	}
	return errors.Join(err, reader.Close())
}

// checkSubject refuses what is no subject, and those that the evidence itself
// comes on: the auditor would take a replayed event for one that came again.
func (r replaying) checkSubject() error {
	if r.subject == "" {
		return nil
	}
	if err := subjects.CheckRequest(r.subject); err != nil {
		return cli.Usage("--subject: %w", err)
	}
	if err := (subjects.Space{}).CheckReply(r.subject); err != nil {
		return cli.Usage("--subject: %w; want one of your own, such as replay.acme", err)
	}
	return nil
}

func (r replaying) print(cmd *cobra.Command, reader *ledger.Reader, chosen ledger.Selection) error {
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

// publish sends the events to the subject, and returns when the broker has them.
func (r replaying) publish(cmd *cobra.Command, shared *cli.Shared, reader *ledger.Reader, chosen ledger.Selection) error {
	nc, err := broker.Dial(cmd.Context(), broker.Options{
		DataDir: shared.DataDir, URL: shared.NATSURL, Name: "auditor replay", Login: broker.Login(shared.Login),
		Role: subjects.Owner,
	})
	if err != nil {
		return fmt.Errorf("--subject needs a broker: %w", err)
	}
	defer nc.Close()
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // of what LastError tells, too
	bar := cli.NewProgress(cmd.ErrOrStderr(), "replay")
	defer bar.Finish()
	flush := func() error {
		ctx, cancel := context.WithTimeout(cmd.Context(), flushTimeout)
		defer cancel()
		// What the broker refuses it says before it answers the ping of a flush.
		if err := errors.Join(nc.FlushWithContext(ctx), nc.LastError()); err != nil {
			return fmt.Errorf("publish to %s: %w", r.subject, err)
		}
		return nil
	}
	first := true
	if err := r.each(cmd.Context(), reader, chosen, flush, bar, func(e ledger.Entry) error {
		err := nc.Publish(r.subject, e.Bytes)
		if err == nil && first { // who may not publish here need not send all
			first, err = false, flush()
		}
		return err
	}); err != nil {
		return err
	}
	return flush()
}

// each calls send with every event when its time has come. Before it waits it
// calls flush.
func (r replaying) each(
	ctx context.Context, reader *ledger.Reader, chosen ledger.Selection, flush func() error,
	bar *cli.Progress, send func(ledger.Entry) error,
) error {
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

// nothingChosen says that a selection is empty.
func nothingChosen(tenant string, chosen ledger.Selection) error {
	if chosen.Run != "" && chosen.From.IsZero() && chosen.To.IsZero() {
		return fmt.Errorf("run %q is not in the ledger of tenant %q", chosen.Run, tenant)
	}
	return fmt.Errorf("nothing in the ledger of tenant %q is of that run and time", tenant)
}
