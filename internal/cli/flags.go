package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The flag and variable of the broker's address, the one flag that has a second
// variable.
const (
	natsURLFlag = "nats-url"
	natsURLEnv  = "NATS_URL"
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
// each flag of theirs that was not given take its value from the environment:
// flags win over environment, environment over defaults.
func (s *Shared) Register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.DataDir, "data-dir", DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&s.NATSURL, natsURLFlag, "", "broker `URL`, or nats://context:NAME; empty runs one embedded")
	flags.StringVar(&s.Tenant, "tenant", "", "`tenant`; serve and up take all without it, other commands \"default\"")
	flags.BoolVar(&s.JSON, "json", false, "print results as JSON")
	flags.BoolVarP(&s.Verbose, "verbose", "v", false, "log debug messages")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		// Here rather than in cobra, where the status would be that of a failure.
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return Usage("%w", err)
		}
		if s.DataDir == "" {
			return Usage("--data-dir: empty, want a folder")
		}
		return nil
	}
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

// environment returns the value that the environment has for a flag, and the
// name of the variable. An empty variable is none.
func environment(flag string) (name, value string) {
	names := []string{EnvName(flag)}
	if flag == natsURLFlag {
		names = append(names, natsURLEnv) // what NATS's own tools read
	}
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// exclusiveAnnotation is where cobra notes which flags a flag excludes.
const exclusiveAnnotation = "cobra_annotation_mutually_exclusive"

// fromEnvironment sets the flags that were not given from the environment,
// unless one was given that excludes them.
func fromEnvironment(flags *pflag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	isGiven := func(group string) bool {
		return slices.ContainsFunc(strings.Fields(group), func(name string) bool { return given[name] })
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if given[f.Name] || !hasEnv(f) || slices.ContainsFunc(f.Annotations[exclusiveAnnotation], isGiven) {
			return
		}
		name, value := environment(f.Name)
		if name == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: value %q: %w", name, value, cause(err)))
		}
	})
	if len(errs) > 0 {
		return Usage("%w", errors.Join(errs...))
	}
	return nil
}

// cause returns the part of a flag error that does not name the flag.
func cause(err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

// describeEnv ends the help of every flag with the variable that stands in for it.
func describeEnv(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := EnvName(f.Name)
		if !hasEnv(f) || strings.Contains(f.Usage, name) {
			return
		}
		if f.Name == natsURLFlag {
			name += " or " + natsURLEnv
		}
		f.Usage += " [" + name + "]"
	})
}

// hasEnv reports whether a variable can stand in for f.
func hasEnv(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }
