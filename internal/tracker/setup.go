package tracker

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/cli"
)

// defaultSettle is how long a drain goes on while the backend takes nothing.
const defaultSettle = time.Minute

// Setup are the flags that say how a tracker decides and where issues are kept.
type Setup struct {
	config, backend, bd string
	timeout             time.Duration
	prefix              string // of the flags
}

// Register adds the flags of a command that is a tracker.
func (s *Setup) Register(cmd *cobra.Command) {
	s.RegisterAs(cmd, "")
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
		c, err := loadConfig(s.config)
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
	o.Backend, o.BD, o.SettleTimeout = s.backend, s.bd, s.timeout
	return nil
}
