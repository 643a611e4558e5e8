package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// natsVariables maps flags to the environment variables of the NATS tools. They work like the
// HOOKTRAIL_ variables.
var natsVariables = map[string]string{ //nolint:gosec // names of variables
	"nats-url":   "NATS_URL",
	"nats-creds": "NATS_CREDS",
	"nats-nkey":  "NATS_NKEY",
	"nats-ca":    "NATS_CA",
	"nats-cert":  "NATS_CERT",
	"nats-key":   "NATS_KEY",
}

const defaultNATSTimeout = 15 * time.Second

// Shared holds the flags that every command has.
type Shared struct {
	DataDir string
	NATSURL string // external broker. Empty runs or joins the embedded broker of DataDir
	Login   Login  // credentials for NATSURL
	// NATSTimeout limits how long a command waits for the broker at its start.
	NATSTimeout time.Duration
	Auth        string   // "open" or "required" for an embedded broker. Empty means no change
	Tenant      string   // empty means all tenants, or several
	Tenants     []string // all values of --tenant. Several need [SeveralTenants]
	JSON        bool
	Verbose     bool
}

// Login holds the credentials for an external broker.
type Login struct {
	Creds string // file with a user's JWT and seed
	NKey  string // file with a user's seed
	CA    string // file with the certificates that verify the server
	Cert  string // file with the client's certificate
	Key   string // file with the key of the certificate
}

// Register adds the shared flags to cmd and its subcommands. Flags that are missing on the command
// line get their values from the environment.
func (s *Shared) Register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.DataDir, "data-dir", DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&s.NATSURL, "nats-url", "", "broker `URL`, or nats://context:NAME; required in a data directory that was used with one, otherwise empty runs one embedded")
	flags.StringVar(&s.Login.Creds, "nats-creds", "", "credentials `file` (JWT and seed) for --nats-url")
	flags.StringVar(&s.Login.NKey, "nats-nkey", "", "`file` with the seed of an nkey for --nats-url")
	flags.StringVar(&s.Login.CA, "nats-ca", "", "`file` with the certificates that verify the server of --nats-url")
	flags.StringVar(&s.Login.Cert, "nats-cert", "", "`file` with the client's certificate for --nats-url")
	flags.StringVar(&s.Login.Key, "nats-key", "", "`file` with the key of --nats-cert")
	flags.DurationVar(&s.NATSTimeout, "nats-timeout", defaultNATSTimeout, "how long to wait for an unavailable broker at the start")
	flags.StringVar(&s.Auth, "auth", "", "`mode` of the embedded broker: open accepts local clients without credentials "+
		"as publishers, required rejects them, empty keeps the previous mode (initially open)")
	flags.Var((*tenants)(s), "tenant", "`tenant`; without it serve and up use all tenants, other commands use \"default\"")
	flags.BoolVar(&s.JSON, "json", false, "print results as JSON")
	flags.BoolVarP(&s.Verbose, "verbose", "v", false, "log debug messages")
	cmd.MarkFlagsMutuallyExclusive("nats-creds", "nats-nkey")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		login := givenLogin(cmd.Flags())
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		// Check the flags here, because cobra would report these errors with another exit status
		// than usage errors.
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return Usage("%w", err)
		}
		if err := s.checkTenants(cmd); err != nil {
			return err
		}
		return s.check(login)
	}
}

// check returns an error for the first invalid flag. login is the name of a login flag on the
// command line, or "".
func (s *Shared) check(login string) error {
	switch {
	case s.DataDir == "":
		return Usage("--data-dir: empty, want a folder")
	case login != "" && s.NATSURL == "":
		return Usage("--%s: it needs --nats-url", login)
	case s.NATSURL != "" && (s.Login.Cert == "") != (s.Login.Key == ""):
		return Usage("--nats-cert and --nats-key: both are needed")
	case s.NATSTimeout <= 0:
		return Usage("--nats-timeout %v: want more than 0", s.NATSTimeout)
	case s.Auth != "" && s.Auth != "open" && s.Auth != "required":
		return Usage("--auth %q: want open or required", s.Auth)
	}
	return nil
}

// givenLogin returns the name of a login flag on the command line, or "". Environment variables do
// not count, because they may be set for other tools.
func givenLogin(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "nats-url" && strings.HasPrefix(f.Name, "nats-") && natsVariables[f.Name] != "" {
			name = f.Name
		}
	})
	return name
}

// TenantOrDefault returns the value of --tenant, or "default".
func (s *Shared) TenantOrDefault() string {
	if s.Tenant == "" {
		return "default"
	}
	return s.Tenant
}

// DefaultDataDir returns $XDG_DATA_HOME/hooktrail. Without that variable, it returns
// ~/.local/share/hooktrail.
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

// EnvName returns the name of a flag's environment variable, such as HOOKTRAIL_DATA_DIR.
func EnvName(flag string) string {
	return "HOOKTRAIL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// environment treats an empty variable as unset.
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

// exclusiveAnnotation is where cobra stores mutually exclusive flags.
const exclusiveAnnotation = "cobra_annotation_mutually_exclusive"

const environmentAnnotation = "hooktrail_environment"

// Given reports whether a flag is on the command line. Commands accept an unusable flag from an
// environment variable, because the variable may be meant for other commands.
func Given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && f.Annotations[environmentAnnotation] == nil
}

// fromEnvironment sets flags from environment variables. A flag on the command line wins over its
// own variable, and over the variables of flags that cannot be combined with it.
func fromEnvironment(flags *pflag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	isGiven := func(group string) bool {
		return slices.ContainsFunc(strings.Fields(group), func(name string) bool { return given[name] })
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if given[f.Name] || !HasVariable(f) || slices.ContainsFunc(f.Annotations[exclusiveAnnotation], isGiven) {
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
		_ = flags.SetAnnotation(f.Name, environmentAnnotation, []string{name})
	})
	if len(errs) > 0 {
		return Usage("%w", errors.Join(errs...))
	}
	return nil
}

// cause removes the flag's name from an error, because the value came from a variable.
func cause(err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

func describeEnv(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := EnvName(f.Name)
		if !HasVariable(f) || strings.Contains(f.Usage, name) {
			return
		}
		if second := natsVariables[f.Name]; second != "" {
			name += " or " + second
		}
		f.Usage += " [" + name + "]"
	})
}

// HasVariable reports whether the environment can set f.
func HasVariable(f *pflag.Flag) bool {
	if f.Annotations[variableAnnotation] != nil {
		return true
	}
	return f.Name != "help" && f.Name != "version" && f.Annotations[lineOnlyAnnotation] == nil && !slices.Contains(selections, f.Name)
}

// selections are flags that select records. They have no environment variables, because a forgotten
// variable could silently exclude records from a check.
var selections = []string{"run", "event", "from", "to", "day"} //nolint:gochecknoglobals // a constant

const (
	lineOnlyAnnotation = "hooktrail_line_only"
	variableAnnotation = "hooktrail_variable"
)

// LineOnly makes flags ignore the environment, because a variable that filters the output of one
// command must not select the data that another command erases.
func LineOnly(cmd *cobra.Command, flags ...string) { annotate(cmd, lineOnlyAnnotation, flags) }

// Variable allows environment variables for flags that do not select records, although selections
// contains their names.
func Variable(cmd *cobra.Command, flags ...string) { annotate(cmd, variableAnnotation, flags) }

func annotate(cmd *cobra.Command, annotation string, flags []string) {
	for _, name := range flags {
		_ = cmd.Flags().SetAnnotation(name, annotation, []string{"true"})
	}
}
