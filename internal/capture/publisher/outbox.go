package publisher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func outboxCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("outbox", "Look at what waits to be sent, and send it", statusCommand(shared), flushCommand(shared))
}

func statusCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME…]",
		Short: "Tell what waits in the outboxes",
		Long: "status reads the outboxes of the data directory without disturbing who uses them: how much\n" +
			"waits, since when, what was lost, what was found damaged, and which process forwards it.",
		Example: "  publisher outbox status\n  publisher outbox status shared --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := Outboxes(shared.DataDir, args...)
			if shared.JSON {
				return errors.Join(cli.PrintJSON(cmd, found), err)
			}
			if len(found) == 0 && err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "no outbox in %s\n", cli.Printable(shared.DataDir))
			}
			printOutboxes(cmd, found)
			return err
		},
	}
}

func flushCommand(shared *cli.Shared) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "flush [NAME…]",
		Short: "Send what waits in the outboxes",
		Long: "flush sends what waits in the outboxes of the data directory, or waits for the process that has\n" +
			"one open to send it, and returns when nothing waits any more.",
		Example: "  publisher outbox flush\n  publisher outbox flush shared --timeout 30s --nats-url nats://nats.internal:4222",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout > 0 {
				ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
				defer cancel()
				cmd.SetContext(ctx)
			}
			return withBroker(cmd, shared, broker.Options{}, func(ctx context.Context, b *broker.Broker) error {
				bar := cli.NewProgress(cmd.ErrOrStderr(), "flush")
				sent, err := FlushOutboxes(ctx, FlushOptions{
					Broker: b, DataDir: shared.DataDir, Names: args, Progress: bar.Set, Logger: shared.Logger(cmd),
				})
				bar.Finish()
				return errors.Join(err, printFlush(cmd, shared.JSON, sent, err))
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "`duration` after which to give up; 0 is never")
	return cmd
}

// Outbox is how an outbox stands.
type Outbox struct {
	Name     string            `json:"name"`
	Producer string            `json:"producer"`
	Shared   bool              `json:"shared"`
	Waiting  uint64            `json:"waiting"`
	Bytes    int64             `json:"bytes"`
	Oldest   *time.Time        `json:"oldest,omitempty"` // time of the first event that waits
	Tenants  map[string]uint64 `json:"tenants"`          // how many events of each wait
	DiskSize int64             `json:"disk_bytes"`
	Gaps     []publish.Gap     `json:"gaps"`       // losses that the stream does not know of yet
	Damaged  uint64            `json:"damaged"`    // records that wait and cannot be read
	Kept     []string          `json:"quarantine"` // copies of damaged segments
	Open     bool              `json:"open"`       // a process forwards
	Process  int               `json:"process,omitempty"`

	unique bool
	made   string // name that producer ids begin with
}

// Outboxes returns how the outboxes below dataDir stand: those of the names, or
// all. Beside an error it returns those that it could read.
func Outboxes(dataDir string, names ...string) (list []Outbox, err error) {
	folder := filepath.Join(dataDir, "outbox")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	found := map[string]bool{}
	list = []Outbox{}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		s, e := publish.Inspect(filepath.Join(folder, name))
		if errors.Is(e, os.ErrNotExist) {
			continue // somebody is about to make it
		}
		found[name] = true
		if e != nil {
			err = errors.Join(err, fmt.Errorf("look at outbox %s: %w", name, e))
			continue
		}
		list = append(list, newOutbox(name, s))
	}
	for _, name := range names {
		if !found[name] {
			err = errors.Join(err, fmt.Errorf("outbox %q: %w in %s", name, os.ErrNotExist, folder))
		}
	}
	return list, err
}

func newOutbox(name string, s publish.State) Outbox {
	o := Outbox{
		Name: name, Producer: s.Producer, Shared: s.Shared, Waiting: s.Waiting, Bytes: s.Bytes, Tenants: s.Tenants,
		DiskSize: s.Size, Gaps: s.Gaps, Damaged: s.Damaged, Kept: s.Quarantine, Open: s.Held, Process: s.Holder,
		unique: s.Unique, made: s.Name,
	}
	if !s.Oldest.IsZero() {
		o.Oldest = &s.Oldest
	}
	o.Gaps, o.Kept = list(o.Gaps), list(o.Kept)
	return o
}

func printOutboxes(cmd *cobra.Command, list []Outbox) {
	w := cmd.OutOrStdout()
	for _, o := range list {
		fmt.Fprintf(w, "%s: %s, %d bytes", cli.Printable(o.Name), count(int(o.Waiting), "event waits", "events wait"), o.Bytes)
		if o.Oldest != nil {
			fmt.Fprintf(w, ", the oldest of %s", o.Oldest.UTC().Format(time.RFC3339))
		}
		fmt.Fprintf(w, "; producer %s, %s\n", cli.Printable(o.Producer), holder(o))
		for _, g := range o.Gaps {
			fmt.Fprintf(w, "  lost: events %d to %d of tenant %s: %s\n", g.First, g.Last, cli.Printable(g.Tenant), cli.Printable(g.Reason))
		}
		if o.Damaged > 0 {
			fmt.Fprintf(w, "  damaged: %s cannot be read; recorded as lost when it is opened\n", count(int(o.Damaged), "record", "records"))
		}
		for _, path := range o.Kept {
			fmt.Fprintf(w, "  quarantine: %s was damaged; check the disk, and remove the copy when it is of no more use\n", cli.Printable(path))
		}
	}
}

func holder(o Outbox) string {
	switch {
	case !o.Open:
		return "nobody forwards"
	case o.Process == 0:
		return "open"
	default:
		return fmt.Sprintf("open in process %d", o.Process)
	}
}
