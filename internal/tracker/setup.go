package tracker

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/cli"
)

// Setup are the flags that say how a tracker decides and where issues are kept.
type Setup struct {
	config, backend, bd string
	timeout             time.Duration
}

// Register adds the flags to cmd.
func (s *Setup) Register(cmd *cobra.Command) { s.RegisterAs(cmd, "") }

// RegisterAs adds the flags to cmd under names that begin with prefix.
func (s *Setup) RegisterAs(cmd *cobra.Command, prefix string) {
	flags := cmd.Flags()
	flags.StringVar(&s.config, prefix+"config", "", "`file` with limits of the heuristics, in YAML; what it leaves out keeps its default")
	flags.StringVar(&s.backend, prefix+"backend", EmbeddedBackend, "where issues are kept: `embedded` or bd, the Beads CLI")
	flags.StringVar(&s.bd, prefix+"bd", "", "`path` of the Beads CLI, for the backend bd; default is bd in PATH")
	flags.DurationVar(&s.timeout, prefix+"settle-timeout", time.Minute, "how long a drain goes on while the backend takes nothing")
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
		return cli.Usage("--backend %q: there are %s and %s", s.backend, EmbeddedBackend, BDBackend)
	case s.bd != "" && s.backend != BDBackend:
		return cli.Usage("--bd is for --backend %s", BDBackend)
	case s.timeout <= 0:
		return cli.Usage("--settle-timeout %v: it has to be more than nothing", s.timeout)
	}
	o.Backend, o.BD, o.SettleTimeout = s.backend, s.bd, s.timeout
	return nil
}
