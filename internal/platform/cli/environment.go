package cli

import "github.com/spf13/pflag"

// FromEnvironment sets the flags that are not on the command line from environment variables. Only
// commands that parse their command line themselves need it.
func FromEnvironment(flags *pflag.FlagSet) error { return fromEnvironment(flags) }
