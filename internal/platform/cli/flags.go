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

// natsVariables are the second variables of flags: what NATS's own tools read.
var natsVariables = map[string]string{ //nolint:gosec // names of variables
	"nats-url":   "NATS_URL",
	"nats-creds": "NATS_CREDS",
	"nats-nkey":  "NATS_NKEY",
	"nats-ca":    "NATS_CA",
	"nats-cert":  "NATS_CERT",
	"nats-key":   "NATS_KEY",
}

// Shared are the flags that every command takes.
type Shared struct {
	DataDir string   // where everything is kept
	NATSURL string   // the broker; empty runs one in the process, or joins the one that has the data directory
	Login   Login    // at NATSURL
	Auth    string   // whom an embedded broker takes: "open", "required", or empty for what it took before
	Tenant  string   // empty where the command takes all, or several
	Tenants []string // all that were named; more than one only where the command says so: see [SeveralTenants]
	JSON    bool     // results for machines
	Verbose bool     // debug logs
}

// Login is who connects to a broker elsewhere, and how.
type Login struct {
	Creds string // file with a user's JWT and seed
	NKey  string // file with a user's seed
	CA    string // file with the certificates that the server's is checked with
	Cert  string // file with the client's certificate
	Key   string // file with its key
}

// Register adds the shared flags to cmd and the commands below it, and makes
// each flag of theirs that was not given take its value from the environment:
// flags win over environment, environment over defaults.
func (s *Shared) Register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.DataDir, "data-dir", DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&s.NATSURL, "nats-url", "", "broker `URL`, or nats://context:NAME; empty runs one embedded")
	flags.StringVar(&s.Login.Creds, "nats-creds", "", "credentials `file` (JWT and seed) for --nats-url")
	flags.StringVar(&s.Login.NKey, "nats-nkey", "", "`file` with the seed of an nkey for --nats-url")
	flags.StringVar(&s.Login.CA, "nats-ca", "", "`file` with the certificates to check that of --nats-url with")
	flags.StringVar(&s.Login.Cert, "nats-cert", "", "`file` with the client's certificate for --nats-url")
	flags.StringVar(&s.Login.Key, "nats-key", "", "`file` with the key of --nats-cert")
	flags.StringVar(&s.Auth, "auth", "", "`mode` of the embedded broker: open takes local clients without credentials, "+
		"as publishers; required does not; empty keeps what it was, at first open")
	flags.Var((*tenants)(s), "tenant", "`tenant`; serve and up take all without it, other commands \"default\"")
	flags.BoolVar(&s.JSON, "json", false, "print results as JSON")
	flags.BoolVarP(&s.Verbose, "verbose", "v", false, "log debug messages")
	cmd.MarkFlagsMutuallyExclusive("nats-creds", "nats-nkey")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		login := givenLogin(cmd.Flags())
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		// Here rather than in cobra, where the status would be that of a failure.
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return Usage("%w", err)
		}
		if err := s.checkTenants(cmd); err != nil {
			return err
		}
		switch {
		case s.DataDir == "":
			return Usage("--data-dir: empty, want a folder")
		case login != "" && s.NATSURL == "":
			return Usage("--%s: it is for --nats-url, which is empty", login)
		case s.NATSURL != "" && (s.Login.Cert == "") != (s.Login.Key == ""):
			return Usage("--nats-cert and --nats-key: one needs the other")
		case s.Auth != "" && s.Auth != "open" && s.Auth != "required":
			return Usage("--auth %q: want open or required", s.Auth)
		}
		return nil
	}
}

// givenLogin returns a flag of the command line that says how to log in at a
// broker elsewhere. A variable that does may be there for other tools.
func givenLogin(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "nats-url" && strings.HasPrefix(f.Name, "nats-") && natsVariables[f.Name] != "" {
			name = f.Name
		}
	})
	return name
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
	for _, name := range []string{EnvName(flag), natsVariables[flag]} {
		if name == "" {
			continue
		}
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// exclusiveAnnotation is where cobra notes which flags a flag excludes.
const exclusiveAnnotation = "cobra_annotation_mutually_exclusive"

// environmentAnnotation notes the variable that a flag has its value from.
const environmentAnnotation = "hooktrail_environment"

// Given reports whether a flag stands on the command line. What the environment
// says is meant for more commands than this one, and may not fit all of them.
func Given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && f.Annotations[environmentAnnotation] == nil
}

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
		err := flags.Set(f.Name, value)
		if err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: value %q: %w", name, value, cause(err)))
			return
		}
		_ = flags.SetAnnotation(f.Name, environmentAnnotation, []string{name}) // the flag is there
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
		if second := natsVariables[f.Name]; second != "" {
			name += " or " + second
		}
		f.Usage += " [" + name + "]"
	})
}

// hasEnv reports whether a variable can stand in for f.
func hasEnv(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }
