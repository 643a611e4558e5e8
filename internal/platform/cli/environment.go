package cli

import "github.com/spf13/pflag"

// FromEnvironment sets the flags that are missing on the command line from environment variables.
// Only commands that parse their own command line call it.
func FromEnvironment(flags *pflag.FlagSet) error { return fromEnvironment(flags) }
