package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/platform/flagenv"
)

// DefaultDataDir returns the default value of the flag --data-dir.
func DefaultDataDir() string { return flagenv.DefaultDataDir() }

// EnvName returns the name of a flag's environment variable, such as HOOKTRAIL_DATA_DIR.
func EnvName(flag string) string { return flagenv.Name(flag) }

// Given reports whether the user wrote a flag on the command line. A flag that was set by an
// environment variable does not count, because the variable may be meant for other commands.
func Given(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && !flagenv.IsSet(f)
}

// FromEnvironment sets missing flags from environment variables. Only commands that parse their own
// command line call it.
func FromEnvironment(cmd *cobra.Command) error {
	err := flagenv.Set(cmd.Flags(), func(warning string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.CommandPath(), warning)
	})
	if err != nil {
		return Usage("%w", err)
	}
	return nil
}

func describeEnv(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := flagenv.NameOf(f)
		if !flagenv.Has(f) || strings.Contains(f.Usage, name) {
			return
		}
		if second := flagenv.NATSVariable(f.Name); second != "" {
			name += " or " + second
		}
		f.Usage += " [" + name + "]"
	})
}

// VariableOf returns the name of the environment variable of f, such as HOOKTRAIL_DATA_DIR.
func VariableOf(f *pflag.Flag) string { return flagenv.NameOf(f) }

// HasVariable reports whether the environment can set f.
func HasVariable(f *pflag.Flag) bool { return flagenv.Has(f) }

// LineOnly excludes flags from environment variables. Otherwise a variable that filters the output
// of one command could select the data that another command erases.
func LineOnly(cmd *cobra.Command, flags ...string) { flagenv.LineOnly(cmd.Flags(), flags...) }

// Variable lets environment variables set flags that other commands use to select records, such as
// --run. By default, such flags can only be set on the command line.
func Variable(cmd *cobra.Command, flags ...string) { flagenv.Variable(cmd.Flags(), flags...) }

// OwnVariable gives a flag an environment variable with another name, because a flag of the same
// name has another meaning in other commands. See [flagenv.Own].
func OwnVariable(cmd *cobra.Command, flag, name string, accepted ...string) {
	flagenv.Own(cmd.Flags(), flag, name, accepted...)
}
