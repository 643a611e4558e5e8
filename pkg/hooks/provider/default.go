package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns a provider with the policies that c configures. They allow or deny tool calls
// and redact the results. Default returns all errors in c at once.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
