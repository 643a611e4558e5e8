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

	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/internal/cli"
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
			if err != nil {
				return err
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, found)
			}
			printOutboxes(cmd, shared.DataDir, found)
			return nil
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
			return withBroker(cmd, shared, broker.Options{}, func(ctx context.Context, b *broker.Broker) error {
				if timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, timeout)
					defer cancel()
				}
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
// all.
func Outboxes(dataDir string, names ...string) ([]Outbox, error) {
	found, err := filepath.Glob(filepath.Join(dataDir, "outbox", "*", "outbox.json"))
	if err != nil {
		return nil, fmt.Errorf("look for outboxes: %w", err)
	}
	list := []Outbox{}
	for _, path := range found {
		name := filepath.Base(filepath.Dir(path))
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		s, err := publish.Inspect(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("look at outbox %s: %w", name, err)
		}
		list = append(list, newOutbox(name, s))
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(o Outbox) bool { return o.Name == name }) {
			return nil, fmt.Errorf("outbox %q: %w in %s", name, os.ErrNotExist, filepath.Join(dataDir, "outbox"))
		}
	}
	return list, nil
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

func printOutboxes(cmd *cobra.Command, dataDir string, list []Outbox) {
	w := cmd.OutOrStdout()
	if len(list) == 0 {
		fmt.Fprintf(w, "no outbox in %s\n", cli.Printable(dataDir))
	}
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
