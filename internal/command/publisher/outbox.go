package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/extended"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func outboxCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("outbox", "Show and flush the outboxes, and change their keys",
		statusCommand(shared), flushCommand(shared), rekeyCommand(shared))
}

func statusCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME…]",
		Short: "Show the events that wait in the outboxes",
		Long: "status reads the outboxes of the data directory without disturbing the processes that use them.\n" +
			"It shows the number and age of waiting events, losses, damage, and the process that forwards. It\n" +
			"fails if an outbox is missing and its loss is not on record. hook-spool has events of hooks, with the\n" +
			"publisher that they are for.",
		Example: "  publisher outbox status\n  publisher outbox status shared --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := publisher.Outboxes(shared.DataDir, args...)
			err = errors.Join(err, publisher.CheckMissing(shared.DataDir, args...))
			spooled, unread := spooledOutboxes(shared.DataDir, args)
			found, err = append(found, spooled...), errors.Join(err, unread)
			printed := cli.Print(cmd, shared, found, func(out io.Writer) {
				if len(found) == 0 && err == nil {
					fmt.Fprintf(out, "no outbox in %s\n", termtext.Printable(shared.DataDir))
				}
				printOutboxes(out, found)
			})
			return errors.Join(printed, err)
		},
	}
}

func flushCommand(shared *cli.Shared) *cobra.Command {
	var timeout time.Duration
	var to string
	cmd := &cobra.Command{
		Use:   "flush [NAME…]",
		Short: "Send the events that wait in the outboxes",
		Long: "flush sends the waiting events of the outboxes in the data directory. If another process has an\n" +
			"outbox open, flush waits until that process has sent them. It returns when no event waits.\n" +
			"If no process runs the embedded server, flush starts it. Name another server with --nats-url.\n\n" +
			"With --publisher it sends the events that hook commands spooled while that publisher was away.",
		Example: "  publisher outbox flush\n  publisher outbox flush shared --timeout 30s --nats-url nats://nats.internal:4222",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout > 0 {
				ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
				defer cancel()
				cmd.SetContext(ctx)
			}
			if to != "" {
				return flushSpool(cmd, shared, to)
			}
			return broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.PublisherRole), func(b *broker.Broker) error {
				bar := cli.NewProgress(cmd.ErrOrStderr(), "flush")
				sent, err := publisher.FlushOutboxes(cmd.Context(), publisher.FlushOptions{
					Broker: b, DataDir: shared.DataDir, Names: args, Progress: bar.Set, Logger: shared.Logger(cmd),
				})
				bar.Finish()
				result := map[string]any{"sent": sent, "complete": err == nil}
				return errors.Join(err, cli.Print(cmd, shared, result, func(out io.Writer) {
					fmt.Fprintf(out, "sent %s\n", count(int(sent), "event", "events"))
					printRemote(out, shared.DataDir)
				}))
			})
		},
	}
	cmd.Flags().StringVar(&to, "publisher", "", "`URL` of the publisher of the hook commands; its token comes from "+capture.TokenVariable)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "`duration` after which to give up; 0 is never")
	return cmd
}

func flushSpool(cmd *cobra.Command, shared *cli.Shared, to string) error {
	if err := hookclient.CheckURL(to, ""); err != nil {
		return cli.Usage("%w", err)
	}
	calls, err := hookclient.Resend(cmd.Context(), hookclient.ResendOptions{
		DataDir: shared.DataDir, Tenant: shared.Tenant, Publisher: to, Token: os.Getenv(capture.TokenVariable), Parts: extended.Parts(),
	})
	return errors.Join(err, cli.Print(cmd, shared, map[string]any{"calls": calls, "complete": err == nil}, func(out io.Writer) {
		fmt.Fprintf(out, "sent the events of %s\n", count(calls, "hook", "hooks"))
	}))
}

func rekeyCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "rekey NAME…",
		Short: "Give outboxes a new key",
		Long: "rekey replaces the key with which an outbox signs its manifests, for example after a backup was lost.\n" +
			"The old key signs the new one into the chain of each tenant, and is then deleted. No other process may\n" +
			"have the outbox open, so stop the publisher before. After an interruption the next process that opens\n" +
			"the outbox finishes the change. If no process runs the embedded server, rekey starts it. Name another\n" +
			"server with --nats-url.",
		Example: "  publisher outbox rekey serve\n  publisher outbox rekey shared --nats-url nats://nats.internal:4222",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.PublisherRole), func(b *broker.Broker) error {
				err := publisher.ChangeKeys(cmd.Context(), publisher.FlushOptions{
					Broker: b, DataDir: shared.DataDir, Names: args, Logger: shared.Logger(cmd),
				})
				if err != nil {
					return err
				}
				return cli.Print(cmd, shared, map[string]any{"changed": args}, func(out io.Writer) {
					for _, name := range args {
						fmt.Fprintf(out, "%s: has a new key\n", termtext.Printable(name))
					}
				})
			})
		},
	}
}

func printOutboxes(w io.Writer, list []publisher.Outbox) {
	for _, o := range list {
		if o.Name == spoolName {
			printSpooled(w, o)
			continue
		}
		fmt.Fprintf(w, "%s: %s, %d bytes", termtext.Printable(o.Name), count(int(o.Waiting), "event waits", "events wait"), o.Bytes)
		if o.Oldest != nil {
			fmt.Fprintf(w, ", the oldest of %s", o.Oldest.UTC().Format(time.RFC3339))
		}
		fmt.Fprintf(w, "; producer %s, %s\n", termtext.Printable(o.Producer), holder(o))
		for _, g := range o.Gaps {
			fmt.Fprintf(w, "  lost: events %d to %d of tenant %s: %s\n", g.First, g.Last, termtext.Printable(g.Tenant), termtext.Printable(g.Reason))
		}
		if o.Damaged > 0 {
			fmt.Fprintf(w, "  damaged: %s cannot be read; recorded as lost when the outbox is opened\n", count(int(o.Damaged), "record", "records"))
		}
		for _, path := range o.Kept {
			fmt.Fprintf(w, "  quarantine: %s was damaged; check the disk, then remove this copy\n", termtext.Printable(path))
		}
	}
}

func holder(o publisher.Outbox) string {
	switch {
	case !o.Open:
		return "no process forwards"
	case o.Process == 0:
		return "open"
	default:
		return fmt.Sprintf("open in process %d", o.Process)
	}
}
