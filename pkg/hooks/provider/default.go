package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns the policies of c as a provider. They decide on tool calls
// and clean the results. Default reports all errors in c at once.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
