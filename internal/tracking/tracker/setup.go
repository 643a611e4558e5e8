package tracker

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// defaultSettle is how long a drain goes on while the backend takes nothing.
const defaultSettle = time.Minute

// Setup are the flags that say how a tracker decides and where issues are kept.
type Setup struct {
	config, backend, bd string
	orderKey            string
	timeout             time.Duration
	prefix              string // of the flags
}

// Register adds the flags of a command that is a tracker.
func (s *Setup) Register(cmd *cobra.Command) {
	s.RegisterAs(cmd, "")
	cmd.Flags().StringVar(&s.orderKey, "order-key", "", "verifier `key` that orders to erase are signed with, or a file with it; "+
		"default is keys/ledger.pub in the data directory")
	cmd.Flags().DurationVar(&s.timeout, "settle-timeout", defaultSettle, "how long a drain goes on while the backend takes nothing")
}

// RegisterAs adds the flags of a command that has a tracker among other things:
// their names begin with prefix.
func (s *Setup) RegisterAs(cmd *cobra.Command, prefix string) {
	s.prefix, s.timeout = "--"+prefix, defaultSettle
	flags := cmd.Flags()
	flags.StringVar(&s.config, prefix+"config", "", "`file` with limits of the tracker's heuristics, in YAML; what it leaves out keeps its default")
	flags.StringVar(&s.backend, prefix+"backend", EmbeddedBackend, "`where` issues are kept: embedded, or bd, the Beads CLI")
	flags.StringVar(&s.bd, prefix+"bd", "", "`path` of the Beads CLI, for the backend bd; default is bd in PATH")
}

// Apply puts what the flags say into o.
func (s *Setup) Apply(o *Options) error {
	if s.config != "" {
		c, err := store.LoadConfig(s.config)
		if err != nil {
			return err
		}
		o.Config = c
	}
	switch {
	case s.backend != EmbeddedBackend && s.backend != BDBackend:
		return cli.Usage("%sbackend %q: there are %s and %s", s.prefix, s.backend, EmbeddedBackend, BDBackend)
	case s.bd != "" && s.backend != BDBackend:
		return cli.Usage("%sbd is for %sbackend %s", s.prefix, s.prefix, BDBackend)
	case s.timeout <= 0:
		return cli.Usage("%ssettle-timeout %v: it has to be more than nothing", s.prefix, s.timeout)
	}
	key, err := readKey(s.orderKey)
	if err != nil {
		return err
	}
	o.OrderKey, o.Backend, o.BD, o.SettleTimeout = key, s.backend, s.bd, s.timeout
	return nil
}

// connected fills in o for a command that is a tracker, its broker last, and
// calls do.
func (s *Setup) connected(cmd *cobra.Command, shared *cli.Shared, o *Options, do func() error) error {
	o.DataDir, o.Tenant, o.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
	if err := s.Apply(o); err != nil {
		return err
	}
	return dial(shared)(cmd, func(b *broker.Broker) error {
		o.Broker = b
		return do()
	})
}

// dial connects with a tracker's rights.
func dial(shared *cli.Shared) replay.Dial {
	return func(cmd *cobra.Command, do func(*broker.Broker) error) error {
		return broker.Use(cmd.Context(), broker.Options{
			DataDir: shared.DataDir, URL: shared.NATSURL, Name: Name, Logger: shared.Logger(cmd),
			Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth), Role: subjects.TrackerRole, Tenant: shared.Tenant,
		}, do)
	}
}
