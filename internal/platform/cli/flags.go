package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/platform/flagenv"
)

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
	repeated    bool     // a value of --tenant is there twice
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

// Register adds the shared flags to cmd and its subcommands. Missing flags get their values from
// the environment.
func (s *Shared) Register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&s.DataDir, "data-dir", DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&s.NATSURL, "nats-url", "", "broker `URL`, or nats://context:NAME; required in a data directory that was used with one, otherwise empty runs one embedded")
	flags.StringVar(&s.Login.Creds, "nats-creds", "", "credentials `file` (JWT and seed) for --nats-url")
	flags.StringVar(&s.Login.NKey, "nats-nkey", "", "`file` with the seed of an nkey for --nats-url")
	flags.StringVar(&s.Login.CA, "nats-ca", "", "`file` with the certificates that verify the server of --nats-url")
	flags.StringVar(&s.Login.Cert, "nats-cert", "", "`file` with the client's certificate for --nats-url")
	flags.StringVar(&s.Login.Key, "nats-key", "", "`file` with the key of --nats-cert")
	flags.DurationVar(&s.NATSTimeout, "nats-timeout", defaultNATSTimeout, "how long a command waits at its start for a broker that does not answer; a service then goes on and waits in the background")
	flags.StringVar(&s.Auth, "auth", "", "`mode` of the embedded broker: open accepts local clients without credentials "+
		"as publishers, required rejects them, empty keeps the previous mode (initially open)")
	flags.Var((*tenants)(s), "tenant", "`tenant`; without it serve and up use all tenants, other commands use \"default\"")
	flags.BoolVar(&s.JSON, "json", false, "print results as JSON")
	flags.BoolVarP(&s.Verbose, "verbose", "v", false, "log debug messages")
	cmd.MarkFlagsMutuallyExclusive("nats-creds", "nats-nkey")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		login := givenLogin(cmd.Flags())
		if err := FromEnvironment(cmd); err != nil {
			return err
		}
		// Check the flags here, because cobra would not report missing or conflicting flags as
		// usage errors.
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return Usage("%w", err)
		}
		if err := s.checkTenants(cmd); err != nil {
			return err
		}
		return s.check(login)
	}
}

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

func givenLogin(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "nats-url" && strings.HasPrefix(f.Name, "nats-") && flagenv.NATSVariable(f.Name) != "" {
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
