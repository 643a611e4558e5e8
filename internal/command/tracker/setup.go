package tracker

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

// Setup has the flags that configure a tracker.
type Setup struct {
	config, backend, bd string
	orderKey            string
	timeout             time.Duration
	prefix              string // of the flag names, with "--"
}

// Register adds the flags of a command that runs only a tracker.
func (s *Setup) Register(cmd *cobra.Command) {
	s.RegisterAs(cmd, "")
	cmd.Flags().StringVar(&s.orderKey, "order-key", "", "verifier `key` of erasure orders, or a file that contains it; "+
		"default is keys/ledger.pub in the data directory")
	cmd.Flags().DurationVar(&s.timeout, "settle-timeout", tracker.DefaultSettleTimeout, "how long a drain waits for an unavailable backend")
}

// RegisterAs adds the flags, with a prefix, to a command of several services.
func (s *Setup) RegisterAs(cmd *cobra.Command, prefix string) {
	s.prefix, s.timeout = "--"+prefix, tracker.DefaultSettleTimeout
	flags := cmd.Flags()
	flags.StringVar(&s.config, prefix+"config", "", "YAML `file` with limits of the tracker's heuristics; limits that are not in the file keep their default")
	flags.StringVar(&s.backend, prefix+"backend", tracker.EmbeddedBackend, "`where` issues are kept: embedded, or bd, the Beads CLI")
	flags.StringVar(&s.bd, prefix+"bd", "", "`path` of the Beads CLI, for the backend bd; default is bd in PATH")
}

// Apply copies the flags to o.
func (s *Setup) Apply(o *tracker.Options) error {
	if s.config != "" {
		c, err := store.LoadConfig(s.config)
		if err != nil {
			return err
		}
		o.Config = c
	}
	switch {
	case s.backend != tracker.EmbeddedBackend && s.backend != tracker.BDBackend:
		return cli.Usage("%sbackend %q: want %s or %s", s.prefix, s.backend, tracker.EmbeddedBackend, tracker.BDBackend)
	case s.bd != "" && s.backend != tracker.BDBackend:
		return cli.Usage("%sbd needs %sbackend %s", s.prefix, s.prefix, tracker.BDBackend)
	case s.timeout <= 0:
		return cli.Usage("%ssettle-timeout %v: want more than 0", s.prefix, s.timeout)
	}
	key, err := readKey(s.orderKey)
	if err != nil {
		return err
	}
	o.OrderKey, o.Backend, o.BD, o.SettleTimeout = key, s.backend, s.bd, s.timeout
	return nil
}

func readKey(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if data, err := os.ReadFile(value); err == nil {
		value = string(data)
	}
	_, text, err := ledger.ParseVerifier(value)
	if err != nil {
		return "", cli.Usage("--order-key is neither a verifier key nor a file with one: %w", err)
	}
	return text, nil
}

// With later set, do is called even while no external broker answers.
func (s *Setup) connected(cmd *cobra.Command, shared *cli.Shared, o *tracker.Options, later bool, do func() error) error {
	o.DataDir, o.Tenant, o.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
	if err := s.Apply(o); err != nil {
		return err
	}
	connection := service.Broker(cmd, shared, subjects.TrackerRole)
	connection.Later = later
	return broker.Use(cmd.Context(), connection, func(b *broker.Broker) error {
		o.Broker = b
		return do()
	})
}

func dial(shared *cli.Shared) dialFunc {
	return func(cmd *cobra.Command, do func(*broker.Broker) error) error {
		return broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.TrackerRole), do)
	}
}
