package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const severalTenants = "hooktrail_several_tenants"

// SeveralTenants lets a user repeat the flag --tenant of cmd. With several tenants, [Shared.Tenant]
// is empty.
func SeveralTenants(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[severalTenants] = "true"
}

func (s *Shared) checkTenants(cmd *cobra.Command) error {
	if s.repeated {
		return Usage("--tenant: repeated tenant")
	}
	if len(s.Tenants) > 1 && cmd.Annotations[severalTenants] == "" {
		return Usage("--tenant: this command accepts one tenant")
	}
	return nil
}

type tenants Shared

// Set adds a tenant. An empty tenant removes all tenants.
func (t *tenants) Set(tenant string) error {
	if tenant == "" {
		t.Tenant, t.Tenants = "", nil
		return nil
	}
	if slices.Contains(t.Tenants, tenant) {
		t.repeated = true // not an error here, because a completion parses the command line twice
		return nil
	}
	t.Tenants = append(t.Tenants, tenant)
	t.Tenant = ""
	if len(t.Tenants) == 1 {
		t.Tenant = tenant
	}
	return nil
}

// String returns all values.
func (t *tenants) String() string { return strings.Join(t.Tenants, " ") }

// Type returns the type of the value for help texts.
func (t *tenants) Type() string { return "string" }
