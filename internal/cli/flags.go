package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Shared are the flags that every command takes.
type Shared struct {
	DataDir string // where everything is kept
	NATSURL string // the broker; empty runs one in the process, or joins the one that has the data directory
	Tenant  string // empty where the command takes all
	JSON    bool   // results for machines
	Verbose bool   // debug logs
}

// Register adds the shared flags to cmd and the commands below it, and makes
// each flag of theirs that was not given take its value from the environment.
func (s *Shared) Register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.DataDir, "data-dir", DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&s.NATSURL, "nats-url", "", "broker `URL`, or nats://context:NAME; empty runs one embedded (also NATS_URL)")
	flags.StringVar(&s.Tenant, "tenant", "", "`tenant`; serve and up take all without it, other commands \"default\"")
	flags.BoolVar(&s.JSON, "json", false, "print results as JSON")
	flags.BoolVarP(&s.Verbose, "verbose", "v", false, "log debug messages")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return fromEnvironment(cmd.Flags()) }
}

// TenantOrDefault returns the tenant of a command that works on just one.
func (s *Shared) TenantOrDefault() string {
	if s.Tenant == "" {
		return "default"
	}
	return s.Tenant
}

// DefaultDataDir returns $XDG_DATA_HOME/hooktrail, or where that is by default.
func DefaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hooktrail")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "hooktrail-data"
	}
	return filepath.Join(home, ".local", "share", "hooktrail")
}

// EnvName returns the environment variable that stands in for a flag:
// HOOKTRAIL_DATA_DIR for --data-dir.
func EnvName(flag string) string {
	return "HOOKTRAIL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(flags *pflag.FlagSet) error {
	var bad error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || bad != nil || f.Name == "help" {
			return
		}
		name := EnvName(f.Name)
		value, ok := os.LookupEnv(name)
		if !ok && f.Name == "nats-url" {
			name = "NATS_URL"
			value, ok = os.LookupEnv(name)
		}
		if !ok || value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			bad = Usage("environment variable %s: %w", name, err)
		}
	})
	if bad != nil {
		return fmt.Errorf("%w", bad)
	}
	return nil
}
