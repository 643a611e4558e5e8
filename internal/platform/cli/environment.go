package cli

import "github.com/spf13/pflag"

// FromEnvironment reads flags that are not on the command line from the environment, for
// commands that parse their own command line.
func FromEnvironment(flags *pflag.FlagSet) error { return fromEnvironment(flags) }
