package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns a provider with the policies of c, which allow or deny tool calls and redact
// results.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
